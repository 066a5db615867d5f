"""A station tells its peers how well it hears them: the report path of the Quality Evaluator.

A voice receiver measures each call that ends here (`voice_meter`) and sends, every `report_period_ns` while the call
lives, one datagram from its RTP port + 1 to its peer's: an RTCP XR packet with one VoIP metrics block, 44 octets, 72
with IP and UDP. It takes its way through the air like any other packet, queue and contention included; the gateway
reads it as it passes. With `station_report` the calls that end here have one report, under the name of the one that
began first: the sums of their counts.

Source: RFC 3611 Sec. 4.7 (the block: 36 octets after 8 of the XR header); RFC 5506 (an RTCP packet may go alone).
Deviates: [vagp] does not say how a gateway learns what the far end of a call hears. RTCP's timing rules (RFC 3550
Sec. 6.2: 5 % of the session's bandwidth, at least 5 s) would be far too slow; RFC 4585 allows feedback like this. A
block of several calls' sums is ours.
"""

from __future__ import annotations

from collections import deque

from pacelab.pacer.core.contract import Action, Event, EventMask, Forward, Inject, Point, SegmentSeen
from pacelab.pacer.core.pacing.wake_heap import WakeHeap
from pacelab.pacer.core.segment import UDP, FlowKey, Rtp, Segment, VoiceQuality
from pacelab.pacer.core.vagp.quality_evaluator import QualityConfig
from pacelab.pacer.core.vagp.voice_meter import VoiceMeter

REPORT_BYTES = 44
"""XR header and VoIP metrics block."""
PACKET_BYTES = 28 + REPORT_BYTES
"""With IP and UDP."""


class VoiceReporter:
    """The `station` hook: measures what is heard here, and reports it. Segments pass untouched."""

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
