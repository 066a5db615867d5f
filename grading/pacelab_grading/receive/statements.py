"""Statements of hand-ins: which names each one defines and needs, and which modules a file imports.

A cell is read without the statements that only IPython understands. A statement that is left out has a reason. A
student's own modules are the files beside the graded one that it imports, directly or through another module.
"""

from __future__ import annotations

import ast
import math
import re
import symtable
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pacelab
from pacelab_grading.sandbox.box import AVAILABLE
from pacelab_grading.text.source_file import decoded
from pacelab_grading.text.typography import plain_code

KEEPING = re.compile(r"(?:\s*%%(?:time|timeit|capture|prun|writefile|file)\b[^\n]*)+")
"""Magics at the top of a cell whose text stays Python."""
CELL_MAGIC = re.compile(r"\s*(%%\w*)")
REST = r"(?:\\\n|[^\n])*"
MAGIC = re.compile(rf"([ \t]*)(?:[%!?]{REST}|%{{0,2}}[\w.*]+\?\??[ \t]*(?=\n|\Z))")
ASSIGNED = re.compile(rf"([ \t]*[^\W\d][\w., \t]*=[ \t]*)[%!]{REST}")
"""IPython's statements: `%magic`, `!command`, `?name`, `name?`; `files = !ls`."""
PIECE = re.compile(
    r"""(\"{3}|'{3})(?:\\.|[^\\])*?(?:\1|\Z)|(["'])(?:\\.|[^\\\n])*?(?:\2|(?=\n)|\Z)|\#[^\n]*|\\\n|[^"'\#()\[\]{}\\\n]+""",
    re.DOTALL,
)
"""A piece of Python: a string, a comment, a continued line, or text without these and without brackets."""
COMPUTING = frozenset(
    {
        *("abs", "bool", "complex", "dict", "divmod", "float", "frozenset", "int", "len", "list", "max", "min", "pow"),
        *("range", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "zip", "enumerate"),
        *("Decimal", "Fraction"),
        *(name for name in dir(math) if not name.startswith("_")),
    }
)
"""Functions that only compute. A constant may call them."""
IPYTHON_CALL = "get_ipython"
"""The function that IPython calls in their place."""


def parsed(source: str) -> tuple[ast.Module, list[str]]:
    """A cell and its lines. IPython's statements, and then characters that Python cannot read, are removed only if the
    cell is not Python.
    """
    first: SyntaxError | None = None
    for reading in (lambda text: text, _without_magics, lambda text: plain_code(_without_magics(text))[0]):
        python = reading(source)
        try:
            return ast.parse(python), python.split("\n")
        except SyntaxError as error:
            first = error if reading is _without_magics else first or error
    assert first is not None
    raise first


def _without_magics(source: str) -> str:
    """The text without IPython's statements, which can only start where a statement starts; line numbers stay."""
    made: list[str] = []
    at, depth, starts = 0, 0, True
    while at < len(source):
        if starts and (magic := MAGIC.match(source, at) or ASSIGNED.match(source, at)):
            instead = f"{IPYTHON_CALL}()" if magic.re is ASSIGNED else "pass"
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


READING = frozenset(name for kind in (str, tuple, frozenset, float) for name in dir(kind)) | {
    "get",
    "items",
    "keys",
    "values",
}
"""Methods that change nothing: those of immutable types, and of dictionaries."""
PACKAGE = "pacelab"
FUTURE = "from __future__ import annotations"
"""Precedes the code that was taken: names that only annotations need may be missing."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A top-level statement, or a whole cell that cannot be read."""

    cell: int
    node: ast.stmt
    text: str
    gives: tuple[str, ...]
    """Names that it defines or changes."""
    left_out: str = ""
    """Why it is left out, as a problem for the report; empty if it is taken."""
    needs: frozenset[str] = frozenset()
    """Missing names because of which it is left out."""

    def takes(self, *, now: bool = False, future: bool = False) -> set[str]:
        """Names of the module that it uses, now or when it is called. `future`: annotations are not evaluated."""
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


def statements_of(
    tree: ast.Module,
    lines: Sequence[str],
    cell: int = 1,
    place: str = "",
    local: Collection[str] = (),
    *,
    lean: bool = True,
) -> list[Statement]:
    """The statements of a cell that is Python."""
    found = []
    for node in tree.body:
        gives = () if is_future(node) else tuple(dict.fromkeys(_given(node)))
        why = _why_not(node, local, lean=lean)
        left_out = f"{place}, line {node.lineno}: {listed(gives)} left out, because {why}" if why else ""
        found.append(Statement(cell, node, _text(node, lines), gives, left_out))
    return found


