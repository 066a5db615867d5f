"""The Bandwidth Controller: the rate R of all TCP data, from the quality of the calls.

BandwidthController    Algorithm 1
FixedRate              in its place: a rate that somebody knows
ExpectController       in its place: our own, scheme `vagp-expect`
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import sqrt

from pacelab.units import NS_PER_MS
from pacelab_pacer.core.checks import require
from pacelab_pacer.core.segment import FlowKey
from pacelab_pacer.core.vagp.e_model import PLAYOUT_NS, loss_for
from pacelab_pacer.core.vagp.equations import Marks, Reading, Steps, rate_factor
from pacelab_pacer.core.vagp.quality_evaluator import VoiceCounts, VoiceState


class AlertBy(Enum):
    """Whose delay is held against D_alert."""

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
        """Of these settings."""
        return BandwidthController(self)

    def __post_init__(self) -> None:
        mos = (self.choke_mos, self.poor_mos, self.fair_mos, self.good_mos)
        require(list(mos) == sorted(mos), "choke_mos, poor_mos, fair_mos, good_mos", mos, "in ascending order")
        for name in ("poor_cut", "choke_cut"):
            require(0 <= getattr(self, name) < 1, name, getattr(self, name), "0 <= cut < 1")
        for name in ("good_gain", "fair_gain"):
            require(getattr(self, name) >= 0, name, getattr(self, name), "at least 0")
        for name in ("normal_period_ns", "alert_period_ns", "alert_delay_ns"):
            require(getattr(self, name) > 0, name, getattr(self, name), "a positive number of ns")
        require(self.hold_periods >= 1, "hold_periods", self.hold_periods, "an integer of at least 1")
        rates = (self.min_rate_bps, self.max_rate_bps)
        require(0 < rates[0] <= rates[1], "min_rate_bps, max_rate_bps", rates, "0 < min_rate_bps <= max_rate_bps")


class BandwidthController:
    """R and the period until it is looked at again, by Algorithm 1.

    Every period R changes by the MOS of the calls (`equations.rate_factor`), in one of two readings.

    As printed Q_choke (3.3) is a parameter that nothing uses, and 50 % is cut of a MOS that the paper calls acceptable:
    in the other reading each threshold has its rate. The default is what protects the calls better (docs/vagp.md).

        period    100 ms; 20 ms while the calls' delay is D_alert or more
        R_max     the highest R while MOS > good, but no more than R was when the MOS last fell below poor. When the MOS
                  has been good for five periods after that, R is at least R_max / 2
        D_voip    the calls' mean delay, or (`alert_by` LONGEST) that of the direction with the longest: TCP goes one
                  way, so that the other way's delay halves the mean
        start     eq. (1): each flow one packet per SRTT

    Invariants
    1. min_rate_bps <= R <= max_rate_bps. R never reaches 0, from where no factor leads back: at `min_rate_bps` it is
       said to be frozen, which is Algorithm 3's R = 0.
    2. R grows only while TCP uses it: a rate that nothing tests would grow without end and then protect nobody.

    Source: [vagp] Sec. V-A Algorithm 1, V-B, V-E (the values).
    Deviates: R is the sum over the flows; the paper applies the same factors to each R_i, and shares R fairly. Eq.
    (1)'s R_adjustment is what Algorithm 1 does. D_alert is not given: 104 ms, the network delay at which a MOS of 3.6
    leaves room for 2 % loss (the paper's 170 ms is a slip). Without any call nothing needs protection: R grows as if
    the MOS were above good. As printed R_max only grows: what was good for a moment when the air was free is claimed
    back for ever, and where the MAC repeats long enough the calls never recover (docs/vagp.md).
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
        """Sec. V-B: keep R_max, and claim half of it back once the quality is good again for good."""
        if good and used:
            self.best_rate_bps = max(self.best_rate_bps, self.rate_bps)
        self._good_periods = self._good_periods + 1 if good else 0
        if self._was_poor and self._good_periods >= self._config.hold_periods:
            self._was_poor = False
            self.start(max(self.rate_bps, self.best_rate_bps / 2))


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
    """R, for ever.

    What the air allows, were the controller perfect. Ours, to hold controllers against: all other parts of VAGP are at
    work around it.
    """

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


_FORGOTTEN_PKTS = 1.0
"""A direction with less than this in its memory is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectConfig:
    """Settings of the controller. Raises ValueError on a value out of range."""

    target_mos: float = 3.7
    """A tenth above what is promised: half of all runs would end below a goal that they are steered to."""
    period_ns: int = 500 * NS_PER_MS
    keep: float = 0.94
    """Of a direction's memory, from round to round: 8 s."""
    keep_of_all: float = 0.6
    """The same of the second memory: 1.25 s."""
    haste: float = 3.0
    trust_pkts: float = 0.5
    """Packets not played at which a direction's own loss weighs as much as that of all."""
    growth: float = 0.05
    min_rate_bps: float = 12_000
    max_rate_bps: float = 1e9
    playout_ns: int = PLAYOUT_NS

    def __post_init__(self) -> None:
        require(1 < self.target_mos < 4.5, "target_mos", self.target_mos, "1 < target_mos < 4.5")
        require(self.period_ns > 0, "period_ns", self.period_ns, "a positive number of ns")
        for name in ("keep", "keep_of_all"):
            require(0 <= getattr(self, name) < 1, name, getattr(self, name), "0 <= share < 1")
        require(self.haste >= 1, "haste", self.haste, "at least 1")
        for name in ("trust_pkts", "growth"):
            require(getattr(self, name) > 0, name, getattr(self, name), "a positive number")
        rates = (self.min_rate_bps, self.max_rate_bps)
        require(0 < rates[0] <= rates[1], "min_rate_bps, max_rate_bps", rates, "0 < min_rate_bps <= max_rate_bps")
        require(self.playout_ns >= 0, "playout_ns", self.playout_ns, "a number of ns of at least 0")

    def controller(self) -> ExpectController:
        """Of these settings."""
        return ExpectController(self)


class _Memory:
    """What became of a direction's packets, the older the less."""

    __slots__ = ("arrived", "delays_ns", "expected", "load", "unplayed")

    def __init__(self) -> None:
        self.expected = self.unplayed = self.arrived = self.delays_ns = self.load = 0.0

    def fade(self, keep: float) -> None:
        self.expected *= keep
        self.unplayed *= keep
        self.arrived *= keep
        self.delays_ns *= keep
        self.load *= keep

    def add(self, counts: VoiceCounts, sent_bps: float) -> None:
        self.expected += counts.expected
        self.unplayed += counts.lost + counts.late
        self.arrived += counts.arrived
        self.delays_ns += counts.arrived * counts.delay_ns
        self.load += counts.expected * sent_bps
        """Expected packets, each times the TCP that it had to meet."""

    @property
    def delay_ns(self) -> int:
        return round(self.delays_ns / self.arrived) if self.arrived else 0


class ExpectController:
    """Our own Bandwidth Controller: R by what the worst direction of the worst call still bears. Scheme `vagp-expect`.

        loss     share of a direction's packets that were not played, and the mean rate of TCP meanwhile, over some
                 seconds
        budget   share that it may lose at its mean delay, for a MOS of `target_mos` (E-model)
        R        mean rate * (budget / loss)^(1/4), the least over the directions

    So a loss says what R can be, not that R has to be halved. The fourth root: beside the calls the air is nearly full,
    and a little more of TCP costs many losses; seen in development were powers of 5 (four hops) to 40 (one hop), and a
    linear law swings. Whom the air favours changes slowly; how much it carries may change at once. So a second memory,
    of about a second and of all directions together, lowers R by the same law, when the worst direction's part of its
    losses is more than `haste` times the budget.

    Invariants
    1. min_rate_bps <= R <= max_rate_bps.
    2. R grows by at most `growth` a round and falls to no less than its half; it grows only while TCP uses it.
    3. All is IEEE's + - * / and square root in a fixed order, the E-model apart: the same on every machine.
    """

    __slots__ = ("_all", "_config", "_directions", "period_ns", "rate_bps")

    is_alert = False

    def __init__(self, config: ExpectConfig) -> None:
        self._config = config
        self._directions: dict[FlowKey, _Memory] = {}
        self._all = _Memory()
        self.rate_bps = config.min_rate_bps
        """R."""
        self.period_ns = config.period_ns

    @property
    def is_frozen(self) -> bool:
        """R is as low as it gets: Algorithm 3's R = 0."""
        return self.rate_bps <= self._config.min_rate_bps

    def start(self, rate_bps: float) -> None:
        """Set R, within its bounds."""
        self.rate_bps = min(max(rate_bps, self._config.min_rate_bps), self._config.max_rate_bps)

    def adjust(self, voice: VoiceState | None, *, used: bool, sent_bps: float) -> None:
        """A round. `voice` is what became known in it; `sent_bps` is what the gateway let go, repeats included."""
        self._note(voice, sent_bps)
        allowed_bps = self._allowed_bps()
        least, most = self.rate_bps / 2, self.rate_bps * (1 + self._config.growth if used else 1)
        self.start(most if allowed_bps is None else min(max(allowed_bps, least), most))

    def _note(self, voice: VoiceState | None, sent_bps: float) -> None:
        self._all.fade(self._config.keep_of_all)
        for memory in self._directions.values():
            memory.fade(self._config.keep)
        for call, counts in voice.directions if voice is not None else ():
            self._all.add(counts, sent_bps)
            self._directions.setdefault(call, _Memory()).add(counts, sent_bps)
        for call in [call for call, memory in self._directions.items() if memory.expected < _FORGOTTEN_PKTS]:
            del self._directions[call]

    def _allowed_bps(self) -> float | None:
        """The least of what the directions allow; None while nothing is known to limit it."""
        expected = sum(one.expected for one in self._directions.values())
        unplayed = sum(one.unplayed for one in self._directions.values())
        if not unplayed:
            return None
        rates, worst = [], 0.0
        for one in self._directions.values():
            trust = self._config.trust_pkts
            loss = (one.unplayed + trust) / (one.expected + trust * expected / unplayed)
            worst = max(worst, loss)
            rates.append(self._rate(loss, one))
        if self._all.unplayed:
            inequality = worst * expected / unplayed
            loss = inequality * self._all.unplayed / self._all.expected
            rates.append(self._rate(loss / self._config.haste, self._all))
        return min(rates)

    def _rate(self, loss: float, memory: _Memory) -> float:
        config = self._config
        budget = loss_for(config.target_mos, network_delay_ns=memory.delay_ns, playout_ns=config.playout_ns)
        return memory.load / memory.expected * sqrt(sqrt(budget / loss))
