"""Each kind of topology has the places, ranges and flows that it says."""

from __future__ import annotations

import pytest

from pacelab.topologies.model import Flow
from pacelab.topologies.plot import describe
from pacelab.topologies.registry import KINDS, load_topology


def test_chain_up_runs_from_the_first_node_over_the_gateway_to_the_wired_host() -> None:
    chain = load_topology("chain", hops=3)
    assert [node.position_m[0] for node in chain.nodes[:4]] == [0, 200, 400, 600]
    assert chain.path(chain.flows[0]) == (0, 1, 2, 3, 4)
    assert chain.wireless_hops(chain.flows[0]) == 3
    assert chain.gateways == (3,)
    assert (chain.wired[0].rate_bps, chain.wired[0].delay_s) == (10_000_000, 0.04)
    assert (chain.decode_m, chain.sense_m) == (250, 550)
    assert chain.features == ("gateway", "multi-hop")


def test_chain_down_and_mixed() -> None:
    assert load_topology("chain", hops=3, direction="down").flows == (Flow(src=4, dst=0),)
    assert load_topology("chain", hops=3, direction="mixed").flows == (Flow(src=0, dst=4), Flow(src=4, dst=0))


def test_chain_without_wire_runs_from_the_first_to_the_last_node() -> None:
    chain = load_topology("chain", hops=7, wired=False)
    assert len(chain.nodes) == 8
    assert chain.flows == (Flow(src=0, dst=7),)
    assert chain.gateways == ()
    assert chain.features == ("multi-hop",)


def test_chain_spacing_too_wide_is_not_connected() -> None:
    with pytest.raises(ValueError, match="no path connects its ends"):
        load_topology("chain", hops=2, spacing=251.0)


def test_chain_of_close_nodes_says_that_routes_skip_some() -> None:
    chain = load_topology("chain", hops=4, spacing=100.0, wired=False)
    assert chain.path(chain.flows[0]) == (0, 2, 4)
    assert chain.description == "chain of 5 wireless nodes 100 m apart, of which routes skip some"


def test_chain_defaults_are_the_papers() -> None:
    assert len(load_topology("chain").nodes) == 9  # 7 hops, so 8 wireless nodes, and the wired host


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


def test_exposed_senders_stand_back_to_back() -> None:
    exposed = load_topology("exposed")
    assert [node.position_m[0] for node in exposed.nodes] == [0, 200, 400, 600]
    assert exposed.flows == (Flow(src=1, dst=0), Flow(src=2, dst=3))
    assert (exposed.decode_m, exposed.sense_m) == (250, 550)


def test_reuse_pairs_are_out_of_each_others_range() -> None:
    reuse = load_topology("reuse")
    assert [node.position_m[0] for node in reuse.nodes] == [0, 200, 1200, 1400]
    assert reuse.flows == (Flow(src=0, dst=1), Flow(src=2, dst=3))
    assert (reuse.decode_m, reuse.sense_m) == (250, 550)


@pytest.mark.parametrize("kind", KINDS)
def test_kind_describes_its_flows_and_ranges(kind: str) -> None:
    text = describe(load_topology(kind))
    assert "flow 0:  " in text
    assert "ranges: decode 250 m, sense" in text


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("ring", {}, f"topology 'ring': allowed is one of {', '.join(KINDS)}, or a path to a .yaml or .py file"),
        ("hidden", {"hops": 3}, "--hops: topology 'hidden' has no such option; its own options: none"),
        ("chain", {"hops": 0}, "--hops 0: allowed is a whole number from 1 to 200"),
        ("chain", {"hops": 2.0}, "--hops 2.0: allowed is a whole number from 1 to 200"),
        ("chain", {"hops": True}, "--hops True: allowed is a whole number from 1 to 200"),
        ("chain", {"spacing": float("nan")}, "--spacing 'nan': allowed is a number from 1 to 10000"),
        ("chain", {"wired": 1}, "--wired 1: allowed is one of on, off"),
        ("cell", {"stations": 26}, "--stations 26: allowed is a whole number from 1 to 25"),
        ("cell", {"direction": "down"}, "--direction down: topology 'cell' allows up"),
    ],
)
def test_load_topology_refuses_with_one_line(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=r"allow|option") as caught:
        load_topology(name, **options)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_pairs_of_each_layout_stand_where_they_should() -> None:
    def places(layout: str, **options: float) -> list[float]:
        return [node.position_m[0] for node in load_topology("pairs", layout=layout, **options).nodes]

    assert places("shared", apart=400.0, shift=50.0) == [0, 150, 400]
    assert places("back-to-back", apart=300.0, link=100.0) == [100, 0, 400, 500]
    assert places("facing", apart=400.0) == [0, 200, 400, 200]
    assert places("in-line", apart=600.0) == [0, 200, 600, 800]
    assert load_topology("pairs").sense_m == 550


def test_pairs_refuse_a_shift_that_has_no_meaning() -> None:
    with pytest.raises(ValueError, match="only the layout shared"):
        load_topology("pairs", layout="facing", shift=10.0)
    with pytest.raises(ValueError, match="less than half"):
        load_topology("pairs", apart=100.0, shift=50.0)
