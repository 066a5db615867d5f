"""A class of thirty on three platforms: hand-ins are read from the export, assigned, graded and written for
the import.
"""

from __future__ import annotations

import csv
import inspect
import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from pacelab import ConfigError
from pacelab_grading.assignments import find_assignment
from pacelab_grading.grade.options import GradeOptions
from pacelab_grading.grade.received import known_names
from pacelab_grading.receive import collect as collect_module
from pacelab_grading.receive import platforms
from pacelab_grading.receive.collect import Collected
from pacelab_grading.receive.platforms import MOODLE, NO_NAMES, KnownNames, canvas_name, name_pattern
from pacelab_grading.receive.submission import Submission, read_submission
from pacelab_grading.records.gradebook import Row
from pacelab_grading.records.gradebook import gradebook as made_gradebook
from pacelab_grading.records.lms_export import Wanted, build_files, check_columns
from pacelab_grading.records.roster import LateRule, Student, claimed_by, parse_time, read_roster
from pacelab_grading.rubric.assignment import Assignment
from pacelab_grading.rubric.verdict import Result, Verdict
from pacelab_grading.text.times import iso_time

pytestmark = pytest.mark.usefixtures("one_judge_process")

ASSIGNMENT = find_assignment(2)
TEMPLATE = ASSIGNMENT.template
FIRST = ("Ann", "Zoë", "José María", "Li", "Nguyễn", "O'Neil", "Jean-Luc", "Mary Jo", "李", "Søren")
LAST = ("Smith", "Öz", "de la Cruz")
PEOPLE = [(first, last) for last in LAST for first in FIRST]
"""Thirty students; the last two have the same name below."""
PEOPLE[-1] = PEOPLE[-2]


def gradebook(
    verdicts: Sequence[Verdict], submissions: Sequence[Submission], students: Sequence[Student], rule: LateRule
) -> list[Row]:
    number = verdicts[0].assignment if verdicts else 3
    return made_gradebook(verdicts, submissions, students, rule=rule, assignment=find_assignment(number))


def collect(paths: Iterable[Path], assignment: Assignment, known: KnownNames = NO_NAMES) -> Collected:
    """Collect without a judge process, whose start would take most of the time of a test."""

    def read(
        student: str, files: Mapping[str, bytes], wanted: Assignment, problems: Sequence[str], others: Sequence[str]
    ) -> Submission:
        return read_submission(student, files, wanted, problems=problems, others=others)

    return collect_module.collect(paths, assignment, known, read=read)


def numbered(index: int) -> str:
    """A hand-in with its owner's number in a comment, so that tests can see whether a grade reached its owner."""
    return f"# {index}\n{TEMPLATE}"


