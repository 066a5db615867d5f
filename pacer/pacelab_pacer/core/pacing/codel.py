"""CoDel's law: when a queue drops, from how long the packet at its head has waited.

The caller asks for the head before each release. While the answer is True it drops that packet, or marks it and sends
it, and asks for the next one.

    standing   every head for a whole interval has waited for the target or longer, with more than one packet behind it
    next drop  interval / sqrt(drops in this standing queue) after the one before

The target is never less than the time of one and a half packets, since a queue of one packet is no standing queue.

Source: RFC 8289, the pseudocode of Sec. 5, as a function of one packet, with the target and the interval of Sec. 4.3
and 4.4. What they become on a slow link is Linux's rule (`cake_set_rate` of sch_cake.c).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from pacelab.units import NS_PER_MS
from pacelab_pacer.core.checks import AT_LEAST_1, check_fields

RECENT_INTERVALS = 16
"""A standing queue that returns within this many intervals starts at the drop rate at which the last one ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodelConfig:
    """Settings of the law. Raises ValueError on a value out of range."""

    target_ns: int = 5 * NS_PER_MS
    interval_ns: int = 100 * NS_PER_MS

    def __post_init__(self) -> None:
        check_fields(
            self,
            target_ns=AT_LEAST_1,
            interval_ns=AT_LEAST_1,
        )


class CodelLaw:
    """The variables of one queue."""

    __slots__ = (
        *("_config", "_count", "_drop_next_ns", "_dropping", "_first_above_ns", "_has_dropped", "_last_count"),
        *("interval_ns", "target_ns"),
    )

    def __init__(self, config: CodelConfig) -> None:
        self._config = config
        self.target_ns, self.interval_ns = config.target_ns, config.interval_ns
        self._first_above_ns: int | None = None
        """When the queue will have stood for an interval; None: it does not stand."""
        self._dropping = False
        self._has_dropped = False
        """The last answer was True: the next drop is planned once the packet behind it is known."""
        self._drop_next_ns = 0
        self._count = 0
        self._last_count = 0

    def set_pace(self, packet_ns: int) -> None:
        """Set the time between two packets from now on."""
        config = self._config
        self.target_ns = max(config.target_ns, packet_ns * 3 // 2)
        self.interval_ns = max(config.interval_ns + self.target_ns - config.target_ns, 2 * self.target_ns)

    def drops(self, now_ns: int, waited_ns: int, *, pkts_behind: int) -> bool:
        """Whether to drop the head, which has waited for this time, with this many packets behind it
        (counted up to 2).
        """
        if not self._stands(now_ns, waited_ns, pkts_behind):
            self._dropping = self._has_dropped = False
            return False
        if not self._dropping:
            self._begin(now_ns)
            return True
        if self._has_dropped:
            self._drop_next_ns += self._spacing_ns()
            self._has_dropped = False
        if now_ns < self._drop_next_ns:
            return False
        self._count += 1
        self._has_dropped = True
        return True

    def _stands(self, now_ns: int, waited_ns: int, pkts_behind: int) -> bool:
        if waited_ns < self.target_ns or pkts_behind <= 1:
            self._first_above_ns = None
            return False
        if self._first_above_ns is None:
            self._first_above_ns = now_ns + self.interval_ns
        return now_ns >= self._first_above_ns

    def _begin(self, now_ns: int) -> None:
        since_last = self._count - self._last_count
        recent = now_ns < self._drop_next_ns + RECENT_INTERVALS * self.interval_ns
        self._count = self._last_count = since_last if since_last > 1 and recent else 1
        self._dropping = True
        self._drop_next_ns = now_ns + self._spacing_ns()

    def _spacing_ns(self) -> int:
        return int(self.interval_ns / sqrt(self._count))
