"""The Quality Evaluator: the quality of the calls through a gateway, from what the gateway itself sees.

    upstream     RTP packets leave the air at the gateway, which measures loss, lateness and delay up to there
    downstream   RTP packets end at a station, which measures and reports (`VoiceReporter`); the gateway reads the
                 report as it passes

Every direction of every call counts alike, by its last window: the MOS is that of their mean loss and mean delay. A
window of 100 ms holds five packets of a direction, so that the worst direction nearly always looks bad (docs/vagp.md).

What the paper leaves open is a setting with two readings:

    a report     counts in every round for `report_validity_ns`, or (`report_once`) only in the first round after its
                 arrival, since 0.5 s has five rounds, and each would cut the rate for the same loss
    of a call    each call has its own report, or (`station_report`) a station sends one with the counts of all its
                 calls, which may be frequent at little cost; then packets count alike instead of directions

Invariants
1. Without a call there is no verdict: `evaluate` gives None.
2. At most `max_calls` directions are measured, and as many reports kept. A call is forgotten when it has ended.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from pacelab.units import NS_PER_MS, NS_PER_S
from pacelab_pacer.core.checks import AT_LEAST_0, AT_LEAST_1, check_fields
from pacelab_pacer.core.contract import Action, Event, EventMask, Forward, Inject, Point, SegmentSeen
from pacelab_pacer.core.pacing.wake_heap import WakeHeap
from pacelab_pacer.core.segment import UDP, FlowKey, Rtp, Segment, VoiceQuality
from pacelab_pacer.core.vagp.e_model import PLAYOUT_NS, mos

SPURT_NS = NS_PER_S
"""Mean talk spurt (ITU-T P.59 Table 1: 1.004 s), after which a receiver aligns itself again."""
MAX_PACKETS = 1024
"""Packets remembered: 20 s of a codec with a packet each 20 ms. A larger gap means another source, not a loss."""
LEAST_INTERVAL_NS = NS_PER_MS
"""No codec sends more often."""

_NUMBERS = 1 << 16


class VoiceCounts(NamedTuple):
    """The packets of a window."""

    expected: int
    lost: int
    late: int
    delay_ns: int
    """Mean network delay of the packets that arrived; 0 if none did."""

    @property
    def loss(self) -> float:
        """Share that was not played, 0..1; 0 for an empty window."""
        return (self.lost + self.late) / self.expected if self.expected else 0.0

    @property
    def arrived(self) -> int:
        """Packets that arrived, late ones included."""
        return self.expected - self.lost


class _Fate(NamedTuple):
    known_ns: int
    number: int
    delay_ns: int | None
    """None: lost."""
    late: bool


class VoiceMeter:
    """One direction of a voice call, where its packets pass or end: loss, lateness, delay over a sliding window.

        lost    a number is missing: this is known when a later packet arrives (a path keeps the order) or, in silence,
                at the playout time
        late    arrived after its playout time: sent + aligned delay + playout buffer
        window  each packet counts for `window_ns` from the time when its fate was known. A packet that counted as lost
                and arrives later counts by its real fate from then on.

    The playout rule is the receiver's (medium/network/src/voice.rs). The receiver aligns itself to the delay of the
    first packet. At the first arrival a talk spurt after the last alignment it aligns itself to the mean delay of the
    packets that arrived since.

    Invariants
    1. A number counts once in a window.
    2. Silence is loss only while the call lives, that is while its peer still sends. After the hang-up both directions
       are silent.
    3. Memory is bounded by `MAX_PACKETS`.
    """

    __slots__ = (
        "_aligned_at_ns",
        "_aligned_ns",
        "_alive_ns",
        "_fates",
        "_interval_ns",
        "_newest",
        "_playout_ns",
        "_since",
    )

    def __init__(self, playout_ns: int) -> None:
        self._playout_ns = playout_ns
        self._alive_ns = 0
        self._start()

    def _start(self) -> None:
        self._fates: deque[_Fate] = deque(maxlen=MAX_PACKETS)
        self._newest: tuple[int, int] | None = None  # (number, sent_ns)
        self._interval_ns: int | None = None
        self._aligned_at_ns: int | None = None
        self._aligned_ns = 0
        self._since = (0, 0)  # arrivals since the last alignment, the sum of their delays

    def alive(self, now_ns: int) -> None:
        """A packet of the other direction was seen."""
        self._alive_ns = now_ns

    def arrived(self, now_ns: int, rtp: Rtp) -> None:
        """A packet has arrived."""
        self._alive_ns = now_ns
        if self._newest is None:
            self._take(now_ns, rtp.sequence, rtp.sent_ns)
            self._newest = (rtp.sequence, rtp.sent_ns)
            return
        number, sent_ns = self._newest
        ahead = (rtp.sequence - number + _NUMBERS // 2) % _NUMBERS - _NUMBERS // 2
        if abs(ahead) >= MAX_PACKETS:
            self._start()
            self.arrived(now_ns, rtp)
        elif ahead > 0:
            for missing in range(number + 1, number + ahead):
                self._fates.append(_Fate(now_ns, missing, None, late=False))
            self._interval_ns = max(LEAST_INTERVAL_NS, (rtp.sent_ns - sent_ns) // ahead)
            self._take(now_ns, number + ahead, rtp.sent_ns)
            self._newest = (number + ahead, rtp.sent_ns)
        elif self._forgive(number + ahead):
            self._take(now_ns, number + ahead, rtp.sent_ns)

    def counts(self, now_ns: int, *, window_ns: int, silence_ns: int) -> VoiceCounts:
        """The window that ends now. The call lives until both directions have been silent for `silence_ns`."""
        self._note_silence(min(now_ns, self._alive_ns + silence_ns))
        while self._fates and self._fates[0].known_ns <= now_ns - window_ns:
            self._fates.popleft()
        lost = late = arrived = delays_ns = 0
        for fate in self._fates:
            if fate.delay_ns is None:
                lost += 1
            else:
                arrived += 1
                late += fate.late
                delays_ns += fate.delay_ns
        return VoiceCounts(lost + arrived, lost, late, delays_ns // arrived if arrived else 0)

    def is_over(self, now_ns: int, silence_ns: int) -> bool:
        """Whether both directions of the call have been silent for so long."""
        return now_ns - self._alive_ns >= silence_ns

    def _take(self, now_ns: int, number: int, sent_ns: int) -> None:
        delay_ns = max(0, now_ns - sent_ns)
        count, total_ns = self._since
        if self._aligned_at_ns is None or now_ns >= self._aligned_at_ns + SPURT_NS:
            self._aligned_ns = delay_ns if self._aligned_at_ns is None else total_ns // count
            self._aligned_at_ns = now_ns
            count = total_ns = 0
        self._since = (count + 1, total_ns + delay_ns)
        late = delay_ns > self._aligned_ns + self._playout_ns
        self._fates.append(_Fate(now_ns, number, delay_ns, late))

    def _forgive(self, number: int) -> bool:
        """Whether this number counted as lost; from now on it does not."""
        for fate in self._fates:
            if fate.number == number and fate.delay_ns is None:
                self._fates.remove(fate)
                return True
        return False

    def _note_silence(self, until_ns: int) -> None:
        """Count as lost the packets that should have been played by now."""
        if self._newest is None or self._interval_ns is None:
            return
        number, sent_ns = self._newest
        interval_ns, wait_ns = self._interval_ns, self._aligned_ns + self._playout_ns
        due = (until_ns - wait_ns - sent_ns) // interval_ns
        for ahead in range(max(0, due - MAX_PACKETS) + 1, due + 1):
            self._fates.append(_Fate(sent_ns + ahead * interval_ns + wait_ns, number + ahead, None, late=False))
        if due > 0:
            self._newest = (number + due, sent_ns + due * interval_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityConfig:
    """Settings of measurement and report. Raises ValueError on a value out of range."""

    window_ns: int = 100 * NS_PER_MS
    """Sliding window, at the gateway and at a reporting station: the Bandwidth Controller's period."""
    report_period_ns: int = 500 * NS_PER_MS
    """How often a station reports a call."""
    report_validity_ns: int = 1500 * NS_PER_MS
    """A report older than this no longer counts."""
    report_once: bool = False
    """A report counts in one round only."""
    station_report: bool = False
    """A station reports all its calls together."""
    silence_ns: int = 100 * NS_PER_MS
    """A call has ended when both directions have been silent for so long."""
    playout_ns: int = PLAYOUT_NS
    """Playout buffer of the receivers."""
    max_calls: int = 1024
    """Directions measured. Packets of further calls are counted and do not change R; no air carries so many calls."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            window_ns=AT_LEAST_1,
            report_period_ns=AT_LEAST_1,
            report_validity_ns=AT_LEAST_1,
            silence_ns=AT_LEAST_1,
            playout_ns=AT_LEAST_0,
            max_calls=AT_LEAST_1,
        )


class VoiceState(NamedTuple):
    """The quality of the calls."""

    mos: float
    delay_ns: int | None
    """D_voip: mean network delay over the directions; None if nothing arrived."""
    longest_delay_ns: int | None
    """The delay of the direction, or station, with the longest delay."""
    directions: tuple[tuple[FlowKey, VoiceCounts], ...] = ()
    """The counts that were judged: directions by their call, or stations by their first call."""


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
        self.unmeasured = 0
        """Packets and reports of calls for which there was no room."""

    def observe(self, now_ns: int, event: SegmentSeen) -> None:
        """Process a segment of any kind at the gateway."""
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
                self.unmeasured += 1
                return
            meter = self._meters[call] = VoiceMeter(self._config.playout_ns)
        meter.arrived(now_ns, rtp)

    def _report(self, now_ns: int, quality: VoiceQuality) -> None:
        counts = _believable(quality)
        if counts is None:
            return
        if quality.call not in self._reports and len(self._reports) >= self._config.max_calls:
            self.unmeasured += 1
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
    """A report's counts if they are possible, since anybody on the network can send a report."""
    expected, lost, late, delay_ns = quality.expected, quality.lost, quality.late, quality.delay_ns
    if expected < 1 or lost < 0 or late < 0 or lost + late > expected or delay_ns < 0:
        return None
    return VoiceCounts(expected, lost, late, delay_ns)


