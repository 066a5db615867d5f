"""Where nodes walk: traces of other simulators, and models by seed, all as the moves of a topology.

A walk is a node's places in time, straight lines between them. Nodes are those with a radio, in the order of the
network, from 0 on; places are metres within an area from (0, 0) to its far corner. Errors are ValueErrors "line N: what
is wrong; what is allowed".
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

Place = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Area:
    """Where nodes may be: from (0, 0) to here, m."""

    width_m: float
    height_m: float

    def check(self, line: int, x: float, y: float) -> Place:
        """The place, if it is within; ValueError names the line of a trace that it is from."""
        if not (0 <= x <= self.width_m and 0 <= y <= self.height_m):
            raise ValueError(
                f"line {line}: ({x:g} m, {y:g} m) is beyond the area; "
                f"allowed is 0 to {self.width_m:g} m and 0 to {self.height_m:g} m"
            )
        return x, y


@dataclass(frozen=True, slots=True)
class Walk:
    """A node's places: `points` are (at_s, place), in the order of time. It starts at `start`, at 0 s."""

    start: Place
    points: tuple[tuple[float, Place], ...]


def number(line: int, text: str) -> float:
    """A number of a trace."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise ValueError(f"line {line}: {text!r} is no number; allowed is one in seconds, metres or m/s")
    return found


def distance_m(a: Place, b: Place) -> float:
    """By what IEEE 754 rounds exactly, so the same on every machine."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    return math.sqrt(dx * dx + dy * dy)


def check_node(line: int, node: int, count: int) -> None:
    """Refuse a node of a trace that the network has not."""
    if not 0 <= node < count:
        raise ValueError(f"line {line}: there is no node {node}; allowed is 0 to {count - 1}, the network's radios")


def simplified(points: Iterable[tuple[float, Place]], start: Place) -> tuple[tuple[float, Place], ...]:
    """Without points that say nothing new: a node that stays where it has always been does not move."""
    found = tuple(points)
    return found if any(place != start for _, place in found) else ()
