"""ACK suppression, hook by hook: exact scenarios. Sequence numbers start at 1000 (wired host) and 500 (station)."""

from __future__ import annotations

import pytest

from pacelab_pacer.core.ack_suppression.gateway import AckSuppressionGateway, AckSuppressionGatewayConfig
from pacelab_pacer.core.ack_suppression.hook import LinkConfig
from pacelab_pacer.core.ack_suppression.link_half import LinkHalf
from pacelab_pacer.core.ack_suppression.station import AckSuppressionStation, AckSuppressionStationConfig, Throttle
from pacelab_pacer.core.contract import Point
from pacelab_pacer.core.segment import ACK, ECE, FIN, RST, SYN, UDP, Segment
from tests.pacer.hook_driver import DOWN, MS, MSS, UP, WINDOW, LinkDriver, S, control, data, pure_ack


def opened_gateway(config: AckSuppressionGatewayConfig | None = None, *, by_station: bool = False) -> LinkDriver:
    driver = LinkDriver(AckSuppressionGateway(config))
    first, second = (Point.WIRED_TO_AIR, DOWN, 999), (Point.AIR_TO_WIRED, DOWN.reversed(), 499)
    if by_station:
        first, second = second, first
    driver.see(first[0], control(first[1], SYN, seq=first[2]))
    driver.see(second[0], control(second[1], SYN | ACK, seq=second[2], ack=first[2] + 1))
    assert len(driver.sent) == 2
    driver.sent.clear()
    driver.received = 0
    return driver


def opened_station(config: AckSuppressionStationConfig | None = None) -> LinkDriver:
    driver = LinkDriver(AckSuppressionStation(config))
    driver.see(Point.LOCAL_OUT, control(UP, SYN, seq=499))
    driver.see(Point.LOCAL_IN, control(UP.reversed(), SYN | ACK, seq=999, ack=500))
    assert len(driver.sent) == 2
    driver.sent.clear()
    driver.received = 0
    return driver


def down(place: int, *, flags: int = ACK) -> Segment:
    return data(DOWN, 1000 + place * MSS, flags=flags, ack=500)


def up(place: int, *, flags: int = ACK) -> Segment:
    return data(UP, 500 + place * MSS, flags=flags, ack=1000)


def from_host(ack: int, *, window: int = WINDOW, flags: int = ACK) -> Segment:
    return pure_ack(UP, ack, window=window, flags=flags)._replace(seq=1000)


# Downstream at the gateway.


def test_delivery_makes_the_acknowledgement_that_the_station_would_send() -> None:
    driver = opened_gateway()
    first = down(0)
    driver.see(Point.WIRED_TO_AIR, first)
    assert driver.sent_seqs(DOWN) == [1000]
    assert driver.injected == []
    driver.report(first)
    assert driver.injected == [Segment(0, DOWN.reversed(), 6, ACK, 500, 2460, 0, 40, WINDOW, None)]
    assert driver.kept == {}
    assert driver.hook.counters()["acks_generated"] == 1


def test_link_failure_is_repaired_here_and_never_reported() -> None:
    driver = opened_gateway()
    first, second = down(0), down(1)
    driver.see(Point.WIRED_TO_AIR, first)
    driver.see(Point.WIRED_TO_AIR, second)
    driver.report(first, delivered=False)
    assert [(s.segment.seq, s.again) for s in driver.sent] == [(1000, False), (2460, False), (1000, True)]
    driver.report(second)
    assert driver.acks() == []  # the missing segment is at the gateway
    driver.report(first)
    assert driver.acks() == [3920]


def test_each_segment_behind_a_hole_of_the_wired_network_gets_a_duplicate_ack() -> None:
    driver = opened_gateway()
    for place in (1, 2):
        late = down(place)
        driver.see(Point.WIRED_TO_AIR, late)
        driver.report(late)
    assert driver.acks() == [1000, 1000]
    missing = down(0)
    driver.see(Point.WIRED_TO_AIR, missing)
    driver.report(missing)
    assert driver.acks() == [1000 + 3 * MSS]
    assert driver.hook.counters()["duplicate_acks_generated"] == 2


