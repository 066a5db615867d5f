"""What the link layer has done for one direction of a connection, and which acknowledgements follow.

Invariants
1. `acknowledged` only moves forward, and only over octets that the link layer reported as delivered.
2. A segment delivered out of order is reported to the source (by a duplicate ACK) only if the octet at `acknowledged`
   is not at this node: then it was lost before this node, and only the source can send it again. An octet at this node
   waits for its own retransmission, and the source need not know.
"""

from __future__ import annotations

from typing import NamedTuple

from pacelab_pacer.core.segment import SEQUENCE_SPACE, FlowKey, Segment, seq_diff


class EntryKey(NamedTuple):
    """Identifies a segment in the link layer's reports, where it has another handle."""

    flow: FlowKey
    seq: int
    end_seq: int


class Entry:
    """A segment at this node: held, or handed to the link layer with a copy kept."""

    __slots__ = ("failures", "half", "key", "passed_ns", "segment")

    def __init__(self, half: LinkHalf, segment: Segment) -> None:
        self.half = half
        self.segment = segment
        self.key = EntryKey(segment.flow, segment.seq, segment.end_seq)
        self.passed_ns: int | None = None
        """When the segment was last given to the link layer; None while it is held."""
        self.failures = 0
        """Reports of failure so far."""


class LinkHalf:
    """One direction of a connection: from this node over its wireless link."""

    __slots__ = ("acknowledged", "ahead", "entries", "passed_pkts", "untold")

    def __init__(self, first_seq: int) -> None:
        """`first_seq` is the number after the SYN."""
        self.acknowledged = first_seq
        """The link layer has delivered everything before this number."""
        self.ahead: list[tuple[int, int]] = []
        """Deliveries beyond that number: (first octet, end) in the order of delivery."""
        self.entries: dict[EntryKey, Entry] = {}
        """Segments at this node."""
        self.passed_pkts = 0
        """How many of these segments the link layer has."""
        self.untold = 0
        """Segments in `ahead` that no duplicate ACK has reported."""

    def holds(self, segment: Segment) -> bool:
        """Whether a copy of the segment is at this node."""
        return EntryKey(segment.flow, segment.seq, segment.end_seq) in self.entries

    def has_delivered(self, segment: Segment) -> bool:
        """Whether a segment has been delivered completely; never true for a FIN, which is not acknowledged here."""
        return seq_diff(segment.end_seq, self.acknowledged) <= 0

    def deliver(self, segment: Segment) -> int:
        """Process a delivery; the number of octets newly acknowledged. A FIN does not count."""
        start, end = segment.seq, (segment.seq + segment.payload_bytes) % SEQUENCE_SPACE
        before = self.acknowledged
        if seq_diff(end, before) <= 0:
            return 0
        if seq_diff(start, before) > 0:
            if (start, end) not in self.ahead:
                self.ahead.append((start, end))
                self.untold += 1
            return 0
        self.acknowledged = end
        self._absorb()
        return seq_diff(self.acknowledged, before)

    def duplicates_due(self) -> int:
        """Duplicate ACKs to send now (invariant 2). They count as sent."""
        if not self.untold or self._hole_is_here():
            return 0
        due, self.untold = self.untold, 0
        return due

    def _absorb(self) -> None:
        """Advance over segments that were delivered ahead."""
        moved = True
        while moved:
            moved = False
            for start, end in self.ahead:
                if seq_diff(start, self.acknowledged) <= 0:
                    self.ahead.remove((start, end))
                    if seq_diff(end, self.acknowledged) > 0:
                        self.acknowledged = end
                    moved = True
                    break
        self.untold = min(self.untold, len(self.ahead))

    def _hole_is_here(self) -> bool:
        hole = self.acknowledged
        return any(seq_diff(key.seq, hole) <= 0 < seq_diff(key.end_seq, hole) for key in self.entries)
