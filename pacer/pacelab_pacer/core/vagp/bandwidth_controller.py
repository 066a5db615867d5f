"""VAGP's Bandwidth Controller: the rate R of all TCP data, from the quality of the calls, by Algorithm 1.

In its place the gateway may have a known rate (`fixed_rate`) or our own controller (`expect_controller`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pacelab.units import NS_PER_MS
from pacelab_pacer.core.checks import AT_LEAST_1, NOT_NEGATIVE, SHARE_BELOW_1, check_fields, require
from pacelab_pacer.core.vagp.equations import Marks, Reading, Steps, rate_factor
from pacelab_pacer.core.vagp.quality_evaluator import VoiceState


class AlertBy(Enum):
    """Whose delay is compared with D_alert."""

    MEAN = "mean"
    LONGEST = "longest"


@dataclass(frozen=True, slots=True, kw_only=True)
class BandwidthConfig:
    """Settings of the controller. Raises ValueError on a value out of range."""

    reading: Reading = Reading.PRINTED
    good_mos: float = 3.9
    fair_mos: float = 3.7
    poor_mos: float = 3.6
    choke_mos: float = 3.3
    good_gain: float = 0.05
    fair_gain: float = 0.03
    poor_cut: float = 0.10
    choke_cut: float = 0.50
    normal_period_ns: int = 100 * NS_PER_MS
    alert_period_ns: int = 20 * NS_PER_MS
    alert_delay_ns: int = 104 * NS_PER_MS
    """D_alert."""
    alert_by: AlertBy = AlertBy.MEAN
    hold_periods: int = 5
    """Good periods before R_max / 2 is claimed back."""
    min_rate_bps: float = 12_000
    """One full packet a second."""
    max_rate_bps: float = 1e9

    def controller(self) -> BandwidthController:
        """The controller with these settings."""
        return BandwidthController(self)

    def __post_init__(self) -> None:
        mos = (self.choke_mos, self.poor_mos, self.fair_mos, self.good_mos)
        require(list(mos) == sorted(mos), "choke_mos, poor_mos, fair_mos, good_mos", mos, "in ascending order")
        check_fields(
            self,
            poor_cut=SHARE_BELOW_1,
            choke_cut=SHARE_BELOW_1,
            good_gain=NOT_NEGATIVE,
            fair_gain=NOT_NEGATIVE,
            normal_period_ns=AT_LEAST_1,
            alert_period_ns=AT_LEAST_1,
            alert_delay_ns=AT_LEAST_1,
            hold_periods=AT_LEAST_1,
        )
        rates = (self.min_rate_bps, self.max_rate_bps)
        require(0 < rates[0] <= rates[1], "min_rate_bps, max_rate_bps", rates, "positive and in ascending order")


class BandwidthController:
    """R and the time to the next round, by Algorithm 1.

    Each round changes R by the MOS of the calls (`equations.rate_factor`), in one of two readings. As printed Q_choke
    (3.3) is a parameter that nothing uses, and R is halved at a MOS that the paper calls acceptable; in the other
    reading each threshold has its rate. The default is what protects the calls better (docs/vagp.md).

        period    100 ms; 20 ms while the calls' delay is D_alert or more
        R_max     the highest R while MOS > good, but no more than R was when the MOS last fell below poor. When the MOS
                  has been good for five periods after that, R is at least R_max / 2
        D_voip    the calls' mean delay, or (`alert_by` LONGEST) that of the direction with the longest: TCP goes one
                  way, so that the other way's delay halves the mean
        start     eq. (1): each flow one packet per SRTT

    Invariants
    1. min_rate_bps <= R <= max_rate_bps. R never reaches 0, from which no factor leads back. At `min_rate_bps` it
       counts as frozen, which is Algorithm 3's R = 0.
    2. R grows only while TCP uses it: a rate that nothing tests would grow without end and then protect nobody.

    Source: [vagp] Sec. V-A Algorithm 1, V-B, V-E (the values).
    Deviates: R is the sum over the flows; the paper applies the same factors to each R_i, and shares R fairly. Eq.
    (1)'s R_adjustment is what Algorithm 1 does. D_alert is not given: 104 ms is the network delay at which a MOS of 3.6
    leaves room for 2 % loss (the paper's 170 ms is a slip). Without any call nothing needs protection, and R grows as
    if the MOS were above good. As printed R_max only grows: R would for ever return to a rate that was good for a
    moment when the air was free, and where the MAC repeats long enough the calls never recover (docs/vagp.md).
    """

    __slots__ = ("_config", "_good_periods", "_marks", "_steps", "_was_poor", "best_rate_bps", "period_ns", "rate_bps")

    def __init__(self, config: BandwidthConfig) -> None:
        self._config = config
        self._marks = Marks(config.good_mos, config.fair_mos, config.poor_mos, config.choke_mos)
        self._steps = Steps(config.good_gain, config.fair_gain, config.poor_cut, config.choke_cut)
        self._good_periods = 0
        self._was_poor = False
        self.rate_bps = config.min_rate_bps
        """R."""
        self.best_rate_bps = 0.0
        """R_max."""
        self.period_ns = config.normal_period_ns

    @property
    def is_frozen(self) -> bool:
        """R is as low as it gets: Algorithm 3's R = 0."""
        return self.rate_bps <= self._config.min_rate_bps

    @property
    def is_alert(self) -> bool:
        """The period is the short one."""
        return self.period_ns < self._config.normal_period_ns

    def start(self, rate_bps: float) -> None:
        """Set R, within its bounds."""
        self.rate_bps = min(max(rate_bps, self._config.min_rate_bps), self._config.max_rate_bps)

    def first_round_trip(self, rate_bps: float) -> None:
        """Eq. (1) with the first wireless round trip that was measured."""
        self.start(max(rate_bps, self.rate_bps))

    def adjust(self, voice: VoiceState | None, *, used: bool, sent_bps: float = 0.0) -> None:
        """One round of Algorithm 1; `used`: TCP had more to send than R allowed since the last one."""
        config = self._config
        if voice is not None and voice.mos < config.poor_mos and not self._was_poor:
            self._was_poor = True
            self.best_rate_bps = min(self.best_rate_bps, self.rate_bps)
        factor = (
            1 + config.good_gain if voice is None else rate_factor(voice.mos, self._marks, self._steps, config.reading)
        )
        if factor < 1 or used:
            self.start(self.rate_bps * factor)
        self._remember(good=voice is None or voice.mos > config.good_mos, used=used)
        self.period_ns = config.alert_period_ns if self._is_alert(voice) else config.normal_period_ns

    def _is_alert(self, voice: VoiceState | None) -> bool:
        if voice is None:
            return False
        delay_ns = voice.delay_ns if self._config.alert_by is AlertBy.MEAN else voice.longest_delay_ns
        return delay_ns is None or delay_ns >= self._config.alert_delay_ns

    def _remember(self, *, good: bool, used: bool) -> None:
        """Sec. V-B: keep R_max, and return to half of it once the quality has been good for some periods."""
        if good and used:
            self.best_rate_bps = max(self.best_rate_bps, self.rate_bps)
        self._good_periods = self._good_periods + 1 if good else 0
        if self._was_poor and self._good_periods >= self._config.hold_periods:
            self._was_poor = False
            self.start(max(self.rate_bps, self.best_rate_bps / 2))