def test_hole_behind_a_link_failure_is_reported_after_the_repair() -> None:
    driver = opened_gateway()
    first, third = down(0), down(2)
    driver.see(Point.WIRED_TO_AIR, first)
    driver.see(Point.WIRED_TO_AIR, third)
    driver.report(first, delivered=False)
    driver.report(third)
    assert driver.acks() == []
    driver.report(first)
    assert driver.acks() == [2460, 2460]  # new, then a duplicate for the third


def test_link_layer_has_few_of_a_flow_and_gets_the_next_at_once() -> None:
    driver = opened_gateway()
    segments = [down(place) for place in range(6)]
    for segment in segments:
        driver.see(Point.WIRED_TO_AIR, segment)
    assert len(driver.sent) == 4
    assert len(driver.held) == 2
    driver.report(segments[0])
    assert driver.sent_seqs(DOWN)[-1] == 1000 + 4 * MSS


def test_link_layer_has_no_more_than_its_room_over_all_flows() -> None:
    driver = opened_gateway(AckSuppressionGatewayConfig(in_link_layer_pkts=2))
    for place in range(3):
        driver.see(Point.WIRED_TO_AIR, down(place))
    assert len(driver.sent) == 2


def test_full_buffer_drops_what_nobody_has_acknowledged() -> None:
    driver = opened_gateway(AckSuppressionGatewayConfig(buffer_pkts=2))
    segments = [down(place) for place in range(3)]
    for segment in segments:
        driver.see(Point.WIRED_TO_AIR, segment)
    assert driver.reasons() == ["packet buffer full"]
    for segment in segments[:2]:
        driver.report(segment)
    assert driver.acks() == [2460, 3920]


def test_copy_of_what_is_here_is_absorbed_and_of_what_was_delivered_acknowledged_again() -> None:
    driver = opened_gateway(AckSuppressionGatewayConfig(buffer_pkts=1))
    first = down(0)
    driver.see(Point.WIRED_TO_AIR, first)
    driver.see(Point.WIRED_TO_AIR, down(0))
    assert driver.acks() == []
    driver.report(first)
    driver.see(Point.WIRED_TO_AIR, down(0))
    assert driver.acks() == [2460, 2460]
    assert driver.reasons() == ["copy of what is here or delivered"] * 2


def test_segment_is_given_up_after_its_rounds_and_left_to_its_source() -> None:
    driver = opened_gateway(AckSuppressionGatewayConfig(link=LinkConfig(rounds=2)))
    first, second = down(0), down(1)
    driver.see(Point.WIRED_TO_AIR, first)
    driver.see(Point.WIRED_TO_AIR, second)
    driver.report(first, delivered=False)
    driver.report(second)
    assert driver.acks() == []
    driver.report(first, delivered=False)
    assert driver.acks() == [1000]  # now only the source has the segment
    assert driver.kept == {}
    driver.see(Point.WIRED_TO_AIR, again := down(0))
    driver.report(again)
    assert driver.acks() == [3920]


def test_loss_in_the_interface_queue_is_noticed_by_the_next_report_or_by_the_clock() -> None:
    driver = opened_gateway()
    first, second = down(0), down(1)
    driver.see(Point.WIRED_TO_AIR, first)
    driver.see(Point.WIRED_TO_AIR, second)
    driver.report(second)
    assert [s.segment.seq for s in driver.sent if s.again] == [1000]
    assert driver.hook.deadline() == (2 * S, "report")
    driver.run_until(3 * S)
    assert [(s.at_ns, s.segment.seq) for s in driver.sent if s.again] == [(0, 1000), (2 * S, 1000)]
    driver.report(first)
    assert driver.acks() == [3920]
    driver.report(first)  # the other copies
    assert driver.acks() == []
    assert driver.hook.counters()["unreported"] == 2


def test_fin_is_not_acknowledged_here_and_the_peers_answer_passes() -> None:
    driver = opened_gateway()
    last = down(0, flags=ACK | FIN)
    driver.see(Point.WIRED_TO_AIR, last)
    driver.report(last)
    assert driver.acks() == [2460]  # without the FIN, which is 2460 itself
    driver.see(Point.WIRED_TO_AIR, again := down(0, flags=ACK | FIN))
    driver.report(again)
    assert driver.acks() == []
    assert len(driver.sent_seqs(DOWN)) == 2
    driver.see(Point.AIR_TO_WIRED, control(UP, FIN | ACK, seq=500, ack=2461))
    assert driver.sent[-1].segment.flags == FIN | ACK
    driver.see(Point.WIRED_TO_AIR, pure_ack(UP, 501)._replace(seq=2461))
    assert driver.sent[-1].segment.ack == 501
    assert driver.kept == driver.held == {}
    assert driver.hook.deadline() is None


