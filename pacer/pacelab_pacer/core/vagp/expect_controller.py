"""Our own Bandwidth Controller: scheme `vagp-expect`."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from pacelab.domains import Real
from pacelab.units import NS_PER_MS
from pacelab_pacer.core.checks import ABOVE_0, AT_LEAST_0, AT_LEAST_1, SHARE_BELOW_1, check_fields, require
from pacelab_pacer.core.segment import FlowKey
from pacelab_pacer.core.vagp.e_model import PLAYOUT_NS, TARGET_MOS, loss_for
from pacelab_pacer.core.vagp.quality_evaluator import VoiceCounts, VoiceState

_FORGOTTEN_PKTS = 1.0
"""A direction with less than this in its memory has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectConfig:
    """Settings of the controller. Raises ValueError on a value out of range."""

    target_mos: float = 3.7
    """A tenth above the promise of 3.6: half of all runs would end below a goal that the controller steers to."""
    period_ns: int = 500 * NS_PER_MS
    keep: float = 0.94
    """Share of a direction's memory that stays from round to round: 8 s."""
    keep_of_all: float = 0.6
    """The same for the second memory: 1.25 s."""
    haste: float = 3.0
    """How far the losses of the last second may exceed the budget before they lower R by themselves."""
    trust_pkts: float = 0.5
    """With so many packets not played, a direction's own loss weighs as much as that of all directions."""
    growth: float = 0.05
    """Of R in a round, at most."""
    first_growth: float = 0.25
    """The same from the start on, until the calls' losses hold R back."""
    min_rate_bps: float = 12_000
    max_rate_bps: float = 1e9
    playout_ns: int = PLAYOUT_NS

    def __post_init__(self) -> None:
        check_fields(
            self,
            target_mos=TARGET_MOS,
            period_ns=AT_LEAST_1,
            keep=SHARE_BELOW_1,
            keep_of_all=SHARE_BELOW_1,
            haste=Real(1),
            trust_pkts=ABOVE_0,
            growth=ABOVE_0,
            first_growth=ABOVE_0,
        )
        rates = (self.min_rate_bps, self.max_rate_bps)
        require(0 < rates[0] <= rates[1], "min_rate_bps, max_rate_bps", rates, "positive and in ascending order")
        check_fields(
            self,
            playout_ns=AT_LEAST_0,
        )

    def controller(self) -> ExpectController:
        """The controller with these settings."""
        return ExpectController(self)


class _Memory:
    """What became of a direction's packets; older ones count for less."""

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
        """Expected packets, each times the rate of TCP beside it."""

    @property
    def delay_ns(self) -> int:
        return round(self.delays_ns / self.arrived) if self.arrived else 0


class ExpectController:
    """Sets R by the loss that the worst direction of the worst call can still take.

        loss     share of a direction's packets that were not played, and the mean rate of TCP meanwhile, over some
                 seconds
        budget   share that it may lose at its mean delay, for a MOS of `target_mos` (E-model)
        R        mean rate * (budget / loss)^(1/4), the least over the directions

    So a loss tells how high R can be, not that R has to be halved. The reason for the fourth root: beside the calls the
    air is nearly full, and a little more TCP costs many losses. In development losses grew with powers of the rate from
    5 (four hops) to 40 (one hop), and a linear law oscillates. Which directions the air favours changes slowly, while
    what the air carries may change at once. So a second memory, of about a second and of all directions together,
    lowers R by the same law if the worst direction's part of its losses is more than `haste` times the budget.

    R starts at the gateway's first rate and grows by `first_growth` a round until the law above holds it back for the
    first time. Eq. (1)'s packet per round trip is not used: a round trip of a millisecond over one idle hop would set
    R to ten times what the calls can take, and nothing undoes the losses that they would have meanwhile.

    Invariants
    1. min_rate_bps <= R <= max_rate_bps.
    2. R grows by at most `growth` a round (`first_growth` at the start), and only while TCP uses it. It falls to no
       less than its half.
    3. All arithmetic is IEEE's + - * / and square root in a fixed order, apart from the E-model: the same on every
       machine.
    """

    __slots__ = ("_all", "_config", "_directions", "_has_met_losses", "period_ns", "rate_bps")

    is_alert = False

    def __init__(self, config: ExpectConfig) -> None:
        self._config = config
        self._directions: dict[FlowKey, _Memory] = {}
        self._all = _Memory()
        self._has_met_losses = False
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

    def first_round_trip(self, rate_bps: float) -> None:
        """Eq. (1) does not apply: see the class."""

    def adjust(self, voice: VoiceState | None, *, used: bool, sent_bps: float) -> None:
        """A round. `voice` is what became known in it; `sent_bps` is what the gateway sent, repeats included."""
        self._note(voice, sent_bps)
        allowed_bps = self._allowed_bps()
        growth = self._config.growth if self._has_met_losses else self._config.first_growth
        least, most = self.rate_bps / 2, self.rate_bps * (1 + growth if used else 1)
        if allowed_bps is not None and allowed_bps < most:
            self._has_met_losses = True
            self.start(max(allowed_bps, least))
        else:
            self.start(most)

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
        """The lowest rate that a direction allows; None while no loss is known."""
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
