"""Round trips for assignment 3's checks, built forwards.

The waiting time per node is chosen, and the rest made of it, where a solution has to go backwards.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from pacelab.grading.lab import MS, S

DATA_BYTES, ACK_BYTES = 1500, 40
EQUAL = (2_000_000,) * 5
DATA_MS = 6.0
"""1500 bytes at 2 Mbit/s."""
RATES = (1_000_000, 2_000_000, 5_500_000, 11_000_000)


class Taken(NamedTuple):
    """A round trip, chosen by how long each node waits: a solution has to find that out."""

    waiting_ms: float
    data_bytes: int = DATA_BYTES
    ack_bytes: int = ACK_BYTES
    rates_bps: tuple[int, ...] = EQUAL

    @property
    def rtt_ns(self) -> int:
        """How long it takes."""
        crossing_ns = sum((self.data_bytes + self.ack_bytes) * 8 * S / rate for rate in self.rates_bps)
        return round(crossing_ns + 2 * len(self.rates_bps) * self.waiting_ms * MS)

    @property
    def delay_ns(self) -> float:
        """Its four-hop delay."""
        ahead = self.rates_bps[:4]
        return len(ahead) * self.waiting_ms * MS + sum(self.data_bytes * 8 * S / rate for rate in ahead)


FIRST = Taken(4)
"""T = 40 ms."""


def wanted_ns(taken: Sequence[Taken]) -> float:
    """T after these round trips."""
    smoothed = taken[0].delay_ns
    for item in taken[1:]:
        smoothed += 0.3 * (item.delay_ns - smoothed)
    trips = [item.rtt_ns for item in taken[-50:]]
    variation = statistics.stdev(trips) / statistics.fmean(trips) if len(trips) > 1 else 0.0
    return min(smoothed * (1 + 2 * variation), 500 * MS)


def drawn(draw: Random, *, hops: int | None = None, rates: Sequence[int] = RATES) -> Taken:
    """A round trip of sizes, rates and waiting that nobody can know."""
    count = hops or draw.randrange(4, 9)
    path = tuple(draw.choice(rates) for _ in range(count))
    return Taken(draw.randrange(1, 300) / 10, draw.randrange(200, 1501), draw.randrange(40, 121), path)
