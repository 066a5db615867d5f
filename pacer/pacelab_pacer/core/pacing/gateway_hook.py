"""What the pacing gateways share: connections through them, and copies of what is in the air.

A connection is keyed by its wired-to-wireless direction, whose data waits here. A subclass says what it does with a
segment of each direction; the look-up, and the end of a connection, are here.

Invariants, beside those of `pacing_hook`
1. What is queued and kept, of all flows together, never exceeds `buffer_bytes`; only what is here counts, not what a
   window would allow. The copies of a flow never exceed its awnd less what it has queued.
2. A copy gives way to a packet that is to wait: a lost copy costs an end-to-end retransmission at worst.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final, TypeVar

from pacelab.units import NS_PER_S
from pacelab_pacer.core.checks import AT_LEAST_0, AT_LEAST_1, check_fields
from pacelab_pacer.core.contract import Event, Forward, Point, Release, SegmentSeen
from pacelab_pacer.core.pacing.outstanding import Outstanding
from pacelab_pacer.core.pacing.paced_flow import FlowTableConfig, PacedFlow, ReleaseSchedule
from pacelab_pacer.core.pacing.pacing_hook import PacingHook
from pacelab_pacer.core.pacing.packet_store import DEFAULT_BYTES, PacketStore
from pacelab_pacer.core.pacing.teardown import Teardown
from pacelab_pacer.core.pacing.wake_heap import Wakes
from pacelab_pacer.core.segment import ACK, FIN, RST, SYN, TCP, FlowKey, Segment

WIRED_TO_AIR: Final = Point.WIRED_TO_AIR
AIR_TO_WIRED: Final = Point.AIR_TO_WIRED
"""Aliases: an Enum attribute look-up for each packet shows in the profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayConfig:
    """Settings of a pacing gateway. Raises ValueError on a value out of range."""

    table: FlowTableConfig = field(default_factory=FlowTableConfig)
    buffer_bytes: int = DEFAULT_BYTES
    """Payload queued and kept for all flows together; 0 turns pacing off, so that the hook only measures.

    Source: [tcp-gap] Sec. 4.3 wants room for the sum of awnd_i, and disables pacing for new flows while it is occupied.
    Deviates: a flow that passes unpaced breaks the pace of all others, so every flow is paced, and a full buffer drops.
    """
    assumed_window_bytes: int = 65_535
    """awnd of a flow whose wireless end has not been heard yet: the most that a window without scaling can be."""
    initial_rtt_ns: int = NS_PER_S
    """Round trip of the wireless part before the first sample (RFC 6298 (2.1))."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            buffer_bytes=AT_LEAST_0,
            assumed_window_bytes=AT_LEAST_1,
            initial_rtt_ns=AT_LEAST_1,
        )


class GatewayFlow(PacedFlow):
    """One connection through the gateway: soft state."""

    __slots__ = ("is_paced", "is_refused", "sent", "teardown", "window_bytes")

    def __init__(self, key: FlowKey, now_ns: int, store: PacketStore, schedule: ReleaseSchedule | None = None) -> None:
        """`store`: the hook's. `schedule`: one that the flow shares with others; None: one of its own."""
        super().__init__(key, now_ns, 0, schedule)
        self.sent = Outstanding(store=store)
        """Data in the air."""
        self.teardown = Teardown()
        self.window_bytes = 0
        """awnd: the largest window that the wireless end has advertised; 0 while unknown."""
        self.is_paced = False
        """Whether data of it has come, and is paced."""
        self.is_refused = False
        """Whether data of it has come, and pacing is off."""

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
        super().__init__(table, wakes, store_bytes=self._limits.buffer_bytes)
        self._keepers: OrderedDict[G, None] = OrderedDict()
        """Flows of which copies are kept, or were; those that have had copies for longest come first."""

    def handle(self, now_ns: int, event: Event) -> None:
        """Process a segment; what is not TCP between air and wire passes unchanged."""
        if not isinstance(event, SegmentSeen):
            return
        point, segment, path_rates_bps = event
        outward = point is WIRED_TO_AIR
        if segment.protocol != TCP or not (outward or point is AIR_TO_WIRED):
            self._forward(segment)
            return
        flows = self._flows.by_key if outward else self._flows.by_reply
        flow, flags = flows.get(segment.flow), segment.flags
        if flow is not None and not flags & (SYN | RST):
            flow.last_seen_ns = now_ns  # `FlowTable.touch`, inlined because it runs for each packet
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
        """Process a TCP segment bound for the air: forward, pace or drop it."""

    @abstractmethod
    def _from_air(self, now_ns: int, flow: G | None, segment: Segment, path_rates_bps: tuple[int, ...]) -> None:
        """Process a TCP segment from the air: forward or drop it."""

    @abstractmethod
    def _may_open(self, segment: Segment, *, outward: bool) -> bool:
        """Whether a segment of an unknown connection creates its flow."""

    @abstractmethod
    def _new_flow(self, now_ns: int, key: FlowKey, segment: Segment) -> G:
        """The flow of a connection with this first segment."""

    # The life of a flow.

    def _open(self, now_ns: int, flow: G | None, segment: Segment, *, outward: bool) -> G | None:
        """The segment's flow, created if it may be and there is room. A segment that opens a connection ends the old
        one. A RST with payload ends it as well, and waits for its turn as data of a new one.
        """
        if flow is not None:
            if segment.flags & RST:
                if not (outward and segment.payload_bytes):
                    self._flows.touch(flow, now_ns)
                    return flow
                self._end(now_ns, flow, "connection reset")
            elif segment.flags & ACK or flow.is_fresh:
                self._flows.touch(flow, now_ns)
                return flow
            else:
                self._end(now_ns, flow, "new connection")
        if not self._may_open(segment, outward=outward) or not self._has_place(now_ns):
            return None
        key = segment.flow if outward else segment.flow.reversed()
        flow = self._new_flow(now_ns, key, segment)
        self._flows.add(flow)
        return flow

    def _paces_flow(self, flow: G) -> bool:
        """Whether to start pacing the data of an unpaced flow: always, unless pacing is off."""
        if self._limits.buffer_bytes:
            flow.is_paced = True
            flow.queue_limit_bytes = flow.window_bytes or self._limits.assumed_window_bytes
        elif not flow.is_refused:
            flow.is_refused = True
            self._count["unpaced_flows"] += 1
        return flow.is_paced

    def _widen(self, flow: G, window_bytes: int) -> None:
        """The receiver's window grew."""
        flow.window_bytes = window_bytes
        if flow.is_paced:
            flow.queue_limit_bytes = max(flow.queue_limit_bytes, window_bytes)

    def _forward_unknown(self, segment: Segment) -> None:
        """Forward a segment of an unknown connection, unless it has payload: the table has no room for its flow."""
        if segment.payload_bytes:
            self._refuse(segment)
        else:
            self._forward(segment)

    def _watch_end(self, now_ns: int, flow: G, segment: Segment, *, outward: bool) -> None:
        if segment.flags & RST:
            if not (outward and segment.payload_bytes):
                self._end(now_ns, flow, "connection reset")
        elif flow.teardown.observe(segment, outward=outward):
            self._end(now_ns, flow, "connection closed")

    def _forget(self, now_ns: int, flow: G, reason: str) -> None:
        super()._forget(now_ns, flow, reason)
        self._keepers.pop(flow, None)
        for handle in flow.sent.drain():
            self._actions.append(Release(handle))

    # Copies.

    def _send(self, now_ns: int, flow: G, segment: Segment) -> None:
        sent, store, payload_bytes = flow.sent, self._store, segment.payload_bytes
        # With an oversized segment at most this one is too many: then it is not kept.
        fits = sent.kept_bytes + flow.pacer.queued_bytes + payload_bytes <= flow.queue_limit_bytes
        keep = fits and store.queued_bytes + store.kept_bytes + payload_bytes <= store.cap_bytes
        older = sent.released(now_ns, segment, keep=keep)
        self._actions.append(Forward(segment.handle, keep))
        if keep:
            self._keepers[flow] = None
        if older is not None:
            self._actions.append(Release(older))

    def _make_room(self, flow: G, payload_bytes: int) -> None:
        """Forget the flow's oldest copies as far as they and its queue would exceed its awnd."""
        sent, pacer = flow.sent, flow.pacer
        while sent.kept_bytes and sent.kept_bytes + pacer.queued_bytes + payload_bytes > flow.queue_limit_bytes:
            self._evict(flow)

    def _has_room(self, flow: G, payload_bytes: int) -> bool:
        """Room in the store is enough: a window that is not known in full, as without its scale, costs no packet."""
        pacer, store = flow.pacer, self._store
        if not store.admits(payload_bytes, flow_bytes=pacer.queued_bytes, flow_pkts=len(pacer.waiting)):
            return False
        while store.kept_bytes and store.lacks_bytes(payload_bytes):
            keeper = next(iter(self._keepers))
            if keeper.sent.kept_bytes:
                self._evict(keeper)
            else:
                del self._keepers[keeper]
        return True

    def _evict(self, flow: G) -> None:
        self._count["copies_evicted"] += 1
        self._actions.append(Release(flow.evict()))
