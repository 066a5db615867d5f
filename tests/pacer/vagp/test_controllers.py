"""The controllers of VAGP's gateway, by hand: Algorithm 1, our own, and the fixed rate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelab_pacer.core.segment import FlowKey
from pacelab_pacer.core.vagp.bandwidth_controller import AlertBy, BandwidthConfig, BandwidthController
from pacelab_pacer.core.vagp.e_model import loss_for, mos
from pacelab_pacer.core.vagp.equations import Reading, start_rate_bps
from pacelab_pacer.core.vagp.expect_controller import ExpectConfig, ExpectController
from pacelab_pacer.core.vagp.fixed_rate import FixedConfig
from pacelab_pacer.core.vagp.quality_evaluator import VoiceCounts, VoiceState
from tests.pacer.hook_driver import CALM, MS

# Algorithm 1 by hand, in both readings.


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


def test_unused_rate_does_not_grow_but_is_cut() -> None:
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
    # Data flows in one direction: 180 ms in that direction and 20 ms in the other have a mean of 100.
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


def test_best_rate_is_no_more_than_what_the_calls_did_not_permit() -> None:
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
    for quality in (4.0, 4.0, 4.0, 4.0, 3.8, 4.0, 4.0, 4.0, 4.0):
        made.adjust(state(quality), used=True)
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
    with pytest.raises(ValueError, match=f"{name}.* must be .*, not "):
        BandwidthConfig(**{name: value})  # type: ignore[arg-type]


@CALM
@given(
    st.sampled_from(Reading),
    st.lists(st.tuples(st.one_of(st.none(), st.floats(1, 4.5)), st.integers(0, 5000), st.booleans()), max_size=300),
)
def test_rate_is_always_a_rate(reading: Reading, rounds: list[tuple[float | None, int, bool]]) -> None:
    made = controller(reading=reading)
    for quality, delay_ms, used in rounds:
        made.adjust(None if quality is None else state(quality, delay_ms), used=used)
        assert 12_000 <= made.rate_bps <= 1e9
        assert made.period_ns in (20 * MS, 100 * MS)


# Our own controller, and the fixed rate beside it, by hand.

CALLS = [FlowKey(src=1, dst=100, sport=16_384 + 2 * n, dport=16_384 + 2 * n) for n in range(3)]
BUDGET = 0.0304
"""At 20 ms: R = 94.2 - 2.52 - 11 = 80.68; 70.06 gives 3.6, so that e = (exp(10.62 / 40) - 1) / 10 = 0.0304."""


def heard_state(*losses: float, packets: int = 1000, delay_ms: int = 20) -> VoiceState:
    """The results of a round with this many calls."""
    counts = [VoiceCounts(packets, round(packets * loss), 0, delay_ms * MS) for loss in losses]
    return VoiceState(4.0, 20 * MS, 20 * MS, tuple(zip(CALLS, counts, strict=False)))


def our_controller(rate_bps: float = 100_000, **settings: float) -> ExpectController:
    """A controller that grows at the start no faster than later. Its start has separate tests."""
    growth = settings.get("growth", ExpectConfig().growth)
    made = ExpectConfig(**{"first_growth": growth, **settings}).controller()  # type: ignore[arg-type]
    made.start(rate_bps)
    return made


def test_rate_grows_fast_until_losses_hold_it_back_and_slowly_from_then_on() -> None:
    made = our_controller(first_growth=0.25, growth=0.05, haste=100)
    made.adjust(heard_state(0.0), used=True, sent_bps=100_000)
    assert made.rate_bps == pytest.approx(125_000)
    made.adjust(heard_state(0.2), used=True, sent_bps=125_000)
    held_back = made.rate_bps
    assert held_back < 125_000
    for _ in range(200):  # the losses are forgotten
        made.adjust(heard_state(0.0), used=False, sent_bps=125_000)
    before = made.rate_bps
    made.adjust(heard_state(0.0), used=True, sent_bps=125_000)
    assert made.rate_bps == pytest.approx(1.05 * before)


def test_a_round_trip_over_one_idle_hop_sets_no_rate() -> None:
    made = our_controller()
    made.first_round_trip(10_000_000)
    assert made.rate_bps == 100_000


def test_budget_is_the_loss_of_a_mos() -> None:
    assert mos(network_delay_ns=20 * MS, loss=loss_for(3.6, network_delay_ns=20 * MS)) == pytest.approx(3.6, abs=1e-6)
    assert loss_for(3.6, network_delay_ns=104 * MS) == pytest.approx(0.02, abs=0.0005)  # [vagp] Fig. 2
    assert loss_for(3.6, network_delay_ns=500 * MS) == 0
    with pytest.raises(ValueError, match=r"target_mos must be a number above 1, below 4\.5, not 4\.5"):
        loss_for(4.5, network_delay_ns=0)


def test_rate_is_what_the_worst_direction_permits() -> None:
    # 2 % beside 100 kbit/s: the budget is 1.52 times as much, its fourth root 1.1103. The other's 1 % would permit 132.
    made = our_controller(target_mos=3.6, trust_pkts=1e-9, haste=100, growth=0.5)
    made.adjust(heard_state(0.01, 0.02), used=True, sent_bps=100_000)
    assert made.rate_bps == pytest.approx(111_030, rel=0.001)


def test_no_faster_than_the_growth_nor_below_the_half() -> None:
    up, down = our_controller(haste=100), our_controller(haste=100)
    up.adjust(heard_state(0.001), used=True, sent_bps=100_000)
    down.adjust(heard_state(1.0), used=True, sent_bps=10_000)
    assert (up.rate_bps, down.rate_bps) == (pytest.approx(105_000), pytest.approx(50_000))


def test_a_few_losses_in_one_direction_are_not_counted_separately() -> None:
    # 30 of 3000 in total: the direction with 20 of 1000, plus ten more of a thousand, has 30 of 2000.
    made = our_controller(300_000, target_mos=3.6, trust_pkts=10, haste=100)
    made.adjust(heard_state(0.02, 0.01, 0.0), used=True, sent_bps=200_000)
    assert made.rate_bps == pytest.approx(200_000 * (BUDGET / 0.015) ** 0.25, rel=0.001)


def test_memory_weighs_loss_and_rate_alike() -> None:
    # 1000 packets at 1 % beside 100 kbit/s, half forgotten, then 1000 at 4 % beside 250: 3 % beside 200.
    made = our_controller(200_000, target_mos=3.6, keep=0.5, trust_pkts=1e-9, haste=100)
    made.adjust(heard_state(0.01), used=False, sent_bps=100_000)
    made.start(200_000)
    made.adjust(heard_state(0.04), used=True, sent_bps=250_000)
    assert made.rate_bps == pytest.approx(200_000 * (BUDGET / 0.03) ** 0.25, rel=0.001)


def test_collapse_is_answered_at_once() -> None:
    made = our_controller(300_000)
    for _ in range(200):
        made.adjust(heard_state(0.01, 0.01), used=False, sent_bps=300_000)
    assert made.rate_bps == pytest.approx(300_000)
    rates = []
    for _ in range(6):
        made.adjust(heard_state(0.5, 0.5), used=True, sent_bps=made.rate_bps)
        rates.append(made.rate_bps)
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < 120_000


def test_second_memory_without_losses_has_no_say() -> None:
    made = our_controller(target_mos=3.6, keep_of_all=0.0, trust_pkts=1e-9, growth=0.5)
    made.adjust(heard_state(0.02), used=True, sent_bps=100_000)
    made.start(100_000)
    made.adjust(heard_state(0.0), used=True, sent_bps=100_000)  # 0.94 / 1.94 of 2 % remain
    assert made.rate_bps == pytest.approx(100_000 * (BUDGET / (0.02 * 0.94 / 1.94)) ** 0.25, rel=0.001)


def test_a_delay_that_no_loss_could_explain_halves_the_rate() -> None:
    made = our_controller()
    made.adjust(heard_state(0.01, delay_ms=300), used=True, sent_bps=100_000)
    assert made.rate_bps == pytest.approx(50_000)


def test_rate_without_calls_or_losses_grows_while_it_is_used() -> None:
    made = our_controller()
    made.adjust(None, used=False, sent_bps=0)
    made.adjust(heard_state(0.0), used=False, sent_bps=50_000)
    assert made.rate_bps == 100_000
    made.adjust(None, used=True, sent_bps=100_000)
    assert made.rate_bps == pytest.approx(105_000)
    made.adjust(heard_state(0.0), used=True, sent_bps=100_000)
    assert made.rate_bps == pytest.approx(110_250)


def test_call_that_is_over_is_forgotten() -> None:
    made = our_controller(keep=0.5)
    made.adjust(heard_state(0.5, packets=64), used=True, sent_bps=100_000)
    for _ in range(7):
        made.adjust(None, used=True, sent_bps=100_000)
    assert not made._directions
    assert not made.is_frozen


def test_fixed_rate_ignores_all_input() -> None:
    made = FixedConfig(rate_bps=250_000).controller()
    made.start(1e6)
    made.adjust(heard_state(0.9), used=True, sent_bps=1e6)
    assert (made.rate_bps, made.is_frozen, made.is_alert) == (250_000, False, False)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("target_mos", 1.0),
        ("period_ns", 0),
        ("keep", 1.0),
        ("keep_of_all", -0.1),
        ("haste", 0.9),
        ("trust_pkts", 0.0),
        ("growth", 0.0),
        ("min_rate_bps", 0),
        ("max_rate_bps", 1),
        ("playout_ns", -1),
    ],
)
def test_our_config_names_what_is_wrong(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name}.* must be .*, not "):
        ExpectConfig(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["rate_bps", "period_ns"])
def test_fixed_config_names_what_is_wrong(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be .*, not 0"):
        FixedConfig(**({"rate_bps": 1.0} | {name: 0}))  # type: ignore[arg-type]


@CALM
@given(
    st.lists(
        st.tuples(
            st.none() | st.lists(st.floats(0, 1), max_size=3), st.integers(0, 2000), st.booleans(), st.floats(0, 1e8)
        ),
        max_size=100,
    )
)
def test_our_rate_is_always_a_rate(rounds: list[tuple[list[float] | None, int, bool, float]]) -> None:
    made = our_controller()
    for losses, delay_ms, used, sent_bps in rounds:
        before_bps = made.rate_bps
        voice = None if losses is None else heard_state(*losses, delay_ms=delay_ms)
        made.adjust(voice, used=used, sent_bps=sent_bps)
        assert 12_000 <= made.rate_bps <= max(12_000, 1.1001 * before_bps)
        assert made.is_frozen == (made.rate_bps == 12_000)
