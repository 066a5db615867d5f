"""Which flow's packet leaves next, and when.

`Wakes` is what a pacing hook asks. In a `WakeHeap` each flow has a schedule of its own; in `rate_shaper` all flows
share one rate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

K = TypeVar("K")

_SLACK = 64
"""So many stale entries are always tolerated, so that small heaps are not rebuilt."""


class Wakes(ABC, Generic[K]):
    """Which flow's head leaves next, and when."""

    @abstractmethod
    def set(self, flow: K, at_ns: int) -> None:
        """The flow's head waits; alone, it would leave at this time."""

    @abstractmethod
    def cancel(self, flow: K) -> None:
        """Nothing of the flow waits now."""

    @abstractmethod
    def next_ns(self) -> int | None:
        """When `pop_due` gives a flow."""

    @abstractmethod
    def pop_due(self, now_ns: int) -> K | None:
        """The flow whose head leaves now; the caller sets it again if more waits."""


class _Wake(Generic[K]):
    """One wake of a flow; live until it is replaced or cancelled."""

    __slots__ = ("at_ns", "flow", "is_live", "serial")

    def __init__(self, flow: K, at_ns: int, serial: int) -> None:
        self.flow = flow
        self.at_ns = at_ns
        self.serial = serial
        self.is_live = True

    def __lt__(self, other: _Wake[K]) -> bool:
        return self.at_ns < other.at_ns or (self.at_ns == other.at_ns and self.serial < other.serial)


class WakeHeap(Wakes[K]):
    """The next wake-up of each flow: at most one pending wake per flow, ordered by (time, order of setting).

    A heap with lazy deletion: `set` and `pop_due` cost O(log n), `next_ns` O(1) amortised. A changed or cancelled wake
    leaves a stale entry behind. Stale entries are removed when they reach the top or outnumber the live ones, so that
    the heap has at most about twice as many entries as flows.
    """

    def __init__(self) -> None:
        self._heap: list[_Wake[K]] = []
        self._wake_of: dict[K, _Wake[K]] = {}
        self._serial = 0

    def set(self, flow: K, at_ns: int) -> None:
        """Wake `flow` at this time, instead of an earlier setting."""
        before = self._wake_of.get(flow)
        if before is not None:
            if before.at_ns == at_ns:
                return
            if len(self._heap) == 1:  # a single flow, as usual: nothing to order
                before.at_ns = at_ns
                return
            before.is_live = False
        self._serial += 1
        wake = self._wake_of[flow] = _Wake(flow, at_ns, self._serial)
        heappush(self._heap, wake)
        if len(self._heap) > 2 * len(self._wake_of) + _SLACK:
            self._heap = [wake for wake in self._heap if wake.is_live]
            heapify(self._heap)

    def cancel(self, flow: K) -> None:
        """Do not wake `flow`."""
        wake = self._wake_of.pop(flow, None)
        if wake is not None:
            wake.is_live = False

    def next_ns(self) -> int | None:
        """Time of the earliest wake."""
        heap = self._heap
        while heap and not heap[0].is_live:
            heappop(heap)
        return heap[0].at_ns if heap else None

    def pop_due(self, now_ns: int) -> K | None:
        """The flow of the earliest wake if it is due; this removes the wake."""
        at_ns = self.next_ns()
        if at_ns is None or at_ns > now_ns:
            return None
        flow = heappop(self._heap).flow
        del self._wake_of[flow]
        return flow

    def __contains__(self, flow: K) -> bool:
        """Whether `flow` will be woken."""
        return flow in self._wake_of

    def __len__(self) -> int:
        """Entries held, stale ones included."""
        return len(self._heap)
