"""Round-trip times of single segments, from their release to the ACK that covers them.

The same matcher serves three places: at a wireless source it starts at the release from the pacer (conventional
RTT), at the gateway towards the air likewise (RTT_wireless), and towards the wired side at forwarding (RTT_wired).

Invariants
1. Karn: no sample from an ACK that may cover a retransmitted octet. After a retransmission up to sequence number m,
   samples resume with the first ACK beyond the one that reaches m. An ACK that fills a hole also covers segments that
   waited at the receiver for it; their "RTT" is the repair time and is thrown away with it.
2. An ACK that covers several segments (delayed ACKs) yields one sample, from the newest of them.
3. Memory is bounded: of more than `limit` unacknowledged segments the oldest are forgotten.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from pacelab.pacer.core.segment import Segment, seq_diff

DEFAULT_LIMIT = 1024
"""Segments remembered per flow: sixteen times the papers' window of 64."""


class RttSample(NamedTuple):
    """One measured round trip."""

    rtt_ns: int
    data_bytes: int
    """IP packet size of the measured data segment."""


class RttMatcher:
    """Matches the releases of one flow's data segments with the ACKs that return.

    Source: [tcp-gap] Sec. 4.2, 4.3, Fig. 6 lines 12, 24, 29-30, 38; Karn's rule is RFC 6298 Sec. 3.
    Deviates: Fig. 6 looks the ACK's number up as if every segment had its own ACK; here an ACK is cumulative.
    """

    __slots__ = ("_pending", "_tainted_to", "highest_end")

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._pending: deque[tuple[int, int, int]] = deque(maxlen=limit)
        self._tainted_to: int | None = None
        self.highest_end: int | None = None
        """Sequence number after the last octet released so far."""

    def released(self, now_ns: int, segment: Segment) -> None:
        """Note that a data segment left; one that repeats octets counts as a retransmission."""
        end = segment.end_seq
        highest = self.highest_end
        if highest is not None and seq_diff(segment.seq, highest) < 0:
            self.retransmitted(end)
            if seq_diff(end, highest) > 0:
                self.highest_end = end
            return
        self.highest_end = end
        self._pending.append((end, now_ns, segment.packet_bytes))

    def retransmitted(self, end_seq: int) -> None:
        """Note that octets up to `end_seq` left a second time."""
        if self._tainted_to is None or seq_diff(end_seq, self._tainted_to) > 0:
            self._tainted_to = end_seq

    def acknowledged(self, now_ns: int, ack: int) -> RttSample | None:
        """The sample that this cumulative ACK yields, if any."""
        pending = self._pending
        newest = None
        while pending and seq_diff(ack, pending[0][0]) >= 0:
            newest = pending.popleft()
        if self._tainted_to is not None:
            if seq_diff(ack, self._tainted_to) >= 0:
                self._tainted_to = None
            return None
        if newest is None:
            return None
        return RttSample(now_ns - newest[1], newest[2])

    def __len__(self) -> int:
        """Segments waiting for their ACK."""
        return len(self._pending)
