"""When the next packet may leave, so that packets leave no closer than a pace.

    plan = max(previous plan + T, now)      now: when the packet became the next, or the pace changed

Invariants
1. With punctual timeouts two releases are at least T apart, T being the pace in force at the second.
2. Plans, not releases, are T apart: a late timeout costs no throughput. Up to `MAX_BEHIND` releases are caught up, at
   no more than twice the pace (at least T/2 apart), so that a host that slept does not burst.
"""

from __future__ import annotations

from typing import Final

MAX_BEHIND: Final = 4
"""Releases that may be caught up: enough for a timer's jitter; the time of a longer stall is lost, as airtime is."""

_NEVER_NS = -(1 << 62)
"""Before any clock: the first packet waits for nothing."""


class ReleaseSchedule:
    """Planned times of one flow, or of all flows that share a pace."""

    __slots__ = ("_plan_ns", "_release_ns", "_since_ns", "interval_ns")

    def __init__(self) -> None:
        self.interval_ns = 0
        """T, the pace in force; `set_interval` changes it."""
        self._plan_ns = _NEVER_NS
        self._release_ns = _NEVER_NS
        self._since_ns = _NEVER_NS

    def set_interval(self, now_ns: int, interval_ns: int) -> None:
        """Change the pace; what the new pace would have let go before now goes now."""
        if interval_ns != self.interval_ns:
            self.interval_ns = interval_ns
            self._since_ns = now_ns

    def due_ns(self) -> int:
        """When the next packet may leave."""
        interval = self.interval_ns
        earliest_ns = max(self._release_ns + interval // 2, self._since_ns)  # of two at a time: that is compiled
        return max(self._plan_ns + interval, earliest_ns)

    def admits(self, now_ns: int) -> bool:
        """Whether a packet that comes now, none being before it, may leave at once; if so, count it as released."""
        self._since_ns = now_ns
        interval = self.interval_ns
        if self._plan_ns + interval > now_ns or self._release_ns + interval // 2 > now_ns:  # due later
            return False
        self.released(now_ns)
        return True

    def released(self, now_ns: int) -> None:
        """Note a release, due or not."""
        earliest_ns = max(self._since_ns, now_ns - MAX_BEHIND * self.interval_ns)
        plan_ns = max(self._plan_ns + self.interval_ns, earliest_ns)
        # A release ahead of its plan (the queue ran over) restarts the spacing from now.
        self._plan_ns = min(plan_ns, now_ns)
        self._release_ns = now_ns
