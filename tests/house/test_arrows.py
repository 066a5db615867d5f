"""Which part and folder may import which, in no circle, read off the source without running it; how they are found."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import pacelab
from pacelab.cli.main import COMMANDS

# Which part may import which: the arrows of the house, read off the source without running it.
#
# 1. `pacelab.units` is a leaf.
# 2. `topologies` and `pacer.core` see `pacelab.units` and themselves only; the core does no I/O and reads no clock. A
#    paper's folder in it sees contract, segments, `pacing` and only those papers that it is built on.
# 3. `pacer.linux` sees `pacer.core`; `controller` sees `pacer.core` at most.
# 4. `pacelab` joins the parts, but not `labs`, `grading`, `controller`: it reaches these through entry points.
#    `labs` and `grading` see pacelab's public API only.
# 5. Nobody imports `tests`, `bench` or `studies`, nor says `import pacer`: a student's pacer.py may bear that name.

ROOT = Path(__file__).parents[2]
UNITS = "pacelab.units"
CORE = "pacelab_pacer.core"

LEAVES = [f"{CORE}.{name}" for name in ("contract", "segment", "checks")]
PAPERS: dict[str, list[str]] = {
    "tcp_gap": ["pacing"],
    "tcp_ap": ["tcp_gap"],
    "link_red": [],
    "ack_suppression": ["pacing"],
    "vagp": ["pacing"],
    "candidates": ["pacing"],
    "expect": ["pacing", "tcp_gap"],
}
"""Folders of pacer.core, a paper each -> the other folders there that it is built on; its docstring says so, too."""


def paper_sees(name: str) -> list[str]:
    return [UNITS, *LEAVES, *(f"{CORE}.{other}" for other in (name, *PAPERS[name]))]


SEES = {
    "pacelab/units.py": [],
    "topologies": [UNITS, "pacelab_topologies"],
    "pacer/__init__.py": [],
    "pacer/pacelab_pacer/core": [UNITS, *LEAVES],
    "pacer/pacelab_pacer/core/pacing": [UNITS, *LEAVES, f"{CORE}.pacing"],
    **{f"pacer/pacelab_pacer/core/{name}": paper_sees(name) for name in PAPERS},
    "pacer/pacelab_pacer/linux": [UNITS, CORE, "pacelab_pacer.linux"],
    "controller": [UNITS, CORE, "pacelab_controller"],
    "pacelab": ["pacelab"],
    "labs": ["pacelab"],
    "grading": ["pacelab", "pacelab_grading"],
}
"""Part -> the modules of this project that it may import. The longest matching part binds."""

PUBLIC_ONLY = ("labs", "grading")
PUBLIC = {"pacelab", *(f"pacelab.{name}" for name in pacelab.__all__)}
BY_ENTRY_POINT = ["pacelab.labs", "pacelab_grading", "pacelab_controller"]
OURS = ("pacelab", "pacer", "topologies", "controller", "labs", "grading", "tests", "bench", "studies")
IMPURE = {
    *("os", "io", "pathlib", "shutil", "tempfile", "subprocess", "sys"),
    *("socket", "select", "selectors", "ssl", "asyncio", "threading", "multiprocessing", "signal"),
    *("time", "datetime", "random", "secrets", "uuid", "logging", "warnings"),
}
INJECTED = {"random.Random"}
"""A seeded stream handed in by the shell may be named as a type."""
IMPURE_CALLS = {"print", "open", "input", "breakpoint", "exec", "eval", "__import__"}


def part_of(path: str) -> str:
    return max((part for part in SEES if path == part or path.startswith(part + "/")), key=len)


def sources() -> Iterator[str]:
    for folder in sorted({part.split("/")[0] for part in SEES}):
        for file in sorted((ROOT / folder).rglob("*.py")):
            path = file.relative_to(ROOT).as_posix()
            if not path.startswith(
                (
                    "controller/pacelab_controller/",
                    "grading/pacelab_grading/",
                    "pacer/pacelab_pacer/",
                    "topologies/pacelab_topologies/",
                )
            ):  # symlinks: seen at their real place
                yield path


def imports(tree: ast.AST, path: str) -> Iterator[tuple[int, str]]:
    """Line and full name of everything imported; `from a import b` counts as a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: import by full name, `from pacelab...`"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def within(name: str, packages: list[str]) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


