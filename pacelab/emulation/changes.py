"""What a plan changes while it runs: hosts that move, rates of links; with a controller, the gateways of stations."""

from __future__ import annotations

import math
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

from pacelab.emulation.namespaces import inside
from pacelab.emulation.network import addresses
from pacelab.emulation.network.addresses import AIR, TO_SWITCH, Route
from pacelab.emulation.plan import LogDistancePropagation, Move, Plan
from pacelab.emulation.quantiles import quantiles
from pacelab.results.types import Handover as HandoverResult
from pacelab.results.types import Walks

STEP_S = 0.1
"""mediumd is told a moving host's place so often, as in the simulator (medium/network/src/network/motion.rs)."""
MM_PER_M = 1000
HYSTERESIS_M = 25.0
LEAVE_S = 2.0
"""What waits in the old gateway's queues, for a station still in its range, has gone by then."""
_ARP = 0x0806

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
        start_walking: Callable[[float], None] | None = None,
    ) -> None:
        """`start_walking`, told the time of the run, makes hosts walk by themselves; None: mediumd is told here."""
        self._plan, self._medium, self._roaming = plan, medium, roaming
        self._start_walking, self._telling = start_walking, start_walking is None
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
        if self._start_walking is not None:
            self._start_walking(now_s)
            self._start_walking = None
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

    def report(self, stations: Sequence[Mapping[str, Any]]) -> Walks | None:
        """Of those that walk, for host.json; None when nobody does. `stations`: mediumd's statistics at the end.

        `off_m`: how far each was from where mediumd had it, just before the update: the worst of the step. Of
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


class _Hosts(Protocol):
    def set_route(self, host: int, route: Route) -> None:
        """Give a host a route."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """What has happened."""

    at_s: float
    station: int
    before: int
    after: int


class Roaming:
    """Stations with the gateways that they are at: those that walk change them, in a run with a controller.

        decide   a station's gateway is the nearest one in range; another one has to be nearer by `HYSTERESIS_M`
        then     1. the new gateway takes the station in: a route to it by air, and a gratuitous ARP request on its
                    wire, by which the controller learns where the station is now, and moves its flows' rules
                 2. the station sends by the new gateway
                 3. after `LEAVE_S` the old gateway sends what it still gets for the station by its wire

    All of a station's routes that led over its old gateway lead over the new one. TCP-GAP's gateways exchange nothing:
    the new one rebuilds its soft state from the packets that it sees.

    Source: [tcp-gap] Sec. 4.5. Deviates: the paper leaves the handover to the routing layer; ours is by distance.
    """

    def __init__(self, plan: Plan, hosts: _Hosts) -> None:
        self._plan, self._hosts = plan, hosts
        self._range_m = range_m(plan)
        found = {move.node: first_gateway(plan, move.node) for move in plan.moves}
        self.gateway = {station: gateway for station, gateway in found.items() if gateway is not None}
        """Station -> gateway, of those that move and have a gateway one hop away."""
        self.handovers: list[Handover] = []
        self._leaving: list[tuple[float, int, int]] = []

    def follow(self, now_s: float, station: int, position_m: tuple[float, float]) -> None:
        """The station is there now."""
        before = self.gateway.get(station)
        if before is None:
            return
        places = {gateway: self._plan.nodes[gateway].position_m for gateway in self._plan.gateways}
        after = choose(position_m, places, now=before, range_m=self._range_m)
        if after != before:
            self._hand_over(now_s, station, before, after)

    def apply(self, now_s: float) -> None:
        """Do what has become due."""
        due = [entry for entry in self._leaving if entry[0] <= now_s]
        self._leaving = [entry for entry in self._leaving if entry[0] > now_s]
        for _at_s, station, old in due:
            if self.gateway[station] != old:
                self._hosts.set_route(old, Route(station, station, TO_SWITCH, by_arp=True))

    def report(self) -> list[HandoverResult]:
        """The handovers so far, for host.json."""
        names = [node.name for node in self._plan.nodes]
        return [
            {"at_s": round(h.at_s, 2), "station": names[h.station], "from": names[h.before], "to": names[h.after]}
            for h in self.handovers
        ]

    def _hand_over(self, now_s: float, station: int, before: int, after: int) -> None:
        plan = self._plan
        self.gateway[station] = after
        self._hosts.set_route(after, Route(station, station, AIR))
        self._announce(after, station)
        self._hosts.set_route(station, Route(after, after, AIR))
        near = {b if a == station else a for a, b in plan.neighbours if station in (a, b)} - set(plan.gateways)
        for host in range(len(plan.nodes)):
            if host not in (station, after) and host not in near and addresses.path(plan, station, host):
                self._hosts.set_route(station, Route(host, after, AIR))
        self._leaving.append((now_s + LEAVE_S, station, before))
        self.handovers.append(Handover(at_s=now_s, station=station, before=before, after=after))

    def _announce(self, gateway: int, station: int) -> None:
        """The station's address is at this gateway's wire now."""
        port = addresses.wired_port(self._plan, gateway)
        assert port is not None
        with inside(self._plan.nodes[gateway].name), socket.socket(socket.AF_PACKET, socket.SOCK_RAW, _ARP) as raw:
            raw.bind((port.name, 0))
            raw.send(gratuitous_arp(port.mac, addresses.address(station)))


def choose(
    position_m: tuple[float, float], gateways: dict[int, tuple[float, float]], *, now: int, range_m: float
) -> int:
    """The gateway for a station at `position_m`: `now`'s, unless another one in range is nearer by `HYSTERESIS_M`,
    or `now` is out of range and another one is not.
    """
    far = {gateway: math.dist(position_m, place) for gateway, place in gateways.items()}
    best = min(far, key=lambda gateway: (far[gateway], gateway))
    if far[best] > range_m:
        return now
    return best if far[now] > range_m or far[best] + HYSTERESIS_M < far[now] else now


def first_gateway(plan: Plan, station: int) -> int | None:
    """The gateway by which a station's packets leave the air, when that is its neighbour."""
    wired = [host for host, node in enumerate(plan.nodes) if not node.wireless]
    for host in wired:
        way = addresses.path(plan, station, host)
        if len(way) > 1 and way[1] in plan.gateways and station not in plan.gateways:
            return way[1]
    return None


def range_m(plan: Plan) -> float:
    """How far a frame is decoded."""
    propagation = plan.radio.propagation
    if isinstance(propagation, LogDistancePropagation):
        margin_db = propagation.tx_power_dbm - propagation.reference_loss_db - propagation.decode_dbm
        return float(10 ** (margin_db / (10 * propagation.exponent)))
    return propagation.decode_m


def gratuitous_arp(mac: str, address: str) -> bytes:
    """An ARP request of an address for itself (RFC 5227 Sec. 3): all that hear it learn its MAC."""
    own, number = bytes.fromhex(mac.replace(":", "")), socket.inet_aton(address)
    head = b"\xff" * 6 + own + struct.pack("!HHHBBH", _ARP, 1, 0x0800, 6, 4, 1)
    return head + own + number + bytes(6) + number
