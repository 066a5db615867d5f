"""TCP with SACK in the simulator against Linux's own: BBR, CUBIC, and NewReno over chains of 1 to 7 hops.

The rows are runs of Linux with today's recovery (`--linux-tcp today`) on the same air: on TAP in real time, and in
User-Mode Linux in virtual time. Goodput agrees within 10 % and the round trip within 20 % in the median of the cells,
and no cell is off by more than twice that. docs/validation.md has the table.
"""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import pytest
import references

from pacelab import Experiment, run

CONTROLS = ("bbr", "cubic", "newreno")
HOPS = (1, 2, 4, 7)
SEEDS = range(1, 6)
WARMUP_S, END_S = 5.0, 35.0
GOODPUT, ROUND_TRIP = 0.10, 0.20
CELL = 2.0
"""A single cell may be off by this times the limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Medians over Linux's rows, or means over the simulator's seeds."""

    kbps: float
    rtt_ms: float

    def off(self, other: Cell) -> tuple[float, float]:
        """Relative differences of goodput and round trip."""
        return abs(self.kbps / other.kbps - 1), abs(self.rtt_ms / other.rtt_ms - 1)


@cache
def linux(cc: str, hops: int) -> Cell:
    with (references.DATA / "linux-chain.csv").open() as lines:
        found = csv.DictReader(line for line in lines if not line.startswith("#"))
        rows = [row for row in found if (row["cc"], int(row["hops"])) == (cc, hops)]
    return Cell(
        kbps=statistics.median(float(row["goodput_kbps"]) for row in rows),
        rtt_ms=statistics.median(float(row["rtt_ms"]) for row in rows),
    )


@cache
def simulated(cc: str, hops: int) -> Cell:
    results = [run(experiment(cc, hops, seed)) for seed in SEEDS]
    return Cell(
        kbps=statistics.fmean(result.goodput_bps / 1e3 for result in results),
        rtt_ms=statistics.fmean(statistics.fmean(smoothed_ms(result.series)) for result in results),
    )


def experiment(cc: str, hops: int, seed: int) -> Experiment:
    return Experiment(
        topology="chain",
        topology_options={"hops": hops, "wired": False},
        rate_bps=2_000_000,
        window_pkts=256,
        warmup_s=WARMUP_S,
        duration_s=END_S,
        cc=cc,
        sack=True,
        seed=seed,
    )


def smoothed_ms(series: dict[str, object]) -> Iterator[float]:
    """Linux's value: the smoothed round trip at the end of each interval after the warm-up."""
    ends_s, (flow,) = series["t_s"], series["flows"]
    return (1e3 * rtt_s for at_s, rtt_s in zip(ends_s, flow["rtt_s"], strict=True) if at_s > WARMUP_S and rtt_s)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("cc", CONTROLS)
def test_goodput_and_round_trip_agree_with_linux(cc: str) -> None:
    cells = {hops: simulated(cc, hops).off(linux(cc, hops)) for hops in HOPS}
    goodput, round_trip = zip(*cells.values(), strict=True)
    assert statistics.median(goodput) <= GOODPUT, cells
    assert statistics.median(round_trip) <= ROUND_TRIP, cells
    assert max(goodput) <= CELL * GOODPUT, cells
    assert max(round_trip) <= CELL * ROUND_TRIP, cells


@pytest.mark.usefixtures("engine")
def test_bbr_repairs_queues_and_not_collisions() -> None:
    """Over 1 hop BBR's round trip is a third of CUBIC's, as in Linux. Over 7 hops it is no shorter."""
    assert simulated("bbr", 1).rtt_ms < simulated("cubic", 1).rtt_ms / 3
    assert linux("bbr", 1).rtt_ms < linux("cubic", 1).rtt_ms / 3
    assert simulated("bbr", 7).rtt_ms > 0.9 * simulated("cubic", 7).rtt_ms
    assert linux("bbr", 7).rtt_ms > 0.9 * linux("cubic", 7).rtt_ms
