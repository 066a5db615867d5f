"""One fast wired-to-wireless flow and one slow wireless-to-wired flow, 5 s intervals: 625,000 bytes are 1 Mbit/s."""

from __future__ import annotations

import pytest

from pacelab_pacer.core.tcp_gap.goodput_control import GoodputControl, GoodputControlConfig, GoodputMeter
from tests.pacer.hook_driver import DOWN, UP, S

MBPS_BYTES = 625_000


def credit(now_ns: int, meter: GoodputMeter, acked_bytes: int) -> None:
    """The gateway's reaction to data and its ACK."""
    meter.last_active_ns = now_ns
    meter.carried_bytes += acked_bytes
    meter.delivered_bytes += acked_bytes


class Pair:
    def __init__(self, config: GoodputControlConfig | None = None) -> None:
        self.control = GoodputControl(config)
        self.fast, _ = self.control.start(0, DOWN, may_throttle=True)
        self.slow, _ = self.control.start(0, UP, may_throttle=False)
        self.fast.unthrottled_bps = 2e6
        self.now_ns = 0

    def interval(self, fast_mbps: float, slow_mbps: float) -> list[GoodputMeter]:
        self.now_ns += 5 * S
        assert self.control.deadline_ns() == self.now_ns
        credit(self.now_ns - 1, self.fast, round(fast_mbps * MBPS_BYTES))
        credit(self.now_ns - 1, self.slow, round(slow_mbps * MBPS_BYTES))
        return self.control.tick(self.now_ns)


def test_fast_flow_is_throttled_to_the_mean() -> None:
    pair = Pair()
    assert pair.interval(1.6, 0.4) == [pair.fast]
    assert pair.fast.throttle_bps == pytest.approx(1e6)
    assert pair.control.throttles == 1


def test_up_to_the_threshold_nothing_happens() -> None:
    pair = Pair()
    assert pair.interval(1.09, 0.91) == []
    assert pair.interval(1.11, 0.89) == [pair.fast]


def test_only_wired_to_wireless_flows_are_throttled() -> None:
    pair = Pair()
    assert pair.interval(0.4, 1.6) == []
    assert pair.slow.throttle_bps is None


def test_unpaced_flow_is_not_throttled() -> None:
    pair = Pair()
    pair.fast.unthrottled_bps = None
    assert pair.interval(1.6, 0.4) == []


def test_throttle_that_helps_ages_towards_the_unthrottled_rate() -> None:
    pair = Pair()
    pair.interval(1.6, 0.4)
    pair.interval(1.0, 0.96)
    assert pair.fast.throttle_bps == pytest.approx(1.1e6)  # a tenth of the way from 1 to 2
    pair.interval(1.0, 0.96)
    assert pair.fast.throttle_bps == pytest.approx(1.19e6)


def test_aged_throttle_is_renewed_when_the_flow_runs_away_again() -> None:
    pair = Pair()
    pair.interval(1.6, 0.4)
    pair.interval(1.0, 0.96)
    assert pair.interval(1.2, 0.8) == [pair.fast]
    assert pair.fast.throttle_bps == pytest.approx(1.0e6)
    assert pair.control.throttles == 2


def test_aged_throttle_is_lifted_in_the_end() -> None:
    pair = Pair()
    pair.interval(1.6, 0.4)
    limits = []
    for _ in range(40):
        pair.interval(1.0, 0.96)
        limits.append(pair.fast.throttle_bps)
        if limits[-1] is None:
            break
    # 1 - 0.9^k passes 0.9, where the throttle reaches 95 % of 2 Mbit/s, at k = 22
    assert len(limits) == 22
    assert pair.control.cancellations == 0


def test_throttle_without_improvement_is_cancelled_after_one_full_interval() -> None:
    pair = Pair()
    pair.interval(1.6, 0.4)
    assert pair.interval(1.0, 0.41) == [pair.fast]  # 2.5 % are no improvement
    assert pair.fast.throttle_bps is None
    assert pair.control.cancellations == 1


def test_five_percent_are_an_improvement() -> None:
    pair = Pair()
    pair.interval(1.6, 0.4)
    pair.interval(1.0, 0.43)
    assert pair.fast.throttle_bps is not None
    assert pair.control.cancellations == 0


def test_improvement_is_judged_against_the_time_before_the_episode() -> None:
    pair = Pair()
    pair.interval(1.6, 0.4)
    for _ in range(5):
        pair.interval(1.0, 0.96)  # no further gain, yet the throttle stays
    assert pair.fast.throttle_bps is not None
    pair.interval(1.0, 0.4)  # the slow flow is back where it was
    assert pair.fast.throttle_bps is None


def test_renewed_throttle_keeps_the_first_baseline() -> None:
    pair = Pair()
    pair.interval(1.6, 0.4)
    pair.interval(1.2, 0.8)  # renewed
    pair.interval(1.0, 0.8)  # no gain over the last interval, but twice the value before the episode
    assert pair.control.cancellations == 0


def test_starved_flow_improves_by_any_goodput() -> None:
    pair = Pair()
    pair.interval(1.6, 0.0)
    pair.interval(0.8, 0.01)
    assert pair.control.cancellations == 0


