"""The part `mobility` of a topology file, and the walks that it says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from pacelab.topologies.document import Document, Length, Part, Reach, Speed, Time
from pacelab.topologies.document import Place as Key
from pacelab.topologies.mobility import Area, Place, Walk
from pacelab.topologies.mobility.bonnmotion import read_bonnmotion
from pacelab.topologies.mobility.models import gauss_markov, random_waypoint
from pacelab.topologies.mobility.setdest import read_setdest

READERS = {"setdest": read_setdest, "bonnmotion": read_bonnmotion}


class MovePart(Part):
    """The node is at `to` at the time `at`, and on straight lines in between."""

    node: str
    at: Time
    to: list[Length] = Field(min_length=2, max_length=2)


class RandomWaypointPart(Part):
    """See pacelab.topologies.mobility.models."""

    speed: list[Speed] = Field(min_length=2, max_length=2)
    pause: Time = 0.0
    until: Time
    seed: int = Field(default=1, ge=0)


class GaussMarkovPart(Part):
    """See pacelab.topologies.mobility.models."""

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
            raise document.error(("mobility",), f"{len(given)} ways to walk; allowed is one of {', '.join(part.ways)}")
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
                raise self._document.error(key, f"allowed are two speeds that rise, from {slowest:g} m/s on")
            self.said += f", seed {drawn.seed}"
            times = {"pause_s": drawn.pause, "until_s": drawn.until}
            return random_waypoint(area, places, slowest=slowest, fastest=fastest, **times, seed=drawn.seed)
        steps = part.gauss_markov
        assert steps is not None
        if steps.step <= 0:
            raise self._document.error(("mobility", "gauss-markov", "step"), "allowed is more than 0 s")
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
            raise self._document.error(key, "a trace is another file; allowed is it in a file of your own")
        self.said += f" {name}"
        try:
            self.trace = (self._folder / name).read_bytes()
            text = self.trace.decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or error
            raise self._document.error(key, f"reading {name}: {why}; allowed is a text in UTF-8") from None
        try:
            return READERS[self._way](text, self._area, places)
        except ValueError as error:
            raise self._document.error(key, f"{name}: {error}") from None
