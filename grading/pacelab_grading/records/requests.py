"""Regrade requests: a CSV that students fill, and a worksheet with what each request is about.

student   name, id or e-mail address (required)
check     id of a check; empty: the whole hand-in
request   what the student asks (required)

A request is open until a correction (`adjust`) has the same student and check. To decide a request, copy its line of
the worksheet into the corrections, and fill in `points` and `reason`. A line that fits no hand-in costs nobody else
anything: the worksheet says why.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pacelab import ConfigError
from pacelab_grading.receive.submission import Submission
from pacelab_grading.records.adjust import Adjustment, hand_in_finder
from pacelab_grading.records.gradebook import no_formula, without_apostrophe
from pacelab_grading.records.roster import Student
from pacelab_grading.records.tables import read_columns
from pacelab_grading.rubric.verdict import Verdict
from pacelab_grading.text.printable import printable

COLUMNS = ("student", "check", "request")
WORKSHEET = ("student", "check", "points", "reason", "request", "state", "earned", "of", "result")
OPEN, DECIDED = "open", "decided"
MAX_REQUEST = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One line of a student."""

    student: str
    check: str
    text: str
    hand_in: str = ""
    """Name of the hand-in; empty if there is none."""
    problem: str = ""
    """Why it cannot be assigned."""
    decision: Adjustment | None = None

    @property
    def state(self) -> str:
        """open, decided, or the problem."""
        return self.problem or (DECIDED if self.decision else OPEN)


def read_requests(path: Path) -> list[Request]:
    """The requests of a file. Raises ConfigError with the line of the problem."""
    return [
        Request(
            student=printable(without_apostrophe(cells["student"]), 200),
            check=printable(cells["check"], 80),
            text=printable(without_apostrophe(cells["request"]), MAX_REQUEST),
        )
        for _, cells in read_columns(path, f"requests {str(path)!r}", COLUMNS, ("student", "request"))
    ]


def assigned(
    requests: Sequence[Request],
    submissions: Sequence[Submission],
    students: Sequence[Student],
    adjustments: Sequence[Adjustment],
) -> list[Request]:
    """The requests with their hand-ins and decisions. `adjustments` have the names of hand-ins."""
    find = hand_in_finder(submissions, students)
    decisions = {(item.student, item.check): item for item in adjustments}
    found = []
    for request in requests:
        try:
            name = find(request.student, "not assigned").student
        except ConfigError as error:
            found.append(replace(request, problem=str(error)))
            continue
        decision = decisions.get((name, request.check)) or decisions.get((name, ""))
        found.append(replace(request, hand_in=name, decision=decision))
    return found


def with_requests(verdict: Verdict, requests: Sequence[Request]) -> Verdict:
    """The verdict with the open requests of its student, as the report shows it."""
    mine = [request for request in requests if request.hand_in == verdict.student and request.state == OPEN]
    lines = [
        f"regrade request for {request.check or 'the hand-in'}, not yet decided: {request.text}" for request in mine
    ]
    return replace(verdict, problems=(*lines, *verdict.problems))


def worksheet(requests: Sequence[Request], verdicts: Sequence[Verdict]) -> bytes:
    """The requests as a CSV, open ones first, with the points and the result that each request is about."""
    by_name = {verdict.student: verdict for verdict in verdicts}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(WORKSHEET)
    for request in sorted(requests, key=lambda item: item.state == DECIDED):
        verdict = by_name.get(request.hand_in)
        earned, most, result = ("", "", "") if verdict is None else _about(verdict, request.check)
        points, reason = (
            ("", "") if request.decision is None else (f"{request.decision.points:g}", request.decision.reason)
        )
        name = request.hand_in or request.student
        cells = (name, request.check, points, reason, request.text, request.state, earned, most, result)
        writer.writerow([no_formula(cell) for cell in cells])
    return out.getvalue().encode("utf-8-sig")


def _about(verdict: Verdict, check: str) -> tuple[str, str, str]:
    """Earned points, possible points and result of the hand-in or of one of its checks."""
    if not check:
        return f"{verdict.points:g}", f"{verdict.total:g}", "unreadable" if verdict.unreadable else verdict.status
    for result in verdict.results:
        if result.id == check:
            shown = f"{result.status}; expected {result.expected}; got {result.got}" if result.got else result.status
            return f"{result.earned:g}", f"{result.points:g}", shown
    return "", "", f"no such check; there are {', '.join(result.id for result in verdict.results)}"