def test_acks_that_a_station_passes_set_the_window_of_generated_acks() -> None:
    driver = opened_gateway()
    driver.see(Point.WIRED_TO_AIR, first := down(0))
    driver.see(Point.AIR_TO_WIRED, pure_ack(DOWN, 1000, window=9000))
    assert len(driver.sent) == 2
    driver.report(first)
    assert driver.injected[0].window_bytes == 9000


def test_connection_whose_opening_was_not_seen_passes_untouched() -> None:
    for hook, points in (
        (AckSuppressionGateway(), (Point.WIRED_TO_AIR, Point.AIR_TO_WIRED)),
        (AckSuppressionStation(), (Point.LOCAL_OUT, Point.LOCAL_IN)),
    ):
        driver = LinkDriver(hook)
        driver.see(points[0], segment := down(0))
        driver.report(segment)
        driver.see(points[1], pure_ack(DOWN, 2460))
        driver.see(points[0], data(DOWN, 0)._replace(protocol=UDP))
        driver.report(data(DOWN, 0)._replace(protocol=UDP))
        driver.see(points[0], control(UP, SYN | ACK, seq=7))
        assert len(driver.sent) == 4
        assert driver.injected == []
        assert set(hook.counters().values()) == {0}


def test_connection_beyond_the_table_may_not_start() -> None:
    driver = opened_gateway(AckSuppressionGatewayConfig(link=LinkConfig(max_connections=1)))
    driver.see(Point.WIRED_TO_AIR, control(DOWN._replace(sport=9), SYN, seq=3))
    assert driver.reasons() == ["no room for a connection"]
    driver.see(Point.WIRED_TO_AIR, control(DOWN, SYN, seq=999))  # a repetition is not a new connection
    assert driver.hook.counters()["connections"] == 1
    driver = LinkDriver(AckSuppressionStation(AckSuppressionStationConfig(link=LinkConfig(max_connections=1))))
    for port in (1, 2):
        driver.see(Point.LOCAL_OUT, control(UP._replace(sport=port), SYN, seq=3))
    assert driver.reasons() == ["no room for a connection"]


def test_reset_and_new_connection_forget_what_was_here() -> None:
    for flags, seq in ((RST, 1000), (SYN, 77)):
        driver = opened_gateway(AckSuppressionGatewayConfig(per_flow_pkts=1))
        driver.see(Point.WIRED_TO_AIR, down(0))
        driver.see(Point.WIRED_TO_AIR, down(1))
        driver.see(Point.AIR_TO_WIRED, up(1))
        driver.see(Point.WIRED_TO_AIR, control(DOWN, flags, seq=seq))
        assert driver.held == driver.kept == {}
        driver.check_conservation()


def test_idle_connection_is_forgotten() -> None:
    driver = opened_gateway()
    assert driver.hook.deadline() == (7440 * S, "idle")
    driver.run_until(7440 * S)
    assert driver.hook.deadline() is None


# Upstream at the gateway.


def test_gateway_sends_on_by_a_congestion_window_of_its_own() -> None:
    driver = opened_gateway(by_station=True)
    for place in range(5):
        driver.see(Point.AIR_TO_WIRED, up(place))
    assert driver.sent_seqs(UP) == [500, 1960]  # initial window 2
    driver.run_until(40 * MS)
    driver.see(Point.WIRED_TO_AIR, from_host(1960))
    assert driver.sent_seqs(UP) == [500, 1960, 3420, 4880]  # slow start: one ACK, two segments
    assert driver.reasons() == ["ACK suppressed"]
    assert len(driver.kept) == 3
    assert driver.injected == []


