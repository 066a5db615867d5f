"""The wired round trip of a connection through a gateway, timed where it can be.

    handshake    from its SYN-ACK, going on to the wired side, to the answer
    windows      where none was timed (it was repeated, went through another gateway, or the wireless side opened): from
                 the ACK that first lets an octet come to its coming, the least so far

Invariant: a time by windows is never too short, for nothing beyond a window comes before the ACK that opens it has gone
all the way; and it is right as soon as a window once holds the source back, which is when it matters.

Source: Karn's rule, RFC 6298 Sec. 3: what was sent twice is not timed.
"""

from __future__ import annotations

from pacelab.pacer.core.segment import ACK, SYN, Segment, seq_diff


class WiredClock:
    """Times the wired part of one connection."""

    __slots__ = ("_awaited", "_is_timed", "_syn_ack_ns", "_syn_acks", "wired_ns")

    def __init__(self) -> None:
        self._syn_ack_ns = 0
        self._syn_acks = 0
        self._is_timed = False
        self._awaited: tuple[int, int] | None = None
        """(first octet that an ACK has let come, when that ACK went on)"""
        self.wired_ns: int | None = None
        """None while unknown."""

    def observe(self, now_ns: int, segment: Segment, *, outward: bool) -> None:
        """Note a segment of the connection (`outward`: towards the air)."""
        flags = segment.flags & (SYN | ACK)
        if flags == SYN | ACK and not outward:
            self._syn_acks += 1
            self._syn_ack_ns = now_ns
        elif flags == ACK and outward and self._syn_acks == 1 and self.wired_ns is None:
            self.wired_ns = now_ns - self._syn_ack_ns
            self._is_timed = True
        elif outward and self._awaited is not None and seq_diff(segment.end_seq, self._awaited[0]) > 0:
            came_ns = now_ns - self._awaited[1]
            self.wired_ns = came_ns if self.wired_ns is None else min(self.wired_ns, came_ns)
            self._awaited = None

    def opened(self, now_ns: int, edge: int | None) -> None:
        """A window that goes on to the wired side now ends beyond `edge`, where the ones before it ended."""
        if not self._is_timed and self._awaited is None and edge is not None:
            self._awaited = (edge, now_ns)
