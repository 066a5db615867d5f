"""TCP-GAP at the Internet gateway: pacing, RTT_wired, local retransmission, Goodput Control.

    WIRED_TO_AIR   data of wired-to-wireless flows waits in the pacing queue of its flow and goes into the air at its
                   pace, a copy being kept; pure ACKs pass at once, with RTT_wired written into them where this ACK
                   gives a sample of the wireless-to-wired flow's wired part
    AIR_TO_WIRED   data passes at once, its time noted (T1 of RTT_wired); ACKs give RTT_wireless, hence the pace; a
                   duplicate ACK makes the gateway send the missing segment itself

Invariants
1. A flow is paced (and its segments kept) only while its awnd is reserved in the buffer; what is queued and kept for it
   never exceeds that. Other flows pass unpaced, are measured all the same, and are paced once there is room.
2. A duplicate ACK for a segment that the gateway does not hold is always forwarded: only the source can mend that.
3. A local retransmission goes at once and does not move the pace of the queue.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pacelab.pacer.core.checks import require
from pacelab.pacer.core.contract import Drop, Forward, Point, Release, Resend, Rewrite, SegmentSeen
from pacelab.pacer.core.pacing.buffer_budget import BufferBudget
from pacelab.pacer.core.pacing.flow_table import FlowTableConfig
from pacelab.pacer.core.pacing.pace import Pace
from pacelab.pacer.core.pacing.pacing_hook import PacingHook
from pacelab.pacer.core.segment import ACK, FIN, RST, SYN, FlowKey, Segment
from pacelab.pacer.core.tcp_gap.gateway_flow import DownHalf, GatewayFlow, Half
from pacelab.pacer.core.tcp_gap.goodput_control import GoodputControl, GoodputControlConfig, GoodputMeter
from pacelab.pacer.core.tcp_gap.pace_estimator import PaceConfig
from pacelab.units import BITS_PER_BYTE, NS_PER_S, transmission_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpGapGatewayConfig:
    """Settings of the gateway side. Raises ValueError on a value out of range."""

    pace: Pace = field(default_factory=PaceConfig)
    table: FlowTableConfig = field(default_factory=FlowTableConfig)
    goodput_control: GoodputControlConfig | None = field(default_factory=GoodputControlConfig)
    """None turns Goodput Control off: the scheme `tcp-gap-nogc`."""
    buffer_bytes: int = 4 << 20
    """Cap on the sum of awnd over paced flows: 44 flows of 64 x 1460 bytes."""
    assumed_window_bytes: int = 65_535
    """awnd of a flow whose wireless end has not been heard yet: the most that a window without scaling can be."""
    forward_duplicates: bool = False
    """Forward duplicate ACKs as well after a local retransmission. As printed they are not."""
    initial_rtt_ns: int = NS_PER_S
    """RTT_wireless for "one local retransmission per hole and RTT" before the first sample (RFC 6298 (2.1))."""

    def __post_init__(self) -> None:
        require(self.buffer_bytes >= 0, "buffer_bytes", self.buffer_bytes, "a number of bytes, 0 for no pacing")
        window = self.assumed_window_bytes
        require(window > 0, "assumed_window_bytes", window, "a positive number of bytes")
        require(self.initial_rtt_ns > 0, "initial_rtt_ns", self.initial_rtt_ns, "a positive number of ns")


class TcpGapGateway(PacingHook[GatewayFlow]):
    """The `gateway` hook of TCP-GAP.

    Source: [tcp-gap] Sec. 4.2-4.4, Fig. 3, Fig. 6.
    Deviates: Fig. 6's directions are read as the packet's own, and its lines 24-25 as T2 = now, RTT_wireless = T2 - T1;
    the local retransmission is of the segment that starts at the ACK number, once per hole and RTT, since every further
    duplicate of that round trip tells of the same loss. awnd is the largest window seen. RTT_wired is written into pure
    ACKs only: an ACK with data may have no room for an option. The pacing queue is FIFO for new data; what the source
    sends again goes ahead of it, and what was acknowledged meanwhile is not sent.
    """

    _COUNTERS = (
        "rtt_samples",
        "rtt_unusable",
        "rtt_wired_written",
        "local_retransmissions",
        "duplicates_absorbed",
        "duplicates_forwarded",
        "copies_evicted",
    )

    def __init__(self, config: TcpGapGatewayConfig | None = None) -> None:
        self._config = config or TcpGapGatewayConfig()
        super().__init__(self._config.table)
        self._budget = BufferBudget(self._config.buffer_bytes)
        control = self._config.goodput_control
        self._control = None if control is None else GoodputControl(control)

    def counters(self) -> dict[str, int]:
        """How often the hook acted; `throttled` and `throttles_cancelled` come from Goodput Control."""
        control = self._control
        throttled = 0 if control is None else control.throttles
        cancelled = 0 if control is None else control.cancellations
        return {**self._count, "throttled": throttled, "throttles_cancelled": cancelled}

    # Towards the air.

    def _handle_tcp(self, now_ns: int, event: SegmentSeen) -> None:
        segment = event.segment
        if event.point == Point.WIRED_TO_AIR:
            self._from_wired(now_ns, segment, event.path_rates_bps)
        elif event.point == Point.AIR_TO_WIRED:
            self._from_air(now_ns, segment, event.path_rates_bps)
        else:
            self._forward(segment)

    def _from_wired(self, now_ns: int, segment: Segment, path_rates_bps: tuple[int, ...]) -> None:
        flow = self._flow_of(now_ns, segment, segment.flow)
        if flow is None:
            self._forward_stateless(segment)
            return
        if segment.flags & ACK and flow.up is not None:
            self._ack_from_wired(now_ns, flow.up, segment)
        if segment.is_data:
            self._data_from_wired(now_ns, flow, segment, path_rates_bps)
        elif segment.flags & FIN:
            self._follow(flow, segment)
        else:
            self._forward(segment)
        self._watch_end(now_ns, flow, segment, outward=True)

    def _data_from_wired(
        self, now_ns: int, flow: GatewayFlow, segment: Segment, path_rates_bps: tuple[int, ...]
    ) -> None:
        down = flow.down
        if down is None:
            down = flow.down = self._down_half(now_ns, flow, segment)
        if self._control is not None and down.meter is not None:
            self._control.credit(now_ns, down.meter, 0)
        if segment.payload_bytes > down.largest_payload_bytes:
            down.largest_payload_bytes = segment.payload_bytes
        if not (flow.admitted or self._admit(flow)):
            down.matcher.released(now_ns, segment)
            self._pass_unpaced(segment)
            return
        if down.estimator.rtt_wireless_ns is None:
            down.estimator.expect(data_bytes=segment.packet_bytes, path_rates_bps=path_rates_bps)
            self._apply_pace(now_ns, flow, down)
        self._offer(now_ns, flow, segment)

    def _ack_from_wired(self, now_ns: int, up: Half, segment: Segment) -> None:
        """Credit the wireless-to-wired flow and tell its source how long the wired part took."""
        advance = up.progress.observe(segment, up.matcher.highest_end)
        if advance <= 0:
            return
        if self._control is not None and up.meter is not None:
            self._control.credit(now_ns, up.meter, advance)
        sample = up.matcher.acknowledged(now_ns, segment.ack)
        if sample is not None and segment.is_pure_ack:
            self._count["rtt_wired_written"] += 1
            self._actions.append(Rewrite(segment.handle, rtt_wired_ns=sample.rtt_ns))

    def _send(self, now_ns: int, flow: GatewayFlow, segment: Segment) -> None:
        down = flow.down
        assert down is not None  # only data is released, and data makes the half
        down.matcher.released(now_ns, segment)
        # With an oversized segment at most this one is too many: then it is not kept.
        keep = down.store.kept_bytes + flow.pacer.queued_bytes + segment.payload_bytes <= flow.queue_limit_bytes
        self._actions.append(Forward(segment.handle, keep))
        if keep and (older := down.store.keep(segment)) is not None:
            self._actions.append(Release(older))

    def _make_room(self, now_ns: int, flow: GatewayFlow, payload_bytes: int) -> None:
        """Copies go before the pace does: a lost copy costs an end-to-end retransmission at worst."""
        self._evict_copies(flow, payload_bytes)
        super()._make_room(now_ns, flow, payload_bytes)
        self._evict_copies(flow, payload_bytes)  # of what has just gone

    def _evict_copies(self, flow: GatewayFlow, payload_bytes: int) -> None:
        assert flow.down is not None
        store = flow.down.store
        while len(store) and store.kept_bytes + flow.pacer.queued_bytes + payload_bytes > flow.queue_limit_bytes:
            self._count["copies_evicted"] += 1
            self._actions.append(Release(store.evict()))

    # From the air.

    def _from_air(self, now_ns: int, segment: Segment, path_rates_bps: tuple[int, ...]) -> None:
        flow = self._flow_of(now_ns, segment, segment.flow.reversed())
        if flow is None:
            self._forward_stateless(segment)
            return
        if segment.window_bytes > flow.window_bytes:
            self._widen(flow, segment.window_bytes)
        if segment.is_data:
            self._data_from_air(now_ns, flow, segment)
        absorbed = False
        if segment.flags & ACK and flow.down is not None:
            absorbed = self._ack_from_air(now_ns, flow, flow.down, segment, path_rates_bps)
        if absorbed:
            self._actions.append(Drop(segment.handle, "duplicate ACK absorbed"))
        else:
            self._forward(segment)
        self._watch_end(now_ns, flow, segment, outward=False)

    def _data_from_air(self, now_ns: int, flow: GatewayFlow, segment: Segment) -> None:
        up = flow.up
        if up is None:
            up = flow.up = Half(self._meter(now_ns, flow.key, may_throttle=False), segment.seq)
        if self._control is not None and up.meter is not None:
            self._control.credit(now_ns, up.meter, 0)
        up.matcher.released(now_ns, segment)

    def _ack_from_air(
        self, now_ns: int, flow: GatewayFlow, down: DownHalf, segment: Segment, path_rates_bps: tuple[int, ...]
    ) -> bool:
        """Digest an ACK of paced data; True if it shall not be forwarded."""
        advance = down.progress.observe(segment, down.matcher.highest_end)
        if advance == 0:
            return self._duplicate(now_ns, down, segment)
        if advance < 0:  # says nothing new, or of data never sent: not to be believed
            return False
        if self._control is not None and down.meter is not None:
            self._control.credit(now_ns, down.meter, advance)
        for handle in down.store.acknowledged(segment.ack):
            self._actions.append(Release(handle))
        self._discard_acknowledged(flow, segment.ack)
        sample = down.matcher.acknowledged(now_ns, segment.ack)
        if sample is not None:
            usable = down.estimator.sample(
                now_ns,
                sample.rtt_ns,
                data_bytes=sample.data_bytes,
                ack_bytes=segment.packet_bytes - segment.payload_bytes,
                path_rates_bps=path_rates_bps,
            )
            self._count["rtt_samples" if usable else "rtt_unusable"] += 1
            self._apply_pace(now_ns, flow, down)
        return False

    def _duplicate(self, now_ns: int, down: DownHalf, segment: Segment) -> bool:
        """Fill the hole that a duplicate ACK names, if its segment is here; True if the ACK ends here."""
        rtt_ns = down.estimator.rtt_wireless_ns or self._config.initial_rtt_ns
        missing, send_now = down.store.fill(now_ns, segment.ack, rtt_ns)
        if missing is None:
            self._count["duplicates_forwarded"] += 1
            return False
        if send_now:
            self._count["local_retransmissions"] += 1
            down.matcher.retransmitted(missing.end_seq)
            self._actions.append(Resend(missing.handle))
        absorb = not self._config.forward_duplicates
        self._count["duplicates_absorbed" if absorb else "duplicates_forwarded"] += 1
        return absorb

    # The life of a flow.

    def _flow_of(self, now_ns: int, segment: Segment, key: FlowKey) -> GatewayFlow | None:
        """The segment's flow; made if the segment opens it or carries data, and there is room."""
        flow = self._flows.get(key)
        if flow is not None:
            if segment.flags & (SYN | ACK) != SYN or (flow.down is None and flow.up is None):
                self._flows.touch(flow, now_ns)
                return flow
            self._end(now_ns, flow, "new connection")
        if self._flows.is_full() or not (segment.payload_bytes or segment.flags & SYN):
            return None
        flow = GatewayFlow(key, now_ns)
        self._flows.add(flow)
        return flow

    def _forward_stateless(self, segment: Segment) -> None:
        if segment.payload_bytes:
            self._pass_unpaced(segment)
        else:
            self._forward(segment)

    def _admit(self, flow: GatewayFlow) -> bool:
        """Reserve the flow's awnd in the buffer."""
        wanted = flow.window_bytes or self._config.assumed_window_bytes
        flow.admitted = self._budget.reserve(wanted)
        if flow.admitted:
            flow.queue_limit_bytes = wanted
        elif not flow.refused:
            flow.refused = True
            self._count["unpaced_flows"] += 1
        return flow.admitted

    def _widen(self, flow: GatewayFlow, window_bytes: int) -> None:
        """The receiver's window grew: reserve the difference if there is room, else the flow keeps what it has."""
        flow.window_bytes = window_bytes
        more = window_bytes - flow.queue_limit_bytes
        if flow.admitted and more > 0 and self._budget.reserve(more):
            flow.queue_limit_bytes = window_bytes

    def _watch_end(self, now_ns: int, flow: GatewayFlow, segment: Segment, *, outward: bool) -> None:
        if segment.flags & RST:
            self._end(now_ns, flow, "connection reset")
        elif flow.teardown.observe(segment, outward=outward):
            self._end(now_ns, flow, "connection closed")

    def _forget(self, now_ns: int, flow: GatewayFlow, reason: str) -> None:
        super()._forget(now_ns, flow, reason)
        if flow.admitted:
            self._budget.free(flow.queue_limit_bytes)
        if flow.down is not None:
            for handle in flow.down.store.drain():
                self._actions.append(Release(handle))
        for half in (flow.down, flow.up):
            if self._control is not None and half is not None and half.meter is not None:
                self._repace(now_ns, self._control.end(now_ns, half.meter))

    # Pace and Goodput Control.

    def _meter(self, now_ns: int, key: FlowKey, *, may_throttle: bool) -> GoodputMeter | None:
        if self._control is None:
            return None
        meter, freed = self._control.start(now_ns, key, may_throttle=may_throttle)
        self._repace(now_ns, freed)
        return meter

    def _down_half(self, now_ns: int, flow: GatewayFlow, segment: Segment) -> DownHalf:
        meter = self._meter(now_ns, flow.key, may_throttle=True)
        return DownHalf(meter, segment.seq, self._config.pace)

    def _apply_pace(self, now_ns: int, flow: GatewayFlow, down: DownHalf) -> None:
        """The slower of the adaptive pace and the throttle."""
        interval_ns = down.estimator.interval_ns
        meter = down.meter
        if meter is not None:
            if flow.admitted and interval_ns > 0:
                meter.unthrottled_bps = down.largest_payload_bytes * BITS_PER_BYTE * NS_PER_S / interval_ns
            if meter.throttle_bps is not None:
                interval_ns = max(interval_ns, transmission_ns(down.largest_payload_bytes, meter.throttle_bps))
        self._set_pace(now_ns, flow, interval_ns)

    def _repace(self, now_ns: int, meters: list[GoodputMeter]) -> None:
        for meter in meters:
            flow = self._flows.get(meter.key)
            if flow is not None and flow.down is not None:  # pragma: no branch  # a flow that has ended has no meter
                self._apply_pace(now_ns, flow, flow.down)

    def _own_deadline(self) -> tuple[int, str] | None:
        tick_ns = None if self._control is None else self._control.deadline_ns()
        return None if tick_ns is None else (tick_ns, "goodput control")

    def _own_timeout(self, now_ns: int) -> None:
        if self._control is not None:
            self._repace(now_ns, self._control.tick(now_ns))
