"""Eqs. (3) to (5) by hand. At 2 Mbit/s a byte takes 4 us: 1500 bytes 6 ms, 40 bytes 0.16 ms, both 6.16 ms."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelab.pacer.core.tcp_gap.equations import mean_deviation, n_hop_delay_ns, path_of, queueing_ns, variation
from tests.pacer.hook_shell import CALM, MS



def delay_ms(
    rates: tuple[int, ...], rtt_ms: float, *, data: int = 1500, ack: int = 40, hops: int = 4, limit: bool = True
) -> float:
    path = path_of(rates, ahead_hops=hops, limit_to_path=limit)
    return n_hop_delay_ns(path, queueing_ns(path, round(rtt_ms * MS), data, ack), data) / MS


@pytest.mark.parametrize(
    ("links", "rtt_ms", "hops", "limit", "expected_ms"),
    [
        (4, 80, 4, True, 51.68),  # 2 (80/4 + 1460 bytes: 5.84)
        (8, 160, 4, True, 51.68),  # the same per hop on a longer path
        (7, 140, 4, True, 51.68),
        (2, 40, 4, True, 25.84),  # h < 4: two hops of 6.92 waiting + 6 sending
        (2, 40, 4, False, 51.68),  # extrapolated to four
        (1, 20, 4, True, 12.92),
        (8, 160, 6, True, 77.52),
        (8, 160, 1, True, 12.92),
    ],
)
def test_delay_of_equal_links(links: int, rtt_ms: float, hops: int, limit: bool, expected_ms: float) -> None:
    assert delay_ms((2_000_000,) * links, rtt_ms, hops=hops, limit=limit) == pytest.approx(expected_ms, rel=1e-12)


def test_delay_of_links_with_different_rates() -> None:
    # 1, 2, 4, 4, 8 us per byte: 19 us both ways for 1100 bytes is 20.9 ms; the other 50 ms are ten waits of 5 ms.
    # Ahead: four waits, 20 ms, and 1000 bytes over the first four links, 11 ms.
    rates = (8_000_000, 4_000_000, 2_000_000, 2_000_000, 1_000_000)
    assert delay_ms(rates, 70.9, data=1000, ack=100) == pytest.approx(31.0, rel=1e-12)
    # The order of the links matters: seen from the far end the first four cost 18 ms.
    assert delay_ms(rates[::-1], 70.9, data=1000, ack=100) == pytest.approx(38.0, rel=1e-12)


def test_delay_extrapolates_with_the_mean_link() -> None:
    # 1 and 2 us per byte: 1100 bytes 3.3 ms, so four waits of 2 ms; twice the two-hop delay of 4 + 3 ms.
    assert delay_ms((8_000_000, 4_000_000), 11.3, data=1000, ack=100, limit=False) == pytest.approx(14.0, rel=1e-12)


def test_impossibly_short_rtt_counts_as_no_queueing() -> None:
    assert delay_ms((2_000_000,) * 4, 1) == pytest.approx(24.0, rel=1e-12)


def cov_of(samples: list[int]) -> float:
    return variation(len(samples), sum(samples), sum(sample * sample for sample in samples))


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([], 0.0),
        ([7], 0.0),
        ([5, 5, 5], 0.0),
        ([10, 20, 30], 0.5),  # mean 20, deviations 10, 0, 10: variance 200/2
        ([2, 4, 4, 4, 5, 5, 7, 9], 0.4276179870598791),  # sqrt(32/7)/5
        ([20, 30], 0.28284271247461906),  # sqrt(50)/25
        ([10**18 + 1, 10**18 + 2, 10**18 + 3], 1e-18),  # floats would give 0
    ],
)
def test_coefficient_by_hand(samples: list[int], expected: float) -> None:
    assert cov_of(samples) == pytest.approx(expected, rel=1e-12)


@CALM
@given(st.lists(st.integers(1, 10**12), min_size=2, max_size=40))
def test_coefficient_matches_the_standard_library(samples: list[int]) -> None:
    expected = statistics.stdev(samples) / statistics.mean(samples)
    assert cov_of(samples) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([], 0.0),
        ([7], 0.0),
        ([10, 20, 30], 1 / 3),  # deviations 10, 0, 10
        ([2, 4, 4, 4, 5, 5, 7, 9], 0.3),  # 12 / 8 of 5
        ([10, 30], 0.5),
    ],
)
def test_mean_deviation_by_hand(samples: list[int], expected: float) -> None:
    assert mean_deviation(samples) == pytest.approx(expected, rel=1e-12)
