"""Realistic hand-ins: no hand-in loses points for the form of its file, and an unreadable one gets a status, not a
zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from grading.tests.hand_ins import AIR, HAND_INS, MORE, UNREADABLE, HandIn, cells, changed, script
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


def graded(
    hand_in: HandIn, folder: Path, process: JudgeProcess, around: Walls = NO_WALLS, *, only: Sequence[str] | None = None
) -> Verdict:
    place = folder / hand_in.name
    for name, content in hand_in.files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    (submission,) = collect([place], ASSIGNMENT, read=process.read).submissions
    return judge(submission, UNSIMULATED, walls=around, only=only)


def test_there_are_thirty_eight_that_can_be_read() -> None:
    assert len({hand_in.name for hand_in in HAND_INS}) == 38


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("hand_in", HAND_INS, ids=lambda hand_in: hand_in.name)
def test_the_form_of_a_file_costs_nothing(hand_in: HandIn, tmp_path: Path, judge_process: JudgeProcess) -> None:
    verdict = graded(hand_in, tmp_path, judge_process)
    assert_all_points(hand_in, verdict)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("hand_in", MORE, ids=lambda hand_in: hand_in.name)
def test_a_statement_that_cannot_run_costs_nothing(
    hand_in: HandIn, tmp_path: Path, judge_process: JudgeProcess, best: Walls
) -> None:
    """What a file does when it is imported matters only to the code that depends on it."""
    verdict = graded(hand_in, tmp_path, judge_process, best, only=("plateau", "fills"))
    assert_all_points(hand_in, verdict, 22)


def assert_all_points(hand_in: HandIn, verdict: Verdict, points: float = 80) -> None:
    assert (verdict.points, verdict.status, verdict.unreadable) == (points, "graded", False), text_report(verdict)
    for part in hand_in.told:
        assert any(part in problem for problem in verdict.problems), verdict.problems
    if not hand_in.told:
        assert not [problem for problem in verdict.problems if "not available" not in problem], verdict.problems


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("hand_in", UNREADABLE, ids=lambda hand_in: hand_in.name)
def test_an_unreadable_hand_in_has_a_status_with_the_reason(
    hand_in: HandIn, tmp_path: Path, judge_process: JudgeProcess, best: Walls
) -> None:
    verdict = graded(hand_in, tmp_path, judge_process, best, only=("plateau",))
    submissions = collect([tmp_path / hand_in.name], ASSIGNMENT, read=judge_process.read).submissions
    (row,) = gradebook([verdict], submissions, [], rule=LateRule(), assignment=ASSIGNMENT)
    assert row.status == "unreadable"
    for part in hand_in.told:
        assert any(part in problem for problem in verdict.problems), verdict.problems
        assert part in text_report(verdict)
    assert "Remarks" in html_report(verdict)


NUMPY_AIR = (AIR, "return int(np.ceil(hops / REUSE_HOPS))")
INSIDE = (AIR, f"import numpy as np\n    {NUMPY_AIR[1]}")


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("source", "told"),
    [(changed(NUMPY_AIR, head="import numpy as np\n"), True), (changed(INSIDE), False)],
    ids=["at-the-top", "in-the-function"],
)
@pytest.mark.parametrize("notebook_", [False, True], ids=["script", "notebook"])
def test_numpy_that_is_used_costs_the_checks_that_use_it_and_the_report_says_why(
    source: str, told: bool, notebook_: bool, tmp_path: Path, judge_process: JudgeProcess, best: Walls
) -> None:
    hand_in = cells("numpy", source) if notebook_ else script("numpy", source)
    verdict = graded(hand_in, tmp_path, judge_process, best)
    lost = {result.id: result for result in verdict.results if result.earned < result.points}
    assert set(lost) == {"reuse"}, text_report(verdict)
    assert "only Python's standard library and your own files are available: use these" in lost["reuse"].got
    if told:
        assert any("numpy" in problem and "is not available when" in problem for problem in verdict.problems)
