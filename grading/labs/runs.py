"""Lab 0: the student's functions on what a run measured, against what PaceLab says of the same run."""

from __future__ import annotations

from random import Random
from typing import Any

from pacelab import Experiment, compare
from pacelab.grading.assignment import Check
from pacelab.grading.lab import Lab, near

T = {3: 4.303, 4: 3.182, 5: 2.776}
"""Samples -> Student's factor of the 95 % interval, as the lab gives it."""


def _drawn(draw: Random) -> Experiment:
    return Experiment(
        topology="chain",
        topology_options={"hops": draw.randrange(1, 7)},
        payload_bytes=draw.choice((576, 1000, 1460)),
        window_pkts=draw.choice((8, 16, 32, 64)),
        duration_s=draw.randrange(4, 9),
        seed=draw.randrange(1, 1_000_000),
    )


def goodput(lab: Lab) -> None:
    """Of the one flow of a run."""
    experiment = _drawn(lab.random("goodput of a run"))
    (flow,) = lab.baseline(experiment)["flows"]
    mine = lab.function("goodput_bps")(flow["delivered_pkts"], experiment.payload_bytes, experiment.duration_s)
    near(flow["goodput_bps"], mine, what="goodput_bps() of a run's packets", tolerance=1e-3)


def interval(lab: Lab) -> None:
    """Of a few seeds."""
    draw = lab.random("interval of runs")
    count, found = draw.choice(list(T)), dict[str, Any]()
    while not found.get("half_width"):  # a window may be too small for seeds to differ
        (row,) = compare(_drawn(draw), schemes=["newreno"], seeds=count, jobs=1).rows
        found = row["goodput_bps"]
    samples = {"$list": list(found["samples"])}
    mine = lab.function("half_width")(samples, T[count])
    near(found["half_width"], mine, what=f"half_width() of the goodput of {count} seeds", tolerance=2e-3)


LAB0 = (
    Check(
        id="goodput-run",
        title="goodput of a run, as PaceLab has it",
        points=25,
        run=goodput,
        needs=("goodput_bps",),
        hint="the lab's own cell does the same with its run",
        simulates=True,
    ),
    Check(
        id="interval-runs",
        title="the interval of a few seeds, as PaceLab has it",
        points=25,
        run=interval,
        needs=("half_width",),
        hint="the lab's own cell does the same at 7 hops",
        simulates=True,
    ),
)