def complaints(path: str, source: str) -> list[str]:
    """What in this file breaks an arrow, one line each."""
    part, tree, found = part_of(path), ast.parse(source), []
    for line, name in imports(tree, path):
        top = name.split(".")[0]
        if top in OURS and not within(name, SEES[part]):
            found.append(f"{path}:{line}: {part} may not import {name}")
        elif part == "pacelab" and within(name, BY_ENTRY_POINT):
            found.append(f"{path}:{line}: {part} reaches {name} through entry points only")
        elif part in PUBLIC_ONLY and top == "pacelab" and name not in PUBLIC and not within(name, SEES[part][1:]):
            found.append(f"{path}:{line}: {part} sees the public API only, not {name}")
        elif part.startswith("pacer/pacelab_pacer/core") and top in IMPURE and name not in INJECTED:
            found.append(f"{path}:{line}: the core is pure, no {top}")
    if part.startswith("pacer/pacelab_pacer/core"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IMPURE_CALLS:
                found.append(f"{path}:{node.lineno}: the core is pure, no {node.func.id}()")
    return found


def test_arrows_hold() -> None:
    found = [line for path in sources() for line in complaints(path, (ROOT / path).read_text())]
    assert not found, "\n" + "\n".join(found)


def test_arrows_know_every_paper() -> None:
    folders = {path.parent.name for path in (ROOT / "pacer" / "core").glob("*/__init__.py")}
    assert folders == {"pacing", *PAPERS}
    for name, others in PAPERS.items():
        said = (ROOT / "pacer" / "core" / name / "__init__.py").read_text("utf-8")
        assert [other for other in others if f"`{other}`" not in said] == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("pacelab/units.py", "import pacelab.errors"),
        ("topologies/pacelab_topologies/shapes/chain.py", "from pacelab_pacer.core import segment"),
        ("topologies/pacelab_topologies/shapes/chain.py", "import pacelab_medium"),
        ("pacer/pacelab_pacer/core/gap.py", "from pacelab import metrics"),
        ("pacer/pacelab_pacer/core/gap.py", "from pacelab_pacer import linux"),
        ("pacer/pacelab_pacer/core/gap.py", "def f():\n    import time"),
        ("pacer/pacelab_pacer/core/gap.py", "from random import random"),
        ("pacer/pacelab_pacer/core/gap.py", "print('paced')"),
        ("pacer/pacelab_pacer/core/null.py", f"from {CORE}.pacing import wake_heap"),
        ("pacer/pacelab_pacer/core/pacing/queue.py", f"from {CORE}.vagp.flow import VagpFlow"),
        ("pacer/pacelab_pacer/core/vagp/gateway.py", f"from {CORE}.tcp_gap.pace_estimator import PaceConfig"),
        ("pacer/pacelab_pacer/core/vagp/gateway.py", "import time"),
        ("pacer/pacelab_pacer/linux/agent.py", "import pacelab.running.runner"),
        ("controller/app.py", "from pacelab_topologies import chain"),
        ("pacelab/running/runner.py", "from tests.medium import anchors"),
        ("pacelab/running/runner.py", "import pacer"),
        ("pacelab/cli/main.py", "import pacelab_grading.handout"),
        ("labs/first.py", "from pacelab.running.runner import run"),
        ("grading/pacelab_grading/handout.py", "from pacelab_medium import run"),
    ],
)
def test_arrows_catch_a_planted_breach(path: str, source: str) -> None:
    assert len(complaints(path, source)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("topologies/pacelab_topologies/shapes/chain.py", "from pacelab.units import NS_PER_S\nimport math"),
        (
            "pacer/pacelab_pacer/core/gap.py",
            "from pacelab_pacer.core.segment import Segment\nfrom random import Random",
        ),
        ("pacelab/running/runner.py", "import os\nimport pacelab_medium\nfrom pacelab_pacer.core import null"),
        ("labs/first.py", "import pacelab\nfrom pacelab import __version__"),
        ("grading/pacelab_grading/handout.py", "from pacelab_grading.sandbox import Sandbox"),
    ],
)
def test_arrows_let_the_drawn_ones_pass(path: str, source: str) -> None:
    assert complaints(path, source) == []


