"""The files that a platform imports, made from the class list that it exported (`lms_tables`), and the feedback.

    canvas.csv, moodle.csv, blackboard.csv, brightspace.csv   the scores
    canvas-feedback.zip       for "Upload Submissions" on the assignment's page: reports under the names of the hand-ins
    moodle-feedback.zip       for "Upload multiple feedback files in a zip": each report in the folder of its student
    brightspace-feedback.zip  for "Add Feedback Files": the same
    sakai-feedback.zip        for "Upload All": the same, with grades.csv if it is the roster
    gradescope/               a results.json for each submission_N, as its autograders write them

A student whose grade is uncertain (rerun, unreadable, duplicate) is left out and keeps the grade on the platform. While
a hand-in matches no student, students without a hand-in are left out as well, because it may be theirs; and so are
students who were graded by an earlier run. Blackboard takes no files for a whole class.

Source: Canvas, app/models/assignment.rb (names in an uploaded zip); Moodle, mod/assign/feedback/file/importziplib.php;
D2L, "Upload feedback files"; Sakai, "Upload graded assignment submissions and feedback"; Gradescope, "Autograder
specifications".
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pacelab import log, write_file
from pacelab_grading.receive.submission import Submission
from pacelab_grading.records.gradebook import (
    FROM_EARLIER_RUN,
    Row,
    as_returned,
    report_name,
    unmatched_rows,
)
from pacelab_grading.records.gradescope import results
from pacelab_grading.records.lms_tables import (
    BLACKBOARD,
    BRIGHTSPACE,
    CANVAS,
    MOODLE,
    SAKAI,
    SHOWN_COLUMNS,
    Column,
    Export,
    Ours,
    blackboard_csv,
    brightspace_csv,
    canvas_csv,
    has_scale,
    maximum,
    moodle_csv,
    sakai_csv,
    sakai_title,
)
from pacelab_grading.records.moodle_worksheet import GRADE
from pacelab_grading.records.report import html_report
from pacelab_grading.records.roster import Student
from pacelab_grading.rubric.assignment import TOTAL_POINTS, Assignment, label
from pacelab_grading.rubric.verdict import PASSED, Verdict

TABLES = ("canvas.csv", "moodle.csv", "blackboard.csv", "brightspace.csv")
FEEDBACK_ZIPS = {name: f"{name}-feedback.zip" for name in (CANVAS, MOODLE, BRIGHTSPACE, SAKAI)}
REPORTED = ("graded", "unreadable")
GRADES_CSV = "grades.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the instructor wants on the platform."""

    column: str | None = None
    """Title of the assignment's column; None: the assignment's label."""
    maximum: float | None = None
    """Maximum of that column; None: as the export states."""
    hidden: str = "after_due_date"
    """When Gradescope shows hidden checks."""
    zero_unreadable: bool = False
    """An unreadable hand-in gets 0 points on the platform."""


def check_columns(roster: Path | None, column: str | None, assignment: Assignment, most: float | None = None) -> str:
    """Raise ConfigError if the roster is a platform's export in which the column for the grades is not clear.

    Returns a note if the import makes a new column although the export has others, or if the column has 0 points and no
    maximum `most` is given; empty otherwise.
    """
    if roster is None:
        return ""
    export = Export(roster)
    found = export.column(column, assignment.label.capitalize())
    if found is not None and found.most == 0 and most is None:
        return (
            f"{found.title!r} of roster {str(roster)!r} has 0 points, so the scores are out of {TOTAL_POINTS:g}; set "
            "the points on the platform and export again, or give --maximum"
        )
    if found is None or found.place >= 0 or not export.columns():
        return ""
    shown = ", ".join(item.describe() for item in export.columns()[:SHOWN_COLUMNS])
    return f"no column of roster {str(roster)!r} is {column!r}, so the import makes a new one; the roster has {shown}"


