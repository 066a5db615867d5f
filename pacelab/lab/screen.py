"""The notebook's screen: IPython and ipywidgets, asked for when something is shown and not before."""

from __future__ import annotations

import importlib
from typing import Any


def widgets() -> Any:
    """The package ipywidgets, None where it is not installed."""
    try:
        return importlib.import_module("ipywidgets")
    except ImportError:
        return None


def show(thing: Any) -> None:
    """Display a widget, or a text of HTML."""
    display = importlib.import_module("IPython.display")
    display.display(display.HTML(thing) if isinstance(thing, str) else thing)
