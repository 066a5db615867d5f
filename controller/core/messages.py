"""What goes in and out of the brain: events from switches, actions for them. Addresses and MACs are integers."""

from __future__ import annotations

from typing import NamedTuple


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
