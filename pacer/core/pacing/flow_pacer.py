"""The pacing queue of one flow, in sequence order, whose head leaves no earlier than a planned time.

Invariants, beside those of the schedule
1. The lowest sequence number leaves first: new data first in, first out, and what the source sends again ahead of
   it, as from a TCP that paces its own output. What was acknowledged meanwhile never leaves. A control segment queued
   behind data leaves right after it, unpaced.
2. Flows that share a schedule share its pace: their releases together are spaced by it.
"""

from __future__ import annotations

from pacelab.pacer.core.pacing.release_schedule import ReleaseSchedule
from pacelab.pacer.core.pacing.segment_queue import SegmentQueue
from pacelab.pacer.core.segment import Segment


class FlowPacer(SegmentQueue):
    """Queue and schedule of one flow. It decides when, its owner carries out."""

    __slots__ = ("_schedule",)

    def __init__(self, schedule: ReleaseSchedule | None = None) -> None:
        """`schedule`: one that the flow shares with others; None: one of its own."""
        super().__init__()
        self._schedule = schedule or ReleaseSchedule()

    @property
    def interval_ns(self) -> int:
        """T, the pace in force."""
        return self._schedule.interval_ns

    def set_interval(self, now_ns: int, interval_ns: int) -> None:
        """Change the pace; a head that the new pace would have let go before now goes now."""
        self._schedule.set_interval(now_ns, interval_ns)

    def due_ns(self) -> int:
        """When the head may leave (or a segment that comes now)."""
        return self._schedule.due_ns()

    def admits(self, now_ns: int) -> bool:
        """Whether a data segment that arrives now may leave at once; if so, count it as released."""
        return not self._queue and self._schedule.admits(now_ns)

    def pop(self, now_ns: int) -> Segment:
        """Release the head, due or not."""
        self._schedule.released(now_ns)
        return super().pop(now_ns)
