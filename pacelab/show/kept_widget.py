"""A widget of a notebook with what the notebook has in its place when it is opened again without a kernel."""

from __future__ import annotations

import importlib
from collections.abc import Callable
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


def show_widget(widget: Any, markup: str) -> Callable[[str], None]:
    """Display a widget; `markup` is what a saved or exported notebook has of it, and what is returned changes that.

    Notebooks are saved without their widgets: opened again or exported, they would show none of it.
    """
    display = importlib.import_module("IPython.display")
    mark = f"pacelab-{uuid4().hex}"
    widget.add_class(mark)
    bundle = widget._repr_mimebundle_()
    live = bundle[0] if isinstance(bundle, tuple) else bundle  # anywidget's has its metadata beside it
    display.display({**live, "text/plain": "", "text/html": ""}, raw=True)
    kept = display.display(display.HTML(KEPT.format(mark=mark, markup=markup)), display_id=True)
    return lambda changed: kept.update(display.HTML(KEPT.format(mark=mark, markup=changed)))
