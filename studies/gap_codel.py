"""Does CoDel on TCP-GAP's pacing queue preserve goodput and fairness, and reduce the round-trip time again?

    .venv/bin/python studies/gap_codel.py            run what gap_codel.csv lacks
    .venv/bin/python studies/gap_codel.py --table    print the tables as Markdown, without any run

This text was written before the runs. The scheme was developed on one scene: the chain of 4 hops down behind one wire,
W = 256, seeds 1 to 3, with the same three senders. CoDel's constants are those of RFC 8289, and local retransmission
was switched off there because it cost goodput. Nothing was changed after the runs below.

Held-out scenes, all with data from the wired side, W = 256, 60 s without the first 10 s, seeds 101 to 105: chains of 3,
6 and 8 hops, `cross-gateway`, `parallel`, and `tree`. Senders: NewReno, CUBIC, Vegas. The simulator has no BBR.

Each of `tcp-gap+codel` and `tcp-gap-eval+codel` is compared with the scheme without CoDel, and with FQ-CoDel at all
radios and wires without a pacer. The targets for the means over the seeds, for each scene and sender:

    goodput     at least 95 % of the pacer's without CoDel
    fairness    Jain's index at least 95 % of the same
    delay       round trip at most 1.5 times FQ-CoDel's

A target is met if it is met in every scene with every sender. The number of the 18 cases that meet it is also reported.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

from stored_rows import StoredRows, only_table, totals_of

from pacelab.experiment.experiment import Experiment
from pacelab.running.runner import run

KEYS, VALUES = ("scene", "cc", "way", "seed"), ("goodput_bps", "jain", "rtt_s", "dropped_pkts")
ROWS = StoredRows(Path(__file__).with_suffix(".csv"), KEYS, VALUES)
SEEDS = range(101, 106)
CONTROLS = ("newreno", "cubic", "vegas")
SCENES: dict[str, dict[str, Any]] = {
    **{f"chain {hops}": {"topology": "chain", "topology_options": {"hops": hops}} for hops in (3, 6, 8)},
    **{name: {"topology": name} for name in ("cross-gateway", "parallel", "tree")},
}
WAYS: dict[str, dict[str, Any]] = {
    "newreno": {},
    "fq_codel": {"qdisc": "fq_codel"},
    **{name: {"scheme": name} for name in ("tcp-gap", "tcp-gap+codel", "tcp-gap-eval", "tcp-gap-eval+codel")},
}
COMMON: dict[str, Any] = {"direction": "down", "window_pkts": 256, "duration_s": 60.0, "warmup_s": 10.0}
BASES = {"tcp-gap+codel": "tcp-gap", "tcp-gap-eval+codel": "tcp-gap-eval"}
LEAST_SHARE, MOST_DELAY = 0.95, 1.5

Means = dict[tuple[str, ...], dict[str, float]]


def main() -> None:
    """Run or print (see the module's docstring)."""
    if only_table(__doc__):
        means = ROWS.means()
        print("\n\n".join(table(means, way) for way in BASES))
    else:
        ROWS.add_missing(product(SCENES, CONTROLS, WAYS, SEEDS), measure)


def measure(scene: str, cc: str, way: str, seed: int) -> dict[str, object]:
    """One run."""
    return totals_of(run(Experiment(**SCENES[scene], **WAYS[way], **COMMON, cc=cc, seed=seed)).run)


def table(found: Means, way: str) -> str:
    """Every scene and sender of one scheme, with its ratios."""
    base = BASES[way]
    titles = ("scene, sender", "drop-tail: kbit/s, ms", "FQ-CoDel", base, way, "goodput", "Jain", "round trip")
    lines = [f"| {' | '.join(titles)} |", "|---|---|---|---|---|---|---|---|"]
    met = [0, 0, 0]
    for scene, cc in product(SCENES, CONTROLS):
        of = {name: found[scene, cc, name] for name in ("newreno", "fq_codel", base, way)}
        ratios = (
            of[way]["goodput_bps"] / of[base]["goodput_bps"],
            of[way]["jain"] / of[base]["jain"],
            of[way]["rtt_s"] / of["fq_codel"]["rtt_s"],
        )
        fit = (ratios[0] >= LEAST_SHARE, ratios[1] >= LEAST_SHARE, ratios[2] <= MOST_DELAY)
        met = [count + ok for count, ok in zip(met, fit, strict=True)]
        cells = [f"{each['goodput_bps'] / 1e3:.0f}, {1e3 * each['rtt_s']:.0f}" for each in of.values()]
        marked = [f"{ratio:.2f}" if ok else f"**{ratio:.2f}**" for ratio, ok in zip(ratios, fit, strict=True)]
        lines.append(f"| {scene}, {cc} | {' | '.join([*cells, *marked])} |")
    total = len(SCENES) * len(CONTROLS)
    counts = " | ".join(f"{count} of {total}" for count in met)
    lines.append(f"| met | | | | | {counts} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
