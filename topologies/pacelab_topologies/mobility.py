"""The part `mobility` of a topology file, and the walks that it says: waypoints, a trace, or drawn by seed.

Random waypoint and Gauss-Markov: each node has a stream of its own. Positions are rounded to millimetres, and each leg
begins at the rounded one, so that the last bit of a machine's cosine reaches no result.

Source: [camp] T. Camp, J. Boleng, V. Davies, "A survey of mobility models for ad hoc network research", WCMC 2(5),
2002, Sec. 2.2 and 2.5
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import NormalDist

from pydantic import Field

from pacelab_topologies.document import Document, Length, Part, Reach, Speed, Time
from pacelab_topologies.document import Place as Key

# Where nodes walk: their places in time, and how traces of other simulators tell them.
#
# A walk is a node's places in time, straight lines between them. Nodes are those with a radio, in the order of the
# network, from 0 on; places are metres within an area from (0, 0) to its far corner. Errors are ValueErrors "line N:
# what is wrong; what to write".

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
                f"line {line}: the position must be within 0 to {self.width_m:g} m and 0 to {self.height_m:g} m, "
                f"not ({x:g} m, {y:g} m)"
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
        raise ValueError(f"line {line}: must be a number (seconds, metres, or m/s), not {text!r}")
    return found


def distance_m(a: Place, b: Place) -> float:
    """By what IEEE 754 rounds exactly, so the same on every machine."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    return math.sqrt(dx * dx + dy * dy)


