"""What VAGP's gateway knows of one connection: soft state of its wired-to-wireless half, and the parts that work on it.

LocalRecovery          LR, fills holes from copies
RedundantEliminator    RE, drops what is acknowledged
QueueConfig            the bounds of QM, the Queue Manager, which is `equations.window_pkts`
WiredClock             measures the round trip of the wired part
"""

from __future__ import annotations

from dataclasses import dataclass

from pacelab_pacer.core.checks import AT_LEAST_1, check_fields, require
from pacelab_pacer.core.pacing.gateway_hook import GatewayFlow
from pacelab_pacer.core.pacing.outstanding import Outstanding
from pacelab_pacer.core.pacing.paced_flow import FlowPacer, ReleaseSchedule
from pacelab_pacer.core.pacing.packet_store import PacketStore
from pacelab_pacer.core.pacing.window_edge import WindowEdge
from pacelab_pacer.core.segment import ACK, SYN, FlowKey, Segment, seq_diff


class WiredClock:
    """The wired round trip of a connection through a gateway, measured in one of two ways.

        handshake    from the SYN-ACK that leaves for the wired side to its answer
        windows      without a measured handshake (it was repeated, passed another gateway, or the wireless side opened
                     the connection): from the ACK that first permits an octet to that octet's arrival; the least so far

    Invariant: a time by windows is never too short, because nothing beyond a window arrives before the ACK that opens
    it has travelled all the way. It is exact once a window has held the source back, and only then does it matter.

    Source: Karn's rule, RFC 6298 Sec. 3: what was sent twice is not timed.
    """

    __slots__ = ("_awaited", "_is_timed", "_syn_ack_ns", "_syn_acks", "wired_ns")

    def __init__(self) -> None:
        self._syn_ack_ns = 0
        self._syn_acks = 0
        self._is_timed = False
        self._awaited: tuple[int, int] | None = None
        """(first octet that an ACK has permitted, when that ACK left)"""
        self.wired_ns: int | None = None
        """None while unknown."""

    def observe(self, now_ns: int, segment: Segment, *, outward: bool) -> None:
        """Process a segment of the connection (`outward`: towards the air)."""
        flags = segment.flags & (SYN | ACK)
        if flags == SYN | ACK and not outward:
            self._syn_acks += 1
            self._syn_ack_ns = now_ns
        elif flags == ACK and outward and self._syn_acks == 1 and self.wired_ns is None:
            self.wired_ns = now_ns - self._syn_ack_ns
            self._is_timed = True
        elif outward and self._awaited is not None and seq_diff(segment.end_seq, self._awaited[0]) > 0:
            came_ns = now_ns - self._awaited[1]
            self.wired_ns = came_ns if self.wired_ns is None else min(self.wired_ns, came_ns)
            self._awaited = None

    def opened(self, now_ns: int, edge: int | None) -> None:
        """A window that leaves for the wired side now ends beyond `edge`, where earlier windows ended."""
        if not self._is_timed and self._awaited is None and edge is not None:
            self._awaited = (edge, now_ns)


class LocalRecovery:
    """Local Recovery: the gateway fills the holes that duplicate ACKs report, from copies that it keeps.

    Invariants
    1. A hole is filled once per round trip: the duplicates of one round trip report the same loss.
    2. Only unacknowledged data is sent again: an ACK that arrives before the copy has left withdraws the copy.

    Source: [vagp] Sec. V-C Algorithm 2, "retransmit TCP data with seq + 1".
    Deviates: once per hole and round trip. The copy waits for its turn at the Rate Shaper, ahead of its flow's queue:
    sent at once, it would be load outside R.
    """

    __slots__ = ("_sent", "pending")

    def __init__(self, sent: Outstanding) -> None:
        """`sent` keeps the flow's copies."""
        self._sent = sent
        self.pending: Segment | None = None
        """The copy to send next."""

    def duplicate(self, now_ns: int, ack: int, rtt_ns: int, queue: FlowPacer) -> bool:
        """Process a duplicate ACK; whether the hole that it reports is filled from a copy or from `queue`."""
        missing, send_now = self._sent.fill(now_ns, ack, rtt_ns)
        if missing is not None and send_now and not queue.holds_copy(missing):
            self.pending = missing
        return missing is not None

    def acknowledged(self, ack: int) -> None:
        """Process a cumulative ACK: what it covers need not be sent."""
        if self.pending is not None and seq_diff(ack, self.pending.end_seq) >= 0:
            self.pending = None

    def withdraw(self, seq: int) -> None:
        """The source itself sends this segment again: its copy need not be sent."""
        if self.pending is not None and self.pending.seq == seq:
            self.pending = None

    def evicted(self, handle: int) -> None:
        """The copy of this handle is no longer kept."""
        if self.pending is not None and self.pending.handle == handle:
            self.pending = None

    def take(self, now_ns: int) -> Segment | None:
        """The copy to send now, if one waits."""
        segment, self.pending = self.pending, None
        if segment is not None:
            self._sent.filled(now_ns)
        return segment


