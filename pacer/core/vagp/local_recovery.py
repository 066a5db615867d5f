"""Local Recovery: the gateway fills the holes that duplicate ACKs tell of, from copies that it keeps.

Invariants
1. A hole is filled once per round trip: the duplicates of one round trip tell of one loss.
2. Only what is not acknowledged is sent again: an ACK that comes before the copy has left takes it back.
"""

from __future__ import annotations

from pacelab.pacer.core.pacing.flow_pacer import FlowPacer
from pacelab.pacer.core.pacing.outstanding import Outstanding
from pacelab.pacer.core.segment import Segment, seq_diff


class LocalRecovery:
    """The copy of one flow that waits for its turn.

    Source: [vagp] Sec. V-C Algorithm 2, "retransmit TCP data with seq + 1".
    Deviates: once per hole and round trip. The copy waits for its turn at the Rate Shaper, ahead of its flow's queue:
    sent at once it would be load that R knows nothing of.
    """

    __slots__ = ("_sent", "pending")

    def __init__(self, sent: Outstanding) -> None:
        """`sent` has the flow's copies."""
        self._sent = sent
        self.pending: Segment | None = None
        """Copy that shall be sent next."""

    def duplicate(self, now_ns: int, ack: int, rtt_ns: int, queue: FlowPacer) -> bool:
        """Note a duplicate ACK; whether the hole that it names is filled from here, or from what waits in `queue`."""
        missing, send_now = self._sent.fill(now_ns, ack, rtt_ns)
        if missing is not None and send_now and not queue.holds_copy(missing):
            self.pending = missing
        return missing is not None

    def acknowledged(self, ack: int) -> None:
        """A cumulative ACK: what it covers need not go."""
        if self.pending is not None and seq_diff(ack, self.pending.end_seq) >= 0:
            self.pending = None

    def withdraw(self, seq: int) -> None:
        """The source itself sends this segment again: a copy of it need not go as well."""
        if self.pending is not None and self.pending.seq == seq:
            self.pending = None

    def evicted(self, handle: int) -> None:
        """The copy of this handle is no longer kept."""
        if self.pending is not None and self.pending.handle == handle:
            self.pending = None

    def take(self, now_ns: int) -> Segment | None:
        """The copy that is sent now, if one waits."""
        segment, self.pending = self.pending, None
        if segment is not None:
            self._sent.filled(now_ns)
        return segment
