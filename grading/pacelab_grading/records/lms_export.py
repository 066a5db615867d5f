"""The files that a platform imports, made from the class list that it exported.

    canvas.csv            for Grades > Import: the student columns of the exported gradebook and one column of scores;
                          "Title (ID)" names an existing assignment, any other title makes a new one
    canvas-feedback.zip   for "Upload Submissions" on the assignment's page: each report under the name of the hand-in
    moodle.csv            for "Upload grading worksheet": the downloaded worksheet with Grade and Feedback comments
    moodle-feedback.zip   for "Upload multiple feedback files in a zip": each report in the folder of its student
    gradescope/           a results.json for each submission_N, as its autograders write them

A student whose grade is uncertain (rerun, unreadable, duplicate) is left out and keeps the grade on the platform. While
a hand-in matches no student, students without a hand-in are left out as well, because it may be theirs; and so are
students who were graded by an earlier run.

Source: Canvas, lib/gradebook_importer.rb and app/models/assignment.rb (names in an uploaded zip); Moodle,
mod/assign/feedback/offline/importgradeslib.php and mod/assign/feedback/file/importziplib.php; Gradescope, "Autograder
specifications".
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import zipfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from pacelab import log, write_file
from pacelab_grading.receive.submission import Submission
from pacelab_grading.records.gradebook import (
    FROM_EARLIER_RUN,
    Row,
    no_formula,
    report_name,
    unmatched_rows,
    with_lateness,
)
from pacelab_grading.records.gradescope import results
from pacelab_grading.records.report import html_report
from pacelab_grading.records.roster import Student, delimiter, read_table
from pacelab_grading.rubric.assignment import label
from pacelab_grading.rubric.verdict import PASSED, Verdict

CANVAS_STUDENT = (
    *("Student", "LastName", "FirstName", "ID", "SIS User ID", "SIS Login ID", "Integration ID"),
    *("Root Account", "Section"),
)
"""Columns about the student, if the export has them, in its order; Section is the last."""
CANVAS_ASSIGNMENT = re.compile(r".+ \(\d+\)")
POINTS_POSSIBLE = "    Points Possible"
TABLES = ("canvas.csv", "moodle.csv")
FEEDBACK_ZIPS = ("canvas-feedback.zip", "moodle-feedback.zip")
FEEDBACK = "Feedback comments"
KEPT_CELLS = ("EX", "N/A")
"""Of an excused student, and of a student to whom the assignment is not assigned: Canvas's cell stays."""
GRADE, IDENTIFIER, MAXIMUM, SCALE = "Grade", "Identifier", "maximum grade", "scale"
REPORTED = ("graded", "unreadable")


def build_files(
    roster: Path | None,
    students: Sequence[Student],
    rows: Sequence[Row],
    submissions: Sequence[Submission],
    verdicts: Sequence[Verdict],
    *,
    column: str | None,
    hidden: str,
    zero_unreadable: bool = False,
) -> dict[str, bytes]:
    """Name -> content of the files that the roster and the origin of the submissions permit.

    `column`: title of the assignment's column in Canvas; None: the assignment's label. With `zero_unreadable` an
    unreadable hand-in gets 0 points on the platform.
    """
    found: dict[str, bytes] = {}
    graded = list(zip(verdicts, submissions, strict=True))
    if roster is not None:
        table = _Table(roster)
        known = _certain_rows(students, rows, zero_unreadable=zero_unreadable)
        ours = [(line, known[number]) for number, line in enumerate(table.lines) if number in known]
        comments = {report_name(submission): _lost_points(verdict) for verdict, submission in graded}
        if table.is_canvas:
            name = label(verdicts[0].assignment).capitalize() if verdicts else ""
            found |= _canvas_file(table, ours, rows, column=column, name=name)
        elif IDENTIFIER in table.header:
            found |= _moodle_file(table, ours, comments)
    reports = {
        submission: html_report(with_lateness(verdict, rows, submission)).encode()
        for verdict, submission in graded
        if verdict.status in REPORTED
    }
    for platform, name in zip(("canvas", "moodle"), FEEDBACK_ZIPS, strict=True):
        if files := {item.returned_as: page for item, page in reports.items() if item.platform == platform}:
            found |= {name: _zipped({f"{start}report.html": page for start, page in files.items() if start})}
    return found | _gradescope_files(graded, rows, hidden)


