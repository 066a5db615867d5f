"""What lab 1 answers to its first question is what its experiment gives in a loop; what a figure calls alone is it."""

from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import Any

import pytest

from pacelab import Experiment, lab, run

pytestmark = pytest.mark.usefixtures("engine")

STARVED_BPS = 50_000
MASTER = Path(__file__).parents[2] / "labs" / "lab1_hidden_exposed.py"


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


@pytest.mark.parametrize(("rts", "kbps"), [(False, 1681), (True, 1531)])
def test_a_pair_that_nobody_disturbs_has_all_of_what_the_figure_calls_alone(rts: bool, kbps: int) -> None:
    known: dict[str, Any] = {"Experiment": Experiment, "lab": lab, "run": run}
    for each in ast.parse(MASTER.read_text("utf-8")).body:
        is_needed = isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) in ("UDP", "FAR", "alone")
        if is_needed or (isinstance(each, ast.FunctionDef) and each.name == "draw"):
            exec(ast.unparse(each), known)  # the repository's own file
    drawn = known["draw"]("back-to-back", 560, 550, rts)
    assert f"n0→n1 {kbps}, n2→n3 {kbps} (alone {kbps})" in drawn.text
