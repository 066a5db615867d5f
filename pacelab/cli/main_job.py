"""The main job, `pacelab lab`: NewReno and TCP-GAP side by side on chains of 1 to 10 hops, the figure of README.md."""

from __future__ import annotations

import math
from typing import Any

from pacelab.experiment.experiment import Experiment

SCHEMES = ["newreno", "tcp-gap"]
AXES: dict[str, list[Any]] = {
    "hops": list(range(1, 11)),
    "direction": ["up", "down"],
    "routing": ["static", "aodv"],
}
SEEDS = 5
SECONDS = 30.0

RUNS_CPU_S = 25
"""What all runs take of one core of a server from 2021."""
START_S = 5
"""Starting the worker processes; table and figures."""


def main_job(seed: int) -> Experiment:
    """The experiment that the comparison varies, from this seed on."""
    return Experiment(topology="chain", duration_s=SECONDS, seed=seed)


def announce(jobs: int) -> str:
    """What will be run, and about how long that takes in so many processes on idle cores."""
    points = math.prod(len(values) for values in AXES.values())
    runs = points * len(SCHEMES) * SEEDS
    about_s = 10 * math.ceil((RUNS_CPU_S / jobs + START_S) / 10)
    cores = "1 core" if jobs == 1 else f"{jobs} cores"
    return f"{points} networks, {' and '.join(SCHEMES)}, {SEEDS} seeds: {runs} runs, about {about_s} s on {cores}"
