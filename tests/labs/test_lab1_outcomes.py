"""What lab 1 answers to its first question is what its experiment gives in a loop."""

from __future__ import annotations

import math

import pytest

from pacelab import Experiment, run

pytestmark = pytest.mark.usefixtures("engine")

STARVED_BPS = 50_000


def goodputs_bps(layout: str, apart: int, sense: int, rts: bool) -> list[float]:
    """Of the two pairs, as the lab's `draw` places them."""
    apart = min(apart, 490) if layout == "shared" else apart
    net = {"layout": layout, "apart": float(apart), "sense": float(sense)}
    tried = Experiment(
        topology="pairs",
        topology_options=net,
        rts=rts,
        rate_bps=2_000_000,
        traffic="udp-saturated",
        duration_s=10,
    )
    return [flow["goodput_bps"] for flow in run(tried).run["flows"]]


def test_hidden_terminals_starve_somebody_and_exposed_ones_cost_everybody_a_little() -> None:
    places = [
        (layout, apart) for layout in ("in-line", "back-to-back", "facing", "shared") for apart in range(60, 811, 25)
    ]
    pairs = {
        (sense, rts): [goodputs_bps(layout, apart, sense, rts) for layout, apart in places]
        for sense in (250, 550)
        for rts in (False, True)
    }
    starved = {key: sum(min(each) < STARVED_BPS for each in found) for key, found in pairs.items()}
    total = {key: math.fsum(sum(each) for each in found) for key, found in pairs.items()}
    assert len(places) == 124
    assert starved == {(250, False): 8, (250, True): 0, (550, False): 0, (550, True): 0}
    assert round(1 - total[550, True] / total[550, False], 2) == 0.13