class _Table:
    """The platform's CSV, with each line as long as the header."""

    def __init__(self, path: Path) -> None:
        text = read_table(path)
        table = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter(text)))
        self.path = path
        self.header = [cell.strip() for cell in table[0]] if table else []
        lines = [line for line in table[1:] if line]  # numbered as csv.DictReader numbers them
        # Spreadsheets drop empty cells at the end of a line.
        self.lines = [[*line, *[""] * (len(self.header) - len(line))] for line in lines]

    @property
    def is_canvas(self) -> bool:
        """Whether it is Canvas's gradebook, with the name in one column or in two."""
        return self.header[:1] in (["Student"], ["LastName"]) and "ID" in self.header and "Section" in self.header


def _certain_rows(students: Sequence[Student], rows: Sequence[Row], *, zero_unreadable: bool) -> dict[int, Row]:
    """Line of the roster -> row, for students whose grade is certain."""
    certain = {"graded"}
    if not unmatched_rows(rows):
        certain.add("missing")
    if zero_unreadable:
        certain.add("unreadable")
    return {
        students[row.place].line: row
        for row in rows
        if row.place >= 0 and row.status in certain and row.remarks != FROM_EARLIER_RUN
    }


def _canvas_file(
    table: _Table, ours: Sequence[tuple[Sequence[str], Row]], rows: Sequence[Row], *, column: str | None, name: str
) -> dict[str, bytes]:
    total = max((row.of for row in rows), default=0.0)
    possible = next((line for line in table.lines if POINTS_POSSIBLE.strip() in line[0]), [])
    title = column or name
    places = _titled(table.header, title)
    assignments = [header for header in table.header if CANVAS_ASSIGNMENT.fullmatch(header)]
    if len(places) > 1:
        named = " or ".join(repr(table.header[place]) for place in places)
        log(
            f"{table.path} has {len(places)} columns titled {title!r}, so canvas.csv is not written; "
            f"give --column {named}"
        )
        return {}
    if column is None and not places and assignments:
        log(
            f"{table.path} has no column titled {title!r}, so canvas.csv is not written; give --column with one of "
            f"{', '.join(map(repr, assignments[:10]))}, or with the title of a new column"
        )
        return {}
    return {"canvas.csv": canvas(table.header, ours, title, total, possible).encode()}


def canvas(
    header: Sequence[str],
    ours: Sequence[tuple[Sequence[str], Row]],
    column: str,
    total: float,
    possible: Sequence[str] = (),
) -> str:
    """Canvas's import file. `column` is the title of the assignment's column, an existing one or a new one.

    Scores are scaled to the maximum points that the column has in the line `possible`: Canvas takes scores as they are.
    A student who is excused in that column stays excused.
    """
    kept = [place for place, name in enumerate(header) if name in CANVAS_STUDENT]
    place = next(iter(_titled(header, column)), None)
    title = column if place is None else header[place]
    most = (_number(possible[place]) if possible and place is not None else None) or total
    made = [[*(header[place] for place in kept), title], [POINTS_POSSIBLE, *[""] * (len(kept) - 1), f"{most:g}"]]
    for line, row in ours:
        score = f"{row.score * most / row.of if row.of else 0.0:.2f}"
        if place is not None and line[place].strip() in KEPT_CELLS:
            score = line[place].strip()
        made.append([*(line[place] for place in kept), score])
    return _written(made)


def _titled(header: Sequence[str], column: str) -> list[int]:
    """Positions of the columns with this title, with or without their number."""
    own = re.compile(rf"{re.escape(column)}( \(\d+\))?")
    return [place for place, name in enumerate(header) if own.fullmatch(name)]