def zipped(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def canvas_zip(folder: Path) -> Path:
    files = {}
    for index, (first, last) in enumerate(PEOPLE[:28] + PEOPLE[28:]):
        sortable = re.sub(r"\W", "", f"{last}{first}").lower()
        late = "_LATE" if index % 7 == 0 else ""
        files[f"{sortable}{late}_{5000 + index}_{9000 + index}_window.py"] = numbered(index)
    files["smithann_LATE_5000_9500_notes.txt"] = "hello"
    return zipped(folder / "submissions.zip", files)


def canvas_roster(folder: Path) -> Path:
    lines: list[list[object]] = [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Assignment 2 (777)", "Current Score"],
        ["    Points Possible", "", "", "", "", "100", "(read only)"],
    ]
    lines += [
        [f"{last}, {first}", 5000 + index, f"s{index}", f"login{index}", "A, B", "", ""]
        for index, (first, last) in enumerate(PEOPLE)
    ]
    return table(folder / "canvas-export.csv", lines)


def moodle_zip(folder: Path, *, trailing: str = "_") -> Path:
    return zipped(
        folder / "course.zip",
        {
            f"{first} {last}_{300 + index}_assignsubmission_file{trailing}/window.py": numbered(index)
            for index, (first, last) in enumerate(PEOPLE)
        },
    )


def moodle_roster(folder: Path) -> Path:
    lines: list[list[object]] = [
        [
            *("Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade", "Grade can be changed"),
            *("Last modified (submission)", "Last modified (grade)", "Feedback comments"),
        ]
    ]
    lines += [
        [
            *(f"Participant {300 + index}", f"{first} {last}", f"m{index}@example.org", "Submitted for grading"),
            *("", "50.00", "Yes", "Sunday, 1 November 2026, 10:00 PM", "-", "two\nlines"),
        ]
        for index, (first, last) in enumerate(PEOPLE)
    ]
    return table(folder / "worksheet.csv", lines)


def gradescope_zip(folder: Path) -> Path:
    metadata = ""
    files = {}
    for index, (first, last) in enumerate(PEOPLE):
        files[f"assignment_42_export/submission_{800 + index}/window.py"] = numbered(index)
        name = f"{first} {last}".replace("'", "''")
        metadata += (
            f"submission_{800 + index}:\n  :submitters:\n  - :name: '{name}'\n    :sid: '{60 + index}'\n"
            f"    :email: g{index}@example.org\n  :created_at: 2026-11-01 22:00:{index:02}.123456789 Z\n"
            "  :score: 0.0\n  :results:\n    output: |\n      submission_800:\n        :submitters:\n"
        )
    return zipped(folder / "export.zip", {"assignment_42_export/submission_metadata.yml": metadata, **files})


def gradescope_roster(folder: Path) -> Path:
    lines: list[list[object]] = [["First Name", "Last Name", "SID", "Email", "Role"]]
    lines += [
        [first, last, 60 + index, f"G{index}@example.org", "Student"] for index, (first, last) in enumerate(PEOPLE)
    ]
    return table(folder / "roster.csv", lines)


def github_folder(folder: Path) -> Path:
    top = folder / "window-submissions"
    for index in range(30):
        place = top / f"lab-2-window-user-{index}"
        (place / ".git").mkdir(parents=True)
        (place / ".git" / "config").write_text("x")
        (place / "window.py").write_text(numbered(index))
    return top


def github_roster(folder: Path) -> Path:
    lines: list[list[object]] = [["identifier", "github_username", "github_id", "name"]]
    lines += [
        [f"{first} {last} {index}", f"User-{index}", 70 + index, ""] for index, (first, last) in enumerate(PEOPLE)
    ]
    return table(folder / "classroom_roster.csv", lines)


def table(path: Path, lines: Sequence[Sequence[object]]) -> Path:
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows(lines)
    return path


MAKERS = {
    "canvas": (canvas_zip, canvas_roster),
    "moodle": (moodle_zip, moodle_roster),
    "gradescope": (gradescope_zip, gradescope_roster),
    "github": (github_folder, github_roster),
}


def received(paths: Sequence[Path], students: Sequence[Student] = ()) -> Collected:
    known = KnownNames(
        names=[student.student for student in students],
        usernames=[dict(student.ids).get("github", "") for student in students],
    )
    return collect(paths, ASSIGNMENT, known)


def graded(submission: Submission, points: float | None = None, status: str = "graded") -> Verdict:
    """A verdict with the points in the hand-in's first line, unless `points` names others."""
    assert submission.source is not None
    earned = float(submission.source.partition("\n")[0].removeprefix("# ")) if points is None else points
    result = Result(id="a", title="t", points=100, earned=earned, status="partial")
    return Verdict(
        student=submission.student,
        assignment=2,
        version=1,
        title="T",
        points=earned,
        total=100,
        status=status,
        results=(result,),
        problems=(),
    )


def rows_of(collected: Collected, students: Sequence[Student]) -> list[Row]:
    return gradebook(
        [graded(submission) for submission in collected.submissions], collected.submissions, students, LateRule()
    )


@pytest.mark.parametrize("platform", MAKERS)
@pytest.mark.parametrize("unzipped", [False, True])
def test_each_student_gets_the_right_grade(tmp_path: Path, platform: str, unzipped: bool) -> None:
    make, roster = MAKERS[platform]
    place, students = make(tmp_path), read_roster(roster(tmp_path))
    if unzipped and place.suffix == ".zip":
        with zipfile.ZipFile(place) as archive:
            archive.extractall(tmp_path / "unzipped")
        place = tmp_path / "unzipped"
    collected = received([place], students)
    assert len({submission.student for submission in collected.submissions}) == 30
    assert {submission.platform for submission in collected.submissions} == {platform}
    assert not collected.unclaimed
    rows = rows_of(collected, students)
    assert [row.score for row in rows] == list(range(30))
    assert {row.status for row in rows} == {"graded"}
    for submission in collected.submissions:
        assert "window.py: graded" in submission.received


@pytest.mark.parametrize("platform", MAKERS)
def test_an_export_named_file_by_file_is_the_same_as_its_folder(tmp_path: Path, platform: str) -> None:
    make, roster = MAKERS[platform]
    place, students = make(tmp_path), read_roster(roster(tmp_path))
    if place.suffix == ".zip":
        with zipfile.ZipFile(place) as archive:
            archive.extractall(tmp_path / "unzipped")
        place = tmp_path / "unzipped"
    inner = next(place.iterdir()) if platform == "gradescope" else place
    assert received(sorted(inner.iterdir()), students).submissions == received([place], students).submissions


@pytest.mark.parametrize("pattern", [None, r"(?P<student>\w+)\.(py|ipynb)"])
def test_a_file_named_after_its_student_needs_no_other_name(tmp_path: Path, pattern: str | None) -> None:
    for name in ("ann.py", "bob.py", "cem.py"):
        (tmp_path / name).write_text(TEMPLATE)
    known = KnownNames(pattern=None if pattern is None else name_pattern(pattern))
    found = collect([tmp_path], ASSIGNMENT, known).submissions
    assert [(made.student, made.problems) for made in found] == [("ann", ()), ("bob", ()), ("cem", ())]


def test_the_documented_pattern_matches_a_file(tmp_path: Path) -> None:
    texts = (Path(__file__).parents[2] / "docs" / "grading.md").read_text("utf-8"), inspect.getsource(GradeOptions)
    for text, pattern in zip(texts, (r"--names '([^']+)'", r"whole names, as (\S+)\""), strict=True):
        (shown,) = re.findall(pattern, text)
        known = KnownNames(pattern=name_pattern(shown.replace("\\\\", "\\")))
        (tmp_path / "Ann Lee_12.py").write_text(TEMPLATE)
        (tmp_path / "Bo Ray_13.py").write_text(TEMPLATE)
        found = collect([tmp_path], ASSIGNMENT, known).submissions
        assert [(made.student, made.identity) for made in found] == [("Ann Lee", "12"), ("Bo Ray", "13")]


@pytest.mark.parametrize("junk", [".DS_Store", "._window.py", "__MACOSX/._window.py", "__pycache__/window.pyc"])
@pytest.mark.parametrize("top", ["", "export/"])
def test_a_hand_in_with_only_files_of_tools_is_not_missing(tmp_path: Path, junk: str, top: str) -> None:
    names = [f"S{number}_{number}_assignsubmission_file_" for number in range(4)]
    files = {f"{top}{name}/{'window.py' if number else junk}": numbered(number) for number, name in enumerate(names)}
    packed = zipped(tmp_path / "moodle.zip", files)
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(tmp_path / "unzipped")
    for place in (packed, tmp_path / "unzipped"):
        assert [(made.student, made.source is None) for made in received([place]).submissions] == [
            ("S0", True),
            ("S1", False),
            ("S2", False),
            ("S3", False),
        ]


def test_a_zip_of_githubs_folder_is_the_same_as_the_folder(tmp_path: Path) -> None:
    place, students = github_folder(tmp_path / "clone"), read_roster(github_roster(tmp_path))
    files = {str(path.relative_to(place.parent)): path.read_text() for path in place.rglob("*.py")}
    packed = zipped(tmp_path / "clone.zip", files)
    assert received([packed], students).submissions == received([place], students).submissions


def test_files_handed_in_again_are_one_hand_in(tmp_path: Path) -> None:
    for number, part in enumerate(("smithann_12_34_window.py", "smithann_12_36_window-1.py", "doejo_13_35_window.py")):
        (tmp_path / part).write_text(numbered(number))
    found = received(sorted(tmp_path.iterdir())).submissions
    assert [(item.student, item.source) for item in found] == [("doejo", numbered(2)), ("smithann", numbered(1))]


def test_moodles_newer_folders_and_flat_files_are_understood(tmp_path: Path) -> None:
    students = read_roster(moodle_roster(tmp_path))
    assert [row.score for row in rows_of(received([moodle_zip(tmp_path, trailing="")]), students)] == list(range(30))
    flat = zipped(
        tmp_path / "flat.zip",
        {f"Ann Smith_{300 + index}_assignsubmission_file_window.py": numbered(index) for index in range(30)},
    )
    assert [row.score for row in rows_of(received([flat]), students)] == list(range(30))
    blind = MOODLE.match("Participant_311_assignsubmission_file")
    assert blind is not None
    assert blind["id"] == "311"


@pytest.mark.parametrize(
    ("name", "identity", "late", "called"),
    [
        ("smithjane_123_9001_window.py", "123", False, "smithjane"),
        ("smithjane_LATE_123_9001_window-2.py", "123", True, "smithjane"),
        ("öz_zoë_124_9001_my_5_6_file.py", "124", False, "öz_zoë"),
        ("LATE_anon_a1B2c_9001_window.py", "a1B2c", True, "anonymous a1B2c"),
        ("anon_a1B2c_9001_window.py", "a1B2c", False, "anonymous a1B2c"),
        ("smithjane_123_text.html", "123", False, "smithjane"),
    ],
)
def test_canvas_names(name: str, identity: str, late: bool, called: str) -> None:
    found = canvas_name(name)
    assert found is not None
    assert (found.identity, found.late, found.name) == (identity, late, called)


def test_gradescopes_teams_share_a_hand_in(tmp_path: Path) -> None:
    metadata = (
        "submission_1:\n  :submitters:\n  - :name: Ann\n    :sid: '60'\n    :email: x@example.org\n"
        "  - :name: \"Zo\\xEB\"\n    :sid: ''\n    :email: g1@example.org\n"
    )
    place = zipped(tmp_path / "e.zip", {"submission_metadata.yml": metadata, "submission_1/window.py": numbered(7)})
    students = read_roster(gradescope_roster(tmp_path))
    collected = received([place], students)
    (submission,) = collected.submissions
    assert submission.name == "Ann, Zoë"
    assert [row.score for row in rows_of(collected, students)][:3] == [7, 7, 0]


@pytest.mark.parametrize("folder", ["submission_/../../../pwned", "submission_1/../../x"])
def test_no_gradescope_folder_points_outside(tmp_path: Path, folder: str) -> None:
    """A folder without a name in front may have metadata that a student made."""
    submission = "  :submitters:\n  - :name: Eve\n"
    metadata = f"{folder}:\n{submission}submission_7:\n{submission}"
    files = {"submission_metadata.yml": metadata, f"{folder}/window.py": numbered(7), "submission_7/window.py": "# 7\n"}
    submissions = received([zipped(tmp_path / "eve.zip", files)]).submissions
    assert [item.identity for item in submissions if item.platform == "gradescope"] == ["submission_7"]


@pytest.mark.parametrize(
    ("told", "submitted"),
    [
        ("2026-11-02 04:00:00.123456789 Z", "2026-11-02T04:00:00Z"),
        ("2026-11-01 20:00:00.123456789 -08:00", "2026-11-01T20:00:00-08:00"),
        ("2026-11-02T04:00:00+00:00", "2026-11-02T04:00:00+00:00"),
        ("2026-11-02 04:00:00", "2026-11-02T04:00:00"),
    ],
)
def test_gradescopes_times_keep_their_offset(tmp_path: Path, told: str, submitted: str) -> None:
    metadata = f"submission_1:\n  :submitters:\n  - :name: Ann\n  :created_at: {told}\n"
    place = zipped(tmp_path / "e.zip", {"submission_metadata.yml": metadata, "submission_1/window.py": numbered(7)})
    assert [item.submitted for item in received([place]).submissions] == [submitted]


def test_nothing_inside_a_hand_in_identifies_a_student(tmp_path: Path) -> None:
    """Each hand-in contains files with Bob's name, in the form of each platform and written by hand."""
    foreign = {
        "Bob B_301_assignsubmission_file_/window.py": "stolen",
        "bbob_301_9000_window.py": "stolen",
        "submission_metadata.yml": "submission_1:\n  :submitters:\n  - :name: Bob B\n",
        "submission_1/window.py": "stolen",
        "Bob B/window.py": "stolen",
        "Bob B.py": "stolen",
        "lab-bob/window.py": "stolen",
    }
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        for name, content in foreign.items():
            archive.writestr(name, content)
    top = tmp_path / "class"
    (top / "Bob B").mkdir(parents=True)
    (top / "Bob B" / "window.py").write_text(numbered(9))
    (top / "Mallory M.zip").write_bytes(inner.getvalue())
    zipped(tmp_path / "moodle.zip", {"Bob B_301_assignsubmission_file_/window.py": numbered(9)})
    with zipfile.ZipFile(tmp_path / "moodle.zip", "a") as archive:
        archive.writestr("Mallory M_302_assignsubmission_file_/all.zip", inner.getvalue())
    zipped(tmp_path / "canvas.zip", {"bbob_301_9000_window.py": numbered(9)})
    with zipfile.ZipFile(tmp_path / "canvas.zip", "a") as archive:
        archive.writestr("mmallory_302_9001_all.zip", inner.getvalue())
    alone = [top / "Bob B", top / "Mallory M.zip"]  # as the shell expands *
    for places in ([top], [tmp_path / "moodle.zip"], [tmp_path / "canvas.zip"], alone):
        bob, mallory = received(places).submissions
        assert bob.source == numbered(9)
        assert len({bob.name, mallory.name}) == 2
        assert len(mallory.received) >= 5


def test_an_export_beside_other_places_is_read_as_one_students(tmp_path: Path) -> None:
    export = {
        f"{name}_{number}_assignsubmission_file_/window.py": numbered(1) for number, name in enumerate(("A", "B"))
    }
    places = [zipped(tmp_path / "export.zip", export), zipped(tmp_path / "cem.zip", {"window.py": numbered(2)})]
    cem, taken = received(places).submissions
    assert not any("put the other places into it" in problem for problem in cem.problems)
    assert taken.problems[0].startswith("read as one student's, because other places were named as well")


def test_subfolders_belong_to_their_student(tmp_path: Path) -> None:
    """alice/hw1 and carl/hw1 belong to two students, and no student is called "hw1"."""
    for number, name in enumerate(("alice", "carl")):
        (tmp_path / "class" / name / "hw1").mkdir(parents=True)
        (tmp_path / "class" / name / "hw1" / "window.py").write_text(numbered(number))
    found = received([tmp_path / "class"]).submissions
    assert [(item.student, item.source) for item in found] == [("alice", numbered(0)), ("carl", numbered(1))]
    found = received([tmp_path / "class" / "alice", tmp_path / "class" / "carl"]).submissions
    assert [item.student for item in found] == ["alice", "carl"]


def test_a_student_may_hand_in_several_files(tmp_path: Path) -> None:
    place = tmp_path / "dora"
    (place / "lib").mkdir(parents=True)
    (place / "main.py").write_text(TEMPLATE.replace("from math", "import util\nfrom lib import deep\nfrom math"))
    (place / "util.py").write_text("import queue\nfrom lib.deep import x\n")
    (place / "lib" / "deep.py").write_text("x = 1\n")
    (place / "queue.py").write_text("")
    (place / "unused.py").write_text("y = 1\n")
    (place / "notes.txt").write_text("")
    (dora,) = received([place]).submissions
    assert dora.student == "dora"
    assert dict(dora.helpers) == {"util.py": "import queue\nfrom lib.deep import x\n", "lib/deep.py": "x = 1\n"}
    assert any("queue.py has the name of a module of Python" in problem for problem in dora.problems)
    assert set(dora.received) == {
        "main.py: graded",
        "util.py: imported",
        "lib/deep.py: imported",
        "queue.py: left out, the graded file does not import it",
        "unused.py: left out, the graded file does not import it",
        "notes.txt: left out, not a Python file or notebook",
    }


@pytest.mark.parametrize(
    ("others", "slip", "called"),
    [
        ("{}.py", "zoe_2_3_final.py", "zoe_2_3_final"),
        ("{}/window.py", "zoe_7_assignsubmission_file_/window.py", "zoe_7_assignsubmission_file_"),
        ("{}.py", "zoe_7_assignsubmission_file_window.py", "zoe_7_assignsubmission_file_window"),
        ("{}/window.py", "x-zoe/window.py", "x-zoe"),
    ],
)
def test_a_name_in_a_platforms_form_affects_only_its_author(
    tmp_path: Path, others: str, slip: str, called: str
) -> None:
    files = {others.format("ann"): numbered(1), others.format("bob"): numbered(2), slip: numbered(3)}
    students = [Student(student=name, ids=(("github", name),)) for name in ("ann", "bob", "zoe")]
    place = zipped(tmp_path / "own.zip", files)
    for collected in (received([place]), received([place], students)):
        assert [(item.student, item.platform) for item in collected.submissions] == [
            ("ann", ""),
            ("bob", ""),
            (called, ""),
        ]
        assert not collected.unclaimed
    with zipfile.ZipFile(place) as archive:
        archive.extractall(tmp_path / "own")
    beside = received(sorted((tmp_path / "own").iterdir())).submissions  # as the shell expands *
    assert [(item.student, item.platform) for item in beside] == [("ann", ""), ("bob", ""), (called, "")]


def test_a_file_added_to_an_export_is_a_hand_in(tmp_path: Path) -> None:
    for make, _ in MAKERS.values():
        place = make(tmp_path)
        if place.suffix != ".zip":
            continue
        with zipfile.ZipFile(place, "a") as archive:
            top = "assignment_42_export/" if make is gradescope_zip else ""
            for name in ("mailed.py", "grades/summary.html", "notes.txt"):
                archive.writestr(top + name, numbered(30))
        collected = received([place])
        assert len(collected.submissions) == 31
        assert [item.name for item in collected.submissions if not item.platform] == ["mailed"]
        assert [name.rpartition("/")[2] for name, _ in collected.unclaimed] == ["summary.html", "notes.txt"]


def test_an_unpacked_export_may_be_named_file_by_file(tmp_path: Path) -> None:
    with zipfile.ZipFile(canvas_zip(tmp_path)) as archive:
        archive.extractall(tmp_path / "files")
    zipped(tmp_path / "files" / "mallory_7000_9900_all.zip", {"window.py": numbered(30)})
    (tmp_path / "files" / "mailed.py").write_text(numbered(31))
    (tmp_path / "files" / "smithann_LATE_5000_9500_notes.txt").unlink()
    found = received(sorted((tmp_path / "files").iterdir())).submissions
    assert {item.identity for item in found} == {"", "7000", *(str(5000 + index) for index in range(30))}
    assert len(found) == 32
    assert all(item.source is not None for item in found)


def test_one_number_with_two_names_matches_nobody(tmp_path: Path) -> None:
    """Users may name their own files NAME_ASSIGNMENT_TRY_FILE."""
    files = {"ann_2_1_window.py": numbered(1), "bob_2_1_window.py": numbered(2)}
    found = received([zipped(tmp_path / "own.zip", files)]).submissions
    assert [(item.student, item.source) for item in found] == [("ann", numbered(1)), ("bob", numbered(2))]


def test_two_students_of_the_same_name_stay_two(tmp_path: Path) -> None:
    place = zipped(
        tmp_path / "s.zip",
        {"smithann_1_11_window.py": numbered(1), "smithann_2_12_window.py": numbered(2), "stray.txt": "x"},
    )
    collected = received([place])
    assert [item.student for item in collected.submissions] == ["smithann (1)", "smithann (2)"]
    assert collected.unclaimed == [("s.zip/stray.txt", "belongs to no hand-in")]
    without_ids = [Student(student="Ann Smith"), Student(student="Ann Smith")]
    assert [claimed_by(item, without_ids) for item in collected.submissions] == [[], []]


def test_two_hand_ins_of_one_student_are_reported(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    zipped(tmp_path / "first" / "submissions.zip", {"smithann_1_11_window.py": numbered(1), "b_2_12_x.py": numbered(5)})
    zipped(tmp_path / "second" / "submissions.zip", {"smithann_1_13_window.py": numbered(2)})
    collected = received([tmp_path / "first" / "submissions.zip", tmp_path / "second" / "submissions.zip"])
    students = [Student(student="Ann Smith", ids=(("canvas", "1"),)), Student(student="B", ids=(("canvas", "2"),))]
    ann, b = rows_of(collected, students)
    assert (ann.status, b.status, b.score) == ("duplicate", "graded", 5)
    assert "2 hand-ins match this student" in ann.remarks
    assert "(1 points)" in ann.remarks
    assert "(2 points)" in ann.remarks


@pytest.mark.parametrize(
    ("name", "platform", "number", "places"),
    [
        ("zoe", "canvas", "2", []),
        ("ann", "canvas", "2", []),
        ("zoe", "canvas", "3", [2]),
        ("zoe", "canvas", "7", [2]),
        ("nick", "canvas", "2", [1]),
        ("nick", "moodle", "2", []),
        ("zoe", "moodle", "2", [2]),
    ],
)
def test_a_number_does_not_override_another_students_name(
    tmp_path: Path, name: str, platform: str, number: str, places: list[int]
) -> None:
    students = read_roster(table(tmp_path / "own.csv", [["student", "id"], ["ann", 1], ["bob", 2], ["zoe", 3]]))
    submission = Submission(student=name, source="# 9\n", platform=platform, identity=number)
    assert claimed_by(submission, students) == places
    (*_, last) = gradebook([graded(submission)], [submission], students, LateRule())
    if platform == "canvas" and not places:
        assert last.remarks == f"its number is the `id` of bob, but its name is {name}: rename it"


def test_links_are_named_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "class" / "bob").mkdir(parents=True)
    (tmp_path / "class" / "bob" / "window.py").write_text(numbered(1))
    (tmp_path / "class" / "mallory").symlink_to(tmp_path / "class" / "bob")
    collected = received([tmp_path / "class"])
    assert [item.student for item in collected.submissions] == ["bob"]
    assert collected.unclaimed == [("class/mallory", "is a link and was left out; hand in the file itself")]


def test_names_that_are_not_text_are_graded(tmp_path: Path) -> None:
    top = tmp_path / "class"
    for name in (b"caf\xe9", b"\xff\xfe", "ok\u202e".encode()):
        place = bytes(top) + b"/" + name
        Path(place.decode("utf-8", "surrogateescape")).mkdir(parents=True)
        with open(place + b"/window.py", "w") as file:
            file.write(TEMPLATE)
    found = received([top]).submissions
    assert len(found) == 3
    for item in found:
        json.dumps([item.student, item.problems, item.received], ensure_ascii=False).encode()
        assert item.source == TEMPLATE


def test_a_place_whose_name_is_not_text_is_collected(tmp_path: Path) -> None:
    place = bytes(tmp_path) + b"/caf\xe9_1_2"
    Path(place.decode("utf-8", "surrogateescape")).mkdir()
    for name in (b"ann.py", b"bob.py", b"readme.txt", b"caf\xe9_1_2_window.py"):
        with open(place + b"/" + name, "w") as file:
            file.write(TEMPLATE)
    top = Path(place.decode("utf-8", "surrogateescape"))
    for places in ([top], [top / "caf\udce9_1_2_window.py"]):
        collected = received(places)
        json.dumps([asdict(item) for item in collected.submissions], ensure_ascii=False).encode()
        json.dumps(collected.unclaimed, ensure_ascii=False).encode()
    assert received([top]).unclaimed == [("caf\\udce9_1_2/readme.txt", "belongs to no hand-in")]


def test_a_member_without_a_name_is_ignored(tmp_path: Path) -> None:
    collected = received([zipped(tmp_path / "own.zip", {".": "", "ann/window.py": numbered(1)})])
    assert [item.student for item in collected.submissions] == ["ann"]


# The exported files, checked by each platform's own rules.


@pytest.mark.parametrize("platform", ["canvas", "moodle", "gradescope"])
def test_grades_are_exported(tmp_path: Path, platform: str) -> None:
    make, roster = MAKERS[platform]
    place, file = make(tmp_path), roster(tmp_path)
    students = read_roster(file)
    collected = received([place], students)
    verdicts = [graded(submission) for submission in collected.submissions]
    unsure = next(n for n, item in enumerate(verdicts) if item.points == 3)
    verdicts[unsure] = graded(collected.submissions[unsure], 3.0, "rerun")
    rows = gradebook(verdicts, collected.submissions, students, LateRule())
    files = build_files(
        file, students, rows, collected.submissions, verdicts, Wanted(column="Assignment 2", hidden="after_due_date")
    )
    expected = {index: float(index) for index in range(30) if index != 3}
    assert {"canvas": as_canvas, "moodle": as_moodle, "gradescope": as_gradescope}[platform](files) == expected


def test_late_penalties_are_exported_to_gradescope(tmp_path: Path) -> None:
    place, file = gradescope_zip(tmp_path), gradescope_roster(tmp_path)
    students = read_roster(file)
    submissions = received([place], students).submissions
    verdicts = [graded(submission) for submission in submissions]
    rule = LateRule(due=parse_time("2026-11-01T21:00+00:00"))
    rows = gradebook(verdicts, submissions, students, rule)
    files = build_files(file, students, rows, submissions, verdicts, Wanted(column="A", hidden="hidden"))
    assert as_gradescope(files) == {index: max(0.0, index - 10.0) for index in range(30)}
    assert b"late (started days: 1): 10 points off" in files["gradescope/submission_829/results.json"]


@pytest.mark.parametrize("form", ["canvas", "moodle"])
def test_no_zero_is_exported_while_a_hand_in_is_unmatched(tmp_path: Path, form: str) -> None:
    """Two students have the name, so neither gets the grade, and an import must not overwrite their present grades."""
    (file, columns) = {
        "canvas": ("canvas.csv", ["Student", "ID", "SIS User ID", "Section"]),
        "moodle": ("moodle.csv", ["Full name", "Identifier", "Grade", "Maximum Grade"]),
    }[form]
    people = [[name, f"Participant {number}", "", ""] for number, name in enumerate(("Jo Smith", "Jo Smith", "Ann"), 1)]
    roster = table(tmp_path / "roster.csv", [columns, *people])
    students = read_roster(roster)

    def sent(*names: str) -> list[str]:
        for name in names:
            (tmp_path / "class" / name).mkdir(parents=True)
            (tmp_path / "class" / name / "window.py").write_text(numbered(5))
        submissions = received([tmp_path / "class"], students).submissions
        verdicts = [graded(submission) for submission in submissions]
        rows = gradebook(verdicts, submissions, students, LateRule())
        files = build_files(roster, students, rows, submissions, verdicts, Wanted(column="A", hidden="hidden"))
        lines = list(csv.reader(io.StringIO(files[file].decode(), newline="")))
        assert form == "moodle" or lines[1][-1] == "100"  # points possible, even if students are left out
        return [line[0] for line in lines if "Participant" in line[1]]

    assert sent("Somebody") == []
    shutil.rmtree(tmp_path / "class")
    assert sent("Ann") == ["Jo Smith", "Jo Smith", "Ann"]
    assert sent("Jo Smith") == ["Ann"]


def test_exported_cells_are_no_formulas_and_semicolons_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "class" / "Ann Lee_12_assignsubmission_file_"
    place.mkdir(parents=True)
    (place / "=1+cmd.py").write_text("# 50\ndef packets_in_the_air(hops): return 1\n")
    roster = tmp_path / "roster.csv"
    roster.write_text("Identifier;Full name;Grade;Maximum Grade;Feedback comments\nParticipant 12;Ann Lee;;10,00;\n")
    students = read_roster(roster)
    submissions = received([tmp_path / "class"], students).submissions
    verdicts = [replace(graded(item), problems=item.problems) for item in submissions]
    rows = gradebook(verdicts, submissions, students, LateRule())
    files = build_files(roster, students, rows, submissions, verdicts, Wanted(column="A", hidden="hidden"))
    _, line = csv.reader(io.StringIO(files["moodle.csv"].decode(), newline=""))
    assert line[:4] == ["Participant 12", "Ann Lee", "5.00", "10,00"]
    assert line[4].startswith("'=1+cmd.py has no stamp")
    roster.write_text("Identifier;Full name\nParticipant 12;Ann Lee\n")
    again = build_files(roster, students, rows, submissions, verdicts, Wanted(column="A", hidden="hidden"))
    assert "moodle.csv" not in again
    assert "has no column 'Grade', so moodle.csv is not written" in capsys.readouterr().err


def sent_home(tmp_path: Path, text: str) -> dict[str, bytes]:
    """The files for the platform of a roster with this text. The hand-ins are in the folder `class`."""
    roster = tmp_path / "roster.csv"
    roster.write_text(text)
    students = read_roster(roster)
    submissions = received([tmp_path / "class"], students).submissions
    verdicts = [graded(submission) for submission in submissions]
    rows = gradebook(verdicts, submissions, students, LateRule())
    return dict(build_files(roster, students, rows, submissions, verdicts, Wanted(column="A", hidden="hidden")))


@pytest.mark.parametrize(
    ("text", "made", "says"),
    [
        (
            "Identifier,Full name,Grade,Scale,Feedback comments\nParticipant 1,ann,Good,Poor,\n",
            {"moodle.csv": ["Participant 1", "ann", "Good", "Poor", "points lost: t (a) 5/100"]},
            "grades by a scale, which takes no points, so moodle.csv has only the comments",
        ),
    ],
)
def test_a_roster_without_a_place_for_points_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, made: dict[str, list[str]], says: str
) -> None:
    (tmp_path / "class" / "ann").mkdir(parents=True)
    (tmp_path / "class" / "ann" / "window.py").write_text(numbered(5))
    files = sent_home(tmp_path, text)
    lines = {name: next(csv.reader([content.decode().splitlines()[1]])) for name, content in files.items()}
    assert lines == made
    assert says in capsys.readouterr().err


