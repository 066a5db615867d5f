"""Handover between gateways, run after run: `sudo .venv/bin/python bench/hosts/handover.py [--runs N] [--speed M/S]`.

    silence     of the receiver around the handover, at most: below 1 s in every run
    goodput     of the 5 s from 5 s after the handover, against the 5 s before it: the mean within 10 %

Runs of `pacelab run two-gateways --backend tap --controller ryu --scheme tcp-gap`, one after the other; the seed counts
up. The ratio has a 95 % t interval. Runs of a fidelity below valid are told and left out: the machine was too busy for
them. Exit code 1 if a target is missed, or all runs were left out.
"""

from __future__ import annotations

import argparse
import os
import sys

import pacelab
from pacelab.experiment.experiment import Experiment
from pacelab.results.metrics import estimate

SILENCE_S, OFF = 1.0, 0.10
AFTER_S = 20.0
"""The run's length after the handover's middle of the way: 10 s are measured."""


def main() -> int:
    """Run, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--speed", type=float, default=20.0, help="m/s; a pedestrian's 2 takes four minutes a run")
    parser.add_argument("--direction", default="up", choices=("up", "down"))
    parser.add_argument("--scheme", default="tcp-gap")
    options = parser.parse_args()
    rows = []
    for seed in range(1, options.runs + 1):
        result = pacelab.run(
            Experiment(
                topology="two-gateways",
                topology_options={"speed": options.speed},
                direction=options.direction,
                backend="tap",
                controller="ryu",
                scheme=options.scheme,
                duration_s=10.0 + 200.0 / options.speed + AFTER_S,
                seed=seed,
            )
        )
        (handover,) = result.host["controller"]["handovers"]
        (row,) = handover["flows"]
        row |= {"timeouts": result.run["flows"][0]["timeouts"], "at_s": handover["at_s"]}
        if result.run["fidelity"] == "valid":
            rows.append(row)
        print(
            f"run {seed}: at {row['at_s']} s, silent for {row['silence_s']} s at most, "
            f"{row['before_bps'] / 1e3:.0f} -> {row['after_bps'] / 1e3:.0f} kbit/s, {row['timeouts']} timeouts, "
            f"fidelity {result.run['fidelity']}, load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
    if not rows:
        print("no run was valid: try again on a calmer machine")
        return 1
    ratios = [row["after_bps"] / row["before_bps"] for row in rows]
    found = estimate(ratios)
    mean, half = found.mean, found.half_width
    worst = max(row["silence_s"] for row in rows)
    good = worst < SILENCE_S and abs(mean - 1) <= OFF
    ratio = f"{mean:.3f} " + ("(one run, no interval)" if half is None else f"+- {half:.3f}")
    print(f"{len(rows)} valid runs of {options.runs}: silent for {worst} s at most; after / before {ratio}", flush=True)
    print("ok" if good else "MISSED")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
