"""Jain's index, t intervals and batch rates against values worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelab.metrics import batch_rates_bps, estimate, jain


def test_jain_by_hand() -> None:
    assert jain([5.0, 5.0, 5.0]) == 1.0
    assert jain([7.0, 0.0]) == 0.5
    assert jain([1.0, 2.0, 3.0]) == pytest.approx(36 / 42)  # (1+2+3)^2 / (3 (1+4+9))


def test_jain_of_silent_flows_is_undefined() -> None:
    assert jain([0.0, 0.0]) is None


@given(st.lists(st.floats(0.001, 1e9), min_size=1, max_size=20))
def test_jain_lies_between_one_over_n_and_one(rates: list[float]) -> None:
    index = jain(rates)
    assert index is not None
    assert 1 / len(rates) - 1e-12 <= index <= 1 + 1e-12


def test_estimate_by_hand() -> None:
    found = estimate([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found.mean == 3.0
    # s^2 = 10/4, s/sqrt(5) = 0.70711; t(0.975; 4) = 2.7764 from a printed table
    assert found.half_width == pytest.approx(2.7764 * math.sqrt(2.5 / 5), rel=1e-4)


def test_estimate_of_two_samples() -> None:
    assert estimate([0.0, 2.0]).half_width == pytest.approx(12.706, rel=1e-4)  # t(0.975; 1), s/sqrt(2) = 1


def test_estimate_of_one_sample_has_no_interval() -> None:
    assert (estimate([7.0]).mean, estimate([7.0]).half_width) == (7.0, None)


def test_batch_rates_discard_the_first_batch() -> None:
    # 5000 packets of 1460 bytes are 58.4 Mbit; then 20 s and 10 s
    assert batch_rates_bps([100.0, 120.0, 130.0], batch_pkts=5000, payload_bytes=1460) == [2_920_000, 5_840_000]
