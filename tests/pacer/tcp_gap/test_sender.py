"""TCP-GAP at the source, on four links of 2 Mbit/s: 1500-byte packets, 24 ms apart until the first sample."""

from __future__ import annotations

import pytest

from pacelab_pacer.core.contract import Point, TransmitResult
from pacelab_pacer.core.pacing.paced_flow import FlowTableConfig
from pacelab_pacer.core.segment import ACK, FIN, RST, SYN, UDP, FlowKey
from pacelab_pacer.core.tcp_ap.hooks import TcpApSender
from pacelab_pacer.core.tcp_gap.sender import TcpGapSender, TcpGapSenderConfig
from tests.pacer.hook_driver import DOWN, FOUR_HOPS, MS, UP, Driver, S, data, pure_ack

OUT, IN = Point.LOCAL_OUT, Point.LOCAL_IN
T = 51_680_000
"""The pace after one RTT_wireless of 80 ms."""


def sender(**config: object) -> Driver:
    return Driver(TcpGapSender(TcpGapSenderConfig(**config)))  # type: ignore[arg-type]


def sampled(rtt_wired: int | None = None) -> Driver:
    """A sender that has sent octets 0..1460 at 0 and got their ACK at 80 ms plus RTT_wired."""
    driver = sender()
    driver.see(OUT, data(UP, 0))
    driver.run_until(80 * MS + (rtt_wired or 0))
    driver.see(IN, pure_ack(UP, 1460, rtt_wired=rtt_wired))
    return driver


def test_before_the_first_sample_the_idle_path_sets_the_pace() -> None:
    driver = sender()
    for i in range(3):
        driver.see(OUT, data(UP, i * 1460))
    assert driver.hook.deadline() == (24 * MS, "pace")
    driver.run_until(S)
    assert driver.times(UP) == [0, 24 * MS, 48 * MS]


def test_without_a_route_nothing_waits() -> None:
    driver = sender()
    for i in range(3):
        driver.see(OUT, data(UP, i * 1460), ())
    assert driver.times(UP) == [0, 0, 0]


@pytest.mark.parametrize("rtt_wired", [None, 90 * MS])
def test_sample_sets_the_pace(rtt_wired: int | None) -> None:
    driver = sampled(rtt_wired)
    start = driver.now_ns
    for i in range(1, 4):
        driver.see(OUT, data(UP, i * 1460))
    driver.run_until(start + S)
    assert driver.times(UP)[1:] == [start, start + T, start + 2 * T]
    assert driver.hook.counters()["rtt_samples"] == 1
    assert driver.hook.counters()["n_hop_delay_us"] == 51_680


def test_rtt_starts_at_the_release_from_the_pacer() -> None:
    driver = sender()
    driver.see(OUT, data(UP, 0))
    driver.see(OUT, data(UP, 1460))  # leaves at 24 ms
    driver.run_until(104 * MS)
    driver.see(IN, pure_ack(UP, 2920))
    driver.see(OUT, data(UP, 2920))
    driver.see(OUT, data(UP, 4380))
    assert driver.hook.deadline() == (104 * MS + T, "pace")


def test_ack_without_the_option_is_taken_with_the_last_rtt_wired() -> None:
    driver = sampled(90 * MS)
    driver.see(OUT, data(UP, 1460))
    start = driver.now_ns
    driver.run_until(start + 170 * MS)
    driver.see(IN, pure_ack(UP, 2920))
    driver.see(OUT, data(UP, 2920))
    driver.see(OUT, data(UP, 4380))
    assert driver.hook.deadline() == (start + 170 * MS + T, "pace")  # again 80 ms: no change


def test_rtt_wired_above_the_rtt_is_no_sample() -> None:
    driver = sender()
    driver.see(OUT, data(UP, 0))
    driver.run_until(80 * MS)
    driver.see(IN, pure_ack(UP, 1460, rtt_wired=80 * MS))
    assert driver.hook.counters()["rtt_samples"] == 0
    assert driver.hook.counters()["rtt_unusable"] == 1


