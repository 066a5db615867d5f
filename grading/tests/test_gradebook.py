"""Many submissions: the batch and its gradebook."""

from __future__ import annotations

import csv
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pacelab import ConfigError, HostError
from pacelab.running import workers
from pacelab_grading.assignments import find_assignment
from pacelab_grading.commands import grade as grade_command
from pacelab_grading.grade.batch import grade_all, other_assignments
from pacelab_grading.grade.messages import print_notes
from pacelab_grading.judging.process import BatchSettings, JudgeProcess
from pacelab_grading.receive.submission import Submission
from pacelab_grading.records.adjust import Adjustment, adjusted, checked, read_adjustments
from pacelab_grading.records.gradebook import (
    FROM_EARLIER_RUN,
    Row,
    as_returned,
    csv_file,
    graded_before,
    lateness,
    mark_earlier_grades,
    missing_now,
    to_csv,
    unmatched_rows,
)
from pacelab_grading.records.gradebook import (
    gradebook as made_gradebook,
)
from pacelab_grading.records.gradescope import results
from pacelab_grading.records.lms_export import Wanted, build_files, files_of_earlier_runs, write_files
from pacelab_grading.records.lms_tables import Export, canvas_csv, maximum
from pacelab_grading.records.report import file_stem, html_report, text_report
from pacelab_grading.records.roster import LateRule, Student, claimed_by, parse_time, read_roster
from pacelab_grading.records.summary import summary
from pacelab_grading.rubric.verdict import NOT_GRADED, Result, Verdict, from_json, to_json
from pacelab_grading.sandbox.box import Walls
from pacelab_grading.text.printable import casefolded

Judge = Callable[..., Verdict]
TEMPLATE = find_assignment(2).template
MANY = [Submission(student=f"s{number}", source=f"return {number}\n") for number in range(3)]
"""The sources are not Python, which takes the least time."""
SETTINGS = BatchSettings(assignment=2, weak_walls=True)


@pytest.mark.thorough
def test_the_same_submission_gets_the_same_verdict_in_any_sandbox(grade: Judge, best: Walls) -> None:
    from pacelab_grading.sandbox.box import walls

    source = (find_assignment(2).path / "model.py").read_text(encoding="utf-8").replace("8e9", "1e9")
    documents = [
        to_json(grade(source, around, number=2)) for around in (best, best, walls(weak=True, bubblewrap=False))
    ]
    assert documents[0] == documents[1]
    assert documents[0]["results"] == documents[2]["results"]


def gradebook(
    verdicts: Sequence[Verdict], submissions: Sequence[Submission], students: Sequence[Student], rule: LateRule
) -> list[Row]:
    number = verdicts[0].assignment if verdicts else 3
    return made_gradebook(verdicts, submissions, students, rule=rule, assignment=find_assignment(number))


def test_another_key_draws_other_parameters(grade: Judge, best: Walls) -> None:
    source = TEMPLATE.replace("raise NotImplementedError", "return 600_000", 3)
    steps = [grade(source, best, number=2, only=("bound",), key=key).results[0].steps[-1] for key in ("a", "b", "b")]
    assert steps[0] == steps[1] == steps[2]  # a public check
    source = "def four_hop_delay_ns(*_): return 0\n"
    hidden = [grade(source, best, only=("short-path",), key=key).results[0].steps[-1] for key in ("a", "b", "b")]
    assert hidden[0] != hidden[1] == hidden[2]


@pytest.mark.usefixtures("engine")
def test_a_stopped_batch_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graded: list[str] = []
    original = JudgeProcess.judge

    def counting(self: JudgeProcess, submission: Submission, settings: BatchSettings) -> Verdict:
        graded.append(submission.student)
        return original(self, submission, settings)

    def stop(done: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(JudgeProcess, "judge", counting)
    with pytest.raises(KeyboardInterrupt):
        grade_all(MANY, SETTINGS, store=tmp_path, jobs=1, on_done=stop)
    assert graded[:2] == ["s0", "s1"]  # the third may have begun
    graded[2:] = []
    verdicts = grade_all(MANY, SETTINGS, store=tmp_path, jobs=1)
    assert graded == ["s0", "s1", "s2"]
    assert [verdict.student for verdict in verdicts] == ["s0", "s1", "s2"]

    def counting_only(_process: JudgeProcess, submission: Submission, _settings: BatchSettings) -> Verdict:
        graded.append(submission.student)
        return verdicts[0]

    monkeypatch.setattr(JudgeProcess, "judge", counting_only)
    for path in tmp_path.iterdir():
        path.write_text("{")  # as a full disk would leave it without the rename
    grade_all(MANY, SETTINGS, store=tmp_path, jobs=1)
    assert len(graded) == 6
    monkeypatch.setattr(
        "pacelab_grading.grade.batch.PACKAGE", tmp_path
    )  # rubrics of another text, and the same version
    grade_all(MANY, SETTINGS, store=tmp_path, jobs=1)
    assert len(graded) == 9


def test_a_missing_scheduler_is_a_host_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "CONNECT_S", 0.3)
    with pytest.raises(HostError, match="--scheduler"):
        grade_all(MANY, SETTINGS, store=tmp_path, scheduler="tcp://127.0.0.1:9")


def test_file_names_contain_no_path_and_are_unique() -> None:
    names = ["ann", "Ann", "zoë", "zoe\u0308", "../../etc/passwd", "a/b", "a_b", "", "Zoë Öz", "x" * 300]
    made = [file_stem(name) for name in names]
    assert len(set(map(casefolded, made))) == len(names)  # also on file systems that ignore case
    assert not any("/" in name or ".." in name or len(name) > 80 for name in made)


