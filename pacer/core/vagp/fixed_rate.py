"""A rate that somebody knows, in the Bandwidth Controller's place: what the air allows, were the controller perfect.

Ours, to hold controllers against: all other parts of VAGP are at work around it.
"""

from __future__ import annotations

from dataclasses import dataclass

from pacelab.pacer.core.checks import require
from pacelab.pacer.core.vagp.quality_evaluator import VoiceState
from pacelab.units import NS_PER_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedConfig:
    """The rate. Raises ValueError on a value out of range."""

    rate_bps: float
    """R, counted over whole IP packets."""
    period_ns: int = 100 * NS_PER_MS
    """Rounds are counted this often; they change nothing."""

    def __post_init__(self) -> None:
        require(self.rate_bps > 0, "rate_bps", self.rate_bps, "a positive number of bit/s")
        require(self.period_ns > 0, "period_ns", self.period_ns, "a positive number of ns")

    def controller(self) -> FixedRate:
        """Of this rate."""
        return FixedRate(self)


class FixedRate:
    """R, for ever."""

    __slots__ = ("period_ns", "rate_bps")

    is_frozen = False
    is_alert = False

    def __init__(self, config: FixedConfig) -> None:
        self.rate_bps = config.rate_bps
        self.period_ns = config.period_ns

    def start(self, rate_bps: float) -> None:
        """Eq. (1) has no say."""

    def adjust(self, voice: VoiceState | None, *, used: bool, sent_bps: float) -> None:
        """Nor have the calls."""
