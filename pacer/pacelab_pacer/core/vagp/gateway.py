"""VAGP, the Voice Adaptive Gateway Pacer: TCP gets the capacity that the calls leave.

    RTP and voice reports   QE, the Quality Evaluator, reads them as they pass
    clock                   BC, the Bandwidth Controller, sets the rate R of all TCP data by the calls' MOS; a known
                            rate (`FixedRate`) or our own controller (`ExpectController`) can replace it
    WIRED_TO_AIR, TCP data  RE, the Redundant Eliminator, drops what is acknowledged already and answers it; other data
                            waits in its flow's queue for its turn at RS, the Rate Shaper, which releases packets at R
    AIR_TO_WIRED, ACKs      LR, Local Recovery, fills the hole of a duplicate ACK; QM, the Queue Manager, writes into
                            other ACKs how much more data may come

Invariants, beside those of `gateway_hook`
1. Packets that RS releases, local retransmissions among them, are spaced by R over all flows.
2. A duplicate ACK for a segment that the gateway does not hold is always forwarded: only the source can send it again.
3. The right edge of a window never moves back, and no window exceeds the receiver's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from pacelab.units import BITS_PER_BYTE, NS_PER_MS, NS_PER_S
from pacelab_pacer.core.contract import Drop, Event, Inject, Release, Resend, Rewrite, SegmentSeen
from pacelab_pacer.core.pacing.gateway_hook import GatewayConfig, GatewayHook
from pacelab_pacer.core.pacing.rate_shaper import RateShaper
from pacelab_pacer.core.segment import ACK, FIN, RST, SYN, TCP, FlowKey, Segment
from pacelab_pacer.core.vagp.bandwidth_controller import BandwidthConfig, BandwidthController
from pacelab_pacer.core.vagp.equations import start_rate_bps, window_pkts
from pacelab_pacer.core.vagp.expect_controller import ExpectConfig, ExpectController
from pacelab_pacer.core.vagp.fixed_rate import FixedConfig, FixedRate
from pacelab_pacer.core.vagp.flow import QueueConfig, VagpFlow
from pacelab_pacer.core.vagp.quality_evaluator import QualityConfig, QualityEvaluator

Controller = BandwidthController | FixedRate | ExpectController


@dataclass(frozen=True, slots=True, kw_only=True)
class VagpConfig(GatewayConfig):
    """Settings of the gateway. Raises ValueError on a value out of range."""

    quality: QualityConfig = field(default_factory=QualityConfig)
    bandwidth: BandwidthConfig | FixedConfig | ExpectConfig = field(default_factory=BandwidthConfig)
    """Which controller, and its settings."""
    queue: QueueConfig | None = field(default_factory=QueueConfig)
    """None turns the Queue Manager off."""
    initial_rtt_ns: int = 100 * NS_PER_MS
    """SRTT before the first sample: by eq. (1) 0.12 Mbit/s of full packets, which harms no call of the paper."""


class Vagp(GatewayHook[VagpFlow]):
    """The `gateway` hook of VAGP.

    Source: [vagp] Sec. V, Fig. 7, Algorithms 1-3.
    Deviates: see the parts. A duplicate ACK whose hole is filled here is not forwarded, since in the paper the sender
    learns nothing of the loss. Eq. (1) is applied once, at the first round trip that is measured.
    """

    _COUNTERS: ClassVar[tuple[str, ...]] = (
        "local_retransmissions",
        "duplicates_absorbed",
        "duplicates_forwarded",
        "copies_evicted",
        "redundant_dropped",
        "windows_narrowed",
        "rate_raised",
        "rate_cut",
        "rounds",
        "rounds_on_alert",
        "rounds_without_voice",
    )

    def __init__(self, config: VagpConfig | None = None) -> None:
        self._limits = self._config = config or VagpConfig()
        self._quality = QualityEvaluator(self._config.quality)
        self._bandwidth: Controller = self._config.bandwidth.controller()
        self._shaper: RateShaper[VagpFlow] = RateShaper(self._bandwidth.rate_bps)
        super().__init__(self._config.table, self._shaper)
        self._round_ns: int | None = None
        self._has_started = self._has_sample = False
        self._delayed_before = self._sent_bytes = self._judged_ns = 0

    def counters(self) -> dict[str, int]:
        """How often the hook acted; `calls_unmeasured` is there only if there were more calls than it measures."""
        count, unmeasured = super().counters(), self._quality.unmeasured
        return count if not unmeasured else {**count, "calls_unmeasured": unmeasured}

    def handle(self, now_ns: int, event: Event) -> None:
        """Process a segment; voice is measured, and passes unchanged like everything that is not TCP."""
        if isinstance(event, SegmentSeen) and event.segment.protocol != TCP:
            self._quality.observe(now_ns, event)
        super().handle(now_ns, event)

    # Towards the air.

    def _from_wired(
        self, now_ns: int, flow: VagpFlow | None, segment: Segment, path_rates_bps: tuple[int, ...]
    ) -> None:
        if flow is None:
            self._forward_unknown(segment)
            return
        flow.wired_clock.observe(now_ns, segment, outward=True)
        if segment.payload_bytes:
            self._data(now_ns, flow, segment)
        elif segment.flags & FIN:
            self._follow(flow, segment)
        else:
            self._forward(segment)

    def _data(self, now_ns: int, flow: VagpFlow, segment: Segment) -> None:
        flow.data(segment)
        if flow.eliminator.is_redundant(segment):
            self._count["redundant_dropped"] += 1
            self._actions.append(Drop(segment.handle, "already acknowledged"))
            answer = flow.eliminator.answer()
            self._actions.append(Inject(answer._replace(window_bytes=self._window_bytes(flow, answer))))
        elif flow.is_paced or self._paces_flow(flow):
            self._start(now_ns, segment)
            flow.recovery.withdraw(segment.seq)
            self._offer(now_ns, flow, segment)
            self._schedule(flow)
        else:
            flow.sent.released(now_ns, segment)
            self._pass_unpaced(segment)

    def _admits(self, now_ns: int, flow: VagpFlow) -> bool:
        """A packet never overtakes those that wait."""
        return not len(self._shaper) and super()._admits(now_ns, flow)

    def _send(self, now_ns: int, flow: VagpFlow, segment: Segment) -> None:
        super()._send(now_ns, flow, segment)
        self._shaper.charge(now_ns, flow, segment.packet_bytes)
        self._sent_bytes += segment.packet_bytes

    def _release_head(self, now_ns: int, flow: VagpFlow) -> None:
        missing = flow.recovery.take(now_ns)
        if missing is None:
            super()._release_head(now_ns, flow)
            return
        self._count["local_retransmissions"] += 1
        flow.sent.retransmitted(missing.end_seq)
        self._shaper.schedule.released(now_ns)
        self._actions.append(Resend(missing.handle))
        self._shaper.charge(now_ns, flow, missing.packet_bytes)
        self._sent_bytes += missing.packet_bytes
        self._flows.touch(flow, now_ns)
        self._schedule(flow)

    def _schedule(self, flow: VagpFlow) -> None:
        if flow.recovery.pending is not None:
            self._shaper.set(flow, 0)
        else:
            super()._schedule(flow)

    # From the air.

    def _from_air(self, now_ns: int, flow: VagpFlow | None, segment: Segment, path_rates_bps: tuple[int, ...]) -> None:
        if flow is None:
            self._forward(segment)
            return
        flow.wired_clock.observe(now_ns, segment, outward=False)
        if segment.window_bytes > flow.window_bytes:
            self._widen(flow, segment.window_bytes)
        if segment.flags & ACK and self._ack(now_ns, flow, segment):
            self._actions.append(Drop(segment.handle, "duplicate ACK absorbed"))
        else:
            self._narrow(now_ns, flow, segment)
            self._forward(segment)

    def _ack(self, now_ns: int, flow: VagpFlow, segment: Segment) -> bool:
        """Process an ACK of shaped data; True if it shall not be forwarded."""
        advance = flow.sent.advance(segment)
        if advance < 0:  # it says nothing new, or acknowledges data that was never sent
            return False
        flow.eliminator.acknowledged(segment)
        if advance == 0:
            return self._duplicate(now_ns, flow, segment)
        flow.recovery.acknowledged(segment.ack)
        rtt_ns, data_bytes, handles = flow.sent.acknowledged(now_ns, segment.ack)
        for handle in handles:
            self._actions.append(Release(handle))
        self._discard_acknowledged(flow, segment.ack)
        self._schedule(flow)
        if rtt_ns is not None and rtt_ns > 0:
            flow.sample(rtt_ns)
            self._first_sample(now_ns, start_rate_bps(data_bytes, rtt_ns))
        return False

    def _duplicate(self, now_ns: int, flow: VagpFlow, segment: Segment) -> bool:
        """Fill the hole that a duplicate ACK reports, if its segment is here; True if the ACK ends here."""
        rtt_ns = flow.srtt_ns or self._config.initial_rtt_ns
        absorb = flow.recovery.duplicate(now_ns, segment.ack, rtt_ns, flow.pacer)
        self._schedule(flow)
        self._count["duplicates_absorbed" if absorb else "duplicates_forwarded"] += 1
        return absorb

    def _narrow(self, now_ns: int, flow: VagpFlow, segment: Segment) -> None:
        """Write the Queue Manager's window into a segment of the receiver."""
        if self._config.queue is None or segment.flags & RST or not segment.flags & (SYN | ACK):
            return
        if flow.is_beyond(segment):
            return
        edge = flow.edge.edge
        window_bytes = self._window_bytes(flow, segment)
        if flow.edge.edge != edge:
            flow.wired_clock.opened(now_ns, edge)
        if window_bytes < segment.window_bytes:
            self._count["windows_narrowed"] += flow.is_paced
            self._actions.append(Rewrite(segment.handle, window_bytes=window_bytes))

    def _window_bytes(self, flow: VagpFlow, segment: Segment) -> int:
        """The window to advertise with this ACK; for a flow that is not shaped, the receiver's own."""
        queue = self._config.queue
        if queue is None or flow.is_refused:
            return flow.edge.grant(segment, segment.window_bytes)
        wanted_pkts = window_pkts(
            (queue.min_pkts, queue.max_pkts),
            queued_pkts=len(flow.pacer.waiting),
            in_air_pkts=flow.in_air_pkts,
            in_wire_pkts=self._in_wire_pkts(flow),
            is_frozen=self._bandwidth.is_frozen,
        )
        return flow.edge.grant(segment, wanted_pkts * flow.segment_bytes)

    def _in_wire_pkts(self, flow: VagpFlow) -> int:
        """Packets that the flow's share of R carries in a wired round trip, rounded up."""
        wired_ns = flow.wired_clock.wired_ns or 0
        share_bps = self._bandwidth.rate_bps / len(self._flows.by_key)
        return -int(-share_bps * wired_ns // (flow.segment_bytes * BITS_PER_BYTE * NS_PER_S))

    # The life of a flow.

    def _may_open(self, segment: Segment, *, outward: bool) -> bool:
        if outward and segment.payload_bytes:
            return True
        return bool(segment.flags & SYN) and not (outward and segment.flags & ACK)

    def _new_flow(self, now_ns: int, key: FlowKey, segment: Segment) -> VagpFlow:
        return VagpFlow(key, now_ns, self._store, self._shaper.schedule, fresh=bool(segment.flags & SYN))

    # The rate.

    def _start(self, now_ns: int, segment: Segment) -> None:
        """Set the rate for the first data ever, and start the rounds if they have ended."""
        if not self._has_started:
            self._has_started = True
            self._bandwidth.start(start_rate_bps(segment.packet_bytes, self._config.initial_rtt_ns))
            self._shaper.set_rate(now_ns, self._bandwidth.rate_bps)
        if self._round_ns is None:
            self._round_ns = now_ns + self._bandwidth.period_ns
            self._judged_ns, self._sent_bytes = now_ns, 0

    def _first_sample(self, now_ns: int, rate_bps: float) -> None:
        if not self._has_sample:
            self._has_sample = True
            self._bandwidth.first_round_trip(rate_bps)
            self._shaper.set_rate(now_ns, self._bandwidth.rate_bps)

    def _own_deadline(self) -> tuple[int, str] | None:
        return None if self._round_ns is None else (self._round_ns, "bandwidth control")

    def _own_timeout(self, now_ns: int) -> None:
        """Run a round of the Bandwidth Controller if one is due. The rounds end with the flows."""
        if self._round_ns is None or now_ns < self._round_ns:
            return
        if not len(self._flows.by_key):
            self._round_ns = None
            return
        voice = self._quality.evaluate(now_ns)
        before_bps, delayed = self._bandwidth.rate_bps, self._count["delayed"]
        sent_bps = self._sent_bytes * BITS_PER_BYTE * NS_PER_S / (now_ns - self._judged_ns)
        used = bool(len(self._shaper)) or delayed > self._delayed_before
        self._bandwidth.adjust(voice, used=used, sent_bps=sent_bps)
        self._delayed_before, self._judged_ns, self._sent_bytes = delayed, now_ns, 0
        self._shaper.set_rate(now_ns, self._bandwidth.rate_bps)
        self._round_ns = now_ns + self._bandwidth.period_ns
        self._count["rounds"] += 1
        self._count["rounds_on_alert"] += self._bandwidth.is_alert
        self._count["rounds_without_voice"] += voice is None
        self._count["rate_raised"] += self._bandwidth.rate_bps > before_bps
        self._count["rate_cut"] += self._bandwidth.rate_bps < before_bps