def test_karn_retransmission_gives_no_sample() -> None:
    driver = sender()
    driver.see(OUT, data(UP, 0))
    driver.run_until(S)
    driver.see(OUT, data(UP, 0))
    driver.run_until(S + 80 * MS)
    driver.see(IN, pure_ack(UP, 1460))
    assert driver.hook.counters()["rtt_samples"] == 0


def test_delayed_ack_samples_the_newest_segment() -> None:
    driver = sender()
    driver.see(OUT, data(UP, 0))
    driver.run_until(40 * MS)
    driver.see(OUT, data(UP, 1460))
    driver.run_until(120 * MS)
    driver.see(IN, pure_ack(UP, 2920))
    assert driver.hook.counters()["rtt_samples"] == 1
    driver.see(OUT, data(UP, 2920))
    driver.see(OUT, data(UP, 4380))
    assert driver.hook.deadline() == (120 * MS + T, "pace")


def test_sequence_numbers_wrap_without_a_jump_in_pace() -> None:
    driver = sender()
    seq = 2**32 - 1460
    driver.see(OUT, data(UP, seq))
    driver.run_until(80 * MS)
    driver.see(IN, pure_ack(UP, 0))
    driver.see(OUT, data(UP, 0))
    driver.see(OUT, data(UP, 1460))
    driver.run_until(S)
    assert driver.times(UP) == [0, 80 * MS, 80 * MS + T]
    assert driver.hook.counters()["rtt_samples"] == 1


def test_acks_syn_and_udp_pass_at_once() -> None:
    driver = sender()
    driver.see(OUT, data(UP, 0))
    driver.see(OUT, data(UP, 1460))
    others = [
        pure_ack(DOWN, 77),
        data(FlowKey(1, 101, 6, 80), 0, 0, flags=SYN),
        data(UP, 0)._replace(protocol=UDP, handle=10**9),
    ]
    for segment in others:
        driver.see(OUT, segment)
    assert [s.segment for s in driver.sent[1:]] == others


def test_fin_stays_behind_queued_data_and_leaves_with_it() -> None:
    driver = sender()
    for i in range(3):
        driver.see(OUT, data(UP, i * 1460))
    fin = data(UP, 4380, 0, flags=FIN | ACK)
    driver.see(OUT, fin)
    driver.run_until(S)
    assert [s.segment.seq for s in driver.sent] == [0, 1460, 2920, 4380]
    assert driver.sent[-1].at_ns == 48 * MS
    assert driver.sent[-1].segment == fin


def test_fin_passes_an_empty_queue_at_once() -> None:
    driver = sender()
    driver.see(OUT, data(UP, 0))
    driver.see(OUT, data(UP, 1460, 0, flags=FIN | ACK))
    assert len(driver.sent) == 2


def test_flow_ends_when_both_fins_are_acknowledged() -> None:
    driver = sampled()
    driver.see(OUT, data(UP, 1460, 0, flags=FIN | ACK))
    driver.see(IN, pure_ack(UP, 1461, flags=FIN | ACK))
    assert driver.hook.counters()["flows_ended"] == 0
    driver.see(OUT, pure_ack(DOWN, 1)._replace(flow=UP))
    assert driver.hook.counters()["flows_ended"] == 1
    assert driver.hook.deadline() is None


@pytest.mark.parametrize("point", [OUT, IN])
def test_reset_empties_the_queue(point: Point) -> None:
    driver = sender()
    for i in range(3):
        driver.see(OUT, data(UP, i * 1460))
    driver.see(point, data(UP if point is OUT else UP.reversed(), 4380, 0, flags=RST))
    assert [reason for _, reason in driver.dropped] == ["connection reset"] * 2
    assert driver.hook.deadline() is None
    driver.check_conservation()


