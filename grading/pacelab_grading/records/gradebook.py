"""The gradebook: one row for each student of the roster, as CSV."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pacelab import ConfigError
from pacelab_grading.receive.submission import Submission, untouched
from pacelab_grading.records.report import file_stem
from pacelab_grading.records.roster import PLATFORM_IDS, LateRule, Student, matched
from pacelab_grading.rubric.assignment import Assignment
from pacelab_grading.rubric.verdict import NOT_GRADED, Verdict

GRADEBOOK = "gradebook.csv"
COLUMNS = (
    *("student", "id", "group", "points", "late_days", "free_days", "deduction", "score", "of", "status", "version"),
    *("due", "remarks"),
)

FROM_EARLIER_RUN = "no hand-in in this run, but graded by an earlier run"
UNREADABLE = "no check ran: look at the report"
LATE_UNKNOWN = "late, but the time is unknown: add `submitted` to the roster"

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
    free_days: int
    """Late days of the term's budget that this hand-in uses."""
    deduction: float
    score: float
    of: float
    status: str
    """graded, rerun, unreadable, duplicate, missing."""
    version: int | None
    remarks: str
    due: str = ""
    """When the assignment was due, ISO 8601."""
    report: str = ""
    place: int = -1
    """Position in the roster; -1 if the roster has no such student."""


def gradebook(
    verdicts: Sequence[Verdict],
    submissions: Sequence[Submission],
    students: Sequence[Student],
    *,
    rule: LateRule,
    assignment: Assignment,
) -> list[Row]:
    """One row for each student of the roster, in its order; without a roster, one row for each submission.

    The members of a group get the submission of the group that is worth most. The submission time comes from the row of
    the student who handed it in, or else from the platform; extensions are individual. A student with two submissions
    gets the points of the first one for now, and the status `duplicate`: the instructor decides which one counts.
    """
    mine: dict[int, list[Graded]] = {}
    unmatched: list[tuple[Graded, str]] = []
    for verdict, submission in zip(verdicts, submissions, strict=True):
        places, why = matched(submission, students)
        for place in places:
            timed = replace(submission, submitted=students[place].submitted or submission.submitted)
            mine.setdefault(place, []).append((verdict, timed))
        if not places:
            unmatched.append(((verdict, submission), why if students else ""))
    rows = []
    kinds = {kind for made in submissions for kind in PLATFORM_IDS.get(made.platform, ())}
    for place, student in enumerate(students):
        found = _of_group(place, students, mine, rule)
        own = {made.student for _, made in mine.get(place, ())}
        partners = bool(found) and found[0][1].student not in own
        row = _missing(student, verdicts, rule)
        if found:
            row = _row(student, found[0], rule, assignment, claims=found, partners=partners)
        numbers = (value for kind, value in student.ids if kind in kinds)
        rows.append(replace(row, place=place, id=row.id or next(numbers, "")))
    for graded, remark in unmatched:
        student = Student(student=graded[1].student, id=graded[1].identity)
        rows.append(_row(student, graded, rule, assignment, remark=remark))
    return rows


def graded_before(path: Path) -> set[tuple[str, str]]:
    """Name and id of each student who has a hand-in in the gradebook of an earlier run, or had one before that run."""
    return {
        (line["student"], line["id"])
        for line in read_gradebook(path)
        if line["status"] != "missing" or line["remarks"] == FROM_EARLIER_RUN
    }


def timed_before(path: Path) -> bool:
    """Whether the gradebook of an earlier run says how late a hand-in was."""
    return any(line.get("late_days") for line in read_gradebook(path))


