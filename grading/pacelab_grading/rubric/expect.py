"""Comparisons of answers with expected values. Each raises `WrongAnswer` with both values in words."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from pacelab_grading.inside.worker import revive
from pacelab_grading.rubric.findings import WrongAnswer
from pacelab_grading.sandbox.failures import Raised


@contextlib.contextmanager
def failing(expected: str) -> Iterator[None]:
    """Turn an exception of the student's code into "expected ..., got ..."."""
    try:
        yield
    except Raised as failure:
        raise WrongAnswer(expected, str(failure)) from None


def numeric(got: Any, *, what: str) -> float:
    """`got` as a number; raises `WrongAnswer` if it is not a number."""
    if isinstance(got, bool) or not isinstance(got, int | float):
        raise WrongAnswer(f"{what}: a number", f"{short(got)}, which is not a number")
    return got


def near(expected: float, got: Any, *, what: str, tolerance: float = 1e-6) -> None:
    """Raise `WrongAnswer` unless `got` is a number within the relative tolerance of `expected`."""
    if isinstance(got, bool) or not isinstance(got, int | float):
        raise WrongAnswer(f"{what} = {expected:,.6g}", f"{short(got)}, which is not a number")
    if abs(got - expected) > tolerance * max(abs(expected), 1e-12):
        wanted, shown = _distinguishable(expected, got)
        raise WrongAnswer(f"{what} = {wanted}", shown)


def _distinguishable(one: float, other: float) -> tuple[str, str]:
    """Both numbers with enough digits to see that they differ."""
    shown = [(f"{one:,.{digits}g}", f"{other:,.{digits}g}") for digits in (6, 9, 12, 17)]
    return next((pair for pair in shown if pair[0] != pair[1]), shown[-1])


def exactly(expected: Any, got: Any, *, what: str) -> None:
    """Raise `WrongAnswer` unless both are equal. 1 and 0 count as True and False, but not the other way round."""
    if got != expected or (isinstance(got, bool) and not isinstance(expected, bool)):
        raise WrongAnswer(f"{what} = {short(expected)}", short(got))


def short(value: Any) -> str:
    """A value for messages, as the student's code sees it, at most 120 characters."""
    if isinstance(value, dict) and (drawn := value.get("$draws", value.get("$random"))) is not None:
        return f"<draws {drawn}>"
    if isinstance(value, dict | list):
        value = revive(value)
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."
