"""Compares our AODV with ns-2's among moving nodes, on the same setdest files: packets delivered over some seeds.

    python bench/mobility.py [--seeds 10] [--rows FILE]

FILE gets ns-2's rows, with which tests/conformance/test_ns2.py compares ours.

Each of the six walks moves 20 nodes, and four pairs of nodes have a CBR flow. The walk's number is the seed of its
movement, which is written as a setdest file for ns-2 and as a topology file for PaceLab. In the smaller area of walks
1 to 3, the nodes can nearly always reach each other. In the larger area of walks 4 to 6, they often cannot.
"""

import argparse
import math
import statistics
import sys
import tempfile
from pathlib import Path
from random import Random

from pacelab import Experiment, run, write_file
from pacelab_topologies.mobility import Area, Place, Walk, distance_m, random_waypoint

NODES, FLOWS, SECONDS = 20, 4, 200
NEAR, FAR = Area(800.0, 500.0), Area(1400.0, 700.0)
SPEEDS, PAUSE_S = (1.0, 10.0), 2.0
PAYLOAD_BYTES, INTERVAL_S, RATE_MBPS = 1000, 0.1, 2
DECODE_M = 250.0
FIRST_S, APART_S = 1.0, 0.01
"""Flows start one after the other."""
NUMBERS = range(1, 7)
ENDS = [(2 * flow, 2 * flow + 1) for flow in range(FLOWS)]
OFFERED = round(FLOWS * (SECONDS - FIRST_S) / INTERVAL_S)


def main() -> int:
    import ns2  # beside this file: on the path when this runs as a program

    parser = argparse.ArgumentParser(description="Compare PaceLab's AODV with ns-2's among moving nodes.")
    parser.add_argument("--seeds", type=int, default=10, help="runs per walk (default 10)")
    parser.add_argument("--rows", type=Path, metavar="FILE", help="write ns-2's rows to FILE")
    asked = parser.parse_args()
    if why := ns2.missing():
        print(why, file=sys.stderr)
        return 3
    print(
        f"{NODES} nodes, {OFFERED} packets offered; delivered packets: mean (standard deviation) of {asked.seeds} seeds"
    )
    rows = ["walk,seed,delivered_pkts"]
    for number in NUMBERS:
        with tempfile.TemporaryDirectory() as folder:
            trace, net = Path(folder, "walk.tcl"), Path(folder, "net.yaml")
            trace.write_text(setdest(number))
            net.write_text(network(number, trace.name))
            ours, theirs = [], []
            for seed in range(1, asked.seeds + 1):
                found = run(Experiment(topology=str(net), seed=seed)).run["flows"]
                ours.append(sum(flow["delivered_pkts"] for flow in found))
                settings = {"nodes": NODES, "seed": seed, "seconds": SECONDS}
                theirs.append(sum(ns2.mobility(walks=trace, flows=ENDS, **settings)))
        rows += [f"{number},{seed},{count}" for seed, count in enumerate(theirs, start=1)]
        more = 100 * (statistics.fmean(ours) / statistics.fmean(theirs) - 1)
        print(f"walk {number}: ours {mean_and_sd(ours)}, ns-2 {mean_and_sd(theirs)}: {more:+.1f} %", flush=True)
    if asked.rows:
        about = "# ns-2 2.35 (Debian ns2) by bench/ns2/mobility.tcl through `python bench/mobility.py --rows`\n"
        write_file(asked.rows, (about + "\n".join(rows) + "\n").encode())
    return 0


def mean_and_sd(counts: list[int]) -> str:
    return f"{statistics.fmean(counts):.0f} ({statistics.pstdev(counts):.0f})"


def area(number: int) -> Area:
    return NEAR if number <= 3 else FAR


def setdest(number: int) -> str:
    """The walk of this number. All nodes can reach each other at the start."""
    lines = []
    for node, walk in enumerate(_draw(number)):
        lines += [
            f"$node_({node}) set {axis}_ {value!r}" for axis, value in zip("XYZ", (*walk.start, 0.0), strict=True)
        ]
        now_s, here = 0.0, walk.start
        for at_s, place in walk.points:
            if place != here:
                speed = distance_m(here, place) / (at_s - now_s)
                lines.append(f'$ns_ at {now_s!r} "$node_({node}) setdest {place[0]!r} {place[1]!r} {speed!r}"')
            now_s, here = at_s, place
    return "\n".join(lines) + "\n"


def network(number: int, trace: str) -> str:
    """A topology file; `trace`: the name of the walk's file beside it."""
    places = "".join(f"  - {{name: n{i}, at: [{i} m, 0 m]}}\n" for i in range(NODES))
    ends = "".join(
        f"  - {{from: n{a}, to: n{b}, start: {FIRST_S + APART_S * i:.2f} s}}\n" for i, (a, b) in enumerate(ENDS)
    )
    rate_mbps = PAYLOAD_BYTES * 8 / INTERVAL_S / 1e6
    within = f"[{area(number).width_m:g} m, {area(number).height_m:g} m]"
    return (
        f"version: 1\nname: walk-{number}\nranges: {{decode: {DECODE_M:g} m, sense: 550 m}}\nnodes:\n{places}"
        f"flows:\n{ends}mobility: {{area: {within}, setdest: {trace}}}\n"
        f"defaults: {{routing: aodv, rate: {RATE_MBPS}, traffic: cbr, cbr-rate: {rate_mbps:g}, "
        f"payload: {PAYLOAD_BYTES}, headers: ns2, seconds: {SECONDS}}}\n"
    )


def _draw(number: int) -> tuple[Walk, ...]:
    dice, within = Random(f"mobility {number}"), area(number)
    while True:
        starts = tuple(
            (round(within.width_m * dice.random(), 3), round(within.height_m * dice.random(), 3)) for _ in range(NODES)
        )
        if _connected(starts):
            slowest, fastest = SPEEDS
            times = {"pause_s": PAUSE_S, "until_s": float(SECONDS)}
            return random_waypoint(within, starts, slowest=slowest, fastest=fastest, **times, seed=number)


def _connected(places: tuple[Place, ...]) -> bool:
    reached, new = {0}, [0]
    while new:
        here = new.pop()
        found = {i for i, place in enumerate(places) if i not in reached and math.dist(place, places[here]) <= DECODE_M}
        reached |= found
        new += found
    return len(reached) == len(places)


if __name__ == "__main__":
    sys.exit(main())
