"""Fits the settings of Lee's testbed (attempts, RTS, processing time of the hosts, sense range) to ten numbers of
Table 5.1.

    .venv/bin/python studies/lee_testbed.py rows.jsonl           run the rows that the file lacks
    .venv/bin/python studies/lee_testbed.py rows.jsonl --table   print the error surface as Markdown, without any run

The fit uses the nine mean rates of Tahoe, which depend on attempts and RTS, and the four-hop delay of one flow over one
hop, which depends on the hosts. The error of a point of the grid is the mean of |ln(ours / printed)| over these ten.
All other numbers of the thesis are held out: the other eight delays, pacing, FeW, delayed ACKs, every other topology.

The sense ranges other than 550 m are run with hosts that take 1 ms: 950 m reaches four hops, 2000 m all of nine.

The thesis has "MAC-layer retries set to zero, RTS/CTS turned off" (Sec. 4.3).
"""

from __future__ import annotations

import argparse
import json
import math
from itertools import product
from pathlib import Path
from typing import Any

from pacelab.claims.traffic_quantities import Aspect, pace_delay_s, transfer_kbps
from pacelab.experiment.experiment import Experiment
from pacelab.running.runner import run

SEEDS = range(1, 6)
SECONDS = 300.0
TAHOE_KBPS = {
    (9, 5): 250,
    (9, 2): 900,
    (9, 1): 1750,
    (4, 5): 400,
    (4, 2): 1400,
    (4, 1): 2750,
    (1, 5): 2750,
    (1, 2): 7000,
    (1, 1): 11_000,
}
"""(hops, flows) -> mean rate. Source: [lee] Table 5.1."""
ONE_HOP_DELAY_S = 0.0116968
RTS = (False, True)
ATTEMPTS = (1, 2, 3, 4, 5, 7)
DELAYS_S = ("0", "0.0005", "0.001", "0.0015")
SENSE_M = 550
"""The sense range of the topology."""
WIDER_M = (950, 2000)
POINTS = (
    *product(RTS, ATTEMPTS, DELAYS_S, [SENSE_M]),
    *product([False], [1, 2, 4, 7], ["0.001"], WIDER_M),
    (True, 7, "0.001", 950),
)
"""RTS, attempts, host delay and sense range."""
FIXED: dict[str, Any] = {
    "topology": "indoor",
    "traffic": "file",
    "size_bytes": 1_000_000,
    "cc": "tahoe",
    "phy": "802.11a",
    "rate_bps": 24_000_000,
    "min_rto_s": 0.2,
    "routing": "static",
    "radio": "ns2",
    "duration_s": SECONDS,
}

Row = dict[str, Any]


def measure(rts: bool, attempts: int, delay: str, sense: int, hops: int, flows: int, scheme: str, seed: int) -> Row:
    """One run: the mean rate, or with pacing the four-hop delay."""
    experiment = Experiment(
        **FIXED,
        topology_options={"hops": hops, "flows": flows, "sense": float(sense)},
        rts=rts,
        retry_short=attempts,
        retry_long=attempts,
        host_delay=delay,
        scheme=scheme,
        seed=seed,
    )
    result = run(experiment)
    value = pace_delay_s(result, Aspect()) if scheme == "tcp-ap" else transfer_kbps(result, Aspect())
    return {"key": [rts, attempts, delay, sense, hops, flows, scheme, seed], "value": value}


def fill(path: Path) -> None:
    """Run the missing rows, one line per run."""
    done = {tuple(row["key"]) for row in read(path)}
    cells = [(hops, flows, "newreno") for hops, flows in TAHOE_KBPS] + [(1, 1, "tcp-ap")]
    with path.open("a") as rows:
        for point, cell, seed in product(POINTS, cells, SEEDS):
            if (*point, *cell, seed) not in done:
                rows.write(json.dumps(measure(*point, *cell, seed)) + "\n")
                rows.flush()


def read(path: Path) -> list[Row]:
    """The existing rows."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(rows: list[Row]) -> str:
    """The error of each point, with that of the rates alone and the delay in ms."""
    lines = ["| RTS | attempts | host delay, ms | sense, m | error | rates alone | one-hop FHD, ms |", "|---" * 7 + "|"]
    found = {}
    for rts, attempts, delay, sense in POINTS:
        mine = [row for row in rows if row["key"][:4] == [rts, attempts, delay, sense]]
        if len(mine) < len(SEEDS) * (len(TAHOE_KBPS) + 1):
            continue
        rates = [abs(math.log(_mean(mine, *cell, "newreno") / printed)) for cell, printed in TAHOE_KBPS.items()]
        delay_s = _mean(mine, 1, 1, "tcp-ap")
        error = (math.fsum(rates) + abs(math.log(delay_s / ONE_HOP_DELAY_S))) / (len(rates) + 1)
        found[rts, attempts, delay, sense] = error
        cells = f"{error:.3f} | {math.fsum(rates) / len(rates):.3f} | {1000 * delay_s:.1f}"
        lines.append(f"| {'on' if rts else 'off'} | {attempts} | {1000 * float(delay):g} | {sense} | {cells} |")
    if found:
        rts, attempts, delay, sense = min(found, key=lambda point: found[point])
        lines += [
            "",
            f"Least: RTS {'on' if rts else 'off'}, {attempts} attempts, host delay {1000 * float(delay):g} ms, "
            f"sense range {sense} m.",
        ]
    return "\n".join(lines)


def _mean(rows: list[Row], hops: int, flows: int, scheme: str) -> float:
    values = [row["value"] for row in rows if row["key"][4:7] == [hops, flows, scheme]]
    return math.fsum(values) / len(values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, help="file of rows, one JSON object per line; made if it does not exist")
    parser.add_argument("--table", action="store_true", help="print the table instead of running")
    given = parser.parse_args()
    if given.table:
        print(table(read(given.rows)))
    else:
        fill(given.rows)


if __name__ == "__main__":
    main()