def test_new_connection_on_the_same_ports_starts_afresh() -> None:
    driver = sampled()
    driver.see(OUT, data(UP, 9_000_000, 0, flags=SYN))
    driver.see(OUT, data(UP, 9_000_001))
    driver.see(OUT, data(UP, 9_001_461))
    assert driver.hook.deadline() == (driver.now_ns + 24 * MS, "pace")


def test_idle_flow_is_forgotten_after_its_timeout() -> None:
    driver = sampled()
    assert driver.hook.deadline() == (120 * S + 80 * MS, "idle")
    driver.run_until(120 * S + 80 * MS)
    assert driver.hook.deadline() is None
    assert driver.hook.counters()["flows_expired"] == 1


def test_copy_of_a_queued_segment_is_absorbed() -> None:
    driver = sender()
    for seq in (0, 1460, 1460):
        driver.see(OUT, data(UP, seq))
    driver.run_until(S)
    assert driver.sent_seqs(UP) == [0, 1460]
    assert [reason for _, reason in driver.dropped] == ["copy already queued"]


def gone_back() -> Driver:
    """`sampled`, then octets 1460..5840 sent until 80 ms + 2 T, and queued again because the source went back."""
    driver = sampled()
    for _ in range(2):
        for i in range(1, 4):
            driver.see(OUT, data(UP, i * 1460))
        driver.run_until(80 * MS + 2 * T)
    assert driver.sent_seqs(UP) == [0, 1460, 2920, 4380]
    return driver


def test_queued_data_that_was_acknowledged_meanwhile_is_not_sent() -> None:
    driver = gone_back()
    driver.see(IN, pure_ack(UP, 4380))
    assert [segment.seq for segment, _ in driver.dropped] == [1460, 2920]
    driver.run_until(2 * S)
    assert driver.sent_seqs(UP)[4:] == [4380]
    assert driver.hook.counters()["acknowledged_in_queue"] == 2
    driver.check_conservation()


def test_fin_behind_acknowledged_data_leaves_with_the_ack() -> None:
    driver = gone_back()
    driver.see(OUT, data(UP, 5840, 0, flags=FIN | ACK))
    driver.see(IN, pure_ack(UP, 5840))
    assert any(sent.segment.flags & FIN for sent in driver.sent)
    assert not driver.held


def test_ack_of_data_never_sent_empties_no_queue() -> None:
    driver = gone_back()
    driver.see(IN, pure_ack(UP, 50_000))
    assert not driver.dropped


def test_retransmission_overtakes_queued_new_data() -> None:
    driver = sampled()
    for i in (1, 2, 3, 4):
        driver.see(OUT, data(UP, i * 1460))
    driver.see(OUT, data(UP, 1460))
    driver.run_until(2 * S)
    assert driver.sent_seqs(UP) == [0, 1460, 1460, 2920, 4380, 5840]


def test_wait_for_a_route_does_not_set_the_pace() -> None:
    driver = sampled()
    driver.see(OUT, data(UP, 1460))
    driver.run_until(2080 * MS)  # RTO is 240 ms
    driver.see(IN, pure_ack(UP, 2920))
    for i in (2, 3):
        driver.see(OUT, data(UP, i * 1460))
    assert driver.hook.deadline() == (2080 * MS + T, "pace")
    assert driver.hook.counters()["rtt_unusable"] == 1


def test_full_queue_refuses_what_comes_and_keeps_its_pace() -> None:
    driver = sender(queue_limit_bytes=3000)
    for i in range(4):
        driver.see(OUT, data(UP, i * 1460))
    assert driver.sent_seqs(UP) == [0]
    assert driver.hook.counters()["overflows"] == 1
    driver.run_until(S)
    assert driver.times(UP) == [0, 24 * MS, 48 * MS]
    assert [segment.seq for segment, _ in driver.dropped] == [4380]


