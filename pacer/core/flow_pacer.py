"""The pacing queue of one flow, in sequence order, whose head leaves no earlier than a planned time.

    plan = max(previous plan + T, now)      now: when the segment became the head, or the pace changed

Invariants
1. The lowest sequence number leaves first: new data first in, first out, and what the source sends again ahead of
   it, as from a TCP that paces its own output. What was acknowledged meanwhile never leaves. A control segment (no
   payload: a FIN) queued behind data leaves right after it, unpaced.
2. With punctual timeouts two releases are at least T apart, T being the pace in force at the second.
3. Plans, not releases, are T apart: a late timeout costs no throughput. Up to `MAX_BEHIND` releases are caught up, at
   no more than twice the pace (at least T/2 apart), so that a host that slept does not burst.
"""

from __future__ import annotations

from collections import deque

from pacelab.pacer.core.segment import Segment, seq_diff

MAX_BEHIND = 4
"""Releases that may be caught up: enough for a timer's jitter; the time of a longer stall is lost, as airtime is."""

_NEVER_NS = -(1 << 62)
"""Before any clock: the first segment of a flow waits for nothing."""


class FlowPacer:
    """Queue and schedule of one flow. It decides when, its owner carries out."""

    __slots__ = ("_interval_ns", "_plan_ns", "_queue", "_release_ns", "_since_ns", "queued_bytes")

    def __init__(self) -> None:
        self._queue: deque[Segment] = deque()
        self._interval_ns = 0
        self._plan_ns = _NEVER_NS
        self._release_ns = _NEVER_NS
        self._since_ns = _NEVER_NS
        self.queued_bytes = 0
        """Payload waiting."""

    def __len__(self) -> int:
        """Segments waiting."""
        return len(self._queue)

    @property
    def interval_ns(self) -> int:
        """T, the pace in force."""
        return self._interval_ns

    def set_interval(self, now_ns: int, interval_ns: int) -> None:
        """Change the pace; a head that the new pace would have let go before now goes now."""
        if interval_ns != self._interval_ns:
            self._interval_ns = interval_ns
            self._since_ns = now_ns

    def due_ns(self) -> int:
        """When the head may leave (or a segment that comes now)."""
        interval = self._interval_ns
        return max(self._plan_ns + interval, self._release_ns + interval // 2, self._since_ns)

    def admits(self, now_ns: int) -> bool:
        """Whether a data segment that arrives now may leave at once; if so, count it as released."""
        if self._queue:
            return False
        self._since_ns = now_ns
        if self.due_ns() > now_ns:
            return False
        self._charge(now_ns)
        return True

    def push(self, segment: Segment) -> None:
        """Queue a data segment that `admits` refused, or control that must not overtake queued data."""
        queue = self._queue
        at = len(queue)
        while at and seq_diff(segment.seq, queue[at - 1].seq) < 0:
            at -= 1
        queue.insert(at, segment)
        self.queued_bytes += segment.payload_bytes

    def pop(self, now_ns: int) -> Segment:
        """Release the head, due or not."""
        segment = self._queue.popleft()
        self.queued_bytes -= segment.payload_bytes
        self._charge(now_ns)
        return segment

    def pop_control(self) -> Segment | None:
        """Release the head if it is control."""
        if self._queue and self._queue[0].payload_bytes == 0:
            return self._queue.popleft()
        return None

    def pop_acknowledged(self, ack: int) -> Segment | None:
        """Take out the head if it is data that a cumulative ACK covers whole; that is no release."""
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

    def _charge(self, now_ns: int) -> None:
        plan_ns = max(self._plan_ns + self._interval_ns, self._since_ns, now_ns - MAX_BEHIND * self._interval_ns)
        # A release ahead of its plan (the queue ran over) restarts the spacing from now.
        self._plan_ns = min(plan_ns, now_ns)
        self._release_ns = now_ns
