"""What the pacing gateways share: connections through them, their promised buffer, copies of what is in the air.

A connection is keyed by its wired-to-wireless direction, whose data waits here. A subclass says what it does with a
segment of each direction; the look-up, and the end of a connection, are here.

Invariants, beside those of `pacing_hook`
1. A flow is paced (and its segments kept) only while its awnd is reserved in the buffer; what is queued and kept for it
   never exceeds that. Other flows pass unpaced: `unpaced_flows` counts them. They are paced once there is room.
2. A copy goes before the pace does: a lost copy costs an end-to-end retransmission at worst.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Final, TypeVar

from pacelab.units import NS_PER_S
from pacelab_pacer.core.checks import require
from pacelab_pacer.core.contract import Event, Forward, Point, Release, SegmentSeen
from pacelab_pacer.core.pacing.paced_flow import FlowTableConfig, PacedFlow, ReleaseSchedule
from pacelab_pacer.core.pacing.pacing_hook import PacingHook
from pacelab_pacer.core.pacing.tcp_seen import Outstanding, Teardown
from pacelab_pacer.core.pacing.wake_heap import Wakes
from pacelab_pacer.core.segment import ACK, FIN, RST, SYN, TCP, FlowKey, Segment


class BufferBudget:
    """The gateway's packet buffer, promised window by window: a cap on the sum of what the paced flows may buffer.

    Source: [tcp-gap] Sec. 4.3: sum of awnd_i; pacing is disabled for new flows while the buffer is occupied.
    Deviates: counted in bytes of payload, as windows are (the paper's "187 Kbytes" for 64 packets of 1460 are 93 kB).
    """

    __slots__ = ("cap_bytes", "reserved_bytes")

    def __init__(self, cap_bytes: int) -> None:
        self.cap_bytes = cap_bytes
        self.reserved_bytes = 0

    def reserve(self, wanted_bytes: int) -> bool:
        """Promise this much if the cap allows it; all or nothing."""
        if self.reserved_bytes + wanted_bytes > self.cap_bytes:
            return False
        self.reserved_bytes += wanted_bytes
        return True

    def free(self, reserved_bytes: int) -> None:
        """Take a promise back."""
        self.reserved_bytes -= reserved_bytes


WIRED_TO_AIR: Final = Point.WIRED_TO_AIR
AIR_TO_WIRED: Final = Point.AIR_TO_WIRED
"""Once per packet an enumeration's member by its name is too slow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayConfig:
    """Settings of a pacing gateway. Raises ValueError on a value out of range."""

    table: FlowTableConfig = field(default_factory=FlowTableConfig)
    buffer_bytes: int = 4 << 20
    """Cap on the sum of awnd over paced flows: 44 flows of 64 x 1460 bytes."""
    assumed_window_bytes: int = 65_535
    """awnd of a flow whose wireless end has not been heard yet: the most that a window without scaling can be."""
    initial_rtt_ns: int = NS_PER_S
    """Round trip of the wireless part before the first sample (RFC 6298 (2.1))."""

    def __post_init__(self) -> None:
        require(self.buffer_bytes >= 0, "buffer_bytes", self.buffer_bytes, "a number of bytes, 0 for no pacing")
        window = self.assumed_window_bytes
        require(window > 0, "assumed_window_bytes", window, "a positive number of bytes")
        require(self.initial_rtt_ns > 0, "initial_rtt_ns", self.initial_rtt_ns, "a positive number of ns")


class GatewayFlow(PacedFlow):
    """One connection through the gateway: soft state."""

    __slots__ = ("admitted", "refused", "sent", "teardown", "window_bytes")

    def __init__(self, key: FlowKey, now_ns: int, schedule: ReleaseSchedule | None = None) -> None:
        """`schedule`: one that the flow shares with others; None: one of its own."""
        super().__init__(key, now_ns, 0, schedule)
        self.sent = Outstanding()
        """Data in the air."""
        self.teardown = Teardown()
        self.window_bytes = 0
        """awnd: the largest window that the wireless end has advertised; 0 while unknown."""
        self.admitted = False
        """Whether `queue_limit_bytes` are reserved for it in the gateway's buffer: only then is it paced."""
        self.refused = False
        """Whether it was counted as unpaced."""

    @property
    def is_fresh(self) -> bool:
        """No data was seen: a SYN belongs to this very connection."""
        return self.sent.ack is None

    def evict(self) -> int:
        """Forget the oldest copy; its handle."""
        return self.sent.evict()


G = TypeVar("G", bound=GatewayFlow)


class GatewayHook(PacingHook[G]):
    """Base of the hooks that pace wired-to-wireless TCP at a gateway. Subclasses list `copies_evicted` as a counter."""

    _limits: GatewayConfig
    """Set by the subclass before it calls `__init__`."""

    def __init__(self, table: FlowTableConfig, wakes: Wakes[G] | None = None) -> None:
        super().__init__(table, wakes)
        self._budget = BufferBudget(self._limits.buffer_bytes)

    def handle(self, now_ns: int, event: Event) -> None:
        """Take note of a segment; what is not TCP between air and wire passes untouched."""
        if not isinstance(event, SegmentSeen):
            return
        point, segment, path_rates_bps = event
        outward = point is WIRED_TO_AIR
        if segment.protocol != TCP or not (outward or point is AIR_TO_WIRED):
            self._forward(segment)
            return
        flows = self._flows.by_key if outward else self._flows.by_reply
        flow, flags = flows.get(segment.flow), segment.flags
        if flow is not None and not flags & SYN:
            flow.last_seen_ns = now_ns  # `FlowTable.touch` in place: once per packet
            if flow is not self._flows.newest:
                self._flows.touch(flow, now_ns)
        else:
            flow = self._open(now_ns, flow, segment, outward=outward)
        if outward:
            self._from_wired(now_ns, flow, segment, path_rates_bps)
        else:
            self._from_air(now_ns, flow, segment, path_rates_bps)
        if flow is not None and (flags & (FIN | RST) or flow.teardown.has_begun):
            self._watch_end(now_ns, flow, segment, outward=outward)

    # What subclasses define.

    @abstractmethod
    def _from_wired(self, now_ns: int, flow: G | None, segment: Segment, path_rates_bps: tuple[int, ...]) -> None:
        """Take note of a TCP segment bound for the air: forward, pace or drop it."""

    @abstractmethod
    def _from_air(self, now_ns: int, flow: G | None, segment: Segment, path_rates_bps: tuple[int, ...]) -> None:
        """Take note of a TCP segment that came out of the air: forward or drop it."""

    @abstractmethod
    def _may_open(self, segment: Segment, *, outward: bool) -> bool:
        """Whether a segment of an unknown connection makes it known."""

    @abstractmethod
    def _new_flow(self, now_ns: int, key: FlowKey, segment: Segment) -> G:
        """What is known of a connection at this first segment."""

    # The life of a flow.

    def _open(self, now_ns: int, flow: G | None, segment: Segment, *, outward: bool) -> G | None:
        """The segment's flow; made if it may be, and there is room. What opens a connection ends the one before."""
        if flow is not None:
            if segment.flags & ACK or flow.is_fresh:
                self._flows.touch(flow, now_ns)
                return flow
            self._end(now_ns, flow, "new connection")
        if self._flows.is_full() or not self._may_open(segment, outward=outward):
            return None
        key = segment.flow if outward else segment.flow.reversed()
        flow = self._new_flow(now_ns, key, segment)
        self._flows.add(flow)
        return flow

    def _admit(self, flow: G) -> bool:
        """Reserve the flow's awnd in the buffer."""
        wanted = flow.window_bytes or self._limits.assumed_window_bytes
        flow.admitted = self._budget.reserve(wanted)
        if flow.admitted:
            flow.queue_limit_bytes = wanted
            flow.refused = False
        elif not flow.refused:
            flow.refused = True
            self._count["unpaced_flows"] += 1
        return flow.admitted

    def _widen(self, flow: G, window_bytes: int) -> None:
        """The receiver's window grew: reserve the difference if there is room, else the flow keeps what it has."""
        flow.window_bytes = window_bytes
        more = window_bytes - flow.queue_limit_bytes
        if flow.admitted and more > 0 and self._budget.reserve(more):
            flow.queue_limit_bytes = window_bytes

    def _watch_end(self, now_ns: int, flow: G, segment: Segment, *, outward: bool) -> None:
        if segment.flags & RST:
            self._end(now_ns, flow, "connection reset")
        elif flow.teardown.observe(segment, outward=outward):
            self._end(now_ns, flow, "connection closed")

    def _forget(self, now_ns: int, flow: G, reason: str) -> None:
        super()._forget(now_ns, flow, reason)
        if flow.admitted:
            self._budget.free(flow.queue_limit_bytes)
        for handle in flow.sent.drain():
            self._actions.append(Release(handle))

    # Copies.

    def _send(self, now_ns: int, flow: G, segment: Segment) -> None:
        sent = flow.sent
        # With an oversized segment at most this one is too many: then it is not kept.
        keep = sent.kept_bytes + flow.pacer.queued_bytes + segment.payload_bytes <= flow.queue_limit_bytes
        older = sent.released(now_ns, segment, keep=keep)
        self._actions.append(Forward(segment.handle, keep))
        if older is not None:
            self._actions.append(Release(older))

    def _make_room(self, now_ns: int, flow: G, payload_bytes: int) -> None:
        if flow.sent.kept_bytes + flow.pacer.queued_bytes + payload_bytes <= flow.queue_limit_bytes:
            return
        self._evict_copies(flow, payload_bytes)
        super()._make_room(now_ns, flow, payload_bytes)
        self._evict_copies(flow, payload_bytes)  # of what has just gone

    def _evict_copies(self, flow: G, payload_bytes: int) -> None:
        sent = flow.sent
        while sent.kept_bytes and sent.kept_bytes + flow.pacer.queued_bytes + payload_bytes > flow.queue_limit_bytes:
            self._count["copies_evicted"] += 1
            self._actions.append(Release(flow.evict()))