def test_a_full_table_forgets_the_most_silent_flow_that_holds_nothing() -> None:
    driver = sender(table=FlowTableConfig(max_flows=2))
    flows = [UP._replace(sport=number) for number in range(3)]
    for flow in flows:
        driver.see(OUT, data(flow, 0))
    for i in range(1, 3):
        driver.see(OUT, data(flows[2], i * 1460))
    assert len(driver.times(flows[2])) == 1, "it is paced"
    assert driver.hook.counters()["flows_replaced"] == 1
    assert driver.hook.counters()["unpaced_segments"] == 0


def test_a_new_flow_is_refused_if_every_flow_holds_packets() -> None:
    driver = sender(table=FlowTableConfig(max_flows=1))
    for i in range(2):
        driver.see(OUT, data(UP, i * 1460))
    other = UP._replace(sport=1)
    driver.see(OUT, data(other, 0))
    assert driver.times(other) == []
    assert [segment.flow for segment, _ in driver.dropped] == [other]
    assert driver.hook.counters()["unpaced_segments"] == 0


def test_early_repeated_and_late_timeouts_are_harmless() -> None:
    driver = sender()
    for i in range(3):
        driver.see(OUT, data(UP, i * 1460))
    for at_ns in (1, 2, 2, 24 * MS - 1):
        driver.skip_to(at_ns)
        driver.timeout()
    assert len(driver.sent) == 1
    driver.skip_to(30 * MS)  # 6 ms late
    for _ in range(3):
        driver.timeout()
    assert driver.times(UP) == [0, 30 * MS]
    driver.run_until(S)
    assert driver.times(UP) == [0, 30 * MS, 48 * MS]


def test_other_events_are_ignored() -> None:
    driver = sender()
    driver.hook.handle(0, TransmitResult(data(UP, 0), attempts=3, delivered=True))
    assert driver.hook.poll_action() is None
    assert driver.hook.deadline() is None


def test_tcp_ap_ignores_the_wired_option_and_extrapolates() -> None:
    # One hop at 2 Mbit/s, RTT 20 ms: waiting 6.92 ms + 6 ms sending, four times.
    driver = Driver(TcpApSender(hops=4))
    driver.see(OUT, data(UP, 0), FOUR_HOPS[:1])
    driver.run_until(20 * MS)
    driver.see(IN, pure_ack(UP, 1460, rtt_wired=15 * MS), FOUR_HOPS[:1])
    driver.see(OUT, data(UP, 1460), FOUR_HOPS[:1])
    assert driver.hook.deadline() == (T, "pace")


def test_tcp_ap_can_stop_at_the_end_of_the_path() -> None:
    driver = Driver(TcpApSender(hops=4, limit_to_path=True))
    driver.see(OUT, data(UP, 0), FOUR_HOPS[:1])
    driver.run_until(20 * MS)
    driver.see(IN, pure_ack(UP, 1460), FOUR_HOPS[:1])
    driver.see(OUT, data(UP, 1460), FOUR_HOPS[:1])
    driver.see(OUT, data(UP, 2920), FOUR_HOPS[:1])
    assert driver.hook.deadline() == (20 * MS + 12_920_000, "pace")


def test_a_reset_from_the_peer_ends_the_flow_with_its_queue() -> None:
    driver = sender()
    for i in range(3):
        driver.see(OUT, data(UP, i * 1460))
    driver.see(IN, pure_ack(UP, 0, flags=RST))
    assert [reason for _, reason in driver.dropped] == ["connection reset"] * 2
    assert driver.hook.counters()["flows_ended"] == 1


def test_the_peers_last_ack_closes_the_flow_when_it_had_hung_up_first() -> None:
    driver = sender()
    driver.see(OUT, data(UP, 0))
    driver.run_until(80 * MS)
    driver.see(IN, pure_ack(UP, 1460, flags=FIN | ACK))  # the peer's FIN, number 0
    driver.see(OUT, data(UP, 1460, 0, flags=FIN | ACK, ack=1))
    assert driver.hook.counters()["flows_ended"] == 0
    driver.see(IN, pure_ack(UP, 1461)._replace(seq=1))
    assert driver.hook.counters()["flows_ended"] == 1
    driver.check_conservation()
