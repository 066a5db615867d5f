"""Self-checks: try a student's work on cases with known results, and explain what is wrong.

A check passes, or raises CheckFailed (or Todo, when there is nothing to check yet) with a text of a few lines: the
case, what came, and a hint: for a mistake that is often made which one, else the direction. The value expected is told
at the third try. It returns within seconds whatever the work does: an endless loop, an exception, NaN, a value of a
wrong type.
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
"""So many failed tries of an exercise get a hint alone."""
UNITS = {8: "8 times", 1e3: "a thousand times", 1e6: "a million times", 1e9: "a billion times"}


class SelfCheck:
    """The checks of one session; it counts the tries at each exercise until one passes."""

    def __init__(self) -> None:
        self._failed: Counter[str] = Counter()

    def check(self, name: str, work: Any) -> None:
        """Check `work` (a function, a number, a class) as the exercise `name` asks.

        Prints one line when all is well, else raises CheckFailed with the explanation, or Todo.
        """
        if name not in EXERCISES:
            raise ConfigError(f"check {name!r}: allowed is one of {', '.join(EXERCISES)}")
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
        print(f"✓ {name}: {exercise.praise or exercise.asks + ', as it should be.'}")


check = SelfCheck().check


def _hint_alone(complaint: str) -> str:
    """A trial's complaint without the line that tells the value."""
    return "\n".join(line for line in complaint.split("\n") if not line.startswith(VALUE))


def _try_cases(exercise: Exercise, work: Any, *, told: bool) -> str:
    if not callable(work):
        return f"expected a function that returns {exercise.asks}; came {show(work)}."
    for case in exercise.cases:
        # A copy: work that empties its list must not change what the next attempt is given.
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
    came = float(outcome.value)
    if math.isclose(came, case.expected, rel_tol=exercise.tolerance, abs_tol=1e-12):
        return ""
    for wrong, why in case.mistakes.items():
        if math.isclose(came, wrong, rel_tol=1e-3, abs_tol=1e-12):
            return f"came {came:.6g}: {why}"
    return f"came {came:.6g}{_hint(came, case.expected)}"


def _hint(came: float, expected: float) -> str:
    """In which direction it is wrong, or by which unit."""
    if came * expected < 0:
        return ": the sign is wrong."
    for factor, words in UNITS.items():
        for wrong, side in ((expected * factor, "large"), (expected / factor, "small")):
            if expected and math.isclose(came, wrong, rel_tol=1e-3):
                return f", which is {words} too {side}: a unit?"
    return f", which is too {'large' if abs(came) > abs(expected) else 'small'}."
