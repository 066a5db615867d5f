"""TCP-GAP's pace: Eqs. (1) to (5), and the timeout of a round trip, by hand."""

from __future__ import annotations

import statistics
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelab_pacer.core.tcp_gap.equations import mean_deviation, n_hop_delay_ns, path_of, queueing_ns, variation
from pacelab_pacer.core.tcp_gap.pace_estimator import NS2_CODE, PaceConfig, PaceEstimator, RoundTripTimeout
from tests.pacer.hook_driver import CALM, MS, S

# Eqs. (3) to (5) by hand. At 2 Mbit/s a byte takes 4 us: 1500 bytes 6 ms, 40 bytes 0.16 ms, both 6.16 ms.


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
    # 1, 2, 4, 4, 8 us per byte: 19 us per byte for 1100 bytes in both directions is 20.9 ms; the other 50 ms are ten
    # waits of 5 ms. Ahead: four waits, 20 ms, and 1000 bytes over the first four links, 11 ms.
    rates = (8_000_000, 4_000_000, 2_000_000, 2_000_000, 1_000_000)
    assert delay_ms(rates, 70.9, data=1000, ack=100) == pytest.approx(31.0, rel=1e-12)
    # The order of the links matters: from the far end the first four cost 18 ms.
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


# Eqs. (1) and (2) by hand, on four links of 2 Mbit/s: FHD = 2 (RTT/4 + 5.84 ms).

FOUR = (2_000_000,) * 4
_clock = count(100, 100)
"""Seconds: round trips do not overlap."""


def sample(estimator: PaceEstimator, rtt_ns: int, path: tuple[int, ...] = FOUR) -> bool:
    return estimator.sample(next(_clock) * S, rtt_ns, data_bytes=1500, ack_bytes=40, path_rates_bps=path)


def test_first_sample_sets_the_delay() -> None:
    estimator = PaceEstimator(PaceConfig())
    assert sample(estimator, 80 * MS)
    assert estimator.interval_ns == 51_680_000


def test_second_sample_is_averaged_and_widened_by_variation() -> None:
    estimator = PaceEstimator(PaceConfig())
    sample(estimator, 80 * MS)
    sample(estimator, 120 * MS)
    # FHD 71.68; average 0.7 x 51.68 + 0.3 x 71.68 = 57.68; mean RTT 100, deviation sqrt(800): COV 0.28284271
    assert estimator.n_hop_delay_ns == pytest.approx(57_680_000)
    assert estimator.cov == pytest.approx(0.28284271)
    assert estimator.interval_ns == 90_308_735  # 57.68 x 1.56568542


def test_average_forgets_at_alpha() -> None:
    estimator = PaceEstimator(PaceConfig())
    sample(estimator, 120 * MS)
    for _ in range(3):
        sample(estimator, 80 * MS)
    assert estimator.n_hop_delay_ns == pytest.approx(58_540_000)  # 51.68 + 0.343 x 20


def test_before_the_first_sample_the_path_counts_as_idle() -> None:
    estimator = PaceEstimator(PaceConfig())
    estimator.expect(data_bytes=1500, path_rates_bps=())
    assert estimator.interval_ns == 0
    estimator.expect(data_bytes=1500, path_rates_bps=FOUR)
    assert estimator.interval_ns == 24 * MS
    sample(estimator, 80 * MS)
    estimator.expect(data_bytes=1500, path_rates_bps=FOUR)
    assert estimator.interval_ns == 51_680_000


def test_weight_of_the_variation_can_be_set() -> None:
    estimator = PaceEstimator(PaceConfig(cov_weight=1.5))
    sample(estimator, 80 * MS)
    sample(estimator, 120 * MS)
    assert estimator.interval_ns == pytest.approx(57.68 * MS * (1 + 1.5 * 0.28284271), rel=1e-6)


def test_unusable_samples_change_nothing() -> None:
    estimator = PaceEstimator(PaceConfig())
    assert not sample(estimator, 80 * MS, ())
    assert not sample(estimator, 80 * MS, (0, 0))
    assert not sample(estimator, 0)
    assert not sample(estimator, -5 * MS)
    assert estimator.interval_ns == 0
    assert estimator.rtt_wireless_ns is None


def test_lost_route_keeps_the_last_path() -> None:
    estimator = PaceEstimator(PaceConfig())
    sample(estimator, 80 * MS)
    assert sample(estimator, 80 * MS, ())
    assert estimator.interval_ns == 51_680_000


def test_changed_route_is_followed() -> None:
    estimator = PaceEstimator(PaceConfig(smoothing=0.0))
    sample(estimator, 80 * MS)
    sample(estimator, 80 * MS, (2_000_000,) * 8)
    assert estimator.interval_ns == 31_680_000  # 2 (80/8 + 5.84)


