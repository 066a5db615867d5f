"""What the Voice Adaptive Gateway Pacer knows of one connection: soft state of its wired-to-wireless half."""

from __future__ import annotations

from pacelab.pacer.core.pacing.ack_progress import AckProgress
from pacelab.pacer.core.pacing.rate_shaper import ShapedFlow
from pacelab.pacer.core.pacing.release_schedule import ReleaseSchedule
from pacelab.pacer.core.pacing.rtt_matcher import RttMatcher
from pacelab.pacer.core.pacing.teardown import Teardown
from pacelab.pacer.core.pacing.window_edge import WindowEdge
from pacelab.pacer.core.segment import ACK, FlowKey, Segment, seq_diff
from pacelab.pacer.core.vagp.handshake_clock import HandshakeClock
from pacelab.pacer.core.vagp.local_recovery import LocalRecovery
from pacelab.pacer.core.vagp.redundant_eliminator import RedundantEliminator

_ASSUMED_SEGMENT_BYTES = 1460
"""Before the first data segment, for the windows of the handshake."""
_SRTT_WEIGHT = 8
"""RFC 6298: alpha = 1/8."""


class VagpFlow(ShapedFlow):
    """One connection through the gateway, keyed by its wired-to-wireless direction."""

    __slots__ = (
        "admitted",
        "edge",
        "eliminator",
        "handshake",
        "matcher",
        "progress",
        "recovery",
        "refused",
        "segment_bytes",
        "srtt_ns",
        "teardown",
        "window_bytes",
    )

    def __init__(self, key: FlowKey, now_ns: int, schedule: ReleaseSchedule, *, fresh: bool) -> None:
        """`fresh`: the connection opens with this segment."""
        super().__init__(key, now_ns, 0, schedule)
        self.matcher = RttMatcher()
        self.progress: AckProgress | None = None
        """None before the first data."""
        self.recovery = LocalRecovery()
        self.eliminator = RedundantEliminator()
        self.edge = WindowEdge(fresh=fresh)
        self.handshake = HandshakeClock()
        self.teardown = Teardown()
        self.segment_bytes = _ASSUMED_SEGMENT_BYTES
        """Largest payload seen."""
        self.srtt_ns: int | None = None
        """Smoothed wireless round trip, from release to ACK."""
        self.window_bytes = 0
        """The largest window that the wireless end has advertised; 0 while unknown."""
        self.admitted = False
        """Whether `queue_limit_bytes` are reserved for it in the gateway's buffer: only then is it shaped."""
        self.refused = False
        """Whether it was counted as unpaced."""

    def data(self, segment: Segment) -> None:
        """Note a data segment from the wired side."""
        if self.progress is None:
            self.progress = AckProgress(segment.seq)
            self.segment_bytes = segment.payload_bytes
        self.segment_bytes = max(self.segment_bytes, segment.payload_bytes)

    def sample(self, rtt_ns: int) -> None:
        """Note a wireless round trip."""
        srtt_ns = self.srtt_ns
        self.srtt_ns = rtt_ns if srtt_ns is None else srtt_ns + (rtt_ns - srtt_ns) // _SRTT_WEIGHT

    def is_beyond(self, segment: Segment) -> bool:
        """Whether a segment of the receiver acknowledges what was never sent to it, its FIN apart."""
        if self.progress is None:
            return False
        highest = self.progress.ack if self.matcher.highest_end is None else self.matcher.highest_end
        return bool(segment.flags & ACK) and seq_diff(segment.ack, highest) > 1

    @property
    def in_air_pkts(self) -> int:
        """M: segments released and not acknowledged, rounded up."""
        if self.progress is None or self.matcher.highest_end is None:
            return 0
        return max(0, -(-seq_diff(self.matcher.highest_end, self.progress.ack) // self.segment_bytes))
