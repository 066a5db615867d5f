"""The key `mobility` of a topology file, and the walks that it describes: waypoints, a trace, or random walks by seed.

Random waypoint and Gauss-Markov: each node has its own random stream. Positions are rounded to millimetres, and each
leg starts at the rounded position, so results do not depend on the last bit of a machine's cosine.

Source: [camp] T. Camp, J. Boleng, V. Davies, "A survey of mobility models for ad hoc network research", WCMC 2(5),
2002, Sec. 2.2 and 2.5
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from statistics import NormalDist
from typing import Annotated

from pydantic import Field

from pacelab.domains import Real, Whole
from pacelab_topologies.document import Document, Length, Part, Reach, Speed, Time
from pacelab_topologies.document import Place as Key
from pacelab_topologies.traces import READERS, Area, Place, Walk, distance_m, read_replays, simplified

EDGE = 0.1
"""Gauss-Markov: a node's mean direction is to the middle if it is nearer to an edge than this share of the area."""
DIRECTION_SD = math.pi / 4
"""Gauss-Markov: standard deviation of the direction. [camp] gives none."""
SPEED_SD = 0.25
"""Gauss-Markov: standard deviation of the speed, as a share of its mean. [camp] gives none."""
MOST_TURNS = 1_000_000
"""Of all nodes together. A million turns take seconds and hundreds of megabytes."""


def random_waypoint(
    area: Area, starts: tuple[Place, ...], *, slowest: float, fastest: float, pause_s: float, until_s: float, seed: int
) -> tuple[Walk, ...]:
    """Each node walks to a random position at a random speed between the two (m/s, above 0), pauses, and walks again.

    Deviates: a node starts where the network has it, so the first minutes are not the stationary state. Speeds above 0
    keep the mean from falling for ever.
    """
    walks = []
    for node, start in enumerate(starts):
        random = Random(f"random-waypoint {seed} {node}")  # only random(), whose sequence Python guarantees
        now_s, here = 0.0, start
        points: list[tuple[float, Place]] = []
        for _ in _turns(len(starts)):
            if now_s >= until_s:
                break
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
    """Speed s follows the equation below, in which a is `memory` (0..1) and s_n is the value in step n of `step_s`.

        s_n = a s + (1 - a) s_mean + sqrt(1 - a^2) s_x          and the same for the direction

    Near an edge the mean direction is to the middle. A node that would leave the area stays at its edge.
    """
    walks = []
    normal, chance = NormalDist(), math.sqrt(1 - memory * memory)
    for node, start in enumerate(starts):
        random = Random(f"gauss-markov {seed} {node}")
        now_s, here = 0.0, start
        pace, direction = speed, 2 * math.pi * random.random()
        middle = direction
        points: list[tuple[float, Place]] = []
        for _ in _turns(len(starts)):
            if now_s >= until_s:
                break
            if _near_edge(here, area):
                middle = math.atan2(area.height_m / 2 - here[1], area.width_m / 2 - here[0])
                middle += 2 * math.pi * round((direction - middle) / (2 * math.pi))  # the shorter way around
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


