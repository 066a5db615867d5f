"""A function of an exercise, called with drawn parameters: each answer must be the model's.

An exercise has parts, each with its points: the first is the thing itself, the others are its corners. A corner counts
only where the thing itself is right: alone it would be earned by a constant.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any

from pacelab.grading.assignment import Check, Wrong
from pacelab.grading.inside.worker import plain
from pacelab.grading.lab import Lab
from pacelab.grading.labs.hand_in import reference

Arguments = dict[str, Any]
Draw = Callable[[Random], Arguments]
TIMES = 6
TOLERANCE = 1e-4
"""Relative: ten times less than in the notebook, where sizes that are a few octets off must only be told from right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One row of the rubric: calls of one kind."""

    id: str
    title: str
    points: float
    draw: Draw | tuple[Draw, ...]
    """Several take turns."""
    hint: str = ""

    def calls(self, draw: Random) -> list[Arguments]:
        """What the function is called with."""
        kinds = self.draw if isinstance(self.draw, tuple) else (self.draw,)
        return [kinds[number % len(kinds)](draw) for number in range(max(TIMES, len(kinds)))]


def each(draw: Callable[..., Arguments], **values: Sequence[Any]) -> tuple[Draw, ...]:
    """One for each of the values of one argument."""
    ((name, choices),) = values.items()
    return tuple(functools.partial(draw, **{name: choice}) for choice in choices)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise:
    """A function that a lab asks for."""

    name: str
    """As `lab.check` knows it."""
    function: str
    parts: tuple[Part, ...]
    above: tuple[str, ...] = ()
    """Functions of other exercises that the student's may call."""
    read: Callable[[Any], Any] = lambda answer: answer
    """Brings answers that say the same into one form."""

    def checks(self, model: Callable[[], str]) -> tuple[Check, ...]:
        """A check for each part; `model` gives the lab's model solution."""
        run = functools.partial(_run, self, model)
        return tuple(
            Check(
                id=part.id,
                title=part.title,
                points=part.points,
                run=functools.partial(run, part),
                needs=(self.function,),
                above=self.above,
                public=part is self.parts[0],
                hint=part.hint or f'`lab.check("{self.name}", {self.function})` says more',
            )
            for part in self.parts
        )


def _run(exercise: Exercise, model: Callable[[], str], part: Part, lab: Lab) -> None:
    function, right = lab.function(exercise.function), reference(model())[exercise.function]
    for other in dict.fromkeys((exercise.parts[0], part)):
        for arguments in other.calls(lab.random(other.id)):
            expected = exercise.read(plain(right(**deepcopy(arguments))))
            got = function(**{name: packed(value) for name, value in arguments.items()})
            if not agree(expected, _read(exercise, got)):
                told = ", ".join(f"{name}={_short(value)}" for name, value in arguments.items())
                first = "" if other is part else "first of all "
                raise Wrong(f"{first}{exercise.function}({told}) = {_short(expected)}", _short(got))


def _read(exercise: Exercise, got: Any) -> Any:
    try:
        return exercise.read(got)
    except (TypeError, ValueError):  # of another form
        return got


def packed(value: Any) -> Any:
    """An argument on its way into the sandbox, where lists stay lists."""
    if isinstance(value, list):
        return {"$list": [packed(item) for item in value]}
    if isinstance(value, set):
        return {"$set": sorted(value)}
    if isinstance(value, Mapping):
        return {"$map": [[key, packed(item)] for key, item in value.items()]}
    return value


def agree(expected: Any, got: Any) -> bool:
    """Whether two plain values are the same, numbers within `TOLERANCE`."""
    if isinstance(expected, list):
        if not isinstance(got, list) or len(got) != len(expected):
            return False
        return all(agree(one, other) for one, other in zip(expected, got, strict=True))
    if isinstance(expected, str) or isinstance(got, bool) or not isinstance(got, int | float):
        return type(expected) is type(got) and bool(expected == got)
    return math.isclose(expected, got, rel_tol=TOLERANCE, abs_tol=1e-12)


def _short(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= 200 else text[:197] + "..."
