"""Adaptive pacing of the link layer: how long, after which frames."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hook_shell import CALM, DOWN, UP, data, pure_ack
from hypothesis import given
from hypothesis import strategies as st
from link_shell import B, seen, sent, tell

from pacelab.pacer.core.contract import Forward, SetExtraBackoff
from pacelab.pacer.core.link_red.link_red import TIMINGS, ExtraBackoff, LinkPacing, LinkTiming
from pacelab.pacer.core.segment import Segment


@pytest.mark.parametrize(
    ("timing", "packet_bytes", "rate_bps", "exchange_us", "slots"),
    [
        # 352 RTS + 304 CTS + (192 + 1534 x 4) DATA + 304 ACK + 3 x 10 SIFS; 20 us a slot
        (B, 1500, 2_000_000, 7318, 366),
        (B, 40, 2_000_000, 1478, 74),
        (replace(B, rts=False), 1500, 2_000_000, 6642, 333),
        # symbols of 4 us, at 54 Mbit/s 216 bits each: 20 + 57 x 4 DATA; RTS 8 symbols, CTS and ACK 6, at 24 bits each
        (TIMINGS["802.11a"], 1500, 54_000_000, 52 + 44 + 248 + 44 + 3 * 16, 49),
        # g: 6 us of signal extension on each of the four frames, 6 us less in each of the three gaps
        (TIMINGS["802.11g"], 1500, 54_000_000, 52 + 44 + 248 + 44 + 4 * 6 + 3 * 10, 50),
    ],
)
def test_extra_backoff_is_the_exchange_of_the_frame(
    timing: LinkTiming, packet_bytes: int, rate_bps: int, exchange_us: int, slots: int
) -> None:
    assert timing.exchange_ns(packet_bytes, rate_bps) == exchange_us * 1000
    assert timing.exchange_slots(packet_bytes, rate_bps) == slots


def test_frame_that_finds_the_node_idle_is_not_held_up() -> None:
    hook, first = LinkPacing(ExtraBackoff(B)), data(UP, 0)
    # forwarded with the extra backoff still 0: its own first backoff is drawn before the change
    assert tell(hook, seen(first)) == [Forward(first.handle), SetExtraBackoff(366)]
    assert tell(hook, sent(first)) == [SetExtraBackoff(0)]


def test_each_frame_is_followed_by_its_own_time() -> None:
    hook, first, ack, last = LinkPacing(ExtraBackoff(B)), data(UP, 0), pure_ack(DOWN, 7), data(UP, 1460)
    tell(hook, seen(first))
    assert tell(hook, seen(ack)) == [Forward(ack.handle)]
    assert tell(hook, seen(last)) == [Forward(last.handle)]
    assert tell(hook, sent(first)) == [SetExtraBackoff(74)]
    assert tell(hook, sent(ack, 7, delivered=False)) == [SetExtraBackoff(366)]
    assert tell(hook, sent(last)) == [SetExtraBackoff(0)]
    assert hook.counters() == {"paced": 2}


def test_frames_that_the_queue_lost_are_forgotten() -> None:
    hook, lost, small = LinkPacing(ExtraBackoff(B)), data(UP, 0), pure_ack(DOWN, 7)
    tell(hook, seen(lost))
    tell(hook, seen(small))
    assert tell(hook, sent(small)) == [SetExtraBackoff(0)]


def test_backoff_by_the_clock_says_so() -> None:
    hook, first = LinkPacing(ExtraBackoff(B, wall_clock=True)), data(UP, 0)
    assert tell(hook, seen(first)) == [Forward(first.handle), SetExtraBackoff(366, wall_clock=True)]


def test_frame_of_another_origin_changes_nothing() -> None:
    hook, mine = LinkPacing(ExtraBackoff(B)), data(UP, 0)
    tell(hook, seen(mine))
    assert tell(hook, sent(data(UP, 1460))) == []


def test_unknown_path_is_not_paced() -> None:
    hook, lone = LinkPacing(ExtraBackoff(B)), data(UP, 0)
    assert tell(hook, seen(lone, ())) == [Forward(lone.handle)]
    assert tell(hook, sent(lone)) == []
    assert hook.counters() == {"paced": 0}


def test_clock_does_nothing() -> None:
    hook = LinkPacing(ExtraBackoff(B))
    hook.handle_timeout(5)
    assert hook.deadline() is None


@CALM
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 1460)), max_size=60))
def test_backoff_follows_the_head_of_the_queue(steps: list[tuple[bool, int]]) -> None:
    hook, queue, slots = LinkPacing(ExtraBackoff(B)), list[Segment](), 0
    for arrives, payload in steps:
        if arrives:
            queue.append(data(UP, 0, payload))
            forward, *rest = tell(hook, seen(queue[-1]))
            assert forward == Forward(queue[-1].handle)
        elif queue:
            rest = tell(hook, sent(queue.pop(0)))
        else:
            continue
        for action in rest:
            assert isinstance(action, SetExtraBackoff)
            assert action.slots != slots
            slots = action.slots
        # 990 us around the data at 4 us a byte (8 bits at 2 Mbit/s), preamble 192 us, 74 bytes of headers
        assert slots == (-(-(990 + 192 + 4 * (74 + queue[0].payload_bytes)) // 20) if queue else 0)


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [("slot_ns", 0, "a positive number"), ("basic_rate_bps", -1, "a positive number"), ("preamble_ns", -1, "0 or")],
)
def test_timing_names_what_is_wrong(field: str, value: int, allowed: str) -> None:
    with pytest.raises(ValueError, match=f"{field} is {value}: allowed is {allowed}"):
        replace(B, **{field: value})
