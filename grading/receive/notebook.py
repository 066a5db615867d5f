"""A notebook's code as a module: definitions, imports and constants; what only runs something is left out.

Of a lab, most of whose cells run experiments and draw, only what the exercises need is taken (`needed`). Metadata,
outputs and cell ids are not looked at: nothing in them can count.
"""

from __future__ import annotations

import ast
import json
import re
import symtable
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pacelab.grading.receive.texts import READER
from pacelab.grading.sandbox import AVAILABLE

MAX_CELLS = 1000
KEEPING = re.compile(r"(?:\s*%%(?:time|timeit|capture)\b[^\n]*)+")
"""Magics at the top of a cell that run it as it is."""
CELL_MAGIC = re.compile(r"\s*(%%\w*)")
REST = r"(?:\\\n|[^\n])*"
MAGIC = re.compile(rf"([ \t]*)(?:[%!?]{REST}|%{{0,2}}[\w.*]+\?\??[ \t]*(?=\n|\Z))")
ASSIGNED = re.compile(rf"([ \t]*[^\W\d][\w., \t]*=[ \t]*)[%!]{REST}")
"""IPython's own statements: `%magic`, `!command`, `?name`, `name?`; `files = !ls`."""
PIECE = re.compile(
    r"""(\"{3}|'{3})(?:\\.|[^\\])*?(?:\1|\Z)|(["'])(?:\\.|[^\\\n])*?(?:\2|(?=\n)|\Z)|\#[^\n]*|\\\n|[^"'\#()\[\]{}\\\n]+""",
    re.DOTALL,
)
"""Of Python's text: a string, a comment, a line that goes on, or what is neither these nor a bracket."""
DEFINED = re.compile(r"\b(?:def|class|import)[ \t]+(\w+)|^(\w+)[ \t]*[:=]", re.MULTILINE)
"""In a text that is no Python."""
MAGICIAN = "get_ipython"
"""What IPython calls in their place."""
READING = frozenset(name for kind in (str, tuple, frozenset, float) for name in dir(kind)) | {
    "get",
    "items",
    "keys",
    "values",
}
"""Methods that change nothing: those of what never changes, and a dictionary's."""
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
        notebook = json.loads(text)
        sheets = [notebook] if "cells" in notebook else notebook["worksheets"]  # before nbformat 4
        cells = [cell for sheet in sheets for cell in sheet["cells"] if cell["cell_type"] == kind]
        return [_joined(cell["source"] if "source" in cell else cell["input"]) for cell in cells[:MAX_CELLS]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(type(error).__name__) from None


def is_notebook(text: str) -> bool:
    """Whether it is a notebook's text, whatever the file is called."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        cells_of(text, "code")
    except ValueError:
        return False
    return True


def module_of(
    text: str, name: str, wanted: Collection[str], local: Collection[str] = (), *, lean: bool = False
) -> Module:
    """Collect the definitions of all code cells, in their order, as they were written; a .py is one cell.

    What is left out is named if the names `wanted` need it, be it a cell that is no Python. `local` are modules beside
    the notebook: to be imported, too. With `lean` only what the names `wanted` need.
    """
    notebook = name.lower().endswith(".ipynb") or is_notebook(text)
    try:
        sources = cells_of(text, "code") if notebook else [text]
    except ValueError as error:
        problem = f"{name} is no notebook that can be read ({error}): save it again from Jupyter"
        return Module(source=None, problems=(problem,))
    statements: list[Statement] = []
    for cell, source in enumerate(sources, 1):
        statements += _statements(source, cell, f"{name}: code cell {cell}", wanted, local, lean=lean)
    statements = _with_changes(statements, name)
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
    """One of the outermost level; or a whole cell that cannot be read."""

    cell: int
    node: ast.stmt
    text: str
    gives: tuple[str, ...]
    """Names that it gives a meaning, or changes."""
    says: str = ""
    """What to tell whoever needs it: it is left out. Empty for what is taken."""
    needs: frozenset[str] = frozenset()
    """Names for the want of which it is left out."""

    def takes(self, *, now: bool = False, future: bool = False) -> set[str]:
        """Names of the module that it refers to, now or when it is called; `future`: annotations are not looked at."""
        if isinstance(self.node, ast.Import | ast.ImportFrom):
            return set()
        text = f"{FUTURE}\n{self.text}" if future else self.text
        tables, found = [symtable.symtable(text, "cell", "exec")], set()
        while tables:
            table = tables.pop()
            for symbol in table.get_symbols():
                if symbol.is_referenced() and (symbol.is_global() or table.get_type() == "module"):
                    found.add(symbol.get_name())
            tables += [child for child in table.get_children() if not now or child.get_type() == "class"]
        return found


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
        tree, lines = _parsed(source)
        return statements_of(tree, lines, cell, place, local, lean=lean)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        says = f"{place}{where}: {type(error).__name__}: {getattr(error, 'msg', error)}: mend this first ({READER})"
        named = [name_ for name_ in wanted if f" {name_}" in source]
        return [Statement(cell, ast.Pass(), "", (*_defined(source), *named), says)]


def statements_of(
    tree: ast.Module,
    lines: Sequence[str],
    cell: int = 1,
    place: str = "",
    local: Collection[str] = (),
    *,
    lean: bool = True,
) -> list[Statement]:
    """Those of a cell that is Python."""
    found = []
    for node in tree.body:
        gives = () if _is_future(node) else tuple(dict.fromkeys(_given(node)))
        why = _why_not(node, local, lean=lean)
        says = f"{place}, line {node.lineno}: {_listed(gives)} left out, since {why}" if why else ""
        found.append(Statement(cell, node, _text(node, lines), gives, says))
    return found


def _parsed(source: str) -> tuple[ast.Module, list[str]]:
    """A cell and its lines; what IPython alone understands is taken out only of what is no Python."""
    try:
        return ast.parse(source), source.split("\n")
    except SyntaxError:
        python = _without_magics(source)
        return ast.parse(python), python.split("\n")


def _without_magics(source: str) -> str:
    """Without lines of IPython's own, which it looks for where a statement starts; all others stay where they were."""
    made: list[str] = []
    at, depth, starts = 0, 0, True
    while at < len(source):
        if starts and (magic := MAGIC.match(source, at) or ASSIGNED.match(source, at)):
            instead = f"{MAGICIAN}()" if magic.re is ASSIGNED else "pass"
            made.append(magic[1] + instead + "\n" * magic[0].count("\n"))
            at, starts = magic.end(), False
            continue
        piece = PIECE.match(source, at)
        token = piece[0] if piece else source[at]
        depth = max(0, depth + (token in "([{") - (token in ")]}"))
        starts = token == "\n" and depth == 0
        made.append(token)
        at += len(token)
    return "".join(made)


def _defined(source: str) -> tuple[str, ...]:
    """Names that a text which is no Python seems to define."""
    return tuple(name for names in DEFINED.findall(source) for name in names if name)


def _given(node: ast.stmt) -> Iterator[str]:
    """Names that a statement gives a meaning, or changes a part of, other than those inside functions and classes."""
    waiting: list[ast.AST] = [node]
    while waiting:
        match waiting.pop():
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                yield from map(_alias, aliases)
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Subscript(value=inner, ctx=ast.Store()) | ast.Attribute(value=inner, ctx=ast.Store()):
                while isinstance(inner, ast.Subscript | ast.Attribute):
                    inner = inner.value
                if isinstance(inner, ast.Name):
                    yield inner.id
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                pass
            case other:
                waiting += reversed(list(ast.iter_child_nodes(other)))


def _with_changes(statements: Sequence[Statement], name: str) -> list[Statement]:
    """The same; what is left out gives, too, what it changes a part of, itself or by a function that it calls.

    Only of what is assigned here: `plt.show()` changes nothing that an answer uses.
    """
    functions = {
        item.node.name: set(_changed(item.node)) for item in statements if isinstance(item.node, ast.FunctionDef)
    }
    apart = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
    assigned = {given for item in statements if not isinstance(item.node, apart) for given in item.gives}
    found = []
    for statement in statements:
        if statement.says:
            called = (functions[call] for call in _called(statement.node) if call in functions)
            changed = set(_changed(statement.node)).union(*called) & assigned - set(statement.gives)
            if changed:
                place = f"{name}: code cell {statement.cell}, line {statement.node.lineno}"
                told = ", ".join(sorted(changed))
                says = f"{place}: what changes {told} was left out, since cells are not run: write {told} as it is then"
                statement = replace(statement, gives=(*statement.gives, *sorted(changed)), says=says)
        found.append(statement)
    return found


def _changed(node: ast.AST) -> Iterator[str]:
    """Names of what it changes a part of, in functions that it defines, too."""
    for part in ast.walk(node):
        match part:
            case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method not in READING:
                pass
            case (
                ast.Subscript(value=inner, ctx=ast.Store() | ast.Del())
                | ast.Attribute(value=inner, ctx=ast.Store() | ast.Del())
            ):
                pass
            case ast.Global(names=names):
                yield from names
                continue
            case _:
                continue
        while isinstance(inner, ast.Subscript | ast.Attribute | ast.Call):
            inner = inner.func if isinstance(inner, ast.Call) else inner.value
        if isinstance(inner, ast.Name):
            yield inner.id


def _why_not(node: ast.stmt, local: Collection[str], *, lean: bool) -> str:
    """Why a statement is left out, and what to do; empty for what defines something. Imports are looked at later."""
    if isinstance(node, ast.Import | ast.ImportFrom) or _defines(node, local, lean=lean):
        return ""
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        value = next((f", {name} = ...," for name in _given(node)), "")
        called = f"{_called(node)[0]} is called, and cells are not run"
        return f"{called}: write the value itself{value} or call it in a function"
    if isinstance(node, ast.Expr):
        return "cells are not run: define it in a statement of its own"
    return f"cells are not run: define it outside of `{type(node).__name__.lower()}`"


def _defines(node: ast.stmt, local: Collection[str], *, lean: bool) -> bool:
    """Whether a statement does nothing but to define what the sandbox can do with."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Pass():
            return True
        case ast.Import() | ast.ImportFrom():
            return len(_there(node, local)) == len(node.names)
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            called = _called(node)
            return not called or (lean and MAGICIAN not in called)
        case ast.If(test=test, body=body, orelse=orelse):
            return not _called(test) and all(_defines(part, local, lean=lean) for part in (*body, *orelse))
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=last):
            if any(_catches_imports(handler) for handler in handlers):
                body = [part for part in body if not isinstance(part, ast.Import | ast.ImportFrom)]
            parts = (*body, *orelse, *last, *(part for handler in handlers for part in handler.body))
            return all(_defines(part, local, lean=lean) for part in parts)
    return False


def _catches_imports(handler: ast.ExceptHandler) -> bool:
    """Whether it goes on where a module is not there."""
    caught = (
        {part.id for part in ast.walk(handler.type) if isinstance(part, ast.Name)} if handler.type else {"Exception"}
    )
    return not caught.isdisjoint(("ImportError", "ModuleNotFoundError", "Exception", "BaseException"))


def _called(node: ast.AST) -> list[str]:
    """Names of what a statement calls, the outermost first."""
    calls = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]
    return [getattr(call, "id", getattr(call, "attr", "something")) for call in calls]


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _alias(alias: ast.alias) -> str:
    """The name that an import gives a meaning."""
    return alias.asname or alias.name.split(".")[0]


def _without_lost(statements: Sequence[Statement], name: str, local: Collection[str]) -> list[Statement]:
    """The same, those left out, too, that would fail at once for want of what was left out before them."""
    future = any(_is_future(statement.node) for statement in statements)
    gone: set[str] = set()
    given: set[str] = set()
    found = []
    for statement in statements:
        node, gives = statement.node, set(statement.gives)
        if isinstance(node, ast.Import | ast.ImportFrom):
            gives = set(map(_alias, _there(node, local)))
        elif gone and not statement.says and (lost := _wants(statement, future=future) & gone):
            place = f"{name}: code cell {statement.cell}, line {node.lineno}"
            told = (
                f"{place}: {_listed(statement.gives)} left out, for want of {', '.join(sorted(lost))}: mend that first"
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
    future = [FUTURE] if any(_is_future(statement.node) for statement in statements) else []
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
        if _alias(alias) in names and alias not in _there(node, local)
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
    return _import(node, [alias for alias in _there(node, local) if names is None or _alias(alias) in names])


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:5])} {'was' if len(names) == 1 else 'were'}"


def _importable(module: str, local: Collection[str]) -> bool:
    top = module.split(".")[0]
    return top in sys.stdlib_module_names or top in local or f"{top}.py" in local
