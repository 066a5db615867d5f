"""No module imports itself by way of others, in Python or in Rust."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

# No module imports itself by way of others, inside functions or out. What only types need does not count.
#
# A circle that functions hide at import time is one still: its modules can be read, tested and changed only together.

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


# No module of a crate in medium/ uses itself by way of others; between crates Cargo sees to it.
#
# A path counts that begins with `crate`, `super` or a child module, in `use` lines and in the code, tests included.

Module = tuple[str, ...]
CRATES = sorted(path.parent for path in (Path(__file__).parents[2] / "medium").glob("*/Cargo.toml"))
# A line that is no comment, or lines up to the end of a group; a path, and its last names (groups are not nested here).
LINE = re.compile(r"^(?!\s*//).*?(?:\{[^{}]*\}|$)", re.MULTILINE)
PATH = re.compile(r"(?<![\w:])(\w+(?:::\w+)*)::(?:\{([^{}]*)\}|(\w+|\*))")


def rust_sources(folder: Path) -> dict[Module, str]:
    """Module -> its text; the root of a crate is the empty one."""
    found = {}
    for path in folder.rglob("*.rs"):
        *above, name = path.relative_to(folder).with_suffix("").parts
        found[(*above, *([] if name in ("lib", "main", "mod") else [name]))] = path.read_text()
    return found


def used(module: Module, text: str, modules: Mapping[Module, str]) -> Iterator[Module]:
    """The modules that one names; an indented `super` is an inner module's and means this file."""
    starts = {"crate": (), **{child[-1]: child for child in modules if child and child[:-1] == module}}
    for line in LINE.findall(text):
        inner = line[:1].isspace()
        for base, group, last in PATH.findall(line):
            first, *rest = base.split("::")
            start = (module if inner else module[:-1]) if first == "super" else starts.get(first)
            for name in re.findall(r"\w+(?:::\w+)*", group) or [last] if start is not None else []:
                found = (*(start or ()), *rest, *name.split("::"))
                yield next(found[:length] for length in range(len(found), -1, -1) if found[:length] in modules)


def order(modules: Mapping[Module, str]) -> None:
    """Raises CycleError, which names the modules of a circle."""
    graph = {module: {*used(module, text, modules)} - {module} for module, text in modules.items()}
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("crate", CRATES, ids=lambda path: path.name)
def test_there_is_no_circle_in_rust(crate: Path) -> None:
    order(rust_sources(crate / "src"))


INNER = "mod tests {\n    use super::*;\n}"


@pytest.mark.parametrize(
    "b", ["use crate::{\n    c::C,\n    a::A,\n};", "use super::a::A;", "fn f() {\n    crate::a::f()\n}"]
)
def test_a_planted_one_in_rust_is_found(b: str) -> None:
    order({(): "", ("a",): "use crate::b::B;", ("b",): f"// crate::a\nuse crate::c::{{C, D}};\n{INNER}", ("c",): ""})
    with pytest.raises(CycleError):
        order({(): "", ("a",): "use crate::b::B;", ("b",): b, ("c",): ""})
    with pytest.raises(CycleError):
        order({("a",): "pub use inner::{I, J};", ("a", "inner"): "use super::A;"})