def test_rows_without_their_last_cells_are_exported(tmp_path: Path) -> None:
    """A spreadsheet drops empty cells at a line's end."""
    for name in ("ann", "cy"):
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "window.py").write_text(numbered(5))

    def sent(text: str, file: str) -> list[list[str]]:
        return list(csv.reader(io.StringIO(sent_home(tmp_path, text)[file].decode(), newline="")))

    worksheet = "Identifier,Full name,Grade,Maximum Grade,Feedback comments\nParticipant 1,ann,,50,\nParticipant 2,cy\n"
    assert sent(worksheet, "moodle.csv")[1:] == [
        ["Participant 1", "ann", "2.50", "50", "points lost: t (a) 5/100"],
        ["Participant 2", "cy", "5.00", "", "points lost: t (a) 5/100"],
    ]
    worksheet = "Identifier,Full name,Grade,Maximum grade\nParticipant 1,ann,,50\n"  # with different capitals
    assert sent(worksheet, "moodle.csv")[1] == ["Participant 1", "ann", "2.50", "50"]
    assert sent("Student,ID,Section\nann,1,A\ncy,2\n", "canvas.csv")[2:] == [
        ["ann", "1", "A", "5.00"],
        ["cy", "2", "", "5.00"],
    ]


def as_canvas(files: dict[str, bytes]) -> dict[int, float]:
    """Reads it like lib/gradebook_importer.rb: student columns, an assignment with its id, points possible, scores."""
    header, points, *lines = csv.reader(io.StringIO(files["canvas.csv"].decode(), newline=""))
    assert "Student" in header[0]
    assert "ID" in header[1]
    assert re.search(r"SIS\s+User\s+ID", header[2])
    assert re.search(r"SIS\s+Login\s+ID", header[3])
    assert "Section" in header[4]  # the last column about the student
    assert header[5:] == ["Assignment 2 (777)"]
    assert "Points Possible" in points[0]
    assert float(points[5]) == 100
    assert len({len(line) for line in lines}) == 1
    return {int(line[1]) - 5000: float(line[5]) for line in lines}


