"""`pacelab grade` in four steps: receive, judge, record, report."""

from __future__ import annotations

from pacelab_grading.grade.judged import judge_all
from pacelab_grading.grade.messages import report
from pacelab_grading.grade.options import MOST_UNCERTAIN, UNCERTAIN, UNREADABLE, GradeOptions
from pacelab_grading.grade.received import receive
from pacelab_grading.grade.recorded import record
from pacelab_grading.rubric.assignment import Assignment


def run(options: GradeOptions, assignment: Assignment) -> int:
    """Grade a class; returns the exit code."""
    received = receive(options, assignment)
    judged = judge_all(options, received)
    recorded = record(options, received, judged)
    report(options, received, judged, recorded)
    if recorded.uncertain:
        return UNCERTAIN + min(recorded.uncertain + recorded.unreadable, MOST_UNCERTAIN)
    return UNREADABLE if recorded.unreadable else 0