def test_gateway_sends_in_the_order_of_numbers() -> None:
    driver = opened_gateway()
    driver.see(Point.AIR_TO_WIRED, up(1))
    assert driver.sent == []
    driver.see(Point.AIR_TO_WIRED, up(0))
    assert driver.sent_seqs(UP) == [500, 1960]
    driver.see(Point.AIR_TO_WIRED, up(0))
    assert driver.reasons() == ["copy of what is here or delivered"]


def test_three_duplicate_acks_make_the_gateway_retransmit() -> None:
    driver = opened_gateway()
    for place in range(6):
        driver.see(Point.AIR_TO_WIRED, up(place))
    for ack in (1960, 1960, 1960, 1960):
        driver.see(Point.WIRED_TO_AIR, from_host(ack))
    assert [s.segment.seq for s in driver.sent if s.again] == [1960]
    assert driver.reasons() == ["ACK suppressed"] * 4
    assert driver.hook.counters()["wired_retransmissions"] == 1


def test_gateways_timer_doubles() -> None:
    driver = opened_gateway()
    driver.see(Point.AIR_TO_WIRED, up(0))
    assert driver.hook.deadline() == (S, "retransmission")
    driver.run_until(4 * S)
    assert [s.at_ns for s in driver.sent if s.again] == [S, 3 * S]
    assert driver.hook.counters()["wired_timeouts"] == 2


def test_upstream_fin_goes_end_to_end() -> None:
    driver = opened_gateway()
    driver.see(Point.AIR_TO_WIRED, up(0))
    driver.see(Point.AIR_TO_WIRED, up(1, flags=ACK | FIN))
    driver.see(Point.WIRED_TO_AIR, from_host(1960))
    assert driver.reasons() == ["ACK suppressed"]
    driver.see(Point.WIRED_TO_AIR, from_host(3421))
    assert driver.sent[-1].segment.ack == 3421
    driver.see(Point.AIR_TO_WIRED, up(1, flags=ACK | FIN))  # that ACK was lost
    assert driver.sent[-1].segment.flags == ACK | FIN
    assert driver.kept == {}


def test_echoed_marks_and_keep_alives_pass_to_the_station() -> None:
    driver = opened_gateway()
    for place in range(2):
        driver.see(Point.AIR_TO_WIRED, up(place))
    driver.see(Point.WIRED_TO_AIR, from_host(1960, flags=ACK | ECE))
    driver.see(Point.WIRED_TO_AIR, from_host(1960)._replace(seq=999))
    assert [s.segment.seq for s in driver.sent][-2:] == [1000, 999]
    assert driver.reasons() == []


def test_station_is_stopped_and_started_where_the_wired_network_is_slower() -> None:
    driver = opened_gateway(AckSuppressionGatewayConfig(upstream_stop_pkts=4))
    for place in range(5):
        driver.see(Point.AIR_TO_WIRED, up(place))
    (stop,) = driver.injected
    assert (stop.flow, stop.ack, stop.window_bytes) == (DOWN, 500, 0)
    driver.report(stop, delivered=False)
    assert len(driver.injected) == 2
    assert driver.hook.deadline() == (S, "retransmission")
    driver.run_until(2 * S)  # lost without a report: sent again
    assert len(driver.injected) == 3
    driver.report(stop)
    driver.report(stop)
    driver.injected.clear()
    for ack in (1960, 3420, 4880):
        driver.see(Point.WIRED_TO_AIR, from_host(ack, window=20_000))
    (go,) = driver.injected
    assert (go.ack, go.window_bytes) == (4880, WINDOW)
    driver.report(stop)  # about an older signal
    driver.report(go)
    assert driver.hook.counters()["stop_signals"] == 4


# At the station.


def test_station_suppresses_the_acks_of_data() -> None:
    driver = opened_station()
    driver.see(Point.LOCAL_OUT, pure_ack(DOWN, 1000, window=WINDOW))  # answers the handshake
    assert len(driver.sent) == 1
    driver.see(Point.LOCAL_IN, down(0))
    driver.see(Point.LOCAL_OUT, pure_ack(DOWN, 2460, window=WINDOW))
    driver.see(Point.LOCAL_OUT, pure_ack(DOWN, 2460, window=WINDOW))
    assert driver.reasons() == ["ACK suppressed"] * 2


