"""Design problems of the labs for credit: drawn cases, judged by the simulator as in the notebook."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pacelab_grading.rubric.assignment import Check
from pacelab_grading.rubric.context import CheckContext, call_text
from pacelab_grading.rubric.expect import short
from pacelab_grading.rubric.findings import WrongAnswer
from pacelab_labs.check import EXERCISES
from pacelab_labs.design import Design

CASES = 4
"""The number of cases of a kind, or one from each of its drawing functions if there are more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One row of the rubric: cases of one kind."""

    name: str
    """As the design's `draws` call it."""
    id: str
    title: str
    points: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignProblem:
    """A function that returns designs. The kinds after the first one count only if the first one is right."""

    name: str
    """Its name in `lab.check`."""
    function: str
    kinds: tuple[Kind, ...]

    def checks(self, _model: Callable[[], str]) -> tuple[Check, ...]:
        """A check for each kind. The simulator judges, so no model solution is needed."""
        return tuple(
            Check(
                id=kind.id,
                title=kind.title,
                points=kind.points,
                run=partial(judge_design, self, kind),
                needs=(self.function,),
                public=kind is self.kinds[0],
                simulates=True,
                hint=f'`lab.check("{self.name}", {self.function})` shows each goal and what was measured',
            )
            for kind in self.kinds
        )


def judge_design(problem: DesignProblem, kind: Kind, context: CheckContext) -> None:
    """Raises WrongAnswer with the goal that a design misses."""
    design = EXERCISES[problem.name].design
    assert design is not None
    for needed in dict.fromkeys((problem.kinds[0], kind)):
        right = context.memory.setdefault("designs that are right", {})
        if needed.id not in right:
            _judge(problem, design, needed, context)
            right[needed.id] = True


def _judge(problem: DesignProblem, design: Design, kind: Kind, context: CheckContext) -> None:
    function, draw, draws = context.function(problem.function), context.random(kind.id), design.draws[kind.name]
    for number in range(max(CASES, len(draws))):
        case = draws[number % len(draws)](draw)
        answer = function(**case)
        called = f"{problem.function}({call_text((), case)}) = {short(answer)}"
        try:
            goals = design.goals(answer, case)
        except ValueError as error:
            raise WrongAnswer(str(error), called) from None
        for goal in goals:
            if not goal.met:
                raise WrongAnswer(goal.text, f"{goal.measured}, with {called}")
