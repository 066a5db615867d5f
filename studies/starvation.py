"""Does ns-2.35 itself starve a NewReno flow on two parallel chains, as [tcp-gap] Figs. 9, 10 and 12 show?

    .venv/bin/python studies/starvation.py            run what starvation.csv lacks (apt install ns2)
    .venv/bin/python studies/starvation.py --table    print the set-ups, the most unfair first, without any run

Two chains of five hops with one gateway and three wired links of 40 ms, one NewReno flow each, both up or both down, by
bench/ns2/hybrid.tcl. Settings that the paper leaves open, or that another ns-2 may have had, are changed one at a time.
Rows: segments acknowledged over 200 s after the first 20 (and after the second flow's start), of each flow.

This was written before the runs: a set-up starves a flow if, in the mean over its seeds, the slower flow has at most a
fifth of the faster one's segments, the band of the claims. LATER, with more seeds and other delays, was added after one
of three runs with a late second flow reached only 0.02.
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "bench"))

import ns2  # noqa: E402 - the files beside bench.py are no package
from stored_rows import Row, StoredRows, only_table  # noqa: E402

from pacelab_topologies.registry import find_kind  # noqa: E402

KEYS, VALUES = ("set_up", "direction", "seed"), ("first_pkts", "second_pkts")
ROWS = StoredRows(Path(__file__).with_suffix(".csv"), KEYS, VALUES)
SEEDS = (1, 2, 3)
SECONDS = 200
STARVED = 0.2
SET_UPS: dict[str, dict[str, object]] = {
    "as the claims have it": {},
    "window 20": {"window": 20},
    "window 32": {"window": 32},
    "least RTO 1 s, ticks of 0.1 s": {"minrto": 1, "tick": 0.1},
    "least RTO 1 s, ticks of 0.5 s": {"minrto": 1, "tick": 0.5},
    "senses 250 m": {"sense": 250},
    "senses 300 m": {"sense": 300},
    "senses 420 m": {"sense": 420},
    "control frames at 2 Mbit/s": {"basic": 2},
    "control frames at 11 Mbit/s": {"basic": 11},
    "no RTS": {"rts": "off"},
    "2 Mbit/s": {"rate": 2},
    "chains 200 m apart": {"separation": 200},
    "chains 300 m apart": {"separation": 300},
    "one wired link": {"wires": 1},
    "no AODV: static routes": {"routing": "static"},
    "the second flow 10 s later": {"later": 10},
}
"""Differences from the claims' set-up: AODV, 11 Mbit/s, windows of 64, sense range 550 m, chains 400 m apart."""
LATER: dict[str, dict[str, object]] = {
    f"the second flow {later} s later, more seeds": {"later": later, "warmup": later + 20} for later in (2, 10, 50)
} | {"the second flow 10 s later, 2 Mbit/s": {"later": 10, "warmup": 30, "rate": 2}}
LATER_SEEDS = tuple(range(11, 21))


def main() -> int:
    """Run the missing rows, then print the table."""
    if not only_table(__doc__):
        if (why := ns2.missing()) is not None:
            print(why, file=sys.stderr)
            return 3
        ROWS.add_missing(plan(), measure)
    print("\n".join(table(ROWS.read())))
    return 0


def plan() -> list[tuple[str, str, int]]:
    """Set-up, direction and seed of every run."""
    first = product(SET_UPS, ("up", "down"), SEEDS)
    return [*first, *product(LATER, ("up", "down"), LATER_SEEDS)]


def measure(set_up: str, direction: str, seed: int) -> dict[str, object]:
    """Segments acknowledged for the two flows."""
    options = dict((SET_UPS | LATER)[set_up])
    kind = find_kind("parallel")
    defaults = {option.name: option.default for option in kind.options}
    separation = options.pop("separation", defaults["separation"])
    network = kind.build(direction=direction, **defaults | {"separation": separation})
    (gateway,) = network.gateways
    ends = [flow.src if direction == "up" else flow.dst for flow in network.flows]
    common: dict[str, object] = {"wires": 3, "routing": "aodv"}
    found = ns2.hybrid(
        positions_m=[node.position_m for node in network.nodes if node.wireless],  # wireless nodes come first
        flows=[(end, gateway, direction) for end in ends],
        seed=seed,
        seconds=SECONDS,
        **common | options,
    )
    return dict(zip(VALUES, found.delivered_pkts, strict=True))


def shares(rows: list[Row]) -> dict[tuple[str, str], list[float]]:
    """For each set-up and direction, seed by seed: the slower flow over the faster one."""
    found = defaultdict(list)
    for row in rows:
        pair = sorted((int(row["first_pkts"]), int(row["second_pkts"])))
        found[row["set_up"], row["direction"]].append(pair[0] / pair[1])
    return found


def table(rows: list[Row]) -> list[str]:
    """Markdown, the most unfair first."""
    lines = ["| slower over faster | least of a seed | direction | set-up |", "|---|---|---|---|"]
    for (set_up, direction), found in sorted(shares(rows).items(), key=lambda item: statistics.fmean(item[1])):
        mean = statistics.fmean(found)
        starves = " (starves)" if mean <= STARVED else ""
        lines.append(f"| {mean:.2f}{starves} | {min(found):.2f} | {direction} | {set_up} |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
