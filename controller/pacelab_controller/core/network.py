"""Switches, their ports, the links between them, and which address is at which port.

A port belongs to a link if an LLDP frame of another of our switches has arrived there lately. It is an edge, with
hosts, if it has been up for `SETTLE_NS` without such a frame. Until then nothing is learned or flooded at it.

An address has a place: a port of a switch, and a MAC. A station's place is its gateway's port and MAC.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from enum import IntEnum
from typing import NamedTuple

from pacelab.units import NS_PER_MS, NS_PER_S
from pacelab_controller.core.messages import Port

MAX_SWITCHES, MAX_PORTS = 256, 1024
FIRST_RESERVED_PORT = 0xFFFF_FF00
SETTLE_NS = 600 * NS_PER_MS
"""LLDP frames go out as soon as a port is up; wires delay by some tens of ms."""
LINK_LIFE_NS = 3500 * NS_PER_MS
"""Three consecutive LLDP frames may be lost."""
LLDP_EVERY_NS = NS_PER_S
MAX_ADDRESSES = 8192
GUARD_NS = 2 * NS_PER_S
WINDOW_NS = 10 * NS_PER_S
MAX_MOVES = 3
HOLD_NS = 30 * NS_PER_S


class End(NamedTuple):
    """A port of a switch."""

    dpid: int
    port: int


class _Port:
    __slots__ = ("mac", "name", "since_ns")

    def __init__(self, port: Port, now_ns: int) -> None:
        self.name, self.mac, self.since_ns = port.name, port.mac, now_ns


class Network:
    """What the controller knows about switches and links."""

    def __init__(self) -> None:
        self._ports: dict[int, dict[int, _Port]] = {}
        """Ports of connected switches that are up."""
        self._links: dict[End, tuple[End, int]] = {}
        """Receiving end of a link -> sending end, and the time of the last LLDP frame."""

    @property
    def switches(self) -> list[int]:
        """The connected switches."""
        return sorted(self._ports)

    def add_switch(self, now_ns: int, dpid: int, ports: tuple[Port, ...]) -> bool:
        """A switch has connected or reconnected. Returns False if there are too many."""
        if dpid not in self._ports and len(self._ports) >= MAX_SWITCHES:
            return False
        known = self._ports.get(dpid, {})
        usable = [port for port in ports if port.up and 0 < port.number < FIRST_RESERVED_PORT][:MAX_PORTS]
        self._ports[dpid] = {port.number: known.get(port.number) or _Port(port, now_ns) for port in usable}
        return True

    def remove_switch(self, dpid: int) -> list[End]:
        """A switch has disconnected. Returns the ends of links that are lost."""
        self._ports.pop(dpid, None)
        return self._remove_links([end for end, (far, _) in self._links.items() if dpid in (end.dpid, far.dpid)])

    def change_port(self, now_ns: int, dpid: int, port: Port, *, gone: bool) -> list[End]:
        """A port has changed. Returns the ends that are lost, including the port's own."""
        ports = self._ports.get(dpid)
        if ports is None or not 0 < port.number < FIRST_RESERVED_PORT:
            return []
        if not gone and port.up:
            if len(ports) < MAX_PORTS:
                ports.setdefault(port.number, _Port(port, now_ns))
            return []
        if ports.pop(port.number, None) is None:
            return []
        here = End(dpid, port.number)
        return [here, *(end for end in self._remove_links(self._touching(here)) if end != here)]

    def hear(self, now_ns: int, here: End, far: End) -> bool:
        """An LLDP frame of `far` arrived at `here`. Returns whether the link is new."""
        if not self.has_port(here) or not self.has_port(far) or here.dpid == far.dpid:
            return False
        new = self._links.get(here, (None, 0))[0] != far
        self._links[here] = (far, now_ns)
        return new

    def expire(self, now_ns: int) -> list[End]:
        """Remove links without recent LLDP frames. Returns their ends."""
        return self._remove_links([end for end, (_, at_ns) in self._links.items() if now_ns - at_ns > LINK_LIFE_NS])

    def has_port(self, end: End) -> bool:
        """Whether a port exists and is up."""
        return end.port in self._ports.get(end.dpid, {})

    def ports(self) -> list[tuple[End, int]]:
        """All ports with their MACs."""
        return [(End(dpid, number), port.mac) for dpid, ports in self._ports.items() for number, port in ports.items()]

    def port_name(self, end: End) -> str:
        """The switch's name for a port."""
        port = self._ports.get(end.dpid, {}).get(end.port)
        return str(end.port) if port is None else port.name

    def is_link(self, end: End) -> bool:
        """Whether another switch is connected there."""
        return end in self._links or any(far == end for far, _ in self._links.values())

    def is_edge(self, now_ns: int, end: End) -> bool:
        """Whether it is an edge: hosts may be connected there."""
        port = self._ports.get(end.dpid, {}).get(end.port)
        return port is not None and now_ns - port.since_ns >= SETTLE_NS and not self.is_link(end)

    def edges(self, now_ns: int) -> list[End]:
        """Ports with hosts."""
        return [end for end, _mac in self.ports() if self.is_edge(now_ns, end)]

    def links(self) -> list[tuple[End, End]]:
        """Links as (sending end, receiving end), for each direction with LLDP frames."""
        return sorted((far, here) for here, (far, _) in self._links.items())

    def switch_behind(self, end: End) -> int | None:
        """The switch at the other end of this port."""
        return next((here.dpid for here, (far, _) in self._links.items() if far == end), None)

    def path(self, src: int, dst: int) -> list[End] | None:
        """The port of each switch on the shortest path from `src` to `dst` (not included); None if there is none.

        Lower switch and port numbers break ties, so all flows between two switches take the same path.
        """
        if src not in self._ports or dst not in self._ports:
            return None
        out: dict[int, list[tuple[int, int]]] = {}
        for far, here in self.links():
            out.setdefault(far.dpid, []).append((here.dpid, far.port))
        before: dict[int, End] = {}
        queue, seen = deque([src]), {src}
        while queue and dst not in seen:
            dpid = queue.popleft()
            for there, port in sorted(out.get(dpid, ())):
                if there not in seen:
                    seen.add(there)
                    before[there] = End(dpid, port)
                    queue.append(there)
        if dst not in seen:
            return None
        way = []
        while dst != src:
            way.append(before[dst])
            dst = before[dst].dpid
        return way[::-1]

    def _touching(self, port: End) -> list[End]:
        return [end for end, (far, _) in self._links.items() if port in (end, far)]

    def _remove_links(self, ends: list[End]) -> list[End]:
        found: list[End] = []
        for end in ends:
            far, _ = self._links.pop(end)
            found += [end, far]
        return list(dict.fromkeys(found))


