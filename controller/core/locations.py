"""Which address is where: at a port of a switch, behind a MAC. A station's place is its gateway's port and MAC.

How a place becomes known, the stronger first:

    registered   somebody with the token said so
    arp          the address was in the sender's field of an ARP packet (a gateway that takes a station over says so)
    packet       a packet from it came in there
    rule         a rule that was there when the controller came back sends it there

Invariants
1. An address has one place. What contradicts it moves it or is refused, with a reason.
2. After a move, weaker evidence for another place within `GUARD_NS` is a packet that was under way: refused.
3. An address that moves more than `MOST_MOVES` times in `WINDOW_NS` without anybody's registration is claimed from two
   places: it stays where it is for `HOLD_NS`, whatever they say.
4. At most `MOST_ADDRESSES`; the one not heard of for longest makes room.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from enum import IntEnum
from typing import NamedTuple

from pacelab.controller.core.network import End
from pacelab.units import NS_PER_S

MOST_ADDRESSES = 8192
GUARD_NS = 2 * NS_PER_S
WINDOW_NS = 10 * NS_PER_S
MOST_MOVES = 3
HOLD_NS = 30 * NS_PER_S


class How(IntEnum):
    """How a place became known; the higher, the stronger."""

    RULE = 0
    PACKET = 1
    ARP = 2
    REGISTERED = 3


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
    """All places."""

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
