"""The main job, `pacelab lab`: NewReno, TCP-GAP, Link RED side by side on chains of 1 to 10 hops, README's figure."""

from __future__ import annotations

import math
from typing import Any

from pacelab.experiment.experiment import Experiment
from pacelab.figures.tables import BASELINE, Compared

SCHEMES = ["newreno", "tcp-gap", "tcp-gap-eval", "lred-ecn+pacing"]
AXES: dict[str, list[Any]] = {
    "hops": [1, 2, 3, 4, 6, 8, 10],
    "direction": ["up", "down"],
    "routing": ["static", "aodv"],
}
SEEDS = 5
SECONDS = 18.0
"""With seven lengths instead of ten: a student waits for it. The claims run longer."""
WINDOW_PKTS = 64
"""Source: [tcp-gap] Sec. 5.1."""

RUNS_CPU_S = 32
"""What all runs take of one core of a server from 2021."""
START_S = 5
"""Starting the worker processes; table and figures."""


def main_job(seed: int) -> Experiment:
    """The experiment that the comparison varies, from this seed on."""
    return Experiment(topology="chain", window_pkts=WINDOW_PKTS, duration_s=SECONDS, seed=seed)


def announce(jobs: int) -> str:
    """What will be run, and about how long that takes in so many processes on idle cores."""
    points = math.prod(len(values) for values in AXES.values())
    runs = points * len(SCHEMES) * SEEDS
    about_s = 10 * math.ceil((RUNS_CPU_S / jobs + START_S) / 10)
    cores = "1 core" if jobs == 1 else f"{jobs} cores"
    return f"{points} networks, {', '.join(SCHEMES)}, {SEEDS} seeds: {runs} runs, about {about_s} s on {cores}"


def findings(comparison: Compared) -> list[str]:
    """What was found: a sentence for each routing and scheme and one for the baseline, from the 95 % intervals."""
    routings, schemes = comparison.axes["routing"], comparison.compare["schemes"]
    found = [_gains(comparison, routing, scheme) for routing in routings for scheme in schemes if scheme != BASELINE]
    return [*found, _baseline(comparison)]


def _gains(comparison: Compared, routing: str, scheme: str) -> str:
    """Where a scheme carries clearly more or less than the baseline, and between which gains."""
    rows = [row for row in comparison.rows if row["point"]["routing"] == routing and row["scheme"] == scheme]
    rows = [row for row in rows if row["gain"] is not None and row["gain_half_width"] is not None]
    if not rows:
        return f"Routing {routing}, {scheme}: too few seeds for an interval."
    count = len(comparison.axes["hops"]) * len(comparison.axes["direction"])
    more = [row for row in rows if row["gain"] > row["gain_half_width"]]
    less = [row for row in rows if row["gain"] < -row["gain_half_width"]]
    worst, best = min(rows, key=lambda row: row["gain"]), max(rows, key=lambda row: row["gain"])
    return (
        f"Routing {routing}: {scheme} carries clearly more than {BASELINE} on {len(more)} of {count} chains and "
        f"clearly less on {len(less)}; its gain is {_gain(worst)} at least and {_gain(best)} at most."
    )


def _gain(row: dict[str, Any]) -> str:
    hops = row["point"]["hops"]
    where = f"{hops} hop{'s' * (hops > 1)}, {row['point']['direction']}"
    return f"{row['gain']:+.0%} ± {row['gain_half_width']:.0%} ({where})"


def _baseline(comparison: Compared) -> str:
    """What the baseline loses with one routing against the other, on the longest chain."""
    longest = comparison.axes["hops"][-1]
    told = []
    for direction in comparison.axes["direction"]:
        rates = [
            f"{row['goodput_bps']['mean'] / 1e3:.0f} ± {(row['goodput_bps']['half_width'] or 0) / 1e3:.0f} kbit/s "
            f"{direction} with {row['point']['routing']} routing"
            for row in comparison.rows
            if row["scheme"] == BASELINE and (row["point"]["hops"], row["point"]["direction"]) == (longest, direction)
        ]
        told.append(" and ".join(rates))
    return f"Over {longest} hops {BASELINE} carries {'; '.join(told)}."