# Which folder of pacelab/ may import which: nobody one that stands above it, not even for its types.
#
# `pacelab` itself, whose public names are loaded when they are used, stands above all.

LAYERS = (
    *("native", "units", "errors", "console", "topologies", "pacer"),
    *("options", "schemes", "traffic", "backends", "experiment"),
    *(
        "results",
        "sim",
        "hosts",
        "running",
        "show",
        "grid",
        "own",
        "claims",
        "demo",
        "doctor",
        "lab",
        "cli",
        "__main__",
    ),
)
"""From the ground up."""
APART = ("grading", "controller")
"""See pacelab's public names; reached by entry points (test_arrows.py)."""
MOST_FILES = 20
MOST_LINES = 60
REGISTRIES = {"topologies/shapes": "topologies/pacelab_topologies/registry.py"}
"""Folder of modules of one kind -> the registry that lists them. Who looks for one of these looks there, so that they
do not count: the folder may grow by one file for each that is added.
"""


def modules() -> Iterator[tuple[str, str]]:
    """Module and text of all that is layered."""
    for folder, _, files in os.walk(ROOT / "pacelab", followlinks=True):
        for path in (Path(folder) / name for name in files if name.endswith(".py")):
            module = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
            if module != "pacelab" and module.split(".")[1] not in APART:
                yield module, path.read_text(encoding="utf-8")


def upward(module: str, text: str) -> list[str]:
    """Imports of `module` that run upwards, one line each."""
    own = LAYERS.index(module.split(".")[1])
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        parts = [name.split(".") for name in names if name.startswith("pacelab.")]
        found += [
            f"{module}:{node.lineno}: {'.'.join(part)}"
            for part in parts
            if part[1] in LAYERS and LAYERS.index(part[1]) > own
        ]
    return found


def test_no_import_runs_upwards() -> None:
    assert [line for module, text in modules() for line in upward(module, text)] == []


def test_every_folder_has_its_layer() -> None:
    names = {path.stem for path in (ROOT / "pacelab").iterdir() if path.is_dir() or path.suffix == ".py"}
    assert names - {"__init__", "__pycache__", *APART} == set(LAYERS)


def listed(registry: str) -> set[str]:
    """Modules that a registry imports."""
    nodes = ast.walk(ast.parse((ROOT / registry).read_text(encoding="utf-8")))
    return {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}


def counted(folder: str, modules: set[str]) -> set[str]:
    """Those of a folder's modules that no registry lists."""
    return modules - {"__init__"} - (listed(REGISTRIES[folder]) if folder in REGISTRIES else set())


def test_no_folder_holds_more_files_than_one_sees_at_a_glance() -> None:
    for part in ("pacelab", "pacer", "topologies", "controller", "grading"):
        for place, _, files in os.walk(ROOT / part):
            folder = Path(place).relative_to(ROOT).as_posix()
            found = counted(folder, {name.removesuffix(".py") for name in files if name.endswith(".py")})
            assert len(found) <= MOST_FILES, (
                f"{folder} has {len(found)} modules, allowed are {MOST_FILES}: give those that belong together a "
                f"folder of their own; what a registry lists does not count ({', '.join(REGISTRIES.values())})"
            )


def long_functions(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or 0) - node.lineno + 1
            if lines > MOST_LINES:
                yield f"{node.name} has {lines} lines, allowed are {MOST_LINES}"


def test_every_function_is_read_in_one_sitting() -> None:
    found = [f"{path}: {told}" for path in sources() for told in long_functions((ROOT / path).read_text("utf-8"))]
    assert found == []
    assert [*long_functions("def f():\n" + "    x = 1\n" * MOST_LINES)] == ["f has 61 lines, allowed are 60"]


