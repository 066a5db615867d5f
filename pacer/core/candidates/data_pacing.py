"""Data pacing: one fixed rate for all TCP data that enters the air at a gateway."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from pacelab.pacer.core.candidates.outward_pacing import OutwardPacing
from pacelab.pacer.core.checks import require
from pacelab.pacer.core.contract import Point
from pacelab.pacer.core.pacing.flow_table import FlowTableConfig
from pacelab.pacer.core.pacing.paced_flow import PacedFlow
from pacelab.pacer.core.pacing.rate_shaper import RateShaper
from pacelab.pacer.core.segment import FlowKey, Segment

RATE_BPS = 300_000.0
"""What four hops at 12 Mbit/s carry beside seven calls, 70 % of what they carry of calls alone (docs/vagp.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPacingConfig:
    """Settings of the data pacer. Raises ValueError on a value out of range."""

    rate_bps: float = RATE_BPS
    """R: of all flows together, counted over whole IP packets."""
    table: FlowTableConfig = field(default_factory=FlowTableConfig)
    queue_limit_bytes: int = 1 << 20
    """Payload queued per flow."""

    def __post_init__(self) -> None:
        require(self.rate_bps > 0, "rate_bps", self.rate_bps, "a positive number of bit/s")
        require(self.queue_limit_bytes > 0, "queue_limit_bytes", self.queue_limit_bytes, "a positive number of bytes")


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
        """Nobody overtakes those who wait."""
        return not len(self._shaper) and super()._admits(now_ns, flow)

    def _send(self, now_ns: int, flow: PacedFlow, segment: Segment) -> None:
        self._forward(segment)
        self._shaper.charge(now_ns, flow, segment.packet_bytes)