ACK_BYTES = 40
"""IP and TCP without options."""


class RedundantEliminator:
    """The Redundant Eliminator: data that the receiver has acknowledged does not enter the air again.

    Invariants
    1. A segment is redundant only if an ACK that was seen covers all of it; what the flow's first segment suggests does
       not count.
    2. A source that sends a redundant segment has missed the ACK, so it gets the ACK again. If the segment were dropped
       without an answer, as printed, the source would repeat it until it gave up.

    Source: [vagp] Sec. V-C Algorithm 2, "if seq <= highest_seq then drop it".
    Deviates: compares the segment's end, not its start, and answers (invariant 2).
    """

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: Segment | None = None

    def acknowledged(self, segment: Segment) -> None:
        """Note a segment of the receiver with a valid ACK, no older than the one before."""
        self._last = segment

    def is_redundant(self, segment: Segment) -> bool:
        """Whether all octets of a data segment are acknowledged."""
        return self._last is not None and seq_diff(self._last.ack, segment.end_seq) >= 0

    def answer(self) -> Segment:
        """That ACK again, without data, numbered after all that the receiver has sent. Only after `is_redundant`."""
        last = self._last
        assert last is not None
        return last._replace(
            handle=0, flags=ACK, seq=last.end_seq, payload_bytes=0, packet_bytes=ACK_BYTES, rtt_wired_ns=None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueConfig:
    """The Queue Manager: the window to advertise so that a flow's queue at the gateway stays short. Algorithm 3.

    `equations.window_pkts` computes the window. The right edge never moves back (`WindowEdge`), so that a smaller
    window takes a round trip to act.

    Source: [vagp] Sec. V-D Algorithm 3, with its q_min = 2 and q_max = 6.
    """

    min_pkts: int = 2
    max_pkts: int = 6

    def __post_init__(self) -> None:
        check_fields(
            self,
            min_pkts=AT_LEAST_1,
        )
        require(self.max_pkts > self.min_pkts, "max_pkts", self.max_pkts, f"more than min_pkts, {self.min_pkts}")


_ASSUMED_SEGMENT_BYTES = 1460
"""Used before the first data segment, for the windows of the handshake."""
_SRTT_WEIGHT = 8
"""RFC 6298: alpha = 1/8."""


class VagpFlow(GatewayFlow):
    """One connection through the gateway, keyed by its wired-to-wireless direction."""

    __slots__ = ("edge", "eliminator", "recovery", "segment_bytes", "srtt_ns", "wired_clock")

    def __init__(
        self, key: FlowKey, now_ns: int, store: PacketStore, schedule: ReleaseSchedule, *, fresh: bool
    ) -> None:
        """`fresh`: the connection opens with this segment."""
        super().__init__(key, now_ns, store, schedule)
        self.recovery = LocalRecovery(self.sent)
        self.eliminator = RedundantEliminator()
        self.edge = WindowEdge(fresh=fresh)
        self.wired_clock = WiredClock()
        self.segment_bytes = _ASSUMED_SEGMENT_BYTES
        """Largest payload seen."""
        self.srtt_ns: int | None = None
        """Smoothed wireless round trip, from release to ACK."""

    def evict(self) -> int:
        """Forget the oldest copy, whether it is about to be sent or not; its handle."""
        handle = super().evict()
        self.recovery.evicted(handle)
        return handle

    def data(self, segment: Segment) -> None:
        """Process a data segment from the wired side."""
        if self.sent.ack is None:
            self.sent.begin(segment.seq)
            self.segment_bytes = segment.payload_bytes
        self.segment_bytes = max(self.segment_bytes, segment.payload_bytes)

    def sample(self, rtt_ns: int) -> None:
        """Process a wireless round trip."""
        srtt_ns = self.srtt_ns
        self.srtt_ns = rtt_ns if srtt_ns is None else srtt_ns + (rtt_ns - srtt_ns) // _SRTT_WEIGHT

    def is_beyond(self, segment: Segment) -> bool:
        """Whether a segment of the receiver acknowledges data that was never sent to it, apart from a FIN."""
        highest = self.sent.ack if self.sent.highest_end is None else self.sent.highest_end
        if highest is None:
            return False
        return bool(segment.flags & ACK) and seq_diff(segment.ack, highest) > 1

    @property
    def in_air_pkts(self) -> int:
        """M: segments released and not acknowledged, rounded up."""
        if self.sent.ack is None or self.sent.highest_end is None:
            return 0
        return max(0, -(-seq_diff(self.sent.highest_end, self.sent.ack) // self.segment_bytes))
