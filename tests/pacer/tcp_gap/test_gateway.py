"""TCP-GAP at the gateway, four links of 2 Mbit/s to the wireless host: 24 ms apart until the first sample."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pacelab_pacer.core.contract import Point
from pacelab_pacer.core.segment import ACK, FIN, RST, SYN, UDP, FlowKey
from pacelab_pacer.core.tcp_gap.gateway import TcpGapGateway, TcpGapGatewayConfig
from tests.pacer.hook_driver import DOWN, MS, UP, Driver, S, data, pure_ack

WIRED, AIR = Point.WIRED_TO_AIR, Point.AIR_TO_WIRED
T = 51_680_000
"""The pace after one RTT_wireless of 80 ms."""


def gateway(**config: object) -> Driver:
    return Driver(TcpGapGateway(TcpGapGatewayConfig(**config)))  # type: ignore[arg-type]


def sampled(**config: object) -> Driver:
    """A gateway with a sample of 80 ms. Flow DOWN has sent octets 0..1460 at 0 and got their ACK."""
    driver = gateway(**config)
    driver.see(WIRED, data(DOWN, 0))
    driver.run_until(80 * MS)
    driver.see(AIR, pure_ack(DOWN, 1460))
    return driver


def with_hole(**config: object) -> Driver:
    """`sampled`, plus octets 1460..5840 in the air, the last of them since 80 ms + 2 T."""
    driver = sampled(**config)
    for i in range(1, 4):
        driver.see(WIRED, data(DOWN, i * 1460))
    driver.run_until(80 * MS + 2 * T)
    assert driver.sent_seqs(DOWN) == [0, 1460, 2920, 4380]
    return driver


def down_flow(number: int) -> FlowKey:
    return DOWN._replace(dport=5000 + number)


# Pacing


def test_data_is_released_at_the_measured_pace() -> None:
    driver = sampled()
    for i in range(1, 4):
        driver.see(WIRED, data(DOWN, i * 1460))
    driver.run_until(S)
    assert driver.times(DOWN) == [0, 80 * MS, 80 * MS + T, 80 * MS + 2 * T]


def test_queued_data_that_was_acknowledged_meanwhile_is_not_sent() -> None:
    driver = with_hole()
    for i in range(1, 4):
        driver.see(WIRED, data(DOWN, i * 1460))  # the source goes back
    driver.see(AIR, pure_ack(DOWN, 4380))
    assert [segment.seq for segment, _ in driver.dropped] == [1460, 2920]
    driver.run_until(2 * S)
    assert driver.sent_seqs(DOWN)[4:] == [4380]
    driver.check_conservation()


def test_flows_are_paced_independently() -> None:
    driver = sampled()
    for i in range(2):
        driver.see(WIRED, data(DOWN, (i + 1) * 1460))
        driver.see(WIRED, data(down_flow(1), i * 1460))
    driver.run_until(S)
    assert driver.times(DOWN)[1:] == [80 * MS, 80 * MS + T]
    assert driver.times(down_flow(1)) == [80 * MS, 104 * MS]


def test_delayed_ack_covers_two_and_samples_the_newest() -> None:
    driver = gateway()
    driver.see(WIRED, data(DOWN, 0))
    driver.run_until(24 * MS)
    driver.see(WIRED, data(DOWN, 1460))
    driver.run_until(104 * MS)
    driver.see(AIR, pure_ack(DOWN, 2920))
    driver.see(WIRED, data(DOWN, 2920))
    driver.see(WIRED, data(DOWN, 4380))
    assert driver.hook.counters()["rtt_samples"] == 1
    assert driver.hook.deadline() == (104 * MS + T, "pace")
    assert [s.seq for s in driver.kept.values()] == [2920]


def test_acks_of_upward_flows_and_udp_are_not_paced() -> None:
    driver = gateway()
    for i in range(3):
        driver.see(WIRED, pure_ack(UP, i))
        driver.see(WIRED, data(DOWN, 0)._replace(protocol=UDP))
    assert len(driver.sent) == 6


def test_upward_data_passes_at_once() -> None:
    driver = gateway()
    for i in range(5):
        driver.see(AIR, data(UP, i * 1460))
    assert driver.times(UP) == [0] * 5


# RTT_wired


def test_rtt_wired_is_written_into_the_returning_ack() -> None:
    driver = gateway()
    driver.see(AIR, data(UP, 0))
    driver.run_until(90 * MS)
    ack = pure_ack(UP, 1460)
    driver.see(WIRED, ack)
    assert driver.rewritten[ack.handle].rtt_wired_ns == 90 * MS
    assert driver.rewritten[ack.handle].window_bytes is None
    assert driver.sent[-1].segment == ack


def test_rtt_wired_of_a_delayed_ack_is_that_of_the_newest_segment() -> None:
    driver = gateway()
    driver.see(AIR, data(UP, 0))
    driver.run_until(30 * MS)
    driver.see(AIR, data(UP, 1460))
    driver.run_until(90 * MS)
    ack = pure_ack(UP, 2920)
    driver.see(WIRED, ack)
    assert driver.rewritten[ack.handle].rtt_wired_ns == 60 * MS


def test_rtt_wired_is_left_out_without_a_sample() -> None:
    driver = gateway()
    driver.see(AIR, data(UP, 0))
    driver.see(AIR, data(UP, 0))  # Karn
    driver.run_until(90 * MS)
    driver.see(WIRED, pure_ack(UP, 1460))
    driver.see(WIRED, pure_ack(UP, 1460))  # duplicate
    driver.see(WIRED, data(DOWN, 0, ack=1460))  # data
    assert driver.rewritten == {}


def test_rtt_wired_is_not_squeezed_into_data() -> None:
    driver = gateway()
    driver.see(AIR, data(UP, 0))
    driver.run_until(90 * MS)
    driver.see(WIRED, data(DOWN, 0, ack=1460))
    assert driver.rewritten == {}


def test_connection_with_data_both_ways_is_measured_both_ways() -> None:
    driver = gateway()
    driver.see(WIRED, data(DOWN, 0))
    driver.see(AIR, data(UP, 0, ack=0))
    driver.run_until(80 * MS)
    driver.see(AIR, data(UP, 1460, ack=1460))
    ack = pure_ack(UP, 1460)
    driver.see(WIRED, ack)
    assert driver.hook.counters()["rtt_samples"] == 1
    assert driver.rewritten[ack.handle].rtt_wired_ns == 80 * MS


# Local retransmission


def test_duplicate_ack_is_answered_locally_and_absorbed() -> None:
    driver = with_hole()
    duplicate = pure_ack(DOWN, 1460)
    driver.see(AIR, duplicate)
    assert driver.sent[-1].segment.seq == 1460
    assert driver.sent[-1].again
    assert [segment for segment, _ in driver.dropped] == [duplicate]


def test_one_retransmission_per_hole_and_rtt() -> None:
    driver = with_hole()
    start = driver.now_ns
    for after_ms in (0, 10, 79, 80, 90, 160):
        driver.run_until(start + after_ms * MS)
        driver.see(AIR, pure_ack(DOWN, 1460))
    assert [(s.at_ns - start) // MS for s in driver.sent if s.again] == [0, 80, 160]
    assert driver.hook.counters()["local_retransmissions"] == 3
    assert driver.hook.counters()["duplicates_absorbed"] == 6


def test_next_hole_is_filled_at_once() -> None:
    driver = with_hole()
    driver.see(AIR, pure_ack(DOWN, 1460))
    driver.see(AIR, pure_ack(DOWN, 2920))
    driver.see(AIR, pure_ack(DOWN, 2920))
    assert [s.segment.seq for s in driver.sent if s.again] == [1460, 2920]


def test_duplicates_can_be_forwarded_as_well() -> None:
    driver = with_hole(forward_duplicates=True)
    duplicate = pure_ack(DOWN, 1460)
    driver.see(AIR, duplicate)
    assert [(s.segment.seq, s.again) for s in driver.sent[-2:]] == [(1460, True), (0, False)]
    assert driver.sent[-1].segment == duplicate
    assert driver.dropped == []
    assert driver.hook.counters()["duplicates_absorbed"] == 0


def test_duplicate_for_a_segment_not_held_goes_to_the_source() -> None:
    driver = sampled()
    driver.see(WIRED, data(DOWN, 2920))  # 1460 was lost on the wired side
    for _ in range(3):
        driver.see(AIR, pure_ack(DOWN, 1460))
    assert driver.dropped == []
    assert not any(s.again for s in driver.sent)
    assert driver.hook.counters()["duplicates_forwarded"] == 3


@pytest.mark.parametrize("kind", ["window", "data", "old", "future"])
def test_acks_other_than_duplicates_are_forwarded(kind: str) -> None:
    driver = with_hole()
    segment = {
        "window": pure_ack(DOWN, 1460, window=9999),
        "data": data(UP, 0, 100, ack=1460),
        "old": pure_ack(DOWN, 0),
        "future": pure_ack(DOWN, 10_000_000),
    }[kind]
    driver.see(AIR, segment)
    assert driver.sent[-1].segment == segment
    assert not any(s.again for s in driver.sent)
    assert len(driver.kept) == 3


def test_karn_ack_of_a_local_retransmission_is_no_sample() -> None:
    driver = with_hole()
    driver.see(AIR, pure_ack(DOWN, 1460))
    driver.run_until(driver.now_ns + 20 * MS)
    driver.see(AIR, pure_ack(DOWN, 4380))
    assert driver.hook.counters()["rtt_samples"] == 1  # the one of `sampled`
    driver.see(AIR, pure_ack(DOWN, 5840))
    assert driver.hook.counters()["rtt_samples"] == 2


def test_acknowledged_segments_are_released() -> None:
    driver = with_hole()
    assert sorted(s.seq for s in driver.kept.values()) == [1460, 2920, 4380]
    driver.see(AIR, pure_ack(DOWN, 4380))
    assert [s.seq for s in driver.kept.values()] == [4380]


def test_retransmission_by_the_source_replaces_the_kept_copy() -> None:
    driver = with_hole()
    again = data(DOWN, 1460)
    driver.see(WIRED, again)
    driver.run_until(S)
    assert driver.kept[again.handle] == again
    assert len(driver.kept) == 3


def test_local_retransmission_across_the_wrap() -> None:
    driver = gateway()
    first = 2**32 - 1460
    for seq in (first, 0, 1460):
        driver.see(WIRED, data(DOWN, seq))
    driver.run_until(S)
    driver.see(AIR, pure_ack(DOWN, 0))
    driver.see(AIR, pure_ack(DOWN, 0))
    assert [s.segment.seq for s in driver.sent if s.again] == [0]
    assert sorted(s.seq for s in driver.kept.values()) == [0, 1460]


# Buffer


def test_every_flow_is_paced_and_a_full_buffer_refuses() -> None:
    driver = gateway(buffer_bytes=7 * 1460)
    flows = [down_flow(i) for i in range(3)]
    for flow in flows:
        for i in range(6):
            driver.see(WIRED, data(flow, i * 1460))
    # The first of each leaves at once. Of those behind it, 4 may wait while 4 of 7 are free, 2 of 3, and the last one.
    assert [len(driver.times(flow)) for flow in flows] == [1, 1, 1]
    assert [sum(held.flow == flow for held in driver.held.values()) for flow in flows] == [4, 2, 1]
    counters = driver.hook.counters()
    assert (counters["overflows"], counters["unpaced_flows"], counters["unpaced_segments"]) == (1 + 3 + 4, 0, 0)
    driver.run_until(S)
    assert [len(driver.times(flow)) for flow in flows] == [5, 3, 2]
    # Four hops of 1500 octets at 2 Mbit/s.
    assert all(later - earlier == 24 * MS for flow in flows for earlier, later in pairwise(driver.times(flow)))


def test_windows_that_are_not_used_take_no_room() -> None:
    driver = gateway(buffer_bytes=200_000)
    for number in range(100):
        flow = down_flow(number)
        driver.see(AIR, pure_ack(flow, 0, flags=SYN | ACK, window=93_440))
        for i in range(2):
            driver.see(WIRED, data(flow, i * 1460, window=10))
    assert len(driver.held) == 100
    assert driver.dropped == []


def test_grown_window_leaves_room_for_more_copies() -> None:
    driver = gateway(assumed_window_bytes=3000)
    for i in range(5):
        driver.see(WIRED, data(DOWN, i * 1460))
        driver.run_until((i + 1) * S)
        driver.see(AIR, pure_ack(DOWN, 0, window=6000))
    assert sorted(s.seq for s in driver.kept.values()) == [1460 * i for i in range(1, 5)]


def test_source_that_ignores_the_window_stays_within_the_buffer() -> None:
    driver = gateway(buffer_bytes=14_600, assumed_window_bytes=14_600)
    for i in range(200):
        driver.see(WIRED, data(DOWN, i * 1460))
        held = sum(s.payload_bytes for s in [*driver.held.values(), *driver.kept.values()])
        assert held <= 14_600
    assert driver.sent_seqs(DOWN) == [0]
    assert driver.hook.counters()["overflows"] == 194
    driver.run_until(10 * S)
    assert driver.sent_seqs(DOWN) == [i * 1460 for i in range(6)], "one that left at once, and half of the buffer"
    driver.check_conservation()


def test_copies_give_way_to_the_packets_of_other_flows() -> None:
    driver = gateway(buffer_bytes=4 * 1460)
    other = down_flow(1)
    for i in range(4):
        driver.see(WIRED, data(DOWN, i * 1460))
        driver.run_until((i + 1) * S)
    assert len(driver.kept) == 4
    for i in range(3):
        driver.see(WIRED, data(other, i * 1460))
    # The first of the other flow left without a copy. The second and third replace the oldest copies.
    assert len(driver.held) == 2
    assert sorted(s.seq for s in driver.kept.values()) == [2920, 4380]
    assert driver.hook.counters()["copies_evicted"] == 2


def test_without_a_buffer_all_passes_and_is_counted() -> None:
    driver = gateway(buffer_bytes=0)
    for i in range(3):
        driver.see(WIRED, data(DOWN, i * 1460))
    assert driver.times(DOWN) == [0, 0, 0]
    counters = driver.hook.counters()
    assert (counters["unpaced_flows"], counters["unpaced_segments"]) == (1, 3)


# Ends


def test_fin_waits_for_its_queue_and_fin_both_ways_ends_the_flow() -> None:
    driver = sampled()
    for i in range(1, 3):
        driver.see(WIRED, data(DOWN, i * 1460))
    driver.see(WIRED, data(DOWN, 4380, 0, flags=FIN | ACK))
    driver.run_until(S)
    assert [s.segment.seq for s in driver.sent[-2:]] == [2920, 4380]
    assert driver.sent[-1].at_ns == 80 * MS + T
    driver.see(AIR, pure_ack(DOWN, 4381, flags=FIN | ACK))
    assert driver.hook.counters()["flows_ended"] == 0
    driver.see(WIRED, pure_ack(UP, 1))
    assert driver.hook.counters()["flows_ended"] == 1
    assert driver.kept == {}
    assert driver.hook.deadline() is None


@pytest.mark.parametrize("point", [WIRED, AIR])
def test_reset_drops_the_queue_and_forgets_the_copies(point: Point) -> None:
    driver = sampled()
    for i in range(1, 4):
        driver.see(WIRED, data(DOWN, i * 1460))
    driver.see(point, data(DOWN if point is WIRED else DOWN.reversed(), 5840, 0, flags=RST))
    assert driver.sent[-1].segment.flags == RST
    assert len(driver.dropped) == 2
    assert driver.kept == {}
    assert driver.held == {}
    assert driver.hook.deadline() is None


def test_reset_with_payload_is_forwarded_like_any_reset() -> None:
    driver = sampled()
    for i in range(1, 4):
        driver.see(WIRED, data(DOWN, i * 1460))
    reset = data(DOWN, 5840, 20, flags=RST)
    driver.see(WIRED, reset)
    assert driver.sent[-1].segment == reset


def test_idle_flow_is_forgotten_with_its_copies() -> None:
    driver = gateway(goodput_control=None)
    driver.see(WIRED, data(DOWN, 0))
    assert len(driver.kept) == 1
    assert driver.hook.deadline() == (120 * S, "idle")
    driver.run_until(120 * S)
    assert driver.kept == {}
    assert driver.hook.deadline() is None
    assert driver.hook.counters()["flows_expired"] == 1


def test_flow_heard_of_last_expires_last() -> None:
    driver = gateway(goodput_control=None)
    driver.see(WIRED, data(DOWN, 0))
    driver.run_until(S)
    driver.see(WIRED, data(down_flow(1), 0))
    driver.run_until(2 * S)
    driver.see(AIR, pure_ack(DOWN, 1460))
    assert driver.hook.deadline() == (121 * S, "idle")
    driver.run_until(121 * S)
    assert driver.hook.counters()["flows_expired"] == 1
    assert driver.hook.deadline() == (122 * S, "idle")


def test_stray_ack_makes_no_flow() -> None:
    driver = gateway()
    driver.see(AIR, pure_ack(DOWN, 5))
    driver.see(WIRED, pure_ack(UP, 5))
    assert len(driver.sent) == 2
    assert driver.hook.deadline() is None


def test_gateway_started_in_mid_flow_rebuilds_its_state() -> None:
    driver = gateway()
    driver.see(AIR, pure_ack(DOWN, 100_000))
    driver.see(WIRED, data(DOWN, 146_000))
    driver.run_until(20 * MS)
    driver.see(AIR, pure_ack(DOWN, 101_460))
    driver.run_until(80 * MS)
    driver.see(AIR, pure_ack(DOWN, 147_460))
    assert driver.hook.counters()["rtt_samples"] == 1
    assert driver.dropped == []


# Goodput Control


class Rivals:
    """DOWN, always backlogged, acknowledged 40 to 80 ms after each release; UP, one segment per given number of ms."""

    def __init__(self, **config: object) -> None:
        self.driver = gateway(**config)
        self._down_seq = self._up_seq = 0

    def run_until(self, until_ms: int, *, up_every_ms: int) -> None:
        driver = self.driver
        while driver.now_ns < until_ms * MS:
            if driver.now_ns // MS % up_every_ms < 40:
                driver.see(AIR, data(UP, self._up_seq))
                self._up_seq += 1460
                driver.see(WIRED, pure_ack(UP, self._up_seq))
            if len(driver.held) < 5:
                driver.see(WIRED, data(DOWN, self._down_seq))
                self._down_seq += 1460
            driver.run_until(driver.now_ns + 40 * MS)
            old = driver.now_ns - 40 * MS
            acked = [s.segment.end_seq for s in driver.sent if s.segment.flow == DOWN and s.at_ns <= old]
            if acked:
                driver.see(AIR, pure_ack(DOWN, max(acked)))

    def down_rate(self, begin_ms: int, end_ms: int) -> float:
        """Segments/s of DOWN."""
        sent = sum(begin_ms * MS <= at_ns < end_ms * MS for at_ns in self.driver.times(DOWN))
        return sent * 1000 / (end_ms - begin_ms)

    def count(self, name: str) -> int:
        return self.driver.hook.counters()[name]


def test_fast_flow_is_throttled_to_the_mean_and_freed_when_that_helps_nobody() -> None:
    rivals = Rivals()
    rivals.run_until(5000, up_every_ms=400)  # 2.5 segments/s
    free = rivals.down_rate(0, 5000)
    assert free > 10
    rivals.run_until(10_000, up_every_ms=400)
    assert rivals.count("throttled") == 1
    assert rivals.down_rate(5000, 10_000) == pytest.approx((free + 2.5) / 2, rel=0.06)
    rivals.run_until(15_000, up_every_ms=400)
    assert rivals.count("throttles_cancelled") == 1
    # Free again: at the pace of the present RTT, which varies between 40 and 80 ms in the model.
    assert 1.3 * (free + 2.5) / 2 < rivals.down_rate(10_500, 15_000) <= free


def test_throttle_stays_while_the_slow_flow_gains() -> None:
    rivals = Rivals()
    rivals.run_until(5000, up_every_ms=400)
    free = rivals.down_rate(0, 5000)
    rivals.run_until(20_000, up_every_ms=80)
    assert rivals.count("throttles_cancelled") == 0
    assert rivals.down_rate(5000, 10_000) == pytest.approx((free + 2.5) / 2, rel=0.06)
    assert rivals.down_rate(15_000, 20_000) < 0.9 * free


def test_without_goodput_control_nothing_is_throttled() -> None:
    rivals = Rivals(goodput_control=None)
    rivals.run_until(12_000, up_every_ms=400)
    assert rivals.count("throttled") == 0
    assert rivals.down_rate(6000, 12_000) == pytest.approx(rivals.down_rate(0, 6000), rel=0.1)


def test_new_flow_frees_the_throttled_one() -> None:
    rivals = Rivals()
    rivals.run_until(6000, up_every_ms=400)
    assert rivals.count("throttled") == 1
    driver = rivals.driver
    throttled = driver.hook.deadline()
    driver.see(AIR, data(UP._replace(sport=9), 0))
    later = driver.hook.deadline()
    assert throttled is not None
    assert later is not None
    assert later[0] < throttled[0]  # at once, not with the next sample
    rivals.run_until(9000, up_every_ms=400)
    assert 18 < rivals.down_rate(6000, 9000) <= 25  # throttled to 13.75


# Settings


@pytest.mark.parametrize(("field", "value"), [("buffer_bytes", -1), ("assumed_window_bytes", 0), ("initial_rtt_ns", 0)])
def test_config_names_what_is_wrong(field: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{field} must be .*, not {value}"):
        TcpGapGatewayConfig(**{field: value})  # type: ignore[arg-type]
