"""No module imports itself by way of others, inside functions or out. What only types need does not count.

A circle that functions hide at import time is one still: its modules can be read, tested and changed only together.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def sources() -> dict[str, str]:
    """Module -> its text, the parts that are symlinks included."""
    found = {}
    for folder, _, files in os.walk(ROOT / "pacelab", followlinks=True):
        for path in (Path(folder) / name for name in files if name.endswith(".py")):
            module = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
            found[module.removesuffix(".__init__")] = path.read_text()
    return found


def runtime_imports(node: ast.AST) -> Iterator[tuple[str, ...]]:
    """For each name imported what it may be: a module, or a name in one."""
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        children: list[ast.AST] = list(node.orelse)
    else:
        children = [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]
    if isinstance(node, ast.Import):
        yield from ((alias.name,) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from ((f"{node.module}.{alias.name}", str(node.module)) for alias in node.names)
    for child in children:
        yield from runtime_imports(child)


def circle(texts: Mapping[str, str]) -> list[str]:
    """The modules of one, the first one again at the end, or nothing."""
    graph = {}
    for module, text in texts.items():
        imported = (
            next((name for name in names if name in texts), module) for names in runtime_imports(ast.parse(text))
        )
        graph[module] = sorted(set(imported) - {module})
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_there_is_no_circle() -> None:
    assert circle(sources()) == []


@pytest.mark.parametrize(
    ("one", "other", "is_one"),
    [
        ("import p.b", "from p import a", True),
        ("from p.b import f", "def g():\n    from p.a import h", True),
        ("from p.b import f", "if TYPE_CHECKING:\n    from p.a import h", False),
        ("from p.b import f", "if TYPE_CHECKING:\n    import x\nelse:\n    import p.a", True),
        ("from p.b import f", "import p", False),
    ],
)
def test_a_planted_one_is_found(one: str, other: str, is_one: bool) -> None:
    assert bool(circle({"p": "", "p.a": one, "p.b": other})) is is_one
