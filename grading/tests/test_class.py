"""A class of thirty as an instructor grades it, with the exports of six platforms: `pacelab grade` from end to end.

Five students each hand in on Canvas, Moodle, Gradescope, Blackboard, Brightspace and Sakai. The exported files are
checked by the rules that each platform documents for its import.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pacelab.cli.main import main
from pacelab_grading.assignments import find_assignment
from pacelab_grading.assignments.a1_interference.wrong import WRONG
from pacelab_grading.judging.process import BatchSettings, JudgeProcess
from pacelab_grading.receive.submission import Submission
from pacelab_grading.rubric.verdict import Verdict

KEY = "0123456789abcdef" * 4
DUE = "2026-11-01T23:59:00"
UTC_PLATFORMS = ("gradescope", "sakai")
"""Their times have an offset. The others show local time."""
WITHOUT_TIMES = ("canvas", "moodle")
"""Moodle's worksheet has times that are read if it is in English."""
ASSIGNMENT = find_assignment(1)
MODEL = ASSIGNMENT.model
SLIP = WRONG[0].apply(MODEL)
NOTEBOOK = json.dumps({"nbformat": 4, "metadata": {}, "cells": [{"cell_type": "code", "source": MODEL}]})
FIRST = ("Ann", "Zoë", "José María", "Li", "Mary Jo")
LAST = {
    "canvas": "Smith",
    "moodle": "Öz",
    "gradescope": "O'Neil",
    "blackboard": "Nguyễn",
    "brightspace": "de la Cruz",
    "sakai": "Søren",
}
WORK = (MODEL, NOTEBOOK, SLIP, ASSIGNMENT.template, MODEL)
"""What the five hand in. The second is a notebook."""
LATER = (*WORK[:3], MODEL, MODEL)
"""What they have handed in after the fourth handed in again, ten hours late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Five students on one platform."""

    export: Path
    roster: Path


def file_of(index: int) -> str:
    return "interference.ipynb" if index == 1 else "interference.py"


