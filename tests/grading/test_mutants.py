"""Every mutant of every model solution loses points, or is listed as the same algorithm, with the reason.

`make test-rubric` makes them all; `make test` a sample, without simulations.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from pacelab.grading.assignment import Assignment
from pacelab.grading.assignments import ASSIGNMENTS
from pacelab.grading.judge import Listener, Terms, Verdict, judge
from pacelab.grading.receive.submission import Submission
from pacelab.grading.sandbox import Walls

EarnsAll = Callable[[Callable[[Listener], Verdict]], bool]

NO_WALLS = Walls(bubblewrap=None, own_user=False, cgroup=None, none=True)
SAMPLE = 25
"""Every so many are made by `make test`."""


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MUTANTS = load("mistakes")
EQUIVALENT = MUTANTS.EQUIVALENT


def of(number: int, *, simulates: bool) -> Assignment:
    """With the checks that run simulations, or with the others."""
    assignment = replace(ASSIGNMENTS[number])
    kept = tuple(check for check in assignment.checks if check.simulates == simulates)
    object.__setattr__(assignment, "checks", kept)
    return assignment


def graded(source: str, assignment: Assignment, tell: Listener = lambda _kind, _value: None) -> Verdict:
    submission = Submission(student="s", source=source)
    return judge(submission, assignment, walls=NO_WALLS, terms=Terms(key="mutants"), tell=tell)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("number", ASSIGNMENTS)
def test_no_wrong_mutant_earns_full_marks(number: int, earns_all: EarnsAll) -> None:
    full = "PACELAB_FULL_RUBRIC" in os.environ
    known = EQUIVALENT[number]
    made = list(MUTANTS.mutants(ASSIGNMENTS[number].model))
    assert len(made) > 70
    assert known.keys() <= {told for told, _ in made}, "listed, but no mutant any more"
    quick, simulated = (of(number, simulates=simulates) for simulates in (False, True))
    alive = [
        (told, source)
        for told, source in (made if full else made[::SAMPLE])
        if told not in known and earns_all(lambda tell, source=source: graded(source, quick, tell))
    ]
    if full:
        verdicts = [(told, graded(source, simulated)) for told, source in alive]
        assert not [told for told, verdict in verdicts if verdict.points == verdict.total]
    else:
        assert not [told for told, _ in alive if told not in MUTANTS.SIMULATED]
