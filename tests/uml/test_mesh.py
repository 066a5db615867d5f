"""`--routing` of Linux's own between guests' hosts: packets cross hops, and find another way when one is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacelab.experiment.experiment import Experiment
from pacelab.running.runner import run

pytestmark = pytest.mark.guest

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


@pytest.mark.parametrize("routing", ["802.11s", "batman-adv"])
def test_tcp_gap_crosses_a_mesh_as_it_does_static_routes(routing: str) -> None:
    static = Experiment(
        topology="chain",
        topology_options={"hops": 3},
        scheme="tcp-gap",
        rate_bps=2_000_000,
        backend="hwsim",
        where="uml",
        duration_s=15.0,
        warmup_s=3.0,
    )
    mesh = run(static.vary(routing=routing))
    ratio = mesh.run["flows"][0]["goodput_bps"] / run(static).run["flows"][0]["goodput_bps"]
    print(f"{routing}: {ratio:.3f} of static routes' goodput")
    # Its frames are longer, by 6 bytes (802.11s) or 24, of 1536, and it talks on the air.
    assert 0.85 <= ratio <= 1.03
    assert mesh.run["hooks"]["actions"] > 0
    assert run(static.vary(routing=routing)).run == mesh.run


@pytest.mark.parametrize("routing", ["static", "802.11s", "batman-adv"])
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
