"""A term: late days without a penalty, all grades in one table, regrade requests."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from pacelab import ConfigError
from pacelab.cli.main import main
from pacelab_grading.assignments import find_assignment
from pacelab_grading.grade.options import UNCERTAIN, UNREADABLE
from pacelab_grading.receive.submission import Submission
from pacelab_grading.records.adjust import Adjustment
from pacelab_grading.records.gradebook import csv_file, gradebook
from pacelab_grading.records.report import html_report
from pacelab_grading.records.requests import Request, assigned, read_requests, with_requests, worksheet
from pacelab_grading.records.roster import LateRule, Student, parse_time
from pacelab_grading.records.summary import summary
from pacelab_grading.records.term import days_left, graded_assignments, later_than, term_csv, term_html, term_table
from pacelab_grading.rubric.verdict import Result, Verdict

KEY = "0123456789abcdef" * 4
DUE = {"assignment1": "2026-10-01T23:59", "assignment2": "2026-10-15T23:59", "assignment3": "2026-11-01T23:59"}


def verdict(student: str, points: float, number: int = 1) -> Verdict:
    result = Result(id="a", title="t", points=100, earned=points, status="partial", expected="1", got="2")
    return Verdict(
        student=student,
        assignment=number,
        version=1,
        title="T",
        points=points,
        total=100,
        status="graded",
        results=(result,),
        problems=(),
    )


def record(term: Path, name: str, students: Sequence[Student], points: float = 90) -> list[float]:
    """Grade an assignment of the term with these points for each student. Returns the scores."""
    students = [replace(student, ids=(("canvas", student.id),) if student.id else ()) for student in students]
    handed_in = [
        Submission(student=item.student + item.id, name=item.student, source="", platform="canvas", identity=item.id)
        for item in students
    ]
    verdicts = [verdict(item.student, points, int(name[-1])) for item in handed_in]
    rule = LateRule(due=parse_time(DUE[name]))
    left = days_left(graded_assignments(term), students, budget=3, due=DUE[name], without=name)
    rows = gradebook(verdicts, handed_in, left, rule=rule, assignment=find_assignment(1))
    (term / name).mkdir(exist_ok=True)
    (term / name / "gradebook.csv").write_bytes(csv_file(rows))
    return [row.score for row in rows]


def late(name: str, days: int, number: str = "1") -> Student:
    """Ann's hand-in, this many days after the due time, minus half a day."""
    due = parse_time(DUE[name])
    return Student(student="Ann", id=number, submitted=(due + timedelta(days=days - 0.5)).isoformat())


def test_late_days_of_a_term_are_free_until_they_are_used(tmp_path: Path) -> None:
    assert record(tmp_path, "assignment1", [late("assignment1", 2)]) == [90]
    assert record(tmp_path, "assignment2", [late("assignment2", 2)]) == [80]  # one day was left
    assert record(tmp_path, "assignment3", [late("assignment3", 1)]) == [80]
    with (tmp_path / "assignment2" / "gradebook.csv").open(encoding="utf-8-sig") as file:
        (row,) = csv.DictReader(file)
    assert (row["late_days"], row["free_days"], row["deduction"]) == ("2", "1", "10.0")
    assert row["due"] == "2026-10-15T23:59:00"
    assert row["remarks"] == "late (started days: 2, 1 of them free): 10 points off"
    lines = term_table(graded_assignments(tmp_path), 3)
    assert lines == [
        ["student", "id", *DUE, "total", "of", "late days used", "late days left"],
        ["Ann", "1", "90", "80", "80", "250", "300", "3", "0"],
    ]


def test_the_due_times_decide_which_assignment_uses_late_days_first(tmp_path: Path) -> None:
    """The result of the first assignment must stay the same when it is graded again after the second."""
    assert record(tmp_path, "assignment2", [late("assignment2", 2)]) == [90]
    assert record(tmp_path, "assignment1", [late("assignment1", 2)]) == [90]
    terms = graded_assignments(tmp_path)
    assert [item.name for item in terms] == ["assignment1", "assignment2"]
    assert later_than(terms, DUE["assignment1"], without="assignment1") == ["assignment2"]
    assert record(tmp_path, "assignment2", [late("assignment2", 2)]) == [80]
    assert record(tmp_path, "assignment1", [late("assignment1", 2)]) == [90]


