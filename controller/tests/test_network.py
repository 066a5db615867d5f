"""The controller's knowledge: links and paths, places, the network file, and which flows are calls."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.tests.fabric import rtp, tcp_frame, udp_frame
from pacelab.units import NS_PER_S
from pacelab_controller.core.flows import MAX_LATE, Classifier, FlowClass
from pacelab_controller.core.frames import Frame, read_frame
from pacelab_controller.core.messages import Port
from pacelab_controller.core.network import (
    GUARD_NS,
    HOLD_NS,
    LINK_LIFE_NS,
    MAX_ADDRESSES,
    SETTLE_NS,
    End,
    Evidence,
    Locations,
    Network,
    Place,
)
from pacelab_controller.errors import InputError
from pacelab_controller.network_file import read_network

# Links and paths.


def ports(count: int, *, up: bool = True) -> tuple[Port, ...]:
    return tuple(Port(number, f"p{number}", number, up) for number in range(1, count + 1))


def joined(links: list[tuple[int, int]], switches: int = 6) -> Network:
    """Switch a's port to switch b has the number b."""
    network = Network()
    for dpid in range(1, switches + 1):
        network.add_switch(0, dpid, ports(switches))
    for a, b in links:
        network.hear(0, End(a, b), End(b, a))
        network.hear(0, End(b, a), End(a, b))
    return network


def test_paths_are_shortest_and_lower_numbers_break_ties() -> None:
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


def test_a_silent_link_is_removed() -> None:
    network = joined([(1, 2)])
    assert network.expire(LINK_LIFE_NS) == []
    network.hear(LINK_LIFE_NS, End(1, 2), End(2, 1))
    assert network.expire(LINK_LIFE_NS + 1) == [End(2, 1), End(1, 2)]
    assert network.path(2, 1) == [End(2, 1)]  # LLDP was heard in the other direction
    assert network.path(1, 2) is None


def test_a_port_that_goes_down_removes_its_link() -> None:
    network = joined([(1, 2)])
    gone = network.change_port(0, 1, Port(2, "p2", 2, False), gone=False)
    assert gone == [End(1, 2), End(2, 1)]
    assert network.path(1, 2) is None
    assert not network.has_port(End(1, 2))


def test_claims_about_unknown_ports_are_ignored() -> None:
    network = joined([])
    assert not network.hear(0, End(1, 99), End(2, 1))
    assert not network.hear(0, End(1, 1), End(77, 1))
    assert not network.hear(0, End(1, 1), End(1, 2))  # a switch connected to itself
    assert network.change_port(0, 77, Port(1, "p", 1, True), gone=False) == []


def test_a_lost_switch_removes_its_links() -> None:
    network = joined([(1, 2), (2, 3)])
    assert sorted(network.remove_switch(2)) == [End(1, 2), End(2, 1), End(2, 3), End(3, 2)]
    assert network.path(1, 3) is None


@given(st.sets(st.tuples(st.integers(1, 6), st.integers(1, 6)).filter(lambda pair: pair[0] < pair[1])))
def test_every_path_arrives_without_a_loop(links: set[tuple[int, int]]) -> None:
    network = joined(sorted(links))
    for src in range(1, 7):
        for dst in range(1, 7):
            way = network.path(src, dst)
            if way is None:
                continue
            at, seen = src, [src]
            for end in way:
                assert end.dpid == at
                at = end.port  # the port has the neighbour's number
                seen.append(at)
            assert at == dst
            assert len(set(seen)) == len(seen)


# Places: evidence that moves an address, and claims that are refused.

A, B, C = (Place(End(number, 1), number) for number in (1, 2, 3))


def test_an_address_is_where_it_was_last_seen() -> None:
    places = Locations()
    assert places.observe(0, 7, A, Evidence.PACKET).new
    moved = places.observe(NS_PER_S, 7, B, Evidence.PACKET)
    assert (moved.place, moved.before) == (B, A)
    assert places.find(7) == B
    assert places.find(8) is None


def test_a_late_packet_does_not_move_it_back() -> None:
    places = Locations()
    places.observe(0, 7, A, Evidence.PACKET)
    places.observe(10 * NS_PER_S, 7, B, Evidence.ARP)
    late = places.observe(10 * NS_PER_S + GUARD_NS - 1, 7, A, Evidence.PACKET)
    assert (late.place, late.refused) == (B, "the packet was in transit when the address moved")
    assert places.observe(10 * NS_PER_S + GUARD_NS, 7, A, Evidence.PACKET).before == B


