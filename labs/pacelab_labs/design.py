"""Design problems: a student designs a network or a setting, and the simulator judges whether it meets its goals.

A design is what a student's function returns for one case, for example a distance for a given link. Goals say what
a run with this design must show, never which value is right: every design that meets them is accepted. In a notebook
the cases are fixed; for credit they are drawn, so that each student has other ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from pacelab.domains import Domain, Real, Whole, plain
from pacelab.errors import PaceLabError

Case = Mapping[str, Any]
"""The arguments of the student's function."""
Draw = Callable[[Random], Case]


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """One condition on a design."""

    text: str
    """The condition in words: "RTS/CTS on: the link keeps at most 20 % of its goodput"."""
    met: bool
    measured: str
    """The measured result in a few words."""

    def __str__(self) -> str:
        return f"{'✓' if self.met else '✗'} {self.text}: {self.measured}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What the student designs, and how it is judged."""

    read: Callable[[Any], Any]
    """Converts an answer into the form that `judge` takes. Raises ValueError with the valid form."""
    judge: Callable[..., Sequence[Goal]]
    """`judge(answer, **case)`: the goals, from runs with this answer."""
    cases: tuple[Case, ...]
    """The cases in the notebook."""
    draws: Mapping[str, tuple[Draw, ...]]
    """Kind of case -> functions that draw one, used in turn."""

    def goals(self, answer: Any, case: Case) -> Sequence[Goal]:
        """The goals of an answer. Raises ValueError if the answer has another form or describes no valid experiment."""
        try:
            return self.judge(self.read(answer), **case)
        except PaceLabError as error:
            raise ValueError(str(error)) from None


def between(low: float, high: float, what: str) -> Callable[[Any], float]:
    """Reads a number from `low` to `high`."""
    domain = Real(low, high)

    def read(answer: Any) -> float:
        found = plain(answer)
        _check(what, domain, found)
        return float(found)

    return read


def whole_between(low: int, high: int, what: str) -> Callable[[Any], int]:
    """Reads a whole number from `low` to `high`."""
    domain = Whole(low, high)

    def read(answer: Any) -> int:
        found = plain(answer)
        found = int(found) if isinstance(found, float) and found.is_integer() else found
        _check(what, domain, found)
        return int(found)

    return read


def _check(what: str, domain: Domain, answer: Any) -> None:
    valid = isinstance(answer, int | float)  # another object may have no text for a message
    try:
        if valid:
            domain.check(answer)
    except ValueError:
        valid = False
    if not valid:
        raise ValueError(f"{what} must be {domain.allowed}")


def at_least(text: str, measured: float, least: float, unit: str) -> Goal:
    """A goal with a lower limit."""
    return Goal(text=text, met=measured >= least, measured=f"{measured:.0f} {unit}, needed at least {least:.0f}")


def at_most(text: str, measured: float, most: float, unit: str) -> Goal:
    """A goal with an upper limit."""
    return Goal(text=text, met=measured <= most, measured=f"{measured:.0f} {unit}, needed at most {most:.0f}")
