"""The topologies that each kind builds."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pacelab_topologies.model import Flow, Topology
from pacelab_topologies.registry import KINDS, find_kind, load_topology
from pacelab_topologies.text import describe

# Each kind of topology has its documented positions, ranges and flows.


def test_chain_up_runs_from_the_first_node_over_the_gateway_to_the_wired_host() -> None:
    chain = load_topology("chain", hops=3)
    assert [node.position_m[0] for node in chain.nodes[:4]] == [0, 200, 400, 600]
    assert chain.path(chain.flows[0]) == (0, 1, 2, 3, 4, 5, 6)
    assert chain.wireless_hops(chain.flows[0]) == 3
    assert chain.gateways == (3,)
    assert [node.name for node in chain.nodes[4:]] == ["RT1", "RT2", "host"]
    assert [(wire.rate_bps, wire.delay_s) for wire in chain.wired] == [(10_000_000, 0.04)] * 3
    assert (chain.decode_m, chain.sense_m) == (250, 550)
    assert chain.features == ("gateway", "multi-hop")


def test_chain_down_and_mixed() -> None:
    assert load_topology("chain", hops=3, direction="down").flows == (Flow(src=6, dst=0),)
    assert load_topology("chain", hops=3, direction="mixed").flows == (Flow(src=0, dst=6), Flow(src=6, dst=0))


@pytest.mark.parametrize("hops", [1, 2, 5])
@pytest.mark.parametrize(("name", "last"), [("chain", "host"), ("parallel", "B")])
def test_wired_hops_are_the_links_behind_the_gateway(name: str, last: str, hops: int) -> None:
    topology = load_topology(name, wired_hops=hops)
    flow = topology.flows[0]
    assert len(topology.wired) == hops
    assert len(topology.path(flow)) == 1 + topology.wireless_hops(flow) + hops
    assert topology.nodes[flow.dst].name == last


def test_wired_hops_of_a_random_layout() -> None:
    scattered = load_topology("random", gateway=True, wired_hops=1)
    assert (len(scattered.wired), scattered.nodes[scattered.wired[0].b].name) == (1, "B")


def test_chain_without_wire_runs_from_the_first_to_the_last_node() -> None:
    chain = load_topology("chain", hops=7, wired=False)
    assert len(chain.nodes) == 8
    assert chain.flows == (Flow(src=0, dst=7),)
    assert chain.gateways == ()
    assert chain.features == ("multi-hop",)


def test_chain_spacing_too_wide_is_not_connected() -> None:
    with pytest.raises(
        ValueError,
        match=r"no path connects flow n0->host; add a wire, or move nodes to at most 250 m from each other",
    ):
        load_topology("chain", hops=2, spacing=251.0)


def test_chain_of_close_nodes_reports_that_routes_skip_some() -> None:
    chain = load_topology("chain", hops=4, spacing=100.0, wired=False)
    assert chain.path(chain.flows[0]) == (0, 2, 4)
    assert chain.description == "chain of 5 wireless nodes 100 m apart, of which routes skip some"


def test_chain_defaults_are_the_papers() -> None:
    assert len(load_topology("chain").nodes) == 11  # 7 hops, so 8 wireless nodes, two routers, and the wired host


def test_cell_has_its_senders_every_10_m() -> None:
    cell = load_topology("cell", stations=3)
    assert [node.position_m[0] for node in cell.nodes] == [0, 10, 20, 30]
    assert cell.flows == (Flow(src=1, dst=0), Flow(src=2, dst=0), Flow(src=3, dst=0))
    assert cell.features == ("single-hop",)


def test_hidden_senders_do_not_sense_each_other() -> None:
    hidden = load_topology("hidden")
    assert [node.position_m[0] for node in hidden.nodes] == [0, 200, 400]
    assert hidden.flows == (Flow(src=0, dst=1), Flow(src=2, dst=1))
    assert (hidden.decode_m, hidden.sense_m) == (250, 250)


def test_exposed_senders_are_back_to_back() -> None:
    exposed = load_topology("exposed")
    assert [node.position_m[0] for node in exposed.nodes] == [0, 200, 400, 600]
    assert exposed.flows == (Flow(src=1, dst=0), Flow(src=2, dst=3))
    assert (exposed.decode_m, exposed.sense_m) == (250, 550)


def test_reuse_pairs_are_out_of_each_others_range() -> None:
    reuse = load_topology("reuse")
    assert [node.position_m[0] for node in reuse.nodes] == [0, 200, 1200, 1400]
    assert reuse.flows == (Flow(src=0, dst=1), Flow(src=2, dst=3))
    assert (reuse.decode_m, reuse.sense_m) == (250, 550)


OWN = """
from pacelab import Flow, Node, Topology

