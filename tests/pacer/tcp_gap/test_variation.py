from __future__ import annotations

import statistics

import pytest
from hook_shell import CALM
from hypothesis import given
from hypothesis import strategies as st

from pacelab.pacer.core.tcp_gap.variation import CoefficientOfVariation, MeanDeviation


def cov_of(samples: list[int], window: int = 50) -> float:
    cov = CoefficientOfVariation(window)
    for sample in samples:
        cov.add(sample)
    return cov.value()


@pytest.mark.parametrize(
    ("samples", "window", "expected"),
    [
        ([], 50, 0.0),
        ([7], 50, 0.0),
        ([5, 5, 5], 50, 0.0),
        ([10, 20, 30], 50, 0.5),  # mean 20, deviations 10, 0, 10: variance 200/2
        ([2, 4, 4, 4, 5, 5, 7, 9], 50, 0.4276179870598791),  # sqrt(32/7)/5
        ([10, 20, 30], 2, 0.28284271247461906),  # of 20 and 30: sqrt(50)/25
        ([10**18 + 1, 10**18 + 2, 10**18 + 3], 50, 1e-18),  # floats would give 0
    ],
)
def test_coefficient_by_hand(samples: list[int], window: int, expected: float) -> None:
    assert cov_of(samples, window) == pytest.approx(expected, rel=1e-12)


@CALM
@given(st.lists(st.integers(1, 10**12), min_size=2, max_size=40), st.integers(2, 12))
def test_coefficient_matches_the_standard_library(samples: list[int], window: int) -> None:
    last = samples[-window:]
    expected = statistics.stdev(last) / statistics.mean(last)
    assert cov_of(samples, window) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_long_runs_do_not_drift() -> None:
    noisy = [(i * 7919) % 10**9 + 1 for i in range(20_000)]
    assert cov_of([*noisy, *[12_345] * 50]) == 0.0


def test_one_sample_is_no_window() -> None:
    with pytest.raises(ValueError, match="samples is 1: allowed is an integer of at least 2"):
        CoefficientOfVariation(1)


@pytest.mark.parametrize(
    ("samples", "window", "expected"),
    [
        ([], 50, 0.0),
        ([7], 50, 0.0),
        ([10, 20, 30], 50, 1 / 3),  # deviations 10, 0, 10
        ([2, 4, 4, 4, 5, 5, 7, 9], 50, 0.3),  # 12 / 8 of 5
        ([90, 10, 30], 2, 0.5),
    ],
)
def test_mean_deviation_by_hand(samples: list[int], window: int, expected: float) -> None:
    deviation = MeanDeviation(window)
    for sample in samples:
        deviation.add(sample)
    assert deviation.value() == pytest.approx(expected, rel=1e-12)
