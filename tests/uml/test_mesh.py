"""`--routing` with Linux's own protocols between guests' hosts: packets cross hops and use another path if
one fails.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from statistics import fmean

import pytest

from pacelab.experiment.experiment import Experiment
from pacelab.results.results import RunResult
from pacelab.running.runner import run

pytestmark = pytest.mark.guest

BATMAN = pytest.param("batman-adv", marks=pytest.mark.thorough)
"""Not in a short test, which has one protocol of meshes."""

WALK = """\
version: 1
name: walk
description: a station walks from the reach of one relay into that of another
ranges: {decode: 250 m, sense: 550 m}
nodes:
  - {name: walker, at: [0 m, 0 m]}
  - {name: first, at: [200 m, 0 m]}
  - {name: second, at: [200 m, 300 m]}
  - {name: sink, at: [380 m, 150 m]}
flows: [{from: walker, to: sink}]
moves:
  - {node: walker, at: 10 s, to: [0 m, 0 m]}
  - {node: walker, at: 15 s, to: [0 m, 300 m]}
"""
WALK_S, AFTER_S = 60.0, 40


SEEDS = (1, 2, 3, 4)
"""Single runs of TCP-GAP vary by up to 4 %, and change with each change of the code, so means are compared."""
STATIC = Experiment(
    topology="chain",
    topology_options={"hops": 3},
    scheme="tcp-gap",
    rate_bps=2_000_000,
    backend="hwsim",
    where="uml",
    duration_s=15.0,
    warmup_s=3.0,
)


def goodput_bps(result: RunResult) -> float:
    return float(result.run["flows"][0]["goodput_bps"])


@cache
def static_bps() -> float:
    return fmean(goodput_bps(run(STATIC.vary(seed=seed))) for seed in SEEDS)


@pytest.mark.thorough
@pytest.mark.parametrize("routing", ["802.11s", "batman-adv"])
def test_tcp_gap_crosses_a_mesh_as_it_does_static_routes(routing: str) -> None:
    meshes = [run(STATIC.vary(routing=routing, seed=seed)) for seed in SEEDS]
    ratio = fmean(map(goodput_bps, meshes)) / static_bps()
    print(f"{routing}: {ratio:.3f} of static routes' goodput")
    # Its frames are longer by 6 bytes (802.11s) or 24, of 1536, and it sends messages of its own.
    assert 0.85 <= ratio <= 1.03
    assert all(mesh.run["hooks"]["actions"] > 0 for mesh in meshes)
    assert run(STATIC.vary(routing=routing, seed=SEEDS[0])).run == meshes[0].run


@pytest.mark.parametrize("routing", ["802.11s", BATMAN])
def test_a_trace_is_walked_and_its_walker_found_again(routing: str, tmp_path: Path) -> None:
    """The same walk as an ns-2 trace at 60 m/s. mediumd gets the position each 0.1 s, so it is off by 6 m at most."""
    (tmp_path / "walk.tcl").write_text('$ns_ at 10 "$node_(0) setdest 0 300 60"\n')
    moves = WALK.index("moves:")
    (tmp_path / "walk.yaml").write_text(f"{WALK[:moves]}mobility: {{area: [400 m, 400 m], setdest: walk.tcl}}\n")
    walk = Experiment(
        topology=str(tmp_path / "walk.yaml"),
        rate_bps=2_000_000,
        backend="hwsim",
        where="uml",
        routing=routing,
        duration_s=WALK_S,
    )
    found = run(walk)
    each_second = found.series["flows"][0]["goodput_bps"]
    assert min(each_second[1:10]) > 300_000
    assert min(each_second[AFTER_S:]) > 300_000
    walked = found.host["walked"]
    assert walked["at_end_m"] == {"walker": [0.0, 300.0]}
    print(f"{routing}: {walked}")
    assert walked["off_m"]["max"] <= 60 * walked["longest_step_s"] + 0.001
    assert walked["longest_step_s"] < 0.15


@pytest.mark.parametrize("routing", ["static", pytest.param("802.11s", marks=pytest.mark.thorough), BATMAN])
def test_walker_is_found_again_by_a_mesh_alone(routing: str, tmp_path: Path) -> None:
    (tmp_path / "walk.yaml").write_text(WALK)
    walk = Experiment(
        topology=str(tmp_path / "walk.yaml"),
        rate_bps=2_000_000,
        backend="hwsim",
        where="uml",
        routing=routing,
        duration_s=WALK_S,
    )
    each_second = run(walk).series["flows"][0]["goodput_bps"]
    assert min(each_second[1:10]) > 300_000
    assert (min(each_second[AFTER_S:]) > 300_000) == (routing != "static")
    assert (max(each_second[AFTER_S:]) > 0) == (routing != "static")
