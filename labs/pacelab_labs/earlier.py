"""The pacer that a student wrote in lab 4, for lab 7."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pacelab import Pacer
from pacelab_labs.errors import Todo
from pacelab_labs.lab4 import LAB4
from pacelab_labs.solutions import MASTERS, without_marks

STEM, NAME = "lab4_tcp_gap", "MyPacer"
DEFINES = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
"""Statements that are taken from the notebook. Its other statements run experiments and draw."""


def pacer_of_lab4() -> type[Pacer]:
    """`MyPacer` of the notebook lab4_tcp_gap.ipynb in this folder, or the sample solution if that is not finished.

    Prints which of the two it is, and what is missing in the notebook's pacer.
    """
    file = Path(f"{STEM}.ipynb")
    try:
        pacer = class_in(_notebook_cells(file))
        lacks = _complaint(pacer)
    except FileNotFoundError:
        lacks = f"{file} is not in this folder"
    except Exception as error:  # a student's code, or a damaged file
        lacks = f"{type(error).__name__}: {error}"
    if not lacks:
        print(f"This is your pacer from {file}.")
        return pacer
    print(f"No finished {NAME} of lab 4: {lacks}. This is the sample solution.")
    return class_in(without_marks((MASTERS / f"{STEM}.py").read_text("utf-8")))


def _notebook_cells(file: Path) -> str:
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    sources = ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return "\n".join(map(_without_magic, sources))


def _without_magic(source: str) -> str:
    return "" if source.startswith("%%") else "\n".join(line for line in source.split("\n") if line[:1] not in "%!")


def class_in(source: str) -> type[Pacer]:
    """`MyPacer` of this source. Only the source's imports, functions and classes are executed."""
    names: dict[str, Any] = {"__name__": STEM}
    tree = ast.parse(source)
    exec(compile(ast.Module(list(_definitions(tree)), []), STEM, "exec"), names)
    pacer: type[Pacer] = names[NAME]
    return pacer


def _definitions(tree: ast.Module) -> Iterator[ast.stmt]:
    for statement in tree.body:
        if isinstance(statement, DEFINES) and not getattr(statement, "decorator_list", []):
            yield statement


def _complaint(pacer: Any) -> str:
    trial = LAB4["lab4.pacer"].trial
    assert trial is not None
    try:
        return "it fails the check lab4.pacer" if trial(pacer) else ""
    except Todo:
        return "it is not written yet"
