"""Runs in the browser's Python: all cells of a notebook, with the widgets of a page; prints failures as JSON.

A notebook whose cells call `lab.explore` also has each of its controls moved to its last position.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import comm
from comm.base_comm import BaseComm
from IPython.core.interactiveshell import InteractiveShell

import pacelab_labs as lab


class Silent(BaseComm):
    """A channel to a page that ignores messages."""

    def publish_msg(self, *_: Any, **__: Any) -> None:
        """Send nothing."""


def main(file: Path) -> dict[str, Any]:
    """Run the notebook."""
    comm.create_comm = Silent
    cells = [cell for cell in json.loads(file.read_text())["cells"] if cell["cell_type"] == "code"]
    shell = InteractiveShell.instance()
    made: list[lab.Exploration] = []
    explore = lab.explore

    def noted(*given: Any, **controls: Any) -> lab.Exploration:
        made.append(explore(*given, **controls))
        return made[-1]

    lab.explore = noted
    failed, shown, began_s = [], [], time.monotonic()
    for cell in cells:
        ended = shell.run_cell("".join(cell["source"]), store_history=True)
        if not ended.success:
            failed.append([cell["id"], repr(ended.error_before_exec or ended.error_in_exec)])
        shown.append(type(ended.result).__name__)
    moved = []
    for exploration in made:
        for name, control in exploration._controls.items():
            text = exploration.set(**{name: control.values[-1]})
            if text.startswith("Not drawn: the drawing function raised"):
                moved.append([name, text])
    missing = sorted({"matplotlib", "numpy"} & set(sys.modules))
    return {
        "cells": len(cells),
        "failed": failed,
        "moved": moved,
        "controls": len(made),
        "pictures": shown.count("Picture"),
        "heavy": missing,
        "took_s": round(time.monotonic() - began_s, 1),
    }


told = sys.stdout
sys.stdout = open(os.devnull, "w")  # noqa: SIM115  what cells print
notebook = Path(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    if (recorded := notebook.with_name("predictions.json")).exists():
        Path("predictions.json").write_text(recorded.read_text())
    found = main(notebook)
    os.chdir("/")
print(json.dumps(found), file=told)
