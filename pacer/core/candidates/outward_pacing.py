"""A pacing hook that knows of a flow only that its data goes out and that it ends."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from pacelab.pacer.core.contract import Event, Point, SegmentSeen
from pacelab.pacer.core.pacing.pacing_hook import F, PacingHook
from pacelab.pacer.core.segment import FIN, RST, SYN, TCP, FlowKey, Segment


class OutwardPacing(PacingHook[F]):
    """Paces TCP data at some points; the rest passes. Subclasses say where, and what a flow is."""

    _OUTWARD: ClassVar[tuple[Point, ...]] = ()

    @abstractmethod
    def _new_flow(self, now_ns: int, key: FlowKey) -> F:
        """What is known of a flow at its first data segment."""

    def handle(self, now_ns: int, event: Event) -> None:
        """Take note of a segment; what is not TCP leaving at these points passes untouched."""
        if not isinstance(event, SegmentSeen):
            return
        segment = event.segment
        if segment.protocol != TCP or event.point not in self._OUTWARD:
            self._forward(segment)
            return
        flow = self._flows.by_key.get(segment.flow)
        if segment.is_data:
            self._data(now_ns, flow, segment)
        elif flow is not None and segment.flags & FIN:
            self._follow(flow, segment)
        else:
            self._forward(segment)
            if flow is not None and segment.flags & (SYN | RST):
                self._end(now_ns, flow, "connection over")

    def _data(self, now_ns: int, flow: F | None, segment: Segment) -> None:
        if flow is None:
            if self._flows.is_full():
                self._pass_unpaced(segment)
                return
            flow = self._new_flow(now_ns, segment.flow)
            self._flows.add(flow)
        self._flows.touch(flow, now_ns)
        self._offer(now_ns, flow, segment)
