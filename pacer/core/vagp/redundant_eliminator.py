"""The Redundant Eliminator: what the receiver has acknowledged does not go over the air again.

Invariants
1. A segment is redundant only if all of it is acknowledged, by an ACK that was seen: never by what the flow's first
   segment suggests.
2. Whoever sends a redundant segment has missed that ACK, so it gets the ACK again. Dropped in silence, as printed, the
   segment would come again until the sender gave up.
"""

from __future__ import annotations

from pacelab.pacer.core.segment import ACK, Segment, seq_diff

ACK_BYTES = 40
"""IP and TCP without options."""


class RedundantEliminator:
    """The highest ACK of one flow, and how the receiver said it.

    Source: [vagp] Sec. V-C Algorithm 2, "if seq <= highest_seq then drop it".
    Deviates: compares the segment's end, not its start, and answers (invariant 2).
    """

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: Segment | None = None

    def acknowledged(self, segment: Segment) -> None:
        """Note a segment of the receiver whose ACK is believed, and no older than the one before."""
        self._last = segment

    def is_redundant(self, segment: Segment) -> bool:
        """Whether all octets of a data segment are acknowledged."""
        return self._last is not None and seq_diff(self._last.ack, segment.end_seq) >= 0

    def answer(self) -> Segment:
        """That ACK again: pure, from after whatever the receiver has sent itself. Only after `is_redundant`."""
        last = self._last
        assert last is not None
        return last._replace(
            handle=0, flags=ACK, seq=last.end_seq, payload_bytes=0, packet_bytes=ACK_BYTES, rtt_wired_ns=None
        )
