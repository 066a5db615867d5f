"""One flow's pace, and one rate for all flows in fair turns."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelab_pacer.core.candidates.data_pacing import DataPacing, DataPacingConfig
from pacelab_pacer.core.contract import Point
from pacelab_pacer.core.pacing.paced_flow import FlowPacer, FlowTableConfig, PacedFlow
from pacelab_pacer.core.pacing.rate_shaper import RateShaper
from pacelab_pacer.core.segment import ACK, FIN, RST
from tests.pacer.hook_driver import CALM, DOWN, MS, Driver, S, data


def paced(interval_ns: int) -> FlowPacer:
    pacer = FlowPacer()
    pacer.schedule.set_interval(0, interval_ns)
    return pacer


def test_first_segment_waits_for_nothing() -> None:
    assert paced(1000).schedule.admits(0)


def test_second_segment_waits_for_the_pace() -> None:
    pacer = paced(1000)
    pacer.schedule.admits(0)
    assert not pacer.schedule.admits(999)
    assert pacer.schedule.due_ns() == 1000


def test_idle_flow_earns_no_credit() -> None:
    pacer = paced(1000)
    pacer.schedule.admits(0)
    assert pacer.schedule.admits(50_000)
    assert not pacer.schedule.admits(50_999)
    assert pacer.schedule.due_ns() == 51_000


def test_late_release_keeps_the_plan() -> None:
    pacer = paced(1000)
    pacer.schedule.admits(0)
    pacer.push(data(DOWN, 0))
    pacer.push(data(DOWN, 1460))
    pacer.pop(1300)
    assert pacer.schedule.due_ns() == 2000


def test_very_late_releases_catch_up_at_twice_the_pace() -> None:
    pacer = paced(1000)
    pacer.schedule.admits(0)
    for i in range(12):
        pacer.push(data(DOWN, i))
    times = [5000]
    pacer.pop(5000)  # four behind
    for _ in range(10):
        times.append(pacer.schedule.due_ns())
        pacer.pop(times[-1])
    assert times == [5000, 5500, 6000, 6500, 7000, 7500, 8000, 8500, 9000, 10_000, 11_000]


def test_stall_beyond_four_releases_is_lost() -> None:
    pacer = paced(1000)
    pacer.schedule.admits(0)
    for i in range(12):
        pacer.push(data(DOWN, i))
    times = [100_000]
    pacer.pop(100_000)
    for _ in range(10):
        times.append(pacer.schedule.due_ns())
        pacer.pop(times[-1])
    assert [b - a for a, b in pairwise(times)] == [500] * 8 + [1000] * 2


def test_faster_pace_applies_to_the_waiting_head_but_not_in_the_past() -> None:
    pacer = paced(1000)
    pacer.schedule.admits(0)
    pacer.push(data(DOWN, 0))
    pacer.schedule.set_interval(400, 700)
    assert pacer.schedule.due_ns() == 700
    pacer.schedule.set_interval(500, 100)
    assert pacer.schedule.due_ns() == 500


def test_slower_pace_applies_to_the_waiting_head() -> None:
    pacer = paced(1000)
    pacer.schedule.admits(0)
    pacer.push(data(DOWN, 0))
    pacer.schedule.set_interval(900, 3000)
    assert pacer.schedule.due_ns() == 3000


def test_release_ahead_of_the_plan_restarts_the_spacing() -> None:
    pacer = paced(1000)
    pacer.schedule.admits(0)
    pacer.push(data(DOWN, 0))
    pacer.push(data(DOWN, 1460))
    pacer.pop(100)
    assert pacer.schedule.due_ns() == 1100
    assert pacer.queued_bytes == 1460


def test_control_follows_the_data_before_it() -> None:
    pacer = paced(1000)
    pacer.schedule.admits(0)
    fin = data(DOWN, 1460, 0, flags=ACK | FIN)
    pacer.push(data(DOWN, 0))
    pacer.push(fin)
    assert pacer.pop_control() is None
    pacer.pop(1000)
    assert pacer.pop_control() == fin
    assert len(pacer.waiting) == 0


def test_lowest_sequence_number_leaves_first() -> None:
    pacer = paced(1000)
    pacer.schedule.admits(0)
    for seq in (2920, 4380, 0, 1460):  # two segments of new data, then the source goes back
        pacer.push(data(DOWN, seq))
    assert [pacer.pop(i * 1000).seq for i in range(1, 5)] == [0, 1460, 2920, 4380]


def test_order_holds_across_the_wrap() -> None:
    pacer = paced(1000)
    pacer.schedule.admits(0)
    for seq in (700, 2**32 - 760):
        pacer.push(data(DOWN, seq))
    assert [pacer.pop(i * 1000).seq for i in (1, 2)] == [2**32 - 760, 700]


def test_acknowledged_data_leaves_without_a_release() -> None:
    pacer = paced(1000)
    pacer.schedule.admits(0)
    for i in range(3):
        pacer.push(data(DOWN, i * 1460))
    assert [held.seq for held in iter(lambda: pacer.pop_acknowledged(4379), None)] == [0, 1460]
    assert (len(pacer.waiting), pacer.queued_bytes, pacer.schedule.due_ns()) == (1, 1460, 1000)


def test_copy_in_the_queue_is_recognised() -> None:
    pacer = paced(1000)
    pacer.push(data(DOWN, 0, 100))
    pacer.push(data(DOWN, 100, 100))
    assert pacer.holds_copy(data(DOWN, 0, 100))
    assert pacer.holds_copy(data(DOWN, 100, 60))
    assert not pacer.holds_copy(data(DOWN, 0, 200))
    assert not pacer.holds_copy(data(DOWN, 200, 100))
    assert not pacer.holds_copy(data(DOWN, 100, 100, flags=ACK | FIN))  # the FIN is not in the queue


# One rate for all flows in fair turns.

OUT = Point.WIRED_TO_AIR
OTHER = DOWN._replace(dport=6000)


def shaper_with(rate_bps: float, *dports: int) -> tuple[RateShaper[PacedFlow], list[PacedFlow]]:
    shaper: RateShaper[PacedFlow] = RateShaper(rate_bps)
    return shaper, [PacedFlow(DOWN._replace(dport=dport), 0, 0, shaper.schedule) for dport in dports]


def serve(shaper: RateShaper[PacedFlow], sizes: dict[int, int], rounds: int) -> list[tuple[int, int]]:
    """Time in ns and flow of each release while all flows always have packets."""
    served = []
    for _ in range(rounds):
        at_ns = shaper.next_ns()
        assert at_ns is not None
        now_ns = max(at_ns, 0)
        flow = shaper.pop_due(now_ns)
        assert flow is not None
        shaper.schedule.released(now_ns)
        shaper.charge(now_ns, flow, sizes[flow.key.dport])
        shaper.set(flow, now_ns)
        served.append((now_ns, flow.key.dport))
    return served


def test_flows_take_turns_at_one_rate() -> None:
    shaper, flows = shaper_with(1_200_000, 1, 2, 3)
    for flow in flows:
        shaper.set(flow, 0)
    assert len(shaper) == 3
    # 12,000 bits at 1.2 Mbit/s: 10 ms
    assert serve(shaper, {1: 1500, 2: 1500, 3: 1500}, 4) == [(0, 1), (10 * MS, 2), (20 * MS, 3), (30 * MS, 1)]


def test_turns_are_fair_by_octets() -> None:
    shaper, flows = shaper_with(1_200_000, 1, 2)
    for flow in flows:
        shaper.set(flow, 0)
    served = serve(shaper, {1: 1500, 2: 500}, 41)
    # each packet of 1500 alternates with three packets of 500
    assert [flow for _, flow in served].count(1) in (10, 11)
    assert served[1][0] == 10 * MS  # after 1500 octets, whichever flow is next


def test_newcomer_gets_its_share_and_no_arrears() -> None:
    shaper, (old, new) = shaper_with(1_200_000, 1, 2)
    shaper.set(old, 0)
    serve(shaper, {1: 1500}, 10)
    shaper.set(new, 0)
    order = [flow for _, flow in serve(shaper, {1: 1500, 2: 1500}, 6)]
    assert order in ([2, 1, 2, 1, 2, 1], [1, 2, 1, 2, 1, 2])


def test_flow_that_waits_keeps_its_place_when_set_again() -> None:
    shaper, (first, second) = shaper_with(1_200_000, 1, 2)
    shaper.set(first, 0)
    shaper.set(second, 0)
    shaper.set(first, 5)
    assert len(shaper) == 2
    assert shaper.pop_due(0) is first


def test_cancelled_flow_has_no_turn() -> None:
    shaper, (first, second) = shaper_with(1_200_000, 1, 2)
    shaper.cancel(first)
    assert (len(shaper), shaper.next_ns(), shaper.pop_due(0)) == (0, None, None)
    shaper.set(first, 0)
    shaper.set(second, 0)
    shaper.cancel(first)
    assert shaper.pop_due(0) is second


def test_new_rate_holds_for_the_wait_that_runs() -> None:
    shaper, (flow,) = shaper_with(1_200_000, 1)
    shaper.set(flow, 0)
    serve(shaper, {1: 1500}, 1)
    assert shaper.next_ns() == 10 * MS
    shaper.set_rate(5 * MS, 600_000)
    assert (shaper.rate_bps, shaper.next_ns()) == (600_000, 20 * MS)
    shaper.set_rate(6 * MS, 12_000_000)
    assert shaper.next_ns() == 6 * MS  # the 1 ms would have passed: now
    assert shaper.pop_due(5 * MS) is None


def test_data_pacing_spaces_all_flows_together() -> None:
    driver = Driver(DataPacing(DataPacingConfig(rate_bps=1_200_000)))
    for i in range(2):
        driver.see(OUT, data(DOWN, i * 1460))
        driver.see(OUT, data(OTHER, i * 1460))
    driver.run_until(S)
    assert driver.times(DOWN) == [0, 20 * MS]
    assert driver.times(OTHER) == [10 * MS, 30 * MS]
    counters = driver.hook.counters()
    assert (counters["paced"], counters["delayed"]) == (4, 3)


def test_data_pacing_keeps_its_distance_when_a_newcomer_meets_a_release_that_is_due() -> None:
    driver = Driver(DataPacing(DataPacingConfig(rate_bps=1_200_000)))
    driver.see(OUT, data(DOWN, 0))
    driver.see(OUT, data(DOWN, 1460))
    driver.skip_to(10 * MS)  # due now, but the driver has not called back yet
    driver.see(OUT, data(OTHER, 0))
    driver.run_until(S)
    assert driver.times(OTHER) == [10 * MS]  # it had nothing yet
    assert driver.times(DOWN) == [0, 20 * MS]


def test_data_pacing_leaves_other_directions_alone_and_ends_with_the_connection() -> None:
    driver = Driver(DataPacing(DataPacingConfig(rate_bps=1_200_000)))
    for point in (Point.AIR_TO_WIRED, Point.LOCAL_OUT):
        driver.see(point, data(DOWN, 0))
        driver.see(point, data(DOWN, 1460))
    assert [s.at_ns for s in driver.sent] == [0, 0, 0, 0]
    for i in range(3):
        driver.see(OUT, data(DOWN, i * 1460))
    driver.see(OUT, data(DOWN, 4380, 0, flags=FIN | ACK))
    assert len(driver.held) == 3
    driver.see(OUT, data(DOWN, 4381, 0, flags=RST))
    assert [reason for _, reason in driver.dropped] == ["connection over"] * 3
    assert driver.hook.deadline() is None


def test_data_pacing_drops_what_a_full_queue_refuses() -> None:
    driver = Driver(DataPacing(DataPacingConfig(rate_bps=12_000, queue_limit_bytes=3000)))
    for i in range(5):
        driver.see(OUT, data(DOWN, i * 1460))
    assert driver.sent_seqs(DOWN) == [0]
    assert [segment.seq for segment, _ in driver.dropped] == [4380, 5840]
    driver.run_until(10 * S)
    assert driver.times(DOWN) == [0, S, 2 * S], "a second for 1500 octets at 12 kbit/s, however many came"
    assert driver.hook.counters()["overflows"] == 2
    driver.check_conservation()


def test_data_pacing_refuses_a_flow_only_if_all_flows_of_a_full_table_hold_packets() -> None:
    driver = Driver(DataPacing(DataPacingConfig(rate_bps=12_000, table=FlowTableConfig(max_flows=1))))
    driver.see(OUT, data(DOWN, 0))
    driver.see(OUT, data(OTHER, 0))
    assert len(driver.held) == 1, "the first flow, with nothing waiting, gave way"
    driver.see(OUT, data(DOWN, 1460))
    assert [segment.flow for segment, _ in driver.dropped] == [DOWN]
    counters = driver.hook.counters()
    assert (counters["overflows"], counters["flows_replaced"], counters["unpaced_segments"]) == (1, 1, 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [("rate_bps", 0.0), ("queue_limit_bytes", 0), ("rate_bps", float("inf")), ("queue_limit_bytes", 1.5)],
)
def test_config_names_what_is_wrong(name: str, value: float) -> None:
    valid = {"rate_bps": "a number above 0", "queue_limit_bytes": "a whole number of at least 1"}[name]
    with pytest.raises(ValueError, match=f"^{name} must be {valid}, not {value}$"):
        DataPacingConfig(**{"rate_bps": 1e6, name: value})  # type: ignore[arg-type]


@CALM
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3), st.integers(1, 1460)), min_size=5, max_size=80),
    st.integers(50_000, 5_000_000),
)
def test_releases_of_all_flows_keep_the_interval_of_the_rate(
    arrivals: list[tuple[int, int, int]], rate_bps: int
) -> None:
    driver = Driver(DataPacing(DataPacingConfig(rate_bps=rate_bps)))
    seqs = dict.fromkeys(range(4), 0)
    for gap_ms, number, payload in arrivals:
        driver.see(OUT, data(DOWN._replace(dport=number), seqs[number], payload))
        seqs[number] += payload
        driver.run_until(driver.now_ns + gap_ms * MS)
    driver.run_until(driver.now_ns + 1000 * S)
    assert len(driver.sent) == len(arrivals)
    for earlier, later in pairwise(driver.sent):
        assert (later.at_ns - earlier.at_ns) * rate_bps >= (earlier.segment.packet_bytes * 8 - 1) * 10**9


@CALM
@given(st.lists(st.integers(40, 1500), min_size=2, max_size=5), st.integers(10, 200))
def test_backlogged_flows_are_never_a_packet_apart(sizes: list[int], rounds: int) -> None:
    shaper, flows = shaper_with(1e6, *range(len(sizes)))
    for flow in flows:
        shaper.set(flow, 0)
    got = dict.fromkeys(range(len(sizes)), 0)
    for _, number in serve(shaper, dict(enumerate(sizes)), rounds):
        got[number] += sizes[number]
    assert max(got.values()) - min(got.values()) <= 2 * max(sizes)
