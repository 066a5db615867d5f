"""The effect of each part of `tcp-expect` alone, on the networks of its development (docs/own-scheme.md, "Parts").

    .venv/bin/python studies/expect_parts.py            run what expect_parts.csv lacks
    .venv/bin/python studies/expect_parts.py --table    print the table as Markdown, without any run

Rows: goodput and Jain's index of a run of 30 s. `ACKs alone` is the rule for ACKs without pacing, `2` has the printed
weight of COV_RTT, `pace alone` is TCP-GAP with the weight 1.5 and an ACK per segment, and `timer` adds dynamic delayed
ACKs (100 ms) to it.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

from stored_rows import Row, StoredRows, only_table

import pacelab
from pacelab.results.metrics import estimate
from pacelab_pacer.core.expect.expected_ack import PACE, ExpectedAck
from pacelab_pacer.core.null import NullHook
from pacelab_pacer.core.tcp_gap.gateway import TcpGapGateway, TcpGapGatewayConfig
from pacelab_pacer.core.tcp_gap.sender import TcpGapSender, TcpGapSenderConfig

KEYS, VALUES = ("case", "routing", "scheme", "seed"), ("goodput_bps", "jain")
ROWS = StoredRows(Path(__file__).with_suffix(".csv"), KEYS, VALUES)
SEEDS = (101, 102, 103)
SECONDS, WARMUP_S = 30.0, 2.0
CASES: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "7 hops down": ("chain", {"hops": 7, "wired_hops": 1}, "down"),
    "parallel up": ("parallel", {"hops": 5}, "up"),
    "parallel down": ("parallel", {"hops": 5}, "down"),
    "asymmetric long": ("asymmetric", {"variant": "long"}, None),
}


def _scheme(name: str, gateway: Any, station: Any, ack: str = "every") -> pacelab.Scheme:
    return pacelab.Scheme(
        name=name,
        summary=name,
        source="pacelab",
        gateway=gateway,
        station=station,
        traffic=("tcp",),
        implied_options={"ack": ack},
    )


def _gateway(_settings: object) -> TcpGapGateway:
    return TcpGapGateway(TcpGapGatewayConfig(pace=PACE))


def _station(_settings: object) -> TcpGapSender:
    return TcpGapSender(TcpGapSenderConfig(pace=PACE))


ACKS_ALONE = _scheme("acks-alone", *2 * (lambda _settings: ExpectedAck(NullHook()),))
WEIGHT_2 = _scheme(
    "weight-2",
    lambda _settings: ExpectedAck(TcpGapGateway(TcpGapGatewayConfig())),
    lambda _settings: ExpectedAck(TcpGapSender(TcpGapSenderConfig())),
)
PACE_ALONE = _scheme("pace-alone", _gateway, _station)
TIMER = _scheme("timer", _gateway, _station, "dynamic")

SCHEMES = {
    "tcp-gap": "tcp-gap",
    "tcp-expect": "tcp-expect",
    "ACKs alone": f"{__file__}:ACKS_ALONE",
    "2": f"{__file__}:WEIGHT_2",
    "pace alone": f"{__file__}:PACE_ALONE",
    "timer": f"{__file__}:TIMER",
}


def measure(case: str, routing: str, scheme: str, seed: int) -> dict[str, str]:
    """One run."""
    topology, options, direction = CASES[case]
    experiment = pacelab.Experiment(
        topology=topology,
        topology_options=options,
        direction=direction,
        scheme=SCHEMES[scheme],
        routing=routing,
        seed=seed,
        duration_s=SECONDS,
        warmup_s=WARMUP_S,
    )
    totals = pacelab.run(experiment).run["totals"]
    return {"goodput_bps": f"{totals['goodput_bps']:.0f}", "jain": f"{totals['jain'] or 0:.6f}"}


def table(rows: list[Row]) -> str:
    """Mean goodput in kbit/s, and Jain's index where there is more than one flow."""
    lines = [f"| case | {' | '.join(SCHEMES)} |", "|---" * (1 + len(SCHEMES)) + "|"]
    for routing, case in product(("static", "aodv"), CASES):
        cells = []
        for scheme in SCHEMES:
            of = [row for row in rows if (row["case"], row["routing"], row["scheme"]) == (case, routing, scheme)]
            goodput = estimate([float(row["goodput_bps"]) / 1e3 for row in of]).mean
            fair = estimate([float(row["jain"]) for row in of]).mean
            cells.append(f"{goodput:.0f}" + ("" if case == "7 hops down" else f", {fair:.3f}"))
        lines.append(f"| {case}{', AODV' if routing == 'aodv' else ''} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    if only_table(__doc__):
        print(table(ROWS.read()))
    else:
        ROWS.add_missing(
            (
                (case, routing, scheme, seed)
                for routing, case, scheme, seed in product(("static", "aodv"), CASES, SCHEMES, SEEDS)
            ),
            measure,
        )
