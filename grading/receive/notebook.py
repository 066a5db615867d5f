"""A notebook's code as a module: definitions, imports and constants; what only runs something is left out.

Of a lab, most of whose cells run experiments and draw, only what the exercises need is taken (`needed`). Metadata,
outputs and cell ids are not looked at: nothing in them can count.
"""

from __future__ import annotations

import ast
import json
import symtable
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pacelab.grading.sandbox import AVAILABLE

MAX_CELLS = 1000
FUTURE = "from __future__ import annotations"
"""Before what was taken out: what only types need may have been left behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """What a notebook defines."""

    source: str | None
    problems: tuple[str, ...]


def cells_of(text: str, kind: str) -> list[str]:
    """The texts of a notebook's cells of a kind, "code" or "markdown". ValueError for what is no notebook."""
    try:
        cells = json.loads(text)["cells"]
        return [_joined(cell["source"]) for cell in cells[:MAX_CELLS] if cell["cell_type"] == kind]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(type(error).__name__) from None


def module_of(
    text: str, name: str, wanted: Collection[str], local: Collection[str] = (), *, lean: bool = False
) -> Module:
    """Collect the definitions of all code cells, in their order, as they were written; a .py is one cell.

    A cell that is no Python is named and left out. `local` are modules beside the notebook: to be imported, too.
    With `lean` only what the names `wanted` need.
    """
    try:
        sources = cells_of(text, "code") if name.endswith(".ipynb") else [text]
    except ValueError as error:
        problem = f"{name} is no notebook that can be read ({error}): save it again from Jupyter"
        return Module(source=None, problems=(problem,))
    problems: list[str] = []
    parts: list[str] = []
    statements: list[Statement] = []
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
        if lean:
            statements += statements_of(tree, lines)
            continue
        kept = [part for part in (_keep(node, lines, local) for node in tree.body) if part]
        if kept:
            parts.append("\n".join(kept))
    if lean:
        parts = needed(statements, name, wanted, problems, local)
    if not parts:
        return Module(source=None, problems=(*problems, f"{name} has no code cell that defines anything"))
    return Module(source="\n\n".join(parts) + "\n", problems=tuple(problems))


def _joined(source: Any) -> str:
    if isinstance(source, str):
        return source
    return "".join(str(line) for line in source)


def _keep(node: ast.stmt, lines: Sequence[str], local: Collection[str]) -> str:
    """The statement's text if it defines something that the sandbox can do with."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return _import(node, _there(node, local))
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return _text(node, lines)
    if isinstance(node, ast.Assign | ast.AnnAssign) and not any(isinstance(part, ast.Call) for part in ast.walk(node)):
        return _text(node, lines)
    return ""


def _there(node: ast.Import | ast.ImportFrom, local: Collection[str]) -> list[ast.alias]:
    """Of what it imports that which the sandbox has."""
    if isinstance(node, ast.Import):
        return [alias for alias in node.names if _importable(alias.name, local)]
    if node.module == "pacelab":
        return [alias for alias in node.names if alias.name in AVAILABLE]
    return node.names if node.module and _importable(node.module, local) else []


def _import(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> str:
    if not names:
        return ""
    return ast.unparse(
        ast.Import(names) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, names, node.level)
    )


def _text(node: ast.stmt, lines: Sequence[str]) -> str:
    """As it was written: to write it anew from the tree would fail for long expressions, and lose the comments."""
    decorators = [item.lineno for item in getattr(node, "decorator_list", ())]
    first, last = min([node.lineno, *decorators]), node.end_lineno or node.lineno
    found = [line.encode() for line in lines[first - 1 : last]]  # columns are counted in octets
    found[-1] = found[-1][: node.end_col_offset]
    found[0] = found[0] if decorators else found[0][node.col_offset :]
    return b"\n".join(found).decode()


@dataclass(frozen=True, slots=True)
class Statement:
    """One of the outermost level that gives names a meaning."""

    node: ast.stmt
    text: str

    def gives(self) -> Iterator[str]:
        """The names."""
        match self.node:
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                yield from (alias.asname or alias.name.split(".")[0] for alias in aliases)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=targets):
                names = [part for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
                yield from (part.id for part in names if isinstance(part.ctx, ast.Store))
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.AugAssign(target=ast.Name(id=name)):
                yield name

    def takes(self) -> set[str]:
        """Names of the module that it refers to, now or when it is called."""
        if isinstance(self.node, ast.Import | ast.ImportFrom):
            return set()
        tables, found = [symtable.symtable(self.text, "cell", "exec")], set()
        while tables:
            table = tables.pop()
            for symbol in table.get_symbols():
                if symbol.is_referenced() and (symbol.is_global() or table.get_type() == "module"):
                    found.add(symbol.get_name())
            tables += table.get_children()
        return found


def statements_of(tree: ast.Module, lines: Sequence[str]) -> list[Statement]:
    """Imports, definitions and assignments of a cell, in their order."""
    kinds = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    found = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            continue
        if isinstance(node, kinds | ast.Assign | ast.AnnAssign | ast.AugAssign):
            found.append(Statement(node, _text(node, lines)))
    return found


def needed(
    statements: Sequence[Statement],
    name: str,
    wanted: Collection[str],
    problems: list[str],
    local: Collection[str] = (),
) -> list[str]:
    """The texts of those that the names `wanted` need, directly or not; imports that the sandbox lacks are named."""
    giving: dict[str, list[int]] = {}
    for number, statement in enumerate(statements):
        for given in statement.gives():
            giving.setdefault(given, []).append(number)
    names, kept, waiting = {*wanted, "*"}, set[int](), [*wanted, "*"]
    try:
        while waiting:
            for number in set(giving.get(waiting.pop(), ())) - kept:
                kept.add(number)
                more = statements[number].takes() - names
                names |= more
                waiting += more
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        problems.append(f"{name} cannot be read: {type(error).__name__}: {error}: mend this first")
        return []
    texts, gone = [FUTURE], set()
    for number in sorted(kept):
        node = statements[number].node
        if not isinstance(node, ast.Import | ast.ImportFrom):
            texts.append(statements[number].text)
            continue
        asked = [alias for alias in node.names if (alias.asname or alias.name.split(".")[0]) in names]
        there = [alias for alias in _there(node, local) if alias in asked]
        gone |= {alias.name for alias in asked if alias not in there}
        texts += [text for text in [_import(node, there)] if text]
    if gone:
        problems.append(
            f"{name} needs {', '.join(sorted(gone))}, which is not there when it is graded: use Python's own modules"
        )
    return texts if len(texts) > 1 else []


def _importable(module: str, local: Collection[str]) -> bool:
    top = module.split(".")[0]
    return top in sys.stdlib_module_names or top in local or f"{top}.py" in local
