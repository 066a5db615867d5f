"""AODV among nodes that walk, ours beside ns-2's, on the same setdest files: packets delivered over some seeds.

    python bench/mobility.py [--seeds 10] [--rows FILE]

FILE gets ns-2's rows, which tests/conformance/test_ns2.py holds ours against.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

import ns2
import walks

from pacelab import Experiment, run, write_file


def main() -> int:
    parser = argparse.ArgumentParser(description="AODV among nodes that walk, beside ns-2")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=Path)
    asked = parser.parse_args()
    if why := ns2.missing():
        print(why, file=sys.stderr)
        return 3
    print(f"{walks.NODES} nodes, {walks.OFFERED} packets offered; delivered, mean (and sd) of {asked.seeds} seeds")
    rows = ["walk,seed,delivered_pkts"]
    for number in walks.NUMBERS:
        with tempfile.TemporaryDirectory() as folder:
            trace, network = Path(folder, "walk.tcl"), Path(folder, "net.yaml")
            trace.write_text(walks.setdest(number))
            network.write_text(walks.network(number, trace.name))
            ours, theirs = [], []
            for seed in range(1, asked.seeds + 1):
                found = run(Experiment(topology=str(network), seed=seed)).run["flows"]
                ours.append(sum(flow["delivered_pkts"] for flow in found))
                settings = {"nodes": walks.NODES, "seed": seed, "seconds": walks.SECONDS}
                theirs.append(sum(ns2.mobility(walks=trace, flows=walks.ENDS, **settings)))
        rows += [f"{number},{seed},{count}" for seed, count in enumerate(theirs, start=1)]
        more = 100 * (statistics.fmean(ours) / statistics.fmean(theirs) - 1)
        print(f"walk {number}: ours {said(ours)}, ns-2 {said(theirs)}: {more:+.1f} %", flush=True)
    if asked.rows:
        about = "# ns-2 2.35 (Debian ns2) by bench/ns2/mobility.tcl through `python bench/mobility.py --rows`\n"
        write_file(asked.rows, (about + "\n".join(rows) + "\n").encode())
    return 0


def said(counts: list[int]) -> str:
    return f"{statistics.fmean(counts):.0f} ({statistics.pstdev(counts):.0f})"


if __name__ == "__main__":
    sys.exit(main())