def topology():
    nodes = tuple(Node(name=name, position_m=(x_m, 0), wireless=True) for name, x_m in (("a", 0), ("b", 100)))
    return Topology(name="own", description="", nodes=nodes, flows=(Flow(src=0, dst=1),), decode_m=250, sense_m=550)
"""


def test_one_of_ours_is_built_once_and_a_files_each_time(tmp_path: Path) -> None:
    assert load_topology("chain", hops=3) is load_topology("chain", hops=3)
    assert load_topology("chain", hops=3) != load_topology("chain", hops=4)
    assert load_topology("chain", hops=3, spacing=200) is not load_topology("chain", hops=3, spacing=200.0)
    file = tmp_path / "own.py"
    file.write_text(OWN)
    one, two = load_topology(file), load_topology(file)
    assert one is not two
    assert one == two


@pytest.mark.parametrize("kind", KINDS)
def test_kind_describes_its_flows_and_ranges(kind: str) -> None:
    text = describe(load_topology(kind))
    assert "flow 0:  " in text
    assert "ranges: decode 250 m, sense" in text


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("torus", {}, f"topology must be one of {', '.join(KINDS)}, or the path of a .yaml or .py file, not 'torus'"),
        (
            "hidden",
            {"hops": 3},
            "topology 'hidden' has no option --hops; leave it out, since this topology has no options",
        ),
        ("chain", {"hops": 0}, "--hops must be a whole number from 1 to 200, not 0"),
        ("chain", {"hops": 2.0}, "--hops must be a whole number from 1 to 200, not 2.0"),
        ("chain", {"hops": True}, "--hops must be a whole number from 1 to 200, not True"),
        ("chain", {"spacing": float("nan")}, "--spacing must be a number from 1 to 10000, not 'nan'"),
        ("chain", {"wired_hops": 0}, "--wired-hops must be a whole number from 1 to 16, not 0"),
        (
            *("chain", {"wired_hops": 2, "voice": 1}),
            "--wired-hops 2 cannot be combined with --voice or --tcp, which use the wires of the VAGP paper; leave "
            "--wired-hops out",
        ),
        (
            *("chain", {"wired": False, "wired_hops": 2}),
            "--wired-hops 2 has no effect with --no-wired; use --wired",
        ),
        ("random", {"wired_hops": 2}, "--wired-hops 2 has no effect without --gateway; add --gateway"),
        ("pairs", {"link": 100.0}, "--link 100 has no effect with --layout shared; use another layout"),
        ("chain", {"wired": 1}, "--wired must be one of on, off, not 1; on is written True here"),
        ("cell", {"stations": 26}, "--stations must be a whole number from 1 to 25, not 26"),
        ("cell", {"direction": "down"}, "--direction must be up for topology 'cell', not down"),
    ],
)
def test_load_topology_refuses_with_one_line(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=r" must be | option |; ") as caught:
        load_topology(name, **options)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_pairs_of_each_layout_have_the_right_positions() -> None:
    def places(layout: str, **options: float) -> list[float]:
        return [node.position_m[0] for node in load_topology("pairs", layout=layout, **options).nodes]

    assert places("shared", apart=400.0, shift=50.0) == [0, 150, 400]
    assert places("back-to-back", apart=300.0, link=100.0) == [100, 0, 400, 500]
    assert places("facing", apart=400.0) == [0, 200, 400, 200]
    assert places("in-line", apart=600.0) == [0, 200, 600, 800]
    assert load_topology("pairs").sense_m == 550


def test_pairs_refuse_a_shift_that_has_no_meaning() -> None:
    with pytest.raises(
        ValueError, match="--shift 10 needs --layout shared, the only layout with a receiver between the senders"
    ):
        load_topology("pairs", layout="facing", shift=10.0)
    with pytest.raises(ValueError, match="less than 50"):
        load_topology("pairs", apart=100.0, shift=50.0)


# The papers' topologies: positions, hops, wires, flows and defaults, from the papers' own words.


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


def test_random_redraws_until_connected_and_reports_it() -> None:
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
    assert (indoor.decode_m, indoor.sense_m) == (250, 550)
    assert load_topology("indoor", hops=hops, sense=950).sense_m == 950


def test_full_mesh_reports_that_it_is_a_stand_in() -> None:
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


# The topologies of [vagp]: the string, the tree, and the chain that becomes a string.


def ends(topology: Topology) -> list[tuple[str, str, int | None]]:
    names = [node.name for node in topology.nodes]
    return [(names[flow.src], names[flow.dst], flow.call) for flow in topology.flows]


def test_string_ends_at_map8_with_calls_both_ways() -> None:
    string = load_topology("string", voice=1, tcp=1)
    assert ends(string) == [("server", "MAP8", None), ("pbx", "MAP8", 0), ("MAP8", "pbx", 0)]
    assert [string.nodes[i].name for i in string.path(string.flows[0])] == [
        *("server", "G", "MAP3", "MP6", "MP7", "MAP8"),
    ]
    assert {string.wireless_hops(flow) for flow in string.flows} == {4}
    assert [(wire.rate_bps, wire.delay_s) for wire in string.wired] == [(100_000_000, 0.03), (100_000_000, 0.001)]
    assert dict(string.defaults) == {"phy": "802.11a", "rate_bps": 12_000_000, "rts": False}


def test_string_to_each_ends_at_every_node() -> None:
    string = load_topology("string", destinations="each", voice=3, tcp=1)
    assert [dst for _, dst, call in ends(string) if call is None] == ["MAP3", "MP6", "MP7", "MAP8"]
    called = [src for src, dst, _ in ends(string) if dst == "pbx"]
    assert called == [name for name in ("MAP3", "MP6", "MP7", "MAP8") for _ in range(3)]
    assert sorted({call for _, _, call in ends(string) if call is not None}) == list(range(12))


def test_string_varies_the_link_of_mp6_and_mp7_both_ways() -> None:
    string = load_topology("string", varying=True)
    names = [node.name for node in string.nodes]
    changes = [(link.at_s, names[link.a], names[link.b], link.rate_bps / 1e6) for link in string.link_rates]
    assert changes[:2] == [(40.0, "MP6", "MP7", 9.0), (40.0, "MP7", "MP6", 9.0)]
    assert [(at_s, rate) for at_s, _, _, rate in changes[::2]] == [(40, 9), (70, 12), (100, 6), (130, 12)]


@pytest.mark.parametrize("kind", ["string", "tree"])
def test_two_hops_apart_is_hidden_or_sensed(kind: str) -> None:
    # from the gateway: neighbours at 200 m; in the string the next node is at 400 m; in the tree the other branch's
    # inner node is 400 m from this one's
    a, b = (0, 2) if kind == "string" else (1, 2)
    for interference, sensed in (("hidden", False), ("sensed", True)):
        topology = load_topology(kind, interference=interference)
        assert topology.distance_m(a, b) == 400
        assert (topology.sense_m >= 400) is sensed
        assert topology.decodes(0, 1)


def test_tree_has_calls_to_each_leaf() -> None:
    tree = load_topology("tree", voice=2, tcp=0)
    assert [dst for src, dst, _ in ends(tree) if src == "pbx"] == [
        *("MP6", "MP6", "MAP3", "MAP3", "MP7", "MP7", "MAP8", "MAP8"),
    ]
    assert {tree.wireless_hops(flow) for flow in tree.flows} == {2}


@pytest.mark.parametrize("direction", ["down", "up", "mixed"])
def test_tcp_has_a_direction_and_calls_have_both(direction: str) -> None:
    tree = load_topology("tree", voice=1, tcp=2, direction=direction)
    down = [src == "server" for src, dst, call in ends(tree) if call is None]
    assert down == {"down": [True] * 8, "up": [False] * 8, "mixed": [True, False] * 4}[direction]
    assert sum(call is not None for _, _, call in ends(tree)) == 8


def test_chain_with_calls_is_the_string_and_runs_down() -> None:
    assert ends(load_topology("chain", hops=4, voice=1, tcp=1)) == ends(load_topology("string", voice=1, tcp=1))
    assert load_topology("chain", hops=4, voice=0, tcp=2).name == "string"
    assert load_topology("chain", hops=4).flows == (Flow(src=0, dst=7),)
    kind = find_kind("chain")
    directions = [kind.default_direction(options) for options in ({}, {"hops": 3}, {"voice": 0}, {"tcp": 1})]
    assert directions == ["up", "up", "down", "down"]


@pytest.mark.parametrize("ways", [[(3, 2)], [(3, 2), (3, 2)], [(3, 2), (2, 3), (3, 2)], [(3, 2), (1, 3)]])
def test_a_call_is_two_flows_there_and_back(ways: list[tuple[int, int]]) -> None:
    string = load_topology("string", hops=2)
    flows = tuple(Flow(src=src, dst=dst, call=7) for src, dst in ways)
    with pytest.raises(ValueError, match="call 7"):
        dataclasses.replace(string, flows=flows)


@pytest.mark.parametrize("kind", ["string", "tree", "chain"])
def test_neither_calls_nor_flows_is_refused(kind: str) -> None:
    with pytest.raises(ValueError, match="--voice 0 with --tcp 0"):
        load_topology(kind, voice=0, tcp=0)
