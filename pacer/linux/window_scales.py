"""Window scaling per direction of each connection: a TCP header names its window in units that only the SYNs told.

Invariants
1. A scale counts only when both SYNs offered one (RFC 7323 Sec. 2.2), and never in a SYN itself.
2. A connection whose SYNs were not seen (this process started in the middle of it) gets the smallest scale under which
   its sender has kept to the window so far: a lower bound of the window, and never less than what is under way.
   Such a scale is good for reading, not for writing.
3. At most `MAX_FLOWS` directions are remembered; the one not heard of for longest goes first.
"""

from __future__ import annotations

from collections import OrderedDict

from pacelab.pacer.core.segment import SEQUENCE_SPACE, FlowKey

MAX_SHIFT = 14
"""RFC 7323 Sec. 2.3."""
MAX_FLOWS = 32_768
_HALF = SEQUENCE_SPACE // 2


class _Direction:
    __slots__ = ("highest_end", "inferred", "offered", "syn_seen")

    def __init__(self) -> None:
        self.syn_seen = False
        self.offered: int | None = None
        self.highest_end: int | None = None
        self.inferred = 0


class WindowScales:
    """What is known of every direction's scale."""

    def __init__(self, max_flows: int = MAX_FLOWS) -> None:
        self._max = max_flows
        self._known: OrderedDict[FlowKey, _Direction] = OrderedDict()

    def note_syn(self, flow: FlowKey, shift: int | None) -> None:
        """A SYN or SYN-ACK of `flow` offered this shift, or none."""
        direction = self._direction(flow)
        direction.syn_seen = True
        direction.offered = None if shift is None else min(shift, MAX_SHIFT)
        direction.highest_end = None
        direction.inferred = 0

    def shift(self, flow: FlowKey) -> int | None:
        """Shift of the windows that `flow`'s segments advertise; None when not both SYNs were seen."""
        own = self._known.get(flow)
        other = self._known.get(flow.reversed())
        if own is None or other is None or not (own.syn_seen and other.syn_seen):
            return None
        return 0 if own.offered is None or other.offered is None else own.offered

    def unit(self, flow: FlowKey) -> int:
        """The shift that `window_bytes` reads by: for a segment made up from what was read."""
        shift = self.shift(flow)
        known = self._known.get(flow)
        return shift if shift is not None else 0 if known is None else known.inferred

    def window_bytes(self, flow: FlowKey, raw: int, *, ack: int | None, end_seq: int | None) -> int:
        """The window of a segment that is no SYN; `end_seq` if it carries data, `ack` if it acknowledges."""
        shift = self.shift(flow)
        if shift is not None:
            return raw << shift
        own = self._direction(flow)
        if end_seq is not None and (
            own.highest_end is None or 0 < (end_seq - own.highest_end) % SEQUENCE_SPACE < _HALF
        ):
            own.highest_end = end_seq
        other = self._known.get(flow.reversed())
        if ack is not None and raw and other is not None and other.highest_end is not None:
            under_way = (other.highest_end - ack) % SEQUENCE_SPACE
            while own.inferred < MAX_SHIFT and raw << own.inferred < under_way < _HALF:
                own.inferred += 1
        return raw << own.inferred

    def _direction(self, flow: FlowKey) -> _Direction:
        found = self._known.get(flow)
        if found is None:
            found = self._known[flow] = _Direction()
            if len(self._known) > self._max:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(flow)
        return found

    def __len__(self) -> int:
        """Directions remembered."""
        return len(self._known)
