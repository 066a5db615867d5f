"""The instructor's key: other parameters under each, and the same right answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pacelab.grading.assignments import ASSIGNMENTS
from pacelab.grading.judge import Terms, Verdict, judge
from pacelab.grading.receive.submission import Submission
from pacelab.grading.sandbox import Walls

NO_WALLS = Walls(bubblewrap=None, own_user=False, cgroup=None, none=True)


def judged(number: int, key: str, *, only: str = "", change: tuple[str, str] = ("", "")) -> Verdict:
    """The model solution with this change, by the checks that simulate nothing."""
    assignment = replace(ASSIGNMENTS[number])
    kept = tuple(check for check in assignment.checks if not check.simulates and only in ("", check.id))
    object.__setattr__(assignment, "checks", kept)
    source = (assignment.path / "model.py").read_text(encoding="utf-8")
    assert change[0] in source
    submission = Submission(student="s", source=source.replace(*change))
    return judge(submission, assignment, walls=NO_WALLS, terms=Terms(key=key))


@pytest.mark.parametrize("number", [2, 4, 5])
def test_the_model_earns_all_under_any_key(number: int) -> None:
    for key in range(12):
        verdict = judged(number, f"key {key}")
        assert verdict.points == verdict.total, key


NEVER = ("self._uniform() < probability", "self._uniform() < 0")
ALWAYS = ("self._uniform() < probability", "self._uniform() >= 0")


@pytest.mark.parametrize(
    ("check", "change"), [("draws", NEVER), ("learns", NEVER), ("broadcasts", NEVER), ("alike", ALWAYS)]
)
def test_what_a_hook_is_asked_is_the_keys(check: str, change: tuple[str, str]) -> None:
    """A table of what one key asks earns nothing under another: probabilities and draws are others."""
    said = set()
    for key in range(8):
        (result,) = judged(4, f"key {key}", only=check, change=change).results
        assert result.earned == 0
        said.add(result.expected)
    assert len(said) >= 4