def _turns(nodes: int) -> Iterator[None]:
    """Yield as often as one of these nodes may turn, then raise ValueError."""
    yield from (None for _ in range(MOST_TURNS // nodes))
    raise ValueError(f"a walk must have at most {MOST_TURNS:,} turns; give a shorter `until` or a longer `step`")


def _near_edge(here: Place, area: Area) -> bool:
    sides = ((here[0], area.width_m), (here[1], area.height_m))
    return any(not EDGE * length <= at <= (1 - EDGE) * length for at, length in sides)


def _mm(x: float, y: float) -> Place:
    return round(x, 3), round(y, 3)


class MovePart(Part):
    """The node is at `to` at the time `at`, and moves in straight lines in between."""

    node: str
    at: Time
    to: list[Length] = Field(min_length=2, max_length=2)


class RandomWaypointPart(Part):
    """Parameters of `random_waypoint`."""

    speed: list[Speed] = Field(min_length=2, max_length=2)
    pause: Time = 0.0
    until: Time
    seed: Annotated[int, Whole(0)] = 1


class GaussMarkovPart(Part):
    """Parameters of `gauss_markov`."""

    speed: Speed
    memory: Annotated[float, Real(0, 1)] = 0.75
    step: Time = 1.0
    until: Time
    seed: Annotated[int, Whole(0)] = 1


class ReplayPart(Part):
    """Mininet-WiFi's replay files, one for each of the first radios, and the time between two lines."""

    files: list[str] = Field(min_length=1)
    step: Time = 1.0


class MobilityPart(Part):
    """How radios move within an area from (0, 0) on: by waypoints, a trace file, or a model. Exactly one of them."""

    area: list[Reach] = Field(min_length=2, max_length=2)
    waypoints: list[MovePart] | None = None
    setdest: str | None = None
    bonnmotion: str | None = None
    sumo_fcd: str | None = Field(default=None, alias="sumo-fcd")
    ns_3: str | None = Field(default=None, alias="ns-3")
    mininet_wifi: ReplayPart | None = Field(default=None, alias="mininet-wifi")
    random_waypoint: RandomWaypointPart | None = Field(default=None, alias="random-waypoint")
    gauss_markov: GaussMarkovPart | None = Field(default=None, alias="gauss-markov")

    @property
    def trace(self) -> str:
        """The file of a trace of all nodes."""
        return self.setdest or self.bonnmotion or self.sumo_fcd or self.ns_3 or ""

    @property
    def ways(self) -> dict[str, bool]:
        """The ways to move, and whether each is given."""
        return {
            "waypoints": self.waypoints is not None,
            "setdest": self.setdest is not None,
            "bonnmotion": self.bonnmotion is not None,
            "sumo-fcd": self.sumo_fcd is not None,
            "ns-3": self.ns_3 is not None,
            "mininet-wifi": self.mininet_wifi is not None,
            "random-waypoint": self.random_waypoint is not None,
            "gauss-markov": self.gauss_markov is not None,
        }


class MobilityReader:
    """Makes the walks of `mobility`. `folder`: the folder of trace files; None: there is none."""

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
        """A walk for each radio. `starts`: the radios' numbers and their positions in the file."""
        part, places = self._part, tuple(starts.values())
        if self._way in READERS:
            return self._read(part.trace, places)
        if (replay := part.mininet_wifi) is not None:
            return self._replay(replay, places)
        for number, start in starts.items():
            self.check_within(("nodes", number, "at"), start)
        if (drawn := part.random_waypoint) is not None:
            slowest, fastest = drawn.speed
            if fastest < slowest:
                key = ("mobility", "random-waypoint", "speed")
                raise self._document.error(key, f"must be two increasing speeds; the second is below {slowest:g} m/s")
            self.said += f", seed {drawn.seed}"
            times = {"pause_s": drawn.pause, "until_s": drawn.until}
            return self._drawn(random_waypoint, places, slowest=slowest, fastest=fastest, **times, seed=drawn.seed)
        steps = part.gauss_markov
        assert steps is not None
        if steps.step <= 0:
            raise self._document.error(("mobility", "gauss-markov", "step"), "must be more than 0 s")
        self.said += f", seed {steps.seed}"
        times = {"step_s": steps.step, "until_s": steps.until}
        return self._drawn(gauss_markov, places, speed=steps.speed, memory=steps.memory, **times, seed=steps.seed)

    def check_within(self, key: Key, place: Place) -> None:
        """Refuse a position of the file that is outside the area."""
        try:
            self._area.check(0, *place)
        except ValueError as error:
            raise self._document.error(key, str(error).removeprefix("line 0: ")) from None

    def _drawn(
        self, model: Callable[..., tuple[Walk, ...]], places: tuple[Place, ...], **drawn: float
    ) -> tuple[Walk, ...]:
        try:
            return model(self._area, places, **drawn)
        except ValueError as error:
            raise self._document.error(("mobility", self._way), str(error)) from None

    def _read(self, name: str, places: tuple[Place, ...]) -> tuple[Walk, ...]:
        text = self._text(("mobility", self._way), name)
        try:
            return READERS[self._way](text, self._area, places)
        except ValueError as error:
            raise self._document.error(("mobility", self._way), f"{name}: {error}") from None

    def _replay(self, part: ReplayPart, places: tuple[Place, ...]) -> tuple[Walk, ...]:
        key = ("mobility", self._way)
        if part.step <= 0:
            raise self._document.error((*key, "step"), "must be more than 0 s")
        texts = [(name, self._text((*key, "files", i), name)) for i, name in enumerate(part.files)]
        try:
            return read_replays(texts, part.step, self._area, places)
        except ValueError as error:
            raise self._document.error(key, str(error)) from None

    def _text(self, key: Key, name: str) -> str:
        """The text of a trace beside the topology file."""
        if self._folder is None:
            raise self._document.error(
                key, "a trace needs a topology file on disk: save this topology as a file of your own"
            )
        self.said += f" {name}"
        try:
            octets = (self._folder / name).read_bytes()
            text = octets.decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or error
            raise self._document.error(key, f"cannot read {name} ({why}); give the path of a UTF-8 text file") from None
        self.trace += octets
        return text
