"""Our own Bandwidth Controller: R by what the worst direction of the worst call still bears. Scheme `vagp-expect`.

    slope    of a direction: packets not played for each bit/s of TCP in the air, over the last minute or so. A voice
             packet dies of a TCP frame that it meets, and there are as many of them as R lets go
    budget   share of its packets that a direction may lose at its mean delay, for a MOS of `target_mos` (E-model)
    R        budget / slope, the least over the directions

A loss thus says what R can be, not that R has to be halved: after a change of R the same slope holds, and the losses of
a minute are known a hundred times better than those of a round. Whom the air favours changes slowly; how much the air
carries may change at once. So a second memory, of about a second and of all directions together, may lower R, when its
slope is more than `haste` times what the budget allows.

Invariants
1. min_rate_bps <= R <= max_rate_bps.
2. R grows by at most `growth` a round and falls to no less than its half; it grows only while TCP uses it.
3. All sums are of + - * / in a fixed order, the E-model's functions apart: the same on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

from pacelab.pacer.core.checks import require
from pacelab.pacer.core.segment import FlowKey
from pacelab.pacer.core.vagp.e_model import PLAYOUT_NS, loss_for
from pacelab.pacer.core.vagp.quality_evaluator import VoiceState
from pacelab.pacer.core.vagp.voice_meter import VoiceCounts
from pacelab.units import NS_PER_MS

_FORGOTTEN_PKTS = 1.0
"""A direction with less than this in its memory is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectConfig:
    """Settings of the controller. Raises ValueError on a value out of range."""

    target_mos: float = 3.6
    period_ns: int = 500 * NS_PER_MS
    keep: float = 0.98
    """Of a direction's memory, from round to round: 25 s."""
    keep_of_all: float = 0.6
    """The same of the second memory: 1.25 s."""
    haste: float = 2.0
    trust_pkts: float = 5.0
    """Packets not played at which a direction's own slope weighs as much as that of all."""
    growth: float = 0.10
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
    """R from the slopes of all directions."""

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
        """A round. `voice` is what became known in it; `sent_bps` is what TCP had of the air, the gateway's repeats in."""
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
        found = [self._rate_of(memory) for memory in self._directions.values()]
        haste = self._rate(self._all.unplayed, self._all.load, self._all.delay_ns)
        if haste is not None:
            found.append(haste * self._config.haste)
        return min((rate for rate in found if rate is not None), default=None)

    def _rate_of(self, memory: _Memory) -> float | None:
        """What a direction allows: its slope drawn towards that of all while its own losses are few."""
        unplayed = sum(one.unplayed for one in self._directions.values())
        load = sum(one.load for one in self._directions.values())
        trust = self._config.trust_pkts if unplayed else 0.0
        drawn = trust * load / unplayed if unplayed else 0.0
        return self._rate(memory.unplayed + trust, memory.load + drawn, memory.delay_ns)

    def _rate(self, unplayed: float, load: float, delay_ns: int) -> float | None:
        if not unplayed:
            return None
        config = self._config
        return loss_for(config.target_mos, network_delay_ns=delay_ns, playout_ns=config.playout_ns) * load / unplayed
