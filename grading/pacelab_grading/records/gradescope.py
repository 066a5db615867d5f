"""Gradescope's results.json."""

from __future__ import annotations

from typing import Any

from pacelab_grading.records.report import check_lines
from pacelab_grading.rubric.verdict import NOT_GRADED, PASSED, STANDARD_NOTES, Verdict

VISIBLE, AFTER_DUE_DATE, HIDDEN = "visible", "after_due_date", "hidden"
VISIBILITIES = (VISIBLE, AFTER_DUE_DATE, HIDDEN)


def results(verdict: Verdict, *, hidden: str = AFTER_DUE_DATE, seconds: float | None = None) -> dict[str, Any]:
    """results.json. Public checks are visible, the others as `hidden` says."""
    tests = []
    for result in verdict.results:
        text = "\n".join(check_lines(result))
        tests.append(
            {
                "name": f"{result.title} ({result.id})",
                "score": result.earned,
                "max_score": result.points,
                "status": "passed" if result.status == PASSED else "failed",
                "output": text + ("\nNOT GRADED: rerun" if result.status == NOT_GRADED else ""),
                "visibility": VISIBLE if result.public else hidden,
            }
        )
    received = ["received:", *(f"  {line}" for line in verdict.received)] if verdict.received else []
    document: dict[str, Any] = {
        "output": "\n".join([*verdict.problems, *received, *verdict.notes[:STANDARD_NOTES]]),
        "visibility": VISIBLE,
        "stdout_visibility": HIDDEN,
        "tests": tests,
    }
    document["score"] = verdict.points
    if verdict.status != "graded":
        document["output"] += "\nSome checks were NOT GRADED: ask for a rerun. The score counts the other checks."
    if seconds is not None:
        document["execution_time"] = round(seconds)
    return document
