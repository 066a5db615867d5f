"""Algorithm 1 by hand, in both readings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelab.pacer.core.vagp.bandwidth_controller import AlertBy, BandwidthConfig, BandwidthController
from pacelab.pacer.core.vagp.equations import Reading, start_rate_bps
from pacelab.pacer.core.vagp.quality_evaluator import VoiceState
from tests.pacer.hook_shell import CALM, MS


def state(mos: float, delay_ms: int = 20) -> VoiceState:
    return VoiceState(mos, delay_ms * MS, delay_ms * MS)


def controller(rate_bps: float = 100_000, **settings: object) -> BandwidthController:
    made = BandwidthController(BandwidthConfig(**settings))  # type: ignore[arg-type]
    made.start(rate_bps)
    return made


@pytest.mark.parametrize(
    ("mos", "printed", "choke"),
    [
        (4.05, 105_000, 105_000),
        (3.91, 105_000, 105_000),
        (3.9, 103_000, 103_000),
        (3.7, 103_000, 103_000),
        (3.69, 90_000, 100_000),
        (3.61, 90_000, 100_000),
        (3.6, 50_000, 100_000),
        (3.59, 50_000, 90_000),
        (3.3, 50_000, 90_000),
        (3.29, 50_000, 50_000),
        (1.0, 50_000, 50_000),
    ],
)
def test_factor_of_each_quality(mos: float, printed: int, choke: int) -> None:
    for reading, rate_bps in ((Reading.PRINTED, printed), (Reading.CHOKE, choke)):
        made = controller(reading=reading)
        made.adjust(state(mos), used=True)
        assert made.rate_bps == pytest.approx(rate_bps)


def test_rate_that_nobody_uses_does_not_grow_but_is_cut() -> None:
    made = controller()
    made.adjust(state(4.0), used=False)
    assert made.rate_bps == 100_000
    made.adjust(state(3.0), used=False)
    assert made.rate_bps == 50_000


def test_without_calls_the_rate_grows() -> None:
    made = controller()
    made.adjust(None, used=True)
    assert made.rate_bps == pytest.approx(105_000)
    assert made.period_ns == 100 * MS


def test_rate_stays_within_its_bounds() -> None:
    made = controller(rate_bps=20_000, max_rate_bps=30_000)
    for _ in range(3):
        made.adjust(state(1.0), used=True)
    assert (made.rate_bps, made.is_frozen) == (12_000, True)
    made.adjust(state(4.0), used=True)
    assert (made.rate_bps, made.is_frozen) == (12_600, False)
    for _ in range(40):
        made.adjust(state(4.0), used=True)
    assert made.rate_bps == 30_000


@pytest.mark.parametrize(("delay_ms", "period_ms"), [(103, 100), (104, 20), (2000, 20)])
def test_long_delay_shortens_the_period(delay_ms: int, period_ms: int) -> None:
    made = controller()
    made.adjust(state(3.5, delay_ms), used=True)
    assert made.period_ns == period_ms * MS
    made.adjust(state(4.0), used=True)
    assert made.period_ns == 100 * MS


def test_nothing_arriving_is_an_alert() -> None:
    made = controller()
    made.adjust(VoiceState(1.0, None, None), used=True)
    assert made.period_ns == 20 * MS


@pytest.mark.parametrize(("alert_by", "period_ms"), [(AlertBy.MEAN, 100), (AlertBy.LONGEST, 20)])
def test_alert_by_the_mean_or_by_the_longest_delay(alert_by: AlertBy, period_ms: int) -> None:
    # Data goes one way: 180 ms that way and 20 ms the other have a mean of 100.
    made = controller(alert_by=alert_by)
    made.adjust(VoiceState(3.5, 100 * MS, 180 * MS), used=True)
    assert made.period_ns == period_ms * MS
    assert made.is_alert == (period_ms == 20)


def test_half_of_the_best_rate_comes_back_after_five_good_periods() -> None:
    made = controller(rate_bps=800_000)
    made.adjust(state(4.0), used=True)
    assert made.best_rate_bps == pytest.approx(840_000)
    for _ in range(4):
        made.adjust(state(3.0), used=True)
    assert made.rate_bps == pytest.approx(52_500)
    for _ in range(4):
        made.adjust(state(4.0), used=True)
    assert made.rate_bps == pytest.approx(52_500 * 1.05**4)
    made.adjust(state(4.0), used=True)
    assert made.rate_bps == pytest.approx(420_000)
    for _ in range(5):  # once per recovery
        made.adjust(state(4.0), used=True)
    assert made.rate_bps == pytest.approx(420_000 * 1.05**5)


def test_best_rate_is_no_more_than_what_the_calls_did_not_bear() -> None:
    made = controller(rate_bps=800_000)
    made.adjust(state(4.0), used=True)
    made.adjust(state(3.65), used=True)  # 756,000
    made.adjust(state(3.65), used=True)  # 680,400
    for _ in range(4):
        made.adjust(state(3.0), used=True)
    assert made.best_rate_bps == pytest.approx(680_400)
    for _ in range(5):
        made.adjust(state(4.0), used=False)
    assert made.rate_bps == pytest.approx(340_200)


def test_good_periods_must_follow_one_another() -> None:
    made = controller(rate_bps=800_000)
    made.adjust(state(4.0), used=True)
    for _ in range(4):
        made.adjust(state(3.0), used=True)
    for mos in (4.0, 4.0, 4.0, 4.0, 3.8, 4.0, 4.0, 4.0, 4.0):
        made.adjust(state(mos), used=True)
    assert made.rate_bps < 100_000


def test_rate_above_half_of_the_best_is_not_touched_by_recovery() -> None:
    made = controller(rate_bps=800_000, reading=Reading.CHOKE)
    made.adjust(state(4.0), used=True)
    made.adjust(state(3.5), used=True)
    for _ in range(5):
        made.adjust(state(4.0), used=False)
    assert made.rate_bps == pytest.approx(840_000 * 0.9)


def test_start_is_a_packet_per_round_trip() -> None:
    assert start_rate_bps(1500, 24 * MS) == pytest.approx(500_000)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("choke_mos", 3.8),
        ("good_mos", 3.0),
        ("poor_cut", 1.0),
        ("choke_cut", -0.1),
        ("good_gain", -0.1),
        ("fair_gain", -0.1),
        ("normal_period_ns", 0),
        ("alert_period_ns", 0),
        ("alert_delay_ns", 0),
        ("hold_periods", 0),
        ("min_rate_bps", 0),
        ("max_rate_bps", 1),
    ],
)
def test_config_names_what_is_wrong(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name}.* is .*: allowed is"):
        BandwidthConfig(**{name: value})  # type: ignore[arg-type]


@CALM
@given(
    st.sampled_from(Reading),
    st.lists(st.tuples(st.one_of(st.none(), st.floats(1, 4.5)), st.integers(0, 5000), st.booleans()), max_size=300),
)
def test_rate_is_always_a_rate(reading: Reading, rounds: list[tuple[float | None, int, bool]]) -> None:
    made = controller(reading=reading)
    for mos, delay_ms, used in rounds:
        made.adjust(None if mos is None else state(mos, delay_ms), used=used)
        assert 12_000 <= made.rate_bps <= 1e9
        assert made.period_ns in (20 * MS, 100 * MS)
