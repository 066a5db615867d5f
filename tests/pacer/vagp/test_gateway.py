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
from pacelab_pacer.core.vagp.quality_evaluator import QualityConfig
from tests.pacer.hook_driver import CALM, DOWN, MS, UP, Driver, S, data, pure_ack, voice, voice_report

OUT, IN = Point.WIRED_TO_AIR, Point.AIR_TO_WIRED
OTHER = DOWN._replace(dport=6000)
CALL = FlowKey(src=100, dst=1, sport=16_384, dport=16_384)
STEADY = BandwidthConfig(good_gain=0, fair_gain=0)
"""R changes only by cuts."""


def gateway(**settings: object) -> Driver:
    return Driver(Vagp(VagpConfig(**({"bandwidth": STEADY} | settings))), may_inject=True)  # type: ignore[arg-type]


def hook(driver: Driver) -> Vagp:
    assert isinstance(driver.hook, Vagp)
    return driver.hook


def rate_bps(driver: Driver) -> float:
    return hook(driver)._bandwidth.rate_bps


def send(driver: Driver, packets: int, flow: FlowKey = DOWN, first: int = 0) -> None:
    for i in range(first, first + packets):
        driver.see(OUT, data(flow, i * 1460))


def window_of(driver: Driver, ack: int, **fields: int) -> int | None:
    """The window in a forwarded ACK; None if it is unchanged."""
    segment = pure_ack(DOWN, ack, **fields)
    driver.see(IN, segment)
    change = driver.rewritten.get(segment.handle)
    return None if change is None else change.window_bytes


# Rate.


def test_first_data_leaves_at_a_packet_per_assumed_round_trip() -> None:
    driver = gateway(initial_rtt_ns=100 * MS)
    send(driver, 3)
    driver.run_until(S)
    assert driver.times(DOWN) == [0, 100 * MS, 200 * MS]
    assert rate_bps(driver) == pytest.approx(120_000)


def test_first_round_trip_sets_the_rate_by_equation_1_for_good() -> None:
    driver = gateway()
    send(driver, 4)
    driver.run_until(20 * MS)
    driver.see(IN, pure_ack(DOWN, 1460))
    assert rate_bps(driver) == pytest.approx(600_000)  # 12,000 bits in 20 ms
    driver.run_until(30 * MS)
    assert driver.times(DOWN) == [0, 20 * MS]  # the packet of 0 ms was 20 ms at the new rate
    driver.see(IN, pure_ack(DOWN, 2920))
    assert rate_bps(driver) == pytest.approx(600_000)


def test_poor_calls_cut_the_rate_every_period_and_on_alert_sooner() -> None:
    driver = gateway()
    send(driver, 1)
    driver.see(IN, voice_report(VoiceQuality(CALL, 500 * MS, 25, 5, 0, 10 * MS)))  # 20 %: MOS 2.0
    driver.run_until(99 * MS)
    assert rate_bps(driver) == pytest.approx(120_000)
    driver.run_until(100 * MS)
    assert rate_bps(driver) == pytest.approx(60_000)
    driver.see(IN, voice_report(VoiceQuality(CALL, 500 * MS, 25, 5, 0, 200 * MS)))
    driver.run_until(200 * MS)
    assert rate_bps(driver) == pytest.approx(30_000)
    driver.run_until(220 * MS)
    assert rate_bps(driver) == pytest.approx(15_000)
    counters = hook(driver).counters()
    assert (counters["rounds"], counters["rounds_on_alert"], counters["rate_cut"]) == (3, 2, 3)


def test_rate_grows_only_while_packets_wait_for_it() -> None:
    driver = gateway(bandwidth=BandwidthConfig())
    send(driver, 1)
    driver.run_until(S)
    assert rate_bps(driver) == pytest.approx(120_000)
    send(driver, 2, first=1)
    driver.run_until(1100 * MS)
    assert rate_bps(driver) == pytest.approx(126_000)
    counters = hook(driver).counters()
    assert (counters["rate_raised"], counters["rounds_without_voice"]) == (1, 11)


