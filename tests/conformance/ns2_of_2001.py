"""The rows of ns-2.1b8a as cases of preset `ns2-2001` and TCP defaults `ns2-2001`, and our results for them."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import air_case
import references

SECONDS = 299.0
"""From the start of the first flow to the end, both in ns-2 and here."""


@dataclass(frozen=True, slots=True)
class Row:
    """The measurements of one row: rate and window means over seeds, drops per run."""

    kbps: float
    half_kbps: float
    """95 % half-width of the mean."""
    window_pkts: float
    drops: float


@dataclass(frozen=True, slots=True)
class Chain:
    """TCP over a chain. Routing aodv: ns-2.1b8a's own; aodv-2.35: ns-2.35's, compiled into that version, like ours."""

    routing: str
    flows: int
    hops: int
    window_pkts: int

    @property
    def name(self) -> str:
        """The name in the table."""
        many = "" if self.flows == 1 else f", {self.flows} flows"
        return f"{self.routing} {self.hops} hops W={self.window_pkts}{many}"

    @property
    def config(self) -> dict[str, Any]:
        """The configuration without its seed."""
        flows = [
            air_case.tcp(0, self.hops, self.window_pkts, min_rto_s=1.0)
            | {"id": number, "start_s": number / 10, "defaults": "ns2-2001"}
            for number in range(self.flows)
        ]
        places = air_case.line(*(200.0 * i for i in range(self.hops + 1)))
        return air_case.config(
            positions_m=places,
            flows=flows,
            radio=air_case.Radio(rate_mbps=2, preset="ns2-2001"),
            seconds=SECONDS,
            routing="static" if self.routing == "static" else "aodv",
        )

    @property
    def seeds(self) -> range:
        """Our seeds. With AODV single runs differ by a tenth."""
        return range(1, 3 if self.routing == "static" else 6)


@cache
def chains() -> dict[Chain, Row]:
    """ns2-2001.csv."""
    found: dict[Chain, list[dict[str, str]]] = defaultdict(list)
    for row in references.rows("ns2-2001.csv"):
        found[Chain(row["routing"], int(row["flows"]), int(row["hops"]), int(row["window_pkts"]))].append(row)
    return {
        chain: Row(
            kbps=statistics.mean(float(row["goodput_kbps"]) for row in rows),
            half_kbps=air_case.half_width([float(row["goodput_kbps"]) for row in rows]),
            window_pkts=statistics.mean(float(row["cwnd_mean_pkts"]) for row in rows),
            drops=statistics.mean(int(row["drops_rts"]) + int(row["drops_data"]) for row in rows),
        )
        for chain, rows in found.items()
    }


def measure_chains(wanted: Sequence[Chain]) -> dict[Chain, Row]:
    """Our results in the same units: received data counts, including duplicates."""
    found = {}
    for chain, runs in zip(wanted, air_case.run_all([(chain.config, chain.seeds) for chain in wanted]), strict=True):
        totals_kbps = [sum(flow["throughput_bps"] for flow in run["flows"]) / 1e3 for run in runs]
        found[chain] = Row(
            kbps=statistics.mean(totals_kbps),
            half_kbps=air_case.half_width(totals_kbps),
            window_pkts=statistics.mean(run["flows"][0]["cwnd_mean_pkts"] for run in runs),
            drops=statistics.mean(run["drops"].get("mac-rts", 0) + run["drops"].get("mac-data", 0) for run in runs),
        )
    return found


def saturated() -> list[air_case.Case]:
    """ns2-2001-saturated.csv; flows are means over ns-2's seeds, and ours over as many."""
    found: dict[tuple[str, ...], list[list[float]]] = defaultdict(list)
    for row in references.rows("ns2-2001-saturated.csv"):
        key = tuple(row[name] for name in ("case", "rate_mbps", "places_m", "flows", "sense_m"))
        found[key].append([float(word) for word in row["flow_kbps"].split()])
    return [_saturated(*key, flows_kbps=flows) for key, flows in found.items()]


def _saturated(
    name: str, rate: str, places: str, flows: str, sense_m: str, *, flows_kbps: list[list[float]]
) -> air_case.Case:
    ends = [tuple(map(int, flow.split(">"))) for flow in flows.split()]
    x_y = [tuple(map(float, place.split(","))) for place in places.split()]
    means = tuple(statistics.mean(flow) for flow in zip(*flows_kbps, strict=True))
    return air_case.Case(
        name=f"{name} {rate} Mbit/s",
        config=air_case.config(
            positions_m=[(x, y) for x, y in x_y],
            flows=[air_case.udp(number, src, dst) for number, (src, dst) in enumerate(ends)],
            radio=air_case.Radio(
                rate_mbps=float(rate), preset="ns2-2001", propagation=references.ranges(float(sense_m))
            ),
            seconds=66,
            warmup_s=6.0,
        ),
        seeds=range(1, len(flows_kbps) + 1),
        expected_kbps=sum(means),
        expected_flows_kbps=means,
    )