@pytest.mark.parametrize(
    ("ack", "window", "flags", "passes"),
    [
        (2460, WINDOW, ACK, False),
        (2460, WINDOW - 1, ACK, True),
        (2460, 2 * WINDOW - 1, ACK, False),
        (2460, 2 * WINDOW, ACK, True),
        (2460, 0, ACK, True),
        (2460, WINDOW, ACK | ECE, True),
        (2461, WINDOW, ACK, True),  # the FIN
    ],
)
def test_station_passes_acks_that_the_link_layer_cannot_replace(
    ack: int, window: int, flags: int, passes: bool
) -> None:
    driver = opened_station()
    driver.see(Point.LOCAL_OUT, pure_ack(DOWN, 1000, window=WINDOW))
    driver.see(Point.LOCAL_IN, down(0, flags=ACK | FIN))
    driver.sent.clear()
    driver.see(Point.LOCAL_OUT, pure_ack(DOWN, ack, window=window, flags=flags))
    assert len(driver.sent) == passes


def test_station_answers_keep_alives() -> None:
    driver = opened_station()
    driver.see(Point.LOCAL_OUT, first := up(0))
    driver.report(first)
    driver.see(Point.LOCAL_IN, pure_ack(UP, 1960)._replace(seq=999))
    driver.see(Point.LOCAL_OUT, pure_ack(DOWN, 1000))
    assert driver.reasons() == []


def test_station_acknowledges_to_its_own_tcp_what_the_link_has_delivered() -> None:
    driver = opened_station()
    driver.see(Point.LOCAL_OUT, first := up(0))
    assert driver.injected == []
    driver.report(first, delivered=False)
    driver.report(first)
    assert driver.injected == [Segment(0, DOWN, 6, ACK, 1000, 1960, 0, 40, WINDOW, None)]


def filled(throttle: Throttle, *, ecn: bool = False) -> tuple[LinkDriver, list[Segment]]:
    """21 segments outstanding at a threshold of 20."""
    driver = opened_station(AckSuppressionStationConfig(throttle=throttle))
    segments = [up(place)._replace(ecn_capable=ecn) for place in range(21)]
    for segment in segments:
        driver.see(Point.LOCAL_OUT, segment)
    return driver, segments


def test_zero_window_closes_beyond_the_threshold_and_opens_at_half() -> None:
    driver, segments = filled(Throttle.ZERO_WINDOW)
    for segment in segments:
        driver.report(segment)
    windows = [ack.window_bytes for ack in driver.injected]
    assert windows == [0] * 10 + [WINDOW] * 11  # 20 .. 11 are left, then 10 .. 0
    assert driver.hook.counters()["throttles"] == 1


def test_window_opens_without_a_delivery_when_all_is_given_up() -> None:
    config = AckSuppressionStationConfig(threshold_pkts=2, link=LinkConfig(rounds=1))
    driver = opened_station(config)
    segments = [up(place) for place in range(4)]
    for segment in segments:
        driver.see(Point.LOCAL_OUT, segment)
    driver.report(segments[0])
    for segment in segments[1:]:
        driver.report(segment, delivered=False)
    assert [(ack.ack, ack.window_bytes) for ack in driver.injected] == [
        (1960, 0),
        (1960, 4 * MSS),
    ]  # twice the threshold


def test_three_duplicate_acks_slow_the_station_and_the_repeat_is_absorbed() -> None:
    driver, segments = filled(Throttle.DUPLICATE_ACKS)
    assert driver.acks() == [500, 500, 500]
    driver.see(Point.LOCAL_OUT, up(0))
    assert driver.reasons() == ["copy of what is here or delivered"]
    driver.report(segments[0])
    assert [(ack.ack, ack.window_bytes) for ack in driver.injected] == [(1960, WINDOW)]


@pytest.mark.parametrize("ecn", [True, False])
def test_congestion_echo_goes_to_ecn_capable_flows(ecn: bool) -> None:
    driver, segments = filled(Throttle.ECN_ECHO, ecn=ecn)
    for segment in segments:
        driver.report(segment)
    flags = [ack.flags for ack in driver.injected]
    assert flags == ([ACK | ECE] * 10 + [ACK] * 11 if ecn else [ACK] * 21)
    assert driver.hook.counters()["not_ecn_capable"] == (not ecn)


