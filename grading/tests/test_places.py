"""Odd files in a class's folder or zip cost at most their own student's points, and the report names them."""

from __future__ import annotations

import inspect
import io
import os
import sys
import tracemalloc
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from pacelab import ConfigError
from pacelab_grading.assignments import find_assignment
from pacelab_grading.commands import grade
from pacelab_grading.receive import collect as collect_module
from pacelab_grading.receive import places
from pacelab_grading.receive.collect import Collected
from pacelab_grading.receive.platforms import NO_NAMES, KnownNames
from pacelab_grading.receive.submission import Submission, read_submission, stamped_number
from pacelab_grading.records.gradebook import Row, csv_file
from pacelab_grading.records.roster import read_roster
from pacelab_grading.rubric.assignment import Assignment

pytestmark = pytest.mark.usefixtures("one_judge_process")

ASSIGNMENT = find_assignment(3)
TEMPLATE = ASSIGNMENT.template
CODE = TEMPLATE.encode()


def collect(paths: Iterable[Path], assignment: Assignment, known: KnownNames = NO_NAMES) -> Collected:
    """Collect without a judge process, whose start would take most of the time of a test."""

    def read(
        student: str, files: Mapping[str, bytes], wanted: Assignment, problems: Sequence[str], others: Sequence[str]
    ) -> Submission:
        return read_submission(student, files, wanted, problems=problems, others=others)

    return collect_module.collect(paths, assignment, known, read=read)


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
    return collect([place], ASSIGNMENT, KnownNames(names=names))


@contextmanager
def deep(place: Path, name: str, count: int) -> Iterator[None]:
    """Nested folders, made and removed one by one, because their path is too long for other methods."""
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


def test_a_path_that_is_too_long_affects_only_its_student(fall: Path) -> None:
    with deep(fall / "bob", "d" * 200, 30):
        of = told(fall)
    assert list(of) == ["ann", "bob", "cem"]
    assert any("cannot be read (File name too long)" in problem for problem in of["bob"].problems)
    assert of["bob"].source == TEMPLATE


def test_a_path_of_many_folders_affects_nobody(fall: Path) -> None:
    most = sys.getrecursionlimit()
    with deep(fall / "bob", "d", 150):
        sys.setrecursionlimit(len(inspect.stack()) + 100)
        try:
            with places.open_place(fall) as items:
                assert len(items) == 4
        finally:
            sys.setrecursionlimit(most)


