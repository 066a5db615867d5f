"""The papers' topologies: places, hops, wires, flows and defaults, after the papers' own words."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from pacelab.topologies.model import Flow, Topology
from pacelab.topologies.registry import KINDS, load_topology


def named(topology: Topology, flow: Flow) -> list[str]:
    return [topology.nodes[node].name for node in topology.path(flow)]


def at(topology: Topology) -> dict[str, tuple[float, float]]:
    return {node.name: node.position_m for node in topology.nodes}


def test_parallel_chains_run_over_the_relays_of_fig_4() -> None:
    parallel = load_topology("parallel")
    assert named(parallel, parallel.flows[0]) == ["A1", "RL1", "RL2", "RL3", "RL4", "IG", "RT1", "RT2", "B"]
    assert named(parallel, parallel.flows[1]) == ["A2", "RL5", "RL6", "RL7", "RL8", "IG", "RT1", "RT2", "B"]
    assert [parallel.wireless_hops(flow) for flow in parallel.flows] == [5, 5]
    assert [(wire.rate_bps, wire.delay_s) for wire in parallel.wired] == [(10_000_000, 0.04)] * 3


def test_parallel_chains_are_400_m_apart_and_the_gateway_is_at_the_origin() -> None:
    places = at(load_topology("parallel"))
    assert places["IG"] == (0, 0)
    assert [places[name] for name in ("RL4", "RL3", "A1")] == [(0, 200), (200, 200), (800, 200)]
    assert [places[name] for name in ("RL8", "RL7", "A2")] == [(0, -200), (200, -200), (800, -200)]


@pytest.mark.parametrize(
    ("direction", "ends"),
    [
        ("up", [("A1", "B"), ("A2", "B")]),
        ("down", [("B", "A1"), ("B", "A2")]),
        ("mixed", [("B", "A1"), ("A2", "B")]),
    ],
)
def test_parallel_directions(direction: str, ends: list[tuple[str, str]]) -> None:
    parallel = load_topology("parallel", direction=direction)
    names = [node.name for node in parallel.nodes]
    assert [(names[flow.src], names[flow.dst]) for flow in parallel.flows] == ends


def test_cross_has_13_nodes_and_its_flows_share_node_3() -> None:
    cross = load_topology("cross")
    assert len(cross.nodes) == 13
    assert [cross.path(flow) for flow in cross.flows] == [(0, 1, 2, 3, 4, 5, 6), (7, 8, 9, 3, 10, 11, 12)]


def test_cross_gateway_has_seven_wired_nodes_and_four_arms() -> None:
    cross = load_topology("cross-gateway")
    assert sum(not node.wireless for node in cross.nodes) == 7
    assert [named(cross, flow)[0] for flow in cross.flows] == ["A1", "A2", "A3", "A4"]
    assert [named(cross, flow)[-1] for flow in cross.flows] == ["B1", "B2", "B3", "B4"]
    for flow in cross.flows:
        path = cross.path(flow)
        assert sum(not (cross.nodes[a].wireless and cross.nodes[b].wireless) for a, b in pairwise(path)) == 3


def test_cross_gateway_mixed_turns_the_second_and_fourth_flow() -> None:
    cross = load_topology("cross-gateway", direction="mixed")
    assert [named(cross, flow)[0] for flow in cross.flows] == ["A1", "B2", "A3", "B4"]


@pytest.mark.parametrize(("flows", "rows"), [(2, [6]), (4, [4, 8]), (8, [2, 5, 7, 10]), (12, [1, 3, 5, 7, 9, 11])])
def test_grid_flows_are_spaced_evenly_half_across_half_upwards(flows: int, rows: list[int]) -> None:
    grid = load_topology("grid", flows=flows)
    assert len(grid.nodes) == 169
    across = [Flow(src=13 * row, dst=13 * row + 12) for row in rows]
    upwards = [Flow(src=column, dst=156 + column) for column in rows]
    assert grid.flows == (*across, *upwards)
    assert {grid.wireless_hops(flow) for flow in grid.flows} == {12}


def test_random_is_one_component_within_its_rectangle() -> None:
    layout = load_topology("random")
    assert (len(layout.nodes), len(layout.flows)) == (200, 20)
    assert len(layout.reached(0)) == 200
    assert all(0 <= node.position_m[0] <= 1000 and 0 <= node.position_m[1] <= 2500 for node in layout.nodes)


def test_random_places_depend_on_the_layout_seed_alone() -> None:
    one, two = load_topology("random", layout_seed=1), load_topology("random", layout_seed=2)
    assert one.nodes != two.nodes
    # the first two numbers of Python's Random(1), 0.13436424411240122 and 0.8474337369372327, times 1000 and 2500 m
    assert one.nodes[0].position_m == (134.364, 2118.584)


def test_random_with_a_gateway_is_that_of_section_5_5() -> None:
    layout = load_topology("random", nodes=120, width=2500.0, height=1000.0, flows=8, gateway=True, direction="mixed")
    (gateway,) = layout.gateways
    assert [node.name for node in layout.nodes[120:]] == ["RT1", "RT2", "B"]
    assert [flow.src == 122 for flow in layout.flows] == [True] * 4 + [False] * 4
    assert all(gateway in layout.path(flow)[1:-1] for flow in layout.flows)


def test_random_redraws_until_connected_and_says_so() -> None:
    # 25 nodes on 1000 x 1000 m: about 4 neighbours each, so that some layouts are connected and most are not
    layouts = [
        load_topology("random", nodes=25, width=1000.0, height=1000.0, flows=1, layout_seed=seed) for seed in range(8)
    ]
    assert all(len(layout.reached(0)) == 25 for layout in layouts)
    assert any("times until connected" in layout.description for layout in layouts)


def test_asymmetric_flows_have_four_hops_or_one_and_two() -> None:
    long, short = load_topology("asymmetric"), load_topology("asymmetric", variant="short")
    assert [named(long, flow) for flow in long.flows] == [
        ["mesh4", "relay1", "mesh1", "relay2", "mesh11"],
        ["mesh2", "mesh1", "mesh14"],
    ]
    assert [named(short, flow) for flow in short.flows] == [["mesh4", "mesh1"], ["mesh2", "mesh1", "mesh14"]]


@pytest.mark.parametrize(
    ("name", "rate_bps"), [("asymmetric", 12_000_000), ("indoor", 24_000_000), ("full-mesh", 12_000_000)]
)
def test_lees_topologies_bring_his_settings(name: str, rate_bps: int) -> None:
    expected = {"phy": "802.11a", "rate_bps": rate_bps, "rts": False, "retry_short": 1, "retry_long": 1}
    assert dict(load_topology(name).defaults) == expected


@pytest.mark.parametrize(("hops", "last"), [(9, "mesh2"), (4, "mesh11"), (1, "mesh3")])
def test_indoor_ends_at_the_theses_nodes(hops: int, last: str) -> None:
    indoor = load_topology("indoor", hops=hops, flows=5)
    assert [named(indoor, flow)[-1] for flow in indoor.flows] == [last] * 5
    assert {indoor.wireless_hops(flow) for flow in indoor.flows} == {hops}


def test_full_mesh_says_that_it_is_a_stand_in() -> None:
    mesh = load_topology("full-mesh")
    assert "stand-in" in mesh.description
    assert "STAND-IN" in KINDS["full-mesh"].summary
    assert len(mesh.reached(0)) == len(mesh.nodes) == 14


def test_tree_is_two_deep_with_flows_from_the_server_to_each_leaf() -> None:
    tree = load_topology("tree", tcp=1)
    assert [named(tree, flow) for flow in tree.flows] == [
        ["server", "G", "m1", "MP6"],
        ["server", "G", "m1", "MAP3"],
        ["server", "G", "m2", "MP7"],
        ["server", "G", "m2", "MAP8"],
    ]
    assert sum(node.wireless for node in tree.nodes) == 7
    assert len(load_topology("tree").flows) == 12


def test_access_point_stations_are_equidistant_and_one_hop_away() -> None:
    cell = load_topology("access-point", stations=7, direction="mixed")
    assert [round(cell.distance_m(0, i), 2) for i in range(1, 8)] == [50.0] * 7
    assert {cell.wireless_hops(flow) for flow in cell.flows} == {1}
    assert [flow.src == 8 for flow in cell.flows] == [False, True, False, True, False, True, False]
    assert (cell.wired[0].rate_bps, cell.wired[0].delay_s) == (100_000_000, 0.02)


def test_two_gateways_station_walks_at_2_m_per_s() -> None:
    walk = load_topology("two-gateways")
    start, end = walk.moves
    assert (end.position_m[0] - start.position_m[0]) / (end.at_s - start.at_s) == 2.0
    assert end.position_m == (400.0, 20.0)
    assert len(walk.gateways) == 2
    assert dict(walk.defaults) == {"routing": "aodv", "duration_s": 220.0}


@pytest.mark.parametrize("name", KINDS)
def test_kind_states_its_source_and_has_connected_flows(name: str) -> None:
    for direction in KINDS[name].directions:
        options: dict[str, Any] = {"gateway": True} if name == "random" else {}
        topology = load_topology(name, direction=direction, **options)
        assert all(topology.path(flow) for flow in topology.flows)
        assert topology.source == KINDS[name].source
