"""Whose packet leaves next, and when: each flow by its own schedule (`WakeHeap`), or all by one rate (`RateShaper`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from pacelab.units import transmission_ns
from pacelab_pacer.core.pacing.paced_flow import PacedFlow, ReleaseSchedule

K = TypeVar("K")

_SLACK = 64
"""Stale entries tolerated regardless; spares small heaps the rebuilding."""


class Wakes(ABC, Generic[K]):
    """Which flow's head leaves next, and when."""

    @abstractmethod
    def set(self, flow: K, at_ns: int) -> None:
        """The flow's head waits, by itself until this time."""

    @abstractmethod
    def cancel(self, flow: K) -> None:
        """Nothing of the flow waits any more."""

    @abstractmethod
    def next_ns(self) -> int | None:
        """When `pop_due` gives a flow."""

    @abstractmethod
    def pop_due(self, now_ns: int) -> K | None:
        """The flow whose head leaves now; to be set again if more waits."""


class _Wake(Generic[K]):
    """One wake of a flow: what `set` put there last, as long as it is live."""

    __slots__ = ("at_ns", "flow", "is_live", "serial")

    def __init__(self, flow: K, at_ns: int, serial: int) -> None:
        self.flow = flow
        self.at_ns = at_ns
        self.serial = serial
        self.is_live = True

    def __lt__(self, other: _Wake[K]) -> bool:
        return self.at_ns < other.at_ns or (self.at_ns == other.at_ns and self.serial < other.serial)


class WakeHeap(Wakes[K]):
    """When which flow next wants the clock: at most one pending wake per flow, ordered by (time, order of setting).

    A heap with lazy deletion: `set` and `pop_due` cost O(log n), `next_ns` O(1) amortised. A changed or cancelled wake
    leaves a stale entry behind; stale entries go when they surface or when they outnumber the live ones, so that the
    heap stays within about twice the flows it serves.
    """

    def __init__(self) -> None:
        self._heap: list[_Wake[K]] = []
        self._wake_of: dict[K, _Wake[K]] = {}
        self._serial = 0

    def set(self, flow: K, at_ns: int) -> None:
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

    def cancel(self, flow: K) -> None:
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

    def pop_due(self, now_ns: int) -> K | None:
        """The flow of the earliest wake if its time has come; the wake is spent."""
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


F = TypeVar("F", bound=PacedFlow)


class RateShaper(Wakes[F]):
    """One rate for all flows together, shared fairly: the Rate Shaper.

        planned times   after a packet of s octets the next one, of whatever flow, leaves s / R later
        fair share      start-time fair queueing: of the flows that wait, the one whose next octet has the lowest number
                        in a count that all flows share; a flow that comes back starts no lower than the one now served

    Invariants
    1. With punctual timeouts a release follows the one before by at least its size over the rate, whoever they belong
       to.
    2. Of two flows that both wait all the time neither gets more than one packet ahead of its share, in octets.
    3. What one flow leaves unused, the others have; nobody saves up.

    Source: [vagp] Sec. V-A ("RS distributes available bandwidth to each TCP flow", "fair share"), Sec. IV-B.3 ("the
    next packet is scheduled no earlier than pkt_size / R"); start-time fair queueing is Goyal, Vin and Cheng 1996.
    """

    def __init__(self, rate_bps: float) -> None:
        """`rate_bps` is positive; it counts whole IP packets."""
        self.schedule = ReleaseSchedule()
        """Shared by the flows' queues."""
        self._rate_bps = rate_bps
        self._turns: WakeHeap[F] = WakeHeap()  # by octets, not by time
        self._waiting = 0
        self._served_bytes = 0
        self._last_bytes = 0

    @property
    def rate_bps(self) -> float:
        """R."""
        return self._rate_bps

    def set_rate(self, now_ns: int, rate_bps: float) -> None:
        """Change R; it holds for the distance to the packet released last, too."""
        self._rate_bps = rate_bps
        self._respace(now_ns)

    def __len__(self) -> int:
        """Flows that wait."""
        return self._waiting

    def set(self, flow: F, at_ns: int) -> None:
        """The flow has something to send; it keeps its place if it waits already."""
        if flow not in self._turns:
            self._waiting += 1
            self._turns.set(flow, self._start_bytes(flow))

    def cancel(self, flow: F) -> None:
        """The flow has nothing more to send."""
        if flow in self._turns:
            self._waiting -= 1
            self._turns.cancel(flow)

    def next_ns(self) -> int | None:
        """When the next packet may leave, None while no flow waits."""
        return self.schedule.due_ns() if self._waiting else None

    def pop_due(self, now_ns: int) -> F | None:
        """The flow whose turn it is, if the time has come; the turn is spent."""
        start_bytes = self._turns.next_ns()
        if start_bytes is None or self.schedule.due_ns() > now_ns:
            return None
        self._served_bytes = start_bytes
        self._waiting -= 1
        return self._turns.pop_due(start_bytes)

    def charge(self, now_ns: int, flow: F, packet_bytes: int) -> None:
        """A packet of the flow has just been released."""
        flow.finish_bytes = self._start_bytes(flow) + packet_bytes
        self._last_bytes = packet_bytes
        self._respace(now_ns)

    def _start_bytes(self, flow: F) -> int:
        return max(self._served_bytes, flow.finish_bytes)

    def _respace(self, now_ns: int) -> None:
        self.schedule.set_interval(now_ns, transmission_ns(self._last_bytes, self._rate_bps))
