"""What a cumulative ACK says about one flow: progress, a duplicate, or neither."""

from __future__ import annotations

from pacelab.pacer.core.segment import Segment, seq_diff

NOTHING = -1
"""Neither progress nor a duplicate: old, a window update, or of data never seen."""


class AckProgress:
    """Follows the highest acknowledgement of one flow.

    Source: RFC 5681 Sec. 2 (what a duplicate ACK is).
    """

    __slots__ = ("_ack", "_window_bytes")

    def __init__(self, first_seq: int) -> None:
        """`first_seq` starts the first data segment seen: all before counts as acknowledged."""
        self._ack = first_seq
        self._window_bytes = 0

    @property
    def ack(self) -> int:
        """The highest acknowledgement so far; before the first one, where the flow starts."""
        return self._ack

    def observe(self, segment: Segment, highest_end: int | None) -> int:
        """Octets newly acknowledged (> 0), 0 for a duplicate ACK, or `NOTHING`.

        `highest_end` is the flow's highest sequence number sent; an ACK beyond it and its FIN is not believed.
        """
        ack, window = segment.ack, segment.window_bytes
        if highest_end is None or seq_diff(ack, highest_end) > 1:
            return NOTHING
        advance = seq_diff(ack, self._ack)
        if advance < 0:
            return NOTHING
        duplicate = advance == 0 and window == self._window_bytes and segment.is_pure_ack
        self._ack, self._window_bytes = ack, window
        if advance > 0:
            return advance
        return 0 if duplicate else NOTHING
