"""How a pacer recognises that a connection of others has ended."""

from __future__ import annotations

from pacelab_pacer.core.segment import ACK, FIN, Segment, seq_diff


class Teardown:
    """The proper end of a connection: FIN both ways, both acknowledged.

    Source: [tcp-gap] Sec. 4.3, "proper flow termination using the FIN-ACK sequence"; RFC 9293 Sec. 3.6.
    A lost or unseen FIN leaves the flow to its idle timeout.
    """

    __slots__ = ("_fin_end", "_finished", "has_begun")

    def __init__(self) -> None:
        self.has_begun = False
        """A FIN was seen. Before that `observe` need not be called for segments without one."""
        self._fin_end: list[int | None] = [None, None]
        self._finished = [False, False]

    def observe(self, segment: Segment, *, outward: bool) -> bool:
        """Process a segment (`outward`: towards the peer of this node's side); True once both FINs are acknowledged."""
        flags = segment.flags
        if flags & FIN:
            self._fin_end[outward] = segment.end_seq
            self.has_begun = True
        fin_end = self._fin_end[not outward]
        if fin_end is not None and flags & ACK and seq_diff(segment.ack, fin_end) >= 0:
            self._finished[not outward] = True
        return self._finished[0] and self._finished[1]
