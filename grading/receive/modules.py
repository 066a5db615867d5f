"""Modules of a student's own: which of the files beside the graded one it imports, and they import in turn."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator, Mapping

from pacelab.grading.receive.statements import there_of
from pacelab.grading.receive.texts import decoded

MAX_HELPERS = 50
OTHERWISE = "use Python's own modules, and what the template imports of pacelab"


def modules_beside(main: str, files: Mapping[str, bytes]) -> dict[str, str]:
    """Path below the graded file's folder -> text, of the other Python files there."""
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
    """Those of `beside` that the source imports, directly or not. A name of Python's own is never the student's."""
    found: dict[str, str] = {}
    waiting = [("", source)]
    while waiting:
        where, text = waiting.pop()
        for module in _imports(text, where):
            for path in _paths(module):
                if path not in beside or path in found:
                    continue
                if module.split(".")[0] in sys.stdlib_module_names:
                    note = f"{path} bears the name of one of Python's own modules, which is imported instead: rename it"
                    if note not in problems:
                        problems.append(note)
                elif len(found) < MAX_HELPERS:
                    found[path] = beside[path]
                    waiting.append((path, beside[path]))
    return found


def lacking(source: str, local: Collection[str]) -> tuple[str, ...]:
    """What the outermost level of a file imports, unguarded, that is not there when it is graded."""
    found: dict[str, int] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import | ast.ImportFrom) and not getattr(node, "level", 0):
            gone = [alias.name for alias in node.names if alias not in there_of(node, local)]
            found |= dict.fromkeys(
                gone if isinstance(node, ast.Import) else [f"{node.module}.{name}" for name in gone], node.lineno
            )
    return tuple(f"line {line}: {name} is not there when it is graded: {OTHERWISE}" for name, line in found.items())


def _imports(text: str, path: str) -> Iterator[str]:
    """Dotted names of modules that a text imports; `path` is its own, for relative imports."""
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
    """Files that importing the module reads."""
    parts = module.split(".")
    for count in range(1, len(parts) + 1):
        stem = "/".join(parts[:count])
        yield f"{stem}.py"
        yield f"{stem}/__init__.py"
