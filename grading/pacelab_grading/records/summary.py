"""The class on one HTML page: histogram, what each check cost, students to look at, similar files."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from html import escape

from pacelab_grading.records.gradebook import Row, late_without_time, unmatched_rows
from pacelab_grading.records.report import headline, style
from pacelab_grading.records.requests import DECIDED, Request
from pacelab_grading.rubric.figures import histogram
from pacelab_grading.rubric.verdict import NOT_GRADED, Verdict

LOOK_AT = ("unreadable", "rerun", "duplicate")
"""Statuses whose grade is uncertain."""


def summary(
    rows: Sequence[Row],
    verdicts: Sequence[Verdict],
    similar: Sequence[str] = (),
    unclaimed: Sequence[tuple[str, str]] = (),
    requests: Sequence[Request] = (),
) -> str:
    """The page. `similar`: lines about similar files; `unclaimed`: files of no hand-in, with the reason.

    `requests`: regrade requests.
    """
    scores = [row.score for row in rows if row.status == "graded"]
    total = max((row.of for row in rows), default=0.0) or 1.0
    middle = f"median {statistics.median(scores):g}, mean {statistics.fmean(scores):.1f}" if scores else "no submission"
    first = _list(
        "Look at these first", [f"{_linked(row)}: {row.status}; {escape(row.remarks)}" for row in _to_look_at(rows)]
    )
    undecided = [request for request in requests if request.state != DECIDED]
    first += _list(
        "Regrade requests to decide (requests.csv)",
        [
            escape(f"{item.hand_in or item.student}, {item.check or 'all'}: {item.text} ({item.state})")
            for item in undecided
        ],
    )
    title = escape(headline(verdicts[0]) if verdicts else "no submissions")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{style()}</style>'
        f"<h1>{title}</h1><p>{len(scores)} graded of {len(rows)}; {middle}</p>{first}{histogram(scores, top=total)}"
        f"<h2>Rubric</h2><table><tr><th>check</th><th>mean share</th><th>without a point</th></tr>{_checks(verdicts)}"
        f"</table><h2>Students</h2><table><tr><th>student</th><th>score</th><th>status</th><th>remarks</th></tr>"
        f"{_students(rows)}</table>"
        + _list("Similar files: hints, not verdicts", [escape(line) for line in similar])
        + _list("Received, but of no student", [f"{escape(name)}: {escape(why)}" for name, why in unclaimed])
        + "</html>\n"
    )


def _to_look_at(rows: Sequence[Row]) -> list[Row]:
    """Rows with an uncertain grade, then hand-ins of no student, then late ones without a penalty."""
    found = [row for status in LOOK_AT for row in rows if row.status == status]
    found += unmatched_rows(rows) + late_without_time(rows)
    return list(dict.fromkeys(found))


def _checks(verdicts: Sequence[Verdict]) -> str:
    shares: dict[str, list[float]] = {}
    titles: dict[str, str] = {}
    for verdict in verdicts:
        for result in verdict.results:
            titles[result.id] = result.title
            if result.status != NOT_GRADED and not verdict.unreadable:
                shares.setdefault(result.id, []).append(result.earned / result.points)
    return "".join(
        f"<tr><td>{escape(title)}</td><td>{f'{statistics.fmean(shares[name]):.0%}' if name in shares else ''}</td>"
        f"<td>{sum(share == 0 for share in shares.get(name, ()))}</td></tr>"
        for name, title in titles.items()
    )


def _students(rows: Sequence[Row]) -> str:
    return "".join(
        f"<tr><td>{_linked(row)}</td><td>{row.score:g}</td><td>{row.status}</td><td>{escape(row.remarks)}</td></tr>"
        for row in rows
    )


def _list(title: str, lines: Sequence[str]) -> str:
    return f"<h2>{title}</h2><ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>" if lines else ""


def _linked(row: Row) -> str:
    name = escape(row.student)
    return f'<a href="{escape(row.report)}">{name}</a>' if row.report else name