def test_two_assignments_with_one_due_time_use_late_days_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DUE, "assignment2", DUE["assignment1"])
    for _ in range(2):
        assert record(tmp_path, "assignment1", [late("assignment1", 2)]) == [90]
        assert record(tmp_path, "assignment2", [late("assignment2", 2)]) == [80]


def test_a_later_due_time_does_not_count_late_days_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    handed_in = late("assignment1", 3)
    assert record(tmp_path, "assignment1", [handed_in]) == [90]
    monkeypatch.setitem(DUE, "assignment1", "2026-10-02T23:59")  # extended by a day: two late days are left, all free
    assert record(tmp_path, "assignment1", [handed_in]) == [90]
    assert term_table(graded_assignments(tmp_path), 3)[1] == ["Ann", "1", "90", "90", "100", "2", "1"]


def test_a_backup_of_an_assignment_does_not_use_late_days(tmp_path: Path) -> None:
    record(tmp_path, "assignment1", [late("assignment1", 2)])
    shutil.copytree(tmp_path / "assignment1", tmp_path / "assignment1.bak")
    assert [item.name for item in graded_assignments(tmp_path)] == ["assignment1"]
    assert record(tmp_path, "assignment2", [late("assignment2", 1)]) == [90]


def test_a_gradebook_that_somebody_edited_is_named_or_counts_as_nothing(tmp_path: Path) -> None:
    record(tmp_path, "assignment1", [late("assignment1", 2)])
    place = tmp_path / "assignment1" / "gradebook.csv"
    text = place.read_text("utf-8-sig")
    place.write_text(text.replace("90,2,2,0.0,90.0", "90,2,two,0.0,A+"))
    assert term_table(graded_assignments(tmp_path), 3)[1] == ["Ann", "1", "A+", "0", "100", "0", "3"]
    place.write_text(text.replace("2026-10-01T23:59:00", "1.10."))
    with pytest.raises(ConfigError, match=r"assignment1/gradebook\.csv: column `due`: '1\.10\.' is not a valid time"):
        graded_assignments(tmp_path)
    place.write_text("some,other,table\n1,2,3\n")
    assert graded_assignments(tmp_path) == []


def test_a_hand_in_without_points_uses_no_late_days(tmp_path: Path) -> None:
    assert record(tmp_path, "assignment1", [late("assignment1", 3)], points=0) == [0]
    assert record(tmp_path, "assignment2", [late("assignment2", 3)]) == [90]


def test_more_days_than_allowed_count_after_the_free_ones(tmp_path: Path) -> None:
    assert record(tmp_path, "assignment1", [late("assignment1", 6)]) == [60]
    assert record(tmp_path, "assignment2", [late("assignment2", 4)]) == [0]


def test_the_same_student_is_found_by_id_or_by_name(tmp_path: Path) -> None:
    """Moodle's numbers change with each assignment, a name may change, and two students may have the same name."""
    students = [
        [("Ann", "11", 1), ("Bob Ash", "12", 1), ("Li", "13", 1), ("Li", "14", 0)],
        [("Ann", "21", 1), ("Bob Oak", "12", 2), ("Li", "13", 2), ("Li", "14", 3)],
    ]
    for name, people in zip(DUE, students, strict=False):
        made = [replace(late(name, days, number), student=who) for who, number, days in people]
        scores = record(tmp_path, name, made)
    assert scores == [90, 90, 90, 90]
    lines = term_table(graded_assignments(tmp_path), None)[1:]
    assert [(line[0], line[-1]) for line in lines] == [("Ann", "2"), ("Bob Ash", "3"), ("Li", "3"), ("Li", "3")]


def test_a_number_that_another_student_has_in_the_next_assignment_does_not_count(tmp_path: Path) -> None:
    students = [[("Ann", "1", 2), ("Bob", "2", 0)], [("Bob", "1", 3), ("Ann", "2", 0)]]
    for name, people in zip(DUE, students, strict=False):
        made = [replace(late(name, days, number), student=who) for who, number, days in people]
        assert record(tmp_path, name, made) == [90, 90]
    lines = term_table(graded_assignments(tmp_path), None)[1:]
    assert [(line[0], line[-1]) for line in lines] == [("Ann", "2"), ("Bob", "3")]