def verdict(student: str, points: float, status: str = "graded") -> Verdict:
    result = Result(
        id="a", title="t", points=100, earned=points, status="partial", expected="<b>", got="&", steps=("x",)
    )
    return Verdict(
        student=student,
        assignment=3,
        version=1,
        title="T",
        points=points,
        total=100,
        status=status,
        results=(result,),
        problems=("fix <this>",),
    )


def rows(verdicts: list[Verdict], students: list[Student], rule: LateRule | None = None) -> list[tuple[object, ...]]:
    submissions = [Submission(student=item.student, source="") for item in verdicts]
    made = gradebook(verdicts, submissions, students, rule or LateRule())
    return [(row.student, row.score, row.status, row.late_days) for row in made]


def test_a_pair_shares_its_better_submission() -> None:
    students = [Student(student=name, group="g1") for name in ("Ann A", "Bob B")] + [Student(student="Cem C")]
    found = rows([verdict("Bob B", 70), verdict("Ann A", 50)], students)
    assert found == [("Ann A", 70, "graded", None), ("Bob B", 70, "graded", None), ("Cem C", 0.0, "missing", None)]


def test_spelling_of_a_pairs_name_is_normalized() -> None:
    named = ["A, B", "a,b", " A ,  B", "ab", "team 1 1", "team 11"]
    students = [Student(student=f"s{place}", group=group) for place, group in enumerate(named)]
    found = rows([verdict("s0", 70)], students)
    assert [score for _, score, _, _ in found] == [70, 70, 70, 0, 0, 0]
    assert len({student.pair for student in students}) == 4


def test_two_columns_with_the_same_title_are_refused(tmp_path: Path) -> None:
    place = tmp_path / "roster.csv"
    place.write_text("student,Quiz,Student ,Quiz\nAnn,1,x,2\n")
    with pytest.raises(ConfigError, match="has 2 columns named 'student'; rename all but one of them"):
        read_roster(place)
    place.write_text("student,Quiz,,quiz,\nAnn,1,,2,\n")
    assert read_roster(place) == [Student(student="Ann")]


@pytest.mark.parametrize(
    ("submitted", "extension", "days", "score"),
    [
        ("2026-11-01T23:59", 0, 0, 80),
        ("2026-11-02T00:03", 0, 0, 80),  # clocks may differ by minutes
        ("2026-11-02T00:10", 0, 1, 70),
        ("2026-11-03T12:00", 0, 2, 60),
        ("2026-11-03T12:00", 2, 0, 80),
        ("2026-11-05T12:00", 0, 4, 0),  # more than the allowed late days
    ],
)
def test_each_late_day_costs_a_part(submitted: str, extension: float, days: int, score: float) -> None:
    rule = LateRule(due=parse_time("2026-11-01T23:59"), percent_per_day=10, most_days=3)
    students = [Student(student="Ann", submitted=submitted, extension_days=extension)]
    assert rows([verdict("Ann", 80)], students, rule) == [("Ann", score, "graded", days)]


DUE = LateRule(due=parse_time("2026-11-01T23:59"), percent_per_day=10, most_days=3)
EARLY, LATE = "2026-11-01T12:00", "2026-11-03T12:00"


def pair(*submitted: str) -> list[Student]:
    return [
        Student(student=name, group="g", submitted=told) for name, told in zip(("Ann", "Bob"), submitted, strict=True)
    ]


def test_partners_have_their_own_numbers_and_a_remark() -> None:
    """The platform writes the name in another form."""
    students = [
        Student(student=name, group=group, ids=(("moodle", id),))
        for name, group, id in (("Ann Lee", "p", "21"), ("Bo", "p", "22"), ("Ann Lee", "", "23"))
    ]
    made = Submission(student="Team 1-Ann Lee", source="", platform="moodle", identity="21")
    found = gradebook([verdict(made.student, 90)], [made], students, LateRule())
    assert [(row.id, row.remarks) for row in found] == [
        ("21", "fix <this>"),
        ("22", "handed in by Team 1-Ann Lee; fix <this>"),
        ("23", "nothing handed in"),
    ]


def test_a_pair_is_as_late_as_its_submission() -> None:
    both = [("Ann", 70, "graded", 2), ("Bob", 70, "graded", 2)]
    assert rows([verdict("Ann", 90)], pair(LATE, ""), DUE) == both
    assert rows([verdict("Ann", 90)], pair("", LATE), DUE) == both  # a partner without a hand-in has the pair's time
    assert rows([verdict("Ann", 90)], pair(LATE, EARLY), DUE) == both


def test_a_pair_gets_the_submission_worth_more_after_the_penalty() -> None:
    both = [("Ann", 80, "graded", 0), ("Bob", 80, "graded", 0)]
    assert rows([verdict("Ann", 80), verdict("Bob", 90)], pair(EARLY, LATE), DUE) == both
    extended = [Student(student="Ann", group="g", submitted=LATE), Student(student="Bob", group="g", extension_days=2)]
    assert [row[1] for row in rows([verdict("Ann", 90)], extended, DUE)] == [70, 90]  # an extension is for one student


def test_report_and_remarks_show_the_late_penalty() -> None:
    made, handed = [verdict("Ann", 90)], Submission(student="Ann", source="")
    for extension, told in ((0, ["Ann", "Bob"]), (2, ["Ann"])):
        people = [Student(student="Ann", group="g", submitted=LATE)]
        people += [Student(student="Bob", group="g", extension_days=extension)]
        found = gradebook(made, [handed], people, DUE)
        assert lateness(found, handed) == [f"{name}: late (started days: 2): 20 points off, score 70" for name in told]
        assert found[0].remarks == "late (started days: 2): 20 points off; fix <this>"
    assert lateness(gradebook(made, [handed], people[:1], DUE), handed) == [
        "late (started days: 2): 20 points off, score 70"
    ]


