"""Segments of one flow that wait at a hook, the lowest sequence number first.

New data is first in, first out; what the source sends again goes ahead of it. A control segment (no payload: a FIN)
stays behind the data that it follows.
"""

from __future__ import annotations

from collections import deque

from pacelab.pacer.core.segment import Segment, seq_diff


class SegmentQueue:
    """The queue; who may leave when is for its owner to say."""

    __slots__ = ("_queue", "queued_bytes")

    def __init__(self) -> None:
        self._queue: deque[Segment] = deque()
        self.queued_bytes = 0
        """Payload waiting."""

    def __len__(self) -> int:
        """Segments waiting."""
        return len(self._queue)

    def push(self, segment: Segment) -> None:
        """Queue data, or control that must not overtake queued data."""
        queue = self._queue
        at = len(queue)
        while at and seq_diff(segment.seq, queue[at - 1].seq) < 0:
            at -= 1
        queue.insert(at, segment)
        self.queued_bytes += segment.payload_bytes

    def pop(self, now_ns: int) -> Segment:
        """Take the head out."""
        segment = self._queue.popleft()
        self.queued_bytes -= segment.payload_bytes
        return segment

    def pop_control(self) -> Segment | None:
        """Take the head out if it is control."""
        if self._queue and self._queue[0].payload_bytes == 0:
            return self._queue.popleft()
        return None

    def pop_acknowledged(self, ack: int) -> Segment | None:
        """Take the head out if it is data that a cumulative ACK covers whole."""
        queue = self._queue
        if queue and queue[0].payload_bytes and seq_diff(ack, queue[0].end_seq) >= 0:
            self.queued_bytes -= queue[0].payload_bytes
            return queue.popleft()
        return None

    def holds_copy(self, segment: Segment) -> bool:
        """Whether every octet of this data segment is waiting here already, in one segment of the same start."""
        queue = self._queue
        if not queue or seq_diff(segment.seq, queue[-1].seq) > 0:  # new data: the usual case, no search
            return False
        return any(held.seq == segment.seq and seq_diff(held.end_seq, segment.end_seq) >= 0 for held in queue)

    def drain(self) -> list[Segment]:
        """Take everything out, in order."""
        segments = list(self._queue)
        self._queue.clear()
        self.queued_bytes = 0
        return segments
