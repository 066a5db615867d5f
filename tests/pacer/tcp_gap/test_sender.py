"""TCP-GAP at the source, on four links of 2 Mbit/s: 1500-byte packets, 24 ms apart until the first sample."""

from __future__ import annotations

import pytest

from pacelab_pacer.core.contract import Point, TransmitResult
from pacelab_pacer.core.pacing.paced_flow import FlowTableConfig
from pacelab_pacer.core.segment import ACK, FIN, RST, SYN, UDP, FlowKey
from pacelab_pacer.core.tcp_ap.hooks import TcpApSender
from pacelab_pacer.core.tcp_gap.sender import TcpGapSender, TcpGapSenderConfig
from tests.pacer.hook_shell import DOWN, FOUR_HOPS, MS, UP, S, Shell, data, pure_ack

OUT, IN = Point.LOCAL_OUT, Point.LOCAL_IN
T = 51_680_000
"""The pace after one RTT_wireless of 80 ms."""


def sender(**config: object) -> Shell:
    return Shell(TcpGapSender(TcpGapSenderConfig(**config)))  # type: ignore[arg-type]


def sampled(rtt_wired: int | None = None) -> Shell:
    """A sender that has sent octets 0..1460 at 0 and got their ACK at 80 ms plus RTT_wired."""
    shell = sender()
    shell.see(OUT, data(UP, 0))
    shell.run_until(80 * MS + (rtt_wired or 0))
    shell.see(IN, pure_ack(UP, 1460, rtt_wired=rtt_wired))
    return shell


def test_before_the_first_sample_the_idle_path_sets_the_pace() -> None:
    shell = sender()
    for i in range(3):
        shell.see(OUT, data(UP, i * 1460))
    assert shell.hook.deadline() == (24 * MS, "pace")
    shell.run_until(S)
    assert shell.times(UP) == [0, 24 * MS, 48 * MS]


def test_without_a_route_nothing_waits() -> None:
    shell = sender()
    for i in range(3):
        shell.see(OUT, data(UP, i * 1460), ())
    assert shell.times(UP) == [0, 0, 0]


@pytest.mark.parametrize("rtt_wired", [None, 90 * MS])
def test_sample_sets_the_pace(rtt_wired: int | None) -> None:
    shell = sampled(rtt_wired)
    start = shell.now_ns
    for i in range(1, 4):
        shell.see(OUT, data(UP, i * 1460))
    shell.run_until(start + S)
    assert shell.times(UP)[1:] == [start, start + T, start + 2 * T]
    assert shell.hook.counters()["rtt_samples"] == 1
    assert shell.hook.counters()["n_hop_delay_us"] == 51_680


def test_rtt_starts_at_the_release_from_the_pacer() -> None:
    shell = sender()
    shell.see(OUT, data(UP, 0))
    shell.see(OUT, data(UP, 1460))  # leaves at 24 ms
    shell.run_until(104 * MS)
    shell.see(IN, pure_ack(UP, 2920))
    shell.see(OUT, data(UP, 2920))
    shell.see(OUT, data(UP, 4380))
    assert shell.hook.deadline() == (104 * MS + T, "pace")


def test_ack_without_the_option_is_taken_with_the_last_rtt_wired() -> None:
    shell = sampled(90 * MS)
    shell.see(OUT, data(UP, 1460))
    start = shell.now_ns
    shell.run_until(start + 170 * MS)
    shell.see(IN, pure_ack(UP, 2920))
    shell.see(OUT, data(UP, 2920))
    shell.see(OUT, data(UP, 4380))
    assert shell.hook.deadline() == (start + 170 * MS + T, "pace")  # again 80 ms: no change


def test_rtt_wired_above_the_rtt_is_no_sample() -> None:
    shell = sender()
    shell.see(OUT, data(UP, 0))
    shell.run_until(80 * MS)
    shell.see(IN, pure_ack(UP, 1460, rtt_wired=80 * MS))
    assert shell.hook.counters()["rtt_samples"] == 0
    assert shell.hook.counters()["rtt_unusable"] == 1


def test_karn_retransmission_gives_no_sample() -> None:
    shell = sender()
    shell.see(OUT, data(UP, 0))
    shell.run_until(S)
    shell.see(OUT, data(UP, 0))
    shell.run_until(S + 80 * MS)
    shell.see(IN, pure_ack(UP, 1460))
    assert shell.hook.counters()["rtt_samples"] == 0


def test_delayed_ack_samples_the_newest_segment() -> None:
    shell = sender()
    shell.see(OUT, data(UP, 0))
    shell.run_until(40 * MS)
    shell.see(OUT, data(UP, 1460))
    shell.run_until(120 * MS)
    shell.see(IN, pure_ack(UP, 2920))
    assert shell.hook.counters()["rtt_samples"] == 1
    shell.see(OUT, data(UP, 2920))
    shell.see(OUT, data(UP, 4380))
    assert shell.hook.deadline() == (120 * MS + T, "pace")


