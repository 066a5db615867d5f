"""A pacing hook whose flows share one rate."""

from __future__ import annotations

from pacelab.pacer.core.pacing.flow_table import FlowTableConfig
from pacelab.pacer.core.pacing.pacing_hook import F, PacingHook
from pacelab.pacer.core.pacing.rate_shaper import RateShaper
from pacelab.pacer.core.segment import Segment


class ShapingHook(PacingHook[F]):
    """Base of the hooks that pace all TCP data through a gateway together."""

    def __init__(self, table: FlowTableConfig, rate_bps: float) -> None:
        self._shaper: RateShaper[F] = RateShaper(rate_bps)
        super().__init__(table, self._shaper)

    def _admits(self, now_ns: int, flow: F) -> bool:
        """Nobody overtakes those who wait."""
        return not len(self._shaper) and super()._admits(now_ns, flow)

    def _send(self, now_ns: int, flow: F, segment: Segment) -> None:
        self._forward(segment)
        self._shaper.charge(now_ns, flow, segment.packet_bytes)
