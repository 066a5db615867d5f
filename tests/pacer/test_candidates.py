"""The candidates: a fixed rate, ACKs no faster than a rate, windows resized at the gateway."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelab_pacer.core.candidates.ack_control import AckPacing, AckPacingConfig, WindowControl, WindowControlConfig
from pacelab_pacer.core.candidates.data_pacing import FixedRateConfig, FixedRatePacer
from pacelab_pacer.core.contract import Point, TransmitResult
from pacelab_pacer.core.pacing.paced_flow import FlowTableConfig
from pacelab_pacer.core.pacing.window_edge import WindowEdge
from pacelab_pacer.core.segment import ACK, FIN, RST, SYN, Segment, seq_diff
from tests.pacer.hook_driver import CALM, DOWN, MS, UP, Driver, S, data, pure_ack, voice

DATA_OUT = Point.LOCAL_OUT


def fixed_pacer(rate_bps: float = 1_200_000) -> Driver:
    return Driver(FixedRatePacer(FixedRateConfig(rate_bps=rate_bps)))


@pytest.mark.parametrize("point", [Point.LOCAL_OUT, Point.WIRED_TO_AIR])
def test_full_packets_leave_at_the_rate(point: Point) -> None:
    driver = fixed_pacer()
    for i in range(3):
        driver.see(point, data(UP, i * 1460))
    driver.run_until(S)
    assert driver.times(UP) == [0, 10 * MS, 20 * MS]  # 12,000 bits at 1.2 Mbit/s


def test_small_packet_makes_room_for_the_next_sooner() -> None:
    driver = fixed_pacer()
    driver.see(DATA_OUT, data(UP, 0, 110))  # 150 bytes on the wire: 1 ms
    driver.see(DATA_OUT, data(UP, 110))
    driver.see(DATA_OUT, data(UP, 1570))
    driver.run_until(S)
    assert driver.times(UP) == [0, 1 * MS, 11 * MS]


def test_flows_have_a_rate_each() -> None:
    driver = fixed_pacer()
    other = UP._replace(sport=9)
    for i in range(2):
        driver.see(DATA_OUT, data(UP, i * 1460))
        driver.see(DATA_OUT, data(other, i * 1460))
    driver.run_until(S)
    assert driver.times(UP) == driver.times(other) == [0, 10 * MS]


def test_opposite_direction_and_acks_are_not_paced() -> None:
    driver = fixed_pacer()
    for i in range(3):
        driver.see(Point.LOCAL_IN, data(UP, i * 1460))
        driver.see(Point.AIR_TO_WIRED, data(UP, i * 1460))
        driver.see(DATA_OUT, pure_ack(UP, i))
    assert {s.at_ns for s in driver.sent} == {0}
    assert len(driver.sent) == 9


def test_fin_waits_for_data_and_reset_does_not() -> None:
    driver = fixed_pacer()
    for i in range(3):
        driver.see(DATA_OUT, data(UP, i * 1460))
    driver.see(DATA_OUT, data(UP, 4380, 0, flags=FIN | ACK))
    driver.run_until(10 * MS)
    driver.see(DATA_OUT, data(UP, 4381, 0, flags=RST))
    assert [s.segment.seq for s in driver.sent] == [0, 1460, 4381]
    assert len(driver.dropped) == 2
    driver.check_conservation()


def test_pace_slower_than_the_idle_timeout_loses_nothing() -> None:
    driver = Driver(FixedRatePacer(FixedRateConfig(rate_bps=4000, table=FlowTableConfig(idle_timeout_ns=S))))
    for i in range(3):
        driver.see(DATA_OUT, data(UP, i * 1460))
    driver.run_until(10 * S)
    assert driver.times(UP) == [0, 3 * S, 6 * S]
    assert driver.hook.counters()["flows_expired"] == 1


@pytest.mark.parametrize("rate_bps", [0, -1.0])
def test_fixed_rate_config_names_what_is_wrong(rate_bps: float) -> None:
    with pytest.raises(ValueError, match=f"rate_bps must be a number above 0, not {rate_bps}"):
        FixedRateConfig(rate_bps=rate_bps)


def test_left_to_the_driver_data_goes_at_once_and_the_pace_is_reported() -> None:
    hook = FixedRatePacer(FixedRateConfig(rate_bps=1_200_000))
    hook.leave_pacing_to_driver()
    driver = Driver(hook)
    assert hook.pace_ns(DOWN) is None
    for number in range(3):
        driver.see(Point.WIRED_TO_AIR, data(DOWN, 1460 * number))
    # 1500 bytes at 1.2 Mbit/s: 10 ms.
    assert driver.times(DOWN) == [0, 0, 0]
    assert hook.pace_ns(DOWN) == 10 * MS
    assert hook.deadline() == (120 * S, "idle")


def test_transmissions_are_not_requested() -> None:
    driver = fixed_pacer()
    driver.hook.handle(0, TransmitResult(data(UP, 0), attempts=3, delivered=True))
    assert driver.hook.poll_action() is None


# ACKs that release data no faster than a rate.

OUT, IN = Point.WIRED_TO_AIR, Point.AIR_TO_WIRED
OTHER = DOWN._replace(dport=6000)


def ack_pacer(**settings: object) -> Driver:
    return Driver(AckPacing(AckPacingConfig(**({"rate_bps": 1_200_000} | settings))))  # type: ignore[arg-type]


def ack_times(driver: Driver) -> list[int]:
    return [s.at_ns for s in driver.sent if s.segment.is_pure_ack]


def send(driver: Driver, packets: int, flow=DOWN) -> None:  # type: ignore[no-untyped-def]
    for i in range(packets):
        driver.see(OUT, data(flow, i * 1460))


def test_an_ack_leaves_as_long_after_the_last_as_its_data_takes() -> None:
    driver = ack_pacer()
    send(driver, 5)
    for acked in (1, 2, 4, 5):
        driver.see(IN, pure_ack(DOWN, acked * 1460))
    driver.run_until(S)
    # 1500 octets are 10 ms; the third ACK is worth two segments
    assert ack_times(driver) == [0, 10 * MS, 20 * MS, 40 * MS]
    counters = driver.hook.counters()
    assert (counters["paced"], counters["delayed"]) == (4, 3)


def test_duplicates_and_lies_are_worth_a_segment() -> None:
    driver = ack_pacer()
    send(driver, 2)
    for acked in (1460, 1460, 10**9, 2920):
        driver.see(IN, pure_ack(DOWN, acked))
    driver.run_until(S)
    assert ack_times(driver) == [0, 10 * MS, 20 * MS, 30 * MS]


def test_worth_follows_the_largest_segment() -> None:
    driver = ack_pacer()
    driver.see(OUT, data(DOWN, 0, 1460))
    driver.see(OUT, data(DOWN, 1460, 110))
    driver.see(OUT, data(DOWN, 0, 1460))
    driver.see(OUT, data(DOWN, 1570, 2960))
    driver.see(IN, pure_ack(DOWN, 1460))
    driver.see(IN, pure_ack(DOWN, 1570))
    driver.see(IN, pure_ack(DOWN, 4530))
    driver.run_until(S)
    assert ack_times(driver) == [0, 20 * MS, 40 * MS]  # at least 2960 + 40 octets each


def test_flows_take_turns_and_their_acks_keep_their_order() -> None:
    driver = ack_pacer()
    for flow in (DOWN, OTHER):
        send(driver, 3, flow)
    for flow in (DOWN, OTHER):
        for acked in (1, 2, 3):
            driver.see(IN, pure_ack(flow, acked * 1460))
    driver.run_until(S)
    acks = [(s.segment.flow.sport, s.segment.ack // 1460) for s in driver.sent if s.segment.is_pure_ack]
    assert acks == [(5000, 1), (6000, 1), (5000, 2), (6000, 2), (5000, 3), (6000, 3)]


def test_the_rest_passes() -> None:
    driver = ack_pacer()
    driver.see(OUT, pure_ack(UP, 0))
    driver.see(IN, pure_ack(DOWN, 1460))  # of a flow never seen
    driver.see(IN, voice(UP, 0, 0))
    driver.see(Point.LOCAL_OUT, data(UP, 0))
    send(driver, 1)
    driver.see(IN, data(UP, 0, ack=1460))
    driver.hook.handle(0, TransmitResult(data(DOWN, 0), 1, delivered=True))
    assert len(driver.sent) == 6
    assert driver.hook.counters()["paced"] == 0


def test_reset_drops_and_a_proper_end_forwards_what_waits() -> None:
    driver = ack_pacer()
    send(driver, 4)
    for acked in (1, 2, 3):
        driver.see(IN, pure_ack(DOWN, acked * 1460))
    driver.see(OUT, data(DOWN, 5840, 0, flags=FIN | ACK, ack=77))
    driver.see(IN, data(UP, 77, 0, flags=FIN | ACK, ack=5841))
    assert len(driver.held) == 2
    driver.see(OUT, data(DOWN, 5841, 0, flags=ACK, ack=78))
    assert (driver.held, driver.dropped, driver.hook.deadline()) == ({}, [], None)
    send(driver, 4)
    for acked in (1, 2):
        driver.see(IN, pure_ack(DOWN, acked * 1460))
    driver.see(IN, data(UP, 0, 0, flags=RST))
    assert [reason for _, reason in driver.dropped] == ["connection over"] * 2
    driver.check_conservation()


def test_a_full_queue_of_acks_drops_the_oldest_and_keeps_the_pace_of_the_data() -> None:
    driver = ack_pacer(table=FlowTableConfig(max_flows=8, idle_timeout_ns=S), queue_limit_pkts=3, rate_bps=4000)
    send(driver, 8)
    for acked in range(1, 7):
        driver.see(IN, pure_ack(DOWN, acked * 1460))
    assert driver.hook.counters()["overflows"] == 2
    assert [segment.ack for segment, _ in driver.dropped] == [2 * 1460, 3 * 1460]
    driver.run_until(30 * S)  # 3 s for each packet that an ACK fetches, an idle timeout of 1 s
    # The fourth ACK releases the data of the two before it.
    assert ack_times(driver) == [0, 3 * S, 12 * S, 15 * S]
    assert driver.hook.counters()["flows_expired"] == 1
    assert driver.hook.deadline() is None


def test_a_flows_only_ack_is_dropped_if_others_fill_the_table() -> None:
    driver = ack_pacer(table=FlowTableConfig(max_flows=2))
    send(driver, 3)
    other = DOWN._replace(sport=1)
    send(driver, 1, other)
    for number in (1460, 2920):  # the first ACK leaves at once, the second waits
        driver.see(Point.AIR_TO_WIRED, pure_ack(DOWN, number))
    driver.see(Point.AIR_TO_WIRED, pure_ack(other, 1460))
    assert [segment.ack for segment, _ in driver.dropped] == [1460]
    assert driver.hook.counters()["overflows"] == 1
    driver.run_until(S)
    assert len(ack_times(driver)) == 2


def test_a_full_table_of_acks_forgets_the_most_silent_flow() -> None:
    driver = ack_pacer(table=FlowTableConfig(max_flows=1), rate_bps=4000)
    send(driver, 2)
    send(driver, 2, OTHER)
    driver.see(IN, pure_ack(OTHER, 1460))
    driver.see(IN, pure_ack(OTHER, 2920))
    assert len(driver.held) == 1
    assert driver.hook.counters()["flows_replaced"] == 1
    send(driver, 2)
    assert driver.hook.counters()["unpaced_segments"] == 2, "the only flow of the table holds an ACK"


@pytest.mark.parametrize("name", ["rate_bps", "queue_limit_pkts"])
def test_ack_pacing_config_names_what_is_wrong(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be .*, not 0"):
        AckPacingConfig(**{"rate_bps": 1e6, name: 0})  # type: ignore[arg-type]


@CALM
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 2), st.integers(0, 3)), min_size=5, max_size=60))
def test_acks_are_as_far_apart_as_a_segment_at_the_rate(steps: list[tuple[int, int, int]]) -> None:
    driver = ack_pacer()
    acked = [0, 0, 0]
    for number in range(3):
        send(driver, 60, DOWN._replace(dport=number))
    for gap_ms, number, more in steps:
        acked[number] = min(60, acked[number] + more)
        driver.see(IN, pure_ack(DOWN._replace(dport=number), acked[number] * 1460))
        driver.run_until(driver.now_ns + gap_ms * MS)
    driver.run_until(driver.now_ns + 1000 * S)
    driver.check_conservation()
    times = ack_times(driver)
    assert len(times) == len(steps)
    assert all(b - a >= 10 * MS for a, b in pairwise(times))


# Windows resized at the gateway, and the edge that never moves back.


def control(window_pkts: int = 4, **settings: FlowTableConfig) -> Driver:
    return Driver(WindowControl(WindowControlConfig(window_pkts=window_pkts, **settings)))


def written(driver: Driver, segment: Segment) -> int:
    """The window in the forwarded segment."""
    driver.see(IN, segment)
    change = driver.rewritten.get(segment.handle)
    if change is None:
        return segment.window_bytes
    assert change.window_bytes is not None
    return change.window_bytes


def test_window_of_a_new_connection_is_small_from_the_syn_ack_on() -> None:
    driver = control()
    driver.see(OUT, data(DOWN, 99, 0, flags=SYN))
    assert written(driver, pure_ack(DOWN, 100, flags=SYN | ACK)) == 5840
    driver.see(OUT, data(DOWN, 100))
    assert written(driver, pure_ack(DOWN, 1560)) == 5840
    assert written(driver, pure_ack(DOWN, 3020, window=3000)) == 3000  # the receiver's own window is smaller
    assert driver.hook.counters()["windows_narrowed"] == 2


def test_connection_from_the_wireless_side_is_small_from_its_syn_on() -> None:
    driver = control()
    assert written(driver, data(UP, 99, 0, flags=SYN)) == 5840
    assert written(driver, pure_ack(DOWN, 100)) == 5840


def test_hook_that_starts_in_mid_connection_takes_nothing_back() -> None:
    driver = control()
    assert written(driver, pure_ack(DOWN, 1000, window=20_000)) == 20_000
    assert written(driver, pure_ack(DOWN, 11_000, window=20_000)) == 10_000  # up to 21,000 still
    assert written(driver, pure_ack(DOWN, 15_000, window=20_000)) == 6000
    assert written(driver, pure_ack(DOWN, 19_000, window=20_000)) == 5840


def test_window_counts_segments_of_the_size_seen() -> None:
    driver = control()
    written(driver, pure_ack(DOWN, 0, flags=SYN | ACK))
    driver.see(OUT, data(DOWN, 0, 2000))
    driver.see(OUT, data(DOWN, 2000, 100))
    assert written(driver, pure_ack(DOWN, 2000)) == 8000


def test_repeated_syn_ack_does_not_move_the_edge_back() -> None:
    driver = control()
    written(driver, pure_ack(DOWN, 100, flags=SYN | ACK))
    written(driver, pure_ack(DOWN, 1560))  # edge at 7400
    assert written(driver, pure_ack(DOWN, 100, flags=SYN | ACK)) == 7300


def test_new_connection_and_reset_forget_the_old_edge() -> None:
    driver = control()
    for end in (data(DOWN, 7, 0, flags=SYN), data(DOWN, 7, 0, flags=RST)):
        written(driver, pure_ack(DOWN, 0, window=60_000))
        driver.see(OUT, end)
    written(driver, pure_ack(DOWN, 0, window=60_000))
    assert written(driver, data(UP, 7, 0, flags=RST)) == 65_535
    written(driver, pure_ack(DOWN, 0, window=60_000))
    assert written(driver, data(UP, 7, 0, flags=SYN)) == 5840
    assert driver.hook.counters()["flows_ended"] == 4


def test_segments_other_than_acks_pass() -> None:
    driver = control()
    driver.see(IN, data(UP, 0, flags=0))
    driver.see(IN, voice(UP, 0, 0))
    driver.see(Point.LOCAL_IN, pure_ack(DOWN, 0))
    driver.see(OUT, data(DOWN, 0))
    driver.hook.handle(0, TransmitResult(data(DOWN, 0), 1, delivered=True))
    assert len(driver.sent) == 4
    assert driver.rewritten == {}
    assert driver.hook.deadline() is None


def test_flows_are_bounded_and_forgotten() -> None:
    driver = control(table=FlowTableConfig(max_flows=2, idle_timeout_ns=S))
    for number in range(4):
        flow = DOWN._replace(sport=number)
        assert written(driver, pure_ack(flow, 0, flags=SYN | ACK)) == 4 * 1460, "every flow is narrowed"
    assert driver.hook.deadline() == (S, "idle")
    driver.run_until(2 * S)
    counters = driver.hook.counters()
    assert (counters["flows_replaced"], counters["flows_expired"]) == (2, 2)
    assert driver.hook.deadline() is None


@pytest.mark.parametrize("name", ["window_pkts", "assumed_segment_bytes"])
def test_window_control_config_names_what_is_wrong(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 1, not 0"):
        WindowControlConfig(**{"window_pkts": 1, name: 0})


@CALM
@given(
    st.booleans(),
    st.lists(st.tuples(st.integers(-3000, 6000), st.integers(0, 50_000), st.integers(0, 40_000)), max_size=60),
)
def test_right_edge_never_moves_back_unless_the_receiver_does_it(
    fresh: bool, steps: list[tuple[int, int, int]]
) -> None:
    """Tested across the wrap. ACKs may arrive out of order, and receivers may shrink their windows."""
    edge = WindowEdge(fresh=fresh)
    ack, furthest = 2**32 - 10_000, None
    for advance, advertised, wanted in steps:
        ack = (ack + advance) % 2**32
        window = edge.grant(pure_ack(DOWN, ack, window=advertised), wanted)
        assert 0 <= window <= advertised or window == advertised
        end = (ack + window) % 2**32
        if furthest is not None and seq_diff(end, furthest) < 0:
            assert window == advertised
        if furthest is None or seq_diff(end, furthest) > 0:
            furthest = end


@CALM
@given(st.lists(st.tuples(st.integers(1, 20), st.integers(1, 40)), min_size=1, max_size=60), st.integers(1, 10))
def test_sender_is_never_stopped_for_good(steps: list[tuple[int, int]], window_pkts: int) -> None:
    """Whatever is acknowledged, one segment more than the data in flight may be sent, or the receiver's window."""
    driver = control(window_pkts)
    written(driver, pure_ack(DOWN, 0, flags=SYN | ACK))
    acked = sent = 0
    for more, gap_ms in steps:
        sent = max(sent, acked + window_pkts)
        acked = min(sent, acked + more)
        driver.run_until(driver.now_ns + gap_ms * MS)
        assert written(driver, pure_ack(DOWN, acked * 1460, window=1 << 20)) >= window_pkts * 1460
