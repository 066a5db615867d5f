"""Our own controller, and the fixed rate beside it, by hand."""

from __future__ import annotations

import pytest
from hook_shell import CALM, MS
from hypothesis import given
from hypothesis import strategies as st

from pacelab.pacer.core.segment import FlowKey
from pacelab.pacer.core.vagp.bandwidth_controller import ExpectConfig, ExpectController, FixedConfig
from pacelab.pacer.core.vagp.e_model import loss_for, mos
from pacelab.pacer.core.vagp.quality_evaluator import VoiceCounts, VoiceState

CALLS = [FlowKey(src=1, dst=100, sport=16_384 + 2 * n, dport=16_384 + 2 * n) for n in range(3)]
BUDGET = 0.0304
"""At 20 ms: R = 94.2 - 2.52 - 11 = 80.68; 70.06 gives 3.6, so that e = (exp(10.62 / 40) - 1) / 10 = 0.0304."""


def state(*losses: float, packets: int = 1000, delay_ms: int = 20) -> VoiceState:
    """What a round learned of that many calls."""
    counts = [VoiceCounts(packets, round(packets * loss), 0, delay_ms * MS) for loss in losses]
    return VoiceState(4.0, 20 * MS, 20 * MS, tuple(zip(CALLS, counts, strict=False)))


def controller(rate_bps: float = 100_000, **settings: float) -> ExpectController:
    made = ExpectConfig(**settings).controller()  # type: ignore[arg-type]
    made.start(rate_bps)
    return made


def test_budget_is_the_loss_of_a_mos() -> None:
    assert mos(network_delay_ns=20 * MS, loss=loss_for(3.6, network_delay_ns=20 * MS)) == pytest.approx(3.6, abs=1e-6)
    assert loss_for(3.6, network_delay_ns=104 * MS) == pytest.approx(0.02, abs=0.0005)  # [vagp] Fig. 2
    assert loss_for(3.6, network_delay_ns=500 * MS) == 0
    with pytest.raises(ValueError, match=r"target_mos is 4\.5"):
        loss_for(4.5, network_delay_ns=0)


def test_rate_is_what_the_worst_direction_bears() -> None:
    # 2 % beside 100 kbit/s: the budget is 1.52 times as much, its fourth root 1.1103. The other's 1 % would bear 132.
    made = controller(target_mos=3.6, trust_pkts=1e-9, haste=100, growth=0.5)
    made.adjust(state(0.01, 0.02), used=True, sent_bps=100_000)
    assert made.rate_bps == pytest.approx(111_030, rel=0.001)


def test_no_faster_than_the_growth_nor_below_the_half() -> None:
    up, down = controller(haste=100), controller(haste=100)
    up.adjust(state(0.001), used=True, sent_bps=100_000)
    down.adjust(state(1.0), used=True, sent_bps=10_000)
    assert (up.rate_bps, down.rate_bps) == (pytest.approx(105_000), pytest.approx(50_000))


def test_a_few_losses_of_one_direction_are_no_loss_of_its_own() -> None:
    # 30 of 3000 in all: the one with 20 of 1000, drawn by ten more of a thousand, has 30 of 2000.
    made = controller(300_000, target_mos=3.6, trust_pkts=10, haste=100)
    made.adjust(state(0.02, 0.01, 0.0), used=True, sent_bps=200_000)
    assert made.rate_bps == pytest.approx(200_000 * (BUDGET / 0.015) ** 0.25, rel=0.001)


def test_memory_weighs_loss_and_rate_alike() -> None:
    # 1000 packets at 1 % beside 100 kbit/s, half forgotten, then 1000 at 4 % beside 250: 3 % beside 200.
    made = controller(200_000, target_mos=3.6, keep=0.5, trust_pkts=1e-9, haste=100)
    made.adjust(state(0.01), used=False, sent_bps=100_000)
    made.start(200_000)
    made.adjust(state(0.04), used=True, sent_bps=250_000)
    assert made.rate_bps == pytest.approx(200_000 * (BUDGET / 0.03) ** 0.25, rel=0.001)


def test_collapse_is_answered_at_once() -> None:
    made = controller(300_000)
    for _ in range(200):
        made.adjust(state(0.01, 0.01), used=False, sent_bps=300_000)
    assert made.rate_bps == pytest.approx(300_000)
    rates = []
    for _ in range(6):
        made.adjust(state(0.5, 0.5), used=True, sent_bps=made.rate_bps)
        rates.append(made.rate_bps)
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < 120_000


def test_second_memory_without_losses_has_no_say() -> None:
    made = controller(target_mos=3.6, keep_of_all=0.0, trust_pkts=1e-9, growth=0.5)
    made.adjust(state(0.02), used=True, sent_bps=100_000)
    made.start(100_000)
    made.adjust(state(0.0), used=True, sent_bps=100_000)  # 0.94 / 1.94 of 2 % remain
    assert made.rate_bps == pytest.approx(100_000 * (BUDGET / (0.02 * 0.94 / 1.94)) ** 0.25, rel=0.001)


def test_a_delay_that_no_loss_could_mend_halves_the_rate() -> None:
    made = controller()
    made.adjust(state(0.01, delay_ms=300), used=True, sent_bps=100_000)
    assert made.rate_bps == pytest.approx(50_000)


def test_rate_without_calls_or_losses_grows_while_it_is_used() -> None:
    made = controller()
    made.adjust(None, used=False, sent_bps=0)
    made.adjust(state(0.0), used=False, sent_bps=50_000)
    assert made.rate_bps == 100_000
    made.adjust(None, used=True, sent_bps=100_000)
    assert made.rate_bps == pytest.approx(105_000)
    made.adjust(state(0.0), used=True, sent_bps=100_000)
    assert made.rate_bps == pytest.approx(110_250)


def test_call_that_is_over_is_forgotten() -> None:
    made = controller(keep=0.5)
    made.adjust(state(0.5, packets=64), used=True, sent_bps=100_000)
    for _ in range(7):
        made.adjust(None, used=True, sent_bps=100_000)
    assert not made._directions
    assert not made.is_frozen


def test_fixed_rate_is_deaf() -> None:
    made = FixedConfig(rate_bps=250_000).controller()
    made.start(1e6)
    made.adjust(state(0.9), used=True, sent_bps=1e6)
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
def test_config_names_what_is_wrong(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name}.* is .*: allowed is"):
        ExpectConfig(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["rate_bps", "period_ns"])
def test_fixed_config_names_what_is_wrong(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is 0: allowed is"):
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
def test_rate_is_always_a_rate(rounds: list[tuple[list[float] | None, int, bool, float]]) -> None:
    made = controller()
    for losses, delay_ms, used, sent_bps in rounds:
        before_bps = made.rate_bps
        voice = None if losses is None else state(*losses, delay_ms=delay_ms)
        made.adjust(voice, used=used, sent_bps=sent_bps)
        assert 12_000 <= made.rate_bps <= max(12_000, 1.1001 * before_bps)
        assert made.is_frozen == (made.rate_bps == 12_000)
