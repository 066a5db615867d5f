"""Real Linux TCP against the simulator's, feature by feature, in virtual time (`--where uml`): the rows of docs/uml.md.

.venv/bin/python studies/linux_tcp.py [SEEDS [ROW ...]]        rows by the first word of their names; all by default

Each row is two runs per seed that differ in one switch. Means over the seeds, with 95 % intervals.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

from pacelab.experiment.experiment import Experiment
from pacelab.results.metrics import estimate
from pacelab.results.results import RunResult
from pacelab.running.runner import run_many

SEEDS = 5
LINUX: dict[str, Any] = {"backend": "hwsim", "where": "uml"}
CHAIN: dict[str, Any] = {
    "topology": "chain",
    "topology_options": {"hops": 7, "wired": False},
    "rate_bps": 2_000_000,
    "window_pkts": 64,
    "duration_s": 45.0,
    "warmup_s": 5.0,
}
"""Seven hops lose the most packets to contention, so the reaction to losses has the largest effect there."""
SHORT: dict[str, Any] = CHAIN | {"duration_s": 2.0, "warmup_s": 0.0}
"""The start of a transfer over an empty path."""
TEN: dict[str, Any] = {"initial_window_pkts": 10}
TWO_HOPS: dict[str, Any] = {"topology_options": {"hops": 2, "wired": False}, "window_pkts": 256, "backend": "tap"}
"""Here the window overflows the queue of 50 packets, so several packets of a window are lost at once."""


@dataclass(frozen=True, slots=True)
class Row:
    """One switch: without and with it."""

    name: str
    off: dict[str, Any]
    on: dict[str, Any]


def linux(*switches: str, **more: Any) -> dict[str, Any]:
    """The chain on real Linux with these switches."""
    return CHAIN | LINUX | more | ({"linux_tcp": "+".join(switches)} if switches else {})


ROWS = (
    Row("simulator -> Linux", CHAIN, linux()),
    Row("SACK", linux(), linux("sack")),
    Row("two hops, window 256: SACK", linux(**TWO_HOPS), linux("sack", **TWO_HOPS)),
    Row("RACK (with SACK)", linux("sack"), linux("sack", "rack")),
    Row("TLP (with SACK)", linux("sack"), linux("sack", "tlp")),
    Row("pacing by the kernel", linux(), linux("pacing")),
    Row("PRR", linux("no-prr"), linux()),
    Row("HyStart (CUBIC)", linux("no-hystart", cc="cubic"), linux(cc="cubic")),
    Row("delayed ACKs", linux(), linux(ack="delayed")),
    Row("F-RTO", linux(), linux("frto")),
    Row("cubic: simulator -> Linux", CHAIN | {"cc": "cubic"}, linux("no-hystart", cc="cubic")),
    Row("initial window 2 -> 10, first 2 s", SHORT | LINUX, SHORT | LINUX | TEN),
    Row("initial window 2 -> 10, first 2 s, simulator", SHORT, SHORT | TEN),
)


def main() -> None:
    """Print each row of the table when it is complete."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", metavar="SEEDS", nargs="?", type=int, default=SEEDS, help=f"default: {SEEDS}")
    names = [row.name.split()[0].strip(":").lower() for row in ROWS]
    known_names = ", ".join(dict.fromkeys(names))
    parser.add_argument("wanted", metavar="ROW", nargs="*", type=str.lower, help=f"all by default: {known_names}")
    given = parser.parse_args()
    if unknown := set(given.wanted) - set(names):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; use rows of {known_names}")
    known: dict[str, list[RunResult]] = {}

    def show(options: dict[str, Any]) -> tuple[str, float]:
        if str(options) not in known:
            known[str(options)] = run_many(
                [Experiment(seed=seed, **options) for seed in range(1, given.seeds + 1)], jobs=1
            )
        found = estimate([result.goodput_bps / 1e3 for result in known[str(options)]])
        return f"{found.mean:.4g} ± {found.half_width:.2g}", found.mean

    for name, row in zip(names, ROWS, strict=True):
        if given.wanted and name not in given.wanted:
            continue
        (off, before), (on, after) = show(row.off), show(row.on)
        print(f"| {row.name} | {off} | {on} kbit/s | {after / before - 1:+.1%} |", flush=True)


if __name__ == "__main__":
    main()
