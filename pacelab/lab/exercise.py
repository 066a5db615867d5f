"""What an exercise is, and the complaint about a result that is no number."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pacelab.lab.limited import Yielded

LIMIT_S = 3.0
"""For a function of a few lines. Simulations of an exercise take far less."""
VALUE = "  expected "
"""So begins the line of a complaint that tells the value expected: a hint comes first."""


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
    tolerance: float = 1e-4
    """Relative, of the cases: what the labs are graded by."""
    trial: Callable[[Any], str] | None = None
    """In place of cases: tries the work, returns a complaint or nothing. A line of it that begins with VALUE is told
    at the third try."""
    praise: str = ""


def complain_about_number(value: Any, *, none: str = "does it return its result, on every path?") -> str:
    """What is wrong with a value that should be a finite number, or nothing; `none` is asked of one that is None."""
    if value is None:
        return f"came None: {none}"
    if isinstance(value, Yielded):
        return f"came {list(value)!r:.60} by `yield`: a number is asked for, so write `return` in its place."
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        return f"came {show(value)}, which is no number."
    try:
        number = float(value)
    except Exception as error:  # a class of the student's own may raise anything
        return f"came {show(value)}, which is no single number ({error})."
    if not isinstance(value, int | float) and not hasattr(value, "item"):  # NumPy's have one; a grader takes no others
        return f"came {show(value)}: return a number of Python's own, float(...)"
    if math.isnan(number):
        return "came NaN: a 0/0 or inf - inf on the way?"
    if math.isinf(number):
        return f"came {number}: a division by something that became 0?"
    return ""


def show(value: Any) -> str:
    """Type and value, in a few words."""
    try:
        text = repr(value)
    except ValueError:
        text = "of thousands of digits"
    except Exception as error:  # a class of the student's own
        text = f"whose repr raises {type(error).__name__}"
    kind = "generator" if isinstance(value, Yielded) else type(value).__name__
    return f"{kind} {text if len(text) <= 60 else text[:57] + '...'}"
