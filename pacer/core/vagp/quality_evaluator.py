"""The Quality Evaluator: how well the calls through a gateway are, from what the gateway itself sees.

    upstream     RTP packets come out of the air at the gateway: it measures loss, lateness and delay up to here
    downstream   they end at a station, which measures and reports (`VoiceReporter`); the gateway reads the report as
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

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from pacelab.pacer.core.checks import require
from pacelab.pacer.core.contract import Action, Event, EventMask, Forward, Inject, Point, SegmentSeen
from pacelab.pacer.core.pacing.wake_heap import WakeHeap
from pacelab.pacer.core.segment import UDP, FlowKey, Rtp, Segment, VoiceQuality
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


REPORT_BYTES = 44
"""XR header and VoIP metrics block."""
PACKET_BYTES = 28 + REPORT_BYTES
"""With IP and UDP."""


class VoiceReporter:
    """A station tells its peers how well it hears them: the report path of the Quality Evaluator.

    A voice receiver measures each call that ends here (`voice_meter`) and sends, every `report_period_ns` while the
    call lives, one datagram from its RTP port + 1 to its peer's: an RTCP XR packet with one VoIP metrics block, 44
    octets, 72 with IP and UDP. It takes its way through the air like any other packet, queue and contention included;
    the gateway reads it as it passes. With `station_report` the calls that end here have one report, under the name of
    the one that began first: the sums of their counts.

    Source: RFC 3611 Sec. 4.7 (the block: 36 octets after 8 of the XR header); RFC 5506 (an RTCP packet may go alone).
    Deviates: [vagp] does not say how a gateway learns what the far end of a call hears. RTCP's timing rules (RFC 3550
    Sec. 6.2: 5 % of the session's bandwidth, at least 5 s) would be far too slow; RFC 4585 allows feedback like this. A
    block of several calls' sums is ours.
    """

    event_mask = EventMask.SEGMENT

    def __init__(self, config: QualityConfig | None = None) -> None:
        self._config = config or QualityConfig()
        self._actions: deque[Action] = deque()
        self._meters: dict[FlowKey, VoiceMeter] = {}
        self._wakes: WakeHeap[FlowKey] = WakeHeap()
        self._count = {"reports_sent": 0, "calls_unmeasured": 0}

    def handle(self, now_ns: int, event: Event) -> None:
        """Note a voice packet; the first one of a call starts its reports."""
        if not isinstance(event, SegmentSeen):
            return
        segment = event.segment
        self._actions.append(Forward(segment.handle))
        if segment.rtp is None:
            return
        if event.point == Point.LOCAL_IN:
            self._heard(now_ns, segment.flow, segment.rtp)
        elif (meter := self._meters.get(segment.flow.reversed())) is not None:
            meter.alive(now_ns)

    def poll_action(self) -> Action | None:
        """Next action, or None."""
        return self._actions.popleft() if self._actions else None

    def deadline(self) -> tuple[int, str] | None:
        """When the next report is due."""
        at_ns = self._wakes.next_ns()
        return None if at_ns is None else (at_ns, "report")

    def handle_timeout(self, now_ns: int) -> None:
        """Send the reports that are due; a late one is not made up for."""
        while (call := self._wakes.pop_due(now_ns)) is not None:
            mine = list(self._meters) if self._config.station_report else [call]
            for one in mine:
                if self._meters[one].is_over(now_ns, self._config.silence_ns):
                    del self._meters[one]
            living = [one for one in mine if one in self._meters]
            if living:
                self._report(now_ns, living)
                self._wakes.set(living[0], now_ns + self._config.report_period_ns)

    def counters(self) -> dict[str, int]:
        """How often the hook acted: reports sent, and calls for which it had no room."""
        return dict(self._count)

    def _heard(self, now_ns: int, call: FlowKey, rtp: Rtp) -> None:
        meter = self._meters.get(call)
        if meter is None:
            if len(self._meters) >= self._config.max_calls:
                self._count["calls_unmeasured"] += 1
                return
            if not (self._config.station_report and self._meters):
                self._wakes.set(call, now_ns + self._config.report_period_ns)
            meter = self._meters[call] = VoiceMeter(self._config.playout_ns)
        meter.arrived(now_ns, rtp)

    def _report(self, now_ns: int, calls: list[FlowKey]) -> None:
        window_ns, silence_ns = self._config.window_ns, self._config.silence_ns
        windows = [self._meters[call].counts(now_ns, window_ns=window_ns, silence_ns=silence_ns) for call in calls]
        expected, arrived = sum(one.expected for one in windows), sum(one.arrived for one in windows)
        if not expected:
            return
        self._count["reports_sent"] += 1
        lost, late = sum(one.lost for one in windows), sum(one.late for one in windows)
        delay_ns = sum(one.delay_ns * one.arrived for one in windows) // arrived if arrived else 0
        call = calls[0]
        quality = VoiceQuality(call, window_ns, expected, lost, late, delay_ns)
        back = FlowKey(call.dst, call.src, call.dport + 1, call.sport + 1)
        report = Segment(0, back, UDP, 0, 0, 0, REPORT_BYTES, PACKET_BYTES, 0, None, quality=quality)
        self._actions.append(Inject(report))
