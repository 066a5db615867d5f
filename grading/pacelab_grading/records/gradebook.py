"""The instructor's tables: a gradebook as CSV, one row per student of the roster, and the class summary as HTML."""

from __future__ import annotations

import csv
import io
import statistics
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

from pacelab import ConfigError
from pacelab_grading.assignments import find_assignment
from pacelab_grading.batch import slug
from pacelab_grading.figures import histogram
from pacelab_grading.judge import NOT_GRADED, Verdict
from pacelab_grading.receive.submission import Submission, untouched
from pacelab_grading.records.report import STYLE, headline
from pacelab_grading.records.roster import PLATFORM_IDS, LateRule, Student, matched

COLUMNS = ("student", "id", "group", "points", "late_days", "deduction", "score", "of", "status", "version", "remarks")

GONE = "nothing among these hand-ins, but graded by an earlier run"

Graded = tuple[Verdict, Submission]
FORMULA = ("=", "+", "-", "@", "\t", "\r")


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
    """graded, rerun, duplicate, missing."""
    version: int | None
    remarks: str
    report: str = ""
    place: int = -1
    """In the roster; -1 for a stranger."""


def gradebook(
    verdicts: Sequence[Verdict], submissions: Sequence[Submission], students: Sequence[Student], rule: LateRule
) -> list[Row]:
    """One row per student of the roster (per submission where there is none), in the roster's order.

    Members of a group get the group's submission, of several the one that is worth most. When it was handed in says the
    row of who handed it in, or else the platform; an extension is each student's own. Whom two submissions claim gets
    the first one's points for now and the status `duplicate`: which one counts is yours to say.
    """
    mine: dict[int, list[Graded]] = {}
    nobodys: list[tuple[Graded, str]] = []
    for verdict, submission in zip(verdicts, submissions, strict=True):
        places, why = matched(submission, students)
        for place in places:
            timed = replace(submission, submitted=students[place].submitted or submission.submitted)
            mine.setdefault(place, []).append((verdict, timed))
        if not places:
            nobodys.append(((verdict, submission), why if students else ""))
    rows = []
    kinds = {kind for made in submissions for kind in PLATFORM_IDS.get(made.platform, ())}
    for place, student in enumerate(students):
        found = _of_group(place, students, mine, rule)
        own = {made.student for _, made in mine.get(place, ())}
        partners = bool(found) and found[0][1].student not in own
        row = _row(student, found[0], rule, claims=found, partners=partners) if found else _missing(student, verdicts)
        numbers = (value for kind, value in student.ids if kind in kinds)
        rows.append(replace(row, place=place, id=row.id or next(numbers, "")))
    for graded, remark in nobodys:
        student = Student(student=graded[1].student, id=graded[1].identity)
        rows.append(_row(student, graded, rule, remark=remark))
    return rows


def graded_before(path: Path) -> set[tuple[str, str]]:
    """Name and id of whom this gradebook of an earlier run has a hand-in of, or remembers one of."""
    return {
        (line["student"], line["id"]) for line in _read(path) if line["status"] != "missing" or line["remarks"] == GONE
    }


def timed_before(path: Path) -> bool:
    """Whether this gradebook of an earlier run says of somebody how late a hand-in was."""
    return any(line.get("late_days") for line in _read(path))


def _read(path: Path) -> list[dict[str, str]]:
    """The rows of a gradebook; none of what is no gradebook, or not there."""
    try:
        found = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline=""))
        return list(found) if {"student", "id", "status", "remarks"} <= set(found.fieldnames or ()) else []
    except (OSError, ValueError, csv.Error):
        return []


def remembered(rows: Sequence[Row], before: Collection[tuple[str, str]]) -> list[Row]:
    """The rows; who is missing, but was graded before, is remarked."""
    names = Counter(row.student for row in rows)
    known = {name for name, _ in before}
    ids = {of_whom for _, of_whom in before if of_whom}

    def was(row: Row) -> bool:
        name, number = no_formula(row.student), no_formula(row.id)
        return number in ids or (name, number) in before or (names[row.student] == 1 and name in known)

    return [replace(row, remarks=GONE) if row.status == "missing" and was(row) else row for row in rows]


