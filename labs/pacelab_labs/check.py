"""Self-checks: try a student's work on cases with known results, and explain what is wrong.

A check passes or raises CheckFailed (Todo if the work is not written yet). The text of CheckFailed has a few lines:
the case, the student's result and a hint. The hint names the mistake if it is a common one, and else the direction.
From the third try on the text also has the expected value. A check returns within seconds whatever the work does: an
endless loop, an exception, NaN, a value of a wrong type.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from types import MappingProxyType
from typing import Any

from pacelab.errors import ConfigError
from pacelab_labs.errors import CheckFailed, Todo
from pacelab_labs.exercise import (
    LIMIT_S,
    VALUE,
    Case,
    Exercise,
    Outcome,
    call_limited,
    complain_about_number,
    complain_about_parameters,
    cut_prints,
    show,
)
from pacelab_labs.lab0 import LAB0
from pacelab_labs.lab1 import LAB1
from pacelab_labs.lab2 import LAB2
from pacelab_labs.lab3 import LAB3
from pacelab_labs.lab4 import LAB4
from pacelab_labs.lab5 import LAB5
from pacelab_labs.lab6 import LAB6
from pacelab_labs.lab7 import LAB7

EXERCISES: Mapping[str, Exercise] = MappingProxyType(LAB0 | LAB1 | LAB2 | LAB3 | LAB4 | LAB5 | LAB6 | LAB7)
"""Name, "labN.what" -> exercise. Expected values are by hand or from the papers, never from a formula in here."""


HINTS = 2
"""The number of failed tries that get a hint without the expected value."""
UNITS = {8: "8 times", 1e3: "1000 times", 1e6: "a million times", 1e9: "a billion times"}


class SelfCheck:
    """The checks of one session; it counts the tries at each exercise until one passes."""

    def __init__(self) -> None:
        self._failed: Counter[str] = Counter()

    def check(self, name: str, work: Any) -> None:
        """Check `work` (a function, a number, a class) as the exercise `name` asks.

        Prints one line if the work is right. Otherwise raises CheckFailed with the explanation, or Todo.
        """
        if name not in EXERCISES:
            raise ConfigError(f"no such check: {name!r}; must be one of {', '.join(EXERCISES)}")
        exercise = EXERCISES[name]
        told = self._failed[name] >= HINTS
        with cut_prints():
            complaint = exercise.trial(work) if exercise.trial else _try_cases(exercise, work, told=told)
        if exercise.trial and not told:
            complaint = _hint_alone(complaint)
        if complaint:
            self._failed[name] += 1
            raise CheckFailed(f"✗ {name}: {complaint}")
        del self._failed[name]
        print(f"✓ {name}: {exercise.praise or f'correct ({exercise.asks}).'}")


check = SelfCheck().check


def _hint_alone(complaint: str) -> str:
    """A trial's complaint without the line with the expected value."""
    return "\n".join(line for line in complaint.split("\n") if not line.startswith(VALUE))


def _try_cases(exercise: Exercise, work: Any, *, told: bool) -> str:
    if not callable(work):
        return f"expected a function that returns {exercise.asks}; got {show(work)}."
    if complaint := complain_about_parameters(work, exercise.cases[0].arguments):
        return complaint
    for case in exercise.cases:
        # A copy: a function that empties its list must not change the arguments of the next try.
        outcome = call_limited(work, deepcopy(dict(case.arguments)), limit_s=LIMIT_S)
        complaint = _judge(exercise, case, outcome)
        if complaint:
            given = ", ".join(f"{name}={value!r}" for name, value in case.arguments.items())
            called = f"{getattr(work, '__name__', 'your function')}({given})"
            lines = [called, *([f"expected {case.expected:.6g} ({case.source})"] if told else []), complaint]
            return "\n  ".join([*lines, f"It should return {exercise.asks}."])
    return ""


def _judge(exercise: Exercise, case: Case, outcome: Outcome) -> str:
    if outcome.todo:
        raise Todo(f"write the function; it should return {exercise.asks}.")
    if outcome.failure:
        return outcome.failure
    complaint = complain_about_number(outcome.value)
    if complaint:
        return complaint
    got = float(outcome.value)
    if math.isclose(got, case.expected, rel_tol=exercise.tolerance, abs_tol=1e-12):
        return ""
    for wrong, why in case.mistakes.items():
        if math.isclose(got, wrong, rel_tol=1e-3, abs_tol=1e-12):
            return f"got {got:.6g}: {why}"
    return f"got {got:.6g}{_hint(got, case.expected)}"


def _hint(got: float, expected: float) -> str:
    """The direction in which the result is wrong, or the unit that it probably has."""
    if got * expected < 0:
        return ": the sign is wrong."
    for factor, words in UNITS.items():
        for wrong, side in ((expected * factor, "large"), (expected / factor, "small")):
            if expected and math.isclose(got, wrong, rel_tol=1e-3):
                return f", {words} too {side}: check the units."
    return f", which is too {'large' if abs(got) > abs(expected) else 'small'}."
