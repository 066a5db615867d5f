"""The notebook's screen: IPython and ipywidgets, asked for when something is shown and not before."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

KEPT = """<style>
body:has(.{mark}:not(.jupyter-widgets-disconnected)) :is(.{mark}-kept, .jp-OutputArea-child:has(.{mark}-kept)),
.{mark}.jupyter-widgets-disconnected,
.jp-OutputArea-child:not(:has(.{mark}:not(.jupyter-widgets-disconnected))):has(+ .jp-OutputArea-child .{mark}-kept)
  {{ display: none; }}
</style>
<div class="{mark}-kept">{markup}</div>"""
"""Hidden beside the widget as long as that has a kernel, and in its place from then on."""


def widgets() -> Any:
    """The package ipywidgets, None where it (or anywidget) is not installed."""
    try:
        importlib.import_module("anywidget")
        return importlib.import_module("ipywidgets")
    except ImportError:
        return None


def slider(label: str, texts: Sequence[str], index: int, changed: Callable[[int], None]) -> Any:
    """A slider over places in `texts`. ipywidgets' own has no name that a screen reader could tell."""
    made = _slider_class()(label=label, texts=list(texts), index=index)
    made.observe(lambda change: changed(change["new"]), names="index")
    return made


@cache
def _slider_class() -> Any:
    anywidget, traitlets = importlib.import_module("anywidget"), importlib.import_module("traitlets")
    members = {
        "_esm": (Path(__file__).parent / "slider.js").read_text(encoding="utf-8"),
        "label": traitlets.Unicode().tag(sync=True),
        "texts": traitlets.List().tag(sync=True),
        "index": traitlets.Int().tag(sync=True),
    }
    return type("Slider", (anywidget.AnyWidget,), members)


def show(markup: str) -> None:
    """Display a text of HTML."""
    display = importlib.import_module("IPython.display")
    display.display(display.HTML(markup))


def show_widget(widget: Any, markup: str) -> Callable[[str], None]:
    """Display a widget; `markup` is what a saved or exported notebook has of it, and what is returned changes that.

    Notebooks are saved without their widgets: opened again or exported, they would show none of it.
    """
    display = importlib.import_module("IPython.display")
    mark = f"pacelab-{uuid4().hex}"
    widget.add_class(mark)
    display.display({**widget._repr_mimebundle_(), "text/plain": "", "text/html": ""}, raw=True)
    kept = display.display(display.HTML(KEPT.format(mark=mark, markup=markup)), display_id=True)
    return lambda changed: kept.update(display.HTML(KEPT.format(mark=mark, markup=changed)))
