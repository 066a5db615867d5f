"""Corrections by hand: a CSV that `pacelab grade` applies in each run.

student   name of the hand-in, or name (in any usual spelling), id or e-mail address of its student in the roster
          (required)
check     id of a check; empty: the whole hand-in
points    points for that check, or for the whole hand-in, before any late penalty (required)
reason    shown in the report and in the gradebook (required)

A correction applies to a hand-in, and so to all students of a group. All lines are checked before grading starts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pacelab import ConfigError
from pacelab_grading.receive.submission import Submission
from pacelab_grading.records.gradebook import without_apostrophe
from pacelab_grading.records.roster import Student, claimed_by, named
from pacelab_grading.records.tables import read_columns
from pacelab_grading.rubric.assignment import TOTAL_POINTS, Assignment
from pacelab_grading.rubric.verdict import FAILED, NOT_GRADED, PARTIAL, PASSED, Result, Verdict
from pacelab_grading.text.printable import casefolded, printable

COLUMNS = ("student", "check", "points", "reason")
REQUIRED = ("student", "points", "reason")
NUMBER = re.compile(r"\d+(?:[.,]\d*)?|[.,]\d+")
"""A sign could mean a difference."""
MAX_REASON = 500
SHOWN = 10
"""Names in a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjustment:
    """One correction."""

    student: str
    check: str
    points: float
    reason: str
    place: str = ""
    """File and line, for messages."""


def read_adjustments(path: Path) -> list[Adjustment]:
    """The corrections of a file. Raises ConfigError with the line of the problem."""
    found: list[Adjustment] = []
    for line, cells in read_columns(path, f"corrections {str(path)!r}", COLUMNS, REQUIRED):
        place = f"corrections {str(path)!r}, line {line}"
        if not cells["student"] or not cells["reason"]:
            raise ConfigError(f"{place}: student and reason must not be empty")
        found.append(
            Adjustment(
                student=without_apostrophe(cells["student"]),
                check=cells["check"],
                points=_points(cells["points"], place),
                reason=printable(cells["reason"], MAX_REASON),
                place=place,
            )
        )
    return found


def _points(text: str, place: str) -> float:
    points = float(text.replace(",", ".")) if NUMBER.fullmatch(text) else math.inf
    if not math.isfinite(points):
        total = "; give the new total, not a difference" if text[:1] in ("+", "-") else ""
        raise ConfigError(f"{place}: points must be a number of at least 0, not {text!r}{total}")
    return points


def checked(
    adjustments: Sequence[Adjustment],
    submissions: Sequence[Submission],
    students: Sequence[Student],
    assignment: Assignment,
) -> list[Adjustment]:
    """The corrections, each with the name of its hand-in. Raises ConfigError for one that cannot be applied."""
    find = hand_in_finder(submissions, students)
    seen: dict[tuple[str, str], str] = {}
    found = []
    for item in adjustments:
        submission = find(item.student, item.place)
        checks = assignment.checks_for(submission.version or assignment.version)
        points = {check.id: check.points for check in checks}
        if item.check and item.check not in points:
            raise ConfigError(
                f"{item.place}: {item.student} has no check {item.check!r}; give one of {', '.join(points)}"
            )
        most = points[item.check] if item.check else TOTAL_POINTS
        if item.points > most:
            raise ConfigError(f"{item.place}: points must be 0 to {most:g}, not {item.points:g}")
        for check in {item.check, ""} if item.check else {*points, ""}:
            if other := seen.get((submission.student, check)):
                raise ConfigError(
                    f"{item.place}: {item.student} already has a correction in {other}; "
                    "keep one for each check, or one for the whole hand-in"
                )
        seen[submission.student, item.check] = item.place.rpartition(", ")[2]
        found.append(replace(item, student=submission.student))
    return found


def hand_in_finder(submissions: Sequence[Submission], students: Sequence[Student]) -> Callable[[str, str], Submission]:
    """A function from what an instructor calls a student, and a place for messages, to the hand-in.

    It raises ConfigError if the name fits no hand-in, or more than one.
    """
    exact = {submission.student: submission for submission in submissions}
    by_name: dict[str, list[Submission]] = {}
    claimed = [[students[place] for place in claimed_by(submission, students)] for submission in submissions]
    having = [student for owners in claimed for student in owners]
    for submission, owners in zip(submissions, claimed, strict=True):
        names = {submission.student, submission.name}
        pairs = {student.pair for student in owners} - {""}
        partners = [student for student in students if student.pair in pairs and student not in having]
        for student in (*owners, *partners):
            names |= {*_names(student), student.group}
        for name in {casefolded(name.strip()) for name in names} - {""}:
            by_name.setdefault(name, []).append(submission)

    def find(name: str, place: str) -> Submission:
        if name in exact:
            return exact[name]
        found = by_name.get(casefolded(name), [])
        spelled = [] if found else [students[number] for number in named(name, students)]
        if spelled:
            found = by_name.get(casefolded(spelled[0].student), [])
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(repr(submission.student) for submission in found)
            raise ConfigError(f"{place}: {name!r} may mean {names}; give one of these names")
        if spelled or any(casefolded(name) in map(casefolded, _names(student)) for student in students):
            raise ConfigError(
                f"{place}: {name!r} has no hand-in; to give points, add a file of this name to the hand-ins"
            )
        known = sorted({student.student for student in having} or exact)
        shown = "; ".join(known[:SHOWN]) + "; ..." * (len(known) > SHOWN)
        raise ConfigError(f"{place}: no hand-in is called {name!r}; give a name of the gradebook ({shown or 'none'})")

    return find


def _names(student: Student) -> set[str]:
    """What an instructor may call a student."""
    return {student.student, student.id, *(value for _, value in student.ids)} - {""}


def adjusted(verdicts: Sequence[Verdict], adjustments: Sequence[Adjustment]) -> list[Verdict]:
    """The verdicts with the corrections, which are `checked`."""
    found: Mapping[str, list[Adjustment]] = {
        verdict.student: [item for item in adjustments if item.student == verdict.student] for verdict in verdicts
    }
    made = []
    for verdict in verdicts:
        for item in found[verdict.student]:
            verdict = _adjust(verdict, item)
        made.append(verdict)
    return made


def _adjust(verdict: Verdict, item: Adjustment) -> Verdict:
    if not item.check:
        line = f"adjusted by the instructor: {item.points:g} points, not {verdict.points:g}: {item.reason}"
        problems = (line, *verdict.problems)
        return replace(verdict, points=item.points, status="graded", problems=problems, unreadable=False)
    before = next(result for result in verdict.results if result.id == item.check)
    results = tuple(_with_points(result, item) if result is before else result for result in verdict.results)
    line = f"adjusted by the instructor: {item.check} {item.points:g} points, not {before.earned:g}: {item.reason}"
    return replace(
        verdict,
        points=round(verdict.points - before.earned + item.points, 2),
        status="rerun" if any(result.status == NOT_GRADED for result in results) else "graded",
        results=results,
        problems=(line, *verdict.problems),
        unreadable=False,
    )


def _with_points(result: Result, item: Adjustment) -> Result:
    status = PASSED if item.points >= result.points else PARTIAL if item.points else FAILED
    return replace(result, earned=item.points, status=status)
