"""ACK suppression (the paper's WCP): TCP ACKs are not sent over a wireless link, whose own ACKs say the same.

    wired host -- data --> gateway -- data --> station      the gateway acknowledges what its link layer has delivered;
               <-- ACK --          <-- x -----              the station's own ACKs end in the station

    station -- data --> gateway -- data --> wired host      the station acknowledges to its own TCP what its link layer
     ACK <-^            (buffer) <-- ACK --                 has delivered; the gateway answers for it from there on

This module has what both nodes do: give data to the link layer, send again what it gave up, generate acknowledgements.

Invariants
1. Every segment handed over leaves by exactly one Forward or Drop, or is held in a queue or in a sender's buffer.
2. No octet is acknowledged that the link layer has not reported as delivered; acknowledgements never go back.
3. A FIN is acknowledged by its addressee only.
4. A connection is served only if both its SYNs were seen here; then the other node on the same path serves it as well.
   All other connections pass unchanged.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass
from itertools import takewhile
from typing import ClassVar, Generic, TypeVar

from pacelab.units import NS_PER_S
from pacelab_pacer.core.ack_suppression.link_half import Entry, EntryKey, LinkHalf
from pacelab_pacer.core.checks import AT_LEAST_1, check_fields
from pacelab_pacer.core.contract import (
    Action,
    Drop,
    Event,
    EventMask,
    Forward,
    Inject,
    Release,
    Resend,
    SegmentSeen,
    TransmitResult,
)
from pacelab_pacer.core.pacing.teardown import Teardown
from pacelab_pacer.core.segment import ACK, FIN, RST, SYN, TCP, FlowKey, Segment, seq_diff

HEADER_BYTES = 40
"""Size of a generated ACK: IPv4 and TCP headers without options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkConfig:
    """Settings of both nodes. Raises ValueError on a value out of range."""

    rounds: int = 10
    """How often a segment is given to the link layer before it is given up; then its source's own recovery acts.
    The paper sets no limit, but a station out of reach would block the others for ever."""
    report_timeout_ns: int = 2 * NS_PER_S
    """A segment without a report after this time was lost in the interface queue, and is sent again."""
    max_connections: int = 16_384
    """A further SYN is dropped: a connection that only one of the two nodes serves would stall."""
    idle_timeout_ns: int = 7440 * NS_PER_S
    """A silent connection is forgotten after 2 h 4 min (RFC 5382 Sec. 5): too early would lose acknowledged data."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            rounds=AT_LEAST_1,
            report_timeout_ns=AT_LEAST_1,
            max_connections=AT_LEAST_1,
            idle_timeout_ns=AT_LEAST_1,
        )


class Connection:
    """What a node knows of one connection, keyed by the direction that leaves over its wireless link."""

    __slots__ = (
        *("key", "last_seen_ns", "link", "outward_seq", "reverse_first_seq", "reverse_seq"),
        *("syn_seq", "teardown", "window_bytes"),
    )

    def __init__(self, key: FlowKey, now_ns: int) -> None:
        self.key = key
        self.last_seen_ns = now_ns
        self.syn_seq: int | None = None
        """Number of the SYN (not SYN-ACK) that opened the connection."""
        self.link: LinkHalf | None = None
        """Created by the SYN of this direction."""
        self.outward_seq = 0
        """Number after everything that this direction has sent."""
        self.reverse_first_seq: int | None = None
        """Number after the SYN of the other direction."""
        self.reverse_seq = 0
        """Number after everything that the other direction has sent: the number of the ACKs made for it."""
        self.window_bytes = 0
        """The last window from the other direction."""
        self.teardown = Teardown()

    @property
    def is_open(self) -> bool:
        """Both SYNs were seen."""
        return self.link is not None and self.reverse_first_seq is not None

    def is_probe(self, segment: Segment, *, outward: bool) -> bool:
        """Whether a segment repeats an old number to be answered: a keep-alive (RFC 1122 Sec. 4.2.3.6)."""
        return seq_diff(segment.seq, self.outward_seq if outward else self.reverse_seq) < 0


C = TypeVar("C", bound=Connection)


class AckSuppressionHook(Generic[C]):
    """Base of the two hooks; see the module's invariants.

    Source: [le] Sec. 3.2-3.4.
    Deviates: the paper's link layer reports every packet; here an interface queue may drop one silently. Reports arrive
    in the order of the flow's packets, so that a packet that is overtaken or waits too long counts as lost.
    """

    event_mask = EventMask.SEGMENT | EventMask.TRANSMIT
    _COUNTERS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, link: LinkConfig) -> None:
        self._link = link
        self._actions: deque[Action] = deque()
        self._connections: OrderedDict[FlowKey, C] = OrderedDict()
        self._passed: OrderedDict[EntryKey, Entry] = OrderedDict()
        """Segments in the link layer, the oldest first."""
        common = ("acks_generated", "duplicate_acks_generated", "acks_suppressed", "link_retransmissions")
        trouble = ("unreported", "given_up", "copies_absorbed", "connections", "connections_refused")
        self._count = dict.fromkeys((*common, *trouble, *self._COUNTERS), 0)

    # The contract.

    def handle(self, now_ns: int, event: Event) -> None:
        """Process a segment or the fate of a frame."""
        if isinstance(event, SegmentSeen):
            if event.segment.protocol == TCP:
                self._handle_tcp(now_ns, event)
            else:
                self._forward(event.segment)
        else:
            self._handle_report(now_ns, event)

    def poll_action(self) -> Action | None:
        """Next action, or None."""
        return self._actions.popleft() if self._actions else None

    def deadline(self) -> tuple[int, str] | None:
        """The time of the next wake-up, and the reason: "report", "idle", or the subclass's own."""
        best = self._own_deadline()
        for entry in self._passed.values():
            assert entry.passed_ns is not None
            report_ns = entry.passed_ns + self._link.report_timeout_ns
            if best is None or report_ns < best[0]:
                best = (report_ns, "report")
            break
        for connection in self._connections.values():
            idle_ns = connection.last_seen_ns + self._link.idle_timeout_ns
            if best is None or idle_ns < best[0]:
                best = (idle_ns, "idle")
            break
        return best

    def handle_timeout(self, now_ns: int) -> None:
        """Send again what was lost without a report, and forget silent connections."""
        overdue_ns = now_ns - self._link.report_timeout_ns
        for entry in [
            one for one in self._passed.values() if one.passed_ns is not None and one.passed_ns <= overdue_ns
        ]:
            self._count["unreported"] += 1
            self._pass_again(now_ns, entry)
        idle_ns = now_ns - self._link.idle_timeout_ns
        for connection in list(takewhile(lambda one: one.last_seen_ns <= idle_ns, self._connections.values())):
            self._end(now_ns, connection, "connection idle")
        self._own_timeout(now_ns)

    def counters(self) -> dict[str, int]:
        """How often the hook acted."""
        return dict(self._count)

    # What subclasses define.

    def _handle_tcp(self, now_ns: int, event: SegmentSeen) -> None:
        raise NotImplementedError

    def _new_connection(self, key: FlowKey, now_ns: int) -> C:
        raise NotImplementedError

    def _acknowledge(self, connection: C, link: LinkHalf) -> None:
        """Acknowledge the link's data to its source."""
        raise NotImplementedError

    def _after_report(self, now_ns: int, connection: C) -> None:
        """Called when the link layer has finished a segment of this connection."""

    def _other_report(self, now_ns: int, result: TransmitResult) -> None:
        """Called when the link layer has finished a packet that is not among the served data."""

    def _own_deadline(self) -> tuple[int, str] | None:
        return None

    def _own_timeout(self, now_ns: int) -> None:
        pass

    # The life of a connection.

    def _connection_of(self, now_ns: int, segment: Segment, *, outward: bool) -> C | None:
        """The served connection of the segment; SYNs create it. `outward`: towards the air."""
        key = segment.flow if outward else segment.flow.reversed()
        connection = self._connections.get(key)
        if segment.flags & SYN:
            connection = self._note_syn(now_ns, connection, key, segment, outward=outward)
        if connection is None:
            return None
        connection.last_seen_ns = now_ns
        self._connections.move_to_end(key)
        if outward and connection.link is not None:
            if seq_diff(segment.end_seq, connection.outward_seq) > 0:
                connection.outward_seq = segment.end_seq
        elif not outward and connection.reverse_first_seq is not None:
            if seq_diff(segment.end_seq, connection.reverse_seq) > 0:
                connection.reverse_seq = segment.end_seq
            if segment.flags & (ACK | SYN):
                connection.window_bytes = segment.window_bytes
        return connection

    def _note_syn(self, now_ns: int, found: C | None, key: FlowKey, segment: Segment, *, outward: bool) -> C | None:
        connection = found
        if not segment.flags & ACK and connection is not None and connection.syn_seq != segment.seq:
            self._end(now_ns, connection, "new connection")
            connection = None
        if connection is None:
            if segment.flags & ACK or len(self._connections) >= self._link.max_connections:
                return None
            connection = self._connections[key] = self._new_connection(key, now_ns)
            connection.syn_seq = segment.seq
            self._count["connections"] += 1
        if outward and connection.link is None:
            connection.link = LinkHalf(segment.end_seq)
            connection.outward_seq = segment.end_seq
        elif not outward and connection.reverse_first_seq is None:
            connection.reverse_first_seq = connection.reverse_seq = segment.end_seq
        return connection

    def _refuses(self, connection: C | None, segment: Segment) -> bool:
        """Whether this is a SYN without room for its connection, which must not start then (see `max_connections`)."""
        return connection is None and segment.flags & (SYN | ACK) == SYN

    def _refuse(self, segment: Segment) -> None:
        self._count["connections_refused"] += 1
        self._actions.append(Drop(segment.handle, "no room for a connection"))

    def _watch_end(self, now_ns: int, connection: C, segment: Segment, *, outward: bool) -> None:
        """Call this after everything else was done with the segment."""
        if segment.flags & RST:
            self._end(now_ns, connection, "connection reset")
        elif connection.teardown.observe(segment, outward=outward):
            self._end(now_ns, connection, "connection closed")

    def _end(self, now_ns: int, connection: C, reason: str) -> None:
        """Forget a connection and its segments."""
        del self._connections[connection.key]
        for entry in [] if connection.link is None else connection.link.entries.values():
            if entry.passed_ns is None:
                self._actions.append(Drop(entry.segment.handle, reason))
            else:
                del self._passed[entry.key]
                self._actions.append(Release(entry.segment.handle))

    # Data over the link.

    def _take(self, now_ns: int, connection: C, link: LinkHalf, segment: Segment) -> Entry | None:
        """Make an entry for new data or a FIN; return None for a copy, which is absorbed."""
        if link.has_delivered(segment):
            # The source has not received the ACK, so it gets the ACK again, as from its receiver.
            self._absorb_copy(segment)
            self._acknowledge(connection, link)
            return None
        if link.holds(segment):
            self._absorb_copy(segment)
            return None
        entry = Entry(link, segment)
        link.entries[entry.key] = entry
        return entry

    def _absorb_copy(self, segment: Segment) -> None:
        self._count["copies_absorbed"] += 1
        self._actions.append(Drop(segment.handle, "copy of what is here or delivered"))

    def _pass(self, now_ns: int, entry: Entry) -> None:
        """Give a held segment to the link layer."""
        entry.passed_ns = now_ns
        entry.half.passed_pkts += 1
        self._passed[entry.key] = entry
        self._actions.append(Forward(entry.segment.handle, keep=True))

    def _pass_again(self, now_ns: int, entry: Entry) -> None:
        entry.passed_ns = now_ns
        self._passed.move_to_end(entry.key)
        self._count["link_retransmissions"] += 1
        self._actions.append(Resend(entry.segment.handle))

    def _handle_report(self, now_ns: int, result: TransmitResult) -> None:
        segment = result.segment
        if segment.protocol != TCP:
            return
        entry = self._passed.get(EntryKey(segment.flow, segment.seq, segment.end_seq))
        if entry is None:
            self._other_report(now_ns, result)
            return
        connection = self._connections[segment.flow]
        overtaken = self._overtaken(entry)
        if result.delivered:
            self._delivered(connection, entry)
        else:
            self._failed(now_ns, entry)
        for lost in overtaken:
            self._count["unreported"] += 1
            self._pass_again(now_ns, lost)
        self._after_report(now_ns, connection)
        self._tell_duplicates(connection, entry.half)

    def _overtaken(self, reported: Entry) -> list[Entry]:
        """Segments of the same flow that the link layer got before this one and has not reported."""
        earlier = takewhile(lambda entry: entry is not reported, self._passed.values())
        return [entry for entry in earlier if entry.half is reported.half]

    def _delivered(self, connection: C, entry: Entry) -> None:
        self._leave(entry)
        if entry.half.deliver(entry.segment) > 0:
            self._acknowledge(connection, entry.half)

    def _failed(self, now_ns: int, entry: Entry) -> None:
        entry.failures += 1
        if entry.failures < self._link.rounds:
            self._pass_again(now_ns, entry)
            return
        self._count["given_up"] += 1
        self._leave(entry)

    def _leave(self, entry: Entry) -> None:
        entry.half.passed_pkts -= 1
        del self._passed[entry.key]
        del entry.half.entries[entry.key]
        self._actions.append(Release(entry.segment.handle))

    def _tell_duplicates(self, connection: C, link: LinkHalf) -> None:
        for _ in range(link.duplicates_due()):
            self._count["duplicate_acks_generated"] += 1
            self._acknowledge(connection, link)

    # Segments that are made or leave.

    def _forward(self, segment: Segment) -> None:
        self._actions.append(Forward(segment.handle))

    def _suppress(self, segment: Segment) -> None:
        self._count["acks_suppressed"] += 1
        self._actions.append(Drop(segment.handle, "ACK suppressed"))

    def _inject_ack(self, flow: FlowKey, *, seq: int, ack: int, window_bytes: int, flags: int = 0) -> None:
        segment = Segment(0, flow, TCP, ACK | flags, seq, ack, 0, HEADER_BYTES, window_bytes, None)
        self._actions.append(Inject(segment))


def is_tracked(segment: Segment) -> bool:
    """Whether the link layer's reports of the segment matter: data, and a FIN, which must not overtake data."""
    return segment.is_data or (bool(segment.flags & FIN) and not segment.flags & (SYN | RST))
