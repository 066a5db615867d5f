"""Pacing at a rate that somebody chose: the control experiment for every adaptive pace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from pacelab.pacer.core.candidates.outward_pacing import OutwardPacing
from pacelab.pacer.core.checks import require
from pacelab.pacer.core.contract import Point
from pacelab.pacer.core.pacing.flow_table import FlowTableConfig
from pacelab.pacer.core.pacing.paced_flow import PacedFlow
from pacelab.pacer.core.segment import FlowKey, Segment
from pacelab.units import transmission_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedRateConfig:
    """Settings of the fixed-rate pacer. Raises ValueError on a value out of range."""

    rate_bps: float
    """Rate of each flow, counted over whole IP packets."""
    table: FlowTableConfig = field(default_factory=FlowTableConfig)
    queue_limit_bytes: int = 1 << 20
    """Payload queued per flow."""

    def __post_init__(self) -> None:
        require(self.rate_bps > 0, "rate_bps", self.rate_bps, "a positive number of bit/s")
        require(self.queue_limit_bytes > 0, "queue_limit_bytes", self.queue_limit_bytes, "a positive number of bytes")


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
        # The packet just sent sets the distance to the next, as its bits leave the bucket.
        flow.pacer.schedule.set_interval(now_ns, transmission_ns(segment.packet_bytes, self._config.rate_bps))
