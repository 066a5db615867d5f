"""`pacelab demo`: serves or exports the demonstrations."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from pacelab.console import log
from pacelab.demo.catalog import DEMOS, find_demo
from pacelab.demo.page import engine_bytes, export
from pacelab.demo.server import DemoServer
from pacelab.errors import ConfigError


def demo(
    name: Annotated[str | None, typer.Argument(help=f"One of {', '.join(DEMOS)}; without it, their list.")] = None,
    export_to: Annotated[
        Path | None,
        typer.Option("--export", help="Write one self-contained HTML file instead."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0: any free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> None:
    """Show the air live in a browser: drag nodes, move sliders, and the engine runs again."""
    if export_to is not None:
        if name is None:
            raise ConfigError(f"demo --export {export_to}: say which one: {', '.join(DEMOS)}")
        export(find_demo(name), export_to)
        log(f"{export_to}: open it in any browser, also offline")
        return
    link_to = None if name is None else find_demo(name).name
    engine_bytes()  # before anything is promised
    with DemoServer(port) as server:
        link = server.link(link_to)
        print(link, flush=True)
        log("Ctrl-C ends it")
        if browser:
            webbrowser.open(link)
        server.serve_forever()
