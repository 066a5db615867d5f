"""Self-checks: try a student's work on cases with known results, and explain what is wrong.

A check passes, or raises CheckFailed (or Todo, when there is nothing to check yet) with a text of a few lines: the
case, what was expected and what came, and, for a mistake that is often made, which one. It returns within seconds
whatever the work does: an endless loop, an exception, NaN, a value of a wrong type.
"""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any

from pacelab.lab.errors import CheckFailed, Todo
from pacelab.lab.exercise import LIMIT_S, Case, Exercise, complain_about_number, show
from pacelab.lab.exercises import EXERCISES
from pacelab.lab.limited import Outcome, call_limited


def check(name: str, work: Any) -> None:
    """Check `work` (a function, a number, a class) as the exercise `name` asks.

    Prints one line when all is well, else raises CheckFailed with the explanation, or Todo.
    """
    if name not in EXERCISES:
        raise ValueError(f"check {name!r}: allowed is one of {', '.join(EXERCISES)}")
    exercise = EXERCISES[name]
    complaint = exercise.trial(work) if exercise.trial is not None else _try_cases(exercise, work)
    if complaint:
        raise CheckFailed(f"✗ {name}: {complaint}")
    print(f"✓ {name}: {exercise.praise or exercise.asks + ', as it should be.'}")


def _try_cases(exercise: Exercise, work: Any) -> str:
    if not callable(work):
        return f"expected a function that returns {exercise.asks}; came {show(work)}."
    for case in exercise.cases:
        # A copy: work that empties its list must not change what the next attempt is given.
        outcome = call_limited(work, deepcopy(dict(case.arguments)), limit_s=LIMIT_S)
        complaint = _judge(exercise, case, outcome)
        if complaint:
            given = ", ".join(f"{name}={value!r}" for name, value in case.arguments.items())
            called = f"{getattr(work, '__name__', 'your function')}({given})"
            expected = f"expected {case.expected:.6g} ({case.source})"
            return f"{called}\n  {expected}\n  {complaint}\n  It should return {exercise.asks}."
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
        if math.isclose(came, wrong, rel_tol=exercise.tolerance, abs_tol=1e-12):
            return f"came {came:.6g}: {why}"
    return f"came {came:.6g}."