def test_the_table_of_a_term_is_safe_and_marks_uncertain_grades(tmp_path: Path) -> None:
    people = [replace(late("assignment1", 0), student=name, id="") for name in ("<b>", "=1+1")]
    record(tmp_path, "assignment1", people)
    terms = graded_assignments(tmp_path)
    lines = term_table(terms, None)
    page = term_html(lines, terms).decode()
    assert "<b>" not in page
    assert '<a href="assignment1/summary.html">' in page
    assert b"'=1+1" in term_csv(lines)
    text = (tmp_path / "assignment1" / "gradebook.csv").read_text("utf-8-sig").replace("graded", "rerun", 1)
    (tmp_path / "assignment1" / "gradebook.csv").write_text(text)
    assert term_table(graded_assignments(tmp_path), None)[1][2] == "90 (rerun)"


ANN, BOB = (Submission(student=name, name=name, source="") for name in ("Ann", "Bob"))


def requests_of(text: str, folder: Path, decided: Sequence[Adjustment] = ()) -> list[Request]:
    (folder / "asked.csv").write_text(text)
    students = [Student(student="Ann", id="7"), Student(student="Bob", ids=(("email", "bob@x.org"),))]
    return assigned(read_requests(folder / "asked.csv"), [ANN, BOB], students, decided)


def test_requests_are_listed_with_what_they_are_about(tmp_path: Path) -> None:
    text = "Timestamp,student,check,request\n1,7,a,=why?\n2,Bob@x.org,,all of it\n3,Zoe,a,hm\n4,Ann,b,huh\n"
    decided = [Adjustment(student="Bob", check="", points=95, reason="right")]
    found = requests_of(text, tmp_path, decided)
    assert [(item.hand_in, item.check) for item in found] == [("Ann", "a"), ("Bob", ""), ("", "a"), ("Ann", "b")]
    states = [item.state for item in found]
    assert states[:2] == ["open", "decided"]
    assert states[2].startswith("not assigned: no hand-in is called 'Zoe'")
    verdicts = [verdict("Ann", 40), verdict("Bob", 95)]
    lines = list(csv.reader(worksheet(found, verdicts).decode("utf-8-sig").splitlines()))
    assert lines[0][:5] == ["student", "check", "points", "reason", "request"]
    assert lines[1] == ["Ann", "a", "", "", "'=why?", "open", "40", "100", "partial; expected 1; got 2"]
    assert lines[3][8] == "no such check; there are a"
    assert lines[4] == ["Bob", "", "95", "right", "all of it", "decided", "95", "100", "graded"]
    assert with_requests(verdicts[0], found).problems[0] == "regrade request for a, not yet decided: =why?"
    assert with_requests(verdicts[1], found) == verdicts[1]
    page = summary([], verdicts, requests=found)
    assert "Ann, a: =why? (open)" in page
    assert "all of it" not in page


def test_the_worksheet_can_be_read_again(tmp_path: Path) -> None:
    found = requests_of("student,check,request\nAnn,a,=why?\nZoe,,-1 is wrong\n", tmp_path)
    (tmp_path / "requests.csv").write_bytes(worksheet(found, [verdict("Ann", 40)]))
    again = read_requests(tmp_path / "requests.csv")
    assert [(item.student, item.check, item.text) for item in again] == [
        ("Ann", "a", "=why?"),
        ("Zoe", "", "-1 is wrong"),
    ]


def test_a_students_question_is_escaped(tmp_path: Path) -> None:
    found = requests_of("student,request\nAnn,<script>\n", tmp_path)
    made = verdict("Ann", 40)
    page = html_report(with_requests(made, found)) + summary([], [made], requests=found)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.usefixtures("engine", "one_judge_process")
