"""The code of a notebook as a module: definitions, imports and constants. Statements that only run something are left
out.

From a lab, most of whose cells run experiments and draw, only the code that the exercises need is taken (`needed`).
Metadata, outputs and cell ids are ignored.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pacelab_grading.receive.statements import (
    CELL_MAGIC,
    FUTURE,
    KEEPING,
    PACKAGE,
    Statement,
    alias_of,
    available_aliases,
    import_text,
    is_future,
    listed,
    outside,
    parsed,
    statements_of,
    with_changes,
)
from pacelab_grading.text.source_file import READER, most_bytes

MAX_CELLS = 1000
"""Code cells of a notebook. The labs have 30."""
HALF_PAIR = re.compile("[\ud800-\udfff]")
"""Half of an emoji, which a truncated text in JSON may have and no file can contain."""
FENCE = re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE)
"""The lines around code in Markdown."""
INDENT = re.compile(r"(?:[ \t]*\n)*([ \t]+)(?=\S)")
"""The indentation of a cell's first line, which IPython removes from all lines."""
WRITTEN = re.compile(r"^%%(?:writefile|file)\s+(?:-a\s+)?(?:\S*/)?(\w+)\.py\b", re.MULTILINE)
"""Modules that a cell writes: their code is in the notebook itself."""
DEFINED = re.compile(r"\b(?:def|class|import)[ \t]+(\w+)|^(\w+)[ \t]*[:=]", re.MULTILINE)
"""Definitions in a text that is not Python."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """The definitions of a notebook."""

    source: str | None
    problems: tuple[str, ...]


def cells_of(text: str, kind: str) -> list[str]:
    """The texts of the cells of one kind, "code", "markdown" or "raw". Raises ValueError if it is not a notebook."""
    try:
        return [_text_of(cell) for cell in _all_cells(text) if cell["cell_type"] == kind]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(type(error).__name__) from None


def _all_cells(text: str) -> list[Any]:
    notebook = json.loads(text)
    sheets = [notebook] if "cells" in notebook else notebook["worksheets"]  # before nbformat 4
    return [cell for sheet in sheets for cell in sheet["cells"]]


def _text_of(cell: Any) -> str:
    """The text of a cell; empty for a cell without text, which some tools write."""
    return _joined(cell.get("source", cell.get("input")) or "")


def _code_cells(text: str, name: str, wanted: Collection[str], problems: list[str]) -> list[str]:
    """The code of a notebook, cell by cell. Raises ValueError if it is not a notebook.

    A cell of another kind is read as code if it is Python and only this cell defines one of the names `wanted`.
    """
    code = "\n".join(cells_of(text, "code"))
    found: list[str] = []
    counts = {"markdown": 0, "raw": 0}
    for cell in _all_cells(text):
        kind = cell["cell_type"]
        if kind == "code":
            found.append(_text_of(cell))
            continue
        if kind not in counts:
            continue
        counts[kind] += 1
        try:
            source = FENCE.sub("", _text_of(cell))
        except (KeyError, TypeError):  # a damaged cell that is not code costs the student nothing
            continue
        names = [item for item in wanted if _defines(source, item) and not _defines(code, item)]
        if not names:
            continue
        place = (
            f"{name}: {', '.join(names)} is in {kind.capitalize() if kind == 'markdown' else kind} cell {counts[kind]}"
        )
        try:
            parsed(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            problems.append(f"{place}, which is not code: change it to a code cell")
        else:
            problems.append(f"{place}, which was read as code: change it to a code cell")
            found.append(source)
    return found


def is_notebook(text: str, name: str = "") -> bool:
    """Whether the text is a notebook, whatever the name of the file. A broken one is recognized by its name."""
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
    """Collect the definitions of all code cells in their order; a .py counts as one cell.

    The problems name each statement or cell that was left out although the names `wanted` need it. `local` are modules
    beside the notebook that it may import. With `lean`, only code that the names `wanted` need is taken.
    """
    problems: list[str] = []
    try:
        sources = _code_cells(text, name, wanted, problems) if is_notebook(text, name) else [text]
    except ValueError as error:
        problem = f"{name} cannot be read as a notebook ({error}): save it again from Jupyter"
        return Module(source=None, problems=(problem,))
    if len(sources) > MAX_CELLS:
        problem = f"{name} has {len(sources):,} code cells; at most {MAX_CELLS:,} are read: remove cells"
        return Module(source=None, problems=(problem,))
    written = set(WRITTEN.findall("\n".join(sources)))
    statements: list[Statement] = []
    for cell, source in enumerate(sources, 1):
        statements += _statements(source, cell, f"{name}: code cell {cell}", wanted, local, lean=lean)
    statements = with_changes([item for item in statements if not _imports_from(item, written)], name)
    take = needed if lean else _definitions
    parts = take(statements, name, wanted, problems, local)
    if not parts:
        nothing = () if problems else (f"{name} has no code cell that defines anything",)
        return Module(source=None, problems=(*problems, *nothing))
    return Module(source="\n\n".join(parts) + "\n", problems=tuple(problems))


def _joined(source: Any) -> str:
    text = source if isinstance(source, str) else "".join(str(line) for line in source)
    return HALF_PAIR.sub("\ufffd", text)


def _defines(source: str, name: str) -> bool:
    return re.search(rf"^[ \t]*(?:def|class)\s+{name}\b", source, re.MULTILINE) is not None


def _imports_from(statement: Statement, modules: Collection[str]) -> bool:
    """Whether it only imports these modules."""
    match statement.node:
        case ast.Import(names=aliases):
            return all(alias.name in modules for alias in aliases)
        case ast.ImportFrom(module=module, level=0):
            return module in modules
    return False


def _statements(
    source: str, cell: int, place: str, wanted: Collection[str], local: Collection[str], *, lean: bool
) -> list[Statement]:
    """The statements of a cell in their order; those that are left out have a reason."""
    source = source.replace("\r\n", "\n").replace("\r", "\n")  # as Python counts lines; `splitlines` knows more ends
    if indent := INDENT.match(source):
        source = re.sub(f"^{indent[1]}", "", source, flags=re.MULTILINE)
    if magic := KEEPING.match(source):
        source = "\n" * magic[0].count("\n") + source[magic.end() :]
    if magic := CELL_MAGIC.match(source):
        reason = f"{place} was left out because of {magic[1]}: remove that line"
        return [Statement(cell, ast.Pass(), "", _defined(source), reason)]
    try:
        tree, lines = parsed(source)
        return statements_of(tree, lines, cell, place, local, lean=lean)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        reason = f"{place}{where}: {type(error).__name__}: {getattr(error, 'msg', error)}; fix this first ({READER})"
        named = [name_ for name_ in wanted if f" {name_}" in source]
        return [Statement(cell, ast.Pass(), "", (*_defined(source), *named), reason)]


def _defined(source: str) -> tuple[str, ...]:
    """Names that a text which is not Python seems to define."""
    return tuple(name for names in DEFINED.findall(source) for name in names if name)


def _without_lost(statements: Sequence[Statement], name: str, local: Collection[str]) -> list[Statement]:
    """The same; statements that would fail because an earlier one was left out are left out as well."""
    future = any(is_future(statement.node) for statement in statements)
    gone: set[str] = set()
    given: set[str] = set()
    package: set[str] = set()
    found = []
    for statement in statements:
        node, gives = statement.node, set(statement.gives)
        if isinstance(node, ast.Import | ast.ImportFrom):
            gives = set(map(alias_of, available_aliases(node, local)))
            package |= {alias_of(alias) for alias in node.names if alias.name == PACKAGE}
        elif not statement.left_out and (lost := (_wants(statement, future=future) & gone) | outside(node, package)):
            place = f"{name}: code cell {statement.cell}, line {node.lineno}"
            names = ", ".join(sorted(lost))
            reason = f"{place}: {listed(statement.gives)} left out, because {names} was left out: fix that first"
            statement = replace(statement, left_out=reason, needs=frozenset(lost))
        gives = set() if statement.left_out else gives
        given |= gives
        gone -= gives
        gone |= set(statement.gives) - given
        found.append(statement)
    return found


def _wants(statement: Statement, *, future: bool) -> set[str]:
    """Names without which it fails when it runs."""
    try:
        found = statement.takes(now=True, future=future)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()  # the import of the file reports it
    return found | set(statement.gives) if isinstance(statement.node, ast.AugAssign) else found


def needed(
    statements: Sequence[Statement],
    name: str,
    wanted: Collection[str],
    problems: list[str],
    local: Collection[str] = (),
) -> list[str]:
    """The texts of the statements that the names `wanted` need, directly or not. Missing ones become problems."""
    looked_up = _looked_up(statements, name, wanted, problems, local)
    if looked_up is None:
        return []
    found, names = looked_up
    texts = [text for statement in found if (text := _kept(statement, names, local))]
    return [FUTURE, *texts] if texts else []


def _definitions(
    statements: Sequence[Statement], name: str, wanted: Collection[str], problems: list[str], local: Collection[str]
) -> list[str]:
    """The texts of all definitions, cell by cell. Missing ones that the names `wanted` need become problems."""
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
    """The statements that the names `wanted` need, and all needed names; None if they cannot be read."""
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
                more = (statement.needs if statement.left_out else statement.takes()) - names
                names |= more
                waiting += more
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        problems.append(f"{name} cannot be read: {type(error).__name__}: {error}; fix this first")
        return None
    found = [statements[number] for number in sorted(numbers)]
    problems += [statement.left_out for statement in found if statement.left_out]
    problems += _lacking(found, name, names, local)
    return found, names


def _lacking(statements: Sequence[Statement], name: str, names: Collection[str], local: Collection[str]) -> list[str]:
    """A problem for imported names that are needed and not available."""
    gone = {
        f"{node.module}.*" if alias.name == "*" and isinstance(node, ast.ImportFrom) else alias.name
        for node in (statement.node for statement in statements)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if alias_of(alias) in names and alias not in available_aliases(node, local)
    }
    names_ = ", ".join(sorted(gone))
    problem = f"{name} needs {names_}, which is not available when it is graded: use Python's standard library"
    return [problem] if gone else []


def _kept(statement: Statement, names: Collection[str] | None, local: Collection[str]) -> str:
    """The text of a statement that is taken; of an import, the available `names` (None: all)."""
    node = statement.node
    if statement.left_out or not statement.gives:
        return ""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return statement.text
    return import_text(
        node, [alias for alias in available_aliases(node, local) if names is None or alias_of(alias) in names]
    )