def with_changes(statements: Sequence[Statement], name: str) -> list[Statement]:
    """The same statements; one that is left out also defines the names that it changes, itself or by a function.

    Only names that are assigned here count: `plt.show()` changes nothing that an answer uses.
    """
    functions = {
        item.node.name: set(_changed(item.node)) for item in statements if isinstance(item.node, ast.FunctionDef)
    }
    apart = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
    assigned = {given for item in statements if not isinstance(item.node, apart) for given in item.gives}
    found = []
    for statement in statements:
        if statement.left_out:
            called = (functions[call] for call in _called(statement.node) if call in functions)
            changed = set(_changed(statement.node)).union(*called) & assigned - set(statement.gives)
            if changed:
                place = f"{name}: code cell {statement.cell}, line {statement.node.lineno}"
                names = ", ".join(sorted(changed))
                reason = f"{place}: the statement that changes {names} was left out, because cells are not run"
                reason += f": write {names} with its final value"
                statement = replace(statement, gives=(*statement.gives, *sorted(changed)), left_out=reason)
        found.append(statement)
    return found


def is_future(node: ast.stmt) -> bool:
    """Whether it must be at the top of a module."""
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def alias_of(alias: ast.alias) -> str:
    """The name that an import defines."""
    return alias.asname or alias.name.split(".")[0]


def available_aliases(node: ast.Import | ast.ImportFrom, local: Collection[str]) -> list[ast.alias]:
    """The imported names that the sandbox has."""
    if isinstance(node, ast.Import):
        return [alias for alias in node.names if alias.name == PACKAGE or _importable(alias.name, local)]
    if node.module == PACKAGE:  # `import *` gives the names that are available
        return [alias for alias in node.names if alias.name in AVAILABLE or alias.name == "*"]
    return node.names if node.module and _importable(node.module, local) else []


def outside(node: ast.stmt, aliases: Collection[str]) -> set[str]:
    """Names of pacelab that a statement uses when it runs and the sandbox lacks. `aliases`: names for pacelab."""
    found: set[str] = set()
    waiting: list[ast.AST] = [node]
    while waiting:
        match waiting.pop():
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in aliases:
                found |= set() if attribute in AVAILABLE else {f"{name}.{attribute}"}
            case ast.FunctionDef() | ast.AsyncFunctionDef() as function:
                waiting += [*function.decorator_list, function.args, *([function.returns] if function.returns else [])]
            case ast.Lambda(args=arguments):
                waiting.append(arguments)
            case other:
                waiting += ast.iter_child_nodes(other)
    return found


def listed(names: Sequence[str]) -> str:
    """The first names, with the matching verb."""
    return f"{', '.join(names[:5])} {'was' if len(names) == 1 else 'were'}"


def _text(node: ast.stmt, lines: Sequence[str]) -> str:
    """The original text. Text made from the tree would lose the comments, and fail for long expressions."""
    decorators = [item.lineno for item in getattr(node, "decorator_list", ())]
    first, last = min([node.lineno, *decorators]), node.end_lineno or node.lineno
    found = [line.encode() for line in lines[first - 1 : last]]  # columns count bytes
    found[-1] = found[-1][: node.end_col_offset]
    found[0] = found[0] if decorators else found[0][node.col_offset :]
    return b"\n".join(found).decode()


def _given(node: ast.stmt) -> Iterator[str]:
    """Names that a statement defines or changes a part of, except inside functions and classes."""
    waiting: list[ast.AST] = [node]
    while waiting:
        match waiting.pop():
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                yield from map(alias_of, aliases)
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


def _changed(node: ast.AST) -> Iterator[str]:
    """Names of which it changes a part, also in functions that it defines."""
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
    """Why a statement is left out, and what to do; empty if it is taken. Imports are handled later."""
    if isinstance(node, ast.Import | ast.ImportFrom) or _defines(node, local, lean=lean):
        return ""
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        value = next((f", {name} = ...," for name in _given(node)), "")
        name = next((name for name in _called(node) if name not in COMPUTING), "a function")
        called = f"it calls {name}, and cells are not run"
        return f"{called}: write the value itself{value} or call it in a function"
    if isinstance(node, ast.Expr):
        return "cells are not run: define it in a separate statement"
    return f"cells are not run: define it outside `{type(node).__name__.lower()}`"


