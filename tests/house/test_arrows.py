"""Which part may import which: the arrows of the house, read off the source without running it.

1. `pacelab.units` is a leaf.
2. `topologies` and `pacer.core` see `pacelab.units` and themselves only; the core does no I/O and reads no clock. A
   paper's folder in it sees contract, segments, `pacing` and only those papers that it is built on.
3. `pacer.linux` sees `pacer.core`; `controller` sees `pacer.core` at most.
4. `pacelab` joins the parts, but not `labs`, `grading`, `controller`: it reaches these through entry points.
   `labs` and `grading` see pacelab's public API only.
5. Nobody imports `tests`, `bench` or `studies`, nor says `import pacer`: a student's pacer.py may bear that name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pacelab

ROOT = Path(__file__).parents[2]
UNITS = "pacelab.units"
CORE = "pacelab.pacer.core"

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
    "topologies": [UNITS, "pacelab.topologies"],
    "pacer/__init__.py": [],
    "pacer/core": [UNITS, *LEAVES],
    "pacer/core/pacing": [UNITS, *LEAVES, f"{CORE}.pacing"],
    **{f"pacer/core/{name}": paper_sees(name) for name in PAPERS},
    "pacer/linux": [UNITS, CORE, "pacelab.pacer.linux"],
    "controller": [UNITS, CORE, "pacelab.controller"],
    "pacelab": ["pacelab"],
    "labs": ["pacelab"],
    "grading": ["pacelab", "pacelab.grading"],
}
"""Part -> the modules of this project that it may import. The longest matching part binds."""

PUBLIC_ONLY = ("labs", "grading")
PUBLIC = {"pacelab", *(f"pacelab.{name}" for name in pacelab.__all__)}
BY_ENTRY_POINT = ["pacelab.labs", "pacelab.grading", "pacelab.controller"]
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
                ("pacelab/controller/", "pacelab/grading/", "pacelab/pacer/", "pacelab/topologies/")
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
        elif part.startswith("pacer/core") and top in IMPURE and name not in INJECTED:
            found.append(f"{path}:{line}: the core is pure, no {top}")
    if part.startswith("pacer/core"):
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
        ("topologies/shapes/chain.py", "from pacelab.pacer.core import segment"),
        ("topologies/shapes/chain.py", "from pacelab import _medium"),
        ("pacer/core/gap.py", "from pacelab import metrics"),
        ("pacer/core/gap.py", "from pacelab.pacer import linux"),
        ("pacer/core/gap.py", "def f():\n    import time"),
        ("pacer/core/gap.py", "from random import random"),
        ("pacer/core/gap.py", "print('paced')"),
        ("pacer/core/null.py", f"from {CORE}.pacing import wake_heap"),
        ("pacer/core/pacing/queue.py", f"from {CORE}.vagp.flow import VagpFlow"),
        ("pacer/core/vagp/gateway.py", f"from {CORE}.tcp_gap.pace_estimator import PaceConfig"),
        ("pacer/core/vagp/gateway.py", "import time"),
        ("pacer/linux/agent.py", "import pacelab.running.runner"),
        ("controller/app.py", "from pacelab.topologies import chain"),
        ("pacelab/running/runner.py", "from tests.medium import anchors"),
        ("pacelab/running/runner.py", "import pacer"),
        ("pacelab/cli/main.py", "import pacelab.grading.handout"),
        ("labs/first.py", "from pacelab.running.runner import run"),
        ("grading/handout.py", "from pacelab._medium import run"),
    ],
)
def test_arrows_catch_a_planted_breach(path: str, source: str) -> None:
    assert len(complaints(path, source)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("topologies/shapes/chain.py", "from pacelab.units import NS_PER_S\nimport math"),
        ("pacer/core/gap.py", "from pacelab.pacer.core.segment import Segment\nfrom random import Random"),
        ("pacelab/running/runner.py", "import os\nfrom pacelab import _medium\nfrom pacelab.pacer.core import null"),
        ("labs/first.py", "import pacelab\nfrom pacelab import __version__"),
        ("grading/handout.py", "from pacelab.grading.sandbox import Sandbox"),
    ],
)
def test_arrows_let_the_drawn_ones_pass(path: str, source: str) -> None:
    assert complaints(path, source) == []
