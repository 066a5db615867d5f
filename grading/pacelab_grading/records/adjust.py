"""Corrections by hand that last: a CSV that `pacelab grade` applies in each run.

student   name of the hand-in, as in the gradebook (required)
check     id of a check; empty: the whole hand-in
points    points for that check, or for the whole hand-in (required)
reason    shown in the report and in the gradebook (required)
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pacelab import ConfigError
from pacelab_grading.records.roster import delimiter, read_table
from pacelab_grading.rubric.verdict import FAILED, NOT_GRADED, PARTIAL, PASSED, Result, Verdict
from pacelab_grading.text.printable import printable

COLUMNS = ("student", "check", "points", "reason")
REQUIRED = ("student", "points", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjustment:
    """One correction."""

    student: str
    check: str
    points: float
    reason: str


def read_adjustments(path: Path) -> list[Adjustment]:
    """The corrections of a file. Raises ConfigError with the line of the problem."""
    text = read_table(path)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter(text))
    header = [name.strip().casefold() for name in reader.fieldnames or ()]
    if not set(REQUIRED) <= set(header):
        raise ConfigError(f"--adjust {path} has the columns {', '.join(header) or 'none'}; give {', '.join(COLUMNS)}")
    found = []
    for line in reader:
        cells = {(name or "").strip().casefold(): (value or "").strip() for name, value in line.items() if name}
        if any(cells.values()):
            found.append(_adjustment(cells, f"--adjust {path}, line {reader.line_num}"))
    return found


def _adjustment(cells: dict[str, str], place: str) -> Adjustment:
    try:
        points = float(cells["points"].replace(",", "."))
    except ValueError:
        points = math.nan
    if not (math.isfinite(points) and points >= 0):
        raise ConfigError(f"{place}: points must be a number of at least 0, not {cells['points']!r}")
    if not cells["student"] or not cells["reason"]:
        raise ConfigError(f"{place}: student and reason must not be empty")
    reason = printable(cells["reason"], 300)
    return Adjustment(student=cells["student"], check=cells.get("check", ""), points=points, reason=reason)


def adjusted(verdicts: Sequence[Verdict], adjustments: Sequence[Adjustment]) -> list[Verdict]:
    """The verdicts with the corrections. Raises ConfigError for an unknown student or check."""
    found = {verdict.student: verdict for verdict in verdicts}
    for item in adjustments:
        if item.student not in found:
            known = ", ".join(sorted(found)[:10]) or "none"
            raise ConfigError(
                f"--adjust: no hand-in is called {item.student!r}; give a name of the gradebook ({known})"
            )
        found[item.student] = _adjust(found[item.student], item)
    return [found[verdict.student] for verdict in verdicts]


def _adjust(verdict: Verdict, item: Adjustment) -> Verdict:
    if not item.check:
        problem = f"adjusted by the instructor: {item.points:g} points, not {verdict.points:g}: {item.reason}"
        return replace(
            verdict, points=item.points, status="graded", problems=(problem, *verdict.problems), unreadable=False
        )
    before = next((result for result in verdict.results if result.id == item.check), None)
    if before is None:
        known = ", ".join(result.id for result in verdict.results)
        raise ConfigError(f"--adjust: {item.student} has no check {item.check!r}; give one of {known}")
    results = tuple(_with_points(result, item) if result is before else result for result in verdict.results)
    problem = f"adjusted by the instructor: {item.check} {item.points:g} points, not {before.earned:g}: {item.reason}"
    return replace(
        verdict,
        points=round(verdict.points - before.earned + item.points, 2),
        status="rerun" if any(result.status == NOT_GRADED for result in results) else "graded",
        results=results,
        problems=(problem, *verdict.problems),
        unreadable=False,
    )


def _with_points(result: Result, item: Adjustment) -> Result:
    status = PASSED if item.points >= result.points else PARTIAL if item.points else FAILED
    return replace(result, earned=item.points, status=status)
