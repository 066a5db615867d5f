"""When which flow next wants the clock: a heap with lazy deletion.

`set` and `pop_due` cost O(log n), `next_ns` O(1) amortised. A changed or cancelled wake leaves a stale entry behind;
stale entries go when they surface or when they outnumber the live ones, so that the heap stays within about twice the
flows it serves.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

F = TypeVar("F")

_SLACK = 64
"""Stale entries tolerated regardless; spares small heaps the rebuilding."""


class WakeHeap(Generic[F]):
    """At most one pending wake per flow, ordered by (time, order of setting)."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, F]] = []
        self._serial_of: dict[F, int] = {}
        self._at_ns: dict[F, int] = {}
        self._serial = 0

    def set(self, flow: F, at_ns: int) -> None:
        """Wake `flow` at this time instead of any set before."""
        if self._at_ns.get(flow) == at_ns:
            return
        self._serial += 1
        self._at_ns[flow] = at_ns
        self._serial_of[flow] = self._serial
        heappush(self._heap, (at_ns, self._serial, flow))
        if len(self._heap) > 2 * len(self._at_ns) + _SLACK:
            self._heap = [entry for entry in self._heap if self._serial_of.get(entry[2]) == entry[1]]
            heapify(self._heap)

    def cancel(self, flow: F) -> None:
        """Wake `flow` no more."""
        self._at_ns.pop(flow, None)
        self._serial_of.pop(flow, None)

    def next_ns(self) -> int | None:
        """Time of the earliest wake."""
        heap = self._heap
        while heap:
            at_ns, serial, flow = heap[0]
            if self._serial_of.get(flow) == serial:
                return at_ns
            heappop(heap)
        return None

    def pop_due(self, now_ns: int) -> F | None:
        """The flow of the earliest wake if its time has come; the wake is spent."""
        at_ns = self.next_ns()
        if at_ns is None or at_ns > now_ns:
            return None
        flow = heappop(self._heap)[2]
        self.cancel(flow)
        return flow

    def __contains__(self, flow: F) -> bool:
        """Whether `flow` will be woken."""
        return flow in self._at_ns

    def __len__(self) -> int:
        """Entries held, stale ones included."""
        return len(self._heap)
