"""The folders controller/, grading/, pacer/ and topologies/ are imported below pacelab, whatever stands nearby."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["controller", "grading", "pacer", "topologies"])
def test_mapping_symlink_stays_inside_the_project(name: str) -> None:
    link = ROOT / "pacelab" / name
    assert link.resolve() == (ROOT / name).resolve(), f"{link} should be a symlink to ../{name}"
    assert not link.readlink().is_absolute()


def test_mapping_is_not_shadowed_by_a_students_files(tmp_path: Path) -> None:
    for name in ("pacer", "topologies", "units"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('the student’s file was imported')\n", "utf-8")
    code = "import pacelab.pacer.core.null, pacelab.topologies, pacelab.units; print(pacelab.pacer.__path__[0])"
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