def test_a_term_from_the_command_line(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two assignments, one late, an unreadable file, a request and its decision."""
    Path("roster.csv").write_text("student,submitted\nann,2026-10-02T12:00\nbob,2026-10-01T12:00\ncem,\n")

    def grade(number: int, *more: str) -> int:
        command = ["grade", f"hw{number}", "--assignment", str(number), "--roster", "roster.csv", "--term", "fall"]
        due = ["--due", "2026-10-01T23:59+00:00", "--free-late-days", "2", "--key", KEY, "--weak-walls"]
        return main([*command, *due, *more])

    for number in (1, 2):
        assignment = find_assignment(number)
        texts = {"ann": assignment.template, "bob": "def broken(:\n"}
        for name, text in texts.items():
            (in_tmp / f"hw{number}" / name).mkdir(parents=True)
            (in_tmp / f"hw{number}" / name / assignment.file).write_text(text)
    assert grade(1) == UNREADABLE
    said = capsys.readouterr().err
    assert "unreadable, no check ran (look at the reports): bob" in said
    assert "term.csv and term.html in fall have all assignments of the term" in said
    assert grade(1, "--zero-unreadable") == 0
    Path("asked.csv").write_text("student,check,request\nann,ranges,I tried\n")
    assert grade(2, "--requests", "asked.csv") == UNREADABLE
    assert "regrade requests to decide: 1; see fall/assignment2/requests.csv" in capsys.readouterr().err
    Path("adjust.csv").write_text("student,check,points,reason\nbob,,40,a talk\nann,,50,a talk\n")
    assert grade(2, "--adjust", "adjust.csv") == 0
    Path("adjust.csv").unlink()
    assert grade(2) == 0  # both are kept
    assert "regrade requests to decide" not in capsys.readouterr().err
    with Path("fall/term.csv").open(encoding="utf-8-sig") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert [rows["ann"][name] for name in ("assignment1", "assignment2", "late days used")] == ["0", "50", "1"]
    assert rows["bob"]["assignment1"] == "0 (unreadable)"
    assert rows["bob"]["assignment2"] == "40"
    assert rows["cem"]["assignment2"] == "0 (missing)"


@pytest.mark.usefixtures("engine", "one_judge_process")
@pytest.mark.parametrize(("names", "code"), [("ann", UNREADABLE), ("bob", UNCERTAIN + 1)])
def test_an_unreadable_hand_in_of_nobody_matches_no_student(in_tmp: Path, names: str, code: int) -> None:
    (in_tmp / "ann.py").write_text("def broken(:\n")
    Path("roster.csv").write_text(f"student\n{names}\n")
    command = ["grade", "ann.py", "--assignment", "1", "--roster", "roster.csv", "--key", KEY, "--weak-walls"]
    assert main(command) == code


@pytest.mark.usefixtures("engine", "one_judge_process")
def test_all_assignments_of_a_term_have_one_key(in_tmp: Path) -> None:
    for number in (1, 2):
        (in_tmp / f"ann{number}.py").write_text("def broken(:\n")
        command = ["grade", f"ann{number}.py", "--assignment", str(number), "--term", "fall", "--weak-walls"]
        assert main(command) == UNREADABLE
    assert [path.name for path in sorted(in_tmp.rglob("*.key"))] == ["pacelab-grading.key"]
    assert (in_tmp / "fall" / "pacelab-grading.key").is_file()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--adjust", "bad.csv"], "corrections 'bad.csv', line 2: points must be a number of at least 0, not 'x'"),
        (["--adjust", "who.csv"], "corrections 'who.csv', line 2: no hand-in is called 'zoe'"),
        (["--adjust", "none.csv"], "corrections 'none.csv' cannot be read"),
        (["--requests", "bad.csv"], "requests 'bad.csv' has the columns student, points, reason; give student, check"),
        (["--roster", "latin.csv"], "roster 'latin.csv', line 2: not UTF-8; save it as CSV UTF-8"),
        (["--roster", "open.csv"], "roster 'open.csv', line 3: unexpected end of data; shorten the cell, or close its"),
        (["--roster", "open2.csv"], "roster 'open2.csv', line 2: more cells than the header"),
        (["--free-late-days", "2"], "--free-late-days needs --term DIR, --due TIME and --roster CSV"),
        (["--term", "t", "--out", "o"], "--out o cannot be used with --term t; omit --out"),
        (["--maximum", "0"], "--maximum must be a finite number above 0, not 0"),
    ],
)
def test_a_corrupt_table_stops_the_run_before_the_first_grade(
    in_tmp: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, more: list[str], says: str
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("a hand-in was graded")

    monkeypatch.setattr("pacelab_grading.grade.judged.grade_all", never)
    Path("bad.csv").write_text("student,points,reason\nann,x,y\n")
    Path("who.csv").write_text("student,points,reason\nzoe,1,y\n")
    Path("latin.csv").write_bytes("student\nZoë\n".encode("latin-1"))
    Path("open.csv").write_text('student,id\nann,1\n"zoe,2\nbob,3\n')
    Path("open2.csv").write_text("student,id\nSmith, Jane,2\n")
    Path("ann.py").write_text(find_assignment(1).template)
    assert main(["grade", "ann.py", "--assignment", "1", "--key", KEY, "--weak-walls", *more]) == 2
    assert says in capsys.readouterr().err
    assert not Path("grades").exists()
