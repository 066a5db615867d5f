"""Switches, their ports, the links between them, and which address is at which port.

A port is a link's when an LLDP frame of another of our switches has come in there lately; it is an edge, where hosts
are, when it has been up for `SETTLE_NS` and none has. Until then nothing is learned or flooded at it.

An address is at a port of a switch, behind a MAC. A station's place is its gateway's port and MAC.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from enum import IntEnum
from typing import NamedTuple

from pacelab.units import NS_PER_MS, NS_PER_S
from pacelab_controller.core.messages import Port

MOST_SWITCHES, MOST_PORTS = 256, 1024
FIRST_RESERVED_PORT = 0xFFFF_FF00
SETTLE_NS = 600 * NS_PER_MS
"""LLDP frames go out as soon as a port is up; wires delay by some tens of ms."""
LINK_LIFE_NS = 3500 * NS_PER_MS
"""Three LLDP frames in a row may be lost."""
LLDP_EVERY_NS = NS_PER_S
MOST_ADDRESSES = 8192
GUARD_NS = 2 * NS_PER_S
WINDOW_NS = 10 * NS_PER_S
MOST_MOVES = 3
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
    """What is known of it."""

    def __init__(self) -> None:
        self._ports: dict[int, dict[int, _Port]] = {}
        """Ports that are up, of connected switches."""
        self._links: dict[End, tuple[End, int]] = {}
        """Where a link comes in -> where it comes from, and when that was last heard."""

    @property
    def switches(self) -> list[int]:
        """Connected ones."""
        return sorted(self._ports)

    def add_switch(self, now_ns: int, dpid: int, ports: tuple[Port, ...]) -> bool:
        """A switch has connected, perhaps anew; False when there is no room."""
        if dpid not in self._ports and len(self._ports) >= MOST_SWITCHES:
            return False
        known = self._ports.get(dpid, {})
        usable = [port for port in ports if port.up and 0 < port.number < FIRST_RESERVED_PORT][:MOST_PORTS]
        self._ports[dpid] = {port.number: known.get(port.number) or _Port(port, now_ns) for port in usable}
        return True

    def remove_switch(self, dpid: int) -> list[End]:
        """Its connection has ended; ends of links that are not usable any more."""
        self._ports.pop(dpid, None)
        return self._cut([end for end, (far, _) in self._links.items() if dpid in (end.dpid, far.dpid)])

    def change_port(self, now_ns: int, dpid: int, port: Port, *, gone: bool) -> list[End]:
        """A port has changed; ends that are not usable any more (the port's own among them)."""
        ports = self._ports.get(dpid)
        if ports is None or not 0 < port.number < FIRST_RESERVED_PORT:
            return []
        if not gone and port.up:
            if len(ports) < MOST_PORTS:
                ports.setdefault(port.number, _Port(port, now_ns))
            return []
        if ports.pop(port.number, None) is None:
            return []
        here = End(dpid, port.number)
        return [here, *(end for end in self._cut(self._touching(here)) if end != here)]

    def hear(self, now_ns: int, here: End, far: End) -> bool:
        """An LLDP frame of `far` came in `here`; whether that is news."""
        if not self.has_port(here) or not self.has_port(far) or here.dpid == far.dpid:
            return False
        news = self._links.get(here, (None, 0))[0] != far
        self._links[here] = (far, now_ns)
        return news

    def expire(self, now_ns: int) -> list[End]:
        """Links that have not been heard of for too long go; their ends."""
        return self._cut([end for end, (_, at_ns) in self._links.items() if now_ns - at_ns > LINK_LIFE_NS])

    def has_port(self, end: End) -> bool:
        """Whether a port is there and up."""
        return end.port in self._ports.get(end.dpid, {})

    def ports(self) -> list[tuple[End, int]]:
        """All ports with their MACs."""
        return [(End(dpid, number), port.mac) for dpid, ports in self._ports.items() for number, port in ports.items()]

    def port_name(self, end: End) -> str:
        """As the switch calls it."""
        port = self._ports.get(end.dpid, {}).get(end.port)
        return str(end.port) if port is None else port.name

    def is_link(self, end: End) -> bool:
        """Whether another switch is there."""
        return end in self._links or any(far == end for far, _ in self._links.values())

    def is_edge(self, now_ns: int, end: End) -> bool:
        """Whether hosts are there."""
        port = self._ports.get(end.dpid, {}).get(end.port)
        return port is not None and now_ns - port.since_ns >= SETTLE_NS and not self.is_link(end)

    def edges(self, now_ns: int) -> list[End]:
        """Ports with hosts."""
        return [end for end, _mac in self.ports() if self.is_edge(now_ns, end)]

    def links(self) -> list[tuple[End, End]]:
        """Links, as (comes from, comes in), each direction that was heard."""
        return sorted((far, here) for here, (far, _) in self._links.items())

    def beyond(self, end: End) -> int | None:
        """The switch that is reached out of this port."""
        return next((here.dpid for here, (far, _) in self._links.items() if far == end), None)

    def path(self, src: int, dst: int) -> list[End] | None:
        """Where to leave each switch from `src` on to get to `dst` (not included): fewest hops; None: no way.

        Ties go to the lower switch and port numbers, so that all flows between two switches take one path.
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

    def _cut(self, ends: list[End]) -> list[End]:
        found: list[End] = []
        for end in ends:
            far, _ = self._links.pop(end)
            found += [end, far]
        return list(dict.fromkeys(found))


class How(IntEnum):
    """How a place became known; the higher, the stronger."""

    RULE = 0
    """A rule that was there when the controller came back sends it there."""
    PACKET = 1
    """A packet from it came in there."""
    ARP = 2
    """The address was in the sender's field of an ARP packet: a gateway that takes a station over says so."""
    REGISTERED = 3
    """Somebody with the token said so."""


class Place(NamedTuple):
    """A port, and the MAC behind it."""

    end: End
    mac: int


class Sighting(NamedTuple):
    """What came of a claim."""

    place: Place
    """Where the address is now."""
    before: Place | None = None
    """Where it was, if it has moved."""
    new: bool = False
    refused: str | None = None
    """Why the claim was not believed."""


class _Known:
    __slots__ = ("held_until_ns", "how", "moves", "place", "refused", "since_ns")

    def __init__(self, place: Place, how: How, now_ns: int) -> None:
        self.place, self.how, self.since_ns = place, how, now_ns
        self.moves: deque[int] = deque(maxlen=MOST_MOVES)
        self.held_until_ns = 0
        self.refused: tuple[Place, str] | None = None


class Locations:
    """All places.

    Invariants
    1. An address has one place. What contradicts it moves it or is refused, with a reason.
    2. After a move, weaker evidence for another place within `GUARD_NS` is a packet that was under way: refused.
    3. An address that moves more than `MOST_MOVES` times in `WINDOW_NS` without anybody's registration is claimed from
       two places: it stays where it is for `HOLD_NS`, whatever they say.
    4. At most `MOST_ADDRESSES`; the one not heard of for longest makes room.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[int, _Known] = OrderedDict()

    def find(self, address: int) -> Place | None:
        """Where it is."""
        known = self._known.get(address)
        return None if known is None else known.place

    def all(self) -> list[tuple[int, Place, How, int]]:
        """Address, place, how that is known, since when."""
        return [(address, known.place, known.how, known.since_ns) for address, known in sorted(self._known.items())]

    def saw(self, now_ns: int, address: int, place: Place, how: How) -> Sighting:
        """Somebody says that it is there."""
        known = self._known.get(address)
        if known is None:
            if len(self._known) >= MOST_ADDRESSES:
                self._known.popitem(last=False)
            self._known[address] = _Known(place, how, now_ns)
            return Sighting(place, new=True)
        self._known.move_to_end(address)
        if known.place == place:
            known.how = max(known.how, how)
            return Sighting(place)
        reason = self._refuse(now_ns, known, how)
        if reason is not None:
            # One reason for one place: a claim that is repeated is no news.
            fresh = known.refused != (place, reason)
            known.refused = (place, reason)
            return Sighting(known.place, refused=reason if fresh else "")
        before, known.place, known.how, known.since_ns = known.place, place, how, now_ns
        known.refused = None
        if how is How.REGISTERED:
            known.moves.clear()
            known.held_until_ns = 0
        else:
            known.moves.append(now_ns)
        return Sighting(place, before=before)

    def forget(self, end: End) -> list[int]:
        """The port has gone: addresses that were there."""
        gone = [address for address, known in self._known.items() if known.place.end == end]
        for address in gone:
            del self._known[address]
        return gone

    def _refuse(self, now_ns: int, known: _Known, how: How) -> str | None:
        if how is How.REGISTERED:
            return None
        if how is How.RULE:
            return "a rule from before says otherwise than what was seen"
        if now_ns < known.held_until_ns:
            return "claimed from two places: it stays where it was"
        if how < known.how and now_ns - known.since_ns < GUARD_NS:
            return "under way when it moved"
        if len(known.moves) == MOST_MOVES and now_ns - known.moves[0] < WINDOW_NS:
            known.held_until_ns = now_ns + HOLD_NS
            return "claimed from two places: it stays where it was"
        return None
