"""TCP-AP at the station: its ACKs, and the equation of their delay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelab_pacer.core.contract import Point, TransmitResult
from pacelab_pacer.core.segment import FIN, SYN, FlowKey
from pacelab_pacer.core.tcp_ap.equations import out_of_interference_hops
from pacelab_pacer.core.tcp_ap.hooks import DelayedAckConfig, DelayedAckStation
from tests.pacer.hook_driver import DOWN, MS, UP, Driver, data, pure_ack


def test_out_of_interference_of_three_hops_is_the_four_hop_delay() -> None:
    assert out_of_interference_hops(3) == 4  # [lee] Sec. 2


IN, OUT = Point.LOCAL_IN, Point.LOCAL_OUT
STEADY = DelayedAckConfig(schedule=((0, 3),))


def driver(config: DelayedAckConfig = STEADY) -> Driver:
    return Driver(DelayedAckStation(config))


def comes(driver: Driver, seq: int, *, ack: int | None = None, payload: int = 1000) -> None:
    """Data arrives, and the station's TCP acknowledges it."""
    driver.see(IN, data(DOWN, seq, payload))
    driver.see(OUT, pure_ack(DOWN, seq + payload if ack is None else ack))


def acks(driver: Driver) -> list[tuple[int, int]]:
    return [(sent.at_ns, sent.segment.ack) for sent in driver.sent if sent.segment.is_pure_ack]


def test_every_third_ack_goes() -> None:
    run = driver()
    run.see(IN, data(DOWN, 0, 0, flags=SYN))
    for number in range(7):
        comes(run, 1 + 1000 * number)
    # The first ACK starts the count: no number is known before it.
    assert [ack for _at, ack in acks(run)] == [1001, 4001, 7001]
    assert run.hook.counters() == {"acks_suppressed": 4, "acks_timed_out": 0}
    run.check_conservation()


def test_d_grows_with_the_octets_that_came() -> None:
    run = driver(DelayedAckConfig(schedule=((0, 1), (3000, 2), (6000, 3))))
    run.see(IN, data(DOWN, 4_294_967_295, 0, flags=SYN))
    for number in range(12):
        comes(run, 1000 * number)
    # Up to 2000 octets every segment, from 3000 on every second, from 6000 on every third.
    assert [ack for _at, ack in acks(run)] == [1000, 2000, 4000, 7000, 10_000]


def test_last_ack_waits_no_longer_than_the_timeout() -> None:
    run = driver()
    comes(run, 0)
    run.run_until(20 * MS)
    comes(run, 1000)
    run.run_until(50 * MS)
    comes(run, 2000)
    run.run_until(1000 * MS)
    # 100 ms after the first waiting ACK, with the newest number.
    assert acks(run) == [(0, 1000), (120 * MS, 3000)]
    assert run.hook.counters() == {"acks_suppressed": 1, "acks_timed_out": 1}


def test_early_and_repeated_timeouts_are_harmless() -> None:
    run = driver()
    run.timeout()
    comes(run, 0)
    comes(run, 1000)
    run.timeout()
    assert acks(run) == [(0, 1000)]
    assert run.hook.deadline() == (100 * MS, "delayed ACK")


def test_duplicate_acks_go_at_once_behind_what_they_repeat_and_so_does_the_end_of_the_hole() -> None:
    run = driver()
    comes(run, 0)
    comes(run, 1000)  # waits
    comes(run, 3000, ack=2000)  # 2000..3000 is missing
    comes(run, 4000, ack=2000)
    comes(run, 2000, ack=5000)
    comes(run, 5000)  # waits again
    assert [ack for _at, ack in acks(run)] == [1000, 2000, 2000, 2000, 5000]
    assert len(run.held) == 1


def test_flow_whose_start_was_not_seen_has_the_last_d() -> None:
    run = driver(DelayedAckConfig(schedule=((0, 1), (1_000_000, 2))))
    for number in range(5):
        comes(run, 1000 * number)
    assert [ack for _at, ack in acks(run)] == [1000, 3000, 5000]