def test_a_report_has_the_names_of_the_roster() -> None:
    """Canvas's file names have no spaces, accents or commas."""
    people = [
        Student(student=name, group="g", ids=(("canvas", f"{n}"),)) for n, name in ((7, "Öz, Zoë"), (8, "Ray, Bo"))
    ]
    handed = Submission(student="ozzoe", name="ozzoe", source="", platform="canvas", identity="7")
    of_pair = as_returned(verdict("ozzoe", 90), gradebook([verdict("ozzoe", 90)], [handed], people, DUE), handed)
    assert "Öz, Zoë; Ray, Bo: 90 of 100 points" in text_report(of_pair)
    unmatched = gradebook([verdict("ozzoe", 90)], [replace(handed, identity="9")], people, DUE)
    assert as_returned(verdict("ozzoe", 90), unmatched, handed).student == "ozzoe"


@pytest.fixture
def eight_hours_behind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The local time of this machine."""
    monkeypatch.setenv("TZ", "XYZ+8")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("due", "submitted", "days"),
    [
        ("2026-11-01T23:59-08:00", "2026-11-02T05:00:00+00:00", 0),
        ("2026-11-01T23:59-08:00", "2026-11-02T05:00:00Z", 0),
        ("2026-11-01T23:59-08:00", "2026-11-02T08:10Z", 1),
        ("2026-11-01T23:59-08:00", "2026-11-01 23:59:00 -0800", 0),
        ("2026-11-01T23:59-08:00", "2026-11-02 00:10:00 -0800", 1),
        ("2026-11-01T23:59-08:00", "2026-11-01T23:10-09:00", 1),
        ("2026-11-01T23:59-08:00", "2026-11-02T21:59+14:00", 0),
        ("2026-11-01T23:59", "2026-11-02T05:00Z", 0),  # here it is 21:00
        ("2026-11-01T23:59", "2026-11-02T08:10Z", 1),
        ("2026-11-02T07:59Z", "2026-11-01T23:59", 0),
        ("2026-11-02T07:59Z", "2026-11-02T00:10", 1),
    ],
)
@pytest.mark.usefixtures("eight_hours_behind")
def test_offsets_count(due: str, submitted: str, days: int) -> None:
    assert LateRule(due=parse_time(due)).days(submitted) == days


@pytest.mark.parametrize(
    ("due", "submitted", "extension_days", "days"),
    [
        ("2026-10-31T23:59", "2026-11-01T23:30-08:00", 0, 1),  # the day has 25 hours
        ("2026-10-31T23:59", "2026-11-02T00:10-08:00", 0, 2),
        ("2026-10-31T23:59", "2026-11-07T23:59-08:00", 7, 0),
        ("2026-10-31T23:59", "2026-11-08T00:10-08:00", 7, 1),
        ("2027-03-13T23:59", "2027-03-14T23:59-07:00", 0, 1),  # the day has 23 hours
        ("2027-03-13T23:59", "2027-03-15T00:10-07:00", 0, 2),
    ],
)
def test_a_day_on_which_clocks_change_is_one_day(
    due: str,
    submitted: str,
    extension_days: float,
    days: int,
    eight_hours_behind: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "PST8PDT,M3.2.0,M11.1.0")
    time.tzset()
    assert LateRule(due=parse_time(due)).days(submitted, extension_days) == days


@pytest.mark.usefixtures("eight_hours_behind")
def test_an_impossible_time_is_refused() -> None:
    with pytest.raises(ConfigError, match="give both an offset"):
        LateRule(due=parse_time("2026-11-01T23:59Z")).days("9999-12-31T23:59")


def test_unmatched_hand_ins_and_reruns_are_marked() -> None:
    submissions = [Submission(student="who", source="", late=True)]
    (known, stranger) = gradebook([verdict("who", 5, "rerun")], submissions, [Student(student="Ann")], LateRule())
    assert known.status == "missing"
    assert stranger.status == "rerun"
    assert "not in the roster" in stranger.remarks
    assert "late, but the time is unknown" in stranger.remarks


def test_unmatched_hand_ins_have_a_reason() -> None:
    students = [Student(student=name, id=number) for name, number in (("Jo Smith", "1"), ("Jo Smith", "2"), ("X", "2"))]
    found = gradebook(
        [verdict(name, 5) for name in ("Jo Smith", "2", "Lee", "1")],
        [Submission(student=name, source="") for name in ("Jo Smith", "2", "Lee", "1")],
        students,
        LateRule(),
    )
    assert [row.status for row in found] == ["graded", "missing", "missing", "graded", "graded", "graded"]
    assert unmatched_rows(found) == found[3:]
    said = [row.remarks.partition(":")[0] for row in found[3:]]
    assert said == ["its name matches 2 students", "its id matches 2 students", "not in the roster; fix <this>"]


def test_both_partners_get_two_hand_ins_of_one() -> None:
    found = rows([verdict("Ann", 90), verdict("Ann", 80)], pair("", ""))
    assert [row[2] for row in found] == ["duplicate", "duplicate"]


@pytest.mark.parametrize(
    ("name", "identity"), [("Jane Smith", ""), ("smithjane", ""), ("janesmith", ""), ("x", "77"), ("jsmith", "")]
)
def test_names_are_matched_as_platforms_write_them(name: str, identity: str) -> None:
    students = [Student(student="John Doe", id="76"), Student(student="Jane Smith", id="77")]
    found = claimed_by(Submission(student=name, source="", identity=identity), students)
    assert found == ([] if name == "jsmith" else [1])


def test_roster_headers_and_errors(tmp_path: Path) -> None:
    place = tmp_path / "roster.csv"
    place.write_text("Name,SIS User ID,Team,extension\nAnn,1,g,2\n,,,\n", "utf-8")
    assert read_roster(place) == [Student(student="Ann", id="1", group="g", extension_days=2, ids=(("sis", "1"),))]
    place.write_text("a,b\n1,2\n")
    with pytest.raises(ConfigError, match=r"no column `student` .* set the platform to English"):
        read_roster(place)
    for days in ("x", "nan", "inf", "-inf", "1e308"):
        place.write_text(f"student,extension\nAnn,{days}\n")
        with pytest.raises(ConfigError, match="line 2: extension_days"):
            read_roster(place)
    times = (
        "2026-11-01",
        "2026-02-30T10:00",
        "11/01/2026 11:58 PM",
        "46327.99",
        "2026-11-01T24:00",
        "2026-11-01T23:58 CET",
    )
    for time_ in times:
        place.write_text(f"student,submitted\nAnn,\nBob,{time_}\n")
        with pytest.raises(ConfigError, match=f"line 3: submitted: '{time_}' is not a valid time; give ISO 8601"):
            read_roster(place)
    place.write_text("student,id\nAnn,1\nann,1\nBob,1\n")
    with pytest.raises(ConfigError, match="line 4: Bob has the id '1' of Ann; give each student another id"):
        read_roster(place)
    place.write_text("student;extension\nAnn;1,5\n")
    assert read_roster(place)[0].extension_days == 1.5
    place.write_text(f"student,id\nAnn,1\nBob,{'x' * 200_000}\n")
    with pytest.raises(ConfigError, match=r"line 3: field larger .* shorten the cell"):
        read_roster(place)
    place.write_text('student,id\n"Ann,1\nBob,2\n')
    with pytest.raises(ConfigError, match=r"unexpected end of data; .* close its quotes"):
        read_roster(place)
    place.write_text("student\nAnn\nJörg\n", "latin-1")
    with pytest.raises(ConfigError, match=r"roster.csv', line 3: not UTF-8; save it as CSV UTF-8"):
        read_roster(place)
    with pytest.raises(ConfigError, match="ISO 8601"):
        parse_time("yesterday")


@pytest.mark.parametrize("text", ["2026-11-01", " 20261101 ", "2026-W44-7"])
def test_a_day_without_a_time_is_refused(text: str) -> None:
    """Its first minute would be a day earlier than --due means, and earlier than hand-ins of that day."""
    with pytest.raises(ConfigError, match="with the time of day"):
        parse_time(text)
    assert parse_time("2026W447T23").hour == 23


def test_a_roster_may_begin_with_empty_lines_or_excels_separator(tmp_path: Path) -> None:
    place = tmp_path / "roster.csv"
    place.write_text("\nsep=;\r\nstudent;id\r\nAnn;1\r\n", "utf-8")
    assert read_roster(place) == [Student(student="Ann", id="1")]


def test_a_student_in_two_sections_counts_once(tmp_path: Path) -> None:
    place = tmp_path / "roster.csv"
    place.write_text("student,id,section\nAnn,1,A\nAnn,1,B\nAnn,2,B\n", "utf-8")
    assert [(student.id, student.line) for student in read_roster(place)] == [("1", 0), ("2", 2)]
    place.write_text("Identifier,Full name\nParticipant 3,Ann\nParticipant 3,Ann\nParticipant 4,Ann\n")
    # An upload identifies students by the number of the line.
    assert [student.line for student in read_roster(place)] == [0, 2]


def test_a_hand_in_with_a_groups_name_is_the_groups() -> None:
    students = [
        Student(student=name, id=name[0], group=group) for name, group in (("Ann", ""), ("Bob", "P 1"), ("Cy", "P 1"))
    ]
    assert [claimed_by(Submission(student=name, source=""), students) for name in ("p_1", "P 2", "Ann")] == [
        [1],
        [],
        [0],
    ]


def canvas(header: list[str], ours: list[tuple[list[str], Row]], folder: Path) -> str:
    """Canvas's import file, for an export with these lines and the assignment's number 1."""
    with (folder / "export.csv").open("w", newline="") as file:
        csv.writer(file).writerows([header, *(line for line, _ in ours)])
    export = Export(folder / "export.csv")
    column = export.column("Assignment 1", "")
    assert column is not None
    return canvas_csv(export, [pair for pair in ours if pair[0][1]], column, maximum(column, None))


def test_a_student_excused_in_canvas_stays_excused(tmp_path: Path) -> None:
    header = ["Student", "ID", "Section", "Assignment 1 (5)"]
    values = {"student": "Ann", "id": "1", "group": "", "points": 0.0, "late_days": None, "deduction": 0.0}
    row = Row(**values, score=0.0, of=100, status="missing", version=None, remarks="", free_days=0)
    made = canvas(header, [(["Ann", "1", "A", mark], row) for mark in ("EX", "50", "")], tmp_path)
    assert [line.rpartition(",")[2] for line in made.splitlines()[2:]] == ["EX", "0.00", "0.00"]


@pytest.mark.parametrize(
    ("titles", "possible", "made"),
    [
        (["Assignment 1 (5)"], ["10"], ["Assignment 1 (5)", "10", "7.75"]),
        (["Assignment 1 (5)"], ["12,50"], ["Assignment 1 (5)", "12.5", "9.69"]),
        (["Assignment 1 (5)"], ["1.000,00"], ["Assignment 1 (5)", "1000", "775.00"]),
        (["Assignment 1 (5)"], ["0"], ["Assignment 1 (5)", "100", "77.50"]),
        (["Assignment 1 (retake) (4)", "Assignment 1 (5)"], ["1", "100"], ["Assignment 1 (5)", "100", "77.50"]),
        (["Assignment 1 (retake) (4)"], ["1"], ["Assignment 1", "100", "77.50"]),
    ],
)
def test_a_score_is_out_of_the_points_that_canvas_has_in_that_column(
    titles: list[str], possible: list[str], made: list[str], tmp_path: Path
) -> None:
    (row,) = gradebook([verdict("Ann", 77.5)], [Submission(student="Ann", source="")], [], LateRule())
    line = ["Ann", "1", "A", *[""] * len(titles)]
    points = ["    Points Possible", "", "", *possible]
    text = canvas(["Student", "ID", "Section", *titles], [(points, row), (line, row)], tmp_path)
    assert [cells[3] for cells in csv.reader(text.splitlines())] == made


def test_an_unchanged_template_gets_a_remark() -> None:
    handed_out = find_assignment(1).template
    worked_in = handed_out.replace("raise NotImplementedError", "return True", 2)  # the first is in its docstring
    made = [Submission(student="Ann", source=text) for text in (handed_out, worked_in, "def other(): ...", None)]
    rows = gradebook([replace(verdict("Ann", 0.0), assignment=1, problems=())] * 4, made, [], LateRule())
    assert [row.remarks for row in rows] == ["unchanged: the file is the template as it was handed out", "", "", ""]


def test_files_of_an_earlier_run_are_named(tmp_path: Path) -> None:
    old = ["gradescope/submission_1/results.json", "reports/ann.html"]
    write_files(tmp_path, dict.fromkeys(("canvas.csv", "reports/bob.html", *old), b""))
    assert files_of_earlier_runs(tmp_path, {"canvas.csv", "reports/bob.html"}) == old


def test_a_student_graded_by_an_earlier_run_gets_no_zero(tmp_path: Path) -> None:
    lines = ["Student,ID,Section"] + [f"{name},{number},1" for number, name in enumerate(("Ann", "Bob", "Cem"), 1)]
    (tmp_path / "roster.csv").write_text("\n".join(lines))
    students = read_roster(tmp_path / "roster.csv")
    told = []
    for present in (("Ann", "Bob"), ("Ann",), ("Ann",)):
        verdicts = [verdict(name, 90) for name in present]
        submissions = [Submission(student=name, source="") for name in present]
        before = graded_before(tmp_path / "gradebook.csv")
        made = mark_earlier_grades(gradebook(verdicts, submissions, students, LateRule()), before)
        (tmp_path / "gradebook.csv").write_bytes(csv_file(made))
        home = build_files(
            tmp_path / "roster.csv", students, made, submissions, verdicts, Wanted(column="A", hidden="hidden")
        )
        sent = [line.split(",")[0] for line in home["canvas.csv"].decode().splitlines()[2:]]
        told.append((sent, made[1].remarks, made[2].remarks))
    assert told[0] == (["Ann", "Bob", "Cem"], "fix <this>", "nothing handed in")
    assert told[1] == told[2] == (["Ann", "Cem"], FROM_EARLIER_RUN, "nothing handed in")


def test_earlier_grades_are_found_by_number_after_a_change_of_name(tmp_path: Path) -> None:
    def made(name: str, handed_in: bool) -> list[Row]:
        (tmp_path / "roster.csv").write_text(f"student,id\n{name},7\nDora,\n")
        found = [Submission(student=name, source="")] if handed_in else []
        verdicts = [verdict(name, 90)] if handed_in else []
        return gradebook(verdicts, found, read_roster(tmp_path / "roster.csv"), LateRule())

    (tmp_path / "gradebook.csv").write_bytes(csv_file(made("Ann Ash", handed_in=True)))
    later = mark_earlier_grades(made("Ann Oak", handed_in=False), graded_before(tmp_path / "gradebook.csv"))
    assert [row.remarks for row in later] == [FROM_EARLIER_RUN, "nothing handed in"]


def test_without_a_roster_students_of_an_earlier_run_are_named(tmp_path: Path) -> None:
    def made(*names: str) -> list[Row]:
        verdicts = [verdict(name, 90) for name in names]
        return gradebook(verdicts, [Submission(student=name, source="") for name in names], [], LateRule())

    (tmp_path / "gradebook.csv").write_bytes(csv_file(made("Ann", "=Bob", "Cem")))
    before = graded_before(tmp_path / "gradebook.csv")
    assert missing_now(made("=Bob", "Dora"), before) == ["Ann", "Cem"]
    assert missing_now(made("Ann", "=Bob", "Cem"), before) == []


@pytest.mark.usefixtures("engine", "one_judge_process")
def test_a_run_without_the_earlier_due_time_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ann.py").touch()
    (tmp_path / "roster.csv").write_text("student,submitted\nann,2026-11-03T10:00\n")
    asked = {"submissions": [tmp_path / "ann.py"], "assignment": "1", "roster": tmp_path / "roster.csv"}
    for due, told in ((None, False), ("2026-11-01T23:59", False), (None, True), (None, False)):
        grade_command(**asked, out=tmp_path / "out", due=due, weak_walls=True, zero_unreadable=True)
        assert ("repeat --due TIME" in capsys.readouterr().err) is told


@pytest.mark.usefixtures("engine", "one_judge_process")
def test_reports_of_students_who_are_not_named_now_are_not_to_be_deleted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ann", "bob"):
        (tmp_path / f"{name}.py").touch()
    told = []
    for names in (("ann", "bob"), ("ann",)):
        places = [tmp_path / f"{name}.py" for name in names]
        grade_command(submissions=places, assignment="1", out=tmp_path / "out", weak_walls=True, zero_unreadable=True)
        (line,) = [line for line in capsys.readouterr().err.splitlines() if "not of this run" in line] or [""]
        told.append(line.partition("reports/bob.html, reports/bob.txt; ")[2])
    assert told == ["", "repeat the command with all hand-ins, and if it still names these files, delete them"]


def test_a_rubric_with_another_sum_is_refused() -> None:
    first = find_assignment(1)
    with pytest.raises(ConfigError, match="assignment 1, version 1: its checks have 92 points"):
        replace(first, checks=first.checks[1:])


def test_a_name_with_an_unquoted_comma_is_refused(tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text("student,id\nBob,1,\nSmith, Jane,2\n")
    with pytest.raises(ConfigError, match=r"line 3: more cells than the header; put quotes"):
        read_roster(tmp_path / "roster.csv")


def test_grades_of_another_assignment_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "verdicts").mkdir()
    (tmp_path / "verdicts" / "a.json").write_text(json.dumps(to_json(replace(verdict("Ann", 90), assignment=2))))
    (tmp_path / "verdicts" / "b.json").write_text("{")
    (tmp_path / "ann.py").touch()
    with pytest.raises(ConfigError, match="contains the grades of assignment 2; give another folder"):
        grade_command(submissions=[tmp_path / "ann.py"], assignment="1", out=tmp_path)
    assert other_assignments(tmp_path / "verdicts", 2) == []


def test_hand_ins_without_a_time_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = [verdict(name, 90) for name in ("Ann", "Bob", "Cem")]
    students = [Student(student="Ann", submitted="2026-11-01T12:00"), Student(student="Bob", submitted="1.11.")]
    students += [Student(student=name) for name in ("Cem", "Dora")]
    submissions = [Submission(student=item.student, source="") for item in verdicts]
    for due, told in (("2026-11-01T23:59", True), (None, False)):
        rule = LateRule(due=None if due is None else parse_time(due))
        print_notes(gradebook(verdicts, submissions, students, rule), verdicts, Path("grades"), due=due is not None)
        assert ("no late penalty for 2 hand-ins without a known time" in capsys.readouterr().err) == told


def test_ungraded_hand_ins_are_named_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    lost = replace(verdict("Ann", 0).results[0], status=NOT_GRADED, got="no room in /tmp: not graded")
    again = replace(lost, got=f"as above: {lost.got}")
    verdicts = [replace(verdict(name, 0, "rerun"), results=(lost, again)) for name in ("Ann", "Bob")]
    submissions = [Submission(student=item.student, source="") for item in verdicts]
    print_notes(gradebook(verdicts, submissions, [], LateRule()), verdicts, Path("grades"), due=False)
    said = capsys.readouterr().err.splitlines()
    assert said[0].endswith("--patience 4): Ann; Bob")
    assert said[1:-1] == ["pacelab:   because no room in /tmp: not graded"]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_roster_may_come_from_any_spreadsheet(tmp_path: Path, separator: str) -> None:
    lines = [["student", "id", "extension_days"], ["Lee, Ann" if separator == ";" else "Ann Lee", "7", "1"]]
    (tmp_path / "r.csv").write_text("\r\n".join(map(separator.join, lines)))
    (student,) = read_roster(tmp_path / "r.csv")
    assert (student.student, student.id, student.extension_days) == (lines[1][0], "7", 1)


def test_no_cell_is_a_formula() -> None:
    submissions = [Submission(student="=HYPERLINK(1)", source="")]
    text = to_csv(gradebook([verdict("=HYPERLINK(1)", 5)], submissions, [], LateRule()))
    assert text.splitlines()[1].startswith("'=HYPERLINK(1),")


def test_the_summary_counts_certain_grades() -> None:
    verdicts = [verdict("Ann", 90), verdict("Bob", 10, "rerun"), verdict("Cem", 20), verdict("Cem", 30)]
    submissions = [Submission(student=item.student, source="") for item in verdicts]
    students = [Student(student=name) for name in ("Ann", "Bob", "Cem", "Dora")]
    page = summary(gradebook(verdicts, submissions, students, LateRule()), verdicts)
    assert "1 graded of 4; median 90, mean 90.0" in page


def test_ungraded_checks_are_no_zero_in_the_summary() -> None:
    verdicts = [verdict("Ann", 90), verdict("Bob", 0, "rerun")]
    unsure = replace(verdicts[1].results[0], status=NOT_GRADED)
    for graded, told in ((verdicts[:1], "90%"), ([], "")):
        page = summary([], [*graded, replace(verdicts[1], results=(unsure,))])
        assert f"<tr><td>t</td><td>{told}</td><td>0</td></tr>" in page


def test_reports_escape_what_students_wrote() -> None:
    made = verdict("<script>", 5)
    page = html_report(made) + summary(
        gradebook([made], [Submission(student="<script>", source="")], [], LateRule()), [made]
    )
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "fix &lt;this&gt;" in page


def test_each_link_of_a_report_has_a_section() -> None:
    made = verdict("Ann", 50)
    passed = replace(made.results[0], id="b", title="right", status="passed")
    page = html_report(replace(made, results=(*made.results, passed)))
    assert re.findall(r'href="#(\w+)"', page) == re.findall(r'<section id="(\w+)"', page) == ["a"]
    assert "<td>right</td>" in page


def test_a_verdict_survives_its_json() -> None:
    import json

    made = verdict("Ann", 5)
    assert from_json(json.dumps(to_json(made))) == made


def test_gradescope_shows_what_the_report_shows() -> None:
    made = verdict("Ann", 50)
    result = replace(made.results[0], got="", printed="hello\n", reference=("senses",), public=True)
    document = results(replace(made, results=(result,), received=("a.py: graded", "b.txt: left out")))
    output = document["tests"][0]["output"].splitlines()
    assert output[0].startswith("note: run with the model solution's senses")
    assert output[1:] == ["expected: <b>", "steps:", "  x", "printed:", "  hello"]
    assert document["output"].splitlines() == ["fix <this>", "received:", "  a.py: graded", "  b.txt: left out"]
    assert [line[6:] for line in text_report(replace(made, results=(result,))).splitlines()[7:13]] == output


def test_gradescope_shows_students_no_advice_about_the_machine() -> None:
    made = replace(verdict("Ann", 50), notes=("pacelab 1, assignment 3/1", "sandbox: limits", "start it with x"))
    assert results(made)["output"].splitlines() == ["fix <this>", "pacelab 1, assignment 3/1", "sandbox: limits"]


def test_hidden_checks_show_no_reasons() -> None:
    assert "<b>" in text_report(verdict("Ann", 5))
    assert "<b>" not in text_report(verdict("Ann", 5), hidden=False)


# Hand-ins that could not be read, and corrections.


def test_an_unreadable_hand_in_is_uncertain_and_first_in_the_summary(tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text("Student,ID,Section,A\nAnn,1,S,\nBob,2,S,\n")
    students = read_roster(tmp_path / "roster.csv")
    submissions = [Submission(student=name, name=name, source="x = 1") for name in ("Ann", "Bob")]
    verdicts = [replace(verdict("Ann", 0.0), unreadable=True), verdict("Bob", 80.0)]
    rows = gradebook(verdicts, submissions, students, LateRule())
    assert [row.status for row in rows] == ["unreadable", "graded"]
    page = summary(rows, verdicts)
    assert "Look at these first" in page
    assert page.index("unreadable") < page.index("Rubric")

    def canvas_students(*, zero_unreadable: bool) -> list[str]:
        files = build_files(
            tmp_path / "roster.csv",
            students,
            rows,
            submissions,
            verdicts,
            Wanted(column="A", hidden="hidden", zero_unreadable=zero_unreadable),
        )
        return [line.split(",")[0] for line in files["canvas.csv"].decode().splitlines()[2:]]

    assert canvas_students(zero_unreadable=False) == ["Bob"]
    assert canvas_students(zero_unreadable=True) == ["Ann", "Bob"]


def test_a_hand_in_that_cannot_be_read_is_no_zero_of_its_checks() -> None:
    verdicts = [verdict("Ann", 90), replace(verdict("Bob", 0), unreadable=True)]
    told = "Bob: 0 of 100 points; no check ran, because the hand-in could not be read or imported"
    assert told in text_report(verdicts[1])
    assert told in html_report(verdicts[1])
    assert "<tr><td>t</td><td>90%</td><td>0</td></tr>" in summary([], verdicts)


def test_a_file_that_cannot_be_imported_is_unreadable(grade: Judge, best: Walls) -> None:
    assert grade("raise ValueError", best, number=2, only=("bound",)).unreadable
    assert not grade(TEMPLATE, best, number=2, only=("bound",)).unreadable


@pytest.mark.parametrize("first", ["class Solution:", 'if __name__ == "__main__":'])
def test_a_file_that_defines_nothing_of_the_assignment_is_unreadable(grade: Judge, best: Walls, first: str) -> None:
    inside = f"{first}\n    def goodput_bound_bps(hops, payload_bytes, exchange_ns):\n        return 0\n"
    found = grade(inside, best, number=2, only=("bound",))
    assert (found.unreadable, found.results[0].status) == (True, "missing")
    assert "define each at the start of a line" in found.problems[-1]


def test_corrections_change_points_and_give_their_reason(tmp_path: Path) -> None:
    file = tmp_path / "adjust.csv"
    file.write_text("student,check,points,reason\nAnn,,90,talked to her\nBob,a,30,unclear text\n")
    ann, bob, cem = adjusted(
        [verdict("Ann", 5, "rerun"), verdict("Bob", 10), verdict("Cem", 1)], read_adjustments(file)
    )
    assert (ann.points, ann.status) == (90, "graded")
    assert ann.problems[0] == "adjusted by the instructor: 90 points, not 5: talked to her"
    assert (bob.points, bob.results[0].earned) == (30, 30)
    assert bob.problems[0] == "adjusted by the instructor: a 30 points, not 10: unclear text"
    assert cem == verdict("Cem", 1)


@pytest.mark.parametrize(
    "called",
    ["leeann", "Lee, Ann", "LEE, ANN", "s12", "12", "ann@x.org", "team 1", "13", "Ray, Bo", "Bo Ray", "ray,bo"],
)
def test_a_correction_names_the_student_in_any_known_way(called: str) -> None:
    """The correction applies to the hand-in, and therefore to both students of the pair."""
    students = [
        Student(student="Lee, Ann", group="team 1", ids=(("canvas", "12"), ("sis", "s12"), ("email", "ann@x.org"))),
        Student(student="Ray, Bo", group="team 1", ids=(("canvas", "13"),)),
        Student(student="Lee, Ann", ids=(("canvas", "14"),)),
    ]
    made = [Submission(student="leeann", name="leeann", source="", platform="canvas", identity="12")]
    found = [Adjustment(student=called, check="", points=80, reason="r", place="here")]
    (item,) = checked(found, made, students, find_assignment(3))
    rows = gradebook(adjusted([verdict("leeann", 10)], [item]), made, students, LateRule())
    assert [(row.score, row.status) for row in rows] == [(80, "graded"), (80, "graded"), (0, "missing")]
    assert all("adjusted by the instructor: 80 points, not 10: r" in row.remarks for row in rows[:2])


def test_a_correction_for_a_student_without_a_hand_in_is_refused() -> None:
    students = [Student(student="Ann"), Student(student="Ray, Bo", ids=(("email", "bo@x.org"),))]
    for called in ("ray, bo", "bo@x.org", "Bo Ray"):
        found = [Adjustment(student=called, check="", points=80, reason="r", place="here")]
        with pytest.raises(ConfigError, match=f"here: '{called}' has no hand-in; to give points, add a file"):
            checked(found, [Submission(student="Ann", source="")], students, find_assignment(3))


def test_a_correction_that_may_mean_two_hand_ins_is_refused() -> None:
    students = [Student(student="Ann Lee", ids=(("canvas", str(number)),)) for number in (12, 14)]
    made = [
        Submission(student=f"leeann ({number})", name="leeann", source="", platform="canvas", identity=str(number))
        for number in (12, 14)
    ]
    found = [Adjustment(student="Ann Lee", check="", points=80, reason="r", place="here")]
    with pytest.raises(ConfigError, match=r"here: 'Ann Lee' may mean 'leeann \(12\)', 'leeann \(14\)'; give one of"):
        checked(found, made, students, find_assignment(3))
    (item,) = checked([replace(found[0], student="14")], made, students, find_assignment(3))
    assert item.student == "leeann (14)"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("student,points\nAnn,1\n", "has the columns student, points"),
        ("student,points,reason\nAnn,x,y\n", "line 2: points must be a number of at least 0, not 'x'"),
        ("student,points,reason\nAnn,1,\n", "line 2: student and reason must not be empty"),
        (
            "student,points,reason\nAnn,1,y\nZoe,1,y\n",
            "line 3: no hand-in is called 'Zoe'; give a name of the gradebook .Ann.$",
        ),
        ("student,check,points,reason\nAnn,b,1,y\n", "line 2: Ann has no check 'b'; give one of reuse, bound"),
        ("student,check,points,reason\nAnn,bound,11,y\n", "line 2: points must be 0 to 10, not 11"),
        ("student,points,reason\nAnn,101,y\n", "line 2: points must be 0 to 100, not 101"),
        ("student,points,reason\nAnn,nan,y\n", "line 2: points must be a number of at least 0, not 'nan'"),
        ("student,points,reason\nAnn,-1,y\n", "line 2: points must be a number of at least 0, not '-1'; give the new"),
        ("student,points,reason\nAnn,+5,y\n", "not '[+]5'; give the new total, not a difference"),
        ("student,points,reason\nAnn,9_0,y\n", "line 2: points must be a number of at least 0, not '9_0'$"),
        ("PK\x03\x04[Content_Types].xml", "is not a CSV file; open it in a spreadsheet and save it as CSV UTF-8"),
        ("\n<html><table><tr><td>student</td></tr></table></html>", "is not a CSV file; open it in a spreadsheet"),
        ("student,points,reason\nAnn,1,y\n7,2,z\n", "line 3: 7 already has a correction in line 2"),
        ("student,check,points,reason\nAnn,,1,y\nAnn,bound,2,z\n", "line 3: Ann already has a correction in line 2"),
        ("student,check,points,reason\nAnn,bound,2,z\nAnn,,1,y\n", "line 3: Ann already has a correction in line 2"),
        ("student,points,reason\nAnn,1,talked, twice\n", "line 2: more cells than the header; put quotes"),
        ('student,points,reason\n"Ann,1,y\n', "line 2: unexpected end of data; shorten the cell, or close its quotes"),
        ("student,points,reason,Points\nAnn,1,y,2\n", "has 2 columns named 'points'"),
        (f"student,points,reason\nAnn,1,{'x' * 140_000}\n", "line 2: field larger than field limit"),
        ("", "has the columns none"),
    ],
)
def test_invalid_corrections_are_refused(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "adjust.csv").write_text(text)
    ann = Submission(student="Ann", source="")
    with pytest.raises(ConfigError, match=problem):
        checked(read_adjustments(tmp_path / "adjust.csv"), [ann], [Student(student="Ann", id="7")], find_assignment(2))


def test_output_of_a_hidden_check_is_not_shown() -> None:
    result = verdict("Ann", 5).results[0]
    for public, status, shown in ((False, "passed", False), (True, "passed", True), (False, "failed", False)):
        made = replace(
            verdict("Ann", 5), results=(replace(result, printed="SECRET 543", public=public, status=status),)
        )
        assert ("SECRET 543" in text_report(made)) is shown
        assert ("SECRET 543" in html_report(made)) is (shown and status != "passed")


def test_the_text_report_shows_the_last_steps_and_the_page_all() -> None:
    result = replace(verdict("Ann", 5).results[0], steps=tuple(f"step-{number}." for number in range(60)))
    made = replace(verdict("Ann", 5), results=(result,))
    assert "steps (the last 14 of 60):" in text_report(made)
    assert "step-45." not in text_report(made)
    assert "step-0." in html_report(made)
