"""A known rate in the place of the Bandwidth Controller: scheme `vagp-fixed`."""

from __future__ import annotations

from dataclasses import dataclass

from pacelab.units import NS_PER_MS
from pacelab_pacer.core.checks import ABOVE_0, AT_LEAST_1, check_fields
from pacelab_pacer.core.vagp.quality_evaluator import VoiceState


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedConfig:
    """The rate. Raises ValueError on a value out of range."""

    rate_bps: float
    """R, counted over whole IP packets."""
    period_ns: int = 100 * NS_PER_MS
    """Length of a round. Rounds are counted and change nothing."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            rate_bps=ABOVE_0,
            period_ns=AT_LEAST_1,
        )

    def controller(self) -> FixedRate:
        """The controller with this rate."""
        return FixedRate(self)


class FixedRate:
    """R never changes, while all other parts of VAGP work around it.

    Ours, to measure what the air allows: the best known rate is what a perfect controller would find.
    """

    __slots__ = ("period_ns", "rate_bps")

    is_frozen = False
    is_alert = False

    def __init__(self, config: FixedConfig) -> None:
        self.rate_bps = config.rate_bps
        self.period_ns = config.period_ns

    def start(self, rate_bps: float) -> None:
        """Eq. (1) does not apply."""

    def first_round_trip(self, rate_bps: float) -> None:
        """Nor does a measured round trip."""

    def adjust(self, voice: VoiceState | None, *, used: bool, sent_bps: float) -> None:
        """Nor do the calls."""
