"""Every mutant of every model solution loses points, or is listed as the same algorithm, with the reason.

`make test-rubric` makes them all; `make test` a sample, without simulations.
"""

from __future__ import annotations

import importlib.util
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import FrameType, ModuleType

import pytest

from pacelab.grading.assignments import ASSIGNMENTS
from pacelab.grading.judge import Terms, judge
from pacelab.grading.receive.submission import Submission
from pacelab.grading.sandbox import Walls

NO_WALLS = Walls(bubblewrap=None, own_user=False, cgroup=None, none=True)
SAMPLE = 25
"""Every so many are made by `make test`."""
PATIENCE_S, AGAIN_S = 2.0, 0.05


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MUTANTS, EQUIVALENT = load("mutants"), load("equivalent").EQUIVALENT


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    """A mutant may loop for ever, in this very process: each round of it ends in an exception."""

    def late(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def survives(number: int, source: str, *, simulated: bool) -> bool:
    assignment = replace(ASSIGNMENTS[number])
    kept = tuple(check for check in assignment.checks if simulated or not check.simulates)
    object.__setattr__(assignment, "checks", kept)
    if not simulated:
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_S, AGAIN_S)
    try:
        verdict = judge(Submission(student="s", source=source), assignment, walls=NO_WALLS, terms=Terms(key="mutants"))
    except TimeoutError:
        return False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return verdict.points == verdict.total


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("number", ASSIGNMENTS)
def test_no_wrong_mutant_earns_full_marks(number: int) -> None:
    full = "PACELAB_FULL_RUBRIC" in os.environ
    known = EQUIVALENT[number]
    made = list(MUTANTS.mutants(ASSIGNMENTS[number].model))
    assert len(made) > 70
    assert known.keys() <= {told for told, _ in made}, "listed, but no mutant any more"
    alive = [
        (told, source)
        for told, source in (made if full else made[::SAMPLE])
        if told not in known and survives(number, source, simulated=False)
    ]
    if full:
        alive = [(told, source) for told, source in alive if survives(number, source, simulated=True)]
    else:
        alive = [(told, source) for told, source in alive if told not in load("equivalent").SIMULATED]
    assert not [told for told, _ in alive]
