"""Assignment 3's checks of the estimates from round trips: the delay, its average and variation, T.

The checks choose the waiting time per node and compute the round-trip time from it. A solution has to go backwards.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from pacelab_grading.rubric.context import MS, CheckContext, S
from pacelab_grading.rubric.expect import exactly, near, numeric
from pacelab_grading.rubric.findings import WrongAnswer
from pacelab_grading.sandbox.failures import Raised
from pacelab_grading.sandbox.remote import RemoteObject

DATA_BYTES, ACK_BYTES = 1500, 40
EQUAL = (2_000_000,) * 5
DATA_MS = 6.0
"""1500 bytes at 2 Mbit/s."""
RATES = (1_000_000, 2_000_000, 5_500_000, 11_000_000)


class Taken(NamedTuple):
    """A round trip with a chosen waiting time per node, which a solution has to find."""

    waiting_ms: float
    data_bytes: int = DATA_BYTES
    ack_bytes: int = ACK_BYTES
    rates_bps: tuple[int, ...] = EQUAL

    @property
    def rtt_ns(self) -> int:
        """The round-trip time."""
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
    """A round trip with random sizes, rates and waiting time."""
    count = hops or draw.randrange(4, 9)
    path = tuple(draw.choice(rates) for _ in range(count))
    return Taken(draw.randrange(1, 300) / 10, draw.randrange(200, 1501), draw.randrange(40, 121), path)


def _delay(context: CheckContext, cases: Sequence[Taken]) -> None:
    delay = context.function("four_hop_delay_ns")
    for taken in cases:
        got = delay(taken.rtt_ns, taken.data_bytes, taken.ack_bytes, taken.rates_bps)
        what = f"FHD of {taken.data_bytes} and {taken.ack_bytes} bytes over {taken.rates_bps}, t_q = "
        near(taken.delay_ns, got, what=f"{what}{taken.waiting_ms:g} ms, in ns")


def equal_rates(context: CheckContext) -> None:
    """Five hops at 2 Mbit/s, then other sizes, rates and lengths."""
    draw = context.random("equal rates")
    others = [drawn(draw, rates=(rate,)) for rate in RATES]
    _delay(context, [Taken(0), Taken(2), Taken(draw.randrange(3, 30)), *others])


def unequal_rates(context: CheckContext) -> None:
    """Links with different rates: the slow one among the first four, then after them.

    Then fewer than four links, if links with one rate are right; otherwise `short_path` takes the points.
    """
    draw = context.random("unequal rates")
    waiting_ms = draw.randrange(1, 20)
    known = (
        (11_000_000, 1_000_000, 2_000_000, 2_000_000, 2_000_000),
        (2_000_000, 2_000_000, 2_000_000, 2_000_000, 1_000_000, 1_000_000),
    )
    _delay(context, [*(Taken(waiting_ms, rates_bps=rates) for rates in known), *(drawn(draw) for _ in range(4))])
    try:
        short_path(context)
    except (WrongAnswer, Raised):
        return
    slow_ends = ((1_000_000, 11_000_000), (11_000_000, 5_500_000, 1_000_000))
    _delay(context, [*(Taken(waiting_ms, rates_bps=rates) for rates in slow_ends), drawn(draw, hops=3)])


def short_path(context: CheckContext) -> None:
    """One to three hops: the h-hop delay."""
    draw = context.random("short path")
    known = [Taken(draw.randrange(1, 20), rates_bps=EQUAL[:hops]) for hops in (3, 2, 1)]
    _delay(context, [*known, *(drawn(draw, hops=hops, rates=(draw.choice(RATES),)) for hops in (3, 2, 1))])


def idle_path(context: CheckContext) -> None:
    """A round trip shorter than the transmission time: t_q is 0, not negative."""
    delay = context.function("four_hop_delay_ns")
    near(4 * DATA_MS * MS, delay(20 * MS, DATA_BYTES, ACK_BYTES, EQUAL), what="FHD without waiting time, in ns")
    draw = context.random("idle path")
    taken = drawn(draw, rates=(draw.choice(RATES),))._replace(waiting_ms=0)
    got = delay(draw.randrange(1, taken.rtt_ns), taken.data_bytes, taken.ack_bytes, taken.rates_bps)
    near(taken.delay_ns, got, what=f"FHD over {taken.rates_bps} without waiting time, in ns")


def _take(estimator: RemoteObject, taken: Taken) -> None:
    estimator.call("sample", taken.rtt_ns, taken.data_bytes, taken.ack_bytes, taken.rates_bps)


def smoothing(context: CheckContext) -> None:
    """Eq. (2): 0.7 of the old value, 0.3 of the new one; the first sample is the initial value."""
    estimator = context.new("PaceEstimator")
    exactly(None, estimator.get("four_hop_delay_ns"), what="FHD_hat before the first sample")
    for waiting_ms, wanted, what in (
        (4, 40.0, "one sample of 40 ms"),
        (14, 0.7 * 40 + 0.3 * 80, "samples of 40 and 80 ms"),
        (14, 0.7 * 52 + 0.3 * 80, "40, 80 and 80 ms"),
    ):
        _take(estimator, Taken(waiting_ms))
        near(wanted * MS, estimator.get("four_hop_delay_ns"), what=f"FHD_hat after {what}")
    draw = context.random("smoothing")
    estimator = context.new("PaceEstimator")
    smoothed = None
    for number in range(1, 6):
        taken = drawn(draw)
        _take(estimator, taken)
        smoothed = taken.delay_ns if smoothed is None else 0.7 * smoothed + 0.3 * taken.delay_ns
        near(smoothed, estimator.get("four_hop_delay_ns"), what=f"FHD_hat after {number} samples of other sizes")


def variation(context: CheckContext) -> None:
    """Eq. (5) by hand: 40, 50, 60 ms have mean 50 and deviation 10. Then random ones, of which the newest 50 count."""
    estimator = context.new("PaceEstimator")
    near(0, estimator.call("cov"), what="COV without a sample")
    for index, rtt_ms in enumerate((40, 50, 60)):
        estimator.call("sample", rtt_ms * MS, DATA_BYTES, ACK_BYTES, EQUAL)
        if index == 0:
            near(0, estimator.call("cov"), what="COV of one sample")
        elif index == 1:
            near(math.sqrt(50) / 45, estimator.call("cov"), what="COV of 40 and 50 ms")
    near(0.2, estimator.call("cov"), what="COV of 40, 50 and 60 ms")
    draw = context.random("variation")
    trips = [40 * MS, 50 * MS, 60 * MS]
    for _ in range(55):
        trips.append(draw.randrange(30, 300) * MS)
        estimator.call("sample", trips[-1], DATA_BYTES, ACK_BYTES, EQUAL)
        if len(trips) in (7, 49, 50, 51, 52, 58):
            newest = trips[-50:]
            wanted = statistics.stdev(newest) / statistics.fmean(newest)
            near(wanted, estimator.call("cov"), what=f"COV of the newest 50 of {len(trips)} round trips")


def interval(context: CheckContext) -> None:
    """Eq. (1)."""
    estimator = context.new("PaceEstimator")
    near(0, estimator.call("interval_ns"), what="T before the first sample")
    taken = [Taken(4)] * 3
    for count in (1, 2, 3):
        _take(estimator, taken[count - 1])
        near(40 * MS, estimator.call("interval_ns"), what="T of constant round trips")
    draw = context.random("interval")
    for item in (Taken(11), *(drawn(draw) for _ in range(4))):
        taken.append(item)
        _take(estimator, item)
        got = numeric(estimator.call("interval_ns"), what="T of varying round trips")
        near(wanted_ns(taken), got, what=f"T of {len(taken)} varying round trips, in ns")
        if got % 1:
            raise WrongAnswer("T as a whole number of ns", f"{got}")
    for _ in range(20):
        _take(estimator, Taken(200))
    near(500 * MS, estimator.call("interval_ns"), what="T on a very slow path: MAX_INTERVAL_NS")
