"""Runs the REST server on sockets that are open already: loopback, a Unix socket, or both; and who may ask it."""

from __future__ import annotations

import hmac
import os
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import uvicorn

from pacelab_controller.errors import ControllerError
from pacelab_controller.openflow.shell import Shell
from pacelab_controller.web.api import make_api

LOOPBACK = "127.0.0.1"
UNIX_HOST = "localhost"
"""The Host of requests over the Unix socket."""
MOST_CONNECTIONS = 128
LONGEST_UNIX_BYTES = 107


def open_port(port: int) -> socket.socket:
    """A listening socket on loopback; port 0: any free one."""
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise ControllerError(f"--port {port}: {os.strerror(error.errno or 0)}; choose another one") from None


def open_unix(path: Path) -> socket.socket:
    """A listening Unix socket for this user alone; one that a dead process left is replaced, a living one's is not."""
    if len(os.fsencode(path)) > LONGEST_UNIX_BYTES:
        raise ControllerError(f"--socket {path}: a path of at most {LONGEST_UNIX_BYTES} bytes is allowed")
    if path.is_socket() and _answers(path):
        raise ControllerError(f"--socket {path}: in use by a process that answers; choose another place")
    listening = socket.socket(socket.AF_UNIX)
    try:
        if path.is_socket():
            path.unlink()
        before = os.umask(0o177)
        try:
            listening.bind(str(path))
        finally:
            os.umask(before)
        listening.listen()
    except OSError as error:
        listening.close()
        raise ControllerError(f"--socket {path}: {error.strerror}; choose another place") from None
    return listening


def _answers(path: Path) -> bool:
    """Whether anybody listens at a Unix socket."""
    with socket.socket(socket.AF_UNIX) as asking:
        try:
            asking.connect(str(path))
        except OSError:
            return False
    return True


def serve(
    shell: Shell, sockets: list[socket.socket], *, token: str, names: dict[str, str], picture: dict[str, Any] | None
) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    hosts = {UNIX_HOST}
    for one in sockets:
        if one.family == socket.AF_INET:
            port = one.getsockname()[1]
            hosts |= {f"{LOOPBACK}:{port}", f"localhost:{port}"}
    guarded = Guard(make_api(shell, names=names, picture=picture), token=token, hosts=tuple(sorted(hosts)))
    config = uvicorn.Config(
        guarded,
        lifespan="off",
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
        limit_concurrency=MOST_CONNECTIONS,
        ws="none",
    )
    uvicorn.Server(config).run(sockets=sockets)


LARGEST_BODY_BYTES = 256 * 1024
READS = ("GET", "HEAD")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class Guard:
    """Who may ask: an ASGI application in front of another, so that no route can forget it.

    1. The Host header names this server: a page of another name that resolves to loopback gets nothing.
    2. An Origin header, which browsers send with writes, is this server's.
    3. A token: in the Authorization header, or for reading also in the query (an event stream of a page has no
       headers).
    4. A body of bounded size that says its length.
    """

    def __init__(self, application: Application, *, token: str, hosts: tuple[str, ...]) -> None:
        self._application, self._token, self._hosts = application, token.encode(), hosts
        self._pages = {f"http://{host}" for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or say why not."""
        if scope["type"] == "http" and (problem := self.refuse(scope)) is not None:
            status, reason = problem
            body = f'{{"detail":"{reason}"}}'.encode()
            headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
            if status == 401:
                headers.append((b"www-authenticate", b"Bearer"))
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})
            return
        await self._application(scope, receive, send)

    def refuse(self, scope: Scope) -> tuple[int, str] | None:
        """Status and reason; None: it may."""
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in headers and name in (b"host", b"origin", b"authorization", b"content-length"):
                return 400, "a header that says twice what it may say once"
            headers[name] = value
        if headers.get(b"host", b"").decode("latin-1") not in self._hosts:
            return 403, "this server answers to its own name only"
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1") not in self._pages:
            return 403, "this server answers its own pages only"
        given = headers.get(b"authorization", b"")
        allowed = hmac.compare_digest(given, b"Bearer " + self._token)
        if not allowed and scope["method"] in READS and not given:
            query = parse_qs(scope["query_string"].decode("latin-1"))
            allowed = hmac.compare_digest(query.get("token", [""])[0].encode(), self._token)
        if not allowed:
            return 401, "Authorization: Bearer TOKEN; pacelab controller said the token when it started"
        if scope["method"] not in READS:
            length = headers.get(b"content-length", b"0" if b"transfer-encoding" not in headers else b"")
            if not length.isdigit():
                return 411, "a body says its length"
            if int(length) > LARGEST_BODY_BYTES:
                return 413, f"a body has at most {LARGEST_BODY_BYTES} bytes"
        return None
