"""The Quality Evaluator: how well the calls through a gateway are, from what the gateway itself sees.

    upstream     RTP packets come out of the air at the gateway: it measures loss, lateness and delay up to here
    downstream   they end at a station, which measures and reports (`voice_reporter`); the gateway reads the report as
                 it passes

Every direction of every call counts alike, by its last window: the MOS is that of their mean loss and mean delay. A
window of 100 ms holds five packets of a direction, so that the worst one nearly always looks bad (docs/vagp.md).

What the paper leaves open is a setting, in two readings each:

    a report     judged in every round for `report_validity_ns`, or (`report_once`) in the first round after it came: in
                 0.5 s there are five rounds, and each cuts the rate for the same loss
    of a call    each call's own, or (`station_report`) one of a station with the counts of all its calls together,
                 which may come often at little cost; packets then count alike, instead of directions

Invariants
1. No call, no verdict: `evaluate` gives None, never a number made of nothing.
2. At most `max_calls` directions are measured, and as many reports kept. A call is forgotten when it is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from pacelab.pacer.core.checks import require
from pacelab.pacer.core.contract import Point, SegmentSeen
from pacelab.pacer.core.segment import FlowKey, Rtp, VoiceQuality
from pacelab.pacer.core.vagp.e_model import PLAYOUT_NS, mos
from pacelab.pacer.core.vagp.voice_meter import VoiceCounts, VoiceMeter
from pacelab.units import NS_PER_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityConfig:
    """Settings of measurement and report. Raises ValueError on a value out of range."""

    window_ns: int = 100 * NS_PER_MS
    """Sliding window, at the gateway and at a reporting station: the Bandwidth Controller's period."""
    report_period_ns: int = 500 * NS_PER_MS
    """A station reports a call this often."""
    report_validity_ns: int = 1500 * NS_PER_MS
    """A report older than this says nothing any more."""
    report_once: bool = False
    """A report is judged once."""
    station_report: bool = False
    """A station reports its calls together."""
    silence_ns: int = 100 * NS_PER_MS
    """A call of which nothing was heard for so long, both ways, is over."""
    playout_ns: int = PLAYOUT_NS
    """Playout buffer of the receivers."""
    max_calls: int = 1024
    """Directions measured; further calls go unmeasured."""

    def __post_init__(self) -> None:
        for name in ("window_ns", "report_period_ns", "report_validity_ns", "silence_ns"):
            require(getattr(self, name) > 0, name, getattr(self, name), "a positive number of ns")
        require(self.playout_ns >= 0, "playout_ns", self.playout_ns, "a number of ns of at least 0")
        require(self.max_calls >= 1, "max_calls", self.max_calls, "an integer of at least 1")


class VoiceState(NamedTuple):
    """How the calls are."""

    mos: float
    delay_ns: int | None
    """D_voip: mean network delay over the directions; None when nothing arrived."""
    longest_delay_ns: int | None
    """That of the direction, or station, with the longest."""
    directions: tuple[tuple[FlowKey, VoiceCounts], ...] = ()
    """What was judged: directions by the call, or stations by their first call."""


class QualityEvaluator:
    """Measures and collects.

    Source: [vagp] Sec. V-A ("QE monitors the network parameters of VoIP traffic, including network delay, network
    loss, and jitter loss"), V-E ("monitors VoIP quality of the voice traffic from G").
    Deviates: window and report path are not in the paper.
    """

    def __init__(self, config: QualityConfig) -> None:
        self._config = config
        self._meters: dict[FlowKey, VoiceMeter] = {}
        self._reports: dict[FlowKey, tuple[int, VoiceCounts]] = {}

    def observe(self, now_ns: int, event: SegmentSeen) -> None:
        """Note a segment of any kind at the gateway."""
        segment = event.segment
        if segment.quality is not None:
            if event.point == Point.AIR_TO_WIRED:
                self._report(now_ns, segment.quality)
        elif segment.rtp is not None:
            if event.point == Point.AIR_TO_WIRED:
                self._upstream(now_ns, segment.flow, segment.rtp)
            elif (meter := self._meters.get(segment.flow.reversed())) is not None:
                meter.alive(now_ns)

    def evaluate(self, now_ns: int) -> VoiceState | None:
        """All calls in the window that ends now."""
        directions = (*self._measured(now_ns), *self._reported(now_ns))
        if not directions:
            return None
        counts = [one for _, one in directions]
        weights = [one.expected if self._config.station_report else 1 for one in counts]
        heard = [(one.arrived if self._config.station_report else 1, one.delay_ns) for one in counts if one.arrived]
        loss = sum(one.loss * weight for one, weight in zip(counts, weights, strict=True)) / sum(weights)
        delay_ns = (
            sum(weight * delay for weight, delay in heard) // sum(weight for weight, _ in heard) if heard else None
        )
        quality = mos(network_delay_ns=delay_ns or 0, loss=min(1.0, loss), playout_ns=self._config.playout_ns)
        return VoiceState(quality, delay_ns, max((delay for _, delay in heard), default=None), directions)

    def __len__(self) -> int:
        """Directions and reports held."""
        return len(self._meters) + len(self._reports)

    def _upstream(self, now_ns: int, call: FlowKey, rtp: Rtp) -> None:
        meter = self._meters.get(call)
        if meter is None:
            if len(self._meters) >= self._config.max_calls:
                return
            meter = self._meters[call] = VoiceMeter(self._config.playout_ns)
        meter.arrived(now_ns, rtp)

    def _report(self, now_ns: int, quality: VoiceQuality) -> None:
        counts = _believable(quality)
        if counts is None or (quality.call not in self._reports and len(self._reports) >= self._config.max_calls):
            return
        self._reports[quality.call] = (now_ns, counts)

    def _measured(self, now_ns: int) -> list[tuple[FlowKey, VoiceCounts]]:
        window_ns, silence_ns = self._config.window_ns, self._config.silence_ns
        over = [call for call, meter in self._meters.items() if meter.is_over(now_ns, silence_ns)]
        for call in over:
            del self._meters[call]
        windows = [
            (call, meter.counts(now_ns, window_ns=window_ns, silence_ns=silence_ns))
            for call, meter in self._meters.items()
        ]
        return [(call, counts) for call, counts in windows if counts.expected]

    def _reported(self, now_ns: int) -> list[tuple[FlowKey, VoiceCounts]]:
        stale_ns = now_ns - self._config.report_validity_ns
        for call in [call for call, (at_ns, _) in self._reports.items() if at_ns <= stale_ns]:
            del self._reports[call]
        reported = [(call, counts) for call, (_, counts) in self._reports.items()]
        if self._config.report_once:
            self._reports.clear()
        return reported


def _believable(quality: VoiceQuality) -> VoiceCounts | None:
    """A report's counts, if they can be true: it came over a network."""
    expected, lost, late, delay_ns = quality.expected, quality.lost, quality.late, quality.delay_ns
    if expected < 1 or lost < 0 or late < 0 or lost + late > expected or delay_ns < 0:
        return None
    return VoiceCounts(expected, lost, late, delay_ns)
