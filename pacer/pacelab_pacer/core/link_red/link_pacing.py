"""Adaptive pacing in the link layer: after a frame, wait as long as the next node needs to pass it on.

A node that has sent a frame normally competes again after a random backoff, while its neighbour tries to forward what
it has just received. One packet time more lets the frame get two hops away, out of the exposed terminal's reach.
"""

from __future__ import annotations

from pacelab_pacer.core.contract import Event, SegmentSeen, SetExtraBackoff, TransmitResult
from pacelab_pacer.core.link_red.link_hook import LinkHook
from pacelab_pacer.core.link_red.link_timing import LinkTiming


class ExtraBackoff:
    """The extra backoff of one node: the exchange time of the frame that is being served.

    Invariants
    1. Segments are never held: each is forwarded within the call that reports it.
    2. Only the backoff after a delivered frame is lengthened, as in the paper ("if receiving an ACK"); the link layer
       below ensures that. The extra backoff is that of the frame in service, and 0 while there is none.
    3. `SetExtraBackoff` is sent only when the value changes.

    Source: [fu] Sec. 6.2, Algorithm 2.
    Deviates: the paper does not say which DATA frame: it is the frame just sent, data or TCP ACK, since that is what
    the next node forwards. Overhead is RTS, CTS, ACK and the SIFSs between. Nor does it say whether the extra backoff
    freezes while the medium is busy, as 802.11's does (the default here), or is "an additional packet transmission
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
        """The link layer has finished a frame; frames queued before it were lost in a full queue."""
        self.paced += result.delivered and self._slots > 0
        handle = result.segment.handle
        if handle in self._waiting:
            while next(iter(self._waiting)) != handle:
                del self._waiting[next(iter(self._waiting))]
            del self._waiting[handle]

    def change(self, *, on: bool) -> SetExtraBackoff | None:
        """The change to report to the link layer, if any; `on` says whether pacing is wanted."""
        slots = next(iter(self._waiting.values()), 0) if on else 0
        if slots == self._slots:
            return None
        self._slots = slots
        return SetExtraBackoff(slots, self._wall_clock)


class LinkPacing(LinkHook):
    """Adaptive pacing alone, at one wireless node.

    Source: [fu] Sec. 6.2 and 6.3.2.
    Deviates: always on. In the paper LRED switches pacing when both work together; it does not say when pacing alone is
    on.
    """

    def __init__(self, backoff: ExtraBackoff) -> None:
        super().__init__()
        self._backoff = backoff

    def handle(self, now_ns: int, event: Event) -> None:
        """Forward each segment, and follow what the link layer sends."""
        if isinstance(event, SegmentSeen):
            self._forward(event.segment)
            self._backoff.queued(event)
        else:
            self._backoff.done(event)
        if (change := self._backoff.change(on=True)) is not None:
            self._actions.append(change)

    def counters(self) -> dict[str, int]:
        """Frames after which the node waited longer."""
        return {"paced": self._backoff.paced}
