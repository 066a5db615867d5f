"""The instructor's tables: a gradebook as CSV, one row per student of the roster, and the class summary as HTML."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from pacelab.grading.batch import slug
from pacelab.grading.figures import histogram
from pacelab.grading.judge import NOT_GRADED, Verdict
from pacelab.grading.receive.submission import Submission
from pacelab.grading.records.report import STYLE
from pacelab.grading.records.roster import LateRule, Student, match

COLUMNS = ("student", "id", "group", "points", "late_days", "deduction", "score", "of", "status", "version", "remarks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One student's grade."""

    student: str
    id: str
    group: str
    points: float
    late_days: int | None
    deduction: float
    score: float
    of: float
    status: str
    """graded, rerun, missing."""
    version: int | None
    remarks: str
    report: str = ""


def gradebook(
    verdicts: Sequence[Verdict], submissions: Sequence[Submission], students: Sequence[Student], rule: LateRule
) -> list[Row]:
    """One row per student of the roster (per submission where there is none), in the roster's order.

    Members of a group get the group's submission, of several the one with the most points.
    """
    graded: dict[str, tuple[Verdict, Submission]] = {}
    strangers: list[tuple[Verdict, Submission]] = []
    for verdict, submission in zip(verdicts, submissions, strict=True):
        student = match(submission.student, submission.identity, students)
        if student is None:
            strangers.append((verdict, submission))
        else:
            graded[student.student] = (verdict, submission)
    rows = []
    for student in students:
        mine = _of_group(student, students, graded)
        rows.append(_missing(student, verdicts) if mine is None else _row(student, *mine, rule))
    remark = "not in the roster" if students else ""
    for verdict, submission in strangers:
        student = Student(student=submission.student, id=submission.identity)
        rows.append(_row(student, verdict, submission, rule, remark=remark))
    return rows


def _of_group(
    student: Student, students: Sequence[Student], graded: Mapping[str, tuple[Verdict, Submission]]
) -> tuple[Verdict, Submission] | None:
    names = [other.student for other in students if student.group and other.group == student.group]
    found = [graded[name] for name in (names or [student.student]) if name in graded]
    return max(found, key=lambda item: item[0].points, default=None)


def _row(student: Student, verdict: Verdict, submission: Submission, rule: LateRule, *, remark: str = "") -> Row:
    days = rule.days(student.submitted, student.extension_days)
    remarks = [remark] if remark else []
    if submission.student != student.student and student.group:
        remarks.append(f"handed in by {submission.student}")
    if days is None and submission.late:
        remarks.append("late, by an unknown time: give `submitted` in the roster")
    deduction = rule.deduction(days or 0, verdict.total)
    unsure = [result.id for result in verdict.results if result.status == NOT_GRADED]
    if unsure:
        remarks.append(f"not graded, rerun: {', '.join(unsure)}")
    return Row(
        student=student.student,
        id=student.id or submission.identity,
        group=student.group,
        points=verdict.points,
        late_days=days,
        deduction=round(deduction, 2),
        score=round(max(0.0, verdict.points - deduction), 2),
        of=verdict.total,
        status=verdict.status,
        version=verdict.version,
        remarks="; ".join([*remarks, *verdict.problems]),
        report=f"reports/{slug(submission.student)}.html",
    )


def _missing(student: Student, verdicts: Sequence[Verdict]) -> Row:
    total = verdicts[0].total if verdicts else 0.0
    return Row(
        student=student.student,
        id=student.id,
        group=student.group,
        points=0.0,
        late_days=None,
        deduction=0.0,
        score=0.0,
        of=total,
        status="missing",
        version=None,
        remarks="nothing handed in",
    )


def to_csv(rows: Sequence[Row]) -> str:
    """The gradebook. Cells that a spreadsheet would take for a formula are quoted as text."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        values = [getattr(row, name) for name in COLUMNS]
        writer.writerow(["" if value is None else _cell(value) for value in values])
    return out.getvalue()


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t")) else value


def summary(rows: Sequence[Row], verdicts: Sequence[Verdict], similar: Sequence[str] = ()) -> str:
    """The class as one HTML page: histogram, what each check cost, whom to look at."""
    scores = [row.score for row in rows if row.status != "missing"]
    total = max((row.of for row in rows), default=0.0) or 1.0
    middle = f"median {statistics.median(scores):g}, mean {statistics.fmean(scores):.1f}" if scores else "no submission"
    rates: dict[str, list[float]] = {}
    titles: dict[str, str] = {}
    for verdict in verdicts:
        for result in verdict.results:
            rates.setdefault(result.id, []).append(result.earned / result.points)
            titles[result.id] = result.title
    checks = "".join(
        f"<tr><td>{escape(titles[name])}</td><td>{statistics.fmean(shares):.0%}</td>"
        f"<td>{sum(share == 0 for share in shares)}</td></tr>"
        for name, shares in rates.items()
    )
    people = "".join(
        f"<tr><td>{_linked(row)}</td><td>{row.score:g}</td><td>{row.status}</td><td>{escape(row.remarks)}</td></tr>"
        for row in rows
    )
    hints = "".join(f"<li>{escape(line)}</li>" for line in similar)
    title = escape(f"Assignment {verdicts[0].assignment}: {verdicts[0].title}" if verdicts else "no submissions")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
        f"<h1>{title}</h1><p>{len(scores)} graded of {len(rows)}; {middle}</p>{histogram(scores, top=total)}"
        f"<h2>Rubric</h2><table><tr><th>check</th><th>mean share</th><th>without a point</th></tr>{checks}</table>"
        f"<h2>Students</h2><table><tr><th>student</th><th>score</th><th>status</th><th>remarks</th></tr>{people}</table>"
        + (f"<h2>Similar files: hints, no verdicts</h2><ul>{hints}</ul>" if hints else "")
        + "</html>\n"
    )


def _linked(row: Row) -> str:
    name = escape(row.student)
    return f'<a href="{escape(row.report)}">{name}</a>' if row.report else name
