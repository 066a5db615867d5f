"""The window that a gateway lets a sender see."""

from __future__ import annotations

from pacelab_pacer.core.segment import ACK, SEQUENCE_SPACE, Segment, seq_diff


class WindowEdge:
    """The right edge of the window that a gateway lets a sender see: it never moves back.

        edge = max over all ACKs forwarded of (acknowledgement number + window written)

    Invariants
    1. A window written never ends before the edge, as long as the receiver's own does not (RFC 9293 Sec. 3.8.6: "a
       receiver SHOULD NOT shrink the window"): a narrower window takes effect as ACKs catch up with the edge.
    2. A window written never exceeds the receiver's own. Windows are in octets with window scaling applied, as
       `Segment.window_bytes` is; the driver scales them back. A window that is no multiple of the scale must be rounded
       up, or the edge would move.
    """

    __slots__ = ("_fresh", "edge")

    def __init__(self, *, fresh: bool) -> None:
        """`fresh`: the connection opens here, and no window was promised. Otherwise the first ACK's own window was."""
        self.edge: int | None = None
        """Number after the last octet promised; None before the first ACK."""
        self._fresh = fresh

    def grant(self, segment: Segment, wanted_bytes: int) -> int:
        """The window to write into a segment of the receiver: `wanted_bytes` as far as the invariants allow."""
        advertised_bytes = segment.window_bytes
        if not segment.flags & ACK:  # a SYN: its window counts from a number that only its answer contains
            return min(advertised_bytes, wanted_bytes)
        promised_bytes = self._promised_bytes(segment)
        window_bytes = min(advertised_bytes, max(wanted_bytes, promised_bytes))
        if self.edge is None or window_bytes > promised_bytes:
            self.edge = (segment.ack + window_bytes) % SEQUENCE_SPACE
        return window_bytes

    def _promised_bytes(self, segment: Segment) -> int:
        if self.edge is not None:
            return seq_diff(self.edge, segment.ack)
        return 0 if self._fresh else segment.window_bytes
