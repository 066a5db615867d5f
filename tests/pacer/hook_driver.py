"""A driver without a network: runs one hook on a simulated clock and checks the contract's invariants."""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

from hypothesis import settings

from pacelab_pacer.core.contract import (
    Action,
    Drop,
    Forward,
    Hook,
    Inject,
    Point,
    Release,
    Resend,
    Rewrite,
    SegmentSeen,
    SetExtraBackoff,
    TransmitResult,
)
from pacelab_pacer.core.link_red.link_timing import TIMINGS
from pacelab_pacer.core.segment import ACK, TCP, UDP, FlowKey, Rtp, Segment, VoiceQuality

MS = 1_000_000
S = 1_000_000_000
HEADERS = 40
DOWN = FlowKey(src=100, dst=1, sport=80, dport=5000)
"""A wired-to-wireless flow."""
UP = FlowKey(src=1, dst=100, sport=5000, dport=80)
"""A wireless-to-wired flow."""
FOUR_HOPS = (2_000_000,) * 4

CALM = settings(deadline=None, max_examples=60, derandomize=True)
"""Hypothesis settings: the machine may be busy, and a failure must be reproducible."""

_handles = count(1)


def data(
    flow: FlowKey, seq: int, payload: int = 1460, *, flags: int = ACK, ack: int = 0, window: int = 65_535
) -> Segment:
    return Segment(next(_handles), flow, TCP, flags, seq, ack, payload, payload + HEADERS, window, None)


def pure_ack(
    flow: FlowKey, ack: int, *, window: int = 65_535, flags: int = ACK, rtt_wired: int | None = None
) -> Segment:
    """An ACK for data of `flow`, which travels in the opposite direction."""
    return Segment(next(_handles), flow.reversed(), TCP, flags, 0, ack, 0, HEADERS, window, rtt_wired)


def fresh(segment: Segment) -> Segment:
    """The same packet at the next node, whose driver assigns a new handle."""
    return segment._replace(handle=next(_handles))


def voice(flow: FlowKey, sequence: int, sent_ns: int) -> Segment:
    """A G.729a packet of 20 octets."""
    return Segment(next(_handles), flow, UDP, 0, 0, 0, 32, 60, 0, None, rtp=Rtp(sequence % 2**16, sent_ns))


def voice_report(quality: VoiceQuality) -> Segment:
    """A report from the end that received the call."""
    call = quality.call
    back = FlowKey(call.dst, call.src, call.dport + 1, call.sport + 1)
    return Segment(next(_handles), back, UDP, 0, 0, 0, 44, 72, 0, None, quality=quality)


class Sent(NamedTuple):
    """A segment that left the hook."""

    at_ns: int
    segment: Segment
    again: bool
    """Sent by `Resend`."""


