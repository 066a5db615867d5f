"""A demonstration in a notebook: the page's component, its engine in the browser, schemes in the notebook's kernel."""

from __future__ import annotations

import importlib
from typing import Any

from pacelab.console import install
from pacelab.demo.catalog import Demo, find_demo
from pacelab.demo.page import bundle, engine_bytes, static
from pacelab.demo.runs import answer, read_change
from pacelab.errors import ConfigError, HostError
from pacelab.figures.figures import show_widget

FONT_PX = 15
"""A cell is narrower than a screen."""

START = """
export default {
  async render({ model, el }) {
    const demo = model.get("demo");
    const waiting = new Map();
    model.on("msg:custom", ({ id, view, error }) => {
      const asked = waiting.get(id);
      waiting.delete(id);
      if (asked) error ? asked.fail(new Error(error)) : asked.done(view);
    });
    const kernelRuns = (change) => new Promise((done, fail) => {
      const id = crypto.randomUUID?.() ?? String(Math.random());
      waiting.set(id, { done, fail });
      model.send({ id, change });
      const late =
        "The notebook's kernel does not answer: wait until it is idle, or restart it and run this cell again.";
      setTimeout(() => { if (waiting.delete(id)) fail(new Error(late)); }, PATIENCE_MS);
    });
    const engine = model.get("engine");
    const run = demo.python
      ? kernelRuns
      : engineRuns(demo, await startEngine(new Uint8Array(engine.buffer, engine.byteOffset, engine.byteLength)));
    const element = document.createElement("pacelab-demo");
    el.dataset.lmSuppressShortcuts = "true"; // JupyterLab would take the arrow keys
    el.append(element);
    element.start(demo, run);
    return () => element.remove();
  },
};
const PATIENCE_MS = 20e3;
"""


def module() -> str:
    """The widget's ES module."""
    return bundle() + START


def style() -> str:
    """The widget's style sheet."""
    return f"{static('style.css')}pacelab-demo {{ font-size: {FONT_PX}px; }}\n"


def reply(demo: Demo, message: Any) -> dict[str, Any]:
    """What the kernel says to a message `{"id": ..., "change": ...}`: the view, or one line why there is none."""
    known = isinstance(message, dict)
    number = message.get("id") if known else None
    try:
        return {"id": number, "view": answer(demo, read_change(demo, message.get("change") if known else None))}
    except ConfigError as error:
        return {"id": number, "error": str(error)}


def show_demo(name: str) -> Any:
    """A live demonstration (`pacelab demo` lists them) as a notebook's widget.

    Raises ConfigError for an unknown one, HostError where notebooks' packages or the engine's module are missing.
    """
    demo = find_demo(name)
    engine = b"" if demo.python else engine_bytes()
    try:
        anywidget, traitlets = importlib.import_module("anywidget"), importlib.import_module("traitlets")
    except ImportError as error:
        raise HostError(f"show_demo: {error}; {install('pacelab[notebooks]')}") from None
    again = f"<p>A live demonstration, which needs a kernel: run <code>pacelab.show_demo({name!r})</code> again.</p>"
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
