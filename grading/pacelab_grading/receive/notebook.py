"""A notebook's code as a module: definitions, imports and constants; what only runs something is left out.

Of a lab, most of whose cells run experiments and draw, only what the exercises need is taken (`needed`). Metadata,
outputs and cell ids are not looked at: nothing in them can count.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pacelab_grading.plain import READER, most_bytes
from pacelab_grading.receive.statements import (
    CELL_MAGIC,
    FUTURE,
    KEEPING,
    PACKAGE,
    Statement,
    alias_of,
    is_future,
    listed,
    outside,
    parsed,
    statements_of,
    there_of,
    with_changes,
)

MAX_CELLS = 1000
DEFINED = re.compile(r"\b(?:def|class|import)[ \t]+(\w+)|^(\w+)[ \t]*[:=]", re.MULTILINE)
"""In a text that is no Python."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """What a notebook defines."""

    source: str | None
    problems: tuple[str, ...]


def cells_of(text: str, kind: str) -> list[str]:
    """The texts of a notebook's cells of a kind, "code" or "markdown". ValueError for what is no notebook."""
    try:
        notebook = json.loads(text)
        sheets = [notebook] if "cells" in notebook else notebook["worksheets"]  # before nbformat 4
        cells = [cell for sheet in sheets for cell in sheet["cells"] if cell["cell_type"] == kind]
        return [_joined(cell["source"] if "source" in cell else cell["input"]) for cell in cells[:MAX_CELLS]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(type(error).__name__) from None


def is_notebook(text: str, name: str = "") -> bool:
    """Whether it is a notebook's text, whatever the file is called; by its name a broken one, which is no script."""
    if not text.lstrip().startswith("{"):
        return name.lower().endswith(".ipynb") and not _is_script(text)
    try:
        cells_of(text, "code")
    except ValueError:
        return name.lower().endswith(".ipynb")
    return True


def _is_script(text: str) -> bool:
    if len(text) > most_bytes("script.py"):
        return False
    try:
        return bool(ast.parse(text).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def module_of(
    text: str, name: str, wanted: Collection[str], local: Collection[str] = (), *, lean: bool = False
) -> Module:
    """Collect the definitions of all code cells, in their order, as they were written; a .py is one cell.

    What is left out is named if the names `wanted` need it, be it a cell that is no Python. `local` are modules beside
    the notebook: to be imported, too. With `lean` only what the names `wanted` need.
    """
    try:
        sources = cells_of(text, "code") if is_notebook(text, name) else [text]
    except ValueError as error:
        problem = f"{name} is no notebook that can be read ({error}): save it again from Jupyter"
        return Module(source=None, problems=(problem,))
    statements: list[Statement] = []
    for cell, source in enumerate(sources, 1):
        statements += _statements(source, cell, f"{name}: code cell {cell}", wanted, local, lean=lean)
    statements = with_changes(statements, name)
    problems: list[str] = []
    take = needed if lean else _definitions
    parts = take(statements, name, wanted, problems, local)
    if not parts:
        nothing = () if problems else (f"{name} has no code cell that defines anything",)
        return Module(source=None, problems=(*problems, *nothing))
    return Module(source="\n\n".join(parts) + "\n", problems=tuple(problems))


def _joined(source: Any) -> str:
    if isinstance(source, str):
        return source
    return "".join(str(line) for line in source)


def _import(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> str:
    if not names:
        return ""
    return ast.unparse(
        ast.Import(names) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, names, node.level)
    )


def _statements(
    source: str, cell: int, place: str, wanted: Collection[str], local: Collection[str], *, lean: bool
) -> list[Statement]:
    """A cell's, in their order, those that are left out with what to say."""
    source = source.replace("\r\n", "\n").replace("\r", "\n")  # as Python counts lines; `splitlines` knows more ends
    if magic := KEEPING.match(source):
        source = "\n" * magic[0].count("\n") + source[magic.end() :]
    if magic := CELL_MAGIC.match(source):
        says = f"{place} was left out ({magic[1]}): take that line out"
        return [Statement(cell, ast.Pass(), "", _defined(source), says)]
    try:
        tree, lines = parsed(source)
        return statements_of(tree, lines, cell, place, local, lean=lean)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        says = f"{place}{where}: {type(error).__name__}: {getattr(error, 'msg', error)}: mend this first ({READER})"
        named = [name_ for name_ in wanted if f" {name_}" in source]
        return [Statement(cell, ast.Pass(), "", (*_defined(source), *named), says)]


def _defined(source: str) -> tuple[str, ...]:
    """Names that a text which is no Python seems to define."""
    return tuple(name for names in DEFINED.findall(source) for name in names if name)


def _without_lost(statements: Sequence[Statement], name: str, local: Collection[str]) -> list[Statement]:
    """The same, those left out, too, that would fail at once for want of what was left out before them."""
    future = any(is_future(statement.node) for statement in statements)
    gone: set[str] = set()
    given: set[str] = set()
    package: set[str] = set()
    found = []
    for statement in statements:
        node, gives = statement.node, set(statement.gives)
        if isinstance(node, ast.Import | ast.ImportFrom):
            gives = set(map(alias_of, there_of(node, local)))
            package |= {alias_of(alias) for alias in node.names if alias.name == PACKAGE}
        elif not statement.says and (lost := (_wants(statement, future=future) & gone) | outside(node, package)):
            place = f"{name}: code cell {statement.cell}, line {node.lineno}"
            told = (
                f"{place}: {listed(statement.gives)} left out, for want of {', '.join(sorted(lost))}: mend that first"
            )
            statement = replace(statement, says=told, needs=frozenset(lost))
        gives = set() if statement.says else gives
        given |= gives
        gone -= gives
        gone |= set(statement.gives) - given
        found.append(statement)
    return found


def _wants(statement: Statement, *, future: bool) -> set[str]:
    """Names that it cannot do without when it is run."""
    try:
        found = statement.takes(now=True, future=future)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()  # it says so itself when it is imported
    return found | set(statement.gives) if isinstance(statement.node, ast.AugAssign) else found


def needed(
    statements: Sequence[Statement],
    name: str,
    wanted: Collection[str],
    problems: list[str],
    local: Collection[str] = (),
) -> list[str]:
    """The texts of those that the names `wanted` need, directly or not; of these what is left out is named."""
    looked_up = _looked_up(statements, name, wanted, problems, local)
    if looked_up is None:
        return []
    found, names = looked_up
    texts = [text for statement in found if (text := _kept(statement, names, local))]
    return [FUTURE, *texts] if texts else []


def _definitions(
    statements: Sequence[Statement], name: str, wanted: Collection[str], problems: list[str], local: Collection[str]
) -> list[str]:
    """The texts of all that defines something, a cell's together; what the names `wanted` lack is named."""
    statements = _without_lost(statements, name, local)
    if _looked_up(statements, name, wanted, problems, local) is None:
        return []
    cells: dict[int, list[str]] = {}
    for statement in statements:
        if text := _kept(statement, None, local):
            cells.setdefault(statement.cell, []).append(text)
    future = [FUTURE] if any(is_future(statement.node) for statement in statements) else []
    return [*future, *("\n".join(texts) for texts in cells.values())]


def _looked_up(
    statements: Sequence[Statement], name: str, wanted: Collection[str], problems: list[str], local: Collection[str]
) -> tuple[list[Statement], set[str]] | None:
    """Those that the names `wanted` need, directly or not, and all names needed; None if they cannot be read."""
    giving: dict[str, list[int]] = {}
    for number, statement in enumerate(statements):
        for given in statement.gives:
            giving.setdefault(given, []).append(number)
    names, numbers, waiting = {*wanted, "*"}, set[int](), [*wanted, "*"]
    try:
        while waiting:
            for number in set(giving.get(waiting.pop(), ())) - numbers:
                numbers.add(number)
                statement = statements[number]
                more = (statement.needs if statement.says else statement.takes()) - names
                names |= more
                waiting += more
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        problems.append(f"{name} cannot be read: {type(error).__name__}: {error}: mend this first")
        return None
    found = [statements[number] for number in sorted(numbers)]
    problems += [statement.says for statement in found if statement.says]
    problems += _lacking(found, name, names, local)
    return found, names


def _lacking(statements: Sequence[Statement], name: str, names: Collection[str], local: Collection[str]) -> list[str]:
    """What to say of imported names that are needed and are not there."""
    gone = {
        f"{node.module}.*" if alias.name == "*" and isinstance(node, ast.ImportFrom) else alias.name
        for node in (statement.node for statement in statements)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if alias_of(alias) in names and alias not in there_of(node, local)
    }
    told = f"{name} needs {', '.join(sorted(gone))}, which is not there when it is graded: use Python's own modules"
    return [told] if gone else []


def _kept(statement: Statement, names: Collection[str] | None, local: Collection[str]) -> str:
    """The text of one that is taken; of an import those of the `names` (None: all) that are there."""
    node = statement.node
    if statement.says or not statement.gives:
        return ""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return statement.text
    return _import(node, [alias for alias in there_of(node, local) if names is None or alias_of(alias) in names])