def as_moodle(files: dict[str, bytes]) -> dict[int, float]:
    """Reads it like the importer of offline feedback: three columns by name, with "Participant N" for the student."""
    header, *lines = csv.reader(io.StringIO(files["moodle.csv"].decode(), newline=""))
    who, grade, modified = (header.index(name) for name in ("Identifier", "Grade", "Last modified (grade)"))
    assert {line[modified] for line in lines} == {"-"}
    assert all(0 <= float(line[grade]) <= 50 for line in lines)
    return {int(line[who].removeprefix("Participant ")) - 300: float(line[grade]) * 2 for line in lines}


def as_gradescope(files: dict[str, bytes]) -> dict[int, float]:
    """Reads it as the autograder specification says."""
    found = {}
    for name, content in files.items():
        match = re.fullmatch(r"gradescope/submission_(\d+)/results\.json", name)
        assert match is not None
        document = json.loads(content)
        assert document["visibility"] in ("visible", "hidden", "after_due_date", "after_published")
        for test in document["tests"]:
            assert 0 <= test["score"] <= test["max_score"]
            assert test["status"] in ("passed", "failed")
            assert test["visibility"] in ("visible", "hidden", "after_due_date", "after_published")
        found[int(match[1]) - 800] = document["score"]
    return found


# Blackboard, Brightspace, Sakai, and names of another form.