def test_sequence_numbers_wrap_without_a_jump_in_pace() -> None:
    shell = sender()
    seq = 2**32 - 1460
    shell.see(OUT, data(UP, seq))
    shell.run_until(80 * MS)
    shell.see(IN, pure_ack(UP, 0))
    shell.see(OUT, data(UP, 0))
    shell.see(OUT, data(UP, 1460))
    shell.run_until(S)
    assert shell.times(UP) == [0, 80 * MS, 80 * MS + T]
    assert shell.hook.counters()["rtt_samples"] == 1


def test_acks_syn_and_udp_pass_at_once() -> None:
    shell = sender()
    shell.see(OUT, data(UP, 0))
    shell.see(OUT, data(UP, 1460))
    others = [
        pure_ack(DOWN, 77),
        data(FlowKey(1, 101, 6, 80), 0, 0, flags=SYN),
        data(UP, 0)._replace(protocol=UDP, handle=10**9),
    ]
    for segment in others:
        shell.see(OUT, segment)
    assert [s.segment for s in shell.sent[1:]] == others


def test_fin_stays_behind_queued_data_and_leaves_with_it() -> None:
    shell = sender()
    for i in range(3):
        shell.see(OUT, data(UP, i * 1460))
    fin = data(UP, 4380, 0, flags=FIN | ACK)
    shell.see(OUT, fin)
    shell.run_until(S)
    assert [s.segment.seq for s in shell.sent] == [0, 1460, 2920, 4380]
    assert shell.sent[-1].at_ns == 48 * MS
    assert shell.sent[-1].segment == fin


def test_fin_passes_an_empty_queue_at_once() -> None:
    shell = sender()
    shell.see(OUT, data(UP, 0))
    shell.see(OUT, data(UP, 1460, 0, flags=FIN | ACK))
    assert len(shell.sent) == 2


def test_flow_ends_when_both_fins_are_acknowledged() -> None:
    shell = sampled()
    shell.see(OUT, data(UP, 1460, 0, flags=FIN | ACK))
    shell.see(IN, pure_ack(UP, 1461, flags=FIN | ACK))
    assert shell.hook.counters()["flows_ended"] == 0
    shell.see(OUT, pure_ack(DOWN, 1)._replace(flow=UP))
    assert shell.hook.counters()["flows_ended"] == 1
    assert shell.hook.deadline() is None


@pytest.mark.parametrize("point", [OUT, IN])
def test_reset_empties_the_queue(point: Point) -> None:
    shell = sender()
    for i in range(3):
        shell.see(OUT, data(UP, i * 1460))
    shell.see(point, data(UP if point is OUT else UP.reversed(), 4380, 0, flags=RST))
    assert [reason for _, reason in shell.dropped] == ["connection reset"] * 2
    assert shell.hook.deadline() is None
    shell.check_conservation()


def test_new_connection_on_the_same_ports_starts_afresh() -> None:
    shell = sampled()
    shell.see(OUT, data(UP, 9_000_000, 0, flags=SYN))
    shell.see(OUT, data(UP, 9_000_001))
    shell.see(OUT, data(UP, 9_001_461))
    assert shell.hook.deadline() == (shell.now_ns + 24 * MS, "pace")


def test_idle_flow_is_forgotten_after_its_timeout() -> None:
    shell = sampled()
    assert shell.hook.deadline() == (120 * S + 80 * MS, "idle")
    shell.run_until(120 * S + 80 * MS)
    assert shell.hook.deadline() is None
    assert shell.hook.counters()["flows_expired"] == 1


def test_copy_of_a_queued_segment_is_absorbed() -> None:
    shell = sender()
    for seq in (0, 1460, 1460):
        shell.see(OUT, data(UP, seq))
    shell.run_until(S)
    assert shell.sent_seqs(UP) == [0, 1460]
    assert [reason for _, reason in shell.dropped] == ["copy already queued"]


def gone_back() -> Shell:
    """`sampled`, then octets 1460..5840 sent until 80 ms + 2 T, and queued again by a source that went back."""
    shell = sampled()
    for _ in range(2):
        for i in range(1, 4):
            shell.see(OUT, data(UP, i * 1460))
        shell.run_until(80 * MS + 2 * T)
    assert shell.sent_seqs(UP) == [0, 1460, 2920, 4380]
    return shell


def test_queued_data_that_was_acknowledged_meanwhile_is_not_sent() -> None:
    shell = gone_back()
    shell.see(IN, pure_ack(UP, 4380))
    assert [segment.seq for segment, _ in shell.dropped] == [1460, 2920]
    shell.run_until(2 * S)
    assert shell.sent_seqs(UP)[4:] == [4380]
    assert shell.hook.counters()["acknowledged_in_queue"] == 2
    shell.check_conservation()


def test_fin_behind_acknowledged_data_leaves_with_the_ack() -> None:
    shell = gone_back()
    shell.see(OUT, data(UP, 5840, 0, flags=FIN | ACK))
    shell.see(IN, pure_ack(UP, 5840))
    assert any(sent.segment.flags & FIN for sent in shell.sent)
    assert not shell.held


def test_ack_of_data_never_sent_empties_no_queue() -> None:
    shell = gone_back()
    shell.see(IN, pure_ack(UP, 50_000))
    assert not shell.dropped


