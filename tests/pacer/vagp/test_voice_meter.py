"""One direction of a call, packet by packet: one each 20 ms, 10 ms under way, a playout buffer of 60 ms."""

from __future__ import annotations

from collections.abc import Iterable

from hook_shell import CALM, MS, S
from hypothesis import given
from hypothesis import strategies as st

from pacelab.pacer.core.segment import Rtp
from pacelab.pacer.core.vagp.quality_evaluator import MAX_PACKETS, VoiceCounts, VoiceMeter

WINDOW = 500 * MS
SILENCE = 100 * MS


def arrive(meter: VoiceMeter, number: int, delay_ms: int = 10) -> int:
    """Hands packet `number` over; when it came, in ns."""
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
    # as medium/network/src/voice.rs has it: packets 1 to 44 of 110 ms are late; 45 comes 1000 ms after the first one
    meter = heard([0])
    for number in range(1, 45):
        arrive(meter, number, 110)
    assert counts(meter, 990)[2] == 25
    arrive(meter, 45, 110)
    arrive(meter, 46, 167)  # 107.8 + 60
    assert counts(meter, 1087, 100)[:3] == (3, 0, 1)  # packet 44, of 990 ms
    arrive(meter, 47, 168)
    assert counts(meter, 1108, 100)[:3] == (3, 0, 1)


def test_what_arrives_twice_counts_once() -> None:
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
    assert counts(meter, 600, 1000)[:2] == (17, 14)  # silent both ways since 300: over at 400
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


def test_first_packet_alone_tells_no_interval() -> None:
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
    """Hostile numbers and times: memory bounded, nothing below zero, no share above 1."""
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
