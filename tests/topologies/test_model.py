"""Topologies: refusals, values derived from their data, and valid values of options."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelab.domains import ON_OFF, Choice, Real, Whole
from pacelab_topologies.document import LENGTH, RATE, SIZE, TIME, Quantity
from pacelab_topologies.model import Flow, LinkRate, Move, Node, PathLoss, Topology, WiredLink

# Topologies: refusals, and values derived from their data.


def line(*places_m: float, flow: tuple[int, int] = (0, 1)) -> Topology:
    return Topology(
        name="line",
        description="nodes on a line",
        nodes=tuple(Node(name=f"n{i}", wireless=True, position_m=(float(x), 0.0)) for i, x in enumerate(places_m)),
        flows=(Flow(src=flow[0], dst=flow[1]),),
        decode_m=250.0,
        sense_m=550.0,
    )


def test_topology_refuses_coinciding_positions() -> None:
    with pytest.raises(
        ValueError, match=r"nodes 'n0' and 'n2' are both at \(0\.0, 0\.0\) m; move one, since wireless nodes must"
    ):
        line(0, 200, 0)


def test_topology_allows_a_wired_host_where_a_radio_stands() -> None:
    host = Node(name="host", wireless=False, position_m=(200.0, 0.0))
    wire = WiredLink(a=1, b=2, rate_bps=10_000_000, delay_s=0.04)
    base = line(0, 200)
    assert replace(base, nodes=(*base.nodes, host), wired=(wire,)).gateways == (1,)


def test_topology_refuses_a_flow_whose_ends_are_not_connected() -> None:
    with pytest.raises(
        ValueError,
        match=r"no path connects flow n0->n1; add a wire, or move nodes to at most 250 m from each other",
    ):
        line(0, 250.5)


@pytest.mark.parametrize("flow", [(0, 0), (0, 2), (-1, 0)])
def test_topology_refuses_a_flow_without_two_ends(flow: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"a flow must join two different nodes of 0\.\.1, not"):
        line(0, 200, flow=flow)


@pytest.mark.parametrize("place", [float("nan"), float("inf")])
def test_topology_refuses_positions_that_are_no_place(place: float) -> None:
    with pytest.raises(ValueError, match=r"node 'n1': position_m must be two finite numbers, x and y, not \("):
        line(0, place)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"nodes": ("a", "b")}, "topology 'line': nodes: must be a tuple of pacelab.Node objects, not 'a'"),
        ({"flows": 3}, "topology 'line': flows: must be a tuple of pacelab.Flow objects, not 3"),
        (
            {"nodes": (Node(name="a", wireless=True, position_m=("0", 1)),)},  # type: ignore[arg-type]
            "topology 'line': nodes: Node: position_m must be a number, not ('0', 1)",
        ),
        (
            {"flows": (Flow(src=0, dst=1, start_s="1"),)},  # type: ignore[arg-type]
            "topology 'line': flows: Flow: start_s must be a number, not '1'",
        ),
        (
            {"nodes": (Node(name="a", wireless=True, position_m=None),)},  # type: ignore[arg-type]
            "topology 'line': nodes: Node: position_m must be two finite numbers, x and y, not None",
        ),
        (
            {"moves": (Move(node=0, at_s=1.0, position_m=(1.0,)),)},  # type: ignore[arg-type]
            "topology 'line': moves: Move: position_m must be two finite numbers, x and y, not (1.0,)",
        ),
        ({"path_loss": 3.5}, "topology 'line': path_loss must be a pacelab.PathLoss, not 3.5"),
        (
            {"path_loss": PathLoss(exponent="3.5")},  # type: ignore[arg-type]
            "topology 'line': the fields of path_loss must be numbers, not PathLoss(exponent='3.5', shadowing_db=0.0)",
        ),
        ({"sense_m": "550"}, "topology 'line': sense range must be a finite number of metres above 0, not '550'"),
    ],
)
def test_topology_refuses_unknown_parts(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=" must be ") as caught:
        replace(line(0, 200), **given)
    assert str(caught.value) == told


def test_topology_takes_its_parts_from_anything_that_goes_through_them() -> None:
    base = line(0, 200)
    assert replace(base, nodes=(node for node in base.nodes), flows=list(base.flows)) == base  # type: ignore[arg-type]


@pytest.mark.parametrize("decode_m", [0.0, -1.0, float("nan"), float("inf")])
def test_topology_refuses_a_bad_range(decode_m: float) -> None:
    with pytest.raises(ValueError, match="decode range must be a finite number of metres above 0, not"):
        replace(line(0, 200), decode_m=decode_m)


def test_topology_refuses_to_sense_less_than_it_decodes() -> None:
    with pytest.raises(ValueError, match=r"the sense range must be at least the decode range, 250\.0 m, not 249\.0 m"):
        replace(line(0, 200), sense_m=249.0)


@pytest.mark.parametrize(
    "change",
    [
        {"rate_bps": 0},
        {"rate_bps": 0.1},
        {"rate_bps": float("inf")},
        {"delay_s": -0.1},
        {"delay_s": float("nan")},
        {"delay_s": 2e10},
        {"queue_pkts": 0},
        {"queue_pkts": 1.5},
        {"queue_pkts": 10_001},
    ],
)
def test_topology_refuses_a_bad_wire(change: dict[str, Any]) -> None:
    wire = replace(WiredLink(a=0, b=1, rate_bps=10_000_000, delay_s=0.04), **change)
    with pytest.raises(ValueError, match="wire 0-1 of"):
        replace(line(0, 200), wired=(wire,))


def test_topology_refuses_a_second_wire_between_two_nodes() -> None:
    wires = [WiredLink(a=a, b=1 - a, rate_bps=10_000_000, delay_s=0.04) for a in (0, 1)]
    with pytest.raises(ValueError, match="topology 'line' has two wires 1-0; remove one"):
        replace(line(0, 200), wired=wires)


@pytest.mark.parametrize("times", [{"start_s": 2e10}, {"stop_s": 2e10}, {"stop_s": float("inf")}, {"start_s": -1.0}])
def test_topology_refuses_a_flow_at_no_time(times: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="flow 0->1 must start at 0 s or later and stop after its start, at most at"):
        replace(line(0, 200), flows=(Flow(src=0, dst=1, **times),))


def test_topology_refuses_a_rate_from_no_time_on() -> None:
    with pytest.raises(
        ValueError, match="the rate of 0->1 must be a whole number of bit/s above 0, from a time of 0 to"
    ):
        replace(line(0, 200), link_rates=(LinkRate(a=0, b=1, rate_bps=1_000_000, at_s=2e10),))


@pytest.mark.parametrize("name", [None, "", 3, "a\nb", "a\x1b[1m", "a\ud800", "a\u2028b", "\x7f"])
def test_topology_refuses_names_that_break_a_line(name: Any) -> None:
    base = line(0, 200)
    with pytest.raises(ValueError, match=r"^name must be a text without control characters, not"):
        replace(base, name=name)
    with pytest.raises(ValueError, match=r"^topology 'line': node name must be a text without control"):
        replace(base, nodes=(base.nodes[0], replace(base.nodes[1], name=name)))


def test_topology_takes_names_of_all_scripts() -> None:
    assert replace(line(0, 200), name="Größe 東京 \U0001f469\u200d\U0001f4bb").name.startswith("Größe")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"flows": (Flow(src=0.0, dst=1),)}, r"a flow must join two different nodes of 0\.\.1, not"),  # type: ignore[arg-type]
        ({"flows": (Flow(src=True, dst=0),)}, r"a flow must join two different nodes of 0\.\.1, not"),
        (
            {"link_rates": (LinkRate(a=0, b=1, rate_bps=1e6),)},
            "the rate of 0->1 must be a whole number of bit/s above 0, from a time of 0 to",
        ),  # type: ignore[arg-type]
        (
            {"moves": (Move(node=0.0, at_s=1.0, position_m=(1.0, 1.0)),)},
            r"move of node 0\.0 at 1\.0 s: the node must be a wireless one of 0\.\.1",
        ),  # type: ignore[arg-type]
        ({"nodes": (Node(name="a", wireless=1, position_m=(0.0, 0.0)),)}, "True or False"),  # type: ignore[arg-type]
        ({"nodes": (Node(name="a", wireless=True, position_m=(0.0,)),)}, "x and y"),  # type: ignore[arg-type]
    ],
)
def test_topology_refuses_what_the_engine_could_not_take(change: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        replace(line(0, 200), **change)


def test_topology_decodes_at_exactly_its_range() -> None:
    assert line(0, 250).wireless_hops(Flow(src=0, dst=1)) == 1


def test_topology_neighbours_are_those_that_decode() -> None:
    chance = random.Random(3)
    places = [(chance.uniform(-900, 900), chance.uniform(-900, 900)) for _ in range(80)]
    places += [(250.0 * i, 250.0 * j) for i in range(4) for j in range(4)]  # at exactly the range
    nodes = tuple(Node(name=f"n{i}", wireless=i % 9 > 0, position_m=at) for i, at in enumerate(places))
    field = replace(line(0, 250), nodes=nodes, flows=())
    for node in range(len(places)):
        expected = [i for i in range(len(places)) if i != node and field.decodes(node, i)]
        assert list(field.neighbours(node)) == expected


def test_topology_path_has_the_fewest_hops_and_ties_go_to_the_lower_number() -> None:
    diamond = Topology(
        name="diamond",
        description="two ways round",
        nodes=tuple(
            Node(name=f"n{i}", wireless=True, position_m=at)
            for i, at in enumerate([(0.0, 0.0), (150.0, 150.0), (150.0, -150.0), (300.0, 0.0)])
        ),
        flows=(Flow(src=0, dst=3),),
        decode_m=250.0,
        sense_m=550.0,
    )
    assert diamond.path(diamond.flows[0]) == (0, 1, 3)
    assert diamond.features == ("multi-hop",)


# Valid values of an option, and how its text is parsed.

# Domains parse the texts that they show, and refuse all others by name.


MBPS = Real(0, 100_000_000, above=True, scale=1_000_000, whole=True)


@given(st.integers(1, 50))
def test_whole_parses_what_it_shows(value: int) -> None:
    assert Whole(1, 50).parse(Whole(1, 50).show(value)) == value


@given(st.integers(1, 100_000_000))
def test_real_with_a_scale_parses_what_it_shows(value: int) -> None:
    assert MBPS.parse(MBPS.show(value)) == value


@given(st.floats(0, 10_000))
def test_real_parses_what_it_shows_to_15_digits(value: float) -> None:
    domain = Real(0, 10_000)
    assert math.isclose(domain.parse(domain.show(value)), value, rel_tol=1e-14, abs_tol=1e-300)


@pytest.mark.parametrize("text", ["", "x", "1.5", "0", "51", "-3", "nan", "1e1", "9" * 5000])
def test_whole_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="must be a whole number from 1 to 50, not"):
        Whole(1, 50).parse(text)


@pytest.mark.parametrize("text", ["", "x", "0", "-1", "nan", "inf", "-inf", "1e999", "100.1"])
def test_real_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="must be a number above 0, up to 100"):
        MBPS.parse(text)


@pytest.mark.parametrize("value", [None, "1", True, float("nan"), -1.0])
def test_real_refuses_values(value: object) -> None:
    with pytest.raises(ValueError, match="must be a number from 0 to 1, not"):
        Real(0, 1).check(value)


def test_choice_names_what_is_allowed() -> None:
    with pytest.raises(ValueError, match=r"^must be one of on, off, not 'maybe'$"):
        ON_OFF.parse("maybe")
    with pytest.raises(ValueError, match=r"^must be sim, not 'tap'$"):
        Choice.of("sim").parse("tap")


def test_choice_does_not_take_1_for_on() -> None:
    with pytest.raises(ValueError, match=r"^must be one of on, off, not 1; on is written True here$"):
        ON_OFF.check(1)


# Numbers with units.


@pytest.mark.parametrize(
    ("quantity", "text", "value"),
    [
        (TIME, "40 ms", 0.04),
        (TIME, "500us", 0.0005),
        (TIME, "2 min", 120.0),
        (RATE, "5.5 Mbit/s", 5_500_000),
        (RATE, "1e3 bit/s", 1000),
        (SIZE, "1 MB", 1_000_000),
        (SIZE, "1 MiB", 1_048_576),
        (LENGTH, "-0.2 km", -200.0),
    ],
)
def test_quantity_in_the_houses_unit(quantity: Quantity, text: str, value: float) -> None:
    assert quantity.parse(text) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("text", ["40", "ms", "", "1,5 s", "4 S", "nan s", "-1 s", "1e999 s", True, None, [1]])
def test_quantity_refuses_and_lists_valid_values(text: object) -> None:
    with pytest.raises(ValueError, match=r"must be a number of at least 0 with one of the units s, ms, us, min"):
        TIME.parse(text)
