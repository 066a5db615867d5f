"""`pacelab demo`: serves the demonstrations on loopback, or exports them.

Every address needs the token that the printed link carries; requests with a foreign Host or Origin are refused, so that
another page in the same browser cannot reach it. A demonstration of schemes runs on a POST of a change (runs.py).
"""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import sys
import threading
import webbrowser
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs

import typer

from pacelab.console import log
from pacelab.demo.catalog import DEMOS, Demo, find_demo
from pacelab.demo.live import Live
from pacelab.demo.own import NEW, Own, export_own, open_own, own_page
from pacelab.demo.own import answer as answer_own
from pacelab.demo.page import engine_bytes, export, index, live_page, page
from pacelab.demo.runs import answer, read_change
from pacelab.errors import ConfigError, HostError
from pacelab_topologies.domain import like_which
from pacelab_topologies.registry import KINDS

LOOPBACK = "127.0.0.1"
LONGEST_CHANGE_BYTES = 8_000_000
"""A drawn network comes as a topology file, of 4,000,000 letters at most: nodes that walk have thousands of lines."""
PATIENCE_S = 10.0
"""A client that sends no more for so long is left."""


class DemoServer(ThreadingHTTPServer):
    """An HTTP server for one user at this host. Port 0 takes any free one."""

    daemon_threads = True

    def __init__(self, port: int = 0, live: Live | None = None, own: Own | None = None) -> None:
        self.live, self.own = live, own
        self.token = secrets.token_urlsafe(16)
        self.running = threading.Lock()
        """One run at a time: several pages would slow each other down."""
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except OSError as error:
            raise HostError(f"demo: port {port}: {error.strerror}; choose another by --port") from error

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A page that is left before its answer comes is no error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def link(self, name: str | None = None) -> str:
        """The address of a demonstration (None: of the list), with the token."""
        return f"http://{LOOPBACK}:{self.server_port}/{name or ''}?token={self.token}"


