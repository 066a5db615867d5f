"""The source tree. `lint-imports` (pyproject.toml) checks the layers; these tests check what it cannot see."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "pacer/pacelab_pacer/core"
PACKAGES = ("pacelab", "pacelab_pacer", "pacelab_topologies", "pacelab_labs", "pacelab_grading", "pacelab_controller")


def test_there_is_no_symbolic_link() -> None:
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("not a git checkout: clone the repository to run this")
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-s"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert [line for line in listed.splitlines() if line.startswith("120000")] == []


def test_no_module_imports_the_public_names_of_its_own_package() -> None:
    """`pacelab/__init__.py` re-exports what is below it. A module below that imports it would import itself."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    found = [
        f"{module} imports {package}"
        for package in PACKAGES
        for module in graph.find_modules_that_directly_import(package)
        if module.startswith(f"{package}.") and graph.find_modules_directly_imported_by(package)
    ]
    assert found == []


# The pacing core does no I/O and reads no clock: its drivers pass in time, packets and random numbers.

IMPURE = {
    *("os", "io", "pathlib", "shutil", "tempfile", "subprocess", "sys"),
    *("socket", "select", "selectors", "ssl", "asyncio", "threading", "multiprocessing", "signal"),
    *("time", "datetime", "random", "secrets", "uuid", "logging", "warnings"),
}
INJECTED = {"random.Random"}
"""A driver passes in a seeded stream. The core may name its type."""
IMPURE_CALLS = {"print", "open", "input", "breakpoint", "exec", "eval", "__import__"}


def impurities(source: str) -> Iterator[str]:
    """The forbidden operations of the core in this source."""
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IMPURE_CALLS:
            yield f"line {node.lineno}: {node.func.id}()"
        yield from (
            f"line {node.lineno}: import {name}"
            for name in names
            if name.split(".")[0] in IMPURE and name not in INJECTED
        )


@pytest.mark.parametrize("path", sorted(CORE.rglob("*.py")), ids=lambda path: path.relative_to(CORE).as_posix())
def test_core_is_pure(path: Path) -> None:
    assert [*impurities(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("def f():\n    import time", 1),
        ("from random import random", 1),
        ("print('paced')", 1),
        ("from random import Random\nfrom pacelab_pacer.core.segment import Segment\nimport math", 0),
    ],
)
def test_a_planted_impurity_is_found(source: str, count: int) -> None:
    assert len([*impurities(source)]) == count


# What Python finds.


def test_a_students_files_shadow_nothing(tmp_path: Path) -> None:
    for name in ("pacer", "topologies", "units", "labs", "grading", "controller"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('the student’s file was imported')\n", "utf-8")
    code = "import pacelab_pacer.core.null, pacelab_topologies, pacelab_labs, pacelab_grading, pacelab_controller"
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_pacelab_is_found_from_the_folder_above_a_clone(tmp_path: Path) -> None:
    """The clone's folder may be called pacelab. Python then took it for an empty package."""
    (tmp_path / "pacelab").symlink_to(ROOT)
    code = "import pacelab.units; print(pacelab.__file__)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert Path(ran.stdout.strip()) == ROOT / "pacelab/__init__.py"


def test_public_names_can_be_imported() -> None:
    import pacelab

    assert [name for name in pacelab.__all__ if not hasattr(pacelab, name)] == []