class Evidence(IntEnum):
    """How a place became known; a higher value is stronger."""

    RULE = 0
    """A rule from before the controller's restart sends packets there."""
    PACKET = 1
    """A packet from the address arrived there."""
    ARP = 2
    """The address was the sender of an ARP packet; a gateway that takes over a station sends one."""
    REGISTERED = 3
    """A client with the token registered it."""


class Place(NamedTuple):
    """A port, and the MAC behind it."""

    end: End
    mac: int


class ClaimResult(NamedTuple):
    """The result of a claim that an address is at a place."""

    place: Place
    """Where the address is now."""
    before: Place | None = None
    """The previous place, if it has moved."""
    new: bool = False
    refused: str | None = None
    """Why the claim was refused."""


class _Known:
    __slots__ = ("held_until_ns", "how", "moves", "place", "refused", "since_ns")

    def __init__(self, place: Place, how: Evidence, now_ns: int) -> None:
        self.place, self.how, self.since_ns = place, how, now_ns
        self.moves: deque[int] = deque(maxlen=MAX_MOVES)
        self.held_until_ns = 0
        self.refused: tuple[Place, str] | None = None


class Locations:
    """The places of all addresses.

    Invariants
    1. An address has one place. A contradicting claim moves it or is refused with a reason.
    2. Within `GUARD_NS` after a move, weaker evidence for another place is a packet in transit: refused.
    3. An address that moves more than `MAX_MOVES` times in `WINDOW_NS` without registration is claimed by two hosts. It
       stays where it is for `HOLD_NS`.
    4. At most `MAX_ADDRESSES` are kept; the one without news for the longest time is dropped.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[int, _Known] = OrderedDict()

    def find(self, address: int) -> Place | None:
        """The place of an address."""
        known = self._known.get(address)
        return None if known is None else known.place

    def all(self) -> list[tuple[int, Place, Evidence, int]]:
        """Address, place, evidence, and since when."""
        return [(address, known.place, known.how, known.since_ns) for address, known in sorted(self._known.items())]

    def observe(self, now_ns: int, address: int, place: Place, how: Evidence) -> ClaimResult:
        """A claim that the address is at this place."""
        known = self._known.get(address)
        if known is None:
            if len(self._known) >= MAX_ADDRESSES:
                self._known.popitem(last=False)
            self._known[address] = _Known(place, how, now_ns)
            return ClaimResult(place, new=True)
        self._known.move_to_end(address)
        if known.place == place:
            known.how = max(known.how, how)
            return ClaimResult(place)
        reason = self._refuse(now_ns, known, how)
        if reason is not None:
            # Report each reason once per place: a repeated claim is not news.
            fresh = known.refused != (place, reason)
            known.refused = (place, reason)
            return ClaimResult(known.place, refused=reason if fresh else "")
        before, known.place, known.how, known.since_ns = known.place, place, how, now_ns
        known.refused = None
        if how is Evidence.REGISTERED:
            known.moves.clear()
            known.held_until_ns = 0
        else:
            known.moves.append(now_ns)
        return ClaimResult(place, before=before)

    def forget(self, end: End) -> list[int]:
        """The port is lost. Returns the addresses that were there."""
        gone = [address for address, known in self._known.items() if known.place.end == end]
        for address in gone:
            del self._known[address]
        return gone

    def _refuse(self, now_ns: int, known: _Known, how: Evidence) -> str | None:
        if how is Evidence.REGISTERED:
            return None
        if how is Evidence.RULE:
            return "a rule from before the restart contradicts what was seen"
        if now_ns < known.held_until_ns:
            return "claimed from two places: it stays where it was"
        if how < known.how and now_ns - known.since_ns < GUARD_NS:
            return "the packet was in transit when the address moved"
        if len(known.moves) == MAX_MOVES and now_ns - known.moves[0] < WINDOW_NS:
            known.held_until_ns = now_ns + HOLD_NS
            return "claimed from two places: it stays where it was"
        return None