@pytest.mark.parametrize(("pause", "ticks_free"), [(1, 1), (3, 3)])
def test_next_probe_waits_out_the_pause(pause: int, ticks_free: int) -> None:
    pair = Pair(GoodputControlConfig(pause_intervals=pause))
    pair.interval(1.6, 0.4)
    pair.interval(1.0, 0.4)
    free = 0
    while pair.fast.throttle_bps is None:
        pair.interval(1.6, 0.4)
        free += 1
    assert free == ticks_free


def test_start_of_a_flow_cancels_and_the_interval_continues() -> None:
    pair = Pair()
    pair.interval(1.6, 0.4)
    credit(6 * S, pair.fast, MBPS_BYTES)
    _, freed = pair.control.start(7 * S, DOWN, may_throttle=True)
    assert freed == [pair.fast]
    assert pair.fast.throttle_bps is None
    assert pair.control.deadline_ns() == 10 * S
    pair.control.tick(10 * S)
    assert pair.fast.goodput_bps == pytest.approx(1e6)


def test_flows_that_come_and_go_keep_no_interval_from_ending() -> None:
    pair = Pair()
    throttled = 0
    for second in range(1, 61):
        guest, _ = pair.control.start(second * S - 5, UP, may_throttle=False)
        credit(second * S - 4, pair.fast, round(1.6 * MBPS_BYTES / 5))
        credit(second * S - 4, pair.slow, round(0.4 * MBPS_BYTES / 5))
        pair.control.end(guest)
        throttled += pair.fast in pair.control.tick(second * S)
    assert throttled == 12


@pytest.mark.parametrize(("started_s", "counts"), [(7.5, True), (7.6, False)])
def test_a_flow_counts_once_it_is_half_an_interval_old(started_s: float, counts: bool) -> None:
    pair = Pair()
    pair.interval(1.0, 1.0)
    late, _ = pair.control.start(round(started_s * S), UP, may_throttle=False)
    credit(10 * S - 1, late, MBPS_BYTES // 10)
    assert (pair.interval(1.6, 1.6) == [pair.fast]) is counts  # with its 0.2 the mean is 1.13, without 1.6
    assert (late.goodput_bps == pytest.approx(0.2e6)) is counts


def test_start_of_a_flow_ends_the_pause() -> None:
    pair = Pair()
    pair.interval(1.6, 0.4)
    pair.interval(1.0, 0.4)  # cancelled
    pair.control.start(10 * S, UP, may_throttle=False)
    assert pair.interval(1.6, 0.4) == [pair.fast]


def test_end_of_a_flow_cancels() -> None:
    pair = Pair()
    pair.interval(1.6, 0.4)
    assert pair.control.end(pair.slow) == [pair.fast]
    assert pair.fast.throttle_bps is None
    assert pair.control.end(pair.fast) == []
    assert pair.control.deadline_ns() is None


def test_early_tick_is_harmless_and_late_tick_measures_the_real_interval() -> None:
    pair = Pair()
    assert pair.control.tick(5 * S - 1) == []
    credit(9 * S, pair.fast, 2 * MBPS_BYTES)
    credit(9 * S, pair.slow, MBPS_BYTES)
    pair.control.tick(10 * S)
    assert pair.fast.goodput_bps == pytest.approx(1e6)
    assert pair.control.deadline_ns() == 15 * S


def test_long_silent_flow_leaves_the_mean() -> None:
    pair = Pair()
    third, _ = pair.control.start(0, DOWN, may_throttle=True)
    third.unthrottled_bps = 2e6
    pair.slow.carried_bytes = 2 * 1460
    for second in range(5, 25, 5):
        credit(second * S, pair.fast, MBPS_BYTES)
        credit(second * S, third, MBPS_BYTES)
        changed = pair.control.tick(second * S)
        if second == 5:
            assert set(changed) == {pair.fast, third}  # the silent third flow counts as starved: mean 0.67
    assert pair.control.tick(25 * S) == []
    credit(30 * S, pair.fast, MBPS_BYTES)
    credit(30 * S, third, MBPS_BYTES)
    assert pair.control.tick(30 * S) == []  # the mean is 1.0 now


@pytest.mark.parametrize(
    ("carried_bytes", "counts"),
    [
        pytest.param(500, False, id="a control connection"),
        pytest.param(1460, False, id="one segment"),
        pytest.param(1461, True, id="a starved flow"),
    ],
)
def test_a_flow_that_has_little_to_send_is_not_taken_for_a_starved_one(*, carried_bytes: int, counts: bool) -> None:
    pair = Pair()
    pair.slow.carried_bytes = carried_bytes
    credit(5 * S - 1, pair.fast, MBPS_BYTES)
    assert (pair.control.tick(5 * S) == [pair.fast]) is counts


@pytest.mark.parametrize(
    ("field", "value"),
    [("interval_ns", 0), ("threshold", 0.9), ("min_improvement", -1.0), ("ageing", 2.0), ("pause_intervals", 0)],
)
def test_config_names_what_is_wrong(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{field} must be .*, not {value}"):
        GoodputControlConfig(**{field: value})  # type: ignore[arg-type]
