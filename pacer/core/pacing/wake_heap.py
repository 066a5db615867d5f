"""When which flow next wants the clock: a heap with lazy deletion.

`set` and `pop_due` cost O(log n), `next_ns` O(1) amortised. A changed or cancelled wake leaves a stale entry behind;
stale entries go when they surface or when they outnumber the live ones, so that the heap stays within about twice the
flows it serves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

F = TypeVar("F")

_SLACK = 64
"""Stale entries tolerated regardless; spares small heaps the rebuilding."""


class Wakes(ABC, Generic[F]):
    """Which flow's head leaves next, and when."""

    @abstractmethod
    def set(self, flow: F, at_ns: int) -> None:
        """The flow's head waits, by itself until this time."""

    @abstractmethod
    def cancel(self, flow: F) -> None:
        """Nothing of the flow waits any more."""

    @abstractmethod
    def next_ns(self) -> int | None:
        """When `pop_due` gives a flow."""

    @abstractmethod
    def pop_due(self, now_ns: int) -> F | None:
        """The flow whose head leaves now; to be set again if more waits."""


class _Wake(Generic[F]):
    """One wake of a flow: what `set` put there last, as long as it is live."""

    __slots__ = ("at_ns", "flow", "is_live", "serial")

    def __init__(self, flow: F, at_ns: int, serial: int) -> None:
        self.flow = flow
        self.at_ns = at_ns
        self.serial = serial
        self.is_live = True

    def __lt__(self, other: _Wake[F]) -> bool:
        return self.at_ns < other.at_ns or (self.at_ns == other.at_ns and self.serial < other.serial)


class WakeHeap(Wakes[F]):
    """At most one pending wake per flow, ordered by (time, order of setting)."""

    def __init__(self) -> None:
        self._heap: list[_Wake[F]] = []
        self._wake_of: dict[F, _Wake[F]] = {}
        self._serial = 0

    def set(self, flow: F, at_ns: int) -> None:
        """Wake `flow` at this time instead of any set before."""
        before = self._wake_of.get(flow)
        if before is not None:
            if before.at_ns == at_ns:
                return
            before.is_live = False
        self._serial += 1
        wake = self._wake_of[flow] = _Wake(flow, at_ns, self._serial)
        heappush(self._heap, wake)
        if len(self._heap) > 2 * len(self._wake_of) + _SLACK:
            self._heap = [wake for wake in self._heap if wake.is_live]
            heapify(self._heap)

    def cancel(self, flow: F) -> None:
        """Wake `flow` no more."""
        wake = self._wake_of.pop(flow, None)
        if wake is not None:
            wake.is_live = False

    def next_ns(self) -> int | None:
        """Time of the earliest wake."""
        heap = self._heap
        while heap and not heap[0].is_live:
            heappop(heap)
        return heap[0].at_ns if heap else None

    def pop_due(self, now_ns: int) -> F | None:
        """The flow of the earliest wake if its time has come; the wake is spent."""
        at_ns = self.next_ns()
        if at_ns is None or at_ns > now_ns:
            return None
        flow = heappop(self._heap).flow
        del self._wake_of[flow]
        return flow

    def __contains__(self, flow: F) -> bool:
        """Whether `flow` will be woken."""
        return flow in self._wake_of

    def __len__(self) -> int:
        """Entries held, stale ones included."""
        return len(self._heap)
