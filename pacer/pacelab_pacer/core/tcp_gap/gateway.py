"""TCP-GAP at the Internet gateway: pacing, RTT_wired, local retransmission, Goodput Control.

    WIRED_TO_AIR   data of wired-to-wireless flows waits in the pacing queue of its flow and enters the air at the pace
                   of its flow, while the gateway keeps a copy; pure ACKs pass at once, and the gateway writes RTT_wired
                   into those that give a sample of the wireless-to-wired flow's wired part
    AIR_TO_WIRED   data passes at once, and the gateway notes the time (T1 of RTT_wired); ACKs give RTT_wireless, and
                   RTT_wireless gives the pace; on a duplicate ACK the gateway sends the missing segment itself

Invariants, beside those of `gateway_hook`
1. With `buffer_bytes` 0 nothing is paced, but everything is measured.
2. A duplicate ACK for a segment that the gateway does not hold is always forwarded: only the source can send it again.
3. A local retransmission leaves at once and does not change the pace of the queue.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from pacelab.units import BITS_PER_BYTE, NS_PER_S, transmission_ns
from pacelab_pacer.core.contract import Drop, Release, Resend, Rewrite
from pacelab_pacer.core.pacing.gateway_hook import GatewayConfig, GatewayFlow, GatewayHook
from pacelab_pacer.core.pacing.outstanding import Outstanding
from pacelab_pacer.core.pacing.paced_flow import ReleaseSchedule
from pacelab_pacer.core.pacing.packet_store import PacketStore
from pacelab_pacer.core.segment import ACK, FIN, RST, SYN, FlowKey, Segment
from pacelab_pacer.core.tcp_gap.goodput_control import GoodputControl, GoodputControlConfig, GoodputMeter
from pacelab_pacer.core.tcp_gap.pace_estimator import Estimator, Pace, PaceConfig


class DownHalf:
    """Wired to wireless: paced here."""

    __slots__ = ("estimator", "largest_payload_bytes", "meter")

    def __init__(self, meter: GoodputMeter | None, estimator: Estimator) -> None:
        self.meter = meter
        self.estimator = estimator
        self.largest_payload_bytes = 0
        """The segment size by which a rate becomes a time between segments."""


class UpHalf:
    """Wireless to wired: measured here."""

    __slots__ = ("meter", "sent")

    def __init__(self, meter: GoodputMeter | None, first_seq: int) -> None:
        self.meter = meter
        self.sent = Outstanding()
        """Data on the wired side."""
        self.sent.begin(first_seq)


class TcpGapFlow(GatewayFlow):
    """What TCP-GAP's gateway knows of one connection: one half for each direction that carries data.

    All of this is soft state, created when it is first needed: a gateway that starts in mid-connection has the state
    again after a round trip.
    """

    __slots__ = ("down", "up")

    def __init__(self, key: FlowKey, now_ns: int, store: PacketStore, schedule: ReleaseSchedule | None = None) -> None:
        super().__init__(key, now_ns, store, schedule)
        self.down: DownHalf | None = None
        self.up: UpHalf | None = None

    @property
    def is_fresh(self) -> bool:
        """No data was seen in either direction."""
        return self.down is None and self.up is None


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpGapGatewayConfig(GatewayConfig):
    """Settings of the gateway side. Raises ValueError on a value out of range."""

    pace: Pace = field(default_factory=PaceConfig)
    goodput_control: GoodputControlConfig | None = field(default_factory=GoodputControlConfig)
    """None turns Goodput Control off: the scheme `tcp-gap-nogc`."""
    forward_duplicates: bool = False
    """Forward duplicate ACKs as well after a local retransmission. As printed the gateway does not."""


class TcpGapGateway(GatewayHook[TcpGapFlow]):
    """The `gateway` hook of TCP-GAP.

    Source: [tcp-gap] Sec. 4.2-4.4, Fig. 3, Fig. 6.
    Deviates: Fig. 6's directions are read as the packet's own, and its lines 24-25 as T2 = now, RTT_wireless = T2 - T1;
    the local retransmission is of the segment that starts at the ACK number, once per hole and RTT, since all
    duplicates of one round trip report the same loss. awnd is the largest window seen. RTT_wired is written into pure
    ACKs only: an ACK with data may have no room for an option. The pacing queue is FIFO for new data; data that the
    source sends again goes ahead of it, and data that was acknowledged meanwhile is not sent.
    """

    _COUNTERS: ClassVar[tuple[str, ...]] = (
        "rtt_samples",
        "rtt_unusable",
        "rtt_wired_written",
        "local_retransmissions",
        "duplicates_absorbed",
        "duplicates_forwarded",
        "copies_evicted",
    )

    def __init__(self, config: TcpGapGatewayConfig | None = None) -> None:
        self._limits = self._config = config or TcpGapGatewayConfig()
        super().__init__(self._config.table)
        control = self._config.goodput_control
        self._control = None if control is None else GoodputControl(control)

    def counters(self) -> dict[str, int]:
        """How often the hook acted; `throttled` and `throttles_cancelled` come from Goodput Control."""
        control = self._control
        throttled = 0 if control is None else control.throttles
        cancelled = 0 if control is None else control.cancellations
        return {**super().counters(), "throttled": throttled, "throttles_cancelled": cancelled}

    # Towards the air.

    def _from_wired(
        self, now_ns: int, flow: TcpGapFlow | None, segment: Segment, path_rates_bps: tuple[int, ...]
    ) -> None:
        if flow is None:
            self._forward_unknown(segment)
            return
        flags = segment.flags
        if flags & ACK and flow.up is not None:
            self._ack_from_wired(now_ns, flow.up, segment)
        if segment.payload_bytes:
            self._data_from_wired(now_ns, flow, segment, path_rates_bps)
        elif flags & FIN:
            self._follow(flow, segment)
        else:
            self._forward(segment)

    def _data_from_wired(
        self, now_ns: int, flow: TcpGapFlow, segment: Segment, path_rates_bps: tuple[int, ...]
    ) -> None:
        down = flow.down
        if down is None:
            down = flow.down = DownHalf(self._meter(now_ns, flow.key, may_throttle=True), self._config.pace.estimator())
            flow.sent.begin(segment.seq)
        if down.meter is not None:
            down.meter.last_active_ns = now_ns
            down.meter.carried_bytes += segment.payload_bytes
        if segment.payload_bytes > down.largest_payload_bytes:
            down.largest_payload_bytes = segment.payload_bytes
        if not (flow.is_paced or self._paces_flow(flow)):
            flow.sent.released(now_ns, segment)
            self._pass_unpaced(segment)
            return
        if down.estimator.rtt_wireless_ns is None:
            down.estimator.expect(data_bytes=segment.packet_bytes, path_rates_bps=path_rates_bps)
            self._apply_pace(now_ns, flow, down)
        self._offer(now_ns, flow, segment)

    def _ack_from_wired(self, now_ns: int, up: UpHalf, segment: Segment) -> None:
        """Credit the wireless-to-wired flow, and report the time of the wired part to its source."""
        advance = up.sent.advance(segment)
        if advance <= 0:
            return
        if up.meter is not None:
            up.meter.last_active_ns = now_ns
            up.meter.delivered_bytes += advance
        rtt_ns, _, _ = up.sent.acknowledged(now_ns, segment.ack)
        if rtt_ns is not None and segment.is_pure_ack:
            self._count["rtt_wired_written"] += 1
            self._actions.append(Rewrite(segment.handle, None, rtt_ns))

    # From the air.

    def _from_air(
        self, now_ns: int, flow: TcpGapFlow | None, segment: Segment, path_rates_bps: tuple[int, ...]
    ) -> None:
        if flow is None:
            self._forward(segment)
            return
        if segment.window_bytes > flow.window_bytes:
            self._widen(flow, segment.window_bytes)
        if segment.payload_bytes and not segment.flags & (SYN | RST):
            self._data_from_air(now_ns, flow, segment)
        down = flow.down
        if down is None or not segment.flags & ACK:
            self._forward(segment)
            return
        advance = flow.sent.advance(segment)
        if advance == 0 and self._duplicate(now_ns, flow, down, segment):
            self._actions.append(Drop(segment.handle, "duplicate ACK absorbed"))
            return
        if advance > 0:  # otherwise it says nothing new, or acknowledges data that was never sent
            if down.meter is not None:
                down.meter.last_active_ns = now_ns
                down.meter.delivered_bytes += advance
            rtt_ns, data_bytes, handles = flow.sent.acknowledged(now_ns, segment.ack)
            for handle in handles:
                self._actions.append(Release(handle))
            if flow.pacer.waiting:
                self._discard_acknowledged(flow, segment.ack)
            if rtt_ns is not None:
                usable = down.estimator.sample(
                    now_ns,
                    rtt_ns,
                    data_bytes=data_bytes,
                    ack_bytes=segment.packet_bytes - segment.payload_bytes,
                    path_rates_bps=path_rates_bps,
                )
                self._count["rtt_samples" if usable else "rtt_unusable"] += 1
                self._apply_pace(now_ns, flow, down)
        self._actions.append(segment.handle)  # `_forward`, inlined because it runs for each packet

    def _data_from_air(self, now_ns: int, flow: TcpGapFlow, segment: Segment) -> None:
        up = flow.up
        if up is None:
            up = flow.up = UpHalf(self._meter(now_ns, flow.key, may_throttle=False), segment.seq)
        if up.meter is not None:
            up.meter.last_active_ns = now_ns
            up.meter.carried_bytes += segment.payload_bytes
        up.sent.released(now_ns, segment)

    def _duplicate(self, now_ns: int, flow: TcpGapFlow, down: DownHalf, segment: Segment) -> bool:
        """Fill the hole that a duplicate ACK reports, if its segment is here; True if the ACK ends here."""
        rtt_ns = down.estimator.rtt_wireless_ns or self._config.initial_rtt_ns
        missing, send_now = flow.sent.fill(now_ns, segment.ack, rtt_ns)
        if missing is None:
            self._count["duplicates_forwarded"] += 1
            return False
        if send_now:
            self._count["local_retransmissions"] += 1
            flow.sent.retransmitted(missing.end_seq)
            self._actions.append(Resend(missing.handle))
        absorb = not self._config.forward_duplicates
        self._count["duplicates_absorbed" if absorb else "duplicates_forwarded"] += 1
        return absorb

    # The life of a flow.

    def _may_open(self, segment: Segment, *, outward: bool) -> bool:
        return bool(segment.payload_bytes or segment.flags & SYN)

    def _new_flow(self, now_ns: int, key: FlowKey, segment: Segment) -> TcpGapFlow:
        return TcpGapFlow(key, now_ns, self._store)

    def _forget(self, now_ns: int, flow: TcpGapFlow, reason: str) -> None:
        super()._forget(now_ns, flow, reason)
        for half in (flow.down, flow.up):
            if self._control is not None and half is not None and half.meter is not None:
                self._repace(now_ns, self._control.end(half.meter))

    # Pace and Goodput Control.

    def _meter(self, now_ns: int, key: FlowKey, *, may_throttle: bool) -> GoodputMeter | None:
        if self._control is None:
            return None
        meter, freed = self._control.start(now_ns, key, may_throttle=may_throttle)
        self._repace(now_ns, freed)
        return meter

    def _apply_pace(self, now_ns: int, flow: TcpGapFlow, down: DownHalf) -> None:
        """The slower of the adaptive pace and the throttle."""
        interval_ns = down.estimator.interval_ns
        meter = down.meter
        if meter is not None:
            if flow.is_paced and interval_ns > 0:
                meter.unthrottled_bps = down.largest_payload_bytes * BITS_PER_BYTE * NS_PER_S / interval_ns
            if meter.throttle_bps is not None:
                interval_ns = max(interval_ns, transmission_ns(down.largest_payload_bytes, meter.throttle_bps))
        flow.pacer.schedule.set_interval(now_ns, interval_ns)
        if flow.pacer.waiting:
            self._schedule(flow)

    def _repace(self, now_ns: int, meters: list[GoodputMeter]) -> None:
        for meter in meters:
            flow = self._flows.by_key.get(meter.key)
            if flow is not None and flow.down is not None:  # pragma: no branch - a flow that has ended has no meter
                self._apply_pace(now_ns, flow, flow.down)

    def _own_deadline(self) -> tuple[int, str] | None:
        tick_ns = None if self._control is None else self._control.deadline_ns()
        return None if tick_ns is None else (tick_ns, "goodput control")

    def _own_timeout(self, now_ns: int) -> None:
        if self._control is not None:
            self._repace(now_ns, self._control.tick(now_ns))
