"""The held-out evaluation of pacelab's own scheme against TCP-GAP. This was written and committed before the runs.

    .venv/bin/python studies/held_out.py            run what held_out.csv lacks
    .venv/bin/python studies/held_out.py --table    print the verdicts as Markdown, without any run

Development saw chains of 2, 4, 7 and 10 hops, `parallel` of 5 hops, `asymmetric` in its long variant and three flows
on a chain of 7 hops, with seeds 101 to 103. Nothing below was run before the scheme was frozen.

Verdicts, per case and routing, from means over the seeds with 95 % intervals (t):
    goodput  beats    the interval of the difference, seed by seed, is above 0
             loses    it is below 0; else "even"
    fairness matches  the intervals of both schemes' mean Jain index overlap, or ours is higher; else "less"
The scheme holds what it claims if no case loses goodput, most beat, and every case matches in fairness.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path
from typing import Any

from stored_rows import StoredRows

from pacelab.experiment.experiment import Experiment
from pacelab.results.metrics import estimate
from pacelab.running.runner import run

KEYS, VALUES = ("case", "routing", "scheme", "seed"), ("goodput_bps", "jain")
ROWS = StoredRows(Path(__file__).with_suffix(".csv"), KEYS, VALUES)
LOPSIDED = str(Path(__file__).parent / "lopsided.py")
SEEDS = range(1001, 1009)
SECONDS, WARMUP_S = 30.0, 2.0
ROUTINGS = ("static", "aodv")
OWN, RIVAL = "tcp-expect", "tcp-gap"
SCHEMES = (OWN, RIVAL, "newreno", "delayed-ack")
BOTH_WAYS = ("up", "down")
CASES: tuple[tuple[str, dict[str, Any], str | None], ...] = (
    *(("chain", {"hops": hops, "wired_hops": 1}, way) for hops in (1, 3, 5, 6, 8, 9, 12) for way in BOTH_WAYS),
    *(("chain", {"hops": hops, "voice": 0, "tcp": 3}, None) for hops in (5, 9)),
    *(("parallel", {"hops": hops}, way) for hops in (3, 4, 7) for way in BOTH_WAYS),
    ("asymmetric", {"variant": "short"}, None),
    *((LOPSIDED, {"long_hops": far, "short_hops": near}, None) for far, near in ((5, 2), (6, 2), (6, 4))),
)
"""Topology, its options, direction."""

Run = dict[str, Any]


def name_of(topology: str, options: dict[str, Any], direction: str | None) -> str:
    """The case's name in the table."""
    shown = " ".join(f"{name}={value}" for name, value in options.items())
    return " ".join(filter(None, (Path(topology).stem, shown, direction)))


BY_NAME = {name_of(*case): case for case in CASES}


def measure(name: str, routing: str, scheme: str, seed: int) -> dict[str, object]:
    """One run of the case with this name."""
    topology, options, direction = BY_NAME[name]
    experiment = Experiment(
        topology=topology,
        topology_options=options,
        direction=direction,
        scheme=scheme,
        routing=routing,
        seed=seed,
        duration_s=SECONDS,
        warmup_s=WARMUP_S,
    )
    totals = run(experiment).run["totals"]
    return {"goodput_bps": round(totals["goodput_bps"]), "jain": round(totals["jain"] or 0.0, 6)}


def read() -> list[Run]:
    """The stored runs, with their numbers."""
    return [
        row | {"seed": int(row["seed"]), "goodput_bps": float(row["goodput_bps"]), "jain": float(row["jain"])}
        for row in ROWS.read()
    ]


def table(rows: list[Run]) -> str:
    """Goodput in kbit/s and Jain's index of all schemes, and the verdicts."""
    lines = [
        f"| case | routes | {' | '.join(SCHEMES)} | goodput | fairness |",
        "|---" * (4 + len(SCHEMES)) + "|",
    ]
    for name in BY_NAME:
        for routing in ROUTINGS:
            cell = {
                scheme: [r for r in rows if (r["case"], r["routing"], r["scheme"]) == (name, routing, scheme)]
                for scheme in SCHEMES
            }
            shown = " | ".join(_shown(cell[scheme]) for scheme in SCHEMES)
            verdicts = f"{_goodput(cell[OWN], cell[RIVAL])} | {_fairness(cell[OWN], cell[RIVAL])}"
            shown_name = name.replace(" wired_hops=1", "")  # true for all chains with one flow
            lines.append(f"| {shown_name} | {routing} | {shown} | {verdicts} |")
    return "\n".join(lines)


def _half(values: list[float]) -> tuple[float, float]:
    value = estimate(values)
    return value.mean, value.half_width or 0.0


def _shown(rows: list[Run]) -> str:
    mean, half = _half([row["goodput_bps"] / 1000 for row in rows])
    fair, fair_half = _half([row["jain"] or 0.0 for row in rows])
    alone = all(row["jain"] == 1.0 for row in rows)
    return f"{mean:.0f} ± {half:.0f}" + ("" if alone else f", {fair:.3f} ± {fair_half:.3f}")


def _goodput(own: list[Run], rival: list[Run]) -> str:
    pairs = zip(own, rival, strict=True)
    mean, half = _half([ours["goodput_bps"] - theirs["goodput_bps"] for ours, theirs in pairs])
    base = estimate([row["goodput_bps"] for row in rival]).mean
    verdict = "beats" if mean > half else "loses" if mean < -half else "even"
    return f"{verdict} ({mean / base:+.0%} ± {half / base:.0%})"


def _fairness(own: list[Run], rival: list[Run]) -> str:
    (ours, our_half), (theirs, their_half) = (_half([row["jain"] or 0.0 for row in rows]) for rows in (own, rival))
    return "matches" if ours + our_half >= theirs - their_half else "less"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true", help="print the table instead of running")
    given = parser.parse_args()
    if given.table:
        print(table(read()))
    else:
        ROWS.add_missing(product(BY_NAME, ROUTINGS, SCHEMES, SEEDS), measure)


if __name__ == "__main__":
    main()
