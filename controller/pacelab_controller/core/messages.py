"""What goes in and out of the brain: events from switches, actions for them. Addresses and MACs are integers.

The journal is what it tells people and streams of what happened.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple


class FiveTuple(NamedTuple):
    """One direction of a conversation. Ports are 0 where the protocol has none."""

    src: int
    dst: int
    protocol: int
    sport: int
    dport: int

    def reversed(self) -> FiveTuple:
        """The opposite direction."""
        return FiveTuple(self.dst, self.src, self.protocol, self.dport, self.sport)


class Match(NamedTuple):
    """What a rule applies to: a flow, a pair of addresses (`protocol` None), frames to a MAC, or ARP to a MAC."""

    flow: FiveTuple | None = None
    pair: tuple[int, int] | None = None
    mac: int | None = None
    arp: int | None = None


class Rule(NamedTuple):
    """One entry of a switch's table. Two rules with the same match are the same entry."""

    match: Match
    out_port: int
    set_mac: int | None = None
    """Destination MAC to write."""
    voice: bool = False
    """Into the queue for voice."""
    mark: bool = False
    """Of voice that nobody has marked: with DSCP CS6, which 802.11 takes for voice (RFC 8325 Sec. 2.3 on EF's lot)."""
    probe: bool = False
    """The head of each packet also comes to the controller."""
    counted: bool = False
    """The flow's counter: its rule at the first switch."""


class Port(NamedTuple):
    """A port of a switch."""

    number: int
    name: str
    mac: int
    up: bool


# Events


class SwitchUp(NamedTuple):
    """A switch has connected."""

    dpid: int
    ports: tuple[Port, ...]


class SwitchDown(NamedTuple):
    """Its connection has ended."""

    dpid: int


class PortChanged(NamedTuple):
    """A port came, went up or down, or (`gone`) was taken out."""

    dpid: int
    port: Port
    gone: bool = False


class PacketIn(NamedTuple):
    """A frame for which the switch has no rule, or of which a rule sends us a copy (`copy`)."""

    dpid: int
    port: int
    data: bytes
    copy: bool = False


class Counted(NamedTuple):
    """Counters of a switch's counted rules: (cookie, packets, bytes) each."""

    dpid: int
    rows: tuple[tuple[int, int, int], ...]


class FoundRule(NamedTuple):
    """A rule of ours that a switch had when it connected."""

    cookie: int
    rule: Rule


class RulesFound(NamedTuple):
    """All of them."""

    dpid: int
    rules: tuple[FoundRule, ...]


class RuleGone(NamedTuple):
    """A counted rule was idle for long enough to go."""

    dpid: int
    cookie: int
    packets: int
    size_bytes: int


class BaseRuleGone(NamedTuple):
    """Somebody has taken out a rule of `SetUp`, and perhaps all others with it."""

    dpid: int


class BarrierDone(NamedTuple):
    """All that was sent to the switch before the barrier is in its tables."""

    dpid: int
    number: int


class Refused(NamedTuple):
    """The switch did not accept something."""

    dpid: int
    reason: str


Event = (
    SwitchUp
    | SwitchDown
    | PortChanged
    | PacketIn
    | Counted
    | RulesFound
    | RuleGone
    | BaseRuleGone
    | BarrierDone
    | Refused
)

# Actions


class SetUp(NamedTuple):
    """Rules that every switch needs: misses, ARP and LLDP to the controller."""

    dpid: int


class AddRule(NamedTuple):
    """Put a rule into a switch, in the place of one with the same match."""

    dpid: int
    cookie: int
    rule: Rule


class DeleteRule(NamedTuple):
    """Take a rule out, if it still has this cookie."""

    dpid: int
    cookie: int
    match: Match


class SendPacket(NamedTuple):
    """Send a frame out of a port; None: by the switch's own rules, as if it came in at `in_port`."""

    dpid: int
    data: bytes
    out_port: int | None
    in_port: int | None = None


class Barrier(NamedTuple):
    """Ask for `BarrierDone`."""

    dpid: int
    number: int


class AskCounters(NamedTuple):
    """Ask for `Counted`."""

    dpid: int


class AskRules(NamedTuple):
    """Ask for `RulesFound`."""

    dpid: int


class Disconnect(NamedTuple):
    """End the connection of a switch."""

    dpid: int
    reason: str


Action = SetUp | AddRule | DeleteRule | SendPacket | Barrier | AskCounters | AskRules | Disconnect


KEPT = 4096


class Entry(NamedTuple):
    """One event of the journal."""

    number: int
    at_ns: int
    kind: str
    data: dict[str, Any]


class Journal:
    """What happened, numbered, for people and for streams. Bounded: the oldest goes first, and readers see the gap."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=KEPT)
        self.next = 1

    def note(self, now_ns: int, kind: str, **data: Any) -> None:
        """Write an event down; the values are JSON's."""
        self._entries.append(Entry(self.next, now_ns, kind, data))
        self.next += 1

    def since(self, number: int) -> list[Entry]:
        """Events with this number or a later one, the oldest first."""
        first = self._entries[0].number if self._entries else self.next
        skip = max(0, number - first)
        return list(self._entries)[skip:]
