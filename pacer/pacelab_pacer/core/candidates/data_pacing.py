"""Pacing of TCP data at a chosen rate: the control experiments for every adaptive pace.

FixedRatePacer    a rate for each flow, at a wireless source or at the gateway
DataPacing        one rate for all TCP data that enters the air at a gateway
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from pacelab.units import transmission_ns
from pacelab_pacer.core.checks import ABOVE_0, AT_LEAST_1, check_fields
from pacelab_pacer.core.contract import Event, Point, SegmentSeen
from pacelab_pacer.core.pacing.paced_flow import FlowTableConfig, PacedFlow
from pacelab_pacer.core.pacing.pacing_hook import F, PacingHook
from pacelab_pacer.core.pacing.rate_shaper import RateShaper
from pacelab_pacer.core.segment import FIN, RST, SYN, TCP, FlowKey, Segment


class OutwardPacing(PacingHook[F]):
    """Paces TCP data at some points; everything else passes. Subclasses define the points and the flow."""

    _OUTWARD: ClassVar[tuple[Point, ...]] = ()

    @abstractmethod
    def _new_flow(self, now_ns: int, key: FlowKey) -> F:
        """The flow with this first data segment."""

    def handle(self, now_ns: int, event: Event) -> None:
        """Process a segment; what is not TCP leaving at these points passes unchanged."""
        if not isinstance(event, SegmentSeen):
            return
        segment = event.segment
        if segment.protocol != TCP or event.point not in self._OUTWARD:
            self._forward(segment)
            return
        flow, begins_or_ends = self._flows.by_key.get(segment.flow), segment.flags & (SYN | RST)
        if segment.payload_bytes:
            if flow is not None and begins_or_ends:
                self._end(now_ns, flow, "connection over")
                flow = None
            self._data(now_ns, flow, segment)
        elif flow is not None and segment.flags & FIN:
            self._follow(flow, segment)
        else:
            self._forward(segment)
            if flow is not None and begins_or_ends:
                self._end(now_ns, flow, "connection over")

    def _data(self, now_ns: int, flow: F | None, segment: Segment) -> None:
        """Pace a segment with payload. A SYN or RST may have one as well: it takes as much of the air."""
        if flow is None:
            if not self._has_place(now_ns):
                self._refuse(segment)
                return
            flow = self._new_flow(now_ns, segment.flow)
            self._flows.add(flow)
        self._flows.touch(flow, now_ns)
        self._offer(now_ns, flow, segment)


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedRateConfig:
    """Settings of the fixed-rate pacer. Raises ValueError on a value out of range."""

    rate_bps: float
    """Rate of each flow, counted over whole IP packets."""
    table: FlowTableConfig = field(default_factory=FlowTableConfig)
    queue_limit_bytes: int = 1 << 20
    """Payload queued per flow."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            rate_bps=ABOVE_0,
            queue_limit_bytes=AT_LEAST_1,
        )


class FixedRatePacer(OutwardPacing[PacedFlow]):
    """Paces TCP data of each flow at a fixed rate, at a wireless source or at the gateway.

    Source: [lee] Sec. 3.3: a token bucket of one packet.
    """

    _OUTWARD: ClassVar[tuple[Point, ...]] = (Point.LOCAL_OUT, Point.WIRED_TO_AIR)

    def __init__(self, config: FixedRateConfig) -> None:
        self._config = config
        super().__init__(config.table)

    def _new_flow(self, now_ns: int, key: FlowKey) -> PacedFlow:
        return PacedFlow(key, now_ns, self._config.queue_limit_bytes)

    def _send(self, now_ns: int, flow: PacedFlow, segment: Segment) -> None:
        self._forward(segment)
        # The packet just sent determines the distance to the next, as its bits leave the bucket.
        flow.pacer.schedule.set_interval(now_ns, transmission_ns(segment.packet_bytes, self._config.rate_bps))


RATE_BPS = 300_000.0
"""What four hops at 12 Mbit/s carry beside seven calls, 70 % of the calls that fit without data (docs/vagp.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPacingConfig:
    """Settings of the data pacer. Raises ValueError on a value out of range."""

    rate_bps: float = RATE_BPS
    """R: rate of all flows together, counted over whole IP packets."""
    table: FlowTableConfig = field(default_factory=FlowTableConfig)
    queue_limit_bytes: int = 1 << 20
    """Payload queued per flow."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            rate_bps=ABOVE_0,
            queue_limit_bytes=AT_LEAST_1,
        )


class DataPacing(OutwardPacing[PacedFlow]):
    """The `gateway` hook of data pacing: wired-to-wireless TCP data leaves at R, flows in fair turns.

    Source: [vagp] Sec. IV-B.3.
    Deviates: the paper's gateway "chooses a rate R based on the network status"; here R is given, as in its Fig. 6,
    where R is what keeps the MOS at 3.6.
    """

    _OUTWARD: ClassVar[tuple[Point, ...]] = (Point.WIRED_TO_AIR,)

    def __init__(self, config: DataPacingConfig) -> None:
        self._config = config
        self._shaper: RateShaper[PacedFlow] = RateShaper(config.rate_bps)
        super().__init__(config.table, self._shaper)

    def _new_flow(self, now_ns: int, key: FlowKey) -> PacedFlow:
        return PacedFlow(key, now_ns, self._config.queue_limit_bytes, self._shaper.schedule)

    def _admits(self, now_ns: int, flow: PacedFlow) -> bool:
        """A packet never overtakes those that wait."""
        return not len(self._shaper) and super()._admits(now_ns, flow)

    def _send(self, now_ns: int, flow: PacedFlow, segment: Segment) -> None:
        self._forward(segment)
        self._shaper.charge(now_ns, flow, segment.packet_bytes)
