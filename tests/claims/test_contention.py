"""Fu's model by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pacelab.claims.contention import (
    capacities,
    most_independent,
    network_drop_probability,
    retry_drop_probability,
    sender_drop_probability,
)
from pacelab.topologies.model import Flow
from pacelab.topologies.registry import load_topology


def test_retry_drop_probability_is_the_chains_last_state() -> None:
    # H = 1/2, r = 2: states 1 : 1/2 : 1/4, the last has 1/7 of them
    assert retry_drop_probability(0.5, retry_limit=2) == pytest.approx(1 / 7)
    assert retry_drop_probability(0.0) == 0
    assert retry_drop_probability(1.0) == pytest.approx(1 / 8)
    assert retry_drop_probability(1 - 1e-9) == pytest.approx(1 / 8, rel=1e-6)
    with pytest.raises(ValueError, match=r"0\.\.1"):
        retry_drop_probability(1.5)


def drop(backlogged: int) -> float:
    return sender_drop_probability(backlogged, most_starters=12, most_winners=4)


def test_property_5_1_no_drops_up_to_the_capacity() -> None:
    assert [drop(m) for m in (1, 2, 3, 4)] == [0, 0, 0, 0]


def test_property_5_2_drops_grow_beyond_it() -> None:
    # m = 8: c = 8, b = 4, H = 1/2, CS = 1
    assert drop(8) == pytest.approx(0.5 * 0.5**7 / (1 - 0.5**8))
    # m = 12: c = 12, b = 4, H = 2/3
    assert drop(12) == pytest.approx((1 / 3) * (2 / 3) ** 7 / (1 - (2 / 3) ** 8))
    assert drop(4) < drop(8) < drop(12)


def test_property_5_3_a_start_fails_no_more_often_beyond_the_starters() -> None:
    # of 24 senders 12 start: the same H, half of the time
    assert drop(24) == pytest.approx(drop(12) / 2)
    assert drop(24) * 24 == pytest.approx(drop(48) * 48)


def test_network_drop_probability_is_of_all_starters() -> None:
    single = drop(8)
    assert network_drop_probability(8, most_starters=12, most_winners=4) == pytest.approx(1 - (1 - single) ** 8)


def test_capacities_of_pairs_in_a_line() -> None:
    # pairs n0->n1, n2->n3, ... 200 m apart, sensing 550 m: senders 800 m apart start at once, and so do they succeed
    chain = load_topology("chain", hops=11, wired=False)
    pairs = replace(chain, flows=tuple(Flow(src=i, dst=i + 1) for i in range(0, 12, 2)))
    # senders at 0, 400, ... 2000 m: every second may start; 0->200, 800->1000 and 1600->1800 do not touch
    assert capacities(pairs) == (3, 3)


def test_most_independent_of_a_line() -> None:
    # seven in a line, each conflicts with the next two: 0, 3, 6
    line = [[0 < abs(i - j) <= 2 for j in range(7)] for i in range(7)]
    assert most_independent(line) == 3
