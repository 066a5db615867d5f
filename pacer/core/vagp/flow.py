"""What the Voice Adaptive Gateway Pacer knows of one connection: soft state of its wired-to-wireless half."""

from __future__ import annotations

from pacelab.pacer.core.pacing.gateway_hook import GatewayFlow
from pacelab.pacer.core.pacing.release_schedule import ReleaseSchedule
from pacelab.pacer.core.pacing.window_edge import WindowEdge
from pacelab.pacer.core.segment import ACK, FlowKey, Segment, seq_diff
from pacelab.pacer.core.vagp.local_recovery import LocalRecovery
from pacelab.pacer.core.vagp.redundant_eliminator import RedundantEliminator
from pacelab.pacer.core.vagp.wired_clock import WiredClock

_ASSUMED_SEGMENT_BYTES = 1460
"""Before the first data segment, for the windows of the handshake."""
_SRTT_WEIGHT = 8
"""RFC 6298: alpha = 1/8."""


class VagpFlow(GatewayFlow):
    """One connection through the gateway, keyed by its wired-to-wireless direction."""

    __slots__ = ("edge", "eliminator", "recovery", "segment_bytes", "srtt_ns", "wired_clock")

    def __init__(self, key: FlowKey, now_ns: int, schedule: ReleaseSchedule, *, fresh: bool) -> None:
        """`fresh`: the connection opens with this segment."""
        super().__init__(key, now_ns, schedule)
        self.recovery = LocalRecovery(self.sent)
        self.eliminator = RedundantEliminator()
        self.edge = WindowEdge(fresh=fresh)
        self.wired_clock = WiredClock()
        self.segment_bytes = _ASSUMED_SEGMENT_BYTES
        """Largest payload seen."""
        self.srtt_ns: int | None = None
        """Smoothed wireless round trip, from release to ACK."""

    def evict(self) -> int:
        """Forget the oldest copy, waiting or not; its handle."""
        handle = super().evict()
        self.recovery.evicted(handle)
        return handle

    def data(self, segment: Segment) -> None:
        """Note a data segment from the wired side."""
        if self.sent.ack is None:
            self.sent.begin(segment.seq)
            self.segment_bytes = segment.payload_bytes
        self.segment_bytes = max(self.segment_bytes, segment.payload_bytes)

    def sample(self, rtt_ns: int) -> None:
        """Note a wireless round trip."""
        srtt_ns = self.srtt_ns
        self.srtt_ns = rtt_ns if srtt_ns is None else srtt_ns + (rtt_ns - srtt_ns) // _SRTT_WEIGHT

    def is_beyond(self, segment: Segment) -> bool:
        """Whether a segment of the receiver acknowledges what was never sent to it, its FIN apart."""
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
