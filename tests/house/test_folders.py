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


def test_no_folder_holds_more_files_than_one_sees_at_a_glance() -> None:
    counts = {
        folder: sum(name.endswith(".py") and name != "__init__.py" for name in files)
        for part in ("pacelab", "pacer", "topologies", "controller", "grading")
        for folder, _, files in os.walk(ROOT / part)
    }
    assert {folder: count for folder, count in counts.items() if count > MOST_FILES} == {}


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