OTHER_PLATFORMS = {
    "blackboard": {
        "HW2_jsmith_attempt_2026-11-01-23-58-00_window.py": numbered(1),
        "HW2_jsmith_attempt_2026-10-30-10-00-00_window.py": numbered(9),
        "HW2_jsmith_attempt_2026-11-01-23-58-00.txt": "Name: Jane Smith (jsmith)",
        "HW2_bob_attempt_2026-11-01-20-00-00_window.py": numbered(2),
    },
    "brightspace": {
        "12345-678901 - Jane Smith - Nov 1, 2026 1158 PM/window.py": numbered(1),
        "12346-678902 - Bob Ray - Nov 2, 2026 900 AM/window.py": numbered(2),
    },
    "sakai": {
        "Smith, Jane(jsmith)/Submission attachment(s)/window.py": numbered(1),
        "Smith, Jane(jsmith)/timestamp.txt": "2026-11-01T22:58:00.123Z",
        "Ray, Bob(bob)/Submission attachment(s)/window.py": numbered(2),
    },
}


@pytest.mark.parametrize("platform", sorted(OTHER_PLATFORMS))
def test_exports_of_other_platforms_are_recognized(platform: str, tmp_path: Path) -> None:
    students = [Student(student="Jane Smith", id="jsmith"), Student(student="Bob Ray", id="bob")]
    collected = received([zipped(tmp_path / "all.zip", OTHER_PLATFORMS[platform])], students)
    found = {
        students[place].id: item.source.partition("\n")[0]
        for item in collected.submissions
        for place in claimed_by(item, students)
        if item.source
    }
    assert found == {"jsmith": "# 1", "bob": "# 2"}
    assert {item.platform for item in collected.submissions} == {platform}


