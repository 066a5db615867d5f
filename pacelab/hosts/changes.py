"""What a plan changes while it runs: hosts that move, rates of links."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol

from pacelab.hosts.plan import Move, Plan
from pacelab.hosts.roaming.roaming import Roaming
from pacelab.hosts.traffic.quantiles import quantiles

STEP_S = 0.1
"""mediumd is told a moving host's place so often, as in the simulator (medium/network/src/network/motion.rs)."""
MM_PER_M = 1000

Place = tuple[float, float]


class _Medium(Protocol):
    def call(self, method: str, **params: object) -> dict[str, object]:
        """Tell mediumd."""


class _Moment(Protocol):
    """The host is there at that time."""

    @property
    def at_s(self) -> float: ...

    @property
    def position_m(self) -> Place: ...


class Changes:
    """Tells mediumd what has become due."""

    def __init__(
        self,
        plan: Plan,
        medium: _Medium,
        roaming: Roaming | None = None,
        set_off: Callable[[float], None] | None = None,
    ) -> None:
        """`set_off`, told the time of the run, makes hosts walk by themselves; None: mediumd is told here."""
        self._plan, self._medium, self._roaming = plan, medium, roaming
        self._set_off, self._telling = set_off, set_off is None
        self._rates = sorted((link for link in plan.link_rates if link.at_s > 0), key=lambda link: link.at_s)
        self._tracks: dict[int, list[Move]] = {}
        for move in plan.moves:
            self._tracks.setdefault(move.node, []).append(move)
        self._walkers = sorted(self._tracks)
        self._told = {host: plan.nodes[host].position_m for host in self._walkers}
        self._off_mm: list[int] = []
        self._last_s: float | None = None
        self._longest_s = 0.0
        self._next_s = 0.0

    def apply(self, now_s: float) -> None:
        """Bring the air up to this moment of the run."""
        if self._set_off is not None:
            self._set_off(now_s)
            self._set_off = None
        if self._roaming is not None:
            self._roaming.apply(now_s)
        while self._rates and self._rates[0].at_s <= now_s:
            link = self._rates.pop(0)
            a, b = (self._plan.nodes[host].name for host in (link.a, link.b))
            self._medium.call("set_rate", station=a, to=b, data_rate_bps=link.rate_bps)
        if not self._tracks or now_s < self._next_s:
            return
        self._next_s = max(self._next_s, now_s - STEP_S) + STEP_S  # what a late moment loses is made up for
        self._longest_s = max(self._longest_s, now_s - (now_s if self._last_s is None else self._last_s))
        self._last_s = now_s
        if not self._telling:
            self._look()
        for host, track in list(self._tracks.items()):
            node = self._plan.nodes[host]
            place = place_at(node.position_m, track, now_s)
            self._off_mm.append(round(MM_PER_M * math.dist(place, self._told[host])))
            if self._telling:
                self._medium.call("set_position", station=node.name, position_m=list(place))
                self._told[host] = place
            if self._roaming is not None:
                self._roaming.follow(now_s, host, place)
            if now_s >= track[-1].at_s:
                del self._tracks[host]

    def report(self, stations: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
        """Of those that walk, for host.json; None when nobody does. `stations`: mediumd's statistics at the end.

        `off_m`: how far each was from where mediumd had it, just before it was told anew: the worst of the step. Of
        hosts that walk by themselves: at the times when it would have been told.
        """
        if not self._walkers:
            return None
        walking = {self._plan.nodes[host].name for host in self._walkers}
        return {
            "longest_step_s": round(self._longest_s, 4),
            "off_m": {name: mm / MM_PER_M for name, mm in quantiles(self._off_mm).items()},
            "at_end_m": {row["name"]: row["position_m"] for row in stations if row["name"] in walking},
        }

    def _look(self) -> None:
        """Where mediumd has those that walk by themselves."""
        rows: Any = self._medium.call("stats")["stations"]
        places = {row["name"]: tuple(row["position_m"]) for row in rows}
        self._told = {host: places[self._plan.nodes[host].name] for host in self._walkers}


def place_at(start_m: Place, track: Sequence[_Moment], now_s: float) -> Place:
    """Where a host is that starts at `start_m` and follows `track`, on straight lines in between."""
    first = track[0]
    corners = [(0.0, start_m), *((move.at_s, move.position_m) for move in track)]
    if first.at_s == 0:
        corners = corners[1:]
    if now_s >= corners[-1][0]:
        return corners[-1][1]
    for (then_s, here), (at_s, there) in pairwise(corners):
        if then_s <= now_s < at_s:
            share = (now_s - then_s) / (at_s - then_s)
            return (here[0] + share * (there[0] - here[0]), here[1] + share * (there[1] - here[1]))
    return corners[0][1]
