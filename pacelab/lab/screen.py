"""The notebook's screen: IPython and ipywidgets, asked for when something is shown and not before."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any


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