class _Handler(BaseHTTPRequestHandler):
    server: DemoServer
    server_version = "pacelab"
    sys_version = ""

    timeout = PATIENCE_S

    def do_GET(self) -> None:
        name = self._ask()
        if name is None:
            return
        if not name:
            self._send(HTTPStatus.OK, index(f"?token={self.server.token}"), "text/html")
        elif name in DEMOS:
            self._send(HTTPStatus.OK, page(DEMOS[name]), "text/html")
        elif name == "own" and self.server.own is not None:
            self._send(HTTPStatus.OK, own_page(self.server.own), "text/html")
        elif name == "live" and self.server.live is not None:
            self._send(HTTPStatus.OK, live_page(self.server.live.document()), "text/html")
        elif name == "live/events" and self.server.live is not None:
            self._stream(self.server.live)
        else:
            self._send(HTTPStatus.NOT_FOUND, f"no such demonstration; there are: {', '.join(DEMOS)}")

    def do_POST(self) -> None:
        name = self._ask(origin_needed=True)
        if name is None:
            return
        run = self._runner(name)
        length = self.headers.get("Content-Length", "")
        if run is None:
            self._send(HTTPStatus.NOT_FOUND, "no such demonstration is run here")
        elif self.headers.get_content_type() != "application/json":
            self._send(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "a change is application/json")
        elif not length.isascii() or not length.isdigit():
            self._send(HTTPStatus.LENGTH_REQUIRED, "a change says its length")
        elif int(length) > LONGEST_CHANGE_BYTES:
            self._send(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a change has at most {LONGEST_CHANGE_BYTES} bytes")
        else:
            try:
                said = json.loads(self.rfile.read(int(length)))
                with self.server.running:
                    outcome = run(said)
            except (ValueError, RecursionError):
                self._send(HTTPStatus.BAD_REQUEST, "a change is JSON")
            except ConfigError as error:
                self._send(HTTPStatus.BAD_REQUEST, str(error))
            else:
                self._send(HTTPStatus.OK, json.dumps(outcome, allow_nan=False), "application/json")

    def _runner(self, name: str) -> Callable[[Any], dict[str, Any]] | None:
        """What answers a POST to this address."""
        if name == "own/run" and self.server.own is not None:
            return partial(answer_own, self.server.own)
        demo = DEMOS.get(name.removesuffix("/run"))
        if demo is None or not demo.python or not name.endswith("/run"):
            return None
        return lambda said: answer(demo, read_change(demo, said))

    def _stream(self, live: Live) -> None:
        """Server-sent events until the page goes or mediumd ends."""
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        try:
            for kind, content in live.messages():
                self._tell(kind, content)
        except HostError as error:
            with contextlib.suppress(OSError):
                self._tell("end", str(error))
        except OSError:
            pass  # the page is gone

    def _tell(self, kind: str, content: Any) -> None:
        self.wfile.write(f"event: {kind}\ndata: {json.dumps(content, allow_nan=False)}\n\n".encode())

    def _ask(self, *, origin_needed: bool = False) -> str | None:
        """What is asked for by one who may; None once refused."""
        path, _, query = self.path.partition("?")
        token = parse_qs(query).get("token", [""])[0]
        if not self._is_for_us(origin_needed=origin_needed):
            self._send(HTTPStatus.FORBIDDEN, "this server answers its own pages only")
        elif not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self._send(HTTPStatus.FORBIDDEN, "open the link that pacelab demo printed: it carries a token")
        else:
            return path.strip("/")
        return None

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the terminal holds the link."""

    def _is_for_us(self, *, origin_needed: bool) -> bool:
        here = {f"{host}:{self.server.server_port}" for host in (LOOPBACK, "localhost")}
        origin = self.headers.get("Origin")
        return self.headers.get("Host") in here and (
            not origin_needed if origin is None else origin.removeprefix("http://") in here
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


def demo(
    name: Annotated[
        str | None,
        typer.Argument(
            help=f"One of {', '.join(DEMOS)}; or new, to draw a network; or a topology's name, or a .yaml or .py file; "
            "without it, a list."
        ),
    ] = None,
    scheme: Annotated[
        str | None, typer.Option("--scheme", metavar="A,B", help="A network's schemes, side by side [newreno].")
    ] = None,
    export_to: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="Write one self-contained .html, or a .gif for slides, instead."),
    ] = None,
    live: Annotated[
        str | None,
        typer.Option("--live", metavar="SOCKET", help="Follow a running network: mediumd's socket."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0: any free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> None:
    """Show the air live in a browser: drag nodes, move sliders, and the engine runs again."""
    own = None
    if name is not None and (scheme is not None or name not in DEMOS):
        _check_network(name, scheme)
        engine_bytes()
        own = open_own(name, [part.strip() for part in (scheme or "newreno").split(",")])
    elif scheme is not None:
        raise ConfigError(f"demo --scheme {scheme}: say on which network: a topology's name or a file")
    if export_to is not None:
        if own is not None:
            _export_own(own, export_to)
            return
        if name is None:
            raise ConfigError(f"demo --export {export_to}: say which one: {', '.join(DEMOS)}")
        _export(find_demo(name), export_to)
        return
    network = None
    link_to = None if name is None else "own" if own else find_demo(name).name
    if live is not None:
        if name is not None:
            raise ConfigError(f"demo {name} --live {live}: allowed is one of the two")
        network, link_to = Live(live), "live"
    else:
        engine_bytes()  # before anything is promised
    with DemoServer(port, network, own) as server:
        link = server.link(link_to)
        print(link, flush=True)
        log("Ctrl-C ends it")
        if browser and not webbrowser.open(link):
            log("no browser could be opened here: open the link above in one")
        server.serve_forever()


def _check_network(name: str, scheme: str | None) -> None:
    """Refuse what is neither a topology's name nor a file's, in words that know of the demonstrations."""
    if name in (NEW, *KINDS) or Path(name).suffix:
        return
    if name in DEMOS:
        raise ConfigError(
            f"demo {name} --scheme {scheme}: its page has its schemes; --scheme is for a topology or a file"
        )
    known = tuple(dict.fromkeys((*DEMOS, NEW, *KINDS)))
    allowed = f"allowed is one of {', '.join(known)}, or a path to a .yaml or .py file"
    raise ConfigError(f"demo {name!r}: {like_which(name, known)}{allowed}")


def _export_own(own: Own, path: Path) -> None:
    if path.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"demo --export {path}: allowed is a name that ends in .html")
    export_own(own, path)
    log(f"{path}: open it in any browser, also offline")


def _export(chosen: Demo, path: Path) -> None:
    if path.suffix.lower() == ".gif":
        from pacelab.demo.animation import export_gif

        export_gif(chosen, path)
        log(f"{path}: an animation for slides")
    elif path.suffix.lower() in (".html", ".htm"):
        export(chosen, path)
        log(f"{path}: open it in any browser, also offline")
    else:
        raise ConfigError(f"demo --export {path}: allowed is a name that ends in .html or .gif")