def test_rounds_end_with_the_flows_and_begin_with_the_next_one() -> None:
    driver = gateway()
    send(driver, 1)
    driver.see(OUT, data(DOWN, 1460, 0, flags=RST))
    driver.run_until(10 * S)
    assert driver.hook.deadline() is None
    assert hook(driver).counters()["rounds"] == 0
    send(driver, 1)
    assert driver.hook.deadline() == (10_100 * MS, "bandwidth control")
    driver.run_until(10_100 * MS)
    assert hook(driver).counters()["rounds"] == 1


def test_early_and_repeated_timeouts_are_harmless() -> None:
    driver = gateway()
    driver.timeout()
    send(driver, 3)
    for at_ms in range(0, 100, 7):
        driver.run_until(at_ms * MS)
        driver.timeout()
        driver.timeout()
    assert hook(driver).counters()["rounds"] == 0
    assert driver.times(DOWN) == [0]


def test_flows_share_the_rate_in_turns() -> None:
    driver = gateway()
    send(driver, 3)
    send(driver, 3, OTHER)
    driver.run_until(550 * MS)
    assert driver.times(DOWN) == [0, 200 * MS, 400 * MS]
    assert driver.times(OTHER) == [100 * MS, 300 * MS, 500 * MS]


def test_voice_and_the_rest_pass_at_once() -> None:
    driver = gateway()
    driver.see(OUT, voice(CALL, 0, 0))
    driver.see(IN, voice(CALL.reversed(), 0, 0))
    driver.see(Point.LOCAL_OUT, data(UP, 0))
    driver.see(IN, data(UP, 0))
    driver.see(OUT, pure_ack(UP, 1460))
    driver.hook.handle(0, TransmitResult(data(DOWN, 0), 1, delivered=True))
    assert len(driver.sent) == 5
    assert driver.hook.deadline() == (100 * MS, "bandwidth control") or driver.hook.deadline() is None


# Local Recovery.


def lost_second(driver: Driver, window: int = 65_535) -> None:
    """Four packets released by 60 ms, an RTT of 20 ms measured, and the second packet lost."""
    send(driver, 4)
    driver.run_until(20 * MS)
    driver.see(IN, pure_ack(DOWN, 1460, window=window))  # R = 0.6 Mbit/s: 20, 40, 60 ms
    driver.run_until(65 * MS)
    assert driver.times(DOWN) == [0, 20 * MS, 40 * MS, 60 * MS]


def test_duplicate_ack_fills_the_hole_once_and_ends_here() -> None:
    driver = gateway()
    lost_second(driver)
    for _ in range(3):
        driver.see(IN, pure_ack(DOWN, 1460))
    driver.run_until(79 * MS)
    assert not any(s.again for s in driver.sent)  # it waits for its turn, 20 ms after the packet of 60 ms
    driver.run_until(80 * MS)
    assert [(s.at_ns, s.segment.seq) for s in driver.sent if s.again] == [(80 * MS, 1460)]
    assert [reason for _, reason in driver.dropped] == ["duplicate ACK absorbed"] * 3
    driver.run_until(99 * MS)
    driver.see(IN, pure_ack(DOWN, 1460))  # less than an RTT after the copy left
    driver.run_until(100 * MS)
    driver.see(IN, pure_ack(DOWN, 1460))
    driver.run_until(150 * MS)
    assert [s.at_ns for s in driver.sent if s.again] == [80 * MS, 100 * MS]
    counters = hook(driver).counters()
    assert (counters["local_retransmissions"], counters["duplicates_absorbed"]) == (2, 5)


def test_ack_takes_back_the_copy_that_waits() -> None:
    driver = gateway()
    lost_second(driver)
    driver.see(IN, pure_ack(DOWN, 1460))
    driver.see(IN, pure_ack(DOWN, 2920))
    driver.run_until(S)
    assert not any(s.again for s in driver.sent)
    assert sorted(s.seq for s in driver.kept.values()) == [2920, 4380]


