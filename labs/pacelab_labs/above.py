"""Cells that run before the cells above them get one line, "run the cells above", in place of a bare NameError.

`labs/ipython_kernel_config.py` loads this extension in each kernel of the environment, whatever opens the notebook. It
acts only in a folder with notebooks of the labs, and only on names that the labs define.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from pacelab_labs.errors import RunAbove
from pacelab_labs.solutions import MASTERS

NOTEBOOKS = "lab[0-9]_*.ipynb"


def load_ipython_extension(shell: Any) -> None:
    """Called by IPython when a kernel starts."""
    if any(Path.cwd().glob(NOTEBOOKS)):
        shell.set_custom_exc((NameError,), explain)


def explain(
    shell: Any, kind: type[NameError], error: NameError, trace: TracebackType | None, tb_offset: int | None = None
) -> None:
    """Show the line for a name that a lab defines and this session does not; for other errors show the
    usual traceback.
    """
    if error.name in lab_names() and error.name not in shell.user_ns:
        told = RunAbove(error.name)
        shell.showtraceback((RunAbove, told, None))
    else:
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)


@cache
def lab_names() -> frozenset[str]:
    """The names that the cells of the labs define."""
    trees = (ast.parse(master.read_text("utf-8")) for master in MASTERS.glob("lab[0-9]_*.py"))
    return frozenset(name for tree in trees for statement in tree.body for name in _defined(statement))


def _defined(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (each.asname or each.name for each in names)
        case ast.Assign() | ast.For():
            found = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
            yield from (node.id for node in found if isinstance(node.ctx, ast.Store))
