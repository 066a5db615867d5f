"""Links and ways."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pacelab.controller.core.messages import Port
from pacelab.controller.core.network import LINK_LIFE_NS, SETTLE_NS, End, Network


def ports(count: int, *, up: bool = True) -> tuple[Port, ...]:
    return tuple(Port(number, f"p{number}", number, up) for number in range(1, count + 1))


def joined(links: list[tuple[int, int]], switches: int = 6) -> Network:
    """Switch a's port to switch b is b."""
    network = Network()
    for dpid in range(1, switches + 1):
        network.add_switch(0, dpid, ports(switches))
    for a, b in links:
        network.hear(0, End(a, b), End(b, a))
        network.hear(0, End(b, a), End(a, b))
    return network


def test_the_way_has_the_fewest_hops_and_ties_go_to_lower_numbers() -> None:
    network = joined([(1, 2), (1, 3), (2, 4), (3, 4), (4, 5)])
    assert network.path(1, 5) == [End(1, 2), End(2, 4), End(4, 5)]
    assert network.path(5, 1) == [End(5, 4), End(4, 2), End(2, 1)]
    assert network.path(3, 3) == []
    assert network.path(1, 6) is None
    assert network.path(1, 99) is None


def test_a_port_is_an_edge_once_it_has_settled_without_a_link() -> None:
    network = joined([(1, 2)])
    assert not network.is_edge(SETTLE_NS - 1, End(1, 3))
    assert network.is_edge(SETTLE_NS, End(1, 3))
    assert not network.is_edge(SETTLE_NS, End(1, 2))
    assert not network.is_edge(SETTLE_NS, End(9, 1))
    assert End(1, 2) not in network.edges(SETTLE_NS)


def test_a_link_heard_in_one_direction_is_no_edge_at_either_end() -> None:
    network = Network()
    network.add_switch(0, 1, ports(2))
    network.add_switch(0, 2, ports(2))
    assert network.hear(0, End(1, 1), End(2, 2))
    assert not network.is_edge(SETTLE_NS, End(2, 2))


def test_a_link_that_falls_silent_goes() -> None:
    network = joined([(1, 2)])
    assert network.expire(LINK_LIFE_NS) == []
    network.hear(LINK_LIFE_NS, End(1, 2), End(2, 1))
    assert network.expire(LINK_LIFE_NS + 1) == [End(2, 1), End(1, 2)]
    assert network.path(2, 1) == [End(2, 1)]  # the other direction was heard
    assert network.path(1, 2) is None


def test_a_port_that_goes_down_takes_its_link_along() -> None:
    network = joined([(1, 2)])
    gone = network.change_port(0, 1, Port(2, "p2", 2, False), gone=False)
    assert gone == [End(1, 2), End(2, 1)]
    assert network.path(1, 2) is None
    assert not network.has_port(End(1, 2))


def test_claims_about_unknown_ports_are_not_believed() -> None:
    network = joined([])
    assert not network.hear(0, End(1, 99), End(2, 1))
    assert not network.hear(0, End(1, 1), End(77, 1))
    assert not network.hear(0, End(1, 1), End(1, 2))  # a switch wired to itself
    assert network.change_port(0, 77, Port(1, "p", 1, True), gone=False) == []


def test_a_switch_that_goes_takes_its_links_along() -> None:
    network = joined([(1, 2), (2, 3)])
    assert sorted(network.remove_switch(2)) == [End(1, 2), End(2, 1), End(2, 3), End(3, 2)]
    assert network.path(1, 3) is None


@given(st.sets(st.tuples(st.integers(1, 6), st.integers(1, 6)).filter(lambda pair: pair[0] < pair[1])))
def test_every_way_leads_there_without_a_loop(links: set[tuple[int, int]]) -> None:
    network = joined(sorted(links))
    for src in range(1, 7):
        for dst in range(1, 7):
            way = network.path(src, dst)
            if way is None:
                continue
            at, seen = src, [src]
            for end in way:
                assert end.dpid == at
                at = end.port  # the port is the neighbour's number
                seen.append(at)
            assert at == dst
            assert len(set(seen)) == len(seen)