def test_round_trip_that_waited_for_a_route_is_left_out() -> None:
    estimator = PaceEstimator(PaceConfig())
    sample(estimator, 80 * MS)
    assert not sample(estimator, 2_000 * MS)  # RTO is 80 + 4 x 40 ms
    assert estimator.interval_ns == 51_680_000
    assert estimator.rtt_wireless_ns == 80 * MS


def test_path_that_became_slow_sets_the_pace() -> None:
    estimator = PaceEstimator(PaceConfig())
    sample(estimator, 80 * MS)
    assert [sample(estimator, 400 * MS) for _ in range(2)] == [False, True]  # bounds 240 and 480 ms


def test_variation_is_that_of_the_last_samples() -> None:
    estimator = PaceEstimator(PaceConfig(cov_samples=2))
    for rtt_ms in (100, 20, 30):
        sample(estimator, rtt_ms * MS)
    assert estimator.cov == pytest.approx(0.28284271247461906)  # of 20 and 30: sqrt(50)/25


def test_long_runs_do_not_drift() -> None:
    estimator = PaceEstimator(PaceConfig())
    for rtt_ns in [(i * 7919) % 10**8 + 1 for i in range(20_000)] + [12_345] * 50:
        sample(estimator, rtt_ns)
    assert estimator.cov == 0.0


def test_ns2_code_takes_the_deviation_of_the_delay() -> None:
    estimator = PaceEstimator(NS2_CODE)
    sample(estimator, 80 * MS)
    sample(estimator, 120 * MS)
    # delays 51.68 and 71.68: deviation 10 of 61.68; average 57.68
    assert estimator.interval_ns == pytest.approx(76_382_983, abs=1)


def test_ns2_code_takes_one_hop_of_a_short_path() -> None:
    estimator = PaceEstimator(NS2_CODE)
    sample(estimator, 60 * MS, (2_000_000,) * 3)
    assert estimator.interval_ns == 12_920_000  # t_q = (60 - 3 x 6.16) / 6


def test_pace_is_bounded() -> None:
    estimator = PaceEstimator(PaceConfig())
    sample(estimator, 30_000 * MS)
    assert estimator.interval_ns == 1_000_000_000


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("hops", 0),
        ("smoothing", 1.0),
        ("smoothing", -0.1),
        ("cov_samples", 1),
        ("cov_weight", -0.5),
        ("max_interval_ns", 0),
        ("min_timeout_ns", 0),
        ("one_hop_below", -1),
    ],
)
def test_config_names_what_is_wrong(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{field} must be .*, not {value}"):
        PaceConfig(**{field: value})  # type: ignore[arg-type]


# RTO = SRTT + 4 RTTVAR by hand; the floor is 200 ms.


def after(*rtts_ms: int) -> RoundTripTimeout:
    """An estimator with round trips that end a second apart, from 1 s on."""
    timeout = RoundTripTimeout(200 * MS)
    for number, rtt_ms in enumerate(rtts_ms, start=1):
        assert not timeout.is_late(number * S, rtt_ms * MS)
    return timeout


def test_bound_follows_the_round_trips() -> None:
    assert after(100).is_late(9 * S, 301 * MS)  # 100 + 4 x 50
    assert not after(100).is_late(9 * S, 300 * MS)
    assert after(100, 300).is_late(9 * S, 476 * MS)  # SRTT 125, RTTVAR 87.5
    assert not after(100, 300).is_late(9 * S, 475 * MS)


def test_bound_has_a_floor() -> None:
    assert after(*[20] * 50).is_late(99 * S, 201 * MS)
    assert not after(*[20] * 50).is_late(99 * S, 200 * MS)


def test_all_that_left_before_the_first_late_ack_is_one_flight() -> None:
    timeout = after(20, 20)
    assert [timeout.is_late(at_ms * MS, rtt_ms * MS) for at_ms, rtt_ms in [(9000, 900), (9010, 260), (9200, 201)]] == [
        True,
        True,
        True,  # left at 8999 ms
    ]


def test_path_that_became_slow_is_believed_after_the_doublings() -> None:
    timeout = after(20, 20, 20)  # RTO 200 ms
    assert timeout.is_late(10 * S, 900 * MS)
    assert timeout.is_late(11 * S, 900 * MS)  # bound 400 ms
    assert timeout.is_late(12 * S, 900 * MS)  # bound 800 ms
    assert not timeout.is_late(13 * S, 900 * MS)  # bound 1600 ms


def test_punctual_round_trip_ends_the_doubling() -> None:
    timeout = after(20, 20, 20)
    timeout.is_late(10 * S, 900 * MS)
    timeout.is_late(11 * S, 900 * MS)
    assert not timeout.is_late(12 * S, 20 * MS)
    assert timeout.is_late(13 * S, 390 * MS)


def test_late_round_trips_do_not_move_the_bound() -> None:
    timeout = after(20, 20, 20)
    for _ in range(20):
        assert timeout.is_late(10 * S, 900 * MS)
    assert not timeout.is_late(11 * S, 20 * MS)
    assert timeout.is_late(12 * S, 201 * MS)