def test_repair_goes_ahead_of_its_flows_queue() -> None:
    driver = gateway()
    lost_second(driver)
    send(driver, 3, first=4)
    driver.see(IN, pure_ack(DOWN, 1460))
    driver.run_until(S)
    assert [(s.at_ns // MS, s.segment.seq // 1460, s.again) for s in driver.sent if s.at_ns > 65 * MS] == [
        (80, 1, True),
        (100, 4, False),
        (120, 5, False),
        (140, 6, False),
    ]


def test_source_that_sends_the_hole_itself_replaces_the_copy() -> None:
    driver = gateway()
    lost_second(driver)
    driver.see(IN, pure_ack(DOWN, 1460))
    driver.see(OUT, data(DOWN, 1460))
    driver.run_until(S)
    assert [s.again for s in driver.sent if s.segment.seq == 1460] == [False, False]
    driver.see(IN, pure_ack(DOWN, 5840))
    assert driver.kept == {}


def test_hole_that_the_source_fills_already_needs_no_copy() -> None:
    driver = gateway()
    lost_second(driver)
    driver.see(OUT, data(DOWN, 1460))
    driver.see(IN, pure_ack(DOWN, 1460))
    driver.run_until(S)
    assert [s.again for s in driver.sent if s.segment.seq == 1460] == [False, False]
    assert hook(driver).counters()["duplicates_absorbed"] == 1


def test_duplicate_for_what_is_not_here_is_forwarded() -> None:
    driver = gateway()
    send(driver, 2)
    driver.run_until(150 * MS)
    driver.see(IN, pure_ack(DOWN, 2920))
    driver.see(IN, pure_ack(DOWN, 2920))
    driver.see(IN, pure_ack(DOWN, 2920))
    assert hook(driver).counters()["duplicates_forwarded"] == 2
    assert driver.dropped == []


def test_full_buffer_costs_copies_first() -> None:
    driver = gateway(buffer_bytes=6000)
    send(driver, 1)
    driver.run_until(S)
    send(driver, 6, first=1)
    counters = hook(driver).counters()
    # Two leave at once or within a second. Of the others, two fit into half of the buffer.
    assert (counters["copies_evicted"], counters["overflows"], len(driver.held)) == (0, 3, 2)
    send(driver, 1, OTHER)
    assert (hook(driver).counters()["copies_evicted"], len(driver.held)) == (1, 3)
    driver.check_conservation()


def test_evicted_copy_is_not_sent() -> None:
    driver = gateway(assumed_window_bytes=6000, queue=None)
    lost_second(driver, window=6000)
    driver.see(IN, pure_ack(DOWN, 1460, window=6000))
    send(driver, 4, first=4)
    driver.run_until(S)
    assert not any(s.again for s in driver.sent)


# Redundant Eliminator.


def test_acknowledged_data_is_dropped_and_the_ack_repeated() -> None:
    driver = gateway()
    send(driver, 2)
    driver.run_until(150 * MS)
    driver.see(IN, data(UP, 7000, 100, ack=2920))
    driver.see(OUT, data(DOWN, 0))
    driver.see(OUT, data(DOWN, 1460))
    assert [reason for _, reason in driver.dropped] == ["already acknowledged"] * 2
    answers = [segment for _, segment in driver.injected]
    assert len(answers) == 2
    answer = answers[0]
    assert (answer.flow, answer.flags, answer.seq, answer.ack) == (UP, ACK, 7100, 2920)
    assert (answer.payload_bytes, answer.packet_bytes) == (0, 40)
    assert 0 < answer.window_bytes <= 65_535
    assert hook(driver).counters()["redundant_dropped"] == 2


def test_segment_that_is_partly_acknowledged_is_forwarded() -> None:
    driver = gateway()
    send(driver, 2)
    driver.run_until(150 * MS)
    driver.see(IN, pure_ack(DOWN, 2000))
    driver.see(OUT, data(DOWN, 1460))
    driver.run_until(S)
    assert driver.sent_seqs(DOWN) == [0, 1460, 1460]


def test_hook_that_starts_in_mid_flow_takes_nothing_for_acknowledged() -> None:
    driver = gateway()
    send(driver, 2, first=5)
    driver.see(OUT, data(DOWN, 0))  # from before the first one seen
    driver.run_until(S)
    assert driver.dropped == []
    assert len(driver.sent_seqs(DOWN)) == 3


def test_older_ack_takes_nothing_back() -> None:
    driver = gateway()
    send(driver, 3)
    driver.run_until(250 * MS)
    driver.see(IN, pure_ack(DOWN, 2920))
    driver.see(IN, pure_ack(DOWN, 1460))
    driver.see(OUT, data(DOWN, 1460))
    assert len(driver.injected) == 1
    assert driver.injected[0][1].ack == 2920


def test_ack_of_what_was_never_sent_is_not_believed() -> None:
    driver = gateway()
    send(driver, 1)
    driver.see(IN, pure_ack(DOWN, 10**6))
    send(driver, 1, first=1)
    driver.run_until(S)
    assert driver.sent_seqs(DOWN) == [0, 1460]


def test_queued_data_that_was_acknowledged_meanwhile_never_leaves() -> None:
    driver = gateway()
    send(driver, 2)
    driver.run_until(150 * MS)
    driver.see(OUT, data(DOWN, 1460))
    driver.see(IN, pure_ack(DOWN, 2920))
    driver.run_until(S)
    assert driver.sent_seqs(DOWN) == [0, 1460]
    assert hook(driver).counters()["acknowledged_in_queue"] == 1


# Queue Manager.


@pytest.mark.parametrize(
    ("queued", "frozen", "target"),
    [(0, False, 6), (1, False, 6), (2, False, 4), (6, False, 4), (7, False, 2), (7, True, 0), (1, True, 6)],
)
def test_window_of_algorithm_3(queued: int, frozen: bool, target: int) -> None:
    base = 0 if target == 0 else 3 + 2
    assert window_pkts((2, 6), queued_pkts=queued, in_air_pkts=3, in_wire_pkts=2, is_frozen=frozen) == target + base


def opened(driver: Driver, wired_ms: int = 0) -> int | None:
    """A handshake; returns the window in the forwarded SYN-ACK. Data starts at 100."""
    driver.see(OUT, data(DOWN, 99, 0, flags=SYN))
    driver.run_until(driver.now_ns + 5 * MS)
    window = window_of(driver, 100, flags=SYN | ACK)
    driver.run_until(driver.now_ns + wired_ms * MS)
    driver.see(OUT, data(DOWN, 100))
    return window


def test_windows_follow_queue_and_air() -> None:
    driver = gateway()
    assert opened(driver) == 6 * 1460
    for i in range(1, 6):
        driver.see(OUT, data(DOWN, 100 + i * 1460))
    # one in the air, acknowledged now; five wait: 4 + 0 would be less than the edge of 100 + 8760
    assert window_of(driver, 1560) == 8860 - 1560
    driver.run_until(driver.now_ns + 450 * MS)
    assert driver.sent_seqs(DOWN) == [100, 1560, 3020, 4480, 5940]  # one waits, three are in the air
    assert window_of(driver, 3020) == (6 + 3) * 1460
    assert hook(driver).counters()["windows_narrowed"] == 2  # the SYN-ACK's flow is not shaped yet


def test_wired_round_trip_widens_the_window_by_what_it_holds() -> None:
    driver = gateway()
    opened(driver, wired_ms=250)
    # 0.12 Mbit/s, 250 ms, 1460 octets: 2.57 packets, so 3
    assert window_of(driver, 1560) == (6 + 3) * 1460


def test_repeated_handshake_is_not_timed() -> None:
    driver = gateway()
    driver.see(OUT, data(DOWN, 99, 0, flags=SYN))
    for _ in range(2):
        window_of(driver, 100, flags=SYN | ACK)
    driver.run_until(S)
    driver.see(OUT, data(DOWN, 100))
    assert window_of(driver, 1560) == 6 * 1460


def test_connection_that_came_from_another_gateway_is_timed_by_its_windows() -> None:
    driver = gateway()
    send(driver, 1)
    assert window_of(driver, 1460, window=3 * 1460) is None  # the other gateway promised this window
    send(driver, 3, first=1)
    driver.run_until(500 * MS)
    assert window_of(driver, 4 * 1460, window=20 * 1460) == 6 * 1460  # as if the source were adjacent
    driver.run_until(driver.now_ns + 250 * MS)
    send(driver, 1, first=4)  # the first octet beyond the promised window
    driver.run_until(driver.now_ns + 5 * MS)
    held = -int(-rate_bps(driver) * 250 * MS // (1460 * 8 * S))
    assert held > 1
    assert window_of(driver, 5 * 1460, window=20 * 1460) == (6 + held) * 1460


def test_receivers_own_window_is_the_limit() -> None:
    driver = gateway()
    assert window_of(driver, 100, flags=SYN | ACK, window=4000) is None
    driver.see(OUT, data(DOWN, 100))
    assert window_of(driver, 1560, window=4000) is None


def test_frozen_rate_opens_no_further_while_the_queue_is_long() -> None:
    driver = gateway(initial_rtt_ns=S, bandwidth=BandwidthConfig(min_rate_bps=12_000))
    opened(driver)
    for i in range(1, 12):
        driver.see(OUT, data(DOWN, 100 + i * 1460))
    assert hook(driver)._bandwidth.is_frozen
    assert window_of(driver, 1560) == 8860 - 1560


def test_ack_of_what_was_never_sent_moves_no_edge() -> None:
    driver = gateway()
    opened(driver)
    assert window_of(driver, 5000) is None
    assert window_of(driver, 1560) == 6 * 1460


def test_without_a_queue_manager_windows_are_left_alone() -> None:
    driver = gateway(queue=None)
    opened(driver)
    assert window_of(driver, 1560) is None
    driver.see(OUT, data(DOWN, 100))
    assert driver.injected[0][1].window_bytes == 65_535


def test_mid_flow_start_takes_nothing_back() -> None:
    driver = gateway()
    send(driver, 1)
    assert window_of(driver, 1460) is None
    send(driver, 1, first=1)
    driver.run_until(150 * MS)
    assert window_of(driver, 2920) == 65_535 - 1460


def test_resets_and_segments_without_ack_keep_their_windows() -> None:
    driver = gateway()
    opened(driver)
    driver.see(IN, data(UP, 0, 10, flags=0))
    driver.see(IN, data(UP, 0, 0, flags=RST | ACK, ack=100))
    assert len(driver.rewritten) == 1


def test_connection_from_the_wireless_side_starts_small() -> None:
    driver = gateway()
    syn = data(UP, 99, 0, flags=SYN)
    driver.see(IN, syn)
    assert driver.rewritten[syn.handle].window_bytes == 6 * 1460
    driver.see(OUT, data(DOWN, 50, 0, flags=SYN | ACK, ack=100))
    assert window_of(driver, 51) == 6 * 1460
    assert hook(driver).counters()["windows_narrowed"] == 0  # no flow is shaped yet


# Life of a flow.


def test_unshaped_flows_keep_their_windows_and_pass() -> None:
    driver = gateway(buffer_bytes=0)
    send(driver, 3)
    assert len(driver.sent) == 3
    assert window_of(driver, 1460) is None
    counters = hook(driver).counters()
    assert (counters["unpaced_flows"], counters["unpaced_segments"]) == (1, 3)


def test_flow_that_found_no_room_is_shaped_once_there_is_some() -> None:
    driver = gateway(buffer_bytes=3000)
    send(driver, 2)
    send(driver, 1, OTHER)
    assert (len(driver.held), len(driver.dropped)) == (2, 0)
    send(driver, 2, OTHER, first=1)
    assert (len(driver.held), len(driver.dropped)) == (2, 2)
    driver.see(OUT, data(DOWN, 2920, 0, flags=RST))
    send(driver, 1, OTHER, first=1)
    assert len(driver.held) == 1 + 0
    assert hook(driver).counters()["unpaced_flows"] == 0


def test_windows_take_no_room() -> None:
    driver = gateway(buffer_bytes=100_000)
    send(driver, 2)
    driver.see(IN, pure_ack(DOWN, 1460, window=90_000))
    send(driver, 2, OTHER)
    assert hook(driver)._store.queued_bytes + hook(driver)._store.kept_bytes == 3 * 1460


def test_new_connection_forgets_the_old_one() -> None:
    driver = gateway()
    send(driver, 3)
    driver.see(OUT, data(DOWN, 7, 0, flags=SYN))
    assert [reason for _, reason in driver.dropped] == ["new connection"] * 2
    assert driver.kept == {}
    send(driver, 3)
    driver.see(IN, data(UP, 7, 0, flags=SYN))
    assert hook(driver).counters()["flows_ended"] == 2


def test_proper_end_forgets_the_flow() -> None:
    driver = gateway()
    send(driver, 2)
    driver.see(OUT, data(DOWN, 2920, 0, flags=FIN | ACK, ack=500))
    driver.run_until(150 * MS)
    driver.see(IN, data(UP, 500, 0, flags=FIN | ACK, ack=2921))
    driver.see(OUT, data(DOWN, 2921, 0, flags=ACK, ack=501))
    counters = hook(driver).counters()
    assert (counters["flows_ended"], len(driver.held), driver.kept) == (1, 0, {})


def test_full_table_without_a_flow_to_forget_refuses_data_and_passes_control() -> None:
    driver = gateway(table=FlowTableConfig(max_flows=1))
    send(driver, 2)
    send(driver, 2, OTHER)
    driver.see(OUT, data(OTHER, 0, 0, flags=FIN | ACK))
    driver.see(IN, data(OTHER.reversed(), 0, 0, flags=SYN))
    assert len(driver.held) == 1
    assert len(driver.dropped) == 2
    assert hook(driver).counters()["unpaced_segments"] == 0


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
    with pytest.raises(ValueError, match=f"{name} must be .*, not {value}"):
        make(**{name: value})


# A receiver that reassembles, over a lossy air.


@CALM
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 60)), min_size=20, max_size=120),
    st.integers(1, 8),
)
def test_application_gets_each_octet_once_in_order_and_the_source_no_deadlock(
    air: list[tuple[bool, int]], burst: int
) -> None:
    """The source respects its windows and goes back after a timeout; the air is lossy."""
    driver = gateway(bandwidth=BandwidthConfig())
    start = 2**32 - 20_000
    source_una = source_next = start
    window = 6 * 1460
    receiver_next, islands = start, set()
    delivered: list[int] = []
    crossed = answered = 0
    furthest = None
    for lost, gap_ms in [*air, *[(False, 200)] * 60]:
        while seq_diff(source_next + 1460, source_una) <= min(window, burst * 1460):
            driver.see(OUT, data(DOWN, source_next % 2**32))
            source_next += 1460
        driver.run_until(driver.now_ns + gap_ms * MS)
        for sent in driver.sent[crossed:]:
            if not sent.segment.is_data or lost:
                continue
            islands.add(sent.segment.seq)
            while receiver_next % 2**32 in islands:
                delivered.append(receiver_next)
                receiver_next += 1460
            ack = pure_ack(DOWN, receiver_next % 2**32)
            before = len(driver.dropped)
            driver.see(IN, ack)
            if len(driver.dropped) > before and driver.dropped[-1][0] is ack:
                continue
            change = driver.rewritten.get(ack.handle)
            window = ack.window_bytes if change is None else (change.window_bytes or 0)
            edge = (ack.ack + window) % 2**32
            assert furthest is None or seq_diff(edge, furthest) >= 0
            furthest = edge
            if seq_diff(ack.ack, source_una) > 0:
                source_una += seq_diff(ack.ack, source_una)
        crossed = len(driver.sent)
        for _, answer in driver.injected[answered:]:
            if seq_diff(answer.ack, source_una) > 0:
                source_una += seq_diff(answer.ack, source_una)
        answered = len(driver.injected)
        if gap_ms > 50:
            source_next = source_una  # timeout: go back
    assert delivered == list(range(start, start + 1460 * len(delivered), 1460))
    assert len(delivered) >= 30  # in sixty rounds without loss


def test_calls_beyond_those_that_are_measured_are_counted() -> None:
    driver = gateway(quality=QualityConfig(max_calls=1))
    assert "calls_unmeasured" not in hook(driver).counters()
    for number in range(3):
        driver.see(IN, voice(CALL._replace(sport=number).reversed(), 0, 0))
    assert hook(driver).counters()["calls_unmeasured"] == 2
