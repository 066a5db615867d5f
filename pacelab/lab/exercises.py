"""The exercises of all labs by name. Expected values are by hand or from the papers, never from a formula in here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pacelab.lab.exercise import Exercise
from pacelab.lab.guides.lab0 import LAB0
from pacelab.lab.guides.lab1 import LAB1
from pacelab.lab.guides.lab2 import LAB2
from pacelab.lab.guides.lab3 import LAB3
from pacelab.lab.guides.lab4 import LAB4
from pacelab.lab.guides.lab5 import LAB5
from pacelab.lab.guides.lab6 import LAB6
from pacelab.lab.guides.lab7 import LAB7

EXERCISES: Mapping[str, Exercise] = MappingProxyType(LAB0 | LAB1 | LAB2 | LAB3 | LAB4 | LAB5 | LAB6 | LAB7)
"""Name, "labN.what" -> exercise."""
