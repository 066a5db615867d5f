"""The topologies of [vagp]: the string, the tree, and the chain that becomes a string."""

from __future__ import annotations

import dataclasses

import pytest

from pacelab.topologies.model import Flow, Topology
from pacelab.topologies.registry import find_kind, load_topology


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
    # from the gateway: neighbours at 200 m, in the string the node after it at 400 m; in the tree the other branch's
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
    assert load_topology("chain", hops=4).flows == (Flow(src=0, dst=5),)
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
