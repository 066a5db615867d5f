"""What stock wmediumd gave when it was measured, beside what our medium gives for the same cases."""

from __future__ import annotations

import json
from typing import Any

from pacelab.experiment.experiment import Experiment
from pacelab.lab.recorded import FOLDER
from pacelab.lab.table import Table
from pacelab.results.results import RunResult
from pacelab.running.runner import run

# The same cases for our medium, in the order of the recording; 5 km apart is one pair alone.
_CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("shared", {"apart": 400.0, "sense": 250.0}),
    ("back-to-back", {"apart": 10.0, "link": 10.0}),
    ("back-to-back", {"apart": 200.0}),
    ("in-line", {"apart": 2000.0}),
)


def stock_wmediumd() -> Table:
    """Goodput in Mbit/s of two senders alone and together: stock wmediumd as recorded, ours now, RTS off."""
    recording = json.loads((FOLDER / "stock-wmediumd.json").read_text(encoding="utf-8"))
    alone = _sum_mbps(_run("in-line", {"apart": 5000.0})) / 2
    rows = []
    for case, (layout, options) in zip(recording["cases"], _CASES, strict=True):
        ours = _run(layout, options)
        stock_alone = sum(case["alone_mbps"]) / len(case["alone_mbps"])
        stock_sum = sum(case["together_mbps"])
        rows.append(
            (
                case["case"],
                f"{stock_sum:.2f} = {stock_sum / stock_alone:.2f} x",
                case["retries"],
                f"{_sum_mbps(ours):.2f} = {_sum_mbps(ours) / alone:.2f} x",
                sum(node["retries"] for node in ours.run["nodes"]),
            )
        )
    header = ("case", "stock: both together", "retries", "ours: both together", "retries in 10 s")
    note = (
        f"Mbit/s, and as a multiple of one sender alone. Stock: {recording['what']}; {recording['software']}. "
        "Ours: sim, 802.11g at 6 Mbit/s, saturated UDP, preset ns2, RTS off, 10 s, seed 1."
    )
    return Table(header, rows, note)


def _run(layout: str, options: dict[str, float]) -> RunResult:
    net = {"layout": layout, **options}
    return run(
        Experiment(
            topology="pairs", topology_options=net, phy="802.11g", rate_bps=6_000_000, rts=False, duration_s=10.0
        )
    )


def _sum_mbps(result: RunResult) -> float:
    return result.goodput_bps / 1e6