def _defines(node: ast.stmt, local: Collection[str], *, lean: bool) -> bool:
    """Whether a statement only defines something that works in the sandbox."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Pass():
            return True
        case ast.Import() | ast.ImportFrom():
            return len(available_aliases(node, local)) == len(node.names)
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            called = set(_called(node))
            return called <= COMPUTING or (lean and IPYTHON_CALL not in called)
        case ast.If(test=test, body=body, orelse=orelse):
            return not _called(test) and all(_defines(part, local, lean=lean) for part in (*body, *orelse))
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=last):
            if any(_catches_imports(handler) for handler in handlers):
                body = [part for part in body if not isinstance(part, ast.Import | ast.ImportFrom)]
            parts = (*body, *orelse, *last, *(part for handler in handlers for part in handler.body))
            return all(_defines(part, local, lean=lean) for part in parts)
    return False


def _catches_imports(handler: ast.ExceptHandler) -> bool:
    """Whether it catches the error of a missing module."""
    caught = (
        {part.id for part in ast.walk(handler.type) if isinstance(part, ast.Name)} if handler.type else {"Exception"}
    )
    return not caught.isdisjoint(("ImportError", "ModuleNotFoundError", "Exception", "BaseException"))


def _called(node: ast.AST) -> list[str]:
    """Names of the functions that a statement calls, the outermost first."""
    calls = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]
    return [getattr(call, "id", getattr(call, "attr", "something")) for call in calls]


def _importable(module: str, local: Collection[str]) -> bool:
    top = module.split(".")[0]
    return top in sys.stdlib_module_names or top in local or f"{top}.py" in local


MAX_HELPERS = 50
INSTEAD = "use Python's standard library and what the template imports from pacelab"


def modules_beside(main: str, files: Mapping[str, bytes]) -> dict[str, str]:
    """The other Python files in the folder of the graded file: path below it -> text."""
    top = main.rpartition("/")[0]
    found = {}
    for name, content in files.items():
        if name == main or not name.endswith(".py") or not (not top or name.startswith(f"{top}/")):
            continue
        below = name[len(top) + 1 :] if top else name
        if all(part.isidentifier() for part in below.removesuffix(".py").split("/")):
            found[below], _ = decoded(content)
    return found


def imported(source: str, beside: Mapping[str, str], problems: list[str]) -> dict[str, str]:
    """The modules of `beside` that the source imports, directly or not. The standard library takes precedence."""
    found: dict[str, str] = {}
    waiting = [("", source)]
    while waiting:
        where, text = waiting.pop()
        for module in _imports(text, where):
            for path in _paths(module):
                if path not in beside or path in found:
                    continue
                if module.split(".")[0] in sys.stdlib_module_names:
                    note = f"{path} has the name of a module of Python, which is imported instead: rename it"
                    if note not in problems:
                        problems.append(note)
                elif len(found) < MAX_HELPERS:
                    found[path] = beside[path]
                    waiting.append((path, beside[path]))
    return found


def lacking(source: str, local: Collection[str]) -> tuple[str, ...]:
    """Imports, outside `try`, that are not available when the file is graded; also those within functions."""
    found: dict[str, int] = {}
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom) and not getattr(node, "level", 0):
            gone = [alias.name for alias in node.names if alias not in available_aliases(node, local)]
            for name in gone if isinstance(node, ast.Import) else [f"{node.module}.{name}" for name in gone]:
                found[name] = min(node.lineno, found.get(name, node.lineno))
        elif not isinstance(node, ast.Try):
            waiting += ast.iter_child_nodes(node)
    in_order = sorted(found.items(), key=lambda item: item[1])
    return tuple(f"line {line}: {name} is not available when it is graded: {INSTEAD}" for name, line in in_order)


def with_available_imports(source: str, local: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """A file without top-level imports that fail in the sandbox, and a problem for each; line numbers stay.

    Code that uses such a module fails only in the checks that call it, as in a notebook. An import of the student's own
    module by a leading dot loses the dot. Imports within `try` stay: the file handles their failure.
    """
    lines, problems, changes = source.split("\n"), [], list[tuple[ast.stmt, str]]()
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Import | ast.ImportFrom) or is_future(node) or not _is_replaceable(node, lines):
            continue
        kept, problem = _available(node, local)
        if problem:
            changes.append((node, kept or "pass"))
            problems.append(f"line {node.lineno}: {problem}")
    _replace(lines, changes)
    source, left_out = _without_doomed("\n".join(lines), lines_of_imports=source, local=local)
    return source, (*problems, *left_out)


def _replace(lines: list[str], changes: Sequence[tuple[ast.stmt, str]]) -> None:
    """Put other text in the place of statements, which are in their order; line numbers stay."""
    for node, text in reversed(changes):
        end = node.end_lineno or node.lineno
        before = lines[node.lineno - 1].encode()[: node.col_offset].decode()  # columns count bytes
        after = lines[end - 1].encode()[node.end_col_offset :].decode()
        lines[node.lineno - 1 : end] = [before + text + after, *[""] * (end - node.lineno)]


NEVER = frozenset(("input", "open", "quit", "exit"))
"""Functions that always fail while a file is imported for grading."""
ENDS = frozenset((("sys", "exit"), ("unittest", "main")))
"""Functions of modules that end the process."""


def _without_doomed(source: str, *, lines_of_imports: str, local: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """A file without the top-level statements that need what is not available, and a problem for each; lines stay.

    Definitions stay, also if they use it: they fail only when they are called. So do statements within `try`, and those
    that run only if the file is the main program. `lines_of_imports`: the file before imports were removed.
    """
    gone, package = set(NEVER), set[str]()
    for node in ast.parse(lines_of_imports).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            package |= {alias_of(alias) for alias in node.names if alias.name == PACKAGE}
            if not (isinstance(node, ast.ImportFrom) and node.level):
                available = available_aliases(node, local)
                gone |= {alias_of(alias) for alias in node.names if alias not in available}
                if node.names[0].name == "*" and isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
                    gone |= set(pacelab.__all__) - set(AVAILABLE)
    tree, lines, problems, changes = ast.parse(source), source.split("\n"), [], list[tuple[ast.stmt, str]]()
    stays = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Try)
    for statement in statements_of(tree, lines):
        node = statement.node
        lost = set[str]()
        if not isinstance(node, stays) and not _is_main(node):
            lost = (statement.takes(now=True) & gone) | outside(node, package) | _ends(node)
        if not lost or not _is_replaceable(node, lines):
            gone -= set(statement.gives)
            continue
        gone |= set(statement.gives)
        changes.append((node, "pass"))
        names = ", ".join(sorted(lost))
        problems.append(
            f"line {node.lineno}: left out, because {names} is not available when it is graded: remove the statement, "
            'or put it under `if __name__ == "__main__":`'
        )
    _replace(lines, changes)
    return "\n".join(lines), tuple(problems)


def _ends(node: ast.stmt) -> set[str]:
    """The function that ends the process, if the statement only calls it."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=name))):
            return {f"{module}.{name}"} if (module, name) in ENDS else set()
    return set()


