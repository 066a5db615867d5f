"""Which folder of pacelab/ may import which: nobody one that stands above it, not even for its types.

`pacelab` itself, whose public names are loaded when they are used, stands above all.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

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
REGISTRIES = {"topologies/shapes": "topologies/registry.py"}
"""Folder of modules of one kind -> the registry that lists them. Who looks for one of these looks there, so that they
do not count: the folder may grow by one file for each that is added.
"""


def sources() -> Iterator[tuple[str, str]]:
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
    assert [line for module, text in sources() for line in upward(module, text)] == []


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


def test_a_topology_more_does_not_count() -> None:
    modules = {path.stem for path in (ROOT / "topologies/shapes").glob("*.py")}
    assert len(counted("topologies/shapes", modules)) <= 2, "name the new topology in topologies/registry.py"
    assert counted("topologies/shapes", {"chain", "stray"}) == {"stray"}
    assert counted("pacelab/hosts", {"chain", "stray"}) == {"chain", "stray"}


@pytest.mark.parametrize(
    ("module", "text", "is_one"),
    [
        ("pacelab.results.metrics", "from pacelab.grid.sweep import run_sweep", True),
        ("pacelab.experiment.resolve", "if TYPE_CHECKING:\n    from pacelab.results.results import RunResult", True),
        ("pacelab.sim.engine", "def f():\n    import pacelab.cli.main", True),
        ("pacelab.grid.sweep", "from pacelab.results.results import RunResult", False),
        ("pacelab.options.table", "from pacelab import __version__", False),
    ],
)
def test_a_planted_one_is_found(module: str, text: str, is_one: bool) -> None:
    assert bool(upward(module, text)) is is_one
