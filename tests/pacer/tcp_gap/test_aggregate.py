"""TCP-GAP by aggregates, on four links of 65 Mbit/s (MCS 7): packets of 1500 bytes, 28 of them in an aggregate.

An aggregate lasts at most 5484 us, that is 356,460 bits, and a packet adds 42 bytes to its 1500: 356460/12336 = 28.9.
Idle, four hops take 4 x 28 x 12000 bits / 65 Mbit/s = 20.676923 ms, that is 0.738461 ms per packet.
"""

from __future__ import annotations

import pytest

from pacelab_pacer.core.contract import Point
from pacelab_pacer.core.tcp_gap.aggregate import (
    Aggregate,
    AggregateEstimator,
    AggregateGateway,
    AggregatePace,
    AggregateSender,
    BatchSchedule,
)
from pacelab_pacer.core.tcp_gap.gateway import TcpGapGateway, TcpGapGatewayConfig
from pacelab_pacer.core.tcp_gap.pace_estimator import PaceConfig
from pacelab_pacer.core.tcp_gap.sender import TcpGapSenderConfig
from tests.pacer.hook_driver import DOWN, FOUR_HOPS, MS, UP, Driver, data, pure_ack

MCS7 = (65_000_000,) * 4
T = 738_461
"""Per packet, before the first sample."""
RELEASE = 28 * T


def gateway(frames: int = 64) -> Driver:
    return Driver(AggregateGateway(TcpGapGatewayConfig(pace=AggregatePace(aggregate=Aggregate(frames=frames)))))


@pytest.mark.parametrize(
    ("frames", "octets", "packet_bytes", "rate_mbps", "packets"),
    [
        (64, 65_535, 1500, 65.0, 28),  # 5484 us x 65 Mbit/s = 356,460 bits; 28 x 12,336 = 345,408
        (64, 65_535, 1500, 6.5, 2),  # 35,646 bits
        (64, 65_535, 1500, 1.0, 1),  # not even one
        (64, 65_535, 1500, 300.0, 42),  # 65,535 bytes hold 42.5
        (16, 65_535, 1500, 65.0, 16),
        (64, 8_000, 1500, 65.0, 5),
        (64, 65_535, 500, 65.0, 64),  # 82 would fit
    ],
)
def test_what_an_aggregate_holds(frames: int, octets: int, packet_bytes: int, rate_mbps: float, packets: int) -> None:
    assert Aggregate(frames=frames, octets=octets).packets(packet_bytes, int(rate_mbps * 1e6)) == packets


@pytest.mark.parametrize("field", ["frames", "octets"])
def test_an_aggregate_of_nothing_is_refused(field: str) -> None:
    with pytest.raises(ValueError, match=f"{field} must be an integer of at least 1, not 0"):
        Aggregate(**{field: 0})


def test_the_pace_is_that_of_an_aggregate_over_its_packets() -> None:
    estimator = AggregateEstimator(PaceConfig(), Aggregate())
    estimator.expect(data_bytes=1500, path_rates_bps=())
    assert estimator.interval_ns == 0
    estimator.expect(data_bytes=1500, path_rates_bps=MCS7)
    assert (estimator.batch_pkts, estimator.interval_ns) == (28, T)
    # t_q = (80 - 4 x 28 x 1540 x 8 / 65000) / 8 = 7.346462 ms; four hops: 29.385846 + 20.676923 ms; over 28
    assert estimator.sample(0, 80 * MS, data_bytes=1500, ack_bytes=40, path_rates_bps=MCS7)
    assert estimator.interval_ns == 1_787_956
    estimator.expect(data_bytes=1500, path_rates_bps=MCS7)
    assert estimator.interval_ns == 1_787_956
    assert not estimator.sample(0, 0, data_bytes=1500, ack_bytes=40, path_rates_bps=MCS7)
    assert estimator.interval_ns == 1_787_956


def test_packets_leave_together_and_releases_are_a_pace_apart() -> None:
    driver = gateway()
    for number in range(41):
        driver.see(Point.WIRED_TO_AIR, data(DOWN, number * 1460), MCS7)
    driver.run_until(100 * MS)
    assert driver.times(DOWN) == [0] + 28 * [RELEASE] + 12 * [2 * RELEASE]
    driver.check_conservation()


def test_what_arrives_between_two_releases_waits() -> None:
    driver = gateway()
    for number in range(3):
        driver.see(Point.WIRED_TO_AIR, data(DOWN, number * 1460), MCS7)
    driver.run_until(RELEASE + MS)
    driver.see(Point.WIRED_TO_AIR, data(DOWN, 3 * 1460), MCS7)
    driver.run_until(100 * MS)
    driver.see(Point.WIRED_TO_AIR, data(DOWN, 4 * 1460), MCS7)
    assert driver.times(DOWN) == [0, RELEASE, RELEASE, 2 * RELEASE, 100 * MS]


def test_the_pace_of_a_flow_is_per_packet() -> None:
    driver = gateway()
    assert driver.hook.pace_ns(DOWN) is None
    driver.see(Point.WIRED_TO_AIR, data(DOWN, 0), MCS7)
    assert driver.hook.pace_ns(DOWN) == T


@pytest.mark.parametrize(("frames", "path"), [(1, MCS7), (64, FOUR_HOPS)])
def test_with_one_packet_per_aggregate_it_is_tcp_gap(frames: int, path: tuple[int, ...]) -> None:
    """Four links of 2 Mbit/s carry less than one packet in 5484 us."""
    both = gateway(frames), Driver(TcpGapGateway())
    for driver in both:
        for number in range(6):
            driver.see(Point.WIRED_TO_AIR, data(DOWN, number * 1460), path)
        driver.run_until(80 * MS)
        driver.see(Point.AIR_TO_WIRED, pure_ack(DOWN, 1460), path)
        driver.run_until(1000 * MS)
    assert len(both[0].times(DOWN)) == 6
    assert both[0].times(DOWN) == both[1].times(DOWN)


def test_a_sender_releases_aggregates_and_lets_its_source_fill_them() -> None:
    hook = AggregateSender(TcpGapSenderConfig(pace=AggregatePace()))
    assert hook.source_limit_pkts == 64
    driver = Driver(hook)
    for number in range(30):
        driver.see(Point.LOCAL_OUT, data(UP, number * 1460), MCS7)
    driver.run_until(100 * MS)
    assert driver.times(UP) == [0] + 28 * [RELEASE] + [2 * RELEASE]


def test_a_late_release_is_caught_up_without_a_burst() -> None:
    """Two releases are at least half a pace apart, however late the first one was."""
    schedule = BatchSchedule()
    schedule.batch_pkts = 2
    schedule.set_interval(0, 10 * MS)  # per packet: releases are 20 ms apart
    assert schedule.admits(0)
    assert schedule.due_ns() == 0  # the second packet of this release
    schedule.released(0)
    assert schedule.due_ns() == 20 * MS
    schedule.released(35 * MS)
    assert schedule.due_ns() == 35 * MS
    schedule.released(35 * MS)
    assert schedule.due_ns() == 45 * MS  # planned at 40 ms
