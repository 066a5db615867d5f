"""ACKs that wait only for a segment that is due."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelab_pacer.core.contract import Event, EventMask, Point, TransmitResult
from pacelab_pacer.core.expect.expected_ack import ExpectedAck, ExpectedAckConfig
from pacelab_pacer.core.null import NullHook
from pacelab_pacer.core.segment import RST, SYN, FlowKey, seq_diff
from tests.pacer.hook_driver import CALM, DOWN, MS, UP, Driver, S, data, pure_ack

OUT = Point.LOCAL_OUT
QUICK = ExpectedAckConfig(settle=1, most=3)
"""Groups of 1, 2, 3, 3, ... as long as segments arrive in time."""


def driver(config: ExpectedAckConfig = QUICK) -> Driver:
    return Driver(ExpectedAck(NullHook(), config))


def acks(run: Driver) -> list[tuple[float, int]]:
    """Time in ms and number of the forwarded ACKs."""
    return [(sent.at_ns / MS, sent.segment.ack) for sent in run.sent if sent.segment.is_pure_ack]


def steadily(run: Driver, numbers: range, *, gap_ms: int = 10) -> None:
    """An ACK every `gap_ms`, each for 1000 further octets, the first one now."""
    for number in numbers:
        run.see(OUT, pure_ack(DOWN, number * 1000))
        run.run_until(run.now_ns + gap_ms * MS)


def test_groups_grow_by_one_up_to_the_most() -> None:
    run = driver()
    steadily(run, range(1, 13))
    # The first ACK starts the count and passes; then groups of 1, 2, 3, 3 are full at the 2nd, 4th, 7th and 10th.
    assert acks(run) == [(0, 1000), (10, 2000), (30, 4000), (60, 7000), (90, 10_000)]
    assert [reason for _segment, reason in run.dropped] == ["a newer ACK stands for it"] * 6
    run.check_conservation()


def test_groups_settle_before_they_grow() -> None:
    run = driver(ExpectedAckConfig(settle=2, most=4))
    steadily(run, range(1, 12))
    # Groups 1 | 1 1 2 2 3 ...: full at 2, 3, 5, 7, 10.
    assert [ack for _at, ack in acks(run)] == [1000, 2000, 3000, 5000, 7000, 10_000]


def test_an_ack_goes_when_the_next_segment_is_overdue() -> None:
    run = driver()
    steadily(run, range(1, 6))
    # The 5th, at 40 ms, is the first of a group of 3. The mean gap is 10 ms, so it waits for 2 x 10.
    assert run.hook.deadline() == (60 * MS, "ACK")
    run.run_until(S)
    assert acks(run)[-1] == (60, 5000)
    assert run.hook.counters() == {"acks_suppressed": 1, "acks_overdue": 1}
    assert run.hook.deadline() is None


def test_a_group_cut_short_sets_the_size_of_the_next() -> None:
    """A window of one segment: after one wait its ACKs pass at once until groups may grow again."""
    run = driver(ExpectedAckConfig(settle=3, most=4))
    steadily(run, range(1, 5))  # groups of 1 | 1 1 1: now they may be of 2
    run.see(OUT, pure_ack(DOWN, 5000))
    run.run_until(100 * MS)  # it arrived at 40 ms and waited until 60
    steadily(run, range(6, 9))
    assert acks(run)[4:] == [(60, 5000), (100, 6000), (110, 7000), (120, 8000)]
    assert run.held == {}


def test_a_long_gap_counts_for_at_most_one_and_a_half() -> None:
    run = driver(ExpectedAckConfig(settle=1, most=4, longest_ns=S))
    steadily(run, range(1, 3))
    run.run_until(500 * MS)
    run.see(OUT, pure_ack(DOWN, 3000))
    # mean gap 10 + (1.5 x 10 - 10) / 8 = 10.625 ms, and twice that to wait
    assert run.hook.deadline() == (521_250_000, "ACK")


def test_no_ack_waits_longer_than_the_longest() -> None:
    run = driver(ExpectedAckConfig(settle=1))
    steadily(run, range(1, 4), gap_ms=80)  # held at 160 ms; two gaps would be 160 ms more
    run.run_until(S)
    assert acks(run)[-1] == (260, 3000)


def test_a_duplicate_goes_at_once_behind_what_waits() -> None:
    run = driver()
    steadily(run, range(1, 6))
    run.see(OUT, pure_ack(DOWN, 5000))
    run.see(OUT, pure_ack(DOWN, 5000))
    assert acks(run)[-3:] == [(50, 5000)] * 3
    # The ACK that ends the hole also goes at once. The next one waits.
    run.see(OUT, pure_ack(DOWN, 9000))
    assert acks(run)[-1] == (50, 9000)
    run.see(OUT, pure_ack(DOWN, 10_000))
    assert acks(run)[-1] == (50, 9000)
    run.check_conservation()


def test_data_and_fin_do_not_overtake_an_ack_that_waits() -> None:
    run = driver()
    run.see(OUT, data(UP._replace(sport=1), 0))  # of a flow without ACKs so far
    steadily(run, range(1, 6))
    run.see(OUT, data(DOWN.reversed(), 0, ack=5000))
    assert [sent.segment.payload_bytes for sent in run.sent[-2:]] == [0, 1460]
    assert run.held == {}


@pytest.mark.parametrize("flag", [SYN, RST])
def test_a_new_connection_starts_afresh(flag: int) -> None:
    run = driver()
    steadily(run, range(1, 6))
    run.see(OUT, data(DOWN.reversed(), 0, 0, flags=flag))
    run.see(OUT, pure_ack(DOWN, 77))
    run.see(OUT, pure_ack(DOWN, 1077))
    assert [ack for _at, ack in acks(run)][-2:] == [77, 1077]


def test_acks_from_the_air_and_other_protocols_pass() -> None:
    run = driver()
    for number in range(1, 8):
        run.see(Point.AIR_TO_WIRED, pure_ack(DOWN, number * 1000))
        run.see(Point.LOCAL_IN, pure_ack(UP, number * 1000))
    assert len(run.sent) == 14
    run.see(OUT, pure_ack(DOWN, 1000)._replace(protocol=17))
    assert len(run.sent) == 15


def test_flows_do_not_share_a_group() -> None:
    run = driver()
    other = DOWN._replace(sport=81)
    for number in range(1, 5):
        run.see(OUT, pure_ack(DOWN, number * 1000))
        run.see(OUT, pure_ack(other, number * 1000))
        run.run_until(run.now_ns + 10 * MS)
    assert [ack for _at, ack in acks(run)] == [1000, 1000, 2000, 2000, 4000, 4000]


class Listener(NullHook):
    """Records the events of the hook behind; asks for one wake-up."""

    event_mask = EventMask.SEGMENT | EventMask.TRANSMIT

    def __init__(self, at_ns: int) -> None:
        super().__init__()
        self.at_ns: int | None = at_ns
        self.events: list[Event] = []

    def handle(self, now_ns: int, event: Event) -> None:
        self.events.append(event)
        super().handle(now_ns, event)

    def deadline(self) -> tuple[int, str] | None:
        return None if self.at_ns is None else (self.at_ns, "behind")

    def handle_timeout(self, now_ns: int) -> None:
        if self.at_ns is not None and now_ns >= self.at_ns:
            self.at_ns = None

    def counters(self) -> dict[str, int]:
        return {"events": len(self.events)}


def test_the_hook_behind_hears_what_goes_and_keeps_its_clock() -> None:
    behind = Listener(15 * MS)
    hook = ExpectedAck(behind, QUICK)
    run = Driver(hook)
    assert hook.event_mask == EventMask.SEGMENT | EventMask.TRANSMIT
    assert hook.deadline() == (15 * MS, "behind")
    steadily(run, range(1, 4))  # the third, at 20 ms, waits
    assert behind.at_ns is None
    behind.at_ns = 35 * MS
    assert hook.deadline() == (35 * MS, "behind")
    run.run_until(36 * MS)
    assert hook.deadline() == (40 * MS, "ACK")
    behind.at_ns = 50 * MS
    assert hook.deadline() == (40 * MS, "ACK")
    hook.handle(run.now_ns, TransmitResult(data(UP, 0), 1, True))
    assert hook.counters() == {"events": 3, "acks_suppressed": 0, "acks_overdue": 0}
    run.run_until(60 * MS)
    assert len(behind.events) == 4


def test_further_flows_than_the_most_pass() -> None:
    run = driver(ExpectedAckConfig(settle=1, max_flows=1))
    steadily(run, range(1, 4))
    other = DOWN._replace(sport=81)
    assert len(run.held) == 1  # the known flow holds an ACK and stays
    for number in range(1, 6):
        run.see(OUT, pure_ack(other, number * 1000))
    assert [s.segment.ack for s in run.sent if s.segment.flow == other.reversed()] == [1000, 2000, 3000, 4000, 5000]
    run.run_until(S)
    run.see(OUT, pure_ack(other, 6000))  # now it leaves because of the newer one
    run.see(OUT, pure_ack(DOWN, 4000))
    assert len(run.held) == 0


def test_ten_thousand_flows_are_bounded() -> None:
    run = driver(ExpectedAckConfig(settle=1, max_flows=1000))
    started = time.process_time()
    for number in range(3):
        for port in range(10_000):
            run.see(OUT, pure_ack(FlowKey(100, 1, port, 5), 1000 * (number + 1)))
        run.run_until(run.now_ns + 10 * MS)
    assert len(run.held) <= 1000
    run.run_until(S)
    assert run.held == {}
    assert time.process_time() - started < 10  # a fraction of a second; a search per ACK would take minutes


@CALM
@given(st.lists(st.tuples(st.integers(0, 120), st.integers(0, 2)), max_size=80))
def test_the_newest_number_always_goes_in_time_and_numbers_never_fall(steps: list[tuple[int, int]]) -> None:
    run = driver(ExpectedAckConfig(settle=1))
    ack = 2**32 - 5000
    came: dict[int, int] = {}
    for wait_ms, advance in steps:
        run.run_until(run.now_ns + wait_ms * MS)
        ack = (ack + 1000 * advance) % 2**32
        came[ack] = came.get(ack, run.now_ns)
        run.see(OUT, pure_ack(DOWN, ack))
        assert len(run.held) <= 1
    run.run_until(run.now_ns + S)
    told = [(sent.at_ns, sent.segment.ack) for sent in run.sent]
    assert all(seq_diff(later[1], earlier[1]) >= 0 for earlier, later in pairwise(told))
    for number, at_ns in came.items():
        assert any(seq_diff(said, number) >= 0 and at <= at_ns + 4 * 100 * MS for at, said in told)
    run.check_conservation()
    assert run.held == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [("most", 0), ("settle", 0), ("patience", 0.0), ("outlier", 1.0), ("longest_ns", 0), ("max_flows", 0)],
)
def test_a_setting_out_of_range_is_named(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        ExpectedAckConfig(**{name: value})
