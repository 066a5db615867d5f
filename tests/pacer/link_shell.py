"""What tests of hooks that hear of transmissions share."""

from __future__ import annotations

from hook_shell import Shell, data

from pacelab.pacer.core.contract import Action, Hook, Inject, Point, SegmentSeen, TransmitResult
from pacelab.pacer.core.link_red.link_red import TIMINGS
from pacelab.pacer.core.segment import FlowKey, Segment

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


class LinkShell(Shell):
    """A shell with a link layer that reports when told to, and with injected segments on record."""

    def __init__(self, hook: Hook) -> None:
        super().__init__(hook)
        self.injected: list[Segment] = []

    def report(self, segment: Segment, *, delivered: bool = True) -> None:
        """The link layer is done with a copy of the segment."""
        self.hook.handle(self.now_ns, TransmitResult(segment._replace(handle=0), 1, delivered, 7))
        self._drain()

    def acks(self) -> list[int]:
        """ACK numbers injected since last asked."""
        numbers = [segment.ack for segment in self.injected]
        self.injected.clear()
        return numbers

    def reasons(self) -> list[str]:
        """Why segments were dropped since last asked."""
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
