"""No module of a crate in medium/ depends on itself through other modules. Between crates, Cargo checks this.

A path counts if it begins with `crate`, `super` or a child module, in `use` lines and in the code, tests included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

Module = tuple[str, ...]
CRATES = sorted(path.parent for path in (Path(__file__).parents[2] / "medium").glob("*/Cargo.toml"))
# A line that is not a comment, or lines up to the end of a group; a path, and its last names (groups are not nested
# here).
LINE = re.compile(r"^(?!\s*//).*?(?:\{[^{}]*\}|$)", re.MULTILINE)
PATH = re.compile(r"(?<![\w:])(\w+(?:::\w+)*)::(?:\{([^{}]*)\}|(\w+|\*))")


def rust_sources(folder: Path) -> dict[Module, str]:
    """Module -> its text. The root of a crate has the empty name."""
    found = {}
    for path in folder.rglob("*.rs"):
        *above, name = path.relative_to(folder).with_suffix("").parts
        found[(*above, *([] if name in ("lib", "main", "mod") else [name]))] = path.read_text()
    return found


def used(module: Module, text: str, modules: Mapping[Module, str]) -> Iterator[Module]:
    """The modules that a module names. An indented `super` belongs to an inner module and means this file."""
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
    """Raise CycleError that names the modules of a cycle."""
    graph = {module: {*used(module, text, modules)} - {module} for module, text in modules.items()}
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("crate", CRATES, ids=lambda path: path.name)
def test_no_module_uses_itself_by_way_of_others(crate: Path) -> None:
    order(rust_sources(crate / "src"))


INNER = "mod tests {\n    use super::*;\n}"


@pytest.mark.parametrize(
    "b", ["use crate::{\n    c::C,\n    a::A,\n};", "use super::a::A;", "fn f() {\n    crate::a::f()\n}"]
)
def test_a_planted_cycle_is_found(b: str) -> None:
    order({(): "", ("a",): "use crate::b::B;", ("b",): f"// crate::a\nuse crate::c::{{C, D}};\n{INNER}", ("c",): ""})
    with pytest.raises(CycleError):
        order({(): "", ("a",): "use crate::b::B;", ("b",): b, ("c",): ""})
    with pytest.raises(CycleError):
        order({("a",): "pub use inner::{I, J};", ("a", "inner"): "use super::A;"})