def gone(rows: Sequence[Row], before: Collection[tuple[str, str]]) -> list[str]:
    """Whom the gradebook had from an earlier run and these hand-ins are not of; without a roster they have no row."""
    if any(row.place >= 0 for row in rows):
        return [row.student for row in rows if row.remarks == GONE]
    return sorted({name for name, _ in before} - {no_formula(row.student) for row in rows})


def strangers(rows: Sequence[Row]) -> list[Row]:
    """Hand-ins that are nobody's in the roster, where there is one."""
    return [row for row in rows if row.place < 0] if any(row.place >= 0 for row in rows) else []


def _of_group(
    place: int, students: Sequence[Student], mine: Mapping[int, list[Graded]], rule: LateRule
) -> list[Graded]:
    """What was handed in by the student or, worth more than that, by another one of the group."""
    student = students[place]
    own = mine.get(place, [])
    if not student.group or len(own) > 1:
        return own
    others = [other for other, member in enumerate(students) if member.pair == student.pair]
    told = next((students[other].submitted for other in others if other not in mine and students[other].submitted), "")
    found = [mine[other][0] for other in others if len(mine.get(other, [])) == 1]
    timed = [(verdict, replace(made, submitted=made.submitted or told)) for verdict, made in found]
    if not timed:  # nobody's for certain
        return next((mine[other] for other in others if other in mine), [])
    return [max(timed, key=lambda item: _worth(item, student, rule))]


def _worth(graded: Graded, student: Student, rule: LateRule) -> tuple[float, float]:
    """Orders a group's submissions: by the score, then by the points."""
    verdict, submission = graded
    days, _ = _late(submission, student, rule)
    return verdict.points - rule.deduction(days or 0, verdict.total), verdict.points


def _late(submission: Submission, student: Student, rule: LateRule) -> tuple[int | None, list[str]]:
    """Days late, if known, with what to say of it."""
    try:
        days, remarks = rule.days(submission.submitted, student.extension_days), []
    except ConfigError as error:
        days, remarks = None, [str(error)]
    if days is None and submission.late:
        remarks.append("late, by an unknown time: give `submitted` in the roster")
    return days, remarks


def _row(
    student: Student,
    graded: Graded,
    rule: LateRule,
    *,
    claims: Sequence[Graded] = (),
    remark: str = "",
    partners: bool = False,
) -> Row:
    verdict, submission = graded
    days, late = _late(submission, student, rule)
    remarks = [remark] if remark else []
    if partners:
        remarks.append(f"handed in by {submission.student}")
    remarks += late
    if not verdict.points and untouched(submission, find_assignment(verdict.assignment)):
        remarks.append("as it was handed out: nothing is written in it")
    if len(claims) > 1:
        told = ", ".join(f"{other.student} ({judged.points:g} points)" for judged, other in claims)
        remarks.append(f"claimed by {len(claims)} submissions, {told}: name the one that counts and grade again")
    deduction = rule.deduction(days or 0, verdict.total)
    unsure = [result.id for result in verdict.results if result.status == NOT_GRADED]
    if unsure:
        remarks.append(f"not graded, rerun: {', '.join(unsure)}")
    if deduction:
        remarks.append(_taken_off(days, deduction))
    return Row(
        student=student.student,
        id=student.id or ("" if partners else submission.identity),
        group=student.group,
        points=verdict.points,
        late_days=days,
        deduction=round(deduction, 2),
        score=round(max(0.0, verdict.points - deduction), 2),
        of=verdict.total,
        status="duplicate" if len(claims) > 1 else verdict.status,
        version=verdict.version,
        remarks="; ".join([*remarks, *verdict.problems]),
        report=report_name(submission),
    )


