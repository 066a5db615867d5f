"""CoDel's law on packets that leave at given times; RFC 8289's pseudocode by hand, as in medium/network/src/qdisc."""

from __future__ import annotations

import pytest

from pacelab_pacer.core.pacing.codel import CodelConfig, CodelLaw
from tests.pacer.hook_driver import MS


def drop_times_ms(law: CodelLaw, *, packets: int, every_ms: int) -> list[int]:
    """Drop times for this many packets that all wait from 0 on, with one release per `every_ms`."""
    times, waiting, now_ms = [], packets, 0
    while waiting:
        now_ms += every_ms
        while law.drops(now_ms * MS, now_ms * MS, pkts_behind=waiting - 1):
            times.append(now_ms)
            waiting -= 1
        waiting -= 1
    return times


def test_drops_come_at_intervals_divided_by_the_square_root_of_their_number() -> None:
    # too long from 10 ms on, first drop at 110; then due at 210, 280.7, 338.4, 388.4, 433.2, 474.0, 511.8 ms
    drops = drop_times_ms(CodelLaw(CodelConfig()), packets=100, every_ms=10)
    assert drops[:8] == [110, 210, 290, 340, 390, 440, 480, 520]


def test_a_release_that_comes_late_makes_up_for_several_drops() -> None:
    law = CodelLaw(CodelConfig())
    for at_ms, expected in ((10, 0), (110, 1), (400, 4), (433, 0), (434, 1)):
        drops = 0
        while law.drops(at_ms * MS, at_ms * MS, pkts_behind=50):
            drops += 1
        assert (at_ms, drops) == (at_ms, expected)


def test_two_packets_are_no_standing_queue() -> None:
    law = CodelLaw(CodelConfig())
    assert not any(law.drops(step * 100 * MS, 1000 * MS, pkts_behind=1) for step in range(50))


def test_a_short_wait_ends_the_interval() -> None:
    law = CodelLaw(CodelConfig())
    waits = {10: 50, 100: 4, 120: 50, 200: 50, 219: 50}
    assert not any(law.drops(at * MS, wait * MS, pkts_behind=9) for at, wait in waits.items())
    assert law.drops(220 * MS, 50 * MS, pkts_behind=9)


@pytest.mark.parametrize(
    ("packet_ms", "target_ms", "interval_ms"),
    [(0, 5, 100), (3, 5, 100), (20, 30, 125), (100, 150, 300)],  # 2 x 150 is more than 100 + 145
)
def test_a_slow_pace_raises_target_and_interval(packet_ms: int, target_ms: int, interval_ms: int) -> None:
    law = CodelLaw(CodelConfig())
    law.set_pace(packet_ms * MS)
    assert (law.target_ns, law.interval_ns) == (target_ms * MS, interval_ms * MS)


@pytest.mark.parametrize("bad", [{"target_ns": 0}, {"interval_ns": -1}])
def test_bad_settings_are_refused(bad: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be a whole number of at least 1, not "):
        CodelConfig(**bad)