def test_a_topology_more_does_not_count() -> None:
    modules = {path.stem for path in (ROOT / "topologies/shapes").glob("*.py")}
    assert len(counted("topologies/shapes", modules)) <= 2, (
        "name the new topology in topologies/pacelab_topologies/registry.py"
    )
    assert counted("topologies/shapes", {"chain", "stray"}) == {"stray"}
    assert counted("pacelab/hosts", {"chain", "stray"}) == {"chain", "stray"}


@pytest.mark.parametrize(
    ("module", "text", "is_one"),
    [
        ("pacelab.results.metrics", "from pacelab.grid.grid import run_sweep", True),
        ("pacelab.experiment.resolve", "if TYPE_CHECKING:\n    from pacelab.results.results import RunResult", True),
        ("pacelab.air.engine", "def f():\n    import pacelab.cli.main", True),
        ("pacelab.grid.grid", "from pacelab.results.results import RunResult", False),
        ("pacelab.options.table", "from pacelab import __version__", False),
    ],
)
def test_a_planted_upward_import_is_found(module: str, text: str, is_one: bool) -> None:
    assert bool(upward(module, text)) is is_one


# The folders controller/, grading/, pacer/ and topologies/ are imported below pacelab, whatever stands nearby.


@pytest.mark.parametrize("name", ["controller", "grading", "pacer", "topologies"])
def test_mapping_symlink_stays_inside_the_project(name: str) -> None:
    link = ROOT / "pacelab" / name
    assert link.resolve() == (ROOT / name).resolve(), f"{link} should be a symlink to ../{name}"
    assert not link.readlink().is_absolute()


def test_mapping_is_not_shadowed_by_a_students_files(tmp_path: Path) -> None:
    for name in ("pacer", "topologies", "units"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('the student’s file was imported')\n", "utf-8")
    code = "import pacelab_pacer.core.null, pacelab_topologies, pacelab.units; print(pacelab_pacer.__path__[0])"
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert Path(ran.stdout.strip()).resolve() == (ROOT / "pacer").resolve()


def test_mapping_is_found_from_the_folder_above_a_clone(tmp_path: Path) -> None:
    """A clone's folder may be called pacelab: with it in sight, its root was taken for an empty package."""
    (tmp_path / "pacelab").symlink_to(ROOT)
    code = "import pacelab.units; print(pacelab.__file__)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert Path(ran.stdout.strip()) == ROOT / "pacelab/__init__.py"


def test_mapping_public_names_can_be_imported() -> None:
    import pacelab

    assert [name for name in pacelab.__all__ if not hasattr(pacelab, name)] == []


# No module imports itself by way of others, inside functions or out. What only types need does not count.
#
# A circle that functions hide at import time is one still: its modules can be read, tested and changed only together.


def sources_by_module() -> dict[str, str]:
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
    assert circle(sources_by_module()) == []


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


# What the command line imports before a command asks for more.

MOST_DEEP = 12


def deepest(module: str, texts: Mapping[str, str], known: dict[str, list[str]]) -> list[str]:
    """The longest way down from a module, by what each imports at once (not in functions, not for types)."""
    if module not in known:
        body = [node for node in ast.parse(texts[module]).body if isinstance(node, ast.Import | ast.ImportFrom)]
        names = (
            next((one for one in every if one in texts), module) for node in body for every in runtime_imports(node)
        )
        ways = (deepest(name, texts, known) for name in {*names} - {module})
        known[module] = [module, *max(ways, key=len, default=[])]
    return known[module]


def test_the_command_line_is_not_deep() -> None:
    texts, known = sources_by_module(), {}
    loaded = {where.partition(":")[0] for where, _ in COMMANDS.values()}
    for module in ["pacelab.cli.main", *(name for name in sorted(loaded) if name.startswith("pacelab.cli"))]:
        way = deepest(module, texts, known)
        assert len(way) <= MOST_DEEP, " > ".join(way)
    assert deepest("p", {"p": "from q import r", "q": "import s", "s": ""}, {}) == ["p", "q", "s"]


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
