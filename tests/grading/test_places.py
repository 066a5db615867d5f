"""Whatever lies in a class's folder or zip: it costs its student at most, and is named."""

from __future__ import annotations

import inspect
import io
import os
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pacelab.grading.assignments import find_assignment
from pacelab.grading.receive import collect as collect_module
from pacelab.grading.receive import places
from pacelab.grading.receive.collect import Collected, collect
from pacelab.grading.receive.submission import Submission

ASSIGNMENT = find_assignment(3)
TEMPLATE = ASSIGNMENT.template
CODE = TEMPLATE.encode()


def zipped(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


@pytest.fixture
def fall(tmp_path: Path) -> Path:
    """A class of three."""
    for name in ("ann", "bob", "cem"):
        (tmp_path / "fall" / name).mkdir(parents=True)
        (tmp_path / "fall" / name / "gateway_pacer.py").write_text(TEMPLATE)
    return tmp_path / "fall"


def told(place: Path, *names: str) -> dict[str, Submission]:
    return {item.student: item for item in found(place, *names).submissions}


def found(place: Path, *names: str) -> Collected:
    return collect([place], ASSIGNMENT, {"names": names})


@contextmanager
def deep(place: Path, name: str, count: int) -> Iterator[None]:
    """Folders in each other, made and removed one by one: their path is too long for anything else."""
    before = Path.cwd()
    os.chdir(place)
    for _ in range(count):
        os.mkdir(name)
        os.chdir(name)
    os.chdir(before)
    yield
    os.chdir(place)
    for _ in range(count):
        os.chdir(name)
    for _ in range(count):
        os.chdir("..")
        os.rmdir(name)
    os.chdir(before)


def test_a_path_longer_than_the_system_takes_costs_its_student_alone(fall: Path) -> None:
    with deep(fall / "bob", "d" * 200, 30):
        of = told(fall)
    assert list(of) == ["ann", "bob", "cem"]
    assert any("cannot be looked into (File name too long)" in problem for problem in of["bob"].problems)
    assert of["bob"].source == TEMPLATE


def test_a_path_of_many_folders_costs_nobody(fall: Path) -> None:
    most = sys.getrecursionlimit()
    with deep(fall / "bob", "d", 150):
        sys.setrecursionlimit(len(inspect.stack()) + 100)
        try:
            with places.opened(fall) as items:
                assert len(items) == 4
        finally:
            sys.setrecursionlimit(most)


def test_a_folder_that_cannot_be_looked_into_is_its_students(fall: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    look = os.scandir

    def refused(place: str) -> object:
        if place.endswith("bob"):
            raise PermissionError(13, "Permission denied")
        return look(place)

    monkeypatch.setattr(os, "scandir", refused)
    of = told(fall)
    assert list(of) == ["ann", "bob", "cem"]
    assert of["bob"].source is None
    assert of["bob"].problems[0] == "bob cannot be looked into (Permission denied): left out"


def test_an_empty_folder_is_named(fall: Path) -> None:
    (fall / "dee").mkdir()
    (fall / "ann" / "data").mkdir()
    of = found(fall)
    assert of.unclaimed == [("fall/dee", "is an empty folder")]
    assert [(item.student, item.problems) for item in of.submissions] == [("ann", ()), ("bob", ()), ("cem", ())]
    assert "data: is an empty folder" in of.submissions[0].received


@pytest.mark.parametrize("packed", [False, True])
def test_what_machines_made_is_left_out_however_much_it_is(
    fall: Path, packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect_module, "MAX_MEMBERS", 3)
    made = {f".venv/lib/python3.11/site-packages/m{n}.py": b"" for n in range(4)}
    if packed:
        (fall / "bob" / "gateway_pacer.py").unlink()
        (fall / "bob" / "all.zip").write_bytes(zipped({"gateway_pacer.py": CODE, **made}))
    else:
        for name in made:
            (fall / "bob" / name).parent.mkdir(parents=True, exist_ok=True)
            (fall / "bob" / name).touch()
    bob = told(fall)["bob"]
    assert (bob.source, bob.problems, bob.received) == (TEMPLATE, (), ("gateway_pacer.py: graded",))


@pytest.mark.parametrize("packed", [False, True])
def test_a_crowded_folder_costs_its_student_alone(fall: Path, packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect_module, "MAX_MEMBERS", 3)
    monkeypatch.setattr(places, "CROWDED", 5)
    monkeypatch.setattr(places, "MAX_MEMBERS", 10)
    place, names = fall, [f"bob/data/{n}.csv" for n in range(20)]
    if packed:
        place = fall.with_suffix(".zip")
        work = {f"{name}/gateway_pacer.py": CODE for name in ("ann", "bob", "cem")}
        place.write_bytes(zipped(dict.fromkeys(names, b"") | work))
    else:
        (fall / "bob" / "data").mkdir()
        for name in names:
            (fall / name).touch()
    of = told(place)
    assert [of[name].source for name in ("ann", "cem")] == [TEMPLATE, TEMPLATE]
    assert of["bob"].problems[0] == "6 members were handed in: allowed are 3; hand in one file"


@pytest.mark.parametrize("name", ["Zoë", "Zoe\u0308", "日本"])
def test_names_that_macos_does_not_mark_as_utf_8_are_read(tmp_path: Path, name: str) -> None:
    stand_in = "x" * len(name.encode())
    content = zipped({f"{stand_in}/gateway_pacer.py": CODE, "bob/gateway_pacer.py": CODE})
    (tmp_path / "fall.zip").write_bytes(content.replace(stand_in.encode(), name.encode()))
    assert set(told(tmp_path / "fall.zip")) == {name, "bob"}
