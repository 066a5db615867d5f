"""The comparisons that the findings use: networks, schemes, and seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from pacelab.documents import JsonObject
from pacelab.experiment.experiment import Experiment
from pacelab.grid.comparison import Comparison, comparison_of
from pacelab.grid.grid import Grid, describe_runs
from pacelab.running.cached import RunStore, run_stored
from pacelab.running.workers import Workers

SEEDS = 5
SECONDS = 60.0
PACED = ("newreno", "tcp-gap")
"""The baseline, and TCP-GAP as its paper prints it."""
WINDOW_PKTS = 64
"""Source: [tcp-gap] Sec. 5.1."""
HOPS = (2, 3, 4, 6, 8, 10)
WINDOWS_PKTS = (32, 64, 128, 256)
RUN_CPU_S = 0.14
"""Mean processor time of a run while the algorithms are interpreted, on two cores of a server."""
START_S = 2
"""Time to start the worker processes and to draw the figures."""


def studies(seed: int) -> dict[str, Grid]:
    """The grid of each study, with `SEEDS` seeds from this one on.

    fairness: two upward and two downward flows over a gateway with four arms, static routes.
    chains: one downward flow over 2 to 10 hops, static routes and AODV.
    window: one downward flow over 4 hops, advertised windows of 32 to 256 packets.
    link-red: one flow without a wired part, 2 Mbit/s, window 32, ns-2's radio of 2001, AODV, as in [fu] Sec. 4.
    """
    paced = Experiment(seed=seed, duration_s=SECONDS, window_pkts=WINDOW_PKTS)
    cross = paced.vary(topology="cross-gateway", direction="mixed")
    chain = paced.vary(topology="chain", direction="down")
    window = chain.vary(topology_options={"hops": 4}, warmup_s=10.0)
    fu = Experiment(
        topology="chain",
        topology_options={"wired": False},
        rate_bps=2_000_000,
        window_pkts=32,
        radio="ns2-2001",
        routing="aodv",
        seed=seed,
        duration_s=SECONDS,
    )
    return {
        "fairness": Grid.of(cross, schemes=PACED, axes=None, seeds=SEEDS),
        "chains": Grid.of(chain, schemes=PACED, axes={"hops": HOPS, "routing": ["static", "aodv"]}, seeds=SEEDS),
        "window": Grid.of(window, schemes=PACED, axes={"window_pkts": WINDOWS_PKTS}, seeds=SEEDS),
        "link-red": Grid.of(fu, schemes=("newreno", "lred"), axes={"hops": (2, 4, 6, 8, 12)}, seeds=SEEDS),
    }


def announce(grids: Mapping[str, Grid], jobs: int) -> str:
    """The number of runs, and an estimate of their time with this number of processes on idle cores."""
    runs = sum(len(grid.cells) * len(grid.seeds) for grid in grids.values())
    about_s = 10 * math.ceil((runs * RUN_CPU_S / jobs + START_S) / 10)
    cores = "1 core" if jobs == 1 else f"{jobs} cores"
    return f"{runs} runs of {SECONDS:g} s with {SEEDS} seeds: about {about_s} s on {cores}"


def run_studies(
    grids: Mapping[str, Grid],
    *,
    jobs: int | None = None,
    store: RunStore | None = None,
    on_done: Callable[[int, int], None] | None = None,
) -> tuple[dict[str, Comparison], JsonObject]:
    """Run all studies in one pool of workers. Returns the comparison of each, and the runs' entries of host.json."""
    import time

    started, wall = time.time(), time.perf_counter()
    experiments = [experiment for grid in grids.values() for experiment in grid.experiments()]
    results = run_stored(experiments, store, workers=Workers(jobs=jobs), on_done=on_done)
    host = describe_runs(results, started=started, wall=wall)
    found: dict[str, Comparison] = {}
    for name, grid in grids.items():
        count = len(grid.cells) * len(grid.seeds)
        own, results = results[:count], results[count:]
        found[name] = comparison_of(grid, own, host=host)
    return found, host
