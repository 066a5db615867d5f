"""Where nodes walk: their places in time, and how traces of other simulators tell them.

A walk is a node's places in time, straight lines between them. Nodes are those with a radio, in the order of the
network, from 0 on; places are metres within an area from (0, 0) to its far corner. Errors are ValueErrors "line N: what
is wrong; what is allowed".
"""

from __future__ import annotations

import math
import re
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


_NODE = r"\$node_\((\d+)\)"
_PLACE = re.compile(rf"\s*{_NODE}\s+set\s+([XYZ])_\s+(\S+)\s*")
_WALK = re.compile(rf'\s*\$ns_?\s+at\s+(\S+)\s+"\s*{_NODE}\s+setdest\s+(\S+)\s+(\S+)\s+(\S+)\s*"\s*')
_PAST = re.compile(r'\s*(#.*|set god_ .*|\$god_ .*|\$ns_?\s+at\s+\S+\s+"\s*\$god_ .*)?')


def read_setdest(text: str, area: Area, starts: tuple[Place, ...]) -> tuple[Walk, ...]:
    """A walk for each node; those without X_ and Y_ start where `starts` has them.

    ns-2's movement files, as its `setdest` writes them, and BonnMotion's NSFile, and many others:

        $node_(0) set X_ 83.3                                  where it is at first; Z_ is read past
        $ns_ at 2.0 "$node_(0) setdest 369.4 170.5 3.4"        from 2 s on it walks there at 3.4 m/s

    A node that is told to walk elsewhere before it arrives turns where it is then; at a speed of 0 it stops. Lines of
    $god_, which knows hops beforehand, and comments are read past; all else is refused.

    Source: The ns Manual, "Mobile Networking in ns", "Generating traffic-connection and node-movement files";
    mobilenode.cc
    """
    places: list[dict[str, float]] = [{} for _ in starts]
    orders: list[list[tuple[float, Place, float]]] = [[] for _ in starts]
    first = [0] * len(starts)
    for line, said in enumerate(text.splitlines(), start=1):
        if place := _PLACE.fullmatch(said):
            node, axis = int(place[1]), place[2]
            check_node(line, node, len(starts))
            places[node][axis] = number(line, place[3])
            first[node] = line
            if axis != "Z":
                area.check(line, places[node].get("X", 0.0), places[node].get("Y", 0.0))
        elif walk := _WALK.fullmatch(said):
            at_s, node = number(line, walk[1]), int(walk[2])
            x, y, speed = (number(line, part) for part in walk.groups()[2:])
            check_node(line, node, len(starts))
            if speed < 0:
                raise ValueError(f"line {line}: a speed of {speed:g} m/s; allowed is at least 0")
            before = orders[node][-1][0] if orders[node] else 0.0
            if at_s < before:
                raise ValueError(
                    f"line {line}: node {node} at {at_s:g} s, after {before:g} s; allowed are times that rise"
                )
            orders[node].append((at_s, area.check(line, x, y), speed))
        elif not _PAST.fullmatch(said):
            raise ValueError(
                f"line {line}: {said.strip()!r}; allowed are X_, Y_, Z_ at first, setdest, and lines of $god_"
            )
    return tuple(
        _walk((own.get("X", start[0]), own.get("Y", start[1])), told)
        for start, own, told in zip(starts, places, orders, strict=True)
    )


def _walk(start: Place, orders: list[tuple[float, Place, float]]) -> Walk:
    points: list[tuple[float, Place]] = []
    here, to, since, until = start, start, 0.0, 0.0  # on the way from `here` to `to`, from `since` to `until`
    for at_s, goal, speed in orders:
        if at_s < until:
            share = (at_s - since) / (until - since)
            here = (here[0] + (to[0] - here[0]) * share, here[1] + (to[1] - here[1]) * share)
            points.pop()  # it never arrives
        else:
            here = to
        if points and points[-1][0] == at_s:
            points.pop()
        points.append((at_s, here))
        since, to, until = at_s, here, at_s
        length = distance_m(here, goal)
        if speed > 0 and length > 0 and at_s + length / speed > at_s:
            to, until = goal, at_s + length / speed
            points.append((until, to))
    return Walk(start, simplified(points, start))


def read_bonnmotion(text: str, area: Area, starts: tuple[Place, ...]) -> tuple[Walk, ...]:
    """A walk for each node; nodes beyond the trace's last line stay where `starts` has them.

    BonnMotion's own format: a line for each node, "time x y" again and again, s and m, straight lines in between.

    Source: BonnMotion's documentation, "Native format".
    Deviates: two dimensions only.
    """
    walks: list[Walk] = []
    for line, said in enumerate(text.splitlines(), start=1):
        if not said.strip() or said.startswith("#"):
            continue
        check_node(line, len(walks), len(starts))
        words = said.split()
        if len(words) % 3:
            raise ValueError(f"line {line}: {len(words)} numbers; allowed is time, x and y again and again: threes")
        points: list[tuple[float, Place]] = []
        for at, x, y in zip(words[::3], words[1::3], words[2::3], strict=True):
            at_s, place = number(line, at), area.check(line, number(line, x), number(line, y))
            before_s, before = points[-1] if points else (0.0, place)
            if at_s < before_s or at_s < 0:
                raise ValueError(f"line {line}: {at_s:g} s after {before_s:g} s; allowed are times that rise")
            if points and at_s == before_s:
                if place != before:
                    raise ValueError(f"line {line}: two places at {at_s:g} s; allowed is a walk, no jump")
                continue
            points.append((at_s, place))
        walks.append(Walk(points[0][1], simplified(points, points[0][1])))
    return tuple(walks) + tuple(Walk(start, ()) for start in starts[len(walks) :])
