"""The wired round trip of a connection through a gateway: from its SYN-ACK, going on to the wired side, to the answer.

Source: Karn's rule, RFC 6298 Sec. 3: what was sent twice is not timed.
"""

from __future__ import annotations

from pacelab.pacer.core.segment import ACK, SYN, Segment


class HandshakeClock:
    """Times the handshake of a connection that is opened from the wired side."""

    __slots__ = ("_syn_ack_ns", "_syn_acks", "wired_ns")

    def __init__(self) -> None:
        self._syn_ack_ns = 0
        self._syn_acks = 0
        self.wired_ns: int | None = None
        """None while unknown; for good if no handshake was seen here, or one with repeats."""

    def observe(self, now_ns: int, segment: Segment, *, outward: bool) -> None:
        """Note a segment of the connection (`outward`: towards the air)."""
        flags = segment.flags & (SYN | ACK)
        if flags == SYN | ACK and not outward:
            self._syn_acks += 1
            self._syn_ack_ns = now_ns
        elif flags == ACK and outward and self._syn_acks == 1 and self.wired_ns is None:
            self.wired_ns = now_ns - self._syn_ack_ns