def test_a_repeated_claim_is_reported_once() -> None:
    places = Locations()
    places.observe(0, 7, B, Evidence.ARP)
    assert places.observe(1, 7, A, Evidence.PACKET).refused == "the packet was in transit when the address moved"
    assert places.observe(2, 7, A, Evidence.PACKET).refused == ""


def test_claims_of_two_places_are_refused_for_a_while() -> None:
    places = Locations()
    places.observe(0, 7, A, Evidence.PACKET)
    answers = [places.observe(number * NS_PER_S, 7, B if number % 2 else A, Evidence.PACKET) for number in range(1, 6)]
    assert [answer.refused for answer in answers[:3]] == [None, None, None]
    assert answers[3].refused == "claimed from two places: it stays where it was"
    assert places.find(7) == B
    assert places.observe(4 * NS_PER_S + HOLD_NS - 1, 7, A, Evidence.ARP).refused is not None
    assert places.observe(4 * NS_PER_S + HOLD_NS, 7, A, Evidence.ARP).before == B


def test_a_registration_ends_the_dispute() -> None:
    places = Locations()
    places.observe(0, 7, A, Evidence.PACKET)
    for number in range(1, 6):
        places.observe(number * NS_PER_S, 7, B if number % 2 else A, Evidence.PACKET)
    assert places.observe(6 * NS_PER_S, 7, C, Evidence.REGISTERED).place == C
    assert places.observe(20 * NS_PER_S, 7, A, Evidence.PACKET).place == A


def test_rules_from_before_only_fill_gaps() -> None:
    places = Locations()
    places.observe(0, 7, A, Evidence.PACKET)
    assert places.observe(9 * NS_PER_S, 7, B, Evidence.RULE).place == A
    assert places.observe(9 * NS_PER_S, 8, B, Evidence.RULE).place == B


def test_memory_is_bounded() -> None:
    places = Locations()
    for address in range(1, MAX_ADDRESSES + 3):
        places.observe(0, address, A, Evidence.PACKET)
    assert len(places.all()) == MAX_ADDRESSES
    assert places.find(1) is None


def test_a_lost_port_removes_its_addresses() -> None:
    places = Locations()
    places.observe(0, 7, A, Evidence.PACKET)
    places.observe(0, 8, B, Evidence.PACKET)
    assert places.forget(A.end) == [7]
    assert places.find(7) is None


@given(st.lists(st.tuples(st.integers(0, 5 * NS_PER_S), st.sampled_from([A, B, C]), st.sampled_from(list(Evidence)))))
def test_an_address_has_one_claimed_place(claims: list[tuple[int, Place, Evidence]]) -> None:
    places, now_ns, claimed = Locations(), 0, set()
    for step_ns, place, how in claims:
        now_ns += step_ns
        sighting = places.observe(now_ns, 7, place, how)
        claimed.add(place)
        assert places.find(7) == sighting.place
        assert sighting.place in claimed
        assert how is not Evidence.REGISTERED or sighting.place == place
        assert (sighting.refused is None) or sighting.place != place


