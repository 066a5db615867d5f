"""Copies of one flow's segments in the air, kept for local retransmission.

The store names segments by the shell's handles; the shell owns the bytes (`Forward(keep=True)`, `Resend`, `Release`).
Every handle given to `keep` comes back exactly once, from `keep`, `acknowledged`, `evict` or `drain`, to be released.
"""

from __future__ import annotations

from collections import OrderedDict

from pacelab.pacer.core.segment import Segment, seq_diff


class RetransmissionStore:
    """Kept segments by their first sequence number, oldest first, and which hole was filled last, when."""

    __slots__ = ("_hole", "_kept", "_resent_ns", "kept_bytes")

    def __init__(self) -> None:
        self._kept: OrderedDict[int, Segment] = OrderedDict()
        self._hole: int | None = None
        self._resent_ns = 0
        self.kept_bytes = 0
        """Payload kept."""

    def keep(self, segment: Segment) -> int | None:
        """Remember a segment that goes out with `keep`; returns the handle of an older copy that it replaces."""
        older = self._kept.get(segment.seq)
        self._kept[segment.seq] = segment
        self.kept_bytes += segment.payload_bytes
        if older is None:
            return None
        self.kept_bytes -= older.payload_bytes
        return older.handle

    def acknowledged(self, ack: int) -> list[int]:
        """Handles that a cumulative ACK makes superfluous."""
        handles = []
        kept = self._kept
        while kept:
            first = next(iter(kept.values()))
            if seq_diff(ack, first.end_seq) < 0:
                break
            handles.append(self.evict())
        return handles

    def fill(self, now_ns: int, hole_seq: int, rtt_ns: int) -> tuple[Segment | None, bool]:
        """For a duplicate ACK that asks for `hole_seq`: the kept segment there, and whether to send it now.

        Not now if it went out less than `rtt_ns` ago: the duplicates of one round trip tell of one loss.
        """
        segment = self._kept.get(hole_seq)
        if segment is None:
            return None, False
        if self._hole == hole_seq and now_ns - self._resent_ns < rtt_ns:
            return segment, False
        self._hole, self._resent_ns = hole_seq, now_ns
        return segment, True

    def filled(self, now_ns: int) -> None:
        """The segment of the hole last asked for has left only now, having waited for its turn."""
        self._resent_ns = now_ns

    def evict(self) -> int:
        """Forget the oldest kept segment; its handle."""
        segment = self._kept.popitem(last=False)[1]
        self.kept_bytes -= segment.payload_bytes
        return segment.handle

    def drain(self) -> list[int]:
        """Forget all; their handles."""
        handles = [segment.handle for segment in self._kept.values()]
        self._kept.clear()
        self.kept_bytes = 0
        return handles

    def __len__(self) -> int:
        """Segments kept."""
        return len(self._kept)
