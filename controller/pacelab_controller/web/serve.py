"""Runs the REST server on open sockets (loopback, a Unix socket, or both), and checks who may use it."""

from __future__ import annotations

import hmac
import os
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import uvicorn

from pacelab.documents import JsonObject
from pacelab_controller.errors import ControllerError
from pacelab_controller.openflow.driver import Driver
from pacelab_controller.web.api import make_api

LOOPBACK = "127.0.0.1"
UNIX_HOST = "localhost"
"""The Host header of requests over the Unix socket."""
MAX_CONNECTIONS = 128
MAX_UNIX_PATH_BYTES = 107


def open_port(port: int) -> socket.socket:
    """A listening socket on loopback; port 0: any free one."""
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise ControllerError(f"--port {port}: {os.strerror(error.errno or 0)}; choose another port") from None


def open_unix(path: Path) -> socket.socket:
    """A listening Unix socket for this user only. It replaces the socket of a process that has ended."""
    if len(os.fsencode(path)) > MAX_UNIX_PATH_BYTES:
        raise ControllerError(
            f"--socket {path}: the path must have at most {MAX_UNIX_PATH_BYTES} bytes; choose a shorter one"
        )
    if path.is_socket() and _answers(path):
        raise ControllerError(f"--socket {path}: another process uses it; choose another path")
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
        raise ControllerError(f"--socket {path}: {error.strerror}; choose another path") from None
    return listening


def _answers(path: Path) -> bool:
    """Whether a process listens at a Unix socket."""
    with socket.socket(socket.AF_UNIX) as asking:
        try:
            asking.connect(str(path))
        except OSError:
            return False
    return True


def serve(
    driver: Driver, sockets: list[socket.socket], *, token: str, names: dict[str, str], picture: JsonObject | None
) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    hosts = {UNIX_HOST}
    for one in sockets:
        if one.family == socket.AF_INET:
            port = one.getsockname()[1]
            hosts |= {f"{LOOPBACK}:{port}", f"localhost:{port}"}
    guarded = Guard(make_api(driver, names=names, picture=picture), token=token, hosts=tuple(sorted(hosts)))
    config = uvicorn.Config(
        guarded,
        lifespan="off",
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
        limit_concurrency=MAX_CONNECTIONS,
        ws="none",
    )
    uvicorn.Server(config).run(sockets=sockets)


MAX_BODY_BYTES = 256 * 1024
READS = ("GET", "HEAD")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class Guard:
    """An ASGI application in front of another that checks each request, so that no route can forget a check.

    1. The Host header names this server, which excludes pages of another host name that resolves to loopback.
    2. An Origin header, which browsers send with writes, names this server.
    3. The token is in the Authorization header, or for reading in the query (a page's event stream has no headers).
    4. A body states its length, which is bounded.
    """

    def __init__(self, application: Application, *, token: str, hosts: tuple[str, ...]) -> None:
        self._application, self._token, self._hosts = application, token.encode(), hosts
        self._pages = {f"http://{host}" for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer why not."""
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
        """Status and reason of a rejection; None if the request is valid."""
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in headers and name in (b"host", b"origin", b"authorization", b"content-length"):
                return 400, "a header is repeated that may occur once"
            headers[name] = value
        if headers.get(b"host", b"").decode("latin-1") not in self._hosts:
            return 403, "the Host header must name this server"
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1") not in self._pages:
            return 403, "the Origin header must be of this server"
        given = headers.get(b"authorization", b"")
        allowed = hmac.compare_digest(given, b"Bearer " + self._token)
        if not allowed and scope["method"] in READS and not given:
            query = parse_qs(scope["query_string"].decode("latin-1"))
            allowed = hmac.compare_digest(query.get("token", [""])[0].encode(), self._token)
        if not allowed:
            return 401, "send Authorization: Bearer TOKEN; pacelab controller printed the token when it started"
        if scope["method"] not in READS:
            length = headers.get(b"content-length", b"0" if b"transfer-encoding" not in headers else b"")
            if not length.isdigit():
                return 411, "send a Content-Length header with the body"
            if int(length) > MAX_BODY_BYTES:
                return 413, f"the body must have at most {MAX_BODY_BYTES} bytes"
        return None
