"""State of the pacers: packets in flight, flows, and wake-ups."""

from __future__ import annotations

from collections import deque
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelab_pacer.core.pacing.outstanding import NOTHING, Outstanding
from pacelab_pacer.core.pacing.paced_flow import FlowTable, FlowTableConfig, PacedFlow
from pacelab_pacer.core.pacing.wake_heap import WakeHeap
from pacelab_pacer.core.segment import ACK, FIN, FlowKey
from tests.pacer.hook_driver import CALM, DOWN, data, pure_ack

SPACE = 1 << 32


def measured(sent: Outstanding, now_ns: int, ack: int) -> tuple[int, int] | None:
    """Round trip and packet size of the sample that an ACK yields."""
    rtt_ns, data_bytes, _ = sent.acknowledged(now_ns, ack)
    return None if rtt_ns is None else (rtt_ns, data_bytes)


def test_each_ack_yields_its_segment() -> None:
    sent = Outstanding()
    sent.released(1000, data(DOWN, 0, 100))
    sent.released(1500, data(DOWN, 100, 200))
    assert measured(sent, 4000, 100) == (3000, 140)
    assert measured(sent, 4100, 300) == (2600, 240)
    assert measured(sent, 4200, 300) is None


def test_delayed_ack_measures_the_newest_covered_segment() -> None:
    sent = Outstanding()
    sent.released(1000, data(DOWN, 0, 100))
    sent.released(1500, data(DOWN, 100, 200))
    sent.released(1900, data(DOWN, 300, 100))
    assert measured(sent, 4000, 300) == (2500, 240)
    assert len(sent) == 1


def test_partly_covered_segment_yields_nothing() -> None:
    sent = Outstanding()
    sent.released(0, data(DOWN, 0, 100))
    assert measured(sent, 10, 99) is None


def test_karn_no_sample_until_an_ack_beyond_the_retransmission() -> None:
    sent = Outstanding()
    for i in range(4):
        sent.released(i, data(DOWN, i * 100, 100))
    assert measured(sent, 50, 100) == (50, 140)
    sent.released(60, data(DOWN, 100, 100))  # again
    assert measured(sent, 90, 300) is None  # covers the repaired octets
    assert measured(sent, 95, 400) == (92, 140)


def test_karn_holds_for_partial_acks_of_several_retransmissions() -> None:
    sent = Outstanding()
    for i in range(4):
        sent.released(i, data(DOWN, i * 100, 100))
    sent.retransmitted(100)
    sent.retransmitted(300)
    sent.retransmitted(200)
    assert [measured(sent, 50, ack) for ack in (100, 200, 300)] == [None, None, None]
    assert measured(sent, 60, 400) == (57, 140)


def test_sequence_numbers_wrap() -> None:
    sent = Outstanding()
    sent.released(0, data(DOWN, SPACE - 100, 100))
    sent.released(5, data(DOWN, 0, 100))
    assert measured(sent, 20, 0) == (20, 140)
    sent.released(30, data(DOWN, SPACE - 100, 100))  # old octets from before the wrap
    assert sent.highest_end == 100
    assert measured(sent, 40, 100) is None
    sent.released(50, data(DOWN, 100, 100))
    assert measured(sent, 60, 200) == (10, 140)


def test_ack_beyond_the_wrap_covers_segments_before_it() -> None:
    sent = Outstanding()
    sent.released(0, data(DOWN, SPACE - 200, 100))
    sent.released(5, data(DOWN, SPACE - 100, 150))
    assert measured(sent, 25, 50) == (20, 190)
    assert len(sent) == 0


def test_memory_is_bounded_and_keeps_the_newest() -> None:
    sent = Outstanding(limit=3)
    for i in range(10):
        sent.released(i, data(DOWN, i * 100, 100))
    assert len(sent) == 3
    assert measured(sent, 100, 800) == (93, 140)


@pytest.mark.parametrize("limit", [5, 100, 1024])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_long_life_is_measured_as_by_a_plain_queue(limit: int, seed: int) -> None:
    draw, sent = Random(seed), Outstanding(limit=limit)
    queue: deque[tuple[int, int]] = deque(maxlen=limit)
    end = SPACE - 50_000
    for now_ns in range(4000):
        if not queue or draw.random() < (0.999 if now_ns < 2000 else 0.6):
            sent.released(now_ns, data(DOWN, end, 100))
            end = (end + 100) % SPACE
            queue.append((end, now_ns))
        else:
            for _ in range(draw.randint(1, len(queue))):
                ack, left_ns = queue.popleft()
            assert measured(sent, now_ns, ack) == (now_ns - left_ns, 140)
        assert len(sent) == len(queue)
        assert len(sent._ends) <= 2 * limit + 130


# Copies.


def filled() -> Outstanding:
    sent = Outstanding()
    for i in range(3):
        assert sent.released(i, data(DOWN, i * 100, 100), keep=True) is None
    return sent


def test_ack_frees_what_it_covers() -> None:
    sent = filled()
    assert len(sent.acknowledged(9, 200)[2]) == 2
    assert sent.acknowledged(9, 299)[2] == []
    assert sent.kept_bytes == 100


def test_newer_copy_replaces_the_older() -> None:
    sent = Outstanding()
    older, newer = data(DOWN, 0, 100), data(DOWN, 0, 60)
    assert sent.released(0, older, keep=True) is None
    assert sent.released(0, newer, keep=True) == older.handle
    assert sent.kept_bytes == 60
    assert sent.drain() == [newer.handle]