def build_files(
    roster: Path | None,
    students: Sequence[Student],
    rows: Sequence[Row],
    submissions: Sequence[Submission],
    verdicts: Sequence[Verdict],
    wanted: Wanted,
) -> dict[str, bytes]:
    """Name -> content of the files that the roster and the origin of the submissions permit."""
    found: dict[str, bytes] = {}
    graded = list(zip(verdicts, submissions, strict=True))
    name = label(verdicts[0].assignment).capitalize() if verdicts else ""
    grades_csv, title = b"", name
    if roster is not None:
        export = Export(roster)
        known = _certain_rows(students, rows, zero_unreadable=wanted.zero_unreadable)
        ours = [(line, known[number]) for number, line in enumerate(export.lines) if number in known]
        comments = {report_name(submission): _lost_points(verdict) for verdict, submission in graded}
        found |= _table_file(export, ours, export.column(wanted.column, name), comments, wanted.maximum)
        if export.platform == SAKAI:
            title = sakai_title(export) or name
            grades_csv = sakai_csv(export, ours, maximum(None, wanted.maximum)).encode()
    reports = {
        submission: html_report(as_returned(verdict, rows, submission)).encode()
        for verdict, submission in graded
        if verdict.status in REPORTED
    }
    for platform, file in FEEDBACK_ZIPS.items():
        files = {
            f"{item.returned_as}report.html": page
            for item, page in reports.items()
            if item.platform == platform and item.returned_as
        }
        if platform == SAKAI:
            files = {f"{title}/{start}": page for start, page in files.items()}
            files |= {f"{title}/{GRADES_CSV}": grades_csv} if grades_csv else {}
        if files:
            found[file] = _zipped(files)
    return found | _gradescope_files(graded, rows, wanted)


def _table_file(
    export: Export, ours: Ours, column: Column | None, comments: Mapping[str, str], most: float | None
) -> dict[str, bytes]:
    """The table of scores that the platform imports."""
    points = maximum(column, most)
    if column is not None and export.platform == CANVAS:
        return {"canvas.csv": canvas_csv(export, ours, column, points).encode()}
    if column is not None and export.platform == BLACKBOARD:
        return {"blackboard.csv": blackboard_csv(export, ours, column, comments, points).encode()}
    if column is not None and export.platform == BRIGHTSPACE:
        return {"brightspace.csv": brightspace_csv(export, ours, column, points).encode()}
    if export.platform != MOODLE:
        return {}
    if GRADE not in export.titles:
        log(f"{export.path} has no column {GRADE!r}, so moodle.csv is not written; export an assignment with a grade")
        return {}
    if has_scale(export):
        log(
            f"{export.path} grades by a scale, which takes no points, so moodle.csv has only the comments; "
            "enter the words of the scale yourself, or let Moodle grade by points"
        )
    return {"moodle.csv": moodle_csv(export, ours, comments, most).encode()}


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


def _lost_points(verdict: Verdict) -> str:
    lost = [
        f"{result.title} ({result.id}) {result.earned:g}/{result.points:g}"
        for result in verdict.results
        if result.status != PASSED
    ]
    return f"points lost: {', '.join(lost)}" if lost and not verdict.unreadable else ""


def _gradescope_files(
    graded: Sequence[tuple[Verdict, Submission]], rows: Sequence[Row], wanted: Wanted
) -> dict[str, bytes]:
    found = {}
    for verdict, submission in graded:
        certain = verdict.status == "graded" and (wanted.zero_unreadable or not verdict.unreadable)
        if submission.platform == "gradescope" and certain:
            document = results(as_returned(verdict, rows, submission), hidden=wanted.hidden)
            scores = [row.score for row in rows if row.report == report_name(submission)]
            document["score"] = max(scores, default=verdict.points)  # a team has one score in Gradescope
            found[f"gradescope/{submission.identity}/results.json"] = json.dumps(document, indent=1).encode()
    return found


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
    patterns = (
        *TABLES,
        *FEEDBACK_ZIPS.values(),
        "gradescope/submission_*/results.json",
        "reports/*.html",
        "reports/*.txt",
    )
    present = [path.relative_to(folder).as_posix() for pattern in patterns for path in sorted(folder.glob(pattern))]
    return [name for name in present if name not in names]