class Driver:
    """Executes a hook's actions. Raises AssertionError if the hook violates its contract."""

    def __init__(self, hook: Hook, *, may_inject: bool = False) -> None:
        self.hook = hook
        self.may_inject = may_inject
        self.injected: list[tuple[int, Segment]] = []
        self.now_ns = 0
        self.held: dict[int, Segment] = {}
        self.kept: dict[int, Segment] = {}
        self.sent: list[Sent] = []
        self.dropped: list[tuple[Segment, str]] = []
        self.rewritten: dict[int, Rewrite] = {}
        self.received = 0

    def see(self, point: Point, segment: Segment, path: tuple[int, ...] = FOUR_HOPS) -> None:
        """Pass a segment to the hook now."""
        assert segment.handle not in self.held
        self.received += 1
        self.held[segment.handle] = segment
        self.hook.handle(self.now_ns, SegmentSeen(point, segment, path))
        self._drain()

    def run_until(self, at_ns: int) -> None:
        """Let time pass, with a punctual callback at every deadline."""
        assert at_ns >= self.now_ns
        calls_now = 0
        while (wanted := self.hook.deadline()) is not None and wanted[0] <= at_ns:
            calls_now = calls_now + 1 if wanted[0] <= self.now_ns else 0
            assert calls_now < 3, f"no progress at {self.now_ns}: {wanted}"
            self.now_ns = max(self.now_ns, wanted[0])
            self.timeout()
        self.now_ns = at_ns

    def skip_to(self, at_ns: int) -> None:
        """Let time pass without callbacks: the host was busy."""
        assert at_ns >= self.now_ns
        self.now_ns = at_ns

    def timeout(self) -> None:
        """Call back now, whether due or not."""
        self.hook.handle_timeout(self.now_ns)
        self._drain()

    def sent_seqs(self, flow: FlowKey) -> list[int]:
        """Sequence numbers of the flow's data sent, in order."""
        return [s.segment.seq for s in self.sent if s.segment.flow == flow and s.segment.payload_bytes]

    def times(self, flow: FlowKey) -> list[int]:
        """When the flow's data left, without local retransmissions."""
        return [s.at_ns for s in self.sent if s.segment.flow == flow and s.segment.payload_bytes and not s.again]

    def check_conservation(self) -> None:
        """Check that every received segment was forwarded, dropped, or is held."""
        first = sum(not s.again for s in self.sent)
        assert self.received == first + len(self.dropped) + len(self.held)

    def _drain(self) -> None:
        while (action := self.hook.poll_action()) is not None:
            self._carry_out(action)

    def _carry_out(self, action: Action) -> None:
        match action:
            case Forward(handle, keep):
                segment = self.held.pop(handle)
                self.sent.append(Sent(self.now_ns, segment, again=False))
                if keep:
                    self.kept[handle] = segment
            case Drop(handle, reason):
                self.dropped.append((self.held.pop(handle), reason))
            case Resend(handle):
                self.sent.append(Sent(self.now_ns, self.kept[handle], again=True))
            case Release(handle):
                del self.kept[handle]
            case Rewrite(handle):
                assert handle in self.held
                self.rewritten[handle] = action
            case Inject(segment) if self.may_inject:
                self.injected.append((self.now_ns, segment))
            case Inject() | SetExtraBackoff():
                raise AssertionError(f"a pacer has no business with {action}")


# Shared parts of tests of hooks that receive transmit results.

B = TIMINGS["802.11b"]
MBPS_2 = (2_000_000,)


def tell(hook: Hook, event: SegmentSeen | TransmitResult) -> list[Action]:
    hook.handle(0, event)
    actions = []
    while (action := hook.poll_action()) is not None:
        actions.append(action)
    return actions


def seen(segment: Segment, rates: tuple[int, ...] = MBPS_2) -> SegmentSeen:
    return SegmentSeen(Point.LINK, segment, rates)


def sent(segment: Segment, attempts: int = 1, *, delivered: bool = True) -> TransmitResult:
    return TransmitResult(segment, attempts, delivered, 2)


MSS = 1460
WINDOW = 30_000


class LinkDriver(Driver):
    """A driver with a link layer that reports on request, and with a record of injected segments."""

    def __init__(self, hook: Hook) -> None:
        super().__init__(hook)
        self.injected: list[Segment] = []

    def report(self, segment: Segment, *, delivered: bool = True) -> None:
        """Report that the link layer has finished a copy of the segment."""
        self.hook.handle(self.now_ns, TransmitResult(segment._replace(handle=0), 1, delivered, 7))
        self._drain()

    def acks(self) -> list[int]:
        """ACK numbers injected since the last call."""
        numbers = [segment.ack for segment in self.injected]
        self.injected.clear()
        return numbers

    def reasons(self) -> list[str]:
        """Reasons of dropped segments since the last call."""
        reasons = [reason for _, reason in self.dropped]
        self.dropped.clear()
        return reasons

    def _carry_out(self, action: Action) -> None:
        if isinstance(action, Inject):
            self.injected.append(action.segment)
        else:
            super()._carry_out(action)


def control(flow: FlowKey, flags: int, *, seq: int, ack: int = 0, window: int = WINDOW) -> Segment:
    return data(flow, seq, 0, flags=flags, ack=ack, window=window)