# The file of `--network`: errors name the key, and common spellings are accepted.


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "Expecting property name"),
        ("[]", "it must be an object with names, switches, picture"),
        ('{"switchs": ["1"]}', "unknown key 'switchs'; valid keys are names, switches, picture"),
        ('{"switches": "0000000000000001"}', "switches must be a list"),
        ('{"switches": [1]}', "switches: 1 must be a text of up to 16 hexadecimal digits"),
        ('{"switches": ["-1"]}', "switches: '-1'"),
        ('{"names": {"10.0.0.300": "host"}}', "names: '10.0.0.300'"),
        ('{"names": {"1": 1}}', "names must be an object of texts"),
        ('{"picture": 5}', "picture must be an object"),
    ],
)
def test_an_invalid_network_file_is_reported_with_its_error(content: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "network.json"
    file.write_text(content)
    with pytest.raises(InputError) as refused:
        read_network(file)
    assert str(refused.value).startswith(f"--network {file}: ")
    assert said in str(refused.value)


def test_a_network_file_accepts_all_forms_of_switch_numbers(tmp_path: Path) -> None:
    file = tmp_path / "network.json"
    file.write_text(json.dumps({"switches": ["A", "0x1"], "names": {"A": "GA", "10.0.0.5": "host"}}))
    known = read_network(file)
    assert known.switches == (10, 1)
    assert known.names == {"000000000000000a": "GA", "10.0.0.5": "host"}


def test_a_network_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "network.json"
    file.write_text('{"switches": ["1"]}', "utf-8-sig")
    assert read_network(file).switches == (1,)


# Which flows are classified as voice, and which are not.

MAC = 0x0200_0000_0901


def packet(payload: bytes = b"x" * 30, *, tos: int = 0) -> Frame:
    found = read_frame(udp_frame("10.9.0.1", "10.9.0.2", src_mac=MAC, payload=payload, tos=tos))
    assert isinstance(found, Frame)
    return found


def test_tcp_is_tcp_whatever_its_pace() -> None:
    frame = read_frame(tcp_frame("10.9.0.1", "10.9.0.2", src_mac=MAC))
    assert isinstance(frame, Frame)
    flow = Classifier(frame)
    assert flow.found is FlowClass.TCP
    assert not flow.wants_probes
    assert not any(flow.count(50, 50 * 74, 1.0) for _ in range(10))


@pytest.mark.parametrize(
    ("tos", "found"), [(0xB8, "voice"), (0xB0, "voice"), (0xC0, "voice"), (0xA0, "other"), (0, "other")]
)
def test_a_mark_decides_at_once(tos: int, found: str) -> None:
    assert Classifier(packet(tos=tos)).found == found


def test_four_rtp_headers_in_a_row_are_a_call() -> None:
    flow = Classifier(packet(rtp(100)))
    for number in (101, 102):
        assert flow.wants_probes
        assert not flow.probe(packet(rtp(number)))
    assert flow.probe(packet(rtp(103)))
    assert (flow.found, flow.reason) == (FlowClass.VOICE, "RTP, payload type 18")
    assert not flow.wants_probes


def test_a_repeated_first_packet_is_ignored() -> None:
    flow = Classifier(packet(rtp(100)))
    assert not flow.probe(packet(rtp(100)))
    assert flow.wants_probes


@pytest.mark.parametrize("numbers", [(100, 102, 101, 103, 104), (102, 101, 100, 103, 104), (101, 100, 101, 102, 103)])
def test_reordered_packets_are_ignored(numbers: tuple[int, ...]) -> None:
    flow = Classifier(packet(rtp(100)))
    assert [flow.probe(packet(rtp(number))) for number in numbers] == [False] * 4 + [True]


def test_repeated_headers_are_ignored_only_for_a_while() -> None:
    flow = Classifier(packet(rtp(100)))
    for _ in range(MAX_LATE):
        flow.probe(packet(rtp(100)))
    assert flow.wants_probes
    flow.probe(packet(rtp(100)))
    assert not flow.wants_probes
    assert flow.found is FlowClass.OTHER


def test_sequence_numbers_wrap_and_two_may_be_lost() -> None:
    flow = Classifier(packet(rtp(65_534)))
    assert [flow.probe(packet(rtp(number))) for number in (65_535, 65_538, 65_539)] == [False, False, True]


@pytest.mark.parametrize(
    "second",
    [
        rtp(90),  # a step back
        rtp(105),  # four lost packets
        rtp(101, source=8),
        rtp(101, kind=34),  # H.263
        b"\x40" + rtp(101)[1:],  # version 1
        b"x" * 30,
        rtp(101) + bytes(600),  # larger than speech
    ],
)
def test_headers_that_do_not_continue_are_not_voice(second: bytes) -> None:
    flow = Classifier(packet(rtp(100)))
    flow.probe(packet(second))
    assert not flow.wants_probes
    for number in range(102, 110):
        flow.probe(packet(rtp(number)))
    assert flow.found is FlowClass.OTHER


def test_small_packets_at_a_steady_rate_are_voice_after_four_seconds() -> None:
    flow = Classifier(packet())
    assert [flow.count(50, 50 * 100, 1.0) for _ in range(4)] == [False, False, False, True]
    assert flow.found is FlowClass.VOICE


@pytest.mark.parametrize(("packets", "size_bytes"), [(50, 1000), (5, 100), (500, 100)])
def test_other_rates_are_not_voice(packets: int, size_bytes: int) -> None:
    flow = Classifier(packet())
    assert not any(flow.count(packets, packets * size_bytes, 1.0) for _ in range(10))


def test_a_pause_restarts_the_count() -> None:
    flow = Classifier(packet())
    counts = [50, 50, 50, 0, 50, 50, 50, 50]
    assert [flow.count(count, count * 100, 1.0) for count in counts] == [False] * 7 + [True]


def test_the_other_direction_becomes_voice_once() -> None:
    flow = Classifier(packet())
    assert flow.follow("as the other direction")
    assert not flow.follow("as the other direction")
    assert flow.found is FlowClass.VOICE
