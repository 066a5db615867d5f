"""Realistic hand-ins: no hand-in loses points for the form of its file, and an unreadable one gets a status, not a
zero.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grading.tests.hand_ins import HAND_INS, UNREADABLE, HandIn
from pacelab_grading.assignments import find_assignment
from pacelab_grading.judging.judge import judge
from pacelab_grading.judging.process import JudgeProcess
from pacelab_grading.receive.collect import collect
from pacelab_grading.records.gradebook import gradebook
from pacelab_grading.records.report import html_report, text_report
from pacelab_grading.records.roster import LateRule
from pacelab_grading.rubric.verdict import Verdict
from pacelab_grading.sandbox.box import Walls

ASSIGNMENT = find_assignment(2)
NO_WALLS = Walls(bubblewrap=None, own_user=False, cgroup=None, none=True)
UNSIMULATED = replace(ASSIGNMENT)
object.__setattr__(UNSIMULATED, "checks", tuple(check for check in ASSIGNMENT.checks if not check.simulates))


def graded(hand_in: HandIn, folder: Path, process: JudgeProcess) -> Verdict:
    place = folder / hand_in.name
    for name, content in hand_in.files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    (submission,) = collect([place], ASSIGNMENT, read=process.read).submissions
    return judge(submission, UNSIMULATED, walls=NO_WALLS)


def test_there_are_thirty_eight_that_can_be_read() -> None:
    assert len({hand_in.name for hand_in in HAND_INS}) == 38


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("hand_in", HAND_INS, ids=lambda hand_in: hand_in.name)
def test_the_form_of_a_file_costs_nothing(hand_in: HandIn, tmp_path: Path, judge_process: JudgeProcess) -> None:
    verdict = graded(hand_in, tmp_path, judge_process)
    assert (verdict.points, verdict.status, verdict.unreadable) == (80, "graded", False), text_report(verdict)
    for part in hand_in.told:
        assert any(part in problem for problem in verdict.problems), verdict.problems
    if not hand_in.told:
        assert not [problem for problem in verdict.problems if "not available" not in problem], verdict.problems


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("hand_in", UNREADABLE, ids=lambda hand_in: hand_in.name)
def test_an_unreadable_hand_in_has_a_status_with_the_reason(
    hand_in: HandIn, tmp_path: Path, judge_process: JudgeProcess
) -> None:
    verdict = graded(hand_in, tmp_path, judge_process)
    submissions = collect([tmp_path / hand_in.name], ASSIGNMENT, read=judge_process.read).submissions
    (row,) = gradebook([verdict], submissions, [], rule=LateRule(), assignment=ASSIGNMENT)
    assert row.status == "unreadable"
    for part in hand_in.told:
        assert any(part in problem for problem in verdict.problems), verdict.problems
        assert part in text_report(verdict)
    assert "Remarks" in html_report(verdict)