def test_hole_is_filled_once_per_rtt() -> None:
    sent = filled()
    answers = [sent.fill(at_ns, 100, rtt_ns=50)[1] for at_ns in (10, 11, 59, 60, 61)]
    assert answers == [True, False, False, True, False]


def test_unknown_hole_is_not_filled() -> None:
    assert filled().fill(10, 50, rtt_ns=50) == (None, False)


def test_eviction_takes_the_oldest() -> None:
    sent = filled()
    sent.evict()
    assert sent.fill(10, 0, rtt_ns=50) == (None, False)
    assert sent.kept_bytes == 200


# The meaning of an ACK.


@pytest.mark.parametrize("start", [0, 1000, SPACE - 150, SPACE // 2 - 150, SPACE // 2])
def test_ack_is_progress_a_duplicate_or_nothing(start: int) -> None:
    def ack(octets: int, window: int = 500) -> int:
        return sent.advance(pure_ack(DOWN, (start + octets) % SPACE, window=window))

    sent = Outstanding()
    assert ack(0) == NOTHING  # nothing was seen yet
    sent.begin(start)
    sent.begin(start + 700)  # it has started already
    assert ack(100) == NOTHING  # no data has left yet
    for octets in (0, 100, 200):
        sent.released(0, data(DOWN, (start + octets) % SPACE, 100))
    assert ack(200) == 200
    assert ack(200) == 0
    assert ack(200, window=400) == NOTHING  # a window update
    assert ack(100) == NOTHING  # old
    assert ack(302) == NOTHING  # beyond the FIN
    assert sent.advance(data(DOWN, 7, 100, ack=(start + 200) % SPACE, window=400)) == NOTHING  # it carries data
    assert ack(301) == 101
    assert sent.ack == (start + 301) % SPACE


def test_fin_counts_as_an_octet() -> None:
    sent = Outstanding()
    sent.released(0, data(DOWN, 0, 100, flags=ACK | FIN))
    assert sent.highest_end == 101


TIMEOUT_NS = 10
KEYS = [FlowKey(1, 2, port, 80) for port in range(4)]


@given(st.lists(st.tuples(st.sampled_from(["heard", "over", "asked"]), st.sampled_from(KEYS)), max_size=60))
def test_the_flow_that_was_silent_longest_is_removed_first(steps: list[tuple[str, FlowKey]]) -> None:
    """Compared with a plain dict of the times at which each flow was last seen, all different."""
    table: FlowTable[PacedFlow] = FlowTable(FlowTableConfig(idle_timeout_ns=TIMEOUT_NS))
    heard_ns: dict[FlowKey, int] = {}
    for now_ns, (step, key) in enumerate(steps):
        flow = table.by_key.get(key)
        if step == "heard":
            heard_ns[key] = now_ns
            if flow is None:
                table.add(PacedFlow(key, now_ns, 0))
            else:
                table.touch(flow, now_ns)
        elif step == "over" and flow is not None:
            del heard_ns[key]
            table.remove(flow)
        else:
            idle = table.oldest_idle(now_ns)
            silent = [key for key, at_ns in heard_ns.items() if at_ns + TIMEOUT_NS <= now_ns]
            assert (idle.key if idle else None) == (min(silent, key=heard_ns.__getitem__) if silent else None)
        assert table.idle_at_ns() == (min(heard_ns.values()) + TIMEOUT_NS if heard_ns else None)
        assert set(table.by_key) == set(heard_ns)
        assert {other.reversed(): flow.key for other, flow in table.by_reply.items()} == {key: key for key in heard_ns}


def test_earliest_wake_comes_first_and_ties_in_order_of_setting() -> None:
    heap: WakeHeap[str] = WakeHeap()
    heap.set("b", 20)
    heap.set("c", 10)
    heap.set("a", 10)
    assert heap.next_ns() == 10
    assert [heap.pop_due(20) for _ in range(4)] == ["c", "a", "b", None]


def test_wake_is_not_due_early() -> None:
    heap: WakeHeap[str] = WakeHeap()
    heap.set("a", 10)
    assert heap.pop_due(9) is None
    assert heap.next_ns() == 10


def test_later_setting_replaces_and_cancel_removes() -> None:
    heap: WakeHeap[str] = WakeHeap()
    heap.set("a", 10)
    heap.set("a", 30)
    heap.set("b", 20)
    heap.cancel("b")
    assert heap.next_ns() == 30
    heap.cancel("a")
    assert heap.next_ns() is None


def test_stale_entries_are_bounded() -> None:
    heap: WakeHeap[int] = WakeHeap()
    for flow in range(100):
        heap.set(flow, 10**9)
    for at_ns in range(50_000, 0, -1):
        heap.set(at_ns % 100, at_ns)
    assert len(heap) <= 2 * 100 + 65
    assert heap.next_ns() == 1


@CALM
@given(st.lists(st.tuples(st.integers(0, 8), st.one_of(st.none(), st.integers(0, 50))), max_size=200))
def test_heap_agrees_with_a_plain_table(changes: list[tuple[int, int | None]]) -> None:
    heap: WakeHeap[int] = WakeHeap()
    table: dict[int, int] = {}
    for flow, at_ns in changes:
        if at_ns is None:
            heap.cancel(flow)
            table.pop(flow, None)
        else:
            heap.set(flow, at_ns)
            table[flow] = at_ns
        assert heap.next_ns() == min(table.values(), default=None)
    popped = []
    while (woken := heap.pop_due(50)) is not None:
        popped.append(woken)
    assert sorted(popped) == sorted(table)
    assert [table[flow] for flow in popped] == sorted(table.values())
