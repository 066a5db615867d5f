"""Changes during a run: moving hosts and changing link rates; with a controller, also the gateways of stations."""

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
"""mediumd gets a moving host's position this often, as in the simulator (medium/network/src/network/motion.rs)."""
MM_PER_M = 1000
HYSTERESIS_M = 25.0
LEAVE_S = 2.0
"""After this time the old gateway's queues hold no more packets for a station that is still in its range."""
_ARP = 0x0806

Place = tuple[float, float]


class _Medium(Protocol):
    def call(self, method: str, **params: object) -> dict[str, object]:
        """Send a request to mediumd."""


class _Waypoint(Protocol):
    """The position of a host at a time."""

    @property
    def at_s(self) -> float: ...

    @property
    def position_m(self) -> Place: ...


class Changes:
    """Sends changes to mediumd when they are due."""

    def __init__(
        self,
        plan: Plan,
        medium: _Medium,
        roaming: Roaming | None = None,
        start_walking: Callable[[float], None] | None = None,
    ) -> None:
        """`start_walking` starts hosts that move by themselves at a given time of the run. If None, this class moves
        them.
        """
        self._plan, self._medium, self._roaming = plan, medium, roaming
        self._start_walking, self._telling = start_walking, start_walking is None
        self._rates = sorted((link for link in plan.link_rates if link.at_s > 0), key=lambda link: link.at_s)
        self._tracks: dict[int, list[Move]] = {}
        for move in plan.moves:
            self._tracks.setdefault(move.node, []).append(move)
        self._walkers = sorted(self._tracks)
        self._sent_positions = {host: plan.nodes[host].position_m for host in self._walkers}
        self._off_mm: list[int] = []
        self._last_s: float | None = None
        self._longest_s = 0.0
        self._next_s = 0.0

    def apply(self, now_s: float) -> None:
        """Apply all changes that are due at this time of the run."""
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
        self._next_s = max(self._next_s, now_s - STEP_S) + STEP_S  # a late update does not shift the later ones
        self._longest_s = max(self._longest_s, now_s - (now_s if self._last_s is None else self._last_s))
        self._last_s = now_s
        if not self._telling:
            self._read_positions()
        for host, track in list(self._tracks.items()):
            node = self._plan.nodes[host]
            place = position_at(node.position_m, track, now_s)
            self._off_mm.append(round(MM_PER_M * math.dist(place, self._sent_positions[host])))
            if self._telling:
                self._medium.call("set_position", station=node.name, position_m=list(place))
                self._sent_positions[host] = place
            if self._roaming is not None:
                self._roaming.follow(now_s, host, place)
            if now_s >= track[-1].at_s:
                del self._tracks[host]

    def report(self, stations: Sequence[Mapping[str, Any]]) -> Walks | None:
        """Report the moving hosts for host.json; None if no host moves. `stations`: mediumd's statistics at the end.

        `off_m`: the largest distance between a host's true position and its position at mediumd, taken just before an
        update, where the error is largest. For hosts that move by themselves, the distance is taken at the same times.
        """
        if not self._walkers:
            return None
        walking = {self._plan.nodes[host].name for host in self._walkers}
        return {
            "longest_step_s": round(self._longest_s, 4),
            "off_m": {name: mm / MM_PER_M for name, mm in quantiles(self._off_mm).items()},
            "at_end_m": {row["name"]: row["position_m"] for row in stations if row["name"] in walking},
        }

    def _read_positions(self) -> None:
        """Read the positions of the hosts that move by themselves from mediumd."""
        rows: Any = self._medium.call("stats")["stations"]
        places = {row["name"]: tuple(row["position_m"]) for row in rows}
        self._sent_positions = {host: places[self._plan.nodes[host].name] for host in self._walkers}


def position_at(start_m: Place, track: Sequence[_Waypoint], now_s: float) -> Place:
    """The position of a host that starts at `start_m` and follows `track` in straight lines."""
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
    """One handover."""

    at_s: float
    station: int
    before: int
    after: int


class Roaming:
    """Assigns stations to gateways. In a run with a controller, moving stations change their gateway.

        decide   a station's gateway is the nearest one in range; another one has to be nearer by `HYSTERESIS_M`
        then     1. the new gateway admits the station: it gets a route to the station over the air, and sends a
                    gratuitous ARP request on its wire. The controller then knows the station's new gateway, and moves
                    the rules of the station's flows
                 2. the station sends through the new gateway
                 3. after `LEAVE_S`, the old gateway forwards packets for the station over its wire

    All of a station's routes that led over its old gateway lead over the new one. TCP-GAP's gateways exchange no state:
    the new gateway rebuilds its soft state from the packets that it sees.

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
        """Take a station's new position."""
        before = self.gateway.get(station)
        if before is None:
            return
        places = {gateway: self._plan.nodes[gateway].position_m for gateway in self._plan.gateways}
        after = choose_gateway(position_m, places, now=before, range_m=self._range_m)
        if after != before:
            self._hand_over(now_s, station, before, after)

    def apply(self, now_s: float) -> None:
        """Execute the steps of handovers that are due."""
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
        """Announce that this gateway's wire now leads to the station's address."""
        port = addresses.wired_port(self._plan, gateway)
        assert port is not None
        with inside(self._plan.nodes[gateway].name), socket.socket(socket.AF_PACKET, socket.SOCK_RAW, _ARP) as raw:
            raw.bind((port.name, 0))
            raw.send(gratuitous_arp(port.mac, addresses.address(station)))


def choose_gateway(
    position_m: tuple[float, float], gateways: dict[int, tuple[float, float]], *, now: int, range_m: float
) -> int:
    """Choose the gateway for a station at `position_m`.

    The station keeps its gateway `now`, unless another gateway in range is nearer by `HYSTERESIS_M`, or `now` is out of
    range and another gateway is in range.
    """
    far = {gateway: math.dist(position_m, place) for gateway, place in gateways.items()}
    best = min(far, key=lambda gateway: (far[gateway], gateway))
    if far[best] > range_m:
        return now
    return best if far[now] > range_m or far[best] + HYSTERESIS_M < far[now] else now


def first_gateway(plan: Plan, station: int) -> int | None:
    """The gateway by which a station's packets leave the air, if the gateway is the station's neighbour."""
    wired = [host for host, node in enumerate(plan.nodes) if not node.wireless]
    for host in wired:
        way = addresses.path(plan, station, host)
        if len(way) > 1 and way[1] in plan.gateways and station not in plan.gateways:
            return way[1]
    return None


def range_m(plan: Plan) -> float:
    """Maximum distance at which a frame is decoded."""
    propagation = plan.radio.propagation
    if isinstance(propagation, LogDistancePropagation):
        margin_db = propagation.tx_power_dbm - propagation.reference_loss_db - propagation.decode_dbm
        return float(10 ** (margin_db / (10 * propagation.exponent)))
    return propagation.decode_m


def gratuitous_arp(mac: str, address: str) -> bytes:
    """An ARP request of an address for itself (RFC 5227 Sec. 3). All receivers learn the sender's MAC address."""
    own, number = bytes.fromhex(mac.replace(":", "")), socket.inet_aton(address)
    head = b"\xff" * 6 + own + struct.pack("!HHHBBH", _ARP, 1, 0x0800, 6, 4, 1)
    return head + own + number + bytes(6) + number
