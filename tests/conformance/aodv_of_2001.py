"""The rows of ns-2.1b8a with its own AODV as cases of `--routing aodv-2001`, and our results for them."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import air_case
import references

from pacelab_topologies.shapes import fu

SECONDS = 299.0
"""From the start of the first flow to the end, both in ns-2 and here."""
GRID_SECONDS = 149.0
"""The same on the grid, whose 169 nodes take ns-2 long."""
SEEDS = range(1, 6)
"""As many as in ns-2."""
WITHOUT_ARP = "grid-without-arp"
"""Rows of ns-2 in which frames find their next hop without ARP, as in PaceLab."""


@dataclass(frozen=True, slots=True)
class Case:
    """TCP over one topology, with one window."""

    topology: str
    flows: int
    hops: int
    window_pkts: int

    @property
    def name(self) -> str:
        """The name in the table."""
        many = "" if self.flows == 1 else f", {self.flows} flows"
        return f"{self.topology} {self.hops} hops W={self.window_pkts}{many}"

    @property
    def seconds(self) -> float:
        """The length of the run."""
        return GRID_SECONDS if self.topology.startswith("grid") else SECONDS

    @property
    def config(self) -> dict[str, Any]:
        """The configuration without its seed."""
        places, ends = self._layout()
        flows = [
            air_case.tcp(src, dst, self.window_pkts, min_rto_s=1.0)
            | {"id": number, "start_s": number / 10, "defaults": "ns2-2001"}
            for number, (src, dst) in enumerate(ends)
        ]
        return air_case.config(
            positions_m=places,
            flows=flows,
            radio=air_case.Radio(rate_mbps=2, preset="ns2-2001"),
            seconds=self.seconds,
            routing="aodv-2001",
        )

    def _layout(self) -> tuple[list[tuple[float, float]], list[tuple[int, int]]]:
        """Positions of the nodes, and the ends of the flows."""
        if self.topology == "chain":
            return air_case.line(*(200.0 * i for i in range(self.hops + 1))), [(0, self.hops)] * self.flows
        if self.topology == "cross":
            made = fu.cross(direction="up", hops=self.hops, spacing=200)
        else:
            made = fu.grid(direction="up", side=self.hops + 1, flows=self.flows, spacing=200)
        places = [node.position_m for node in made.nodes if node.position_m is not None]
        return [(x, y) for x, y in places], [(flow.src, flow.dst) for flow in made.flows]


@cache
def rows() -> dict[Case, list[float]]:
    """ns2-2001-aodv.csv: the goodput of each seed, kbit/s."""
    found: dict[Case, list[float]] = defaultdict(list)
    for row in references.rows("ns2-2001-aodv.csv"):
        case = Case(row["topology"], int(row["flows"]), int(row["hops"]), int(row["window_pkts"]))
        found[case].append(float(row["goodput_kbps"]))
    return dict(found)


def measure(cases: Sequence[Case]) -> dict[Case, float]:
    """Our results in the same units: received data counts, including duplicates; means over the seeds."""
    runs = air_case.run_all([(case.config, SEEDS) for case in cases])
    return {
        case: statistics.mean(sum(flow["throughput_bps"] for flow in run["flows"]) / 1e3 for run in found)
        for case, found in zip(cases, runs, strict=True)
    }


def deviations(cases: Sequence[Case]) -> dict[Case, float]:
    """Ours over ns-2's, minus one."""
    return {case: kbps / statistics.mean(rows()[case]) - 1 for case, kbps in measure(cases).items()}
