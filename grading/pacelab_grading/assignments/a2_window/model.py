"""Assignment 2: the window and W*. The model solution."""

from math import ceil

PACELAB_ASSIGNMENT = "2/1"

REUSE_HOPS = 4


def packets_in_the_air(hops):
    """One packet for each started group of four hops."""
    return ceil(hops / REUSE_HOPS)


def goodput_bound_bps(hops, payload_bytes, exchange_ns):
    """One packet per time until it no longer interferes."""
    return payload_bytes * 8e9 / (min(hops, REUSE_HOPS) * exchange_ns)


def best_window(goodput_bps, tolerance=0.05):
    """The smallest window on the plateau."""
    if not goodput_bps:
        raise ValueError("no measurement")
    best = max(goodput_bps.values())
    return min(window for window, rate in goodput_bps.items() if rate >= (1 - tolerance) * best)


class SlidingWindow:
    """The packets that a sender may have in flight."""

    def __init__(self, limit):
        self._next = 0
        self._acknowledged = 0
        self.set_limit(limit)

    def can_send(self):
        """Whether one more packet may be sent now."""
        return self.in_flight() < self._limit

    def send(self):
        """Count the next packet as sent."""
        if not self.can_send():
            raise RuntimeError("the window is full")
        self._next += 1
        return self._next - 1

    def acknowledge(self, number):
        """Cumulative."""
        if not self._acknowledged < number <= self._next:
            return 0
        freed = number - self._acknowledged
        self._acknowledged = number
        return freed

    def in_flight(self):
        """Packets sent and not acknowledged."""
        return self._next - self._acknowledged

    def set_limit(self, limit):
        """Another limit."""
        if limit < 1:
            raise ValueError("a window of at least 1")
        self._limit = limit


def choose_window(hops):
    """One more than the chain carries, because ACKs use the air as well."""
    return packets_in_the_air(hops) + 1
