"""The exercises of all labs by name. Expected values are by hand or from the papers, never from a formula in here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pacelab.lab.check import Exercise
from pacelab.lab.lab0 import LAB0
from pacelab.lab.lab1 import LAB1

EXERCISES: Mapping[str, Exercise] = MappingProxyType(LAB0 | LAB1)
"""Name, "labN.what" -> exercise."""