def zipped(path: Path, files: Mapping[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def table(path: Path, lines: Sequence[Sequence[object]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(lines)
    return path


def canvas(folder: Path, work: Sequence[str] = WORK) -> Section:
    """The names are split in two columns, and the assignment has 20 points."""
    names = [re.sub(r"\W", "", f"{LAST['canvas']}{first}").lower() for first in FIRST]
    late = ["", "", "_LATE", "", ""] if work is WORK else ["", "", "_LATE", "_LATE", ""]
    files = {f"{names[n]}{late[n]}_{500 + n}_{9000 + n}_{file_of(n)}": work[n] for n in range(5)}
    head = ["LastName", "FirstName", "ID", "SIS User ID", "SIS Login ID", "Section"]
    lines = [[*head, "Essay (11)", "Assignment 1 (12)"], ["    Points Possible", "", "", "", "", "", "50", "20"]]
    lines += [["Smith", first, str(500 + n), f"s{n}", f"l{n}", "A", "", ""] for n, first in enumerate(FIRST)]
    lines += [["Student", "Test", "599", "", "", "A", "", ""]]
    return Section(export=zipped(folder / "submissions.zip", files), roster=table(folder / "canvas.csv", lines))


def moodle(folder: Path, work: Sequence[str] = WORK) -> Section:
    """A German Moodle, with folders as Moodle names them since version 4."""
    files = {f"{first} Öz_{300 + n}_assignsubmission_file/{file_of(n)}": work[n] for n, first in enumerate(FIRST)}
    lines = [
        [
            *("ID", "Vollständiger Name", "E-Mail-Adresse", "Status", "Bewertung", "Bestwertung"),
            *("Bewertung kann geändert werden", "Zuletzt geändert (Abgabe)", "Zuletzt geändert (Bewertung)"),
            "Feedback-Kommentar",
        ]
    ]
    lines += [
        [
            f"Teilnehmer/in {300 + n}",
            f"{first} Öz",
            f"m{n}@x.org",
            "Zur Bewertung abgegeben",
            "",
            "50,00",
            "Ja",
            "-",
            "-",
        ]
        for n, first in enumerate(FIRST)
    ]
    return Section(export=zipped(folder / "kurs.zip", files), roster=table(folder / "bewertung.csv", lines))


def gradescope(folder: Path, work: Sequence[str] = WORK) -> Section:
    """The fifth student handed in a day and an hour late."""
    top, metadata = "assignment_42_export", ""
    files = {}
    for n, first in enumerate(FIRST):
        files[f"{top}/submission_{800 + n}/{file_of(n)}"] = work[n]
        created = "2026-11-03 00:59:00.5 Z" if n == 4 else "2026-11-01 22:00:00.5 Z"
        created = "2026-11-02 09:59:00.5 Z" if n == 3 and work is LATER else created
        metadata += (
            f"submission_{800 + n}:\n  :submitters:\n  - :name: {first} O'Neil\n    :sid: '{60 + n}'\n"
            f"    :email: g{n}@x.org\n  :created_at: {created}\n"
        )
    lines: list[list[object]] = [["First Name", "Last Name", "SID", "Email", "Role"]]
    lines += [[first, "O'Neil", 60 + n, f"g{n}@x.org", "Student"] for n, first in enumerate(FIRST)]
    files[f"{top}/submission_metadata.yml"] = metadata
    return Section(export=zipped(folder / "export.zip", files), roster=table(folder / "roster.csv", lines))


def blackboard(folder: Path, work: Sequence[str] = WORK) -> Section:
    """The fifth student tried twice; the newest attempt counts."""
    start = "Assignment 1_user{}_attempt_2026-11-0{}-58-00"
    files = {f"{start.format(n, '1-23')}_{file_of(n)}": WORK[n] for n in range(5)}
    files |= {f"{start.format(n, '1-23')}.txt": f"Name: {first} (user{n})" for n, first in enumerate(FIRST)}
    files[f"{start.format(4, '1-21')}_interference.py"] = ASSIGNMENT.template
    files |= {f"{start.format(3, '2-09')}_interference.py": work[3]} if work is LATER else {}
    graded = "Assignment 1 [Total Pts: 10 Score] |98765"
    head = ["Last Name", "First Name", "Username", "Student ID", "Last Access", "Availability"]
    lines = [[*head, "Weighted Total [Total Pts: up to 0 Percentage] |55", graded, "Feedback to Learner"]]
    lines += [["Nguyễn", first, f"user{n}", f"99{n}", "", "Yes", "", "", ""] for n, first in enumerate(FIRST)]
    roster = folder / "gc_course_fullgc.xls"  # tabs and UTF-16, as Blackboard writes it
    text = "\n".join("\t".join(f'"{cell}"' for cell in line) for line in lines)
    roster.write_bytes(text.encode("utf-16"))
    return Section(export=zipped(folder / "gradebook.zip", files), roster=roster)


def brightspace(folder: Path, work: Sequence[str] = WORK) -> Section:
    """Each attempt has a folder; the newest attempt counts."""
    files = {
        f"{700 + n}-12345{n} - {first} de la Cruz - Nov 1, 2026 1158 PM/{file_of(n)}": WORK[n]
        for n, first in enumerate(FIRST)
    }
    files["index.html"] = "<html></html>"
    again = "703-199999 - Li de la Cruz - Nov 2, 2026 959 AM/interference.py"
    files |= {again: work[3]} if work is LATER else {}
    title = "Assignment 1 Points Grade <Numeric MaxPoints:40 Weight:10>"
    lines = [["OrgDefinedId", "Username", "Last Name", "First Name", "Email", title, "End-of-Line Indicator"]]
    lines += [[f"#77{n}", f"#cruz{n}", "de la Cruz", first, f"c{n}@x.org", "", "#"] for n, first in enumerate(FIRST)]
    return Section(export=zipped(folder / "download.zip", files), roster=table(folder / "grades.csv", lines))


def sakai(folder: Path, work: Sequence[str] = WORK) -> Section:
    top = "Who hears whom"
    files = {
        f"{top}/Søren, {first}(sor{n})/Submission attachment(s)/{file_of(n)}": work[n] for n, first in enumerate(FIRST)
    }
    times = {f"{top}/Søren, {first}(sor{n})/timestamp.txt": "2026-11-01T22:00:00.5Z" for n, first in enumerate(FIRST)}
    files |= times | ({f"{top}/Søren, Li(sor3)/timestamp.txt": "2026-11-02T09:59:00Z"} if work is LATER else {})
    lines = [["Who hears whom", "SCORE_GRADE_TYPE"], [""], ["Display ID", "ID", "Last Name", "First Name", "grade"]]
    lines += [[f"d{n}", f"sor{n}", "Søren", first, ""] for n, first in enumerate(FIRST)]
    roster = table(folder / "grades.csv", lines)
    files[f"{top}/grades.csv"] = roster.read_text(encoding="utf-8")
    return Section(export=zipped(folder / "bulk_download.zip", files), roster=roster)


def grade(section: Section, out: Path, *more: str) -> int:
    command = ["grade", str(section.export), "--assignment", "1", "--roster", str(section.roster), "--out", str(out)]
    return main([*command, "--key", KEY, "--weak-walls", *more])


def scores(out: Path) -> list[float]:
    with (out / "gradebook.csv").open(encoding="utf-8-sig") as file:
        return [float(row["score"]) for row in csv.DictReader(file)]


def rows_of(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(), newline="")))


def members(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def canvas_accepts(out: Path) -> list[float]:
    """lib/gradebook_importer.rb: the student columns, an assignment with its number, points possible, one number per
    student.
    """
    header, possible, *lines = rows_of((out / "canvas.csv").read_bytes())
    assert header[:2] == ["LastName", "FirstName"]
    assert [header.index(name) for name in ("ID", "SIS User ID", "SIS Login ID", "Section")] == [2, 3, 4, 5]
    assert header[6:] == ["Assignment 1 (12)"]
    assert (possible[0].strip(), float(possible[6])) == ("Points Possible", 20)
    assert [line[2] for line in lines] == [str(500 + n) for n in range(5)]
    names = members(out / "canvas-feedback.zip")  # a re-upload is identified by user and attachment
    found = [re.fullmatch(r"[^_]+(?:_LATE)?_(\d+)_(\d+)_report\.html", name) for name in names]
    assert sorted(match[1] for match in found if match) == [str(500 + n) for n in range(5)]
    return [float(line[6]) * 5 for line in lines]


def moodle_accepts(out: Path) -> list[float]:
    """importgradeslib.php: headings in the user's language, the participant's number. importziplib.php: five parts."""
    header, *lines = rows_of((out / "moodle.csv").read_bytes())
    assert (header[0], header[4], header[9]) == ("ID", "Bewertung", "Feedback-Kommentar")
    assert [line[0] for line in lines] == [f"Teilnehmer/in {300 + n}" for n in range(5)]
    assert "points lost: " in lines[2][9]
    parts = [name.split("/")[0].split("_", 4) for name in members(out / "moodle-feedback.zip")]
    assert sorted(part[1:] for part in parts) == [[str(300 + n), "assignsubmission", "file", ""] for n in range(5)]
    return [float(line[4]) * 2 for line in lines]


def gradescope_accepts(out: Path) -> list[float]:
    """Autograder specifications: a score, tests with a score up to their maximum, and a visibility."""
    found = []
    for n in range(5):
        document = json.loads((out / "gradescope" / f"submission_{800 + n}" / "results.json").read_text())
        assert all(0 <= test["score"] <= test["max_score"] for test in document["tests"])
        found.append(document["score"])
    return found


def blackboard_accepts(out: Path) -> list[float]:
    """A header, the username, the number of the column; in a CSV, quotes around each cell."""
    content = (out / "blackboard.csv").read_bytes()
    header, *lines = rows_of(content)
    assert content.count(b'"') >= 2 * sum(map(len, [header, *lines]))
    assert header == [
        *("Last Name", "First Name", "Username", "Assignment 1 [Total Pts: 10 Score] |98765", "Feedback to Learner")
    ]
    assert [line[2] for line in lines] == [f"user{n}" for n in range(5)]
    assert "points lost: " in lines[2][4]
    return [float(line[3]) * 10 for line in lines]


def brightspace_accepts(out: Path) -> list[float]:
    """OrgDefinedId or Username, "Title Points Grade", and the End-of-Line Indicator as the last column."""
    header, *lines = rows_of((out / "brightspace.csv").read_bytes())
    assert header == ["OrgDefinedId", "Username", "Assignment 1 Points Grade", "End-of-Line Indicator"]
    assert {line[3] for line in lines} == {"#"}
    assert [line[0] for line in lines] == [f"#77{n}" for n in range(5)]
    names = members(out / "brightspace-feedback.zip")
    assert sorted(names)[0] == "700-123450 - Ann de la Cruz - Nov 1, 2026 1158 PM/report.html"
    assert len(names) == 5
    return [float(line[2]) * 2.5 for line in lines]


def sakai_accepts(out: Path) -> list[float]:
    """The structure of the download: grades.csv with two lines above its header, and one folder of feedback per
    student.
    """
    with zipfile.ZipFile(out / "sakai-feedback.zip") as archive:
        (title, kind), _, header, *lines = rows_of(archive.read("Who hears whom/grades.csv"))
        names = [name for name in archive.namelist() if name.endswith("report.html")]
    assert (title, kind) == ("Who hears whom", "SCORE_GRADE_TYPE")
    assert header == ["Display ID", "ID", "Last Name", "First Name", "grade"]
    assert [line[1] for line in lines] == [f"sor{n}" for n in range(5)]
    expected = [
        f"Who hears whom/Søren, {first}(sor{n})/Feedback Attachment(s)/report.html" for n, first in enumerate(FIRST)
    ]
    assert sorted(names) == sorted(expected)
    return [float(line[4]) for line in lines]


PLATFORMS: dict[str, tuple[Callable[..., Section], Callable[[Path], list[float]]]] = {
    "canvas": (canvas, canvas_accepts),
    "moodle": (moodle, moodle_accepts),
    "gradescope": (gradescope, gradescope_accepts),
    "blackboard": (blackboard, blackboard_accepts),
    "brightspace": (brightspace, brightspace_accepts),
    "sakai": (sakai, sakai_accepts),
}


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    return {}


@pytest.fixture
def judged_once(verdicts: dict[str, Verdict], monkeypatch: pytest.MonkeyPatch) -> None:
    """Students of all platforms hand in the same files; each file is judged once."""
    original = JudgeProcess.judge

    def judge(process: JudgeProcess, submission: Submission, settings: BatchSettings) -> Verdict:
        work = repr((submission.source, submission.helpers, submission.problems, settings))
        if work not in verdicts:
            verdicts[work] = original(process, submission, settings)
        return replace(verdicts[work], student=submission.student, received=submission.received)

    monkeypatch.setattr(JudgeProcess, "judge", judge)


@pytest.mark.usefixtures("engine", "one_judge_process", "judged_once")
@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_section_is_graded_corrected_and_returned(
    platform: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, accepts = PLATFORMS[platform]
    section, out = make(tmp_path), tmp_path / "grades"
    due = ("--due", DUE + "+00:00" * (platform in UTC_PLATFORMS))
    assert grade(section, out, *due) == 0, capsys.readouterr().err
    right, notebook, slip, template, last = scores(out)
    assert (right, notebook, template) == (100, 100, 0)
    assert 0 < slip < 100
    assert last == (80 if platform == "gradescope" else 100)  # a day and an hour late: two started days
    assert accepts(out) == pytest.approx([right, notebook, slip, template, last], abs=0.3)
    if platform == "gradescope":
        report = (out / "reports").glob("Mary*.txt")
        assert "late (started days: 2): 20 points off" in next(report).read_text()
    # A manual correction, which later runs keep.
    with (tmp_path / "adjust.csv").open("w", encoding="utf-8", newline="") as file:
        name = f"{FIRST[2]} {LAST[platform]}"
        csv.writer(file).writerows([["student", "check", "points", "reason"], [name, "", "90", "talked to him"]])
    assert grade(section, out, *due, "--adjust", str(tmp_path / "adjust.csv")) == 0, capsys.readouterr().err
    for _ in range(2):
        assert scores(out) == [right, notebook, 90, template, last]
        assert accepts(out) == pytest.approx([right, notebook, 90, template, last], abs=0.3)
        reports = "".join(path.read_text() for path in (out / "reports").glob("*.txt"))
        assert f"adjusted by the instructor: 90 points, not {slip:g}: talked to him" in reports
        assert grade(section, out, *due) == 0, capsys.readouterr().err
    # A late hand-in is graded; the verdicts about the others are kept.
    kept = {path.name: path.stat().st_mtime_ns for path in (out / "verdicts").iterdir()}
    capsys.readouterr()
    assert grade(make(tmp_path, LATER), out, *due) == 0
    fourth = 100 if platform in WITHOUT_TIMES else 90
    assert scores(out) == [right, notebook, 90, fourth, last]
    assert accepts(out) == pytest.approx([right, notebook, 90, fourth, last], abs=0.3)
    now = {path.name: path.stat().st_mtime_ns for path in (out / "verdicts").iterdir()}
    assert len(now) == len(kept) + 1
    assert kept.items() <= now.items()
    told = capsys.readouterr().err
    assert ("no late penalty for 5 hand-ins without a known time" in told) == (platform in WITHOUT_TIMES)
    assert ("marked as late: José María Smith; Li Smith" in told) == (platform == "canvas")
