"""`pacelab demo`: serves or exports the demonstrations."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from pacelab.console import log
from pacelab.demo.catalog import DEMOS, find_demo
from pacelab.demo.live import Live
from pacelab.demo.model import Demo
from pacelab.demo.own import NEW, Own, export_own, open_own
from pacelab.demo.page import engine_bytes, export
from pacelab.demo.server import DemoServer
from pacelab.errors import ConfigError
from pacelab.topologies.domain import like_which
from pacelab.topologies.registry import KINDS


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