def test_data_and_fin_of_the_station_carry_the_ack() -> None:
    run = driver()
    comes(run, 0)
    comes(run, 1000)
    run.see(OUT, data(UP, 0, 10, ack=2000))
    comes(run, 2000)
    run.see(OUT, data(UP, 10, 0, flags=FIN | 16, ack=3000))
    assert [ack for _at, ack in acks(run)] == [1000]
    assert run.hook.counters()["acks_suppressed"] == 2
    assert not run.held
    assert run.hook.deadline() is None


def test_output_of_an_unknown_flow_and_other_events_pass() -> None:
    run = driver()
    run.see(OUT, data(UP, 0, 10))
    run.see(IN, pure_ack(UP, 10))
    assert len(run.sent) == 2
    run.hook.handle(0, TransmitResult(data(UP, 0), 1, True))
    assert run.hook.poll_action() is None


def test_a_new_connection_drops_what_waits_of_the_old_one() -> None:
    run = driver()
    comes(run, 0)
    comes(run, 1000)
    run.see(IN, data(DOWN, 70_000, 0, flags=SYN))
    assert not run.held
    comes(run, 70_001)
    assert [ack for _at, ack in acks(run)] == [1000, 71_001]


def test_flows_are_bounded() -> None:
    run = driver(DelayedAckConfig(schedule=((0, 3),), max_flows=2))
    flows = [FlowKey(100, 1, 80, port) for port in (1, 2, 3)]
    for flow in flows[:2]:
        for seq in (0, 1000):
            run.see(IN, data(flow, seq, 1000))
            run.see(OUT, pure_ack(flow, seq + 1000))
    # Both flows hold an ACK, so there is no room for the third, whose ACKs all pass.
    run.see(IN, data(flows[2], 0, 0, flags=SYN))
    for seq in (1, 1001):
        run.see(IN, data(flows[2], seq, 1000))
        run.see(OUT, pure_ack(flows[2], seq + 1000))
    assert len(run.held) == 2
    run.run_until(200 * MS)
    # No flow holds an ACK any more: the most silent flow is removed.
    for seq in (2001, 3001):
        run.see(IN, data(flows[2], seq, 1000))
        run.see(OUT, pure_ack(flows[2], seq + 1000))
    assert len(run.held) == 1
    run.check_conservation()


@pytest.mark.parametrize(
    "wrong",
    [
        {"schedule": ()},
        {"schedule": ((5, 1),)},
        {"schedule": ((0, 1), (9, 2), (8, 3))},
        {"schedule": ((0, 0),)},
        {"timeout_ns": 0},
        {"max_flows": 0},
    ],
)
def test_config_out_of_range_is_refused(wrong: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        DelayedAckConfig(**wrong)


@given(st.lists(st.tuples(st.sampled_from(["data", "ack", "dup", "own", "wait"]), st.integers(1, 150)), max_size=60))
def test_every_ack_number_is_sent_in_time_and_never_decreases(steps: list[tuple[str, int]]) -> None:
    run = driver()
    came = 0
    for what, size in steps:
        if what == "data":
            run.see(IN, data(DOWN, came, size))
            came += size
        elif what in ("ack", "dup"):
            run.see(OUT, pure_ack(DOWN, came))
        elif what == "own":
            run.see(OUT, data(UP, 0, 1, ack=came))
        else:
            run.run_until(run.now_ns + size * MS)
        told = [sent.segment.ack for sent in run.sent if sent.segment.flow == UP]
        assert told == sorted(told)
        assert len(run.held) <= 1
    run.run_until(run.now_ns + 101 * MS)
    assert not run.held
    run.check_conservation()


def test_data_that_comes_in_a_burst_is_counted_as_its_acks_cover_it() -> None:
    run = driver()
    comes(run, 0)
    for number in range(1, 7):
        run.see(IN, data(DOWN, 1000 * number, 1000))
    for number in range(1, 7):
        run.see(OUT, pure_ack(DOWN, 1000 * number + 1000))
    assert [ack for _at, ack in acks(run)] == [1000, 4000, 7000]