def check_node(line: int, node: int, count: int) -> None:
    """Refuse a node of a trace that the network has not."""
    if not 0 <= node < count:
        raise ValueError(f"line {line}: the node must be a radio, 0 to {count - 1}, not {node}")


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
                raise ValueError(f"line {line}: the speed must be at least 0 m/s, not {speed:g}")
            before = orders[node][-1][0] if orders[node] else 0.0
            if at_s < before:
                raise ValueError(
                    f"line {line}: the times of node {node} must increase: {at_s:g} s follows {before:g} s"
                )
            orders[node].append((at_s, area.check(line, x, y), speed))
        elif not _PAST.fullmatch(said):
            raise ValueError(
                f"line {line}: must set X_, Y_, or Z_, call setdest, or belong to $god_, not {said.strip()!r}"
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
            raise ValueError(f"line {line}: must be groups of three numbers (time, x, y), not {len(words)} numbers")
        points: list[tuple[float, Place]] = []
        for at, x, y in zip(words[::3], words[1::3], words[2::3], strict=True):
            at_s, place = number(line, at), area.check(line, number(line, x), number(line, y))
            before_s, before = points[-1] if points else (0.0, place)
            if at_s < before_s or at_s < 0:
                raise ValueError(f"line {line}: the times must increase: {at_s:g} s follows {before_s:g} s")
            if points and at_s == before_s:
                if place != before:
                    raise ValueError(f"line {line}: a node cannot jump: it has two positions at {at_s:g} s")
                continue
            points.append((at_s, place))
        walks.append(Walk(points[0][1], simplified(points, points[0][1])))
    return tuple(walks) + tuple(Walk(start, ()) for start in starts[len(walks) :])


EDGE = 0.1
"""Gauss-Markov: nearer to an edge than this share of the area a node's mean direction is to the middle."""
DIRECTION_SD = math.pi / 4
"""Gauss-Markov: standard deviation of the direction. [camp] gives none."""
SPEED_SD = 0.25
"""Gauss-Markov: of the speed, as a share of its mean. [camp] gives none."""


def random_waypoint(
    area: Area, starts: tuple[Place, ...], *, slowest: float, fastest: float, pause_s: float, until_s: float, seed: int
) -> tuple[Walk, ...]:
    """Each node walks to a place drawn at random at a speed drawn between the two (m/s, above 0), pauses, walks on.

    Deviates: a node starts where the network has it, so the first minutes are not the stationary state. Speeds above 0
    keep the mean from falling for ever.
    """
    walks = []
    for node, start in enumerate(starts):
        random = Random(f"random-waypoint {seed} {node}")  # only its random(), whose sequence Python guarantees
        now_s, here = 0.0, start
        points: list[tuple[float, Place]] = []
        while now_s < until_s:
            goal = _mm(random.random() * area.width_m, random.random() * area.height_m)
            speed = slowest + random.random() * (fastest - slowest)
            length = distance_m(here, goal)
            if length == 0:
                continue
            now_s, here = now_s + length / speed, goal
            points.append((now_s, here))
            if pause_s > 0:
                now_s += pause_s
                points.append((now_s, here))
        walks.append(Walk(start, simplified(points, start)))
    return tuple(walks)


def gauss_markov(
    area: Area, starts: tuple[Place, ...], *, speed: float, memory: float, step_s: float, until_s: float, seed: int
) -> tuple[Walk, ...]:
    """Speed and direction are `memory` (0..1) of what they were `step_s` before, the rest of their means and chance.

        s_n = a s + (1 - a) s_mean + sqrt(1 - a^2) s_x          and so the direction

    Near an edge the mean direction is to the middle; who would step out of the area stays at its edge.
    """
    walks = []
    normal, chance = NormalDist(), math.sqrt(1 - memory * memory)
    for node, start in enumerate(starts):
        random = Random(f"gauss-markov {seed} {node}")
        now_s, here = 0.0, start
        pace, direction = speed, 2 * math.pi * random.random()
        middle = direction
        points: list[tuple[float, Place]] = []
        while now_s < until_s:
            if _near_edge(here, area):
                middle = math.atan2(area.height_m / 2 - here[1], area.width_m / 2 - here[0])
                middle += 2 * math.pi * round((direction - middle) / (2 * math.pi))  # the short way round
            draws = [normal.inv_cdf((int(random.random() * 2**52) + 0.5) / 2**52) for _ in range(2)]
            pace = memory * pace + (1 - memory) * speed + chance * SPEED_SD * speed * draws[0]
            direction = memory * direction + (1 - memory) * middle + chance * DIRECTION_SD * draws[1]
            length = max(pace, 0.0) * step_s
            x = min(max(here[0] + length * math.cos(direction), 0.0), area.width_m)
            y = min(max(here[1] + length * math.sin(direction), 0.0), area.height_m)
            now_s, here = now_s + step_s, _mm(x, y)
            points.append((now_s, here))
        walks.append(Walk(start, simplified(points, start)))
    return tuple(walks)


def _near_edge(here: Place, area: Area) -> bool:
    sides = ((here[0], area.width_m), (here[1], area.height_m))
    return any(not EDGE * length <= at <= (1 - EDGE) * length for at, length in sides)


def _mm(x: float, y: float) -> Place:
    return round(x, 3), round(y, 3)


READERS = {"setdest": read_setdest, "bonnmotion": read_bonnmotion}


class MovePart(Part):
    """The node is at `to` at the time `at`, and on straight lines in between."""

    node: str
    at: Time
    to: list[Length] = Field(min_length=2, max_length=2)


class RandomWaypointPart(Part):
    """See `random_waypoint`."""

    speed: list[Speed] = Field(min_length=2, max_length=2)
    pause: Time = 0.0
    until: Time
    seed: int = Field(default=1, ge=0)


class GaussMarkovPart(Part):
    """See `gauss_markov`."""

    speed: Speed
    memory: float = Field(default=0.75, ge=0, le=1)
    step: Time = 1.0
    until: Time
    seed: int = Field(default=1, ge=0)


class MobilityPart(Part):
    """How radios walk within an area from (0, 0) on: by waypoints, a trace beside the file, or a model. One of them."""

    area: list[Reach] = Field(min_length=2, max_length=2)
    waypoints: list[MovePart] | None = None
    setdest: str | None = None
    bonnmotion: str | None = None
    random_waypoint: RandomWaypointPart | None = Field(default=None, alias="random-waypoint")
    gauss_markov: GaussMarkovPart | None = Field(default=None, alias="gauss-markov")

    @property
    def ways(self) -> dict[str, bool]:
        """Ways to walk, and whether each is given."""
        return {
            "waypoints": self.waypoints is not None,
            "setdest": self.setdest is not None,
            "bonnmotion": self.bonnmotion is not None,
            "random-waypoint": self.random_waypoint is not None,
            "gauss-markov": self.gauss_markov is not None,
        }


class MobilityReader:
    """Makes walks of the part. `folder` is where a trace is looked for; None: nowhere."""

    def __init__(self, document: Document, part: MobilityPart, folder: Path | None) -> None:
        self._document, self._part, self._folder = document, part, folder
        self._area = Area(part.area[0], part.area[1])
        given = [way for way, there in part.ways.items() if there]
        if len(given) != 1:
            raise document.error(("mobility",), f"must have exactly one of {', '.join(part.ways)}, not {len(given)}")
        self._way = given[0]
        self.said = self._way
        """The way to walk, in words."""
        self.trace = b""
        """The trace as it was read."""

    def walks(self, starts: Mapping[int, Place]) -> tuple[Walk, ...]:
        """A walk for each radio; `starts` are their numbers and where the file has them."""
        part, area, places = self._part, self._area, tuple(starts.values())
        if self._way in READERS:
            return self._read(part.setdest or part.bonnmotion or "", places)
        for number, start in starts.items():
            self.check_within(("nodes", number, "at"), start)
        if (drawn := part.random_waypoint) is not None:
            slowest, fastest = drawn.speed
            if fastest < slowest:
                key = ("mobility", "random-waypoint", "speed")
                raise self._document.error(key, f"must be two increasing speeds; the second is below {slowest:g} m/s")
            self.said += f", seed {drawn.seed}"
            times = {"pause_s": drawn.pause, "until_s": drawn.until}
            return random_waypoint(area, places, slowest=slowest, fastest=fastest, **times, seed=drawn.seed)
        steps = part.gauss_markov
        assert steps is not None
        if steps.step <= 0:
            raise self._document.error(("mobility", "gauss-markov", "step"), "must be more than 0 s")
        self.said += f", seed {steps.seed}"
        times = {"step_s": steps.step, "until_s": steps.until}
        return gauss_markov(area, places, speed=steps.speed, memory=steps.memory, **times, seed=steps.seed)

    def check_within(self, key: Key, place: Place) -> None:
        """Refuse a place of the file that is beyond the area."""
        try:
            self._area.check(0, *place)
        except ValueError as error:
            raise self._document.error(key, str(error).removeprefix("line 0: ")) from None

    def _read(self, name: str, places: tuple[Place, ...]) -> tuple[Walk, ...]:
        key = ("mobility", self._way)
        if self._folder is None:
            raise self._document.error(
                key, "a trace needs a topology file on disk: save this topology as a file of your own"
            )
        self.said += f" {name}"
        try:
            self.trace = (self._folder / name).read_bytes()
            text = self.trace.decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or error
            raise self._document.error(key, f"cannot read {name} ({why}); give the path of a UTF-8 text file") from None
        try:
            return READERS[self._way](text, self._area, places)
        except ValueError as error:
            raise self._document.error(key, f"{name}: {error}") from None
