"""Thresholds for Link RED with marking and adaptive pacing (`lred-ecn+pacing`), on chains of 7 to 48 hops.

    .venv/bin/python studies/link_red_thresholds.py rows.jsonl           run the rows that the file lacks
    .venv/bin/python studies/link_red_thresholds.py rows.jsonl --table   print the table as in link_red_thresholds.csv,
                                                                         without any run

[fu] gives none. This was written before the runs: the chosen setting is the one with the largest gain over NewReno. The
gain is the mean over the lengths of log(goodput / NewReno's), so that all lengths have the same weight. One flow, 2
Mbit/s, MaxWin 32, min RTO 1 s, radio ns2, static routes, as the claims run; with other seeds than theirs, which start
at 1.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import defaultdict
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pacelab.experiment.experiment import Experiment
from pacelab.running.runner import run
from pacelab.schemes.hook_settings import HookSettings
from pacelab.schemes.link_red import extra_backoff
from pacelab.schemes.registry import SCHEMES
from pacelab_pacer.core.link_red.link_red import LinkRed, LinkRedConfig

if TYPE_CHECKING:
    from pacelab_pacer.core.contract import Hook

HOPS = (7, 16, 32, 48)
SEEDS = (1001, 1002)
SECONDS = 60.0
MIN_RETRIES = (0.4, 0.8, 1.6)
SPANS = (1.6, 10.0)
"""max_th minus min_th."""
MAX_PROBABILITIES = (0.1, 0.03, 0.01)
SETTINGS = {
    f"setting_{number}": LinkRedConfig(
        min_retries=low, max_retries=round(low + span, 3), max_probability=most, mark=True
    )
    for number, (low, span, most) in enumerate(product(MIN_RETRIES, SPANS, MAX_PROBABILITIES))
}
BASELINE = "newreno"


def _hook(settings: HookSettings, *, config: LinkRedConfig) -> Hook:
    return LinkRed(config, settings.stream("lred").random, extra_backoff(settings))


globals().update(  # a scheme of a file is found by its name in the module
    {
        name: replace(SCHEMES["lred-ecn+pacing"], name=name, link=partial(_hook, config=config))
        for name, config in SETTINGS.items()
    }
)


def fill(path: Path) -> None:
    """Run the missing rows, one line per run. All lengths and settings run with one seed before the next."""
    done = {(row["setting"], row["hops"], row["seed"]) for row in read(path)}
    with path.open("a") as rows:
        for seed, hops, setting in product(SEEDS, HOPS, (BASELINE, *SETTINGS)):
            if (setting, hops, seed) in done:
                continue
            experiment = Experiment(
                topology_options={"hops": hops, "wired": False},
                scheme=setting if setting == BASELINE else f"{__file__}:{setting}",
                rate_bps=2_000_000,
                window_pkts=32,
                min_rto_s=1.0,
                duration_s=SECONDS,
                seed=seed,
            )
            result = run(experiment)
            found = {"goodput_bps": result.run["totals"]["goodput_bps"], "cpu_s": round(result.host["cpu_s"], 2)}
            rows.write(json.dumps({"setting": setting, "hops": hops, "seed": seed} | found) + "\n")
            rows.flush()


def read(path: Path) -> list[dict[str, Any]]:
    """The existing rows."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(rows: list[dict[str, Any]]) -> str:
    """Per setting the mean goodput at each length and the mean gain, the best first."""
    found: dict[tuple[str, int], list[float]] = defaultdict(list)
    for row in rows:
        found[row["setting"], row["hops"]].append(row["goodput_bps"])
    mean = {cell: fmean(values) for cell, values in found.items()}
    gains = {
        setting: fmean(math.log(mean[setting, hops] / mean[BASELINE, hops]) for hops in HOPS)
        for setting in (BASELINE, *SETTINGS)
    }
    lines = ["min_th,max_th,max_P," + ",".join(f"kbps_{hops}_hops" for hops in HOPS) + ",mean_gain_percent"]
    for setting in sorted(gains, key=gains.__getitem__, reverse=True):
        config = SETTINGS.get(setting)
        place = ["", "", ""] if config is None else [config.min_retries, config.max_retries, config.max_probability]
        rates = [f"{mean[setting, hops] / 1e3:.1f}" for hops in HOPS]
        lines.append(",".join([*map(str, place), *rates, f"{100 * math.expm1(gains[setting]):.1f}"]))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=Path)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if not options.table:
        fill(options.rows)
    sys.stdout.write(table(read(options.rows)) + "\n")


if __name__ == "__main__":
    main()
