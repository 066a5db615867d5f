"""Number -> assignment."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pacelab import ConfigError
from pacelab.grading.assignment import Assignment
from pacelab.grading.assignments.a1_interference.checks import ASSIGNMENT as INTERFERENCE
from pacelab.grading.assignments.a2_window.checks import ASSIGNMENT as WINDOW
from pacelab.grading.assignments.a3_gateway_pacer.checks import ASSIGNMENT as GATEWAY_PACER
from pacelab.grading.assignments.a4_link_red.checks import ASSIGNMENT as LINK_RED
from pacelab.grading.assignments.a5_voice.checks import ASSIGNMENT as VOICE

ASSIGNMENTS: Mapping[int, Assignment] = MappingProxyType(
    {item.number: item for item in (INTERFERENCE, WINDOW, GATEWAY_PACER, LINK_RED, VOICE)}
)


def find_assignment(number: int) -> Assignment:
    """The assignment of this number; ConfigError names the known ones."""
    if number not in ASSIGNMENTS:
        raise ConfigError(f"--assignment {number}: allowed is one of {', '.join(map(str, ASSIGNMENTS))}")
    return ASSIGNMENTS[number]