def free_days(rows: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Name and id -> late days of the budget, for the students who used some."""
    used = ((f"{row['student']} {row['id']}", row.get("free_days", "")) for row in rows)
    return {who: days for who, days in used if days not in ("", "0")}


def read_gradebook(path: Path) -> list[dict[str, str]]:
    """The rows of a gradebook; none if the file is missing or is not a gradebook."""
    try:
        found = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline=""))
        return list(found) if {"student", "id", "status", "remarks"} <= set(found.fieldnames or ()) else []
    except (OSError, ValueError, csv.Error):
        return []


def mark_earlier_grades(rows: Sequence[Row], before: Collection[tuple[str, str]]) -> list[Row]:
    """The rows, with a remark for each student who is missing but was graded before."""
    names = Counter(row.student for row in rows)
    known = {name for name, _ in before}
    ids = {of_whom for _, of_whom in before if of_whom}

    def was(row: Row) -> bool:
        name, number = no_formula(row.student), no_formula(row.id)
        return number in ids or (name, number) in before or (names[row.student] == 1 and name in known)

    return [replace(row, remarks=FROM_EARLIER_RUN) if row.status == "missing" and was(row) else row for row in rows]


def missing_now(rows: Sequence[Row], before: Collection[tuple[str, str]]) -> list[str]:
    """Students who were graded by an earlier run and have no hand-in now; without a roster they have no row either."""
    if any(row.place >= 0 for row in rows):
        return [row.student for row in rows if row.remarks == FROM_EARLIER_RUN]
    return sorted({name for name, _ in before} - {no_formula(row.student) for row in rows})


def unmatched_rows(rows: Sequence[Row]) -> list[Row]:
    """Hand-ins that match no student of the roster, if there is a roster."""
    return [row for row in rows if row.place < 0] if any(row.place >= 0 for row in rows) else []


def late_without_time(rows: Sequence[Row]) -> list[Row]:
    """Hand-ins that the platform marks as late, without a time, and so without a late penalty."""
    return [row for row in rows if LATE_UNKNOWN in row.remarks]


def _of_group(
    place: int, students: Sequence[Student], mine: Mapping[int, list[Graded]], rule: LateRule
) -> list[Graded]:
    """The hand-in of the student, or the one of the group that is worth more."""
    student = students[place]
    own = mine.get(place, [])
    if not student.group or len(own) > 1:
        return own
    others = [other for other, member in enumerate(students) if member.pair == student.pair]
    given = next((students[other].submitted for other in others if other not in mine and students[other].submitted), "")
    found = [mine[other][0] for other in others if len(mine.get(other, [])) == 1]
    timed = [(verdict, replace(made, submitted=made.submitted or given)) for verdict, made in found]
    if not timed:  # each of the group has two hand-ins, or none
        return next((mine[other] for other in others if other in mine), [])
    return [max(timed, key=lambda item: _worth(item, student, rule))]


def _worth(graded: Graded, student: Student, rule: LateRule) -> tuple[float, float]:
    """Orders the submissions of a group by score, then by points."""
    verdict, submission = graded
    days, _ = _late(submission, student, rule)
    late = (days or 0) - _free_days(days, student, verdict)
    return verdict.points - rule.deduction(late, verdict.total), verdict.points


def _free_days(days: int | None, student: Student, verdict: Verdict) -> int:
    """Late days that the term's budget pays. A hand-in without points uses none."""
    return min(days or 0, student.days_left) if verdict.points else 0


def _late(submission: Submission, student: Student, rule: LateRule) -> tuple[int | None, list[str]]:
    """Days late, if known, with remarks."""
    try:
        days, remarks = rule.days(submission.submitted, student.extension_days), []
    except ConfigError as error:
        days, remarks = None, [str(error)]
    if days is None and submission.late:
        remarks.append(LATE_UNKNOWN)
    return days, remarks


def _row(
    student: Student,
    graded: Graded,
    rule: LateRule,
    assignment: Assignment,
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
    if not verdict.points and untouched(submission, assignment):
        remarks.append("unchanged: the file is the template as it was handed out")
    if verdict.unreadable:
        remarks.append(UNREADABLE)
    if len(claims) > 1:
        names = ", ".join(f"{other.student} ({judged.points:g} points)" for judged, other in claims)
        remarks.append(f"{len(claims)} hand-ins match this student, {names}: keep the one that counts and grade again")
    free = _free_days(days, student, verdict)
    deduction = rule.deduction((days or 0) - free, verdict.total)
    unsure = [result.id for result in verdict.results if result.status == NOT_GRADED]
    if unsure and verdict.status == "rerun":
        remarks.append(f"not graded, rerun: {', '.join(unsure)}")
    if free or deduction:
        remarks.append(_taken_off(days, free, deduction))
    return Row(
        student=student.student,
        id=student.id or ("" if partners else submission.identity),
        group=student.group,
        points=verdict.points,
        late_days=days,
        free_days=free,
        deduction=round(deduction, 2),
        score=round(max(0.0, verdict.points - deduction), 2),
        of=verdict.total,
        status="duplicate" if len(claims) > 1 else "unreadable" if verdict.unreadable else verdict.status,
        version=verdict.version,
        remarks="; ".join([*remarks, *verdict.problems]),
        due=rule.due_text,
        report=report_name(submission),
    )


def _taken_off(days: int | None, free: int, deduction: float) -> str:
    budget = f", {free} of them free" if free else ""
    return f"late (started days: {days}{budget}): {round(deduction, 2):g} points off"


def lateness(rows: Sequence[Row], submission: Submission) -> list[str]:
    """The late penalty of this hand-in, for its report; one line per student, because extensions may differ."""
    name = report_name(submission)
    whose = [row for row in rows if row.report == name]
    return [
        f"{row.student}: " * (len(whose) > 1)
        + f"{_taken_off(row.late_days, row.free_days, row.deduction)}, score {row.score:g}"
        for row in whose
        if row.deduction or row.free_days
    ]


def as_returned(verdict: Verdict, rows: Sequence[Row], submission: Submission) -> Verdict:
    """The verdict with the late penalty and with the names of its students in the roster, as the report shows it."""
    names = [row.student for row in rows if row.report == report_name(submission)]
    shown = "; ".join(names) or verdict.student
    return replace(verdict, student=shown, problems=(*lateness(rows, submission), *verdict.problems))


def report_name(submission: Submission) -> str:
    """The path of its HTML report below the folder of the grades."""
    return f"reports/{file_stem(submission.student)}.html"


def _missing(student: Student, verdicts: Sequence[Verdict], rule: LateRule) -> Row:
    total = verdicts[0].total if verdicts else 0.0
    return Row(
        student=student.student,
        id=student.id,
        group=student.group,
        points=0.0,
        late_days=None,
        free_days=0,
        deduction=0.0,
        score=0.0,
        of=total,
        status="missing",
        version=None,
        remarks="nothing handed in",
        due=rule.due_text,
    )


def to_csv(rows: Sequence[Row]) -> str:
    """The gradebook as CSV. Cells that a spreadsheet would take for a formula are quoted as text."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        values = [getattr(row, name) for name in COLUMNS]
        writer.writerow([no_formula(value) if isinstance(value, str) else value for value in values])  # None: empty
    return out.getvalue()


def csv_file(rows: Sequence[Row]) -> bytes:
    """The gradebook as a file. Spreadsheets recognize UTF-8 by the byte order mark."""
    return to_csv(rows).encode("utf-8-sig")


def no_formula(text: str) -> str:
    """The text of a cell. If a spreadsheet would take it for a formula, an apostrophe precedes it."""
    return f"'{text}" if text.startswith(FORMULA) else text


def without_apostrophe(text: str) -> str:
    """The text of a cell that `no_formula` wrote."""
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA) else text
