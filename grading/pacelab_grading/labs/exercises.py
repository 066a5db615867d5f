"""A lab as an assignment, and its exercises: functions called with random parameters, compared with the model's
answers.

An exercise has parts, each with its points: the first is the main part, the others are corner cases. A corner case
counts only if the main part is right; otherwise a constant could earn its points. A lab's text is the master's, and its
model the text between BEGIN and END SOLUTION. Lab 0 also asks for the interval of a run's measurements, which must be
PaceLab's interval of the same runs.
"""

from __future__ import annotations

import ast
import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pacelab_labs
from pacelab import Experiment, compare
from pacelab_grading.inside.worker import json_value
from pacelab_grading.receive.notebook import needed
from pacelab_grading.receive.statements import statements_of
from pacelab_grading.rubric.assignment import Assignment, Check
from pacelab_grading.rubric.context import CheckContext
from pacelab_grading.rubric.expect import near
from pacelab_grading.rubric.findings import WrongAnswer
from pacelab_labs.fold import FOLD, FOLD_END

MASTERS = Path(pacelab_labs.__file__).parent / "masters"
SOLUTION = re.compile(r"^( *)# BEGIN SOLUTION\n(.*?)^ *# END SOLUTION\n", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabHandIn(Assignment):
    """One lab. `file` is the name of its master, which is also the name of a student's notebook."""

    @property
    def lean(self) -> bool:
        """The other cells run experiments and draw."""
        return True

    @property
    def handed_out(self) -> str:
        """The master, and as comments what surrounds its cells with answers in the notebook."""
        around = "".join(f"# {line}\n" for line in (FOLD + FOLD_END).splitlines())
        return f"{_text(self.file)}\n{around}"

    @property
    def model(self) -> str:
        """The requested functions and classes with solutions, and the code that they need."""
        return _taken(self.file, self.names, r"\2")

    @property
    def template(self) -> str:
        """The same, as students get it."""
        return _taken(self.file, self.names, r"\1raise lab.Todo\n")


@functools.cache
def _text(file: str) -> str:
    return (MASTERS / file).read_text(encoding="utf-8")


@functools.cache
def _taken(file: str, names: tuple[str, ...], instead: str) -> str:
    text = SOLUTION.sub(instead, _text(file))
    return "\n\n".join(needed(statements_of(ast.parse(text), text.split("\n")), file, names, [])) + "\n"


@functools.cache
def reference(model: str) -> dict[str, Any]:
    """The definitions of a model, run in this process because it is our own code."""
    names: dict[str, Any] = {}
    exec(compile(model, "model", "exec"), names)
    return names


Arguments = dict[str, Any]
Draw = Callable[[Random], Arguments]
TIMES = 6
TOLERANCE = 1e-4
"""Relative, ten times less than in the notebook, which only has to detect sizes that are a few bytes off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One row of the rubric: calls of one kind."""

    id: str
    title: str
    points: float
    draw: Draw | tuple[Draw, ...]
    """Several are used in turn."""
    hint: str = ""

    def calls(self, draw: Random) -> list[Arguments]:
        """The arguments of each call."""
        kinds = self.draw if isinstance(self.draw, tuple) else (self.draw,)
        return [kinds[number % len(kinds)](draw) for number in range(max(TIMES, len(kinds)))]


def each(draw: Callable[..., Arguments], **values: Sequence[Any]) -> tuple[Draw, ...]:
    """One drawing function for each value of an argument."""
    ((name, choices),) = values.items()
    return tuple(functools.partial(draw, **{name: choice}) for choice in choices)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise:
    """A function that a lab asks for."""

    name: str
    """Its name in `lab.check`."""
    function: str
    parts: tuple[Part, ...]
    builds_on: tuple[str, ...] = ()
    """Functions of other exercises that the student's code may call."""
    read: Callable[[Any], Any] = lambda answer: answer
    """Brings equivalent answers into the same form."""

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
                builds_on=self.builds_on,
                public=part is self.parts[0],
                hint=part.hint or f'`lab.check("{self.name}", {self.function})` shows details',
            )
            for part in self.parts
        )


def _run(exercise: Exercise, model: Callable[[], str], part: Part, context: CheckContext) -> None:
    function, right = context.function(exercise.function), reference(model())[exercise.function]
    for other in dict.fromkeys((exercise.parts[0], part)):
        for arguments in other.calls(context.random(other.id)):
            expected = exercise.read(json_value(right(**deepcopy(arguments))))
            got = function(**{name: packed(value) for name, value in arguments.items()})
            if not agree(expected, _read(exercise, got)):
                shown = ", ".join(f"{name}={_short(value)}" for name, value in arguments.items())
                first = "" if other is part else "precondition: "
                raise WrongAnswer(f"{first}{exercise.function}({shown}) = {_short(expected)}", _short(got))


def _read(exercise: Exercise, got: Any) -> Any:
    try:
        return exercise.read(got)
    except (TypeError, ValueError):  # the answer has another form
        return got


def packed(value: Any) -> Any:
    """An argument for the sandbox, in the form that keeps lists as lists."""
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


T = {3: 4.303, 4: 3.182, 5: 2.776}
"""Number of samples -> Student's t of the 95 % interval, as in the lab."""


def _drawn(draw: Random) -> Experiment:
    return Experiment(
        topology="chain",
        topology_options={"hops": draw.randrange(1, 7)},
        payload_bytes=draw.choice((576, 1000, 1460)),
        window_pkts=draw.choice((8, 16, 32, 64)),
        duration_s=draw.randrange(4, 9),
        seed=draw.randrange(1, 1_000_000),
    )


def interval(context: CheckContext) -> None:
    """The confidence interval of a few seeds."""
    draw = context.random("interval of runs")
    count, half_width = draw.choice(list(T)), None
    while not half_width:  # with a small window, all seeds may give the same
        (row,) = compare(_drawn(draw), schemes=["newreno"], seeds=count, jobs=1).rows
        found = row["goodput_bps"]
        half_width = found["half_width"]
    samples = {"$list": list(found["samples"])}
    mine = context.function("half_width")(samples, T[count])
    near(half_width, mine, what=f"half_width() of the goodput of {count} seeds", tolerance=2e-3)


LAB0 = (
    Check(
        id="interval-runs",
        title="the interval of a few seeds, compared with PaceLab's",
        points=25,
        run=interval,
        needs=("half_width",),
        hint="the lab's cell does the same at 7 hops",
        simulates=True,
    ),
)
