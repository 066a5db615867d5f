"""A number with a unit, as a file has it: "40 ms", "10 Mbit/s", "200 m", "1 MB".

SI prefixes are powers of 1000 (kbit/s, MB), KiB and MiB of 1024. The space before the unit may be left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pacelab.topologies.model import LONGEST_DELAY_S, LONGEST_S, MOST_SHADOWING_DB

_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*?)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """What some key measures: its units, each with its factor to the house's unit, and the limits of its value."""

    example: str
    units: Mapping[str, float]
    least: float | None = 0.0
    most: float | None = None
    positive: bool = False
    whole: bool = False
    """Of the house's unit, hence at least one of it."""

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""
        if self.least is None:
            limit = "a number"
        else:
            limit = "a number above 0" if self.positive else f"a number of at least {self.least:g}"
        unit = next(iter(self.units))  # the house's
        bounds = [f"at least 1 {unit}"] if self.whole else []
        bounds += [] if self.most is None else [f"at most {self.most:.15g} {unit}"]
        units = f"{limit} with one of the units {', '.join(self.units)}, for example {self.example!r}"
        return ", ".join([units, *bounds])

    def parse(self, value: Any) -> float:
        """Value in the house's unit; ValueError "VALUE: what is wrong; allowed is ..."."""
        match = _NUMBER.fullmatch(str(value)) if isinstance(value, str | int | float) else None
        if isinstance(value, bool) or match is None:
            raise ValueError(f"{value!r}: it is no quantity; allowed is {self.allowed}")
        number, unit = match.groups()
        if not unit:
            raise ValueError(f"{value!r}: the unit is missing; allowed is {self.allowed}")
        if unit not in self.units:
            raise ValueError(f"{value!r}: unknown unit {unit!r}; allowed is {self.allowed}")
        found = float(number) * self.units[unit]
        low = -math.inf if self.least is None else self.least
        high = math.inf if self.most is None else self.most
        too_little = found < low or (self.positive and found <= 0) or (self.whole and found < 1)
        if not math.isfinite(found) or too_little or found > high:
            raise ValueError(f"{value!r}: out of range; allowed is {self.allowed}")
        return float(round(found)) if self.whole else found


LENGTH = Quantity(example="200 m", units={"m": 1.0, "km": 1000.0}, least=None)
REACH = Quantity(example="250 m", units={"m": 1.0, "km": 1000.0}, positive=True)
LEVEL = Quantity(example="4 dB", units={"dB": 1.0}, most=MOST_SHADOWING_DB)
TIME = Quantity(example="40 ms", units={"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0}, most=LONGEST_S)
DELAY = replace(TIME, most=LONGEST_DELAY_S)
SPEED = Quantity(example="2 m/s", units={"m/s": 1.0, "km/h": 1 / 3.6}, positive=True)
RATE = Quantity(
    example="10 Mbit/s", units={"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}, positive=True, whole=True
)
SIZE = Quantity(
    example="1 MB", units={"B": 1.0, "kB": 1e3, "MB": 1e6, "KiB": 1024.0, "MiB": 1024.0**2}, positive=True, whole=True
)
