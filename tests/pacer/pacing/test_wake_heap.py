from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pacelab.pacer.core.pacing.wake_heap import WakeHeap
from tests.pacer.hook_shell import CALM


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
