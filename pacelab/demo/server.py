"""`pacelab demo`: serves the demonstrations on loopback, or exports them.

Every request needs the token from the printed link. Requests with a foreign Host or Origin are refused, so another page
in the same browser cannot reach the server. A POST of a change runs a demonstration of Python schemes (runs.py).
"""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from pacelab.demo.catalog import DEMOS
from pacelab.demo.editor import NEW, EditorSession, editor_page, open_editor
from pacelab.demo.editor import run_change as run_editor_change
from pacelab.demo.listing import listing
from pacelab.demo.live import Live
from pacelab.demo.model import Demo
from pacelab.demo.page import live_page, page
from pacelab.demo.problems import PROBLEMS
from pacelab.demo.runs import read_change, run_change
from pacelab.documents import JsonObject
from pacelab.errors import ConfigError, HostError

LOOPBACK = "127.0.0.1"
MAX_CHANGE_BYTES = 8_000_000
"""The editor sends a topology file, which has at most 4,000,000 characters: a file with walking nodes has thousands of
lines."""
CLIENT_TIMEOUT_S = 10.0
"""The server closes a connection if the client sends nothing for this long."""


class DemoServer(ThreadingHTTPServer):
    """An HTTP server for one user of this host. Port 0 takes any free port."""

    daemon_threads = True

    def __init__(
        self,
        port: int = 0,
        live: Live | None = None,
        editor: EditorSession | None = None,
        demos: Mapping[str, Demo] = DEMOS,
    ) -> None:
        self.live, self.editor, self.demos = live, editor, demos
        self.token = secrets.token_urlsafe(16)
        self.run_lock = threading.Lock()
        """One run at a time, because several pages would slow each other down."""
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except OSError as error:
            raise HostError(f"demo: port {port}: {error.strerror}; choose another port with --port") from error

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore lost connections: it is no error if a user closes a page before its answer arrives."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def link(self, name: str | None = None) -> str:
        """The address of a demonstration, or of the list if `name` is None, with the token."""
        return f"http://{LOOPBACK}:{self.server_port}/{name or ''}?token={self.token}"


class _Handler(BaseHTTPRequestHandler):
    server: DemoServer
    server_version = "pacelab"
    sys_version = ""

    timeout = CLIENT_TIMEOUT_S

    def do_GET(self) -> None:
        name = self._authorized_path()
        if name is None:
            return
        if not name:
            self._send(HTTPStatus.OK, listing(f"?token={self.server.token}"), "text/html")
        elif name in self.server.demos:
            self._send(HTTPStatus.OK, page(self.server.demos[name]), "text/html")
        elif name in (NEW, *PROBLEMS):
            # NewReno runs in the page, so this network needs no session of the server.
            self._send(HTTPStatus.OK, editor_page(open_editor(name, ["newreno"])), "text/html")
        elif name == "editor" and self.server.editor is not None:
            self._send(HTTPStatus.OK, editor_page(self.server.editor), "text/html")
        elif name == "live" and self.server.live is not None:
            self._send(HTTPStatus.OK, live_page(self.server.live.document()), "text/html")
        elif name == "live/events" and self.server.live is not None:
            self._stream(self.server.live)
        else:
            known = ", ".join((*DEMOS, *PROBLEMS, NEW))
            self._send(HTTPStatus.NOT_FOUND, f"no such demonstration; choose one of {known}")

    def do_POST(self) -> None:
        name = self._authorized_path(origin_needed=True)
        if name is None:
            return
        run = self._runner(name)
        length = self.headers.get("Content-Length", "")
        if run is None:
            self._send(HTTPStatus.NOT_FOUND, "this server does not run such a demonstration")
        elif self.headers.get_content_type() != "application/json":
            self._send(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the content type of a change must be application/json")
        elif not length.isascii() or not length.isdigit():
            self._send(HTTPStatus.LENGTH_REQUIRED, "a change must have a Content-Length")
        elif int(length) > MAX_CHANGE_BYTES:
            self._send(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a change must have at most {MAX_CHANGE_BYTES} bytes")
        else:
            try:
                change = json.loads(self.rfile.read(int(length)))
                with self.server.run_lock:
                    outcome = run(change)
            except (ValueError, RecursionError):
                self._send(HTTPStatus.BAD_REQUEST, "a change must be JSON")
            except ConfigError as error:
                self._send(HTTPStatus.BAD_REQUEST, str(error))
            else:
                self._send(HTTPStatus.OK, json.dumps(outcome, allow_nan=False), "application/json")

    def _runner(self, name: str) -> Callable[[Any], JsonObject] | None:
        """The function that answers a POST to this path, or None."""
        if name == "editor/run" and self.server.editor is not None:
            return partial(run_editor_change, self.server.editor)
        demo = self.server.demos.get(name.removesuffix("/run"))
        if demo is None or not demo.python or not name.endswith("/run"):
            return None
        return lambda change: run_change(demo, read_change(demo, change))

    def _stream(self, live: Live) -> None:
        """Send server-sent events until the page closes or mediumd ends."""
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        try:
            for kind, content in live.messages():
                self._send_event(kind, content)
        except HostError as error:
            with contextlib.suppress(OSError):
                self._send_event("end", str(error))
        except OSError:
            pass  # the user has closed the page

    def _send_event(self, kind: str, content: Any) -> None:
        self.wfile.write(f"event: {kind}\ndata: {json.dumps(content, allow_nan=False)}\n\n".encode())

    def _authorized_path(self, *, origin_needed: bool = False) -> str | None:
        """The requested path. None if the request was refused: this method has then sent the refusal."""
        path, _, query = self.path.partition("?")
        token = parse_qs(query).get("token", [""])[0]
        if not self._is_own_page(origin_needed=origin_needed):
            self._send(HTTPStatus.FORBIDDEN, "this server only answers its own pages")
        elif not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self._send(HTTPStatus.FORBIDDEN, "the token is missing or wrong; open the link that pacelab demo printed")
        else:
            return path.strip("/")
        return None

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing, so that the link stays visible in the terminal."""

    def _is_own_page(self, *, origin_needed: bool) -> bool:
        addresses = {f"{host}:{self.server.server_port}" for host in (LOOPBACK, "localhost")}
        origin = self.headers.get("Origin")
        return self.headers.get("Host") in addresses and (
            not origin_needed if origin is None else origin.removeprefix("http://") in addresses
        )

    def _send(self, status: HTTPStatus, text: str, kind: str = "text/plain") -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(body)
