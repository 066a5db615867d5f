"""Events from switches, actions for switches, and the journal. Addresses and MACs are integers.

The journal records what happened, for people and for event streams.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from pacelab.documents import JsonObject


class FiveTuple(NamedTuple):
    """One direction of a conversation. Ports are 0 if the protocol has none."""

    src: int
    dst: int
    protocol: int
    sport: int
    dport: int

    def reversed(self) -> FiveTuple:
        """The opposite direction."""
        return FiveTuple(self.dst, self.src, self.protocol, self.dport, self.sport)


class Match(NamedTuple):
    """What a rule applies to: a flow, a pair of addresses, frames to a MAC, or ARP to a MAC."""

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
    """Use the queue for voice."""
    mark: bool = False
    """Mark unmarked voice with DSCP CS6, which 802.11 maps to voice (RFC 8325 Sec. 2.3; EF would be video)."""
    probe: bool = False
    """The start of each packet is also sent to the controller."""
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
    """A port was added, went up or down, or (`gone`) was removed."""

    dpid: int
    port: Port
    gone: bool = False


class PacketIn(NamedTuple):
    """A frame without a rule, or (`copy`) the copy of a frame that a rule sends us."""

    dpid: int
    port: int
    data: bytes
    copy: bool = False


class Counted(NamedTuple):
    """Counters of a switch's counted rules: (cookie, packets, bytes)."""

    dpid: int
    rows: tuple[tuple[int, int, int], ...]


class FoundRule(NamedTuple):
    """A rule of ours that a switch had when it connected."""

    cookie: int
    rule: Rule


class RulesFound(NamedTuple):
    """All rules of ours that a switch had when it connected."""

    dpid: int
    rules: tuple[FoundRule, ...]


class RuleGone(NamedTuple):
    """A counted rule was idle and has expired."""

    dpid: int
    cookie: int
    packets: int
    size_bytes: int


class BaseRuleGone(NamedTuple):
    """A rule of `SetUp` was removed, and perhaps all other rules as well."""

    dpid: int


class BarrierDone(NamedTuple):
    """Everything sent to the switch before the barrier is in its tables."""

    dpid: int
    number: int


class Refused(NamedTuple):
    """The switch refused a message."""

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
    """Install a rule; it replaces one with the same match."""

    dpid: int
    cookie: int
    rule: Rule


class DeleteRule(NamedTuple):
    """Remove a rule, if it still has this cookie."""

    dpid: int
    cookie: int
    match: Match


class SendPacket(NamedTuple):
    """Send a frame out of a port; None: by the switch's rules, as if it had arrived at `in_port`."""

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


MAX_ENTRIES = 4096


class Entry(NamedTuple):
    """One event of the journal."""

    number: int
    at_ns: int
    kind: str
    data: JsonObject


class Journal:
    """Numbered events, for people and for streams. Bounded: the oldest are dropped, and readers see the gap."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=MAX_ENTRIES)
        self.next = 1

    def note(self, now_ns: int, kind: str, **data: Any) -> None:
        """Record an event; the values are JSON values."""
        self._entries.append(Entry(self.next, now_ns, kind, data))
        self.next += 1

    def since(self, number: int) -> list[Entry]:
        """Events from this number on, the oldest first."""
        first = self._entries[0].number if self._entries else self.next
        skip = max(0, number - first)
        return list(self._entries)[skip:]
