"""Eqs. (1) and (2) by hand, on four links of 2 Mbit/s: FHD = 2 (RTT/4 + 5.84 ms)."""

from __future__ import annotations

from itertools import count

import pytest
from tests.pacer.hook_shell import MS, S

from pacelab.pacer.core.tcp_gap.pace_estimator import NS2_CODE, PaceConfig, PaceEstimator

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
    with pytest.raises(ValueError, match=f"{field} is {value}: allowed is "):
        PaceConfig(**{field: value})  # type: ignore[arg-type]