def _is_main(node: ast.stmt) -> bool:
    """Whether it runs only if the file is the main program."""
    return isinstance(node, ast.If) and any(
        isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test)
    )


def _available(node: ast.Import | ast.ImportFrom, local: Collection[str]) -> tuple[str, str]:
    """The text of the import that works in the sandbox, and what was changed; no change: an empty problem."""
    if isinstance(node, ast.ImportFrom) and node.level:
        top = (node.module or "").split(".")[0]
        if node.level == 1 and (top in local or f"{top}.py" in local):
            kept = ast.unparse(ast.ImportFrom(node.module, node.names, 0))
            return kept, f"your files are not a package: read as `{kept}`"
        return "", ""
    names = available_aliases(node, local)
    if len(names) == len(node.names):
        return "", ""
    missing = ", ".join(alias.name for alias in node.names if alias not in names)
    source = f"{node.module}." if isinstance(node, ast.ImportFrom) and node.module == PACKAGE else ""
    source = f"{node.module}: " if isinstance(node, ast.ImportFrom) and not source else source
    return import_text(node, names), f"{source}{missing} is not available when it is graded and was left out: {INSTEAD}"


def import_text(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> str:
    """The import with these names only; empty without names."""
    if not names:
        return ""
    made = ast.Import(names) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, names, node.level)
    return ast.unparse(made)


def _is_replaceable(node: ast.stmt, lines: Sequence[str]) -> bool:
    """Whether other text can take its place: it has its lines for itself, or it is a part of one line."""
    before, after = lines[node.lineno - 1][: node.col_offset], lines[(node.end_lineno or node.lineno) - 1]
    rest = after.encode()[node.end_col_offset :].decode().strip()
    shares = bool(before.strip()) or bool(rest and not rest.startswith("#"))
    return not shares or node.end_lineno == node.lineno


def _imports(text: str, path: str) -> Iterator[str]:
    """Dotted names of modules that a text imports. `path` is its own path, for relative imports."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    package = path.split("/")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            if base:
                yield base
            yield from (f"{base}.{alias.name}" if base else alias.name for alias in node.names)


def _paths(module: str) -> Iterator[str]:
    """Files that Python reads to import the module."""
    parts = module.split(".")
    for count in range(1, len(parts) + 1):
        stem = "/".join(parts[:count])
        yield f"{stem}.py"
        yield f"{stem}/__init__.py"
