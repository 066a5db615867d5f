"""What the engine's records say: spans, what came of a reception, where something happens."""

from __future__ import annotations

from typing import Any

from pacelab.show.airlog import AirLog, Backoff, Frame, Hearing, Hold, Mark, find_window, read_records

COLLISION: list[list[Any]] = [
    [0, 0, "backoff", None, 5],
    [150_000, 0, "send-rts", 1, 352_000],
    [151_000, 1, "lock", 0, 503_000],
    [200_000, 2, "send-rts", 1, 352_000],
    [201_000, 1, "collide", 2, 0],
    [553_000, 1, "garbled", 2, 0],
    [553_000, 1, "eifs", None, 917_000],
    [820_000, 0, "retry", 1, 1],
    [820_000, 0, "backoff", None, 40],
    [1_700_000, 0, "send-rts", 1, 352_000],
    [1_701_000, 1, "lock", 0, 2_053_000],
    [2_053_000, 1, "decode", 0, 0],
]
"""n0 and n2 send an RTS to n1 at nearly the same time; n0 tries again."""


def test_frames_last_as_long_as_their_airtime() -> None:
    assert read_records(COLLISION).frames[:2] == [
        Frame(node=0, peer=1, kind="RTS", start_ns=150_000, end_ns=502_000),
        Frame(node=2, peer=1, kind="RTS", start_ns=200_000, end_ns=552_000),
    ]


def test_a_reception_knows_who_destroyed_it_and_when() -> None:
    assert read_records(COLLISION).hearings == [
        Hearing(node=1, peers=(0, 2), start_ns=151_000, end_ns=553_000, decoded=False, collided_ns=201_000),
        Hearing(node=1, peers=(0,), start_ns=1_701_000, end_ns=2_053_000, decoded=True, collided_ns=None),
    ]


def test_backoffs_end_when_the_node_sends() -> None:
    assert read_records(COLLISION).backoffs == [
        Backoff(node=0, slots=5, start_ns=0, end_ns=150_000),
        # 40 slots of 20 us after a DIFS of 50 us: 850 us, and it sent 880 us after the draw
        Backoff(node=0, slots=40, start_ns=820_000, end_ns=1_670_000),
    ]


def test_a_backoff_stands_still_while_a_frame_is_heard() -> None:
    records: list[list[Any]] = [
        [0, 0, "backoff", None, 10],
        [100_000, 0, "lock", 1, 400_000],
        [400_000, 0, "decode", 1, 0],
        [5_000_000, 0, "send-rts", 1, 352_000],
    ]
    # 50 us DIFS, 2 whole slots until 100 us; from 400 us a DIFS and the other 8 slots
    assert read_records(records).backoffs == [Backoff(node=0, slots=10, start_ns=0, end_ns=610_000)]


def test_a_reception_that_the_node_spoiled_by_sending_ends_as_announced() -> None:
    records: list[list[Any]] = [[0, 0, "lock", 1, 100_000], [50_000, 0, "send-cts", 1, 304_000]]
    (hearing,) = read_records(records).hearings
    assert (hearing.end_ns, hearing.decoded, hearing.collided_ns) == (100_000, False, None)


def test_holds_that_overlap_become_one() -> None:
    records: list[list[Any]] = [
        [0, 3, "nav", None, 500],
        [100, 3, "nav", None, 400],
        [300, 3, "nav", None, 900],
        [1_000, 3, "nav", None, 1_100],
        [1_050, 3, "eifs", None, 1_200],
        [2_000, 3, "nav", None, 2_000],
    ]
    assert read_records(records).holds == [
        Hold(node=3, kind="NAV", start_ns=0, end_ns=900),
        Hold(node=3, kind="NAV", start_ns=1_000, end_ns=1_100),
        Hold(node=3, kind="EIFS", start_ns=1_050, end_ns=1_200),
    ]


def test_mishaps_become_marks() -> None:
    assert read_records(COLLISION).marks == [Mark(node=0, kind="retry", at_ns=820_000, peer=1, count=1)]


def test_the_window_holds_the_first_collision_that_cost_a_frame() -> None:
    # 4 * 352 us and 10 * 300 us; the collision at 0.151 ms is too early for a lead
    assert find_window(read_records(COLLISION)) == (0, 4_408_000)


def test_a_collision_of_other_peoples_frames_is_not_the_event() -> None:
    records: list[list[Any]] = [
        [10_000_000, 0, "send-rts", 9, 352_000],
        [10_000_000, 2, "send-rts", 8, 352_000],
        [10_001_000, 1, "lock", 0, 10_353_000],
        [10_001_500, 1, "collide", 2, 0],
        [10_353_500, 1, "garbled", 2, 0],
        [20_000_000, 3, "capture", 4, 0],
    ]
    # the capture at 20 ms, 30 % of 4.408 ms before it, down to 0.1 ms
    assert find_window(read_records(records)) == (18_600_000, 23_008_000)


def test_nothing_recorded_is_an_empty_log() -> None:
    assert read_records([]) == AirLog()
    assert find_window(AirLog()) == (0, 7_000_000)
