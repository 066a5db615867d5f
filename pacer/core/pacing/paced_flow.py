"""What every paced flow has, whatever sets its pace."""

from __future__ import annotations

from pacelab.pacer.core.pacing.flow_pacer import FlowPacer
from pacelab.pacer.core.pacing.release_schedule import ReleaseSchedule
from pacelab.pacer.core.segment import FlowKey


class PacedFlow:
    """Soft state of one flow: its queue and schedule, and when it was last heard of."""

    __slots__ = ("finish_bytes", "key", "last_seen_ns", "pacer", "queue_limit_bytes")

    def __init__(
        self, key: FlowKey, now_ns: int, queue_limit_bytes: int, schedule: ReleaseSchedule | None = None
    ) -> None:
        """`schedule`: one that the flow shares with others; None: one of its own."""
        self.key = key
        self.pacer = FlowPacer(schedule)
        self.last_seen_ns = now_ns
        self.queue_limit_bytes = queue_limit_bytes
        """Payload that may be held for this flow."""
        self.finish_bytes = 0
        """In the count that flows which share a rate share, too (`RateShaper`): where its last packet ended."""
