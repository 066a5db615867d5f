"""Adaptive pacing in the link layer: after a frame, wait as long as the next node needs to pass it on.

A node that has sent a frame normally competes again after a random backoff, while its neighbour tries to forward what
it has just got. One packet time more lets the frame get two hops away, out of the exposed terminal's reach.

Invariants
1. Segments are never held: each is forwarded within the call that shows it.
2. Only the backoff after a delivered frame is lengthened, as the paper has it ("if receiving an ACK"): the link layer
   below sees to that. The extra backoff is that of the frame under way, and 0 while none is.
3. `SetExtraBackoff` is sent only when the value changes.
"""

from __future__ import annotations

from pacelab.pacer.core.contract import Event, SegmentSeen, SetExtraBackoff, TransmitResult
from pacelab.pacer.core.link_red.link_hook import LinkHook
from pacelab.pacer.core.link_red.timing import LinkTiming


class ExtraBackoff:
    """The extra backoff of one node: the exchange time of the frame that is being served.

    Source: [fu] Sec. 6.2, Algorithm 2.
    Deviates: the paper does not say which DATA frame: it is the frame just sent, data or TCP ACK, since that is what
    the next node forwards. Overhead is RTS, CTS, ACK and the SIFSs between. Nor does it say whether the extra backoff
    stands still while the medium is busy, as 802.11's does (the default here), or is "an additional packet transmission
    time" by the clock (`wall_clock`).
    """

    def __init__(self, timing: LinkTiming, *, wall_clock: bool = False) -> None:
        self._timing = timing
        self._wall_clock = wall_clock
        self._waiting: dict[int, int] = {}  # handle -> slots, in the order of the interface queue
        self._slots = 0
        self.paced = 0
        """Frames delivered while an extra backoff was set."""

    def queued(self, seen: SegmentSeen) -> None:
        """A frame goes to the interface queue."""
        handle = seen.segment.handle
        rates = seen.path_rates_bps
        self._waiting.pop(handle, None)
        self._waiting[handle] = self._timing.exchange_slots(seen.segment.packet_bytes, rates[0]) if rates else 0

    def done(self, result: TransmitResult) -> None:
        """The link layer is done with a frame; frames queued before it were lost in a full queue."""
        self.paced += result.delivered and self._slots > 0
        handle = result.segment.handle
        if handle in self._waiting:
            while next(iter(self._waiting)) != handle:
                del self._waiting[next(iter(self._waiting))]
            del self._waiting[handle]

    def change(self, *, on: bool) -> SetExtraBackoff | None:
        """What to tell the link layer now, if anything; `on` says whether pacing is wanted."""
        slots = next(iter(self._waiting.values()), 0) if on else 0
        if slots == self._slots:
            return None
        self._slots = slots
        return SetExtraBackoff(slots, self._wall_clock)


class LinkPacing(LinkHook):
    """Adaptive pacing alone, at one wireless node.

    Source: [fu] Sec. 6.2 and 6.3.2.
    Deviates: always on. The paper has LRED switch it when both work together, and does not say when it is on alone.
    """

    def __init__(self, backoff: ExtraBackoff) -> None:
        super().__init__()
        self._backoff = backoff

    def handle(self, now_ns: int, event: Event) -> None:
        """Forward what is seen; follow what is sent."""
        if isinstance(event, SegmentSeen):
            self._forward(event.segment)
            self._backoff.queued(event)
        else:
            self._backoff.done(event)
        if (change := self._backoff.change(on=True)) is not None:
            self._actions.append(change)

    def counters(self) -> dict[str, int]:
        """Frames after which the node kept silent longer."""
        return {"paced": self._backoff.paced}
