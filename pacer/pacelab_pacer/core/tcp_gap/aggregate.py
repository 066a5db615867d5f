"""TCP-GAP whose unit is an aggregate of 802.11n instead of a packet: `tcp-gap+aggregate`.

A radio with A-MPDU sends all packets that wait for one receiver at once. A pacer that releases single packets leaves
nothing to aggregate. Here each release is as many packets as an aggregate holds, and the pace follows from eq. (1)-(5)
with the size of an aggregate for s_data and that of its ACKs for s_ACK: an aggregate may start when the aggregate
before it is four hops away.

Invariants, beside those of `gateway` and `sender`
1. The packets of one release leave at the same time. Between the first packets of two releases is the pace, as between
   two packets of TCP-GAP.
2. A packet that arrives between two releases waits for the next one, so that aggregates fill.
3. If only one packet fits into an aggregate, the schemes are TCP-GAP.

Source: own, after [tcp-gap] Sec. 4; the bounds of an aggregate are those of IEEE 802.11-2016 (9.7, 10.13).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from pacelab.units import BITS_PER_BYTE, NS_PER_S, NS_PER_US
from pacelab_pacer.core.checks import require
from pacelab_pacer.core.pacing.paced_flow import ReleaseSchedule
from pacelab_pacer.core.segment import FlowKey, Segment
from pacelab_pacer.core.tcp_gap.gateway import DownHalf, TcpGapFlow, TcpGapGateway
from pacelab_pacer.core.tcp_gap.pace_estimator import PaceConfig, PaceEstimator
from pacelab_pacer.core.tcp_gap.sender import SenderFlow, TcpGapSender, TcpGapSenderConfig

MPDU_BYTES: Final = 26 + 8 + 4 + 4
"""What an aggregate adds to an IP packet: MAC header with QoS, LLC, FCS and delimiter; padding comes on top."""
LONGEST_PPDU_NS: Final = 5_484 * NS_PER_US
"""aPPDUMaxTime of the mixed format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """How much one aggregate holds. Raises ValueError on a value out of range."""

    frames: int = 64
    """Most MPDUs: the window of a Block Ack."""
    octets: int = 65_535
    """Longest A-MPDU."""

    def __post_init__(self) -> None:
        require(self.frames >= 1, "frames", self.frames, "an integer of at least 1")
        require(self.octets >= 1, "octets", self.octets, "an integer of at least 1")

    def packets(self, packet_bytes: int, rate_bps: int) -> int:
        """How many IP packets of this size fit at this rate; at least 1."""
        mpdu_bytes = packet_bytes + MPDU_BYTES
        in_time = LONGEST_PPDU_NS * rate_bps // (mpdu_bytes * BITS_PER_BYTE * NS_PER_S)
        return max(1, min(self.frames, self.octets // mpdu_bytes, in_time))


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregatePace:
    """How the pace of aggregates follows from round trips."""

    pace: PaceConfig = field(default_factory=PaceConfig)
    aggregate: Aggregate = field(default_factory=Aggregate)

    def estimator(self) -> PaceEstimator:
        """The estimator of a new flow."""
        return AggregateEstimator(self.pace, self.aggregate)


class AggregateEstimator(PaceEstimator):
    """The pace of one flow. `interval_ns` stays the time per packet: that of an aggregate over its packets."""

    __slots__ = ("_aggregate", "batch_pkts")

    def __init__(self, config: PaceConfig, aggregate: Aggregate) -> None:
        super().__init__(config)
        self._aggregate = aggregate
        self.batch_pkts = 1
        """Packets of one aggregate on the path seen last."""

    def expect(self, *, data_bytes: int, path_rates_bps: tuple[int, ...]) -> None:
        """As `PaceEstimator.expect`, for an aggregate of such packets."""
        if self.n_hop_delay_ns is None:
            self._fit(data_bytes, path_rates_bps)
            super().expect(data_bytes=self.batch_pkts * data_bytes, path_rates_bps=path_rates_bps)
            self.interval_ns //= self.batch_pkts

    def sample(
        self, now_ns: int, rtt_wireless_ns: int, *, data_bytes: int, ack_bytes: int, path_rates_bps: tuple[int, ...]
    ) -> bool:
        """As `PaceEstimator.sample`, of an aggregate of such packets."""
        self._fit(data_bytes, path_rates_bps)
        usable = super().sample(
            now_ns,
            rtt_wireless_ns,
            data_bytes=self.batch_pkts * data_bytes,
            ack_bytes=self.batch_pkts * ack_bytes,
            path_rates_bps=path_rates_bps,
        )
        if usable:
            self.interval_ns //= self.batch_pkts
        return usable

    def _fit(self, packet_bytes: int, path_rates_bps: tuple[int, ...]) -> None:
        if path_rates_bps and min(path_rates_bps) > 0:
            self.batch_pkts = self._aggregate.packets(packet_bytes, min(path_rates_bps))


class BatchSchedule(ReleaseSchedule):
    """A schedule whose every release is up to `batch_pkts` packets at the same time."""

    __slots__ = ("_left", "batch_pkts")

    def __init__(self) -> None:
        super().__init__()
        self.batch_pkts = 1
        self._left = 0
        """Packets that may still leave with the current release."""

    def set_interval(self, now_ns: int, interval_ns: int) -> None:
        """Change the pace, given per packet; releases are `batch_pkts` times as far apart."""
        super().set_interval(now_ns, interval_ns * self.batch_pkts)

    def due_ns(self) -> int:
        """When the next packet may leave: with the current release, or with the next one."""
        return self._release_ns if self._left else super().due_ns()

    def admits(self, now_ns: int) -> bool:
        """Whether a packet that arrives now at an empty queue may leave at once. The last release has ended."""
        self._left = 0
        return super().admits(now_ns)

    def released(self, now_ns: int) -> None:
        """Note a packet of the current release, or the first of a new one."""
        if self._left:
            self._left -= 1
            return
        super().released(now_ns)
        self._left = self.batch_pkts - 1


def _set_batch(schedule: ReleaseSchedule, estimator: object) -> None:
    assert isinstance(schedule, BatchSchedule)
    assert isinstance(estimator, AggregateEstimator)
    schedule.batch_pkts = estimator.batch_pkts


class AggregateGateway(TcpGapGateway):
    """The `gateway` hook of `tcp-gap+aggregate`; its configuration has an `AggregatePace`."""

    def pace_ns(self, key: FlowKey) -> int | None:
        """T of a flow per packet; None: unknown or not paced."""
        flow = self._flows.by_key.get(key)
        if flow is None:
            return None
        schedule = flow.pacer.schedule
        assert isinstance(schedule, BatchSchedule)
        return schedule.interval_ns // schedule.batch_pkts or None

    def _new_flow(self, now_ns: int, key: FlowKey, segment: Segment) -> TcpGapFlow:
        return TcpGapFlow(key, now_ns, self._store, BatchSchedule())

    def _apply_pace(self, now_ns: int, flow: TcpGapFlow, down: DownHalf) -> None:
        _set_batch(flow.pacer.schedule, down.estimator)
        super()._apply_pace(now_ns, flow, down)


class AggregateSender(TcpGapSender):
    """The `sender` hook of `tcp-gap+aggregate`; its configuration has an `AggregatePace`."""

    def __init__(self, config: TcpGapSenderConfig) -> None:
        super().__init__(config)
        assert isinstance(config.pace, AggregatePace)
        self.source_limit_pkts = max(2, config.pace.aggregate.frames)
        """The source may fill an aggregate before it pauses."""

    def _new_flow(self, now_ns: int, key: FlowKey) -> SenderFlow:
        return SenderFlow(key, now_ns, self._config, BatchSchedule())

    def _apply_pace(self, now_ns: int, flow: SenderFlow) -> None:
        _set_batch(flow.pacer.schedule, flow.estimator)
        super()._apply_pace(now_ns, flow)
