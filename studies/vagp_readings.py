"""What each interpretation of VAGP's open points does: the calls' MOS and TCP's goodput, over four hops.

    .venv/bin/python studies/vagp_readings.py            run what vagp_readings.csv lacks
    .venv/bin/python studies/vagp_readings.py --table    print the table of docs/vagp.md, without any run

Seven calls and three Reno flows over four hops, 60 s of which the first 10 s are left out, seeds 101 to 105, with the
preset ns2 (7 attempts) and the preset standard (8 attempts). The table has means, and the standard deviation of the
goodput.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from stored_rows import StoredRows, only_table

from pacelab.experiment.experiment import Experiment
from pacelab.running.runner import run
from pacelab.schemes.registry import SCHEMES
from pacelab.units import NS_PER_MS
from pacelab_pacer.core.vagp.bandwidth_controller import AlertBy, BandwidthConfig
from pacelab_pacer.core.vagp.gateway import Vagp, VagpConfig
from pacelab_pacer.core.vagp.quality_evaluator import QualityConfig, VoiceReporter

if TYPE_CHECKING:
    from pacelab.schemes.hook_settings import HookSettings
    from pacelab_pacer.core.contract import Hook

ROWS = StoredRows(
    Path(__file__).with_suffix(".csv"), ("air", "reading", "seed"), ("goodput_bps", "mos_mean", "mos_worst")
)
SEEDS = range(101, 106)
AIRS: dict[str, dict[str, Any]] = {
    "ns2": {},
    "8 attempts": {"radio": "standard", "retry_short": 8, "retry_long": 8},
}
ONCE = QualityConfig(report_once=True)
OFTEN = QualityConfig(report_period_ns=100 * NS_PER_MS, station_report=True)
LONGEST = BandwidthConfig(alert_by=AlertBy.LONGEST)
READINGS: dict[str, tuple[QualityConfig, BandwidthConfig]] = {
    "reports judged once": (ONCE, BandwidthConfig()),
    "a station's report each 0.1 s": (OFTEN, BandwidthConfig()),
    "a station's report each 0.1 s, judged once": (replace(OFTEN, report_once=True), BandwidthConfig()),
    "the same, alert by the longest delay": (replace(OFTEN, report_once=True), LONGEST),
}
"""What differs from `vagp`. The two other rows of the table are `vagp` and `vagp-eval` themselves."""
TITLES = {
    "vagp": "`vagp`",
    **{name: name for name in READINGS},
    "vagp-eval": "the same, windows, rounds, and reports of 1 s, 10 % off and never half: `vagp-eval`",
}


def _gateway(_settings: HookSettings, *, name: str) -> Hook:
    quality, bandwidth = READINGS[name]
    return Vagp(VagpConfig(quality=quality, bandwidth=bandwidth))


def _reporter(_settings: HookSettings, *, name: str) -> Hook:
    return VoiceReporter(READINGS[name][0])


def _in_module(name: str) -> str:
    return f"reading_{list(READINGS).index(name)}"


for _name in READINGS:  # a scheme of a file is found by its name in the module
    globals()[_in_module(_name)] = replace(
        SCHEMES["vagp"], name=_name, gateway=partial(_gateway, name=_name), station=partial(_reporter, name=_name)
    )


def main() -> None:
    """Run or print (see the module's docstring)."""
    if only_table(__doc__):
        print(table())
    else:
        ROWS.add_missing(product(AIRS, TITLES, SEEDS), measure)


def measure(air: str, reading: str, seed: int) -> Mapping[str, object]:
    """One run."""
    totals = run(
        Experiment(
            topology="string",
            topology_options={"hops": 4, "voice": 7, "tcp": 3},
            cc="reno",
            scheme=reading if reading in SCHEMES else f"{__file__}:{_in_module(reading)}",
            duration_s=60.0,
            warmup_s=10.0,
            seed=int(seed),
            **AIRS[air],
        )
    ).run
    voice = [flow["mos"] for flow in totals["flows"] if flow["kind"] == "voice"]
    return {
        "goodput_bps": round(totals["totals"]["goodput_bps"]),
        "mos_mean": round(totals["totals"]["mos_mean"], 4),
        "mos_worst": round(min(voice), 4),
    }


def table() -> str:
    """Means over the seeds, and the standard deviation of the goodput."""
    lines = ["| | ns2: MOS | worst | goodput | 8 attempts: MOS | worst | goodput |", "|---" * 7 + "|"]
    for reading, title in TITLES.items():
        cells = []
        for air in AIRS:
            rows = [row for row in ROWS.read() if (row["air"], row["reading"]) == (air, reading)]
            of = {name: [float(row[name]) for row in rows] for name in ROWS.values}
            kbps = [bps / 1e3 for bps in of["goodput_bps"]]
            cells += [f"{fmean(of[name]):.2f}" for name in ("mos_mean", "mos_worst")]
            cells.append(f"{fmean(kbps):.0f} ± {stdev(kbps):.0f}")
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
