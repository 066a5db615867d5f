"""The quality of calls: the E-model, a meter of one direction, the gateway's view and the stations' reports."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelab_pacer.core.contract import Point, SegmentSeen, TransmitResult
from pacelab_pacer.core.segment import FlowKey, Rtp, VoiceQuality
from pacelab_pacer.core.vagp.e_model import mos, mos_from_r, mouth_to_ear_ns, r_factor
from pacelab_pacer.core.vagp.quality_evaluator import (
    MAX_PACKETS,
    QualityConfig,
    QualityEvaluator,
    VoiceCounts,
    VoiceMeter,
    VoiceReporter,
)
from tests.pacer.hook_driver import CALM, DOWN, FOUR_HOPS, MS, Driver, S, data, voice, voice_report

# MOS against hand-computed values.


@pytest.mark.parametrize(
    ("network_ms", "loss", "r", "quality"),
    [
        (0, 0.0, 81.160, 4.067),  # d = 85: 94.2 - 2.04 - 11
        (160, 0.0, 69.873, 3.591),  # d = 245: 94.2 - 5.88 - 7.447 - 11
        (104, 0.02, 70.084, 3.601),  # d = 189: 94.2 - 4.536 - 1.287 - 11 - 40 * 0.182322
        (92.3, 0.0, 78.945, 3.983),  # d = 177.3, the kink: 94.2 - 4.2552 - 11
        (50, 0.1, 52.234, 2.693),  # d = 135: 94.2 - 3.24 - 11 - 40 * 0.693147
        (400, 0.05, 21.494, 1.298),  # d = 485: 94.2 - 11.64 - 33.847 - 11 - 40 * 0.405465
    ],
)
def test_quality_by_hand(network_ms: float, loss: float, r: float, quality: float) -> None:
    network_ns = round(network_ms * MS)
    assert r_factor(mouth_to_ear_ns(network_ns), loss) == pytest.approx(r, abs=0.001)
    assert mos(network_delay_ns=network_ns, loss=loss) == pytest.approx(quality, abs=0.001)


def test_longer_playout_costs_what_delay_costs() -> None:
    assert mos(network_delay_ns=60 * MS, loss=0, playout_ns=100 * MS) == mos(network_delay_ns=100 * MS, loss=0)


@pytest.mark.parametrize(("r", "quality"), [(-1e9, 1), (0, 1), (3, 1), (60, 3.1), (100, 4.5), (1e9, 4.5)])
def test_quality_stays_on_its_scale(r: float, quality: float) -> None:
    # R = 3: 1 + 0.105 - 0.116 is below 1
    assert mos_from_r(r) == pytest.approx(quality)


def test_nothing_arrived_is_the_worst_quality() -> None:
    assert mos(network_delay_ns=0, loss=1.0) == 1.0


@CALM
@given(st.integers(0, 10**15), st.floats(0, 1), st.integers(0, 10**12), st.floats(0, 1))
def test_more_delay_or_loss_is_never_better(delay_ns: int, loss: float, more_ns: int, more_loss: float) -> None:
    worse = mos(network_delay_ns=delay_ns + more_ns, loss=max(loss, more_loss))
    assert 1.0 <= worse <= mos(network_delay_ns=delay_ns, loss=loss) + 1e-12


@pytest.mark.parametrize("loss", [-0.01, 1.01, float("nan"), float("inf")])
def test_loss_out_of_range_is_refused(loss: float) -> None:
    with pytest.raises(ValueError, match=r"loss must be a number from 0 to 1, not "):
        r_factor(0, loss)


def test_negative_delay_is_refused() -> None:
    with pytest.raises(ValueError, match=r"mouth_to_ear_ns must be .*, not -1"):
        r_factor(-1, 0.0)


# One direction of a call, packet by packet: one each 20 ms, 10 ms in transit, a playout buffer of 60 ms.

WINDOW = 500 * MS
SILENCE = 100 * MS


def arrive(meter: VoiceMeter, number: int, delay_ms: int = 10) -> int:
    """Pass packet `number` to the meter; return its arrival time in ns."""
    now_ns = (20 * number + delay_ms) * MS
    meter.arrived(now_ns, Rtp(number % 2**16, 20 * number * MS))
    return now_ns


def heard(numbers: Iterable[int], delay_ms: int = 10) -> VoiceMeter:
    meter = VoiceMeter(60 * MS)
    for number in numbers:
        arrive(meter, number, delay_ms)
    return meter


def counts(meter: VoiceMeter, at_ms: int, window_ms: int = 500) -> VoiceCounts:
    return meter.counts(at_ms * MS, window_ns=window_ms * MS, silence_ns=SILENCE)


def test_clean_call() -> None:
    found = counts(heard(range(50)), 990)
    assert found == (25, 0, 0, 10 * MS)  # known after 490 ms: packets 25 to 49, the first at 510
    assert (found.loss, found.arrived) == (0.0, 25)


def test_gap_is_a_loss_when_the_next_packet_comes() -> None:
    meter = heard([0, 1, 2, 5])
    found = counts(meter, 110)
    assert found == (6, 2, 0, 10 * MS)
    assert found.loss == 2 / 6


def test_packet_that_comes_after_a_later_one_is_no_loss() -> None:
    meter = heard([0, 1, 2, 5, 4])
    assert counts(meter, 110) == (6, 1, 0, 10 * MS)
    arrive(meter, 3, delay_ms=71)
    assert counts(meter, 131)[:3] == (6, 0, 1)


def test_packet_is_late_beyond_the_first_ones_delay_and_the_buffer() -> None:
    meter = heard([0])
    arrive(meter, 1, 70)
    arrive(meter, 2, 71)
    found = counts(meter, 111)
    assert found == (3, 0, 1, (10 + 70 + 71) * MS // 3)
    assert found.loss == 1 / 3


def test_receiver_aligns_itself_to_the_mean_of_the_last_spurt() -> None:
    # the case of medium/network/src/voice.rs: packets 1 to 44 with 110 ms are late; 45 arrives 1000 ms after the first
    # one
    meter = heard([0])
    for number in range(1, 45):
        arrive(meter, number, 110)
    assert counts(meter, 990)[2] == 25
    arrive(meter, 45, 110)
    arrive(meter, 46, 167)  # 107.8 + 60
    assert counts(meter, 1087, 100)[:3] == (3, 0, 1)  # packet 44, of 990 ms
    arrive(meter, 47, 168)
    assert counts(meter, 1108, 100)[:3] == (3, 0, 1)


def test_duplicates_count_once() -> None:
    meter = heard([0, 1, 1, 0, 2])
    assert counts(meter, 50) == (3, 0, 0, 10 * MS)


def test_silence_is_loss_at_each_moment_of_playout_while_the_call_lives() -> None:
    meter = heard(range(3))  # the last one at 50 ms; packet 3 is due at 60 + 10 + 60 = 130 ms
    assert counts(meter, 129)[:2] == (3, 0)
    assert counts(meter, 130)[:2] == (4, 1)
    meter.alive(300 * MS)
    assert counts(meter, 169)[:2] == (5, 2)
    assert counts(meter, 390)[:2] == (17, 14)
    meter.alive(300 * MS)
    assert counts(meter, 600, 1000)[:2] == (17, 14)  # silence in both directions since 300: over at 400
    assert not meter.is_over(399 * MS, SILENCE)
    assert meter.is_over(400 * MS, SILENCE)


def test_packet_that_was_taken_for_lost_in_silence_is_late() -> None:
    meter = heard(range(3))
    meter.alive(200 * MS)
    assert counts(meter, 200)[:3] == (7, 4, 0)
    arrive(meter, 6, 90)  # 120 + 90 = 210
    assert counts(meter, 210)[:3] == (8, 4, 1)  # and packet 7 is due now
    arrive(meter, 7, 90)
    assert counts(meter, 230)[:3] == (9, 4, 2)


def test_first_packet_alone_gives_no_interval() -> None:
    meter = heard([0])
    meter.alive(900 * MS)
    assert counts(meter, 900, 1000) == (1, 0, 0, 10 * MS)
    assert counts(VoiceMeter(60 * MS), 900) == (0, 0, 0, 0)
    assert VoiceCounts(0, 0, 0, 0).loss == 0.0


def test_numbers_wrap() -> None:
    meter = VoiceMeter(60 * MS)
    for number in (65_534, 65_535, 65_537):
        meter.arrived(number * 20 * MS + 10 * MS, Rtp(number % 2**16, number * 20 * MS))
    assert counts(meter, 65_537 * 20 + 10) == (4, 1, 0, 10 * MS)


def test_jump_is_another_source() -> None:
    meter = heard(range(10))
    meter.arrived(250 * MS, Rtp(40_000, 240 * MS))
    assert counts(meter, 250) == (1, 0, 0, 10 * MS)


def test_clock_of_the_other_end_ahead_of_ours_is_no_negative_delay() -> None:
    meter = VoiceMeter(60 * MS)
    meter.arrived(10 * MS, Rtp(1, 11 * MS))
    meter.arrived(10 * MS, Rtp(2, 11 * MS))
    assert counts(meter, 10) == (2, 0, 0, 0)


@CALM
@given(st.lists(st.tuples(st.integers(0, 2**16 - 1), st.integers(0, 400), st.integers(0, 300)), max_size=200))
def test_any_packets_give_counts_that_can_be_true(packets: list[tuple[int, int, int]]) -> None:
    """Hostile numbers and times: memory is bounded, no value is negative, no share exceeds 1."""
    meter = VoiceMeter(60 * MS)
    now_ns = 0
    for number, delay_ms, gap_ms in packets:
        now_ns += gap_ms * MS
        meter.arrived(now_ns, Rtp(number, now_ns - delay_ms * MS))
        meter.alive(now_ns + gap_ms * S)
        found = meter.counts(now_ns + gap_ms * S, window_ns=WINDOW, silence_ns=SILENCE)
        assert 0 <= found.lost + found.late <= found.expected <= MAX_PACKETS
        assert 0.0 <= found.loss <= 1.0
        assert found.delay_ns >= 0


# The gateway's view of the calls, and the stations' reports.

UP_CALL = FlowKey(src=1, dst=100, sport=16_384, dport=16_384)
"""From the station to the wired phone."""
DOWN_CALL = UP_CALL.reversed()
HALF_SECOND = QualityConfig(window_ns=500 * MS)


def seen(evaluator: QualityEvaluator, now_ns: int, point: Point, segment) -> None:  # type: ignore[no-untyped-def]
    evaluator.observe(now_ns, SegmentSeen(point, segment, FOUR_HOPS))


def upstream(evaluator: QualityEvaluator, numbers: list[int], delay_ms: int = 10, call: FlowKey = UP_CALL) -> None:
    for number in numbers:
        sent_ns = number * 20 * MS
        seen(evaluator, sent_ns + delay_ms * MS, Point.AIR_TO_WIRED, voice(call, number, sent_ns))


def report(evaluator: QualityEvaluator, now_ns: int, *values: int, call: FlowKey = DOWN_CALL) -> None:
    seen(evaluator, now_ns, Point.AIR_TO_WIRED, voice_report(VoiceQuality(call, 500 * MS, *values)))


def test_no_call_no_verdict() -> None:
    evaluator = QualityEvaluator(HALF_SECOND)
    seen(evaluator, 0, Point.WIRED_TO_AIR, voice(DOWN_CALL, 0, 0))
    seen(evaluator, 0, Point.AIR_TO_WIRED, data(DOWN, 0))
    assert evaluator.evaluate(0) is None


def test_clean_upstream_call() -> None:
    evaluator = QualityEvaluator(HALF_SECOND)
    upstream(evaluator, list(range(25)), delay_ms=75)
    state = evaluator.evaluate(555 * MS)
    assert state is not None
    assert state.delay_ns == 75 * MS
    assert state.mos == pytest.approx(4.000, abs=0.001)  # d = 160: R = 94.2 - 3.84 - 11 = 79.36


def test_report_counts_beside_what_is_measured_here() -> None:
    # 1 of 25 lost here, 10 ms; 2 of 25 not played there, 30 ms: 6 % at 20 ms: R = 94.2 - 2.52 - 11 - 40 ln 1.6 = 61.88
    evaluator = QualityEvaluator(HALF_SECOND)
    upstream(evaluator, [n for n in range(25) if n != 10])
    report(evaluator, 490 * MS, 25, 1, 1, 30 * MS)
    state = evaluator.evaluate(490 * MS)
    assert state is not None
    assert state.delay_ns == 20 * MS
    assert state.mos == pytest.approx(3.197, abs=0.001)


def test_call_of_which_nothing_arrives_is_as_bad_as_can_be() -> None:
    evaluator = QualityEvaluator(HALF_SECOND)
    report(evaluator, 0, 25, 25, 0, 0)
    assert evaluator.evaluate(0)[:2] == (1.0, None)  # type: ignore[index]


def test_upstream_silence_is_loss_while_the_peer_speaks() -> None:
    evaluator = QualityEvaluator(HALF_SECOND)
    upstream(evaluator, [0, 1])
    for number in range(50):
        seen(evaluator, number * 20 * MS, Point.WIRED_TO_AIR, voice(DOWN_CALL, number, number * 20 * MS))
    assert evaluator.evaluate(990 * MS)[:2] == (1.0, None)  # type: ignore[index]
    assert len(evaluator) == 1
    assert evaluator.evaluate(1080 * MS) is None  # 100 ms after the last of 980 ms: hung up
    assert len(evaluator) == 0


def test_old_report_is_ignored_and_a_new_one_replaces_it() -> None:
    evaluator = QualityEvaluator(HALF_SECOND)
    report(evaluator, 0, 25, 25, 0, 0)
    report(evaluator, S, 25, 0, 0, 15 * MS)
    state = evaluator.evaluate(2499 * MS)
    assert state is not None
    assert state.mos == pytest.approx(4.054, abs=0.001)  # d = 100: R = 80.8
    assert evaluator.evaluate(2500 * MS) is None


def test_report_is_judged_once_if_so_set() -> None:
    # Here each round has 100 ms without loss; there 1 of 5 is lost, in a report at 0 ms. Mean loss 10 %, then none.
    evaluator = QualityEvaluator(QualityConfig(report_once=True))
    upstream(evaluator, list(range(20)))
    report(evaluator, 200 * MS, 5, 1, 0, 10 * MS)
    first, second = evaluator.evaluate(210 * MS), evaluator.evaluate(310 * MS)
    assert first is not None
    assert second is not None
    assert first.mos == pytest.approx(2.743, abs=0.001)  # d = 95: R = 94.2 - 2.28 - 11 - 40 ln 2 = 53.19
    assert second.mos == pytest.approx(4.058, abs=0.001)  # R = 80.92
    assert [call for call, _ in first.directions] == [UP_CALL, DOWN_CALL]


def test_reports_of_stations_weigh_by_their_packets() -> None:
    # 2 of 40 lost, 50 ms; 1 of 6 here lost, 10 ms: 3 of 46, and (38 x 50 + 5 x 10) / 43 = 45.35 ms
    evaluator = QualityEvaluator(QualityConfig(station_report=True))
    upstream(evaluator, [0, 1, 2, 3, 5])
    report(evaluator, 110 * MS, 40, 2, 0, 50 * MS)
    state = evaluator.evaluate(110 * MS - 1)
    assert state is not None
    assert state.delay_ns == 45_348_837
    assert state.longest_delay_ns == 50 * MS
    # d = 130.35: R = 94.2 - 3.128 - 11 - 40 ln 1.65217 = 59.988
    assert state.mos == pytest.approx(3.099, abs=0.001)


@pytest.mark.parametrize("values", [(0, 0, 0, 0), (10, -1, 0, 0), (10, 0, -1, 0), (10, 6, 5, 0), (10, 0, 0, -1)])
def test_report_that_cannot_be_true_is_not_believed(values: tuple[int, ...]) -> None:
    evaluator = QualityEvaluator(HALF_SECOND)
    report(evaluator, 0, *values)
    assert evaluator.evaluate(0) is None


def test_report_that_does_not_come_out_of_the_air_is_not_for_us() -> None:
    evaluator = QualityEvaluator(HALF_SECOND)
    quality = VoiceQuality(UP_CALL, 500 * MS, 25, 25, 0, 0)
    seen(evaluator, 0, Point.WIRED_TO_AIR, voice_report(quality))
    assert evaluator.evaluate(0) is None


def test_calls_are_bounded() -> None:
    evaluator = QualityEvaluator(QualityConfig(max_calls=2))
    for number in range(10_000):
        call = UP_CALL._replace(src=number)
        upstream(evaluator, [0], call=call)
        report(evaluator, 0, 25, 0, 0, 0, call=call.reversed())
    assert len(evaluator) == 4
    assert evaluator.unmeasured == 2 * 9998, "a packet and a report each"
    report(evaluator, 0, 25, 0, 0, 0, call=DOWN_CALL._replace(dst=1))
    assert len(evaluator) == 4


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("window_ns", 0),
        ("report_period_ns", 0),
        ("report_validity_ns", 0),
        ("silence_ns", 0),
        ("playout_ns", -1),
        ("max_calls", 0),
    ],
)
def test_config_names_what_is_wrong(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{name} must be .*, not {value}"):
        QualityConfig(**{name: value})  # type: ignore[arg-type]


# The station.


def station(**settings: int) -> Driver:
    return Driver(VoiceReporter(QualityConfig(**({"window_ns": 500 * MS} | settings))), may_inject=True)  # type: ignore[arg-type]


def hear(driver: Driver, numbers: list[int], delay_ms: int = 10, call: FlowKey = DOWN_CALL) -> None:
    for number in numbers:
        driver.run_until((number * 20 + delay_ms) * MS)
        driver.see(Point.LOCAL_IN, voice(call, number, number * 20 * MS))


def test_station_reports_what_it_hears_every_period() -> None:
    driver = station()
    hear(driver, [n for n in range(60) if n not in (40, 41)])
    assert [at_ns for at_ns, _ in driver.injected] == [510 * MS, 1010 * MS]  # from the first packet on
    first, second = (segment for _, segment in driver.injected)
    # known after 10 ms and up to 510: packets 1 to 24 (the one at 510 ms arrives after the report)
    assert first.quality == VoiceQuality(DOWN_CALL, 500 * MS, 24, 0, 0, 10 * MS)
    assert second.quality == VoiceQuality(DOWN_CALL, 500 * MS, 24, 2, 0, 10 * MS)  # 26 to 49
    assert first.flow == FlowKey(src=1, dst=100, sport=16_385, dport=16_385)
    assert (first.protocol, first.packet_bytes, first.payload_bytes) == (17, 72, 44)
    assert driver.hook.counters() == {"reports_sent": 2, "calls_unmeasured": 0}
    assert len(driver.sent) == 58


def test_station_reports_its_calls_together() -> None:
    other = DOWN_CALL._replace(sport=16_386, dport=16_386)
    driver = station(station_report=True, window_ns=100 * MS, report_period_ns=100 * MS)
    for number in range(20):
        driver.run_until((number * 20 + 10) * MS)
        driver.see(Point.LOCAL_IN, voice(DOWN_CALL, number, number * 20 * MS))
        if number not in (12, 13):
            driver.see(Point.LOCAL_IN, voice(other, number, (number * 20 - 20) * MS))
    # from 10 ms on each 100 ms: the packets of 10 to 90, 110 to 190, ... (the packet at that time arrives after the
    # report)
    assert [at_ns // MS for at_ns, _ in driver.injected] == [110, 210, 310]
    reports = [segment.quality for _, segment in driver.injected]
    assert {report.call for report in reports if report} == {DOWN_CALL}
    # 10 and 30 ms; the two losses are known when the next one comes, at 290 ms
    assert [(one.expected, one.lost, one.delay_ns // MS) for one in reports if one] == [
        (8, 0, 20),
        (8, 0, 20),
        (8, 2, 16),
    ]


def test_station_continues_when_the_call_that_named_the_report_is_over() -> None:
    other = DOWN_CALL._replace(sport=16_386, dport=16_386)
    driver = station(station_report=True, window_ns=100 * MS, report_period_ns=100 * MS)
    for number in range(40):
        driver.run_until((number * 20 + 10) * MS)
        if number < 10:
            driver.see(Point.LOCAL_IN, voice(DOWN_CALL, number, number * 20 * MS))
        driver.see(Point.LOCAL_IN, voice(other, number, number * 20 * MS))
    named = [segment.quality.call for _, segment in driver.injected if segment.quality]
    assert named == [DOWN_CALL, DOWN_CALL, other, other, other, other, other]
    driver.run_until(5 * S)
    assert driver.hook.deadline() is None


def test_station_stops_reporting_a_call_that_is_over() -> None:
    driver = station()
    hear(driver, [0, 1])
    driver.run_until(20 * S)
    assert driver.injected == []
    assert driver.hook.deadline() is None
    driver.timeout()


def test_station_reports_a_collapse_while_it_speaks_itself() -> None:
    # packet n is due at 20 n + 70 ms: 2 to 22 by 510 ms, 23 to 47 by 1010 ms
    driver = station()
    hear(driver, [0, 1])
    for number in range(2, 60):
        driver.run_until(number * 20 * MS)
        driver.see(Point.LOCAL_OUT, voice(UP_CALL, number, number * 20 * MS))
    assert [segment.quality.lost for _, segment in driver.injected if segment.quality] == [21, 25]


def test_station_with_an_empty_window_sends_no_report() -> None:
    driver = station(window_ns=10 * MS)
    hear(driver, [0])
    for number in range(1, 60):
        driver.run_until(number * 20 * MS)
        driver.see(Point.LOCAL_OUT, voice(UP_CALL, number, number * 20 * MS))
    assert driver.injected == []


def test_station_passes_the_rest_and_bounds_its_calls() -> None:
    driver = station(max_calls=1)
    driver.see(Point.LOCAL_OUT, data(DOWN, 0))
    driver.see(Point.LOCAL_OUT, voice(UP_CALL, 0, 0))
    driver.hook.handle(0, TransmitResult(data(DOWN, 0), 1, delivered=True))
    for number in range(10_000):
        driver.see(Point.LOCAL_IN, voice(DOWN_CALL._replace(src=number), 0, 0))
    assert driver.hook.counters()["calls_unmeasured"] == 9999
    assert len(driver.sent) == 10_002


def test_report_that_is_late_is_not_made_up_for() -> None:
    driver = station()
    hear(driver, list(range(10)))
    for number in range(10, 200):
        driver.skip_to((number * 20 + 10) * MS)
        driver.see(Point.LOCAL_IN, voice(DOWN_CALL, number, number * 20 * MS))
    driver.timeout()
    driver.timeout()
    assert len(driver.injected) == 1
    assert driver.hook.deadline() == (3990 * MS + 500 * MS, "report")
