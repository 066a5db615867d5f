"""RTO = SRTT + 4 RTTVAR by hand; the floor is 200 ms."""

from __future__ import annotations

from pacelab.pacer.core.tcp_gap.pace_estimator import RoundTripTimeout
from tests.pacer.hook_shell import MS, S


def after(*rtts_ms: int) -> RoundTripTimeout:
    """Fed with round trips that end a second apart, from 1 s on."""
    timeout = RoundTripTimeout(200 * MS)
    for number, rtt_ms in enumerate(rtts_ms, start=1):
        assert not timeout.is_late(number * S, rtt_ms * MS)
    return timeout


def test_bound_follows_the_round_trips() -> None:
    assert after(100).is_late(9 * S, 301 * MS)  # 100 + 4 x 50
    assert not after(100).is_late(9 * S, 300 * MS)
    assert after(100, 300).is_late(9 * S, 476 * MS)  # SRTT 125, RTTVAR 87.5
    assert not after(100, 300).is_late(9 * S, 475 * MS)


def test_bound_has_a_floor() -> None:
    assert after(*[20] * 50).is_late(99 * S, 201 * MS)
    assert not after(*[20] * 50).is_late(99 * S, 200 * MS)


def test_all_that_left_before_the_first_late_ack_is_one_flight() -> None:
    timeout = after(20, 20)
    assert [timeout.is_late(at_ms * MS, rtt_ms * MS) for at_ms, rtt_ms in [(9000, 900), (9010, 260), (9200, 201)]] == [
        True,
        True,
        True,  # left at 8999 ms
    ]


def test_path_that_became_slow_is_believed_after_the_doublings() -> None:
    timeout = after(20, 20, 20)  # RTO 200 ms
    assert timeout.is_late(10 * S, 900 * MS)
    assert timeout.is_late(11 * S, 900 * MS)  # bound 400 ms
    assert timeout.is_late(12 * S, 900 * MS)  # bound 800 ms
    assert not timeout.is_late(13 * S, 900 * MS)  # bound 1600 ms


def test_punctual_round_trip_ends_the_doubling() -> None:
    timeout = after(20, 20, 20)
    timeout.is_late(10 * S, 900 * MS)
    timeout.is_late(11 * S, 900 * MS)
    assert not timeout.is_late(12 * S, 20 * MS)
    assert timeout.is_late(13 * S, 390 * MS)


def test_late_round_trips_do_not_move_the_bound() -> None:
    timeout = after(20, 20, 20)
    for _ in range(20):
        assert timeout.is_late(10 * S, 900 * MS)
    assert not timeout.is_late(11 * S, 20 * MS)
    assert timeout.is_late(12 * S, 201 * MS)
