"""Runs the REST server on sockets that are open already: loopback, a Unix socket, or both."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import uvicorn

from pacelab.controller.errors import ControllerError
from pacelab.controller.openflow.shell import Shell
from pacelab.controller.web.api import make_api
from pacelab.controller.web.guard import Guard

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
