"""Figures with controls on a page without Python: runs in the kernel of a lab, whose page tools/site/pages.py writes.

`install` draws such a figure at every setting of its controls. The page then holds all drawings, compressed, and
theme/assets/explore.js shows the one of the chosen setting. A figure with too many settings stays without controls.
Cells on real hosts show their recordings, so that a page does not depend on the machine that makes it.
"""

from __future__ import annotations

import gzip
import itertools
import json
import math
import sys
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from html import escape

from pacelab.doctor import Feature
from pacelab_labs import interactive, recorded

MOST_SETTINGS = 600
"""The figures of labs 0 to 2 have at most this many. Drawing them all takes 40 s at most (lab 2)."""


def install() -> None:
    """Show figures with controls as `element` gives them, if they are not too many."""
    sys.modules["ipywidgets"] = None  # type: ignore[assignment]  # a page has no kernel for the notebook's controls
    as_before = interactive.Exploration._ipython_display_

    def show(exploration: interactive.Exploration) -> None:
        if settings(exploration) > MOST_SETTINGS:
            as_before(exploration)
        else:
            interactive.show(element(exploration))

    interactive.Exploration._ipython_display_ = show  # type: ignore[method-assign]
    back_ends = without_real_hosts(recorded.found_back_ends())
    recorded.found_back_ends = lambda: back_ends
    recorded._why_no_back_end = lambda found: (
        "A page has no real hosts; a computer with Linux has, or a virtual machine"
    )


def without_real_hosts(found: Mapping[str, Feature]) -> dict[str, Feature]:
    """The back ends of a page: the simulator, and how to get the others."""
    elsewhere = {"present": False, "detail": "", "remedy": "use Linux, WSL2, or a virtual machine"}
    return {name: feature if name == "sim" else replace(feature, **elsewhere) for name, feature in found.items()}


def settings(exploration: interactive.Exploration) -> int:
    """The number of settings of the figure's controls."""
    return math.prod(len(control.values) for control in exploration._controls.values())


def element(exploration: interactive.Exploration) -> str:
    """HTML of the figure at its first setting, with the controls and the drawings of all settings as data.

    The drawings are in the order of `itertools.product`: the last control changes from each drawing to the next.
    """
    controls = exploration._controls
    first = exploration._markup
    drawings = [
        drawing(exploration, dict(zip(controls, values, strict=True)))
        for values in itertools.product(*(control.values for control in controls.values()))
    ]
    about = [
        {
            "label": control.label,
            "texts": [control.told(value) for value in control.values],
            "start": control.values.index(control.start),
            "kind": control.kind,
        }
        for control in controls.values()
    ]
    packed = b64encode(gzip.compress(json.dumps(drawings).encode(), mtime=0)).decode()
    return (
        f'<pacelab-explore data-controls="{escape(json.dumps(about))}" data-drawings="{packed}">'
        f"<div>{first}</div></pacelab-explore>"
    )


def drawing(exploration: interactive.Exploration, values: dict[str, object]) -> str:
    """HTML of the figure at one setting. Raises ValueError if the figure cannot be drawn."""
    text = exploration.set(**values)
    if text.startswith("Not drawn: "):
        raise ValueError(f"{values}: {text}")
    return exploration._markup
