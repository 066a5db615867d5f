"""A flow's data that was sent and is not acknowledged: round trips, duplicate ACKs, and copies to send again.

Sequence numbers are compared in place, once or more per packet: (a - b) % 2**32 < 2**31 means that a is not before b.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from pacelab_pacer.core.pacing.packet_store import DEFAULT_BYTES, PacketStore
from pacelab_pacer.core.segment import FIN, HALF_SPACE, SEQUENCE_SPACE, Segment

DEFAULT_LIMIT = 1024
"""Segments remembered per flow: sixteen times the papers' window of 64."""
_GONE: Final = 64
"""Number of acknowledged entries that may remain before the others, however many the others are."""
NOTHING: Final = -1
"""Neither progress nor a duplicate: an old ACK, a window update, or an ACK of data that was never seen."""


class Outstanding:
    """Matches the releases of one flow's data segments with the ACKs that return.

    There are three uses: at a wireless source from the pacer's release on (conventional RTT), at the gateway towards
    the air likewise (RTT_wireless), and at the gateway towards the wired side from forwarding on (RTT_wired).

    Copies are named by the driver's handles; the driver owns the bytes (`Forward(keep=True)`, `Resend`, `Release`).

    Invariants
    1. Karn: no sample from an ACK that may cover a retransmitted octet. After a retransmission up to sequence number m,
       samples resume with the first ACK beyond the one that reaches m. An ACK that fills a hole also covers segments
       that waited at the receiver; their "RTT" is the time of the repair and gives no sample either.
    2. An ACK that covers several segments (delayed ACKs) yields one sample, from the newest of them.
    3. Memory is bounded: of more than `limit` unacknowledged segments the oldest are forgotten, their copies apart.
    4. Every handle kept is returned exactly once, by `released`, `acknowledged`, `evict` or `drain`, to be released.

    Source: [tcp-gap] Sec. 4.2, 4.3, Fig. 6 lines 12, 24, 29-30, 38; Karn's rule is RFC 6298 Sec. 3, what a duplicate
    ACK is RFC 5681 Sec. 2.
    Deviates: Fig. 6 looks up the ACK's number as if every segment had its own ACK; here an ACK is cumulative.
    """

    __slots__ = (
        "_ends",
        "_first",
        "_hole",
        "_kept",
        "_left_ns",
        "_limit",
        "_resent_ns",
        "_sizes",
        "_store",
        "_tainted_to",
        "_window_bytes",
        "ack",
        "highest_end",
        "kept_bytes",
    )

    def __init__(self, limit: int = DEFAULT_LIMIT, *, store: PacketStore | None = None) -> None:
        """`store`: counts the copies together with those of other flows."""
        self._limit = limit
        self._store = PacketStore(DEFAULT_BYTES, 1) if store is None else store
        # Lists and the index of the oldest entry: compiled, this is the cheapest queue of numbers.
        self._ends: list[int] = []
        self._left_ns: list[int] = []
        self._sizes: list[int] = []
        self._first = 0
        self._tainted_to: int | None = None
        self._kept: OrderedDict[int, tuple[int, Segment]] = OrderedDict()
        """First sequence number -> (end, segment), oldest first."""
        self._hole: int | None = None
        self._resent_ns = 0
        self._window_bytes = 0
        self.ack: int | None = None
        """The highest acknowledgement so far; before the first one, the flow's first number; before that, None."""
        self.highest_end: int | None = None
        """Sequence number after the last octet released so far."""
        self.kept_bytes = 0
        """Payload kept."""

    def begin(self, first_seq: int) -> None:
        """The first data segment was seen: everything before it counts as acknowledged."""
        if self.ack is None:
            self.ack = first_seq

    def released(self, now_ns: int, segment: Segment, *, keep: bool = False) -> int | None:
        """Note that a data segment left; one that repeats octets counts as a retransmission.

        With `keep` a copy stays here; the handle of an older copy that it replaces is returned.
        """
        seq, payload_bytes = segment.seq, segment.payload_bytes
        end = (seq + payload_bytes + (segment.flags & FIN)) % SEQUENCE_SPACE  # data has no SYN; FIN is bit 0
        highest = self.highest_end
        if highest is None or (seq - highest) % SEQUENCE_SPACE < HALF_SPACE:
            self.highest_end = end
            self._ends.append(end)
            self._left_ns.append(now_ns)
            self._sizes.append(segment.packet_bytes)
            if len(self._ends) - self._first > self._limit:
                self._first += 1
                if self._first > _GONE:
                    self._compact()
        else:
            self.retransmitted(end)
            if 0 < (end - highest) % SEQUENCE_SPACE < HALF_SPACE:
                self.highest_end = end
        if not keep:
            return None
        older = self._kept.get(seq)
        self._kept[seq] = (end, segment)
        self.kept_bytes += payload_bytes
        self._store.kept_bytes += payload_bytes
        if older is None:
            return None
        self.kept_bytes -= older[1].payload_bytes
        self._store.kept_bytes -= older[1].payload_bytes
        return older[1].handle

    def retransmitted(self, end_seq: int) -> None:
        """Note that octets up to `end_seq` left a second time."""
        if self._tainted_to is None or 0 < (end_seq - self._tainted_to) % SEQUENCE_SPACE < HALF_SPACE:
            self._tainted_to = end_seq

    def advance(self, segment: Segment) -> int:
        """What a cumulative ACK says: octets newly acknowledged (> 0), 0 for a duplicate ACK, or `NOTHING`.

        One beyond the highest number sent and its FIN is not believed.
        """
        ack, window_bytes = segment.ack, segment.window_bytes
        known, highest = self.ack, self.highest_end
        if known is None or highest is None or 1 < (ack - highest) % SEQUENCE_SPACE < HALF_SPACE:
            return NOTHING
        advance = (ack - known) % SEQUENCE_SPACE
        if advance >= HALF_SPACE:
            return NOTHING
        repeats = advance == 0 and window_bytes == self._window_bytes and segment.is_pure_ack
        self.ack, self._window_bytes = ack, window_bytes
        return advance if advance or repeats else NOTHING

    def acknowledged(self, now_ns: int, ack: int) -> tuple[int | None, int, list[int]]:
        """The results of a cumulative ACK: a round trip in ns, if any, the IP packet size of the data segment measured
        (else 0), and the handles of copies that are no longer needed.
        """
        handles = []
        kept = self._kept
        while kept:
            end, segment = next(iter(kept.values()))
            if (ack - end) % SEQUENCE_SPACE >= HALF_SPACE:
                break
            kept.popitem(last=False)
            self.kept_bytes -= segment.payload_bytes
            self._store.kept_bytes -= segment.payload_bytes
            handles.append(segment.handle)
        ends, first = self._ends, self._first
        count, after = len(ends), first
        while after < count and (ack - ends[after]) % SEQUENCE_SPACE < HALF_SPACE:
            after += 1
        rtt_ns, data_bytes = None, 0
        if after > first:
            if self._tainted_to is None:
                rtt_ns, data_bytes = now_ns - self._left_ns[after - 1], self._sizes[after - 1]
            self._first = after
            if after > _GONE:
                self._compact()
        if self._tainted_to is not None and (ack - self._tainted_to) % SEQUENCE_SPACE < HALF_SPACE:
            self._tainted_to = None
        return rtt_ns, data_bytes, handles

    def _compact(self) -> None:
        """Free the entries before the oldest one, once they are most of the lists."""
        first = self._first
        if 2 * first > len(self._ends):
            del self._ends[:first], self._left_ns[:first], self._sizes[:first]
            self._first = 0

    def fill(self, now_ns: int, hole_seq: int, rtt_ns: int) -> tuple[Segment | None, bool]:
        """For a duplicate ACK that asks for `hole_seq`: the kept segment there, and whether to send it now.

        Not if it left less than `rtt_ns` ago: the duplicates of one round trip report the same loss.
        """
        kept = self._kept.get(hole_seq)
        if kept is None:
            return None, False
        if self._hole == hole_seq and now_ns - self._resent_ns < rtt_ns:
            return kept[1], False
        self._hole, self._resent_ns = hole_seq, now_ns
        return kept[1], True

    def filled(self, now_ns: int) -> None:
        """The segment for the last hole had to wait for its turn and has left now."""
        self._resent_ns = now_ns

    def evict(self) -> int:
        """Forget the oldest copy; its handle."""
        segment = self._kept.popitem(last=False)[1][1]
        self.kept_bytes -= segment.payload_bytes
        self._store.kept_bytes -= segment.payload_bytes
        return segment.handle

    def drain(self) -> list[int]:
        """Forget all copies; their handles."""
        handles = [segment.handle for _, segment in self._kept.values()]
        self._kept.clear()
        self._store.kept_bytes -= self.kept_bytes
        self.kept_bytes = 0
        return handles

    def __len__(self) -> int:
        """Segments waiting for their ACK."""
        return len(self._ends) - self._first