def test_retransmission_overtakes_queued_new_data() -> None:
    shell = sampled()
    for i in (1, 2, 3, 4):
        shell.see(OUT, data(UP, i * 1460))
    shell.see(OUT, data(UP, 1460))
    shell.run_until(2 * S)
    assert shell.sent_seqs(UP) == [0, 1460, 1460, 2920, 4380, 5840]


def test_wait_for_a_route_does_not_set_the_pace() -> None:
    shell = sampled()
    shell.see(OUT, data(UP, 1460))
    shell.run_until(2080 * MS)  # RTO is 240 ms
    shell.see(IN, pure_ack(UP, 2920))
    for i in (2, 3):
        shell.see(OUT, data(UP, i * 1460))
    assert shell.hook.deadline() == (2080 * MS + T, "pace")
    assert shell.hook.counters()["rtt_unusable"] == 1


def test_full_queue_refuses_what_comes_and_keeps_its_pace() -> None:
    shell = sender(queue_limit_bytes=3000)
    for i in range(4):
        shell.see(OUT, data(UP, i * 1460))
    assert shell.sent_seqs(UP) == [0]
    assert shell.hook.counters()["overflows"] == 1
    shell.run_until(S)
    assert shell.times(UP) == [0, 24 * MS, 48 * MS]
    assert [segment.seq for segment, _ in shell.dropped] == [4380]


def test_a_full_table_forgets_the_most_silent_flow_that_holds_nothing() -> None:
    shell = sender(table=FlowTableConfig(max_flows=2))
    flows = [UP._replace(sport=number) for number in range(3)]
    for flow in flows:
        shell.see(OUT, data(flow, 0))
    for i in range(1, 3):
        shell.see(OUT, data(flows[2], i * 1460))
    assert len(shell.times(flows[2])) == 1, "it is paced"
    assert shell.hook.counters()["flows_replaced"] == 1
    assert shell.hook.counters()["unpaced_segments"] == 0


def test_early_repeated_and_late_timeouts_are_harmless() -> None:
    shell = sender()
    for i in range(3):
        shell.see(OUT, data(UP, i * 1460))
    for at_ns in (1, 2, 2, 24 * MS - 1):
        shell.skip_to(at_ns)
        shell.timeout()
    assert len(shell.sent) == 1
    shell.skip_to(30 * MS)  # 6 ms late
    for _ in range(3):
        shell.timeout()
    assert shell.times(UP) == [0, 30 * MS]
    shell.run_until(S)
    assert shell.times(UP) == [0, 30 * MS, 48 * MS]


def test_other_events_are_ignored() -> None:
    shell = sender()
    shell.hook.handle(0, TransmitResult(data(UP, 0), attempts=3, delivered=True))
    assert shell.hook.poll_action() is None
    assert shell.hook.deadline() is None


def test_tcp_ap_ignores_the_wired_option_and_extrapolates() -> None:
    # One hop at 2 Mbit/s, RTT 20 ms: waiting 6.92 ms + 6 ms sending, four times.
    shell = Shell(TcpApSender(hops=4))
    shell.see(OUT, data(UP, 0), FOUR_HOPS[:1])
    shell.run_until(20 * MS)
    shell.see(IN, pure_ack(UP, 1460, rtt_wired=15 * MS), FOUR_HOPS[:1])
    shell.see(OUT, data(UP, 1460), FOUR_HOPS[:1])
    assert shell.hook.deadline() == (T, "pace")


def test_tcp_ap_can_stop_at_the_end_of_the_path() -> None:
    shell = Shell(TcpApSender(hops=4, limit_to_path=True))
    shell.see(OUT, data(UP, 0), FOUR_HOPS[:1])
    shell.run_until(20 * MS)
    shell.see(IN, pure_ack(UP, 1460), FOUR_HOPS[:1])
    shell.see(OUT, data(UP, 1460), FOUR_HOPS[:1])
    shell.see(OUT, data(UP, 2920), FOUR_HOPS[:1])
    assert shell.hook.deadline() == (20 * MS + 12_920_000, "pace")


def test_a_reset_from_the_peer_ends_the_flow_with_its_queue() -> None:
    shell = sender()
    for i in range(3):
        shell.see(OUT, data(UP, i * 1460))
    shell.see(IN, pure_ack(UP, 0, flags=RST))
    assert [reason for _, reason in shell.dropped] == ["connection reset"] * 2
    assert shell.hook.counters()["flows_ended"] == 1


def test_the_peers_last_ack_closes_the_flow_when_it_had_hung_up_first() -> None:
    shell = sender()
    shell.see(OUT, data(UP, 0))
    shell.run_until(80 * MS)
    shell.see(IN, pure_ack(UP, 1460, flags=FIN | ACK))  # the peer's FIN, number 0
    shell.see(OUT, data(UP, 1460, 0, flags=FIN | ACK, ack=1))
    assert shell.hook.counters()["flows_ended"] == 0
    shell.see(IN, pure_ack(UP, 1461)._replace(seq=1))
    assert shell.hook.counters()["flows_ended"] == 1
    shell.check_conservation()