TIMES = {
    "blackboard": ["2026-11-01T23:58:00", "2026-11-01T20:00:00"],
    "brightspace": ["2026-11-01T23:58:00", "2026-11-02T09:00:00"],
    "sakai": ["2026-11-01T22:58:00.123000+00:00", ""],
}
"""Of Jane and Bob."""


def test_blackboard_usernames_and_titles_may_contain_underscores(tmp_path: Path) -> None:
    """The roster has the usernames. Of two that fit, the longer one is meant."""
    names = ("HW_1_j_smith", "HW_1_x_1", "HW_1_1", "HW_1_ann@uni.edu", "HW_1_no_body")
    files = {f"{name}_attempt_2026-11-01-23-58-00_window.py": numbered(n) for n, name in enumerate(names)}
    files["HW_1_j_smith_attempt_2026-11-01-23-58-00.txt"] = "Name: Jane Smith (j_smith)"
    roster = tmp_path / "gc.csv"
    users = ("J_Smith", "x_1", "1", "ann@uni.edu", "smith")
    roster.write_text(
        "Last Name,First Name,Username\n" + "".join(f"L{n},F{n},{user}\n" for n, user in enumerate(users))
    )
    students = read_roster(roster)
    accounts = [dict(student.ids)["username"] for student in students]
    place = zipped(tmp_path / "all.zip", files)
    collected = collect([place], ASSIGNMENT, KnownNames(accounts=accounts))
    found = {item.source: claimed_by(item, students) for item in collected.submissions}
    assert found == {numbered(0): [0], numbered(1): [1], numbered(2): [2], numbered(3): [3], numbered(4): []}


def test_moodle_takes_feedback_in_the_folder_of_the_files(tmp_path: Path) -> None:
    """Text that was typed online is in another folder of the same student."""
    start = "Jane Smith_12_assignsubmission"
    files = {f"{start}_file/window.py": numbered(1), f"{start}_onlinetext/onlinetext.html": "<p></p>"}
    (found,) = received([zipped(tmp_path / "all.zip", files)]).submissions
    assert (found.source, found.returned_as) == (numbered(1), f"{start}_file_/")


def test_older_versions_of_sakai_write_times_as_digits() -> None:
    assert iso_time("20261101225800123\n") == "2026-11-01T22:58:00.123000+00:00"
    assert iso_time("20261301225800123") == ""


@pytest.mark.parametrize("platform", sorted(OTHER_PLATFORMS))
def test_times_of_other_platforms_count(platform: str, tmp_path: Path) -> None:
    students = [Student(student="Jane Smith", id="jsmith"), Student(student="Bob Ray", id="bob")]
    collected = received([zipped(tmp_path / "all.zip", OTHER_PLATFORMS[platform])], students)
    of_whom = {place: item for item in collected.submissions for place in claimed_by(item, students)}
    assert [of_whom[place].submitted for place in (0, 1)] == TIMES[platform]
    rule = LateRule(due=parse_time("2026-11-01T21:00" + ("+00:00" if platform == "sakai" else "")))
    rows = gradebook([graded(item, 50) for item in collected.submissions], collected.submissions, students, rule)
    expected = {"blackboard": [1, 0], "brightspace": [1, 1], "sakai": [1, None]}
    assert [row.late_days for row in rows] == expected[platform]


def test_the_newest_attempt_in_brightspace_counts(tmp_path: Path) -> None:
    """In the order of times, not of texts. Feedback goes into its folder."""
    times = ("Nov 1, 2026 900 AM", "Nov 1, 2026 1158 PM", "Oct 31, 2026 110 PM", "Nov 1, 2026 1215 AM")
    names = [f"1-{77 + number} - Jane Smith - {time}" for number, time in enumerate(times)]
    files = {f"{name}/window.py": numbered(number) for number, name in enumerate(names)}
    (found,) = received([zipped(tmp_path / "all.zip", files)]).submissions
    assert (found.source, found.submitted) == (numbered(1), "2026-11-01T23:58:00")
    assert found.returned_as == f"{names[1]}/"
    assert sum(line.startswith("window.py (attempt ") for line in found.received) == 3


