"""Self-checks: try a student's work on cases with known results, and explain what is wrong.

A check passes or raises CheckFailed (Todo if the work is not written yet). The text of CheckFailed has a few lines:
the case, the student's result and a hint. The hint names the mistake if it is a common one, and else the direction.
From the third try on the text also has the expected value. A check returns within seconds whatever the work does: an
endless loop, an exception, NaN, a value of a wrong type.

The check of a design runs the simulator with the student's design and shows each goal with what was measured.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from types import MappingProxyType
from typing import Any

from pacelab.domains import plain
from pacelab.errors import ConfigError, in_columns
from pacelab_labs.design import Design
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
    show_value,
)
from pacelab_labs.hints import HINTS
from pacelab_labs.lab0 import LAB0
from pacelab_labs.lab1 import LAB1
from pacelab_labs.lab2 import LAB2
from pacelab_labs.lab3 import LAB3
from pacelab_labs.lab4 import LAB4
from pacelab_labs.lab5 import LAB5
from pacelab_labs.lab6 import LAB6
from pacelab_labs.lab7 import LAB7
from pacelab_labs.lab8 import LAB8
from pacelab_labs.solutions import solution

EXERCISES: Mapping[str, Exercise] = MappingProxyType(LAB0 | LAB1 | LAB2 | LAB3 | LAB4 | LAB5 | LAB6 | LAB7 | LAB8)
"""Name, "labN.what" -> exercise. Expected values are by hand or from the papers, never from a formula in here."""


SILENT = 2
"""The number of failed tries that get a hint without the expected value."""
UNITS = {8: "8 times", 1e3: "1000 times", 1e6: "a million times", 1e9: "a billion times"}


class SelfCheck:
    """The checks of one session: it counts the tries at each exercise until one passes, and the hints."""

    def __init__(self) -> None:
        self._failed: Counter[str] = Counter()
        self._hints: Counter[str] = Counter()
        self._credit = False

    def check(self, name: str, work: Any) -> None:
        """Check `work` (a function, a number, a class) as the exercise `name` requires.

        Prints one line if the work is right. Otherwise raises CheckFailed with the explanation, or Todo.
        """
        exercise = self._exercise(name)
        told = self._failed[name] >= SILENT
        with cut_prints():
            complaint, shown = _try(exercise, work, told=told)
        if exercise.trial and not told:
            complaint = _hint_alone(complaint)
        if complaint:
            self._failed[name] += 1
            stuck = f'\n  Stuck? lab.hint("{name}") gives a hint.' if self._failed[name] > 1 else ""
            raise CheckFailed(f"✗ {name}: {complaint}{stuck}")
        del self._failed[name]
        print(in_columns(f"✓ {name}: {exercise.praise or f'correct ({exercise.asks}).'}{shown}"))

    def hint(self, name: str) -> None:
        """Print the next hint on the exercise; after the last one a solution, unless the lab is for credit."""
        self._exercise(name)
        hints, rung = HINTS[name], self._hints[name]
        if rung < len(hints):
            self._hints[name] += 1
            print(in_columns(f"Hint {rung + 1} of {len(hints)}: {hints[rung]}"))
        elif self._credit:
            print("There are no more hints. This lab is for credit, so it shows no solution. Ask your instructor.")
        else:
            print(f"A solution:\n\n{solution(name)}")

    def for_credit(self) -> None:
        """Let `hint` show no solutions from now on. The first cell of a notebook for credit calls this."""
        self._credit = True

    def _exercise(self, name: str) -> Exercise:
        if name not in EXERCISES:
            raise ConfigError(f"no such check: {name!r}; must be one of {', '.join(EXERCISES)}")
        return EXERCISES[name]


_SESSION = SelfCheck()
check, hint, for_credit = _SESSION.check, _SESSION.hint, _SESSION.for_credit


def _try(exercise: Exercise, work: Any, *, told: bool) -> tuple[str, str]:
    """An error message, and the measurements of a design that passes."""
    if exercise.design:
        return _try_design(exercise, exercise.design, work)
    return (exercise.trial(work) if exercise.trial else _try_cases(exercise, work, told=told)), ""


def _try_design(exercise: Exercise, design: Design, work: Any) -> tuple[str, str]:
    if not callable(work):
        return f"expected a function that returns {exercise.asks}; got {show(work)}.", ""
    shown = ""
    for case in design.cases:
        outcome = call_limited(work, deepcopy(dict(case)), limit_s=LIMIT_S)
        if outcome.todo:
            raise Todo(f"write the function; it should return {exercise.asks}.")
        called = _call_text(work, case)
        if outcome.failure:
            return f"{called}\n  {outcome.failure}", ""
        try:
            goals = design.goals(plain(outcome.value), case)
        except ValueError as error:
            if outcome.value is None:
                return f"{called}\n  got None: {error}. Does every path return it?", ""
            return f"{called}\n  got {show(outcome.value)}: {error}.", ""
        shown = "\n  ".join((f"{called} = {show_value(outcome.value)}", *map(str, goals)))
        if not all(goal.met for goal in goals):
            return shown, ""
    return "", f"\n  The last case: {shown}"


def _call_text(work: Any, arguments: Mapping[str, Any]) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return f"{getattr(work, '__name__', 'your function')}({given})"


def _hint_alone(complaint: str) -> str:
    """A trial's error message without the line that has the expected value."""
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
            lines = [
                _call_text(work, case.arguments),
                *([f"expected {case.expected:.6g} ({case.source})"] if told else []),
                complaint,
            ]
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
