"""Window control: the advertised window resized at a gateway, so that a sender has fewer packets under way."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from pacelab.pacer.core.checks import require
from pacelab.pacer.core.contract import Action, Event, EventMask, Forward, Point, Rewrite, SegmentSeen
from pacelab.pacer.core.pacing.paced_flow import FlowTable, FlowTableConfig, PacedFlow
from pacelab.pacer.core.pacing.tcp_seen import WindowEdge
from pacelab.pacer.core.segment import ACK, RST, SYN, TCP, FlowKey, Segment

WINDOW_PKTS = 2
"""The least window in which a lost ACK costs no timeout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowControlConfig:
    """Settings of window control. Raises ValueError on a value out of range."""

    window_pkts: int = WINDOW_PKTS
    """Window of each flow, in segments of the largest size seen."""
    table: FlowTableConfig = field(default_factory=FlowTableConfig)
    assumed_segment_bytes: int = 1460
    """Before the first data: the windows of SYN and SYN-ACK are written, too, or the edge would start far out."""

    def __post_init__(self) -> None:
        require(self.window_pkts >= 1, "window_pkts", self.window_pkts, "an integer of at least 1")
        assumed_bytes = self.assumed_segment_bytes
        require(assumed_bytes >= 1, "assumed_segment_bytes", assumed_bytes, "an integer of at least 1")


class WindowedFlow(PacedFlow):
    """A wired-to-wireless flow, as the ACKs from the air tell of it."""

    __slots__ = ("edge", "segment_bytes")

    def __init__(self, key: FlowKey, now_ns: int, segment_bytes: int, *, fresh: bool) -> None:
        super().__init__(key, now_ns, 0)
        self.edge = WindowEdge(fresh=fresh)
        self.segment_bytes = segment_bytes


class WindowControl:
    """The `gateway` hook of window control: min(own window, receiver's window) into each ACK from the air.

    Source: [vagp] Sec. IV-B.2: "we modify the advertisement window in each ACK packet at the gateway".
    Deviates: the right edge never moves back (see `WindowEdge`).
    """

    event_mask = EventMask.SEGMENT

    def __init__(self, config: WindowControlConfig) -> None:
        self._config = config
        self._actions: deque[Action] = deque()
        self._flows: FlowTable[WindowedFlow] = FlowTable(config.table)
        names = ("windows_narrowed", "unlimited_segments", "flows_ended", "flows_expired")
        self._count = dict.fromkeys(names, 0)

    def handle(self, now_ns: int, event: Event) -> None:
        """Take note of a segment; all but TCP ACKs from the air pass untouched."""
        if not isinstance(event, SegmentSeen):
            return
        segment = event.segment
        if segment.protocol == TCP and event.point == Point.WIRED_TO_AIR:
            self._outward(now_ns, segment)
        elif segment.protocol == TCP and event.point == Point.AIR_TO_WIRED:
            self._inward(now_ns, segment)
        self._actions.append(Forward(segment.handle))

    def poll_action(self) -> Action | None:
        """Next action, or None."""
        return self._actions.popleft() if self._actions else None

    def deadline(self) -> tuple[int, str] | None:
        """When a flow will have been idle too long."""
        idle_ns = self._flows.idle_at_ns()
        return None if idle_ns is None else (idle_ns, "idle")

    def handle_timeout(self, now_ns: int) -> None:
        """Forget what is idle."""
        while (idle := self._flows.oldest_idle(now_ns)) is not None:
            self._count["flows_expired"] += 1
            self._flows.remove(idle)

    def counters(self) -> dict[str, int]:
        """How often the hook acted: ACKs whose window it narrowed, and those it could not for want of room."""
        return dict(self._count)

    def _outward(self, now_ns: int, segment: Segment) -> None:
        flow = self._flows.by_key.get(segment.flow)
        if flow is None:
            return
        self._flows.touch(flow, now_ns)
        if segment.is_data and segment.payload_bytes > flow.segment_bytes:
            flow.segment_bytes = segment.payload_bytes
        if segment.flags & (SYN | RST):
            self._end(flow)

    def _inward(self, now_ns: int, segment: Segment) -> None:
        key = segment.flow.reversed()
        flow = self._flows.by_key.get(key)
        if flow is not None and (segment.flags & RST or segment.flags & (SYN | ACK) == SYN):
            self._end(flow)
            flow = None
        if segment.flags & RST or not segment.flags & (SYN | ACK):
            return
        if flow is None:
            if self._flows.is_full():
                self._count["unlimited_segments"] += 1
                return
            flow = WindowedFlow(key, now_ns, self._config.assumed_segment_bytes, fresh=bool(segment.flags & SYN))
            self._flows.add(flow)
        self._flows.touch(flow, now_ns)
        wanted_bytes = self._config.window_pkts * flow.segment_bytes
        window_bytes = flow.edge.grant(segment, wanted_bytes)
        if window_bytes < segment.window_bytes:
            self._count["windows_narrowed"] += 1
            self._actions.append(Rewrite(segment.handle, window_bytes=window_bytes))

    def _end(self, flow: WindowedFlow) -> None:
        self._count["flows_ended"] += 1
        self._flows.remove(flow)
