"""The assignments by number. A lab is found by its name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pacelab import ConfigError
from pacelab_grading.assignments.a1_interference.checks import ASSIGNMENT as INTERFERENCE
from pacelab_grading.assignments.a2_window.checks import ASSIGNMENT as WINDOW
from pacelab_grading.assignments.a3_gateway_pacer.checks import ASSIGNMENT as GATEWAY_PACER
from pacelab_grading.assignments.a4_link_red.checks import ASSIGNMENT as LINK_RED
from pacelab_grading.assignments.a5_voice.checks import ASSIGNMENT as VOICE
from pacelab_grading.labs.rubrics import LABS
from pacelab_grading.rubric.assignment import Assignment, Number

ASSIGNMENTS: Mapping[int, Assignment] = MappingProxyType(
    dict(enumerate((INTERFERENCE, WINDOW, GATEWAY_PACER, LINK_RED, VOICE), 1))
)


def find_assignment(number: Number, what: str = "--assignment") -> Assignment:
    """The assignment with this number, or the lab with this name. Raises ConfigError with the valid ones.

    `what` gave the number, for the error's text.
    """
    found = ASSIGNMENTS.get(number) if isinstance(number, int) else LABS.get(number)
    if found is None:
        known = ", ".join(map(str, (*ASSIGNMENTS, *LABS)))
        raise ConfigError(f"{what} must be one of {known}, not {number!r}")
    return found


def number_of(text: str) -> Number:
    """A number or a name of a lab, as an option gives it."""
    return int(text) if text.isdecimal() else text


__all__ = ["ASSIGNMENTS", "find_assignment", "number_of"]