def test_early_drops_add_up_to_the_probability() -> None:
    driver, _ = filled(Throttle.DROP)
    for place in range(21, 80):
        driver.see(Point.LOCAL_OUT, up(place))
    # p grows by 0.1 / 20 per segment from 21 on: 1/200 + 2/200 + ... exceeds 1 at the 20th; from 40 outstanding on all
    # are dropped
    dropped = [segment.seq for segment, reason in driver.dropped if reason == "early drop"]
    assert dropped == [500 + place * MSS for place in range(40, 80)]


def test_early_drop_starts_again_after_each() -> None:
    driver = opened_station(AckSuppressionStationConfig(throttle=Throttle.DROP, drop_max_p=1.0))
    for place in range(30):
        driver.see(Point.LOCAL_OUT, up(place))
    # p grows by 1/20 per segment: 0.05 x (1 + .. + 6) = 1.05 at 26 outstanding, then 0.05 + 0.3 + 0.35 + 0.4 = 1.1 at
    # 28
    assert [(segment.seq - 500) // MSS for segment, _ in driver.dropped] == [26, 29]


def test_no_throttle_never_closes_the_window() -> None:
    driver, segments = filled(Throttle.NONE)
    for segment in segments:
        driver.report(segment)
    assert {ack.window_bytes for ack in driver.injected} == {WINDOW}


def test_gateways_signal_stops_and_starts_the_station_and_does_not_reach_its_tcp() -> None:
    driver = opened_station()
    first, second = up(0), up(1)
    driver.see(Point.LOCAL_OUT, first)
    driver.see(Point.LOCAL_OUT, second)
    driver.report(first)
    driver.injected.clear()
    driver.sent.clear()
    driver.see(Point.LOCAL_IN, pure_ack(UP, 500, window=0)._replace(seq=1000))
    driver.report(second)
    assert [(ack.ack, ack.window_bytes) for ack in driver.injected] == [(3420, 0)]
    driver.see(Point.LOCAL_IN, pure_ack(UP, 500, window=20_000)._replace(seq=1000))
    assert [(ack.ack, ack.window_bytes) for ack in driver.injected] == [(3420, 0), (3420, 20_000)]
    assert driver.sent == []
    assert driver.hook.counters()["signals_taken"] == 2


def test_a_segment_of_the_wired_host_before_its_syn_passes() -> None:
    driver = LinkDriver(AckSuppressionGateway())
    driver.see(Point.AIR_TO_WIRED, control(DOWN.reversed(), SYN, seq=499))
    driver.see(Point.WIRED_TO_AIR, control(DOWN, RST | ACK, seq=0, ack=500))
    assert [sent.segment.flags for sent in driver.sent] == [SYN, RST | ACK]


def test_a_reset_of_the_station_has_no_window_and_ends_the_connection() -> None:
    driver = opened_gateway()
    waiting = down(0)
    driver.see(Point.WIRED_TO_AIR, waiting)
    driver.see(Point.AIR_TO_WIRED, control(DOWN.reversed(), RST, seq=500, window=0))
    assert driver.kept == {}
    driver.report(waiting)
    assert driver.acks() == []


def test_a_report_of_one_flow_does_not_cover_anothers_packets() -> None:
    driver = opened_gateway()
    other = DOWN._replace(sport=81)
    driver.see(Point.WIRED_TO_AIR, control(other, SYN, seq=999))
    driver.see(Point.AIR_TO_WIRED, control(other.reversed(), SYN | ACK, seq=499, ack=1000))
    first, second = data(other, 1000, ack=500), down(0)
    driver.see(Point.WIRED_TO_AIR, first)
    driver.see(Point.WIRED_TO_AIR, second)
    driver.report(second)
    assert driver.hook.counters()["unreported"] == 0
    assert driver.acks() == [2460]


def test_segments_delivered_ahead_count_once_even_inside_the_one_that_closes_the_hole() -> None:
    half = LinkHalf(1000)
    ahead = data(DOWN, 1500, 100)
    assert [half.deliver(ahead), half.deliver(ahead)] == [0, 0]
    assert half.duplicates_due() == 1
    assert half.deliver(data(DOWN, 1000, 1000)) == 1000
    assert (half.acknowledged, half.ahead) == (2000, [])
