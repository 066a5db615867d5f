"""A demonstration in a notebook: the page component and the engine in the browser, Python schemes in the kernel."""

from __future__ import annotations

import importlib
from typing import Any

from pacelab.console import install
from pacelab.demo.catalog import find_demo
from pacelab.demo.model import Demo
from pacelab.demo.page import IMPORT, bundle, engine_bytes, static
from pacelab.demo.runs import read_change, run_change
from pacelab.documents import JsonObject
from pacelab.errors import ConfigError, HostError
from pacelab.figures.figures import show_widget

FONT_PX = 15
"""A notebook cell is narrower than a screen."""


def module() -> str:
    """The widget's ES module. It has one export, as anywidget requires."""
    return bundle() + IMPORT.sub("", static("widget.js"))


def style() -> str:
    """The widget's style sheet."""
    return f"{static('style.css')}pacelab-demo {{ font-size: {FONT_PX}px; }}\n"


def reply(demo: Demo, message: Any) -> JsonObject:
    """The kernel's answer to a message `{"id": ..., "change": ...}`: a view, or one line of error text."""
    known = isinstance(message, dict)
    number = message.get("id") if known else None
    try:
        return {"id": number, "view": run_change(demo, read_change(demo, message.get("change") if known else None))}
    except ConfigError as error:
        return {"id": number, "error": str(error)}


def show_demo(name: str) -> Any:
    """Show a live demonstration as a notebook widget. `pacelab demo` lists the names.

    Raises ConfigError for an unknown name, and HostError if the notebook packages or the engine's module are missing.
    """
    demo = find_demo(name)
    engine = b"" if demo.python else engine_bytes()
    try:
        anywidget, traitlets = importlib.import_module("anywidget"), importlib.import_module("traitlets")
    except ImportError as error:
        raise HostError(f"show_demo: {error}; {install('pacelab[labs]')}") from None
    again = f"<p>This live demonstration needs a kernel: run <code>pacelab.show_demo({name!r})</code> again.</p>"
    members = {
        "_esm": module(),
        "_css": style(),
        "_ipython_display_": lambda widget: show_widget(widget, again),
        "demo": traitlets.Dict().tag(sync=True),
        "engine": traitlets.Bytes().tag(sync=True),
    }
    widget = type("DemoWidget", (anywidget.AnyWidget,), members)(demo=demo.document(), engine=engine)
    if demo.python:
        widget.on_msg(lambda page, message, _buffers: page.send(reply(demo, message)))
    return widget
