"""Number -> assignment."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pacelab import ConfigError
from pacelab.grading.assignment import Assignment
from pacelab.grading.assignments.a3_gateway_pacer.checks import ASSIGNMENT as GATEWAY_PACER

ASSIGNMENTS: Mapping[int, Assignment] = MappingProxyType({item.number: item for item in (GATEWAY_PACER,)})


def find_assignment(number: int) -> Assignment:
    """The assignment of this number; ConfigError names the known ones."""
    if number not in ASSIGNMENTS:
        raise ConfigError(f"--assignment {number}: allowed is one of {', '.join(map(str, ASSIGNMENTS))}")
    return ASSIGNMENTS[number]