def test_an_unreadable_folder_belongs_to_its_student(fall: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    look = os.scandir

    def refused(place: str) -> object:
        if place.endswith("bob"):
            raise PermissionError(13, "Permission denied")
        return look(place)

    monkeypatch.setattr(os, "scandir", refused)
    of = told(fall)
    assert list(of) == ["ann", "bob", "cem"]
    assert (of["bob"].source, of["bob"].unread, of["ann"].unread) == (None, True, False)
    assert of["bob"].problems[0] == "bob cannot be read (Permission denied) and was left out"


def test_an_empty_folder_is_named(fall: Path) -> None:
    (fall / "dee").mkdir()
    (fall / "ann" / "data").mkdir()
    of = found(fall)
    assert of.unclaimed == [("fall/dee", "is an empty folder")]
    assert [(item.student, item.problems) for item in of.submissions] == [("ann", ()), ("bob", ()), ("cem", ())]
    assert "data: is an empty folder" in of.submissions[0].received


@pytest.mark.parametrize("packed", [False, True])
def test_files_made_by_tools_are_left_out(fall: Path, packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect_module, "MAX_MEMBERS", 3)
    made = {f".venv/lib/python3.11/site-packages/m{n}.py": b"" for n in range(4)} | {
        "Thumbs.db": b"",
        "desktop.ini": b"",
    }
    if packed:
        (fall / "bob" / "gateway_pacer.py").unlink()
        (fall / "bob" / "all.zip").write_bytes(zipped({"gateway_pacer.py": CODE, **made}))
    else:
        for name in made:
            (fall / "bob" / name).parent.mkdir(parents=True, exist_ok=True)
            (fall / "bob" / name).touch()
    bob = told(fall)["bob"]
    assert (bob.source, bob.problems, bob.received) == (TEMPLATE, (), ("gateway_pacer.py: graded",))


@pytest.mark.parametrize("kind", ["py", "csv"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_crowded_folder_affects_only_its_student(
    fall: Path, packed: bool, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect_module, "MAX_MEMBERS", 3)
    monkeypatch.setattr(places, "CROWDED", 5)
    monkeypatch.setattr(places, "MAX_MEMBERS", 10)
    place, names = fall, [f"bob/data/{n}.{kind}" for n in range(20)]
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
    if kind == "py":
        assert of["bob"].problems[0] == "more than 3 Python files, notebooks and zips: hand in one file"
    else:
        assert (of["bob"].source, of["bob"].problems) == (TEMPLATE, ())


@pytest.mark.parametrize("name", ["Zoë", "Zoe\u0308", "日本"])
def test_names_that_macos_does_not_mark_as_utf_8_are_read(tmp_path: Path, name: str) -> None:
    stand_in = "x" * len(name.encode())
    content = zipped({f"{stand_in}/gateway_pacer.py": CODE, "bob/gateway_pacer.py": CODE})
    (tmp_path / "fall.zip").write_bytes(content.replace(stand_in.encode(), name.encode()))
    assert set(told(tmp_path / "fall.zip")) == {name, "bob"}


def test_a_file_of_another_kind_belongs_to_the_student_it_names(fall: Path) -> None:
    for name in ("dee.7z", "ann.pdf", "notes.txt"):
        (fall / name).write_bytes(b"no code")
    of = found(fall, "Ann", "Dee")
    assert [item.student for item in of.submissions] == ["ann", "bob", "cem", "dee"]
    assert of.submissions[3].problems[0].startswith("dee.7z is an archive and was not opened")
    assert [name for name, _ in of.unclaimed] == ["fall/ann.pdf", "fall/notes.txt"]
    (fall / "Zoe\u0308.7z").write_bytes(b"7z")  # as macOS writes it
    (fall / "eve.tar.gz").write_bytes(b"\x1f\x8b")
    assert {"Zoe\u0308", "eve"} <= set(told(fall, "Zoë", "Eve"))
    assert set(told(fall)) == {"ann", "bob", "cem", "dee", "eve", "Zoe\u0308"}  # without a roster


def test_grades_of_an_earlier_run_belong_to_nobody(fall: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (fall / "grades" / "reports").mkdir(parents=True)
    for name in ("gradebook.csv", "summary.html", "reports/ann.txt"):
        (fall / "grades" / name).touch()
    monkeypatch.chdir(fall)
    of = found(Path())
    assert [item.student for item in of.submissions] == ["ann", "bob", "cem"]
    assert of.unclaimed == [("fall/grades", "contains the grades of an earlier run")]


@pytest.mark.parametrize(
    "wrote", [("gradebook.csv", "summary.html"), (f"verdicts/{'0a' * 16}.json",)], ids=["done", "stopped"]
)
@pytest.mark.parametrize("several", [False, True])
def test_grades_among_the_hand_ins_are_not_hand_ins(fall: Path, wrote: tuple[str, ...], several: bool) -> None:
    for name in wrote:
        (fall / "grades" / name).parent.mkdir(parents=True, exist_ok=True)
        (fall / "grades" / name).touch()
    of = collect(sorted(fall.iterdir()) if several else [fall], ASSIGNMENT)  # as `pacelab grade *` names them
    assert [item.student for item in of.submissions] == ["ann", "bob", "cem"]
    assert [why for _, why in of.unclaimed] == ["contains the grades of an earlier run"]
    with pytest.raises(ConfigError, match="is the folder of the hand-ins; give another folder"):
        grade(submissions=sorted(fall.iterdir()) if several else [fall], assignment="3", out=fall)


def test_a_link_among_several_places_is_not_followed(fall: Path) -> None:
    (fall / "mallory").symlink_to(fall / "bob")
    (fall / "eve.py").symlink_to(fall / "bob" / "gateway_pacer.py")
    (fall / "zoe.zip").symlink_to(fall / "nowhere")
    of = collect([fall / name for name in ("bob", "mallory", "eve.py", "zoe.zip")], ASSIGNMENT).submissions
    assert [(item.student, item.source is not None) for item in of] == [
        *(("bob", True), ("eve", False), ("mallory", False), ("zoe", False))
    ]
    assert all("is a link and was left out" in " ".join(item.problems) for item in of if item.student != "bob")
    assert found(fall / "mallory", "mallory").submissions[0].source == TEMPLATE  # the instructor's own


def test_a_fifo_is_not_opened(fall: Path) -> None:
    os.mkfifo(fall / "eve.zip")
    os.mkfifo(fall / "eve.py")
    of = collect([fall / "bob", fall / "eve.zip", fall / "eve.py"], ASSIGNMENT).submissions
    assert [item.source for item in of] == [TEMPLATE, None, None]
    assert all("is not a regular file and was left out" in item.problems[0] for item in of[1:])
    assert stamped_number([fall]) == 3


def test_an_unreadable_file_does_not_hide_the_others_assignment(fall: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    look = os.open

    def refused(path: str, *flags: int, **more: int) -> int:
        if str(path).endswith("bob/gateway_pacer.py"):
            raise PermissionError(13, "Permission denied")
        return look(path, *flags, **more)

    monkeypatch.setattr(os, "open", refused)
    monkeypatch.setattr(os, "access", lambda path, _: not path.endswith("bob/gateway_pacer.py"))
    with deep(fall / "cem", "d" * 200, 30):
        assert stamped_number([fall]) == 3
    bob = told(fall)["bob"]
    assert bob.unread
    assert (bob.source, bob.problems[0]) == (
        None,
        "gateway_pacer.py cannot be read (Permission denied): it was left out",
    )


def test_a_roster_without_a_student_is_refused(tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text("student,id\n")
    with pytest.raises(ConfigError, match=r"roster.csv' has no student below its header; export it again"):
        read_roster(tmp_path / "roster.csv")


def test_the_gradebook_says_its_encoding_to_spreadsheets(tmp_path: Path) -> None:
    row = Row(
        student="Zoë",
        id="",
        group="",
        points=1,
        late_days=None,
        free_days=0,
        deduction=0,
        score=1,
        of=1,
        status="graded",
        version=1,
        remarks="",
    )
    (tmp_path / "gradebook.csv").write_bytes(csv_file([row]))
    assert (tmp_path / "gradebook.csv").read_bytes().startswith(b"\xef\xbb\xbfstudent,")
    assert [student.student for student in read_roster(tmp_path / "gradebook.csv")] == ["Zoë"]


def test_a_zip_in_a_zip_is_opened(fall: Path) -> None:
    (fall / "bob" / "gateway_pacer.py").unlink()
    (fall / "bob" / "outer.zip").write_bytes(zipped({"inner.zip": zipped({"gateway_pacer.py": CODE})}))
    assert told(fall)["bob"].received == ("gateway_pacer.py: graded",)


def test_the_bytes_of_all_archives_of_a_student_are_bounded(fall: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = zipped({"gateway_pacer.py": CODE})
    outer = zipped({f"{number}.zip": inner for number in range(9)})
    (fall / "bob" / "outer.zip").write_bytes(outer)
    monkeypatch.setattr(collect_module, "MAX_PACKED_BYTES", len(outer) + 3 * len(inner))
    found = told(fall)["bob"]
    assert sum("left out, too large or broken" in line for line in found.received) == 6
    assert told(fall)["ann"].received == ("gateway_pacer.py: graded",)


def test_other_archives_get_advice(fall: Path) -> None:
    (fall / "ann" / "gateway_pacer.py").unlink()
    (fall / "ann" / "work.7z").write_bytes(b"7z")
    (fall / "bob" / "gateway_pacer.py").unlink()
    inner = zipped({"inner.zip": zipped({"gateway_pacer.py": CODE})})
    (fall / "bob" / "outer.zip").write_bytes(zipped({"deeper.zip": inner}))
    (fall / "cem" / "gateway_pacer.py").unlink()
    locked = bytearray(zipped({"gateway_pacer.py": CODE}))
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[locked.index(header) + flags] |= places.ENCRYPTED
    (fall / "cem" / "work.zip").write_bytes(locked)
    says = {name: item.problems[0] for name, item in told(fall).items()}
    assert says == {
        "ann": "work.7z is an archive and was not opened: hand in a plain zip, or the file itself",
        "bob": "outer.zip/deeper.zip/inner.zip is in a zip within a zip and was not opened: hand in the file itself",
        "cem": "gateway_pacer.py needs a password: it was left out",
    }


def test_names_of_tens_of_thousands_of_folders_take_no_memory() -> None:
    archive = zipped(
        {"a/" * 32_000 + f"{number}.py": b"" for number in range(3)} | {"b/": b"", "c/": b"", "c/d/e.py": b""}
    )
    tracemalloc.start()
    try:
        with places.open_zip(archive) as items:
            assert [item.name for item in items if item.problem == places.EMPTY] == ["b"]
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 30 * len(archive)
