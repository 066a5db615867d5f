"""A notebook's code as a module: definitions, imports and constants; what only runs something is left out.

Metadata, outputs and cell ids are not looked at: nothing in them can count.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from pacelab.grading.sandbox import AVAILABLE

MAX_CELLS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """What a notebook defines."""

    source: str | None
    problems: tuple[str, ...]


def module_of(text: str, name: str, wanted: Collection[str], local: Collection[str] = ()) -> Module:
    """Collect the definitions of all code cells, in their order, as they were written.

    A cell that is no Python is named and left out. `local` are modules beside the notebook: to be imported, too.
    """
    try:
        cells = json.loads(text)["cells"]
        sources = [_joined(cell["source"]) for cell in cells[:MAX_CELLS] if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        problem = f"{name} is no notebook that can be read ({type(error).__name__}): save it again from Jupyter"
        return Module(source=None, problems=(problem,))
    problems: list[str] = []
    parts: list[str] = []
    for number, source in enumerate(sources, 1):
        lines = [line if not line.lstrip().startswith(("%", "!", "?")) else "" for line in source.splitlines()]
        if source.lstrip().startswith("%%"):
            continue
        try:
            tree = ast.parse("\n".join(lines))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            where = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
            if any(f" {name_}" in source for name_ in wanted):
                problems.append(
                    f"{name}: code cell {number}{where}: {type(error).__name__}: {getattr(error, 'msg', error)}: "
                    "mend this first"
                )
            continue
        kept = [part for part in (_keep(node, "\n".join(lines), local) for node in tree.body) if part]
        if kept:
            parts.append("\n".join(kept))
    if not parts:
        return Module(source=None, problems=(*problems, f"{name} has no code cell that defines anything"))
    return Module(source="\n\n".join(parts) + "\n", problems=tuple(problems))


def _joined(source: Any) -> str:
    if isinstance(source, str):
        return source
    return "".join(str(line) for line in source)


def _keep(node: ast.stmt, cell: str, local: Collection[str]) -> str:
    """The statement's text if it defines something that the sandbox can do with."""
    if isinstance(node, ast.Import):
        names = [alias for alias in node.names if _importable(alias.name, local)]
        return ast.unparse(ast.Import(names)) if names else ""
    if isinstance(node, ast.ImportFrom):
        if node.module == "pacelab":
            names = [alias for alias in node.names if alias.name in AVAILABLE]
            return ast.unparse(ast.ImportFrom("pacelab", names, 0)) if names else ""
        return _text(node, cell) if node.module and _importable(node.module, local) else ""
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        decorators = [f"@{ast.get_source_segment(cell, item)}\n" for item in node.decorator_list]
        return "".join(decorators) + _text(node, cell)
    if isinstance(node, ast.Assign | ast.AnnAssign) and not any(isinstance(part, ast.Call) for part in ast.walk(node)):
        return _text(node, cell)
    return ""


def _text(node: ast.stmt, cell: str) -> str:
    """As it was written: to write it anew from the tree would fail for long expressions, and lose the comments."""
    return ast.get_source_segment(cell, node) or ""


def _importable(module: str, local: Collection[str]) -> bool:
    top = module.split(".")[0]
    return top in sys.stdlib_module_names or top in local or f"{top}.py" in local