def _taken_off(days: int | None, deduction: float) -> str:
    return f"late (days begun: {days}): {round(deduction, 2):g} points off"


def lateness(rows: Sequence[Row], submission: Submission) -> list[str]:
    """What is taken off this hand-in, for its report; of several people whose extensions may differ, for each."""
    name = report_name(submission)
    whose = [row for row in rows if row.report == name]
    return [
        f"{row.student}: " * (len(whose) > 1) + _taken_off(row.late_days, row.deduction)
        for row in whose
        if row.deduction
    ]


def with_lateness(verdict: Verdict, rows: Sequence[Row], submission: Submission) -> Verdict:
    """The verdict as its student is told it."""
    return replace(verdict, problems=(*lateness(rows, submission), *verdict.problems))


def report_name(submission: Submission) -> str:
    """Where its report as a page lies, below the folder of the grades."""
    return f"reports/{slug(submission.student)}.html"


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
        writer.writerow([no_formula(value) if isinstance(value, str) else value for value in values])  # None: empty
    return out.getvalue()


def csv_file(rows: Sequence[Row]) -> bytes:
    """The gradebook as a file: spreadsheets know UTF-8 by the mark at its start."""
    return to_csv(rows).encode("utf-8-sig")


def no_formula(text: str) -> str:
    """A cell's text; what a spreadsheet would take for a formula begins with an apostrophe."""
    return f"'{text}" if text.startswith(FORMULA) else text


def summary(
    rows: Sequence[Row],
    verdicts: Sequence[Verdict],
    similar: Sequence[str] = (),
    unclaimed: Sequence[tuple[str, str]] = (),
) -> str:
    """The class as one HTML page: histogram, what each check cost, whom to look at."""
    scores = [row.score for row in rows if row.status == "graded"]
    total = max((row.of for row in rows), default=0.0) or 1.0
    middle = f"median {statistics.median(scores):g}, mean {statistics.fmean(scores):.1f}" if scores else "no submission"
    rates: dict[str, list[float]] = {}
    titles: dict[str, str] = {}
    for verdict in verdicts:
        for result in verdict.results:
            titles[result.id] = result.title
            if result.status != NOT_GRADED:
                rates.setdefault(result.id, []).append(result.earned / result.points)
    checks = "".join(
        f"<tr><td>{escape(title)}</td><td>{f'{statistics.fmean(rates[name]):.0%}' if name in rates else ''}</td>"
        f"<td>{sum(share == 0 for share in rates.get(name, ()))}</td></tr>"
        for name, title in titles.items()
    )
    people = "".join(
        f"<tr><td>{_linked(row)}</td><td>{row.score:g}</td><td>{row.status}</td><td>{escape(row.remarks)}</td></tr>"
        for row in rows
    )
    hints = "".join(f"<li>{escape(line)}</li>" for line in similar)
    nobodys = "".join(f"<li>{escape(name)}: {escape(why)}</li>" for name, why in unclaimed)
    title = escape(headline(verdicts[0]) if verdicts else "no submissions")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
        f"<h1>{title}</h1><p>{len(scores)} graded of {len(rows)}; {middle}</p>{histogram(scores, top=total)}"
        f"<h2>Rubric</h2><table><tr><th>check</th><th>mean share</th><th>without a point</th></tr>{checks}</table>"
        f"<h2>Students</h2><table><tr><th>student</th><th>score</th><th>status</th><th>remarks</th></tr>{people}</table>"
        + (f"<h2>Similar files: hints, no verdicts</h2><ul>{hints}</ul>" if hints else "")
        + (f"<h2>Received, and nobody's</h2><ul>{nobodys}</ul>" if nobodys else "")
        + "</html>\n"
    )


def _linked(row: Row) -> str:
    name = escape(row.student)
    return f'<a href="{escape(row.report)}">{name}</a>' if row.report else name