def test_sakais_own_files_are_no_hand_in(tmp_path: Path) -> None:
    """The download may contain a folder for a student who handed in nothing. A name may lack a part."""
    own = ("comments.txt", "feedbackText.html", "Ray, Bob(bob)_submissionText.html")
    files = {f"Essay/Ray, Bob(bob)/{name}": "" for name in own}
    files |= {"Essay/Cher,(cher)/timestamp.txt": "2026-11-01T21:00:00Z", "Essay/grades.csv": "Essay,SCORE_GRADE_TYPE"}
    files["Essay/Cher,(cher)/Cher,(cher)_submissionText.html"] = "def packets_in_the_air"
    files["Essay/Ely, Al (Jr)(al)/timestamp.txt"] = "2026-11-01T21:00:00Z"
    files["Essay/Ely, Al (Jr)(al)/Submission attachment(s)/window.py"] = numbered(5)
    files["Essay/Ely, Al (Jr)(al)/Submission attachment(s)/timestamp.txt"] = "2020-01-01T00:00:00Z"
    collected = received([zipped(tmp_path / "bulk_download.zip", files)])
    assert [(item.identity, item.source, item.submitted) for item in collected.submissions] == [
        ("cher", None, "2026-11-01T21:00:00+00:00"),
        ("al", numbered(5), "2026-11-01T21:00:00+00:00"),
    ]
    assert collected.unclaimed == []


def test_moodles_worksheet_in_english_has_times(tmp_path: Path) -> None:
    head = ["Identifier", "Full name", "Status", "Grade", "Last modified (submission)", "Last modified (grade)"]
    cells = ("Sunday, 1 November 2026, 10:00 PM", "-", "Sonntag, 1. November 2026, 22:00")
    lines = [[f"Participant {n}", f"P {n}", "Submitted", "", cell, "-"] for n, cell in enumerate(cells)]
    students = read_roster(table(tmp_path / "worksheet.csv", [head, *lines]))
    assert [student.submitted for student in students] == ["2026-11-01T22:00:00", "", ""]


@pytest.mark.parametrize("files", [{"red.py": numbered(1)}, {"red.zip": "", "ann.py": numbered(1)}])
def test_a_single_hand_in_may_have_the_name_of_a_group(tmp_path: Path, files: dict[str, str]) -> None:
    students = [Student(student="Bob", group="red"), Student(student="ann")]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    collected = collect([tmp_path], ASSIGNMENT, known_names(students))
    assert {item.student for item in collected.submissions} == {Path(name).stem for name in files}


def test_a_pattern_describes_names_of_another_form(tmp_path: Path) -> None:
    files = {"hw2=jane=7=2026-11-01-20-00-00.py": numbered(1), "hw2=bob=8.py": numbered(2), "notes.txt": "x"}
    pattern = name_pattern(r"hw2=(?P<student>\w+)=(?P<id>\d+)(=(?P<time>[\d-]+))?\.py")
    collected = collect([zipped(tmp_path / "all.zip", files)], ASSIGNMENT, KnownNames(pattern=pattern))
    found = [(item.name, item.identity, item.submitted) for item in collected.submissions]
    assert found == [("bob", "8", ""), ("jane", "7", "2026-11-01T20:00:00")]
    assert [name for name, _ in collected.unclaimed] == ["all.zip/notes.txt"]


@pytest.mark.parametrize(
    ("text", "problem"), [("(", "is not a regular expression"), ("(?P<name>.+)", "give .*student")]
)
def test_a_pattern_that_is_not_valid_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        name_pattern(text)


def test_a_pattern_that_a_name_keeps_busy_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platforms, "MATCH_S", 0.1)
    place = zipped(tmp_path / "all.zip", {f"{'a' * 40}.py": numbered(1)})
    with pytest.raises(ConfigError, match=r"takes more than 0\.1 s; write it without nested repetition"):
        collect([place], ASSIGNMENT, KnownNames(pattern=name_pattern(r"(?P<student>(\w+ ?)+)_(?P<id>\d+)\.py")))


# Feedback, and the columns of Canvas.


def exported(tmp_path: Path, roster: str, files: dict[str, str], *, column: str | None = "A") -> dict[str, bytes]:
    (tmp_path / "roster.csv").write_text(roster)
    return exported_of(tmp_path, read_roster(tmp_path / "roster.csv"), files, column=column)


def exported_of(
    tmp_path: Path, students: Sequence[Student], files: dict[str, str], *, column: str | None = "A"
) -> dict[str, bytes]:
    submissions = received([zipped(tmp_path / "all.zip", files)], students).submissions
    verdicts = [graded(item) for item in submissions]
    rows = gradebook(verdicts, submissions, students, LateRule())
    return build_files(
        tmp_path / "roster.csv", students, rows, submissions, verdicts, Wanted(column=column, hidden="hidden")
    )


def names_in(content: bytes) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.namelist()


def test_reports_go_to_canvas_and_moodle_under_the_names_of_the_hand_ins(tmp_path: Path) -> None:
    files = exported(tmp_path, "Student,ID,Section\nann,12,S\n", {"ann_LATE_12_34_window.py": numbered(5)})
    assert names_in(files["canvas-feedback.zip"]) == ["ann_LATE_12_34_report.html"]
    roster = "Identifier,Full name,Grade,Feedback comments\nParticipant 7,Ann Lee,,\n"
    files = exported(tmp_path, roster, {"Ann Lee_7_assignsubmission_file_/window.py": numbered(5)})
    assert names_in(files["moodle-feedback.zip"]) == ["Ann Lee_7_assignsubmission_file_/report.html"]


@pytest.mark.parametrize(
    ("header", "lines", "column", "says"),
    [
        (
            "Student,ID,Section,HW 1 (501),HW 2 (502)",
            "    Points Possible,,,20,\nann,12,S,,",
            None,
            "has no column titled 'Assignment 2'; give --column with one of 'HW 1 (501)' of 20 points, 'HW 2 (502)'",
        ),
        (
            "Student,ID,Section,A (7),A (9)",
            "ann,1,S,,",
            "A",
            r"has 2 columns titled 'A'; give --column with one of 'A \(7\)', 'A \(9\)'$",
        ),
        (
            "Student,ID,Section,HW 1 (501),Final Score",
            "    Points Possible,,,20,(read only)\nann,12,S,,",
            "Final Score",
            "column 'Final Score' of roster .* takes no scores in Canvas; give --column with 'HW 1 (501)' of 20 points",
        ),
        ("Student,ID,Section,HW 1 (501)", "ann,12,S,", "Section", "column 'Section' of roster .* takes no scores in"),
        (
            "Last Name,First Name,Username,Student ID,HW 2 [Total Pts: 20 Score] |123",
            "Lee,Ann,ann,7,",
            "Other",
            r"has no column titled 'Other'; give --column with 'HW 2 .* \|123' of 20 points$",
        ),
        (
            "OrgDefinedId,HW 2 Points Grade <Numeric MaxPoints:20>,End-of-Line Indicator",
            "#7,,#",
            None,
            "has no column titled 'Assignment 2'; give --column with 'HW 2 Points Grade .* of 20 points, or",
        ),
    ],
)
def test_the_right_column_is_asked_for_before_grading(
    tmp_path: Path, header: str, lines: str, column: str | None, says: str
) -> None:
    (tmp_path / "roster.csv").write_text(f"{header}\n{lines}\n")
    with pytest.raises(ConfigError, match=says.replace("(501)", r"\(501\)").replace("(502)", r"\(502\)")):
        check_columns(tmp_path / "roster.csv", column, ASSIGNMENT)


