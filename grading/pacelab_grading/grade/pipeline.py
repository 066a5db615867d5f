"""`pacelab grade` in four steps: receive, judge, record, report."""

from __future__ import annotations

from pacelab_grading.grade.judged import judge_all
from pacelab_grading.grade.messages import report
from pacelab_grading.grade.options import GradeOptions
from pacelab_grading.grade.received import receive
from pacelab_grading.grade.recorded import record
from pacelab_grading.rubric.assignment import Assignment


def run(options: GradeOptions, assignment: Assignment) -> int:
    """Grade a class; returns how many hand-ins are not graded for certain or match no student of the roster."""
    received = receive(options, assignment)
    judged = judge_all(options, received)
    recorded = record(options, received, judged)
    report(options, received, judged, recorded)
    return recorded.uncertain
