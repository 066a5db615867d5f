"""The trusted part of assignment 5's gateway: it queues packets; a student's objects measure calls and set the rate."""

from __future__ import annotations

from collections import deque
from typing import Any

from pacelab import EventMask, Forward, Point, Segment, SegmentSeen, TransmitResult
from pacelab_grading.sandbox.failures import Malformed, StudentFailure
from pacelab_grading.sandbox.remote import RemoteObject

ROUND_NS = 100_000_000
NS_PER_S = 1_000_000_000


class VoiceGate:
    """A hook at a gateway: TCP data from the wired side leaves at the controller's rate, voice passes at once."""

    event_mask = EventMask.SEGMENT

    def __init__(self, evaluator: RemoteObject, controller: RemoteObject) -> None:
        self._evaluator = evaluator
        self._controller = controller
        self._queue: deque[Segment] = deque()
        self._actions: deque[Forward] = deque()
        self._rate_bps = 100_000.0
        self._next_ns = 0
        self._round_ns = ROUND_NS
        self.failure: StudentFailure | None = None

    def handle(self, now_ns: int, event: SegmentSeen | TransmitResult) -> None:
        """Queue TCP data, report voice."""
        assert isinstance(event, SegmentSeen)
        segment = event.segment
        if segment.rtp is not None and event.point == Point.AIR_TO_WIRED:
            call = f"{segment.flow.src}:{segment.flow.sport}"
            self._ask(self._evaluator, "packet", now_ns, call, segment.rtp.sequence, segment.rtp.sent_ns)
        if event.point == Point.WIRED_TO_AIR and segment.is_data:
            self._queue.append(segment)
            self._release(now_ns)
        else:
            self._actions.append(Forward(segment.handle))

    def poll_action(self) -> Forward | None:
        """Next action, or None."""
        return self._actions.popleft() if self._actions else None

    def deadline(self) -> tuple[int, str] | None:
        """The next round, or the next release if that is earlier."""
        if self._queue and self._next_ns < self._round_ns:
            return self._next_ns, "release"
        return self._round_ns, "round"

    def handle_timeout(self, now_ns: int) -> None:
        """Run a round, release data that is due."""
        while self._round_ns <= now_ns:
            quality = self._ask(self._evaluator, "evaluate", self._round_ns)
            self._rate_bps = self._checked(self._ask(self._controller, "adjust", quality))
            self._round_ns += ROUND_NS
        self._release(now_ns)

    def counters(self) -> dict[str, int]:
        """Nothing is counted."""
        return {}

    def _ask(self, remote: RemoteObject, method: str, *arguments: Any) -> Any:
        if self.failure is not None:
            raise self.failure
        try:
            return remote.call(method, *arguments)
        except StudentFailure as failure:
            self.failure = failure
            raise

    def _checked(self, rate: Any) -> float:
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 1 <= rate <= 1e12:
            self.failure = Malformed(f"BandwidthController.adjust() returned {str(rate)[:60]}, not a rate in bit/s")
            raise self.failure
        return float(rate)

    def _release(self, now_ns: int) -> None:
        while self._queue and self._next_ns <= now_ns:
            segment = self._queue.popleft()
            self._actions.append(Forward(segment.handle))
            self._next_ns = now_ns + round(segment.packet_bytes * 8 * NS_PER_S / self._rate_bps)
