"""A network whose parts nothing connects: each is run by itself, and nobody can tell."""

from __future__ import annotations

from typing import Any

import pytest

from pacelab.experiment.experiment import Experiment
from pacelab.sim.airconfig import compile_air
from pacelab.sim.engine import run_air

CHAINS = 9
"""Of eight nodes each: more than the 64 stations from which on a network is taken apart."""


def copies(air: dict[str, Any]) -> dict[str, Any]:
    """Its network so many times, 2 km apart, each copy's flow begun 10 ms later."""
    count = len(air["nodes"])
    nodes, flows = [], []
    for copy in range(CHAINS):
        for node in air["nodes"]:
            x, y = node["position_m"]
            nodes.append(node | {"name": f"{copy}-{node['name']}", "position_m": [x, y + 2000.0 * copy]})
        for flow in air["flows"]:
            moved = {end: flow[end] + count * copy for end in ("src", "dst")}
            flows.append(flow | moved | {"id": copy, "start_s": 0.01 * copy})
    return air | {"nodes": nodes, "flows": flows}


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("routing", ["static", "aodv"])
def test_parts_run_by_themselves_give_what_they_give_in_one_agenda(routing: str) -> None:
    chain = Experiment(topology_options={"hops": 7, "wired": False}, routing=routing, duration_s=5, warmup_s=1)
    air = copies(compile_air(chain))
    fractions: list[float] = []
    apart = run_air(air, (), fractions.append)
    # An end that depends on all flows keeps them in one agenda; it is not reached.
    together = run_air(air | {"stop_after_pkts": 10**9}, (), lambda _fraction: None)
    assert fractions == sorted(fractions)
    assert all(flow["delivered_pkts"] > 10 for flow in apart["flows"])
    # Those that tell how far it is are there in one agenda alone: it was indeed taken apart.
    assert together.pop("events") - apart.pop("events") == 200
    assert apart == together
