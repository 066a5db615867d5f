"""All schemes on all topologies that can host them, static and AODV routes, three radios: who wins where.

    .venv/bin/python studies/who_wins.py rows.jsonl              run what is missing in it (hours; stop at any time)
    .venv/bin/python studies/who_wins.py rows.jsonl --store      no run: their means into who_wins.csv beside this file
    .venv/bin/python studies/who_wins.py --tables PAGE.md        no run: who wins by who_wins.csv (`make docs`)

A row per run is added to the file as it is finished, seed by seed: stopped early, every cell has as many seeds as
there was time for. Rows are runs of the code at hand; start a new file when an algorithm changes.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import who_wins_tables

from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.running.runner import run
from pacelab.schemes import SCHEMES

ROUTINGS = ("static", "aodv")
RADIOS = ("ns2", "standard", "sinr")
WINDOWS = (1, 2, 3, 4, 6, 8, 16)
"""Packets, NewReno's under no scheme: the best of them is the bound."""
PACE_RATE_BPS = 300_000
"""Of `fixed-rate`, which has no rate of its own: that of its neighbours `data-pacing` and `ack-pacing`."""
SECONDS, WARMUP_S, SEEDS = 12.0, 2.0, 5
STORE = Path(__file__).with_suffix(".csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A topology with its traffic; what is not named is the topology's default."""

    name: str
    topology: str
    options: dict[str, Any] = field(default_factory=dict)
    """The topology's own."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Of the experiment."""


_CALLS = {"phy": "802.11a", "rate_bps": 12_000_000, "rts": False, "traffic": "mixed"}  # [vagp]'s
CASES = (
    Case(name="chain up", topology="chain", options={"wired_hops": 1}),
    Case(name="chain down", topology="chain", options={"wired_hops": 1}, settings={"direction": "down"}),
    Case(name="parallel up", topology="parallel"),
    Case(name="parallel down", topology="parallel", settings={"direction": "down"}),
    Case(name="cross", topology="cross"),
    Case(name="cross-gateway up", topology="cross-gateway"),
    Case(name="cross-gateway mixed", topology="cross-gateway", settings={"direction": "mixed"}),
    Case(name="asymmetric", topology="asymmetric"),
    Case(name="indoor", topology="indoor"),
    Case(name="full-mesh", topology="full-mesh"),
    Case(name="string", topology="string"),
    Case(name="tree", topology="tree"),
    Case(name="access-point up", topology="access-point"),
    Case(name="access-point down", topology="access-point", settings={"direction": "down"}),
    Case(name="cell", topology="cell", settings={"traffic": "tcp"}),
    Case(name="hidden", topology="hidden", settings={"traffic": "tcp"}),
    Case(name="exposed", topology="exposed", settings={"traffic": "tcp"}),
    Case(name="reuse", topology="reuse", settings={"traffic": "tcp"}),
    Case(name="pairs", topology="pairs", settings={"traffic": "tcp"}),
    Case(name="two-gateways", topology="two-gateways", options={"speed": 40.0}, settings={"duration_s": 30.0}),
    Case(name="calls on a chain", topology="chain", options={"hops": 4, "voice": 7, "tcp": 3}, settings=_CALLS),
    Case(name="calls on the string", topology="string", options={"voice": 1, "tcp": 3}, settings={"traffic": "mixed"}),
    Case(name="calls on the tree", topology="tree", options={"voice": 1, "tcp": 3}, settings={"traffic": "mixed"}),
    Case(name="grid", topology="grid"),
    Case(name="random", topology="random", options={"nodes": 100, "height": 1250.0, "flows": 8}),
)


def experiment(case: Case, *, routing: str, radio: str, scheme: str, seed: int) -> Experiment:
    """One run of the table; `scheme` is a name or "window N". Raises ConfigError when the case cannot host it."""
    settings: dict[str, Any] = {"duration_s": SECONDS, **case.settings}
    if scheme.startswith("window "):
        settings |= {"window_pkts": int(scheme.removeprefix("window "))}
        scheme = "newreno"
    elif scheme == "fixed-rate":
        settings |= {"pace_rate_bps": PACE_RATE_BPS}
    return Experiment(
        topology=case.topology,
        topology_options=case.options,
        scheme=scheme,
        routing=routing,
        radio=radio,
        warmup_s=WARMUP_S,
        seed=seed,
        **settings,
    )


def cells(cases: list[str], schemes: list[str]) -> Iterator[tuple[Case, str, str, str]]:
    """Case, routing, radio and scheme of every row of one seed."""
    for routing in ROUTINGS:
        for radio in RADIOS:
            for case in CASES:
                if case.name in cases:
                    yield from ((case, routing, radio, scheme) for scheme in schemes)


def measure(made: Experiment) -> dict[str, Any]:
    """What the table keeps of a run: bit/s, Jain's index, MOS, and counts that tell why."""
    document = run(made).run
    totals = document["totals"]
    kept = ("goodput_bps", "jain", "mos_mean", "mos_worst", "timeouts", "retransmitted_pkts", "dropped_pkts")
    return {name: totals[name] for name in kept} | {"acted": document["hooks"]["actions"]}


def key_of(row: dict[str, Any]) -> tuple[Any, ...]:
    """What a row is about."""
    return tuple(row[name] for name in ("case", "routing", "radio", "scheme", "seed"))


def read(path: Path) -> list[dict[str, Any]]:
    """The rows that are there; a last line cut short is not one."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def fill(path: Path, *, cases: list[str], schemes: list[str], seeds: int) -> None:
    """Run what is missing, a line per run."""
    have = read(path)
    path.write_text("".join(json.dumps(row) + "\n" for row in have))
    done = {key_of(row) for row in have}
    cannot: set[tuple[str, str, str]] = set()
    started, count = time.monotonic(), 0
    with path.open("a") as rows:
        for seed in range(1, seeds + 1):
            for case, routing, radio, scheme in cells(cases, schemes):
                place = {"case": case.name, "routing": routing, "radio": radio, "scheme": scheme, "seed": seed}
                if key_of(place) in done or (case.name, routing, scheme) in cannot:
                    continue
                try:
                    made = experiment(case, routing=routing, radio=radio, scheme=scheme, seed=seed)
                except ConfigError:
                    cannot.add((case.name, routing, scheme))
                    continue
                rows.write(json.dumps(place | measure(made)) + "\n")
                rows.flush()
                count += 1
                if count % 200 == 0:
                    print(f"seed {seed}: {count} runs in {time.monotonic() - started:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, nargs="?", help="file of rows, one JSON object a line; made if not there")
    parser.add_argument("--store", action="store_true", help=f"write {STORE.name} of the rows; run nothing")
    parser.add_argument("--tables", type=Path, metavar="FILE", help=f"write the tables of {STORE.name}; run nothing")
    parser.add_argument("--cases", default="all", help="names, separated by commas (default: all)")
    parser.add_argument("--schemes", default="all", help="names, or 'window N' (default: all, and all windows)")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"from 1 on (default: {SEEDS})")
    given = parser.parse_args()
    if (given.rows is None) != bool(given.tables):
        parser.error("allowed is a file of rows or --tables FILE")
    if given.tables:
        given.tables.write_text(who_wins_tables.render_markdown(who_wins_tables.read_csv(STORE)), encoding="utf-8")
        return
    if given.store:
        who_wins_tables.write_csv([row for row in read(given.rows) if row["seed"] <= given.seeds], STORE)
        return
    everything = [*SCHEMES, *(f"window {window}" for window in WINDOWS)]
    fill(
        given.rows,
        cases=[case.name for case in CASES] if given.cases == "all" else given.cases.split(","),
        schemes=everything if given.schemes == "all" else given.schemes.split(","),
        seeds=given.seeds,
    )


if __name__ == "__main__":
    main()
