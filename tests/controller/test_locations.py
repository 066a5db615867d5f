"""Places: what moves them, and what is not believed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pacelab.controller.core.network import GUARD_NS, HOLD_NS, MOST_ADDRESSES, End, How, Locations, Place
from pacelab.units import NS_PER_S

A, B, C = (Place(End(number, 1), number) for number in (1, 2, 3))


def test_an_address_is_where_it_was_last_seen() -> None:
    places = Locations()
    assert places.saw(0, 7, A, How.PACKET).new
    moved = places.saw(NS_PER_S, 7, B, How.PACKET)
    assert (moved.place, moved.before) == (B, A)
    assert places.find(7) == B
    assert places.find(8) is None


def test_a_late_packet_does_not_move_it_back() -> None:
    places = Locations()
    places.saw(0, 7, A, How.PACKET)
    places.saw(10 * NS_PER_S, 7, B, How.ARP)
    late = places.saw(10 * NS_PER_S + GUARD_NS - 1, 7, A, How.PACKET)
    assert (late.place, late.refused) == (B, "under way when it moved")
    assert places.saw(10 * NS_PER_S + GUARD_NS, 7, A, How.PACKET).before == B


def test_a_claim_that_is_repeated_is_told_once() -> None:
    places = Locations()
    places.saw(0, 7, B, How.ARP)
    assert places.saw(1, 7, A, How.PACKET).refused == "under way when it moved"
    assert places.saw(2, 7, A, How.PACKET).refused == ""


def test_two_places_at_once_leave_it_where_it_is_for_a_while() -> None:
    places = Locations()
    places.saw(0, 7, A, How.PACKET)
    answers = [places.saw(number * NS_PER_S, 7, B if number % 2 else A, How.PACKET) for number in range(1, 6)]
    assert [answer.refused for answer in answers[:3]] == [None, None, None]
    assert answers[3].refused == "claimed from two places: it stays where it was"
    assert places.find(7) == B
    assert places.saw(4 * NS_PER_S + HOLD_NS - 1, 7, A, How.ARP).refused is not None
    assert places.saw(4 * NS_PER_S + HOLD_NS, 7, A, How.ARP).before == B


def test_a_registration_ends_the_dispute() -> None:
    places = Locations()
    places.saw(0, 7, A, How.PACKET)
    for number in range(1, 6):
        places.saw(number * NS_PER_S, 7, B if number % 2 else A, How.PACKET)
    assert places.saw(6 * NS_PER_S, 7, C, How.REGISTERED).place == C
    assert places.saw(20 * NS_PER_S, 7, A, How.PACKET).place == A


def test_rules_from_before_only_fill_gaps() -> None:
    places = Locations()
    places.saw(0, 7, A, How.PACKET)
    assert places.saw(9 * NS_PER_S, 7, B, How.RULE).place == A
    assert places.saw(9 * NS_PER_S, 8, B, How.RULE).place == B


def test_memory_is_bounded() -> None:
    places = Locations()
    for address in range(1, MOST_ADDRESSES + 3):
        places.saw(0, address, A, How.PACKET)
    assert len(places.all()) == MOST_ADDRESSES
    assert places.find(1) is None


def test_a_port_that_goes_takes_its_addresses_along() -> None:
    places = Locations()
    places.saw(0, 7, A, How.PACKET)
    places.saw(0, 8, B, How.PACKET)
    assert places.forget(A.end) == [7]
    assert places.find(7) is None


@given(st.lists(st.tuples(st.integers(0, 5 * NS_PER_S), st.sampled_from([A, B, C]), st.sampled_from(list(How)))))
def test_an_address_has_one_place_that_somebody_claimed(claims: list[tuple[int, Place, How]]) -> None:
    places, now_ns, claimed = Locations(), 0, set()
    for step_ns, place, how in claims:
        now_ns += step_ns
        sighting = places.saw(now_ns, 7, place, how)
        claimed.add(place)
        assert places.find(7) == sighting.place
        assert sighting.place in claimed
        assert how is not How.REGISTERED or sighting.place == place
        assert (sighting.refused is None) or sighting.place != place
