from __future__ import annotations

from itertools import pairwise

from hook_shell import DOWN, data

from pacelab.pacer.core.pacing.paced_flow import FlowPacer
from pacelab.pacer.core.segment import ACK, FIN


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
    for seq in (2920, 4380, 0, 1460):  # two of new data, then the source goes back
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
