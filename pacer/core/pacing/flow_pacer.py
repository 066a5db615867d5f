"""The pacing queue of one flow, the lowest sequence number first, whose head leaves no earlier than a planned time.

Invariants, beside those of the schedule
1. The lowest sequence number leaves first: new data first in, first out, and what the source sends again ahead of
   it, as from a TCP that paces its own output. What was acknowledged meanwhile never leaves. A control segment (no
   payload: a FIN) queued behind data leaves right after it, unpaced.
2. Flows that share a schedule share its pace: their releases together are spaced by it.
"""

from __future__ import annotations

from collections import deque

from pacelab.pacer.core.pacing.release_schedule import ReleaseSchedule
from pacelab.pacer.core.segment import Segment, seq_diff


class FlowPacer:
    """Queue and schedule of one flow. It decides when, its owner carries out."""

    __slots__ = ("queued_bytes", "schedule", "waiting")

    def __init__(self, schedule: ReleaseSchedule | None = None) -> None:
        """`schedule`: one that the flow shares with others; None: one of its own."""
        self.schedule = schedule or ReleaseSchedule()
        self.waiting: deque[Segment] = deque()
        """Segments in the order in which they leave."""
        self.queued_bytes = 0
        """Payload waiting."""

    def push(self, segment: Segment) -> None:
        """Queue data, or control that must not overtake queued data."""
        waiting = self.waiting
        at = len(waiting)
        while at and seq_diff(segment.seq, waiting[at - 1].seq) < 0:
            at -= 1
        waiting.insert(at, segment)
        self.queued_bytes += segment.payload_bytes

    def pop(self, now_ns: int) -> Segment:
        """Release the head, due or not."""
        self.schedule.released(now_ns)
        segment = self.waiting.popleft()
        self.queued_bytes -= segment.payload_bytes
        return segment

    def pop_control(self) -> Segment | None:
        """Take the head out if it is control."""
        if self.waiting and self.waiting[0].payload_bytes == 0:
            return self.waiting.popleft()
        return None

    def pop_acknowledged(self, ack: int) -> Segment | None:
        """Take the head out if it is data that a cumulative ACK covers whole."""
        waiting = self.waiting
        if waiting and waiting[0].payload_bytes and seq_diff(ack, waiting[0].end_seq) >= 0:
            self.queued_bytes -= waiting[0].payload_bytes
            return waiting.popleft()
        return None

    def holds_copy(self, segment: Segment) -> bool:
        """Whether every octet of this data segment is waiting here already, in one segment of the same start."""
        waiting = self.waiting
        if not waiting or seq_diff(segment.seq, waiting[-1].seq) > 0:  # new data: the usual case, no search
            return False
        return any(held.seq == segment.seq and seq_diff(held.end_seq, segment.end_seq) >= 0 for held in waiting)

    def drain(self) -> list[Segment]:
        """Take everything out, in order."""
        segments = list(self.waiting)
        self.waiting.clear()
        self.queued_bytes = 0
        return segments
