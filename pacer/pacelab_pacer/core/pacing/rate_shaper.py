"""One rate for all flows together, shared fairly: the Rate Shaper of [vagp]."""

from __future__ import annotations

from typing import TypeVar

from pacelab.units import transmission_ns
from pacelab_pacer.core.pacing.paced_flow import PacedFlow, ReleaseSchedule
from pacelab_pacer.core.pacing.wake_heap import WakeHeap, Wakes

F = TypeVar("F", bound=PacedFlow)


class RateShaper(Wakes[F]):
    """One rate for all flows together, shared fairly: the Rate Shaper.

        planned times   after a packet of s octets the next one, of any flow, leaves s / R later
        fair share      start-time fair queueing: of the flows that wait, the one whose next octet has the lowest number
                        in a count that all flows share; a flow that returns starts no lower than the one now served

    Invariants
    1. With punctual timeouts a release follows the one before by at least that one's size over the rate, whatever flows
       they belong to.
    2. Of two flows that both wait all the time neither gets more than one packet ahead of its share, in octets.
    3. The other flows get what one flow leaves unused; no flow saves its share for later.

    Source: [vagp] Sec. V-A ("RS distributes available bandwidth to each TCP flow", "fair share"), Sec. IV-B.3 ("the
    next packet is scheduled no earlier than pkt_size / R"); start-time fair queueing is Goyal, Vin and Cheng 1996.
    """

    def __init__(self, rate_bps: float) -> None:
        """`rate_bps` is positive and counts whole IP packets."""
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
        """Change R. The distance to the packet released last changes with it."""
        self._rate_bps = rate_bps
        self._respace(now_ns)

    def __len__(self) -> int:
        """Flows that wait."""
        return self._waiting

    def set(self, flow: F, at_ns: int) -> None:
        """The flow has something to send; a flow that waits already keeps its place."""
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
        """The flow whose turn it is, if it is time; this ends the turn."""
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
