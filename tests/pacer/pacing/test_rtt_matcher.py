from __future__ import annotations

from hook_shell import DOWN, data

from pacelab.pacer.core.pacing.rtt_matcher import RttMatcher

SPACE = 1 << 32


def test_each_ack_yields_its_segment() -> None:
    matcher = RttMatcher()
    matcher.released(1000, data(DOWN, 0, 100))
    matcher.released(1500, data(DOWN, 100, 200))
    assert matcher.acknowledged(4000, 100) == (3000, 140)
    assert matcher.acknowledged(4100, 300) == (2600, 240)
    assert matcher.acknowledged(4200, 300) is None


def test_delayed_ack_measures_the_newest_covered_segment() -> None:
    matcher = RttMatcher()
    matcher.released(1000, data(DOWN, 0, 100))
    matcher.released(1500, data(DOWN, 100, 200))
    matcher.released(1900, data(DOWN, 300, 100))
    assert matcher.acknowledged(4000, 300) == (2500, 240)
    assert len(matcher) == 1


def test_partly_covered_segment_yields_nothing() -> None:
    matcher = RttMatcher()
    matcher.released(0, data(DOWN, 0, 100))
    assert matcher.acknowledged(10, 99) is None


def test_karn_no_sample_until_an_ack_beyond_the_retransmission() -> None:
    matcher = RttMatcher()
    for i in range(4):
        matcher.released(i, data(DOWN, i * 100, 100))
    assert matcher.acknowledged(50, 100) == (50, 140)
    matcher.released(60, data(DOWN, 100, 100))  # again
    assert matcher.acknowledged(90, 300) is None  # covers the repaired octets
    assert matcher.acknowledged(95, 400) == (92, 140)


def test_karn_holds_for_partial_acks_of_several_retransmissions() -> None:
    matcher = RttMatcher()
    for i in range(4):
        matcher.released(i, data(DOWN, i * 100, 100))
    matcher.retransmitted(100)
    matcher.retransmitted(300)
    matcher.retransmitted(200)
    assert [matcher.acknowledged(50, ack) for ack in (100, 200, 300)] == [None, None, None]
    assert matcher.acknowledged(60, 400) == (57, 140)


def test_sequence_numbers_wrap() -> None:
    matcher = RttMatcher()
    matcher.released(0, data(DOWN, SPACE - 100, 100))
    matcher.released(5, data(DOWN, 0, 100))
    assert matcher.acknowledged(20, 0) == (20, 140)
    matcher.released(30, data(DOWN, SPACE - 100, 100))  # old octets from before the wrap
    assert matcher.highest_end == 100
    assert matcher.acknowledged(40, 100) is None
    matcher.released(50, data(DOWN, 100, 100))
    assert matcher.acknowledged(60, 200) == (10, 140)


def test_ack_beyond_the_wrap_covers_segments_before_it() -> None:
    matcher = RttMatcher()
    matcher.released(0, data(DOWN, SPACE - 200, 100))
    matcher.released(5, data(DOWN, SPACE - 100, 150))
    assert matcher.acknowledged(25, 50) == (20, 190)
    assert len(matcher) == 0


def test_memory_is_bounded_and_keeps_the_newest() -> None:
    matcher = RttMatcher(limit=3)
    for i in range(10):
        matcher.released(i, data(DOWN, i * 100, 100))
    assert len(matcher) == 3
    assert matcher.acknowledged(100, 800) == (93, 140)