@pytest.mark.parametrize(
    ("column", "head", "new"),
    [("501", "HW 1 (501)", False), ("HW 1", "HW 1 (501)", False), ("Quiz", "Quiz", True), ("50", "50", True)],
)
def test_a_column_is_known_by_its_number_and_a_new_one_is_named(
    tmp_path: Path, column: str, head: str, new: bool
) -> None:
    roster = "Student,ID,Section,HW 1 (501),HW 2 (502)\n    Points Possible,,,20,20\nann,12,S,EX,\n"
    files = exported(tmp_path, roster, {"ann_12_34_window.py": numbered(5)}, column=column)
    assert files["canvas.csv"].decode().splitlines()[0] == f"Student,ID,Section,{head}"
    assert files["canvas.csv"].decode().splitlines()[-1].endswith("EX") is not new
    note = check_columns(tmp_path / "roster.csv", column, ASSIGNMENT)
    assert ("makes a new one; the roster has 'HW 1 (501)' of 20 points, 'HW 2 (502)'" in note) is new


def test_a_column_of_0_points_is_reported(tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text("Student,ID,Section,Assignment 2 (5)\n    Points Possible,,,0\nann,12,S,\n")
    note = check_columns(tmp_path / "roster.csv", None, ASSIGNMENT)
    assert "'Assignment 2 (5)' of roster" in note
    assert "has 0 points, so the scores are out of 100" in note
    assert check_columns(tmp_path / "roster.csv", None, ASSIGNMENT, 20.0) == ""


def test_canvas_gets_the_scores_in_the_column_with_the_assignments_name(tmp_path: Path) -> None:
    roster = "Student,ID,Section,Assignment 2 (502)\nann,12,S,\n"
    files = exported(tmp_path, roster, {"ann_12_34_window.py": numbered(5)}, column=None)
    assert b"Assignment 2 (502)" in files["canvas.csv"]


def test_canvas_may_export_names_in_two_columns_and_a_test_student(tmp_path: Path) -> None:
    roster = (
        "LastName,FirstName,ID,SIS User ID,Section,A (5)\n    Points Possible,,,,,20\nLee,Ann,12,u,S,\n"
        "Ray,Bob,13,v,S,N/A\nStudent,Test,14,,S,\n"
    )
    files = exported(tmp_path, roster, {"leeann_12_34_window.py": numbered(50)})
    header, possible, *lines = csv.reader(io.StringIO(files["canvas.csv"].decode(), newline=""))
    assert header == ["LastName", "FirstName", "ID", "SIS User ID", "Section", "A (5)"]
    assert possible[-1] == "20"
    assert [(line[0], line[-1]) for line in lines] == [("Lee", "10.00"), ("Ray", "N/A")]


def gradescope_of_two(tmp_path: Path, *, zero_unreadable: bool) -> list[str]:
    metadata = "".join(
        f"submission_{n}:\n  :submitters:\n  - :name: {name}\n    :email: {name}@x.org\n"
        for n, name in enumerate(("ann", "bob"))
    )
    files = {f"submission_{n}/window.py": numbered(n) for n in range(2)}
    place = zipped(tmp_path / "e.zip", {"submission_metadata.yml": metadata, **files})
    submissions = received([place]).submissions
    verdicts = [replace(graded(item), unreadable=item.name == "bob") for item in submissions]
    rows = gradebook(verdicts, submissions, [], LateRule())
    return sorted(build_files(None, [], rows, submissions, verdicts, Wanted(zero_unreadable=zero_unreadable)))


def test_gradescope_gets_no_zero_for_what_cannot_be_read(tmp_path: Path) -> None:
    both = ["gradescope/submission_0/results.json", "gradescope/submission_1/results.json"]
    assert gradescope_of_two(tmp_path, zero_unreadable=False) == both[:1]
    assert gradescope_of_two(tmp_path, zero_unreadable=True) == both


WORKSHEETS = {
    "es": "Identificador,Nombre completo,Dirección de correo,Estado,Calificación,Calificación máxima,"
    "La calificación puede cambiarse,Última modificación (entrega),Última modificación (calificación),"
    'Comentarios de retroalimentación|Participante 7,Ana Ruiz,ana@x.org,Enviado,,"20,00",Sí,-,-,',
    "ja": "ID,フルネーム,メールアドレス,ステータス,評点,最大評点,評点変更可,"
    "最終更新日時 (提出),最終更新日時 (評点),フィードバックコメント"
    "|参加者 7,李 小龍,li@x.org,提出済み,-,20.00,Yes,-,-,",
    "without-comments": "Identifiant,Nom entier,Statut,Note,Note maximale,La note peut être modifiée,"
    "Dernière modification (travail remis),Dernière modification (note)|Participant 7,Ann Lee,Remis,,20.00,Oui,-,"
    '"dimanche 1 novembre 2026, 22:00"',
    "anonymous": "Kennung,Status,Bewertung,Bestwertung,Änderbar,Abgabe,Bewertet,Kommentar"
    "|Teilnehmer 7,Abgegeben,,20.00,Ja,-,-,",
}


@pytest.mark.parametrize("language", WORKSHEETS)
def test_moodles_worksheet_is_read_in_any_language(tmp_path: Path, language: str) -> None:
    header, line = WORKSHEETS[language].split("|")
    other = line.replace(" 7,", " 8,").replace("Ana Ruiz", "Bo").replace("李 小龍", "Bo").replace("Ann Lee", "Bo")
    (tmp_path / "roster.csv").write_text(f"{header}\n{line}\n{other}\n", encoding="utf-8")
    students = read_roster(tmp_path / "roster.csv")
    assert [student.known_by("moodle") for student in students] == ["7", "8"]
    files = exported_of(tmp_path, students, {"X_7_assignsubmission_file_/window.py": numbered(50)})
    made = list(csv.reader(io.StringIO(files["moodle.csv"].decode(), newline="")))
    assert made[0] == next(csv.reader([header]))
    changed = [cell for cell, before in zip(made[1], next(csv.reader([line])), strict=True) if cell != before]
    comments = [] if language == "without-comments" else ["points lost: t (a) 50/100"]
    assert changed == ["10.00", *comments]


@pytest.mark.parametrize(
    "text",
    [
        "alumno,grupo,a,b,c\nana,1,2,3,4\n",
        "code,who,a,b,c\nx 1,ann,1,2,3\ny 2,bob,1,2,3\n",
        "code,who,a,b\nx 1,ann,1,2\n",
        "code,who,a,b,c\n12,ann,1,2,3\n",
    ],
)
def test_a_table_that_is_no_worksheet_gets_advice(tmp_path: Path, text: str) -> None:
    (tmp_path / "roster.csv").write_text(text)
    with pytest.raises(ConfigError, match="has no column `student`"):
        read_roster(tmp_path / "roster.csv")
