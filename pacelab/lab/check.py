"""Self-checks: try a student's work on cases with known results, and explain what is wrong.

A check passes, or raises CheckFailed (or Todo, when there is nothing to check yet) with a text of a few lines: the
case, what was expected and what came, and, for a mistake that is often made, which one. It returns within seconds
whatever the work does: an endless loop, an exception, NaN, a value of a wrong type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from pacelab.lab.errors import CheckFailed, Todo
from pacelab.lab.limited import Outcome, call_limited

LIMIT_S = 3.0
"""For a function of a few lines. Simulations of an exercise take far less."""

__all__ = ["Case", "CheckFailed", "Exercise", "Todo", "check", "complain_about_number"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One call with its known result."""

    arguments: Mapping[str, Any]
    expected: float
    source: str
    """How the result was found without the formula asked for: by hand, from a paper."""
    mistakes: Mapping[float, str] = field(default_factory=dict)
    """Wrong result -> the misconception that gives it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise:
    """What an exercise asks for, and how it is checked."""

    asks: str
    """In words, with unit: "the four-hop delay in seconds"."""
    cases: tuple[Case, ...] = ()
    tolerance: float = 1e-3
    """Relative, of the cases."""
    trial: Callable[[Any], str] | None = None
    """In place of cases: tries the work, returns a complaint or nothing."""
    praise: str = ""


def check(name: str, work: Any) -> None:
    """Check `work` (a function, a number, a class) as the exercise `name` asks.

    Prints one line when all is well, else raises CheckFailed with the explanation, or Todo.
    """
    from pacelab.lab.exercises import EXERCISES

    if name not in EXERCISES:
        raise ValueError(f"check {name!r}: allowed is one of {', '.join(EXERCISES)}")
    exercise = EXERCISES[name]
    complaint = exercise.trial(work) if exercise.trial is not None else _try_cases(exercise, work)
    if complaint:
        raise CheckFailed(f"✗ {name}: {complaint}")
    print(f"✓ {name}: {exercise.praise or exercise.asks + ', as it should be.'}")


def _try_cases(exercise: Exercise, work: Any) -> str:
    if not callable(work):
        return f"expected a function that returns {exercise.asks}; came {_show(work)}."
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


def complain_about_number(value: Any, *, none: str = "does it return its result, on every path?") -> str:
    """What is wrong with a value that should be a finite number, or nothing; `none` is asked of one that is None."""
    if value is None:
        return f"came None: {none}"
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        return f"came {_show(value)}, which is no number."
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        return f"came {_show(value)}, which is no single number ({error})."
    if math.isnan(number):
        return "came NaN: a 0/0 or inf - inf on the way?"
    if math.isinf(number):
        return f"came {number}: a division by something that became 0?"
    return ""


def _show(value: Any) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
