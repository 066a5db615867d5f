"""A paced flow, whatever sets its pace: its schedule, its queue and its soft state; and the table of all flows."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from pacelab.units import NS_PER_S
from pacelab_pacer.core.checks import AT_LEAST_1, check_fields
from pacelab_pacer.core.segment import FlowKey, Segment, seq_diff

MAX_BEHIND: Final = 4
"""Number of late releases that are caught up: enough for a timer's jitter. The time of a longer stall is lost."""

_NEVER_NS = -(1 << 62)
"""Earlier than any clock, so that the first packet does not wait."""


class ReleaseSchedule:
    """When the next packet may leave, so that packets leave no closer than a pace.

        plan = max(previous plan + T, now)      now: when the packet became the next, or the pace changed

    Invariants
    1. With punctual timeouts two releases are at least T apart, where T is the pace at the second release.
    2. Plans are T apart, not releases: a late timeout costs no throughput. Up to `MAX_BEHIND` releases are caught up,
       at no more than twice the pace (at least T/2 apart), so that a host that was suspended does not send a burst.
    """

    __slots__ = ("_plan_ns", "_release_ns", "_since_ns", "interval_ns")

    def __init__(self) -> None:
        self.interval_ns = 0
        """T, the current pace; `set_interval` changes it."""
        self._plan_ns = _NEVER_NS
        self._release_ns = _NEVER_NS
        self._since_ns = _NEVER_NS

    def set_interval(self, now_ns: int, interval_ns: int) -> None:
        """Change the pace; a packet that the new pace would have released before now is due now."""
        if interval_ns != self.interval_ns:
            self.interval_ns = interval_ns
            self._since_ns = now_ns

    def due_ns(self) -> int:
        """When the next packet may leave."""
        interval = self.interval_ns
        earliest_ns = max(self._release_ns + interval // 2, self._since_ns)  # max() of two arguments is compiled
        return max(self._plan_ns + interval, earliest_ns)

    def admits(self, now_ns: int) -> bool:
        """Whether a packet that arrives now at an empty queue may leave at once; if so, count it as released."""
        self._since_ns = now_ns
        interval = self.interval_ns
        if self._plan_ns + interval > now_ns or self._release_ns + interval // 2 > now_ns:  # due later
            return False
        self.released(now_ns)
        return True

    def released(self, now_ns: int) -> None:
        """Note a release, whether it was due or not."""
        earliest_ns = max(self._since_ns, now_ns - MAX_BEHIND * self.interval_ns)
        plan_ns = max(self._plan_ns + self.interval_ns, earliest_ns)
        # A release ahead of its plan restarts the spacing from now.
        self._plan_ns = min(plan_ns, now_ns)
        self._release_ns = now_ns


class FlowPacer:
    """The pacing queue of one flow, the lowest sequence number first, whose head leaves no earlier than a planned time.

    Invariants, beside those of the schedule
    1. The lowest sequence number leaves first: new data in its order, and retransmissions of the source ahead of it, as
       from a TCP that paces its own output. Data that was acknowledged meanwhile never leaves. A control segment (a FIN
       without payload) behind data leaves right after the data, unpaced.
    2. Flows that share a schedule share its pace: the schedule spaces all their releases together.
    """

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
        """Release the head, whether it is due or not."""
        self.schedule.released(now_ns)
        segment = self.waiting.popleft()
        self.queued_bytes -= segment.payload_bytes
        return segment

    def discard_head(self) -> None:
        """Remove the head without a release: the packet behind it takes its turn."""
        self.queued_bytes -= self.waiting.popleft().payload_bytes

    def pop_control(self) -> Segment | None:
        """Remove and return the head if it is control."""
        if self.waiting and self.waiting[0].payload_bytes == 0:
            return self.waiting.popleft()
        return None

    def pop_acknowledged(self, ack: int) -> Segment | None:
        """Remove and return the head if it is data that a cumulative ACK covers completely."""
        waiting = self.waiting
        if waiting and waiting[0].payload_bytes and seq_diff(ack, waiting[0].end_seq) >= 0:
            self.queued_bytes -= waiting[0].payload_bytes
            return waiting.popleft()
        return None

    def holds_copy(self, segment: Segment) -> bool:
        """Whether a segment with the same start and all octets of this one waits here already."""
        waiting = self.waiting
        if not waiting or seq_diff(segment.seq, waiting[-1].seq) > 0:  # new data: the usual case, no search
            return False
        return any(held.seq == segment.seq and seq_diff(held.end_seq, segment.end_seq) >= 0 for held in waiting)

    def drain(self) -> list[Segment]:
        """Remove all packets, in order."""
        segments = list(self.waiting)
        self.waiting.clear()
        self.queued_bytes = 0
        return segments


class PacedFlow:
    """Soft state of one flow: its queue and schedule, and when its last packet was seen."""

    __slots__ = ("finish_bytes", "key", "last_seen_ns", "pacer", "queue_limit_bytes")

    def __init__(
        self, key: FlowKey, now_ns: int, queue_limit_bytes: int, schedule: ReleaseSchedule | None = None
    ) -> None:
        """`schedule`: one that the flow shares with others; None: one of its own."""
        self.key = key
        self.pacer = FlowPacer(schedule)
        self.last_seen_ns = now_ns
        self.queue_limit_bytes = queue_limit_bytes
        """Payload that may wait in this flow's queue."""
        self.finish_bytes = 0
        """Where its last packet ended, in the count of octets that all flows of a `RateShaper` share."""

    @property
    def holds_packets(self) -> bool:
        """Whether a packet waits here."""
        return bool(self.pacer.waiting)


F = TypeVar("F", bound=PacedFlow)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowTableConfig:
    """How many flows are remembered, and for how long. Raises ValueError on a value out of range."""

    idle_timeout_ns: int = 120 * NS_PER_S
    """A flow without a packet for this long is forgotten ("a few minutes", [tcp-gap] Sec. 4.3)."""
    max_flows: int = 16_384
    """For a further flow the most silent one is forgotten."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            idle_timeout_ns=AT_LEAST_1,
            max_flows=AT_LEAST_1,
        )


class FlowTable(Generic[F]):
    """Flows by key, bounded in number, forgotten when idle.

    The table keeps the order in which flows were last seen, so that touching a flow, finding the next to expire and
    expiring it are O(1).
    """

    def __init__(self, config: FlowTableConfig) -> None:
        self._idle_timeout_ns, self._max_flows = config.idle_timeout_ns, config.max_flows
        self.by_key: OrderedDict[FlowKey, F] = OrderedDict()
        """The most silent flow first."""
        self.by_reply: dict[FlowKey, F] = {}
        """The same flows by their reversed keys, so that no key has to be made for each packet."""
        self.newest: F | None = None
        """The flow seen last; touching it again moves nothing. None after a removal."""
        self._oldest: F | None = None
        """The first of `by_key`, which is needed for each packet; None if it has to be looked up."""

    def is_full(self) -> bool:
        """Whether no further flow may be added."""
        return len(self.by_key) >= self._max_flows

    def add(self, flow: F) -> None:
        """Remember a new flow."""
        self.by_key[flow.key] = flow
        self.by_reply[flow.key.reversed()] = flow
        self.newest = flow

    def touch(self, flow: F, now_ns: int) -> None:
        """Note that a packet of the flow was seen."""
        flow.last_seen_ns = now_ns
        if flow is not self.newest:
            self.by_key.move_to_end(flow.key)
            self.newest = flow
            if flow is self._oldest:
                self._oldest = None

    def remove(self, flow: F) -> None:
        """Forget a flow."""
        del self.by_key[flow.key], self.by_reply[flow.key.reversed()]
        self.newest = self._oldest = None

    def idle_at_ns(self) -> int | None:
        """When the flow that has been silent longest expires."""
        oldest = self._most_silent()
        return None if oldest is None else oldest.last_seen_ns + self._idle_timeout_ns

    def oldest_idle(self, now_ns: int) -> F | None:
        """A flow whose idle timeout has passed, the most silent first."""
        oldest = self._most_silent()
        if oldest is None or oldest.last_seen_ns + self._idle_timeout_ns > now_ns:
            return None
        return oldest

    def replaceable(self, now_ns: int) -> F | None:
        """The most silent flow that holds no packet, to be forgotten for another; None if all hold some.

        A flow that holds packets counts as seen, so that the next search does not look at it first.
        """
        for _ in range(len(self.by_key)):
            silent = self._most_silent()
            if silent is None or not silent.holds_packets:
                return silent
            self.touch(silent, now_ns)
        return None

    def _most_silent(self) -> F | None:
        if self._oldest is None:
            for flow in self.by_key.values():
                self._oldest = flow
                break
        return self._oldest