REPORT_BYTES = 44
"""XR header and VoIP metrics block."""
PACKET_BYTES = 28 + REPORT_BYTES
"""With IP and UDP."""


class VoiceReporter:
    """A station reports to its peers the voice quality that it receives: the report path of the Quality Evaluator.

    A voice receiver measures each call that ends here (`VoiceMeter`). Every `report_period_ns` while the call lives it
    sends one datagram from its RTP port + 1 to its peer's: an RTCP XR packet with one VoIP metrics block, 44 octets, 72
    with IP and UDP. The report crosses the air like any other packet, with queue and contention, and the gateway reads
    it as it passes. With `station_report` the calls that end here share one report with the sums of their counts, named
    after the call that began first.

    Source: RFC 3611 Sec. 4.7 (the block: 36 octets after 8 of the XR header); RFC 5506 (an RTCP packet may go alone).
    Deviates: [vagp] does not say how a gateway learns what the far end of a call hears. RTCP's timing rules (RFC 3550
    Sec. 6.2: 5 % of the session's bandwidth, at least 5 s) would be far too slow; RFC 4585 permits such feedback. A
    block with the sums of several calls is ours.
    """

    event_mask = EventMask.SEGMENT

    def __init__(self, config: QualityConfig | None = None) -> None:
        self._config = config or QualityConfig()
        self._actions: deque[Action] = deque()
        self._meters: dict[FlowKey, VoiceMeter] = {}
        self._wakes: WakeHeap[FlowKey] = WakeHeap()
        self._count = {"reports_sent": 0, "calls_unmeasured": 0}

    def handle(self, now_ns: int, event: Event) -> None:
        """Process a voice packet; the first one of a call starts its reports."""
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
        """Send the reports that are due; a late one shifts those after it."""
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
        """How often the hook acted: reports sent, and packets of calls for which it had no room."""
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