def _moodle_file(
    table: _Table, ours: Sequence[tuple[Sequence[str], Row]], comments: Mapping[str, str]
) -> dict[str, bytes]:
    if GRADE not in table.header:
        log(f"{table.path} has no column {GRADE!r}, so moodle.csv is not written; export an assignment with a grade")
        return {}
    if _has_scale(table.header):
        log(
            f"{table.path} grades by a scale, which takes no points, so moodle.csv has only the comments; "
            "enter the words of the scale yourself, or let Moodle grade by points"
        )
    return {"moodle.csv": moodle(table.header, ours, comments).encode()}


def moodle(header: Sequence[str], ours: Sequence[tuple[Sequence[str], Row]], comments: Mapping[str, str] = {}) -> str:
    """The worksheet with grades, scaled to its own maximum, and with comments. `comments`: report -> lost points.

    Grades of a scale stay as they are: Moodle takes only the words of the scale, and ignores numbers silently.
    """
    made = [list(header)]
    for line, row in ours:
        filled = list(line)
        if not _has_scale(header):
            filled[header.index(GRADE)] = f"{row.score * _scale(header, line, row):.2f}"
        if FEEDBACK in header:
            texts = (row.remarks, comments.get(row.report, ""))
            filled[header.index(FEEDBACK)] = no_formula("; ".join(text for text in texts if text))
        made.append(filled)
    return _written(made)


def _lost_points(verdict: Verdict) -> str:
    lost = [
        f"{result.title} ({result.id}) {result.earned:g}/{result.points:g}"
        for result in verdict.results
        if result.status != PASSED
    ]
    return f"points lost: {', '.join(lost)}" if lost and not verdict.unreadable else ""


def _has_scale(header: Sequence[str]) -> bool:
    return any(name.casefold() == SCALE for name in header)


def _scale(header: Sequence[str], line: Sequence[str], row: Row) -> float:
    place = next((place for place, name in enumerate(header) if name.casefold() == MAXIMUM), None)
    most = None if place is None else _number(line[place])
    if most is None:
        return 1.0
    return most / row.of if row.of else 0.0


def _gradescope_files(
    graded: Sequence[tuple[Verdict, Submission]], rows: Sequence[Row], hidden: str
) -> dict[str, bytes]:
    found = {}
    for verdict, submission in graded:
        if submission.platform == "gradescope" and verdict.status == "graded":
            document = results(with_lateness(verdict, rows, submission), hidden=hidden)
            scores = [row.score for row in rows if row.report == report_name(submission)]
            document["score"] = max(scores, default=verdict.points)  # a team has one score in Gradescope
            found[f"gradescope/{submission.identity}/results.json"] = json.dumps(document, indent=1).encode()
    return found


def _number(cell: str) -> float | None:
    *thousands, last = re.split("[.,]", cell)
    try:
        found = float(f"{''.join(thousands)}.{last}" if thousands else last)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _written(made: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(made)
    return out.getvalue()


def _zipped(files: Mapping[str, bytes]) -> bytes:
    """A zip with the same bytes for the same files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name), files[name], zipfile.ZIP_DEFLATED)
    return out.getvalue()


def write_files(folder: Path, files: Mapping[str, bytes]) -> list[str]:
    """Write the files below the folder; returns the top-level names."""
    for name, content in files.items():
        write_file(folder / name, content)
    return sorted({name.split("/")[0] for name in files})


def files_of_earlier_runs(folder: Path, names: Collection[str]) -> list[str]:
    """Reports and files for platforms in the folder that this run did not write: nobody should pass them on."""
    patterns = (*TABLES, *FEEDBACK_ZIPS, "gradescope/submission_*/results.json", "reports/*.html", "reports/*.txt")
    present = [path.relative_to(folder).as_posix() for pattern in patterns for path in sorted(folder.glob(pattern))]
    return [name for name in present if name not in names]
