"""Serves the demonstrations on loopback.

Every address needs the token that the printed link carries; requests with a foreign Host or Origin are refused, so that
another page in the same browser cannot reach it.
"""

from __future__ import annotations

import hmac
import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from pacelab.demo.catalog import DEMOS
from pacelab.demo.page import index, page
from pacelab.errors import HostError

LOOPBACK = "127.0.0.1"


class DemoServer(ThreadingHTTPServer):
    """An HTTP server for one user at this host. Port 0 takes any free one."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        self.token = secrets.token_urlsafe(16)
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except OSError as error:
            raise HostError(f"demo: port {port}: {error.strerror}; choose another by --port") from error

    def link(self, name: str | None = None) -> str:
        """The address of a demonstration (None: of the list), with the token."""
        return f"http://{LOOPBACK}:{self.server_port}/{name or ''}?token={self.token}"


class _Handler(BaseHTTPRequestHandler):
    server: DemoServer
    server_version = "pacelab"
    sys_version = ""

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        token = parse_qs(address.query).get("token", [""])[0]
        name = address.path.strip("/")
        if not self._is_for_us():
            self._send(HTTPStatus.FORBIDDEN, "this server answers its own pages only")
        elif not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self._send(HTTPStatus.FORBIDDEN, "open the link that pacelab demo printed: it carries a token")
        elif not name:
            self._send(HTTPStatus.OK, index(f"?token={self.server.token}"), "text/html")
        elif name in DEMOS:
            self._send(HTTPStatus.OK, page(DEMOS[name]), "text/html")
        else:
            self._send(HTTPStatus.NOT_FOUND, f"no such demonstration; there are: {', '.join(DEMOS)}")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the terminal holds the link."""

    def _is_for_us(self) -> bool:
        here = {f"{host}:{self.server.server_port}" for host in (LOOPBACK, "localhost")}
        origin = self.headers.get("Origin")
        return self.headers.get("Host") in here and (origin is None or urlsplit(origin).netloc in here)

    def _send(self, status: HTTPStatus, text: str, kind: str = "text/plain") -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(body)
