"""The parts of VAGP together, at exact times."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelab_pacer.core.contract import Point, TransmitResult
from pacelab_pacer.core.pacing.paced_flow import FlowTableConfig
from pacelab_pacer.core.segment import ACK, FIN, RST, SYN, FlowKey, VoiceQuality, seq_diff
from pacelab_pacer.core.vagp.bandwidth_controller import BandwidthConfig
from pacelab_pacer.core.vagp.equations import window_pkts
from pacelab_pacer.core.vagp.flow import QueueConfig
from pacelab_pacer.core.vagp.gateway import Vagp, VagpConfig
from tests.pacer.hook_shell import CALM, DOWN, MS, UP, S, Shell, data, pure_ack, voice, voice_report

OUT, IN = Point.WIRED_TO_AIR, Point.AIR_TO_WIRED
OTHER = DOWN._replace(dport=6000)
CALL = FlowKey(src=100, dst=1, sport=16_384, dport=16_384)
STEADY = BandwidthConfig(good_gain=0, fair_gain=0)
"""R changes by cuts alone."""


def gateway(**settings: object) -> Shell:
    return Shell(Vagp(VagpConfig(**({"bandwidth": STEADY} | settings))), may_inject=True)  # type: ignore[arg-type]


def hook(shell: Shell) -> Vagp:
    assert isinstance(shell.hook, Vagp)
    return shell.hook


def rate_bps(shell: Shell) -> float:
    return hook(shell)._bandwidth.rate_bps


def send(shell: Shell, packets: int, flow: FlowKey = DOWN, first: int = 0) -> None:
    for i in range(first, first + packets):
        shell.see(OUT, data(flow, i * 1460))


def window_of(shell: Shell, ack: int, **fields: int) -> int | None:
    """Window that an ACK is forwarded with, None if it is left alone."""
    segment = pure_ack(DOWN, ack, **fields)
    shell.see(IN, segment)
    change = shell.rewritten.get(segment.handle)
    return None if change is None else change.window_bytes


# Rate.


def test_first_data_leaves_at_a_packet_per_assumed_round_trip() -> None:
    shell = gateway(initial_rtt_ns=100 * MS)
    send(shell, 3)
    shell.run_until(S)
    assert shell.times(DOWN) == [0, 100 * MS, 200 * MS]
    assert rate_bps(shell) == pytest.approx(120_000)


def test_first_round_trip_sets_the_rate_by_equation_1_for_good() -> None:
    shell = gateway()
    send(shell, 4)
    shell.run_until(20 * MS)
    shell.see(IN, pure_ack(DOWN, 1460))
    assert rate_bps(shell) == pytest.approx(600_000)  # 12,000 bits in 20 ms
    shell.run_until(30 * MS)
    assert shell.times(DOWN) == [0, 20 * MS]  # the packet of 0 ms was 20 ms at the new rate
    shell.see(IN, pure_ack(DOWN, 2920))
    assert rate_bps(shell) == pytest.approx(600_000)


def test_poor_calls_cut_the_rate_every_period_and_on_alert_sooner() -> None:
    shell = gateway()
    send(shell, 1)
    shell.see(IN, voice_report(VoiceQuality(CALL, 500 * MS, 25, 5, 0, 10 * MS)))  # 20 %: MOS 2.0
    shell.run_until(99 * MS)
    assert rate_bps(shell) == pytest.approx(120_000)
    shell.run_until(100 * MS)
    assert rate_bps(shell) == pytest.approx(60_000)
    shell.see(IN, voice_report(VoiceQuality(CALL, 500 * MS, 25, 5, 0, 200 * MS)))
    shell.run_until(200 * MS)
    assert rate_bps(shell) == pytest.approx(30_000)
    shell.run_until(220 * MS)
    assert rate_bps(shell) == pytest.approx(15_000)
    counters = hook(shell).counters()
    assert (counters["rounds"], counters["rounds_on_alert"], counters["rate_cut"]) == (3, 2, 3)


def test_rate_grows_only_while_packets_wait_for_it() -> None:
    shell = gateway(bandwidth=BandwidthConfig())
    send(shell, 1)
    shell.run_until(S)
    assert rate_bps(shell) == pytest.approx(120_000)
    send(shell, 2, first=1)
    shell.run_until(1100 * MS)
    assert rate_bps(shell) == pytest.approx(126_000)
    counters = hook(shell).counters()
    assert (counters["rate_raised"], counters["rounds_without_voice"]) == (1, 11)


def test_rounds_end_with_the_flows_and_begin_with_the_next_one() -> None:
    shell = gateway()
    send(shell, 1)
    shell.see(OUT, data(DOWN, 1460, 0, flags=RST))
    shell.run_until(10 * S)
    assert shell.hook.deadline() is None
    assert hook(shell).counters()["rounds"] == 0
    send(shell, 1)
    assert shell.hook.deadline() == (10_100 * MS, "bandwidth control")
    shell.run_until(10_100 * MS)
    assert hook(shell).counters()["rounds"] == 1


def test_early_and_repeated_timeouts_are_harmless() -> None:
    shell = gateway()
    shell.timeout()
    send(shell, 3)
    for at_ms in range(0, 100, 7):
        shell.run_until(at_ms * MS)
        shell.timeout()
        shell.timeout()
    assert hook(shell).counters()["rounds"] == 0
    assert shell.times(DOWN) == [0]


def test_flows_share_the_rate_in_turns() -> None:
    shell = gateway()
    send(shell, 3)
    send(shell, 3, OTHER)
    shell.run_until(550 * MS)
    assert shell.times(DOWN) == [0, 200 * MS, 400 * MS]
    assert shell.times(OTHER) == [100 * MS, 300 * MS, 500 * MS]


def test_voice_and_the_rest_pass_at_once() -> None:
    shell = gateway()
    shell.see(OUT, voice(CALL, 0, 0))
    shell.see(IN, voice(CALL.reversed(), 0, 0))
    shell.see(Point.LOCAL_OUT, data(UP, 0))
    shell.see(IN, data(UP, 0))
    shell.see(OUT, pure_ack(UP, 1460))
    shell.hook.handle(0, TransmitResult(data(DOWN, 0), 1, delivered=True))
    assert len(shell.sent) == 5
    assert shell.hook.deadline() == (100 * MS, "bandwidth control") or shell.hook.deadline() is None


# Local Recovery.


def lost_second(shell: Shell, window: int = 65_535) -> None:
    """Four packets released by 60 ms, an RTT of 20 ms measured, the second one lost."""
    send(shell, 4)
    shell.run_until(20 * MS)
    shell.see(IN, pure_ack(DOWN, 1460, window=window))  # R = 0.6 Mbit/s: 20, 40, 60 ms
    shell.run_until(65 * MS)
    assert shell.times(DOWN) == [0, 20 * MS, 40 * MS, 60 * MS]


def test_duplicate_ack_fills_the_hole_once_and_ends_here() -> None:
    shell = gateway()
    lost_second(shell)
    for _ in range(3):
        shell.see(IN, pure_ack(DOWN, 1460))
    shell.run_until(79 * MS)
    assert not any(s.again for s in shell.sent)  # it waits for its turn: 20 ms after the packet of 60 ms
    shell.run_until(80 * MS)
    assert [(s.at_ns, s.segment.seq) for s in shell.sent if s.again] == [(80 * MS, 1460)]
    assert [reason for _, reason in shell.dropped] == ["duplicate ACK absorbed"] * 3
    shell.run_until(99 * MS)
    shell.see(IN, pure_ack(DOWN, 1460))  # less than an RTT after it left
    shell.run_until(100 * MS)
    shell.see(IN, pure_ack(DOWN, 1460))
    shell.run_until(150 * MS)
    assert [s.at_ns for s in shell.sent if s.again] == [80 * MS, 100 * MS]
    counters = hook(shell).counters()
    assert (counters["local_retransmissions"], counters["duplicates_absorbed"]) == (2, 5)


def test_ack_takes_back_the_copy_that_waits() -> None:
    shell = gateway()
    lost_second(shell)
    shell.see(IN, pure_ack(DOWN, 1460))
    shell.see(IN, pure_ack(DOWN, 2920))
    shell.run_until(S)
    assert not any(s.again for s in shell.sent)
    assert sorted(s.seq for s in shell.kept.values()) == [2920, 4380]


def test_repair_goes_ahead_of_its_flows_queue() -> None:
    shell = gateway()
    lost_second(shell)
    send(shell, 3, first=4)
    shell.see(IN, pure_ack(DOWN, 1460))
    shell.run_until(S)
    assert [(s.at_ns // MS, s.segment.seq // 1460, s.again) for s in shell.sent if s.at_ns > 65 * MS] == [
        (80, 1, True),
        (100, 4, False),
        (120, 5, False),
        (140, 6, False),
    ]


def test_source_that_sends_the_hole_itself_replaces_the_copy() -> None:
    shell = gateway()
    lost_second(shell)
    shell.see(IN, pure_ack(DOWN, 1460))
    shell.see(OUT, data(DOWN, 1460))
    shell.run_until(S)
    assert [s.again for s in shell.sent if s.segment.seq == 1460] == [False, False]
    shell.see(IN, pure_ack(DOWN, 5840))
    assert shell.kept == {}


def test_hole_that_the_source_fills_already_needs_no_copy() -> None:
    shell = gateway()
    lost_second(shell)
    shell.see(OUT, data(DOWN, 1460))
    shell.see(IN, pure_ack(DOWN, 1460))
    shell.run_until(S)
    assert [s.again for s in shell.sent if s.segment.seq == 1460] == [False, False]
    assert hook(shell).counters()["duplicates_absorbed"] == 1


def test_duplicate_for_what_is_not_here_is_forwarded() -> None:
    shell = gateway()
    send(shell, 2)
    shell.run_until(150 * MS)
    shell.see(IN, pure_ack(DOWN, 2920))
    shell.see(IN, pure_ack(DOWN, 2920))
    shell.see(IN, pure_ack(DOWN, 2920))
    assert hook(shell).counters()["duplicates_forwarded"] == 2
    assert shell.dropped == []


def test_full_buffer_costs_copies_first() -> None:
    shell = gateway(buffer_bytes=6000)
    send(shell, 1)
    shell.run_until(S)
    send(shell, 6, first=1)
    counters = hook(shell).counters()
    # Two leave at once or within a second; of the others two fit into half of the buffer.
    assert (counters["copies_evicted"], counters["overflows"], len(shell.held)) == (0, 3, 2)
    send(shell, 1, OTHER)
    assert (hook(shell).counters()["copies_evicted"], len(shell.held)) == (1, 3)
    shell.check_conservation()


def test_evicted_copy_is_not_sent() -> None:
    shell = gateway(assumed_window_bytes=6000, queue=None)
    lost_second(shell, window=6000)
    shell.see(IN, pure_ack(DOWN, 1460, window=6000))
    send(shell, 4, first=4)
    shell.run_until(S)
    assert not any(s.again for s in shell.sent)


# Redundant Eliminator.


def test_acknowledged_data_is_dropped_and_the_ack_repeated() -> None:
    shell = gateway()
    send(shell, 2)
    shell.run_until(150 * MS)
    shell.see(IN, data(UP, 7000, 100, ack=2920))
    shell.see(OUT, data(DOWN, 0))
    shell.see(OUT, data(DOWN, 1460))
    assert [reason for _, reason in shell.dropped] == ["already acknowledged"] * 2
    answers = [segment for _, segment in shell.injected]
    assert len(answers) == 2
    answer = answers[0]
    assert (answer.flow, answer.flags, answer.seq, answer.ack) == (UP, ACK, 7100, 2920)
    assert (answer.payload_bytes, answer.packet_bytes) == (0, 40)
    assert 0 < answer.window_bytes <= 65_535
    assert hook(shell).counters()["redundant_dropped"] == 2


def test_segment_that_is_acknowledged_in_part_goes() -> None:
    shell = gateway()
    send(shell, 2)
    shell.run_until(150 * MS)
    shell.see(IN, pure_ack(DOWN, 2000))
    shell.see(OUT, data(DOWN, 1460))
    shell.run_until(S)
    assert shell.sent_seqs(DOWN) == [0, 1460, 1460]


def test_hook_that_starts_in_mid_flow_takes_nothing_for_acknowledged() -> None:
    shell = gateway()
    send(shell, 2, first=5)
    shell.see(OUT, data(DOWN, 0))  # from before the first one seen
    shell.run_until(S)
    assert shell.dropped == []
    assert len(shell.sent_seqs(DOWN)) == 3


def test_older_ack_takes_nothing_back() -> None:
    shell = gateway()
    send(shell, 3)
    shell.run_until(250 * MS)
    shell.see(IN, pure_ack(DOWN, 2920))
    shell.see(IN, pure_ack(DOWN, 1460))
    shell.see(OUT, data(DOWN, 1460))
    assert len(shell.injected) == 1
    assert shell.injected[0][1].ack == 2920


def test_ack_of_what_was_never_sent_is_not_believed() -> None:
    shell = gateway()
    send(shell, 1)
    shell.see(IN, pure_ack(DOWN, 10**6))
    send(shell, 1, first=1)
    shell.run_until(S)
    assert shell.sent_seqs(DOWN) == [0, 1460]


def test_queued_data_that_was_acknowledged_meanwhile_never_leaves() -> None:
    shell = gateway()
    send(shell, 2)
    shell.run_until(150 * MS)
    shell.see(OUT, data(DOWN, 1460))
    shell.see(IN, pure_ack(DOWN, 2920))
    shell.run_until(S)
    assert shell.sent_seqs(DOWN) == [0, 1460]
    assert hook(shell).counters()["acknowledged_in_queue"] == 1


# Queue Manager.


@pytest.mark.parametrize(
    ("queued", "frozen", "target"),
    [(0, False, 6), (1, False, 6), (2, False, 4), (6, False, 4), (7, False, 2), (7, True, 0), (1, True, 6)],
)
def test_window_of_algorithm_3(queued: int, frozen: bool, target: int) -> None:
    base = 0 if target == 0 else 3 + 2
    assert window_pkts((2, 6), queued_pkts=queued, in_air_pkts=3, in_wire_pkts=2, is_frozen=frozen) == target + base


def opened(shell: Shell, wired_ms: int = 0) -> int | None:
    """A handshake; the window that the SYN-ACK leaves with. Data starts at 100."""
    shell.see(OUT, data(DOWN, 99, 0, flags=SYN))
    shell.run_until(shell.now_ns + 5 * MS)
    window = window_of(shell, 100, flags=SYN | ACK)
    shell.run_until(shell.now_ns + wired_ms * MS)
    shell.see(OUT, data(DOWN, 100))
    return window


def test_windows_follow_queue_and_air() -> None:
    shell = gateway()
    assert opened(shell) == 6 * 1460
    for i in range(1, 6):
        shell.see(OUT, data(DOWN, 100 + i * 1460))
    # one in the air, acknowledged now; five wait: 4 + 0 would be less than the edge of 100 + 8760
    assert window_of(shell, 1560) == 8860 - 1560
    shell.run_until(shell.now_ns + 450 * MS)
    assert shell.sent_seqs(DOWN) == [100, 1560, 3020, 4480, 5940]  # one waits, three are in the air
    assert window_of(shell, 3020) == (6 + 3) * 1460
    assert hook(shell).counters()["windows_narrowed"] == 2  # the SYN-ACK is no flow's that is shaped yet


def test_wired_round_trip_widens_the_window_by_what_it_holds() -> None:
    shell = gateway()
    opened(shell, wired_ms=250)
    # 0.12 Mbit/s, 250 ms, 1460 octets: 2.57 packets, so 3
    assert window_of(shell, 1560) == (6 + 3) * 1460


def test_repeated_handshake_is_not_timed() -> None:
    shell = gateway()
    shell.see(OUT, data(DOWN, 99, 0, flags=SYN))
    for _ in range(2):
        window_of(shell, 100, flags=SYN | ACK)
    shell.run_until(S)
    shell.see(OUT, data(DOWN, 100))
    assert window_of(shell, 1560) == 6 * 1460


def test_connection_that_came_from_another_gateway_is_timed_by_its_windows() -> None:
    shell = gateway()
    send(shell, 1)
    assert window_of(shell, 1460, window=3 * 1460) is None  # has been promised by the other gateway
    send(shell, 3, first=1)
    shell.run_until(500 * MS)
    assert window_of(shell, 4 * 1460, window=20 * 1460) == 6 * 1460  # as if the source were next door
    shell.run_until(shell.now_ns + 250 * MS)
    send(shell, 1, first=4)  # the first octet beyond what had been promised
    shell.run_until(shell.now_ns + 5 * MS)
    held = -int(-rate_bps(shell) * 250 * MS // (1460 * 8 * S))
    assert held > 1
    assert window_of(shell, 5 * 1460, window=20 * 1460) == (6 + held) * 1460


def test_receivers_own_window_is_the_limit() -> None:
    shell = gateway()
    assert window_of(shell, 100, flags=SYN | ACK, window=4000) is None
    shell.see(OUT, data(DOWN, 100))
    assert window_of(shell, 1560, window=4000) is None


def test_frozen_rate_opens_no_further_while_the_queue_is_long() -> None:
    shell = gateway(initial_rtt_ns=S, bandwidth=BandwidthConfig(min_rate_bps=12_000))
    opened(shell)
    for i in range(1, 12):
        shell.see(OUT, data(DOWN, 100 + i * 1460))
    assert hook(shell)._bandwidth.is_frozen
    assert window_of(shell, 1560) == 8860 - 1560


def test_ack_of_what_was_never_sent_moves_no_edge() -> None:
    shell = gateway()
    opened(shell)
    assert window_of(shell, 5000) is None
    assert window_of(shell, 1560) == 6 * 1460


def test_without_a_queue_manager_windows_are_left_alone() -> None:
    shell = gateway(queue=None)
    opened(shell)
    assert window_of(shell, 1560) is None
    shell.see(OUT, data(DOWN, 100))
    assert shell.injected[0][1].window_bytes == 65_535


def test_mid_flow_start_takes_nothing_back() -> None:
    shell = gateway()
    send(shell, 1)
    assert window_of(shell, 1460) is None
    send(shell, 1, first=1)
    shell.run_until(150 * MS)
    assert window_of(shell, 2920) == 65_535 - 1460


def test_resets_and_segments_without_ack_keep_their_windows() -> None:
    shell = gateway()
    opened(shell)
    shell.see(IN, data(UP, 0, 10, flags=0))
    shell.see(IN, data(UP, 0, 0, flags=RST | ACK, ack=100))
    assert len(shell.rewritten) == 1


def test_connection_from_the_wireless_side_starts_small() -> None:
    shell = gateway()
    syn = data(UP, 99, 0, flags=SYN)
    shell.see(IN, syn)
    assert shell.rewritten[syn.handle].window_bytes == 6 * 1460
    shell.see(OUT, data(DOWN, 50, 0, flags=SYN | ACK, ack=100))
    assert window_of(shell, 51) == 6 * 1460
    assert hook(shell).counters()["windows_narrowed"] == 0  # nothing is shaped yet


# Life.


def test_unshaped_flows_keep_their_windows_and_pass() -> None:
    shell = gateway(buffer_bytes=0)
    send(shell, 3)
    assert len(shell.sent) == 3
    assert window_of(shell, 1460) is None
    counters = hook(shell).counters()
    assert (counters["unpaced_flows"], counters["unpaced_segments"]) == (1, 3)


def test_flow_that_found_no_room_is_shaped_once_there_is_some() -> None:
    shell = gateway(buffer_bytes=3000)
    send(shell, 2)
    send(shell, 1, OTHER)
    assert (len(shell.held), len(shell.dropped)) == (2, 0)
    send(shell, 2, OTHER, first=1)
    assert (len(shell.held), len(shell.dropped)) == (2, 2)
    shell.see(OUT, data(DOWN, 2920, 0, flags=RST))
    send(shell, 1, OTHER, first=1)
    assert len(shell.held) == 1 + 0
    assert hook(shell).counters()["unpaced_flows"] == 0


def test_windows_take_no_room() -> None:
    shell = gateway(buffer_bytes=100_000)
    send(shell, 2)
    shell.see(IN, pure_ack(DOWN, 1460, window=90_000))
    send(shell, 2, OTHER)
    assert hook(shell)._store.queued_bytes + hook(shell)._store.kept_bytes == 3 * 1460


def test_new_connection_forgets_the_old_one() -> None:
    shell = gateway()
    send(shell, 3)
    shell.see(OUT, data(DOWN, 7, 0, flags=SYN))
    assert [reason for _, reason in shell.dropped] == ["new connection"] * 2
    assert shell.kept == {}
    send(shell, 3)
    shell.see(IN, data(UP, 7, 0, flags=SYN))
    assert hook(shell).counters()["flows_ended"] == 2


def test_proper_end_forgets_the_flow() -> None:
    shell = gateway()
    send(shell, 2)
    shell.see(OUT, data(DOWN, 2920, 0, flags=FIN | ACK, ack=500))
    shell.run_until(150 * MS)
    shell.see(IN, data(UP, 500, 0, flags=FIN | ACK, ack=2921))
    shell.see(OUT, data(DOWN, 2921, 0, flags=ACK, ack=501))
    counters = hook(shell).counters()
    assert (counters["flows_ended"], len(shell.held), shell.kept) == (1, 0, {})


def test_full_table_without_a_flow_to_forget_refuses_data_and_passes_control() -> None:
    shell = gateway(table=FlowTableConfig(max_flows=1))
    send(shell, 2)
    send(shell, 2, OTHER)
    shell.see(OUT, data(OTHER, 0, 0, flags=FIN | ACK))
    shell.see(IN, data(OTHER.reversed(), 0, 0, flags=SYN))
    assert len(shell.held) == 1
    assert len(shell.dropped) == 2
    assert hook(shell).counters()["unpaced_segments"] == 0


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        (VagpConfig, "buffer_bytes", -1),
        (VagpConfig, "assumed_window_bytes", 0),
        (VagpConfig, "initial_rtt_ns", 0),
        (QueueConfig, "min_pkts", 0),
        (QueueConfig, "max_pkts", 2),
    ],
)
def test_config_names_what_is_wrong(make: type, name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{name} is {value}: allowed is"):
        make(**{name: value})


# Against a receiver that reassembles, over an air that loses.


@CALM
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 60)), min_size=20, max_size=120),
    st.integers(1, 8),
)
def test_application_gets_each_octet_once_in_order_and_the_source_no_deadlock(
    air: list[tuple[bool, int]], burst: int
) -> None:
    """A source that keeps within the windows it sees and goes back after a timeout, and a lossy air."""
    shell = gateway(bandwidth=BandwidthConfig())
    start = 2**32 - 20_000
    source_una = source_next = start
    window = 6 * 1460
    receiver_next, islands = start, set()
    delivered: list[int] = []
    crossed = answered = 0
    furthest = None
    for lost, gap_ms in [*air, *[(False, 200)] * 60]:
        while seq_diff(source_next + 1460, source_una) <= min(window, burst * 1460):
            shell.see(OUT, data(DOWN, source_next % 2**32))
            source_next += 1460
        shell.run_until(shell.now_ns + gap_ms * MS)
        for sent in shell.sent[crossed:]:
            if not sent.segment.is_data or lost:
                continue
            islands.add(sent.segment.seq)
            while receiver_next % 2**32 in islands:
                delivered.append(receiver_next)
                receiver_next += 1460
            ack = pure_ack(DOWN, receiver_next % 2**32)
            before = len(shell.dropped)
            shell.see(IN, ack)
            if len(shell.dropped) > before and shell.dropped[-1][0] is ack:
                continue
            change = shell.rewritten.get(ack.handle)
            window = ack.window_bytes if change is None else (change.window_bytes or 0)
            edge = (ack.ack + window) % 2**32
            assert furthest is None or seq_diff(edge, furthest) >= 0
            furthest = edge
            if seq_diff(ack.ack, source_una) > 0:
                source_una += seq_diff(ack.ack, source_una)
        crossed = len(shell.sent)
        for _, answer in shell.injected[answered:]:
            if seq_diff(answer.ack, source_una) > 0:
                source_una += seq_diff(answer.ack, source_una)
        answered = len(shell.injected)
        if gap_ms > 50:
            source_next = source_una  # timeout: go back
    assert delivered == list(range(start, start + 1460 * len(delivered), 1460))
    assert len(delivered) >= 30  # in sixty rounds without loss
