"""How much a pacer may hold, and how flows share it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pacelab_pacer.core.pacing.packet_store import PacketStore
from tests.pacer.hook_driver import CALM


def fill(store: PacketStore, payload_bytes: int, flow: list[int]) -> None:
    """Let a flow queue as much as possible; `flow` has the size of its packets."""
    while store.admits(payload_bytes, flow_bytes=sum(flow), flow_pkts=len(flow)):
        flow.append(payload_bytes)
        store.queue(payload_bytes)


def test_a_lone_flow_gets_half_and_the_next_one_half_of_the_rest() -> None:
    store, first, second = PacketStore(8000, max_flows=1000), [], []
    fill(store, 1000, first)
    fill(store, 1000, second)
    # 4 of 8 fit while 4 are free after 4: the fourth packet finds 5 free. Then 2 of the remaining 4.
    assert (sum(first), sum(second)) == (4000, 2000)


def test_a_flow_with_nothing_waiting_finds_the_last_packet_s_worth() -> None:
    store = PacketStore(3000, max_flows=1000)
    store.queue(2000)
    assert store.admits(1000, flow_bytes=0, flow_pkts=0)
    assert not store.admits(1001, flow_bytes=0, flow_pkts=0)
    assert not store.admits(1000, flow_bytes=1, flow_pkts=1)


def test_packets_are_bounded_whatever_their_size() -> None:
    store, flow = PacketStore(1_000_000, max_flows=8), []
    fill(store, 0, flow)
    assert len(flow) == 2, "half of four"
    store.unqueue(0)
    assert store.queued_pkts == 1


def test_copies_take_no_room_from_queues_but_fill_what_they_leave() -> None:
    store = PacketStore(3000, max_flows=1000)
    store.kept_bytes = 2000
    assert store.admits(3000, flow_bytes=0, flow_pkts=0)
    assert not store.lacks_bytes(1000)
    assert store.lacks_bytes(1001)


@CALM
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1500)), max_size=200))
def test_the_bounds_hold_whatever_arrives(arrivals: list[tuple[int, int]]) -> None:
    store, queues = PacketStore(20_000, max_flows=60), {number: [] for number in range(6)}
    for number, payload_bytes in arrivals:
        queue: list[int] = queues[number]
        if store.admits(payload_bytes, flow_bytes=sum(queue), flow_pkts=len(queue)):
            queue.append(payload_bytes)
            store.queue(payload_bytes)
        elif queue:
            store.unqueue(queue.pop(0))
    assert store.queued_bytes == sum(map(sum, queues.values())) <= 20_000
    assert store.queued_pkts == sum(map(len, queues.values())) <= 30
