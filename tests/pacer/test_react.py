"""`react` is the rest of the contract in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hook_shell import DOWN, FOUR_HOPS, MS, data, pure_ack

from pacelab.pacer.core.candidates.data_pacing import DataPacing, DataPacingConfig
from pacelab.pacer.core.contract import Event, Forward, Point, SegmentSeen, TransmitResult
from pacelab.pacer.core.link_red.link_red import TIMINGS, ExtraBackoff, LinkPacing, LinkRed, LinkRedConfig
from pacelab.pacer.core.pacing.pacing_hook import PacingHook
from pacelab.pacer.core.tcp_gap.gateway import TcpGapGateway


def gateway_events() -> Iterator[tuple[int, Event | None]]:
    """Pairs of packets, so that the second waits; the clock; their ACK."""
    for number in range(5):
        now_ns, seq = 200 * number * MS, 2920 * number
        yield now_ns, SegmentSeen(Point.WIRED_TO_AIR, data(DOWN, seq), FOUR_HOPS)
        yield now_ns, SegmentSeen(Point.WIRED_TO_AIR, data(DOWN, seq + 1460), FOUR_HOPS)
        yield now_ns + 100 * MS, None
        yield now_ns + 150 * MS, SegmentSeen(Point.AIR_TO_WIRED, pure_ack(DOWN, seq + 2920), FOUR_HOPS)


def link_events() -> Iterator[tuple[int, Event | None]]:
    for number in range(5):
        segment = data(DOWN, 1460 * number)
        yield number, SegmentSeen(Point.LINK, segment, FOUR_HOPS)
        yield number, TransmitResult(segment, 4, True, 1)
        yield number, None


def link_red() -> LinkRed:
    return LinkRed(LinkRedConfig(), lambda: 0.01, ExtraBackoff(TIMINGS["802.11b"]))


@pytest.mark.parametrize(
    ("make", "events", "least"),
    [
        (TcpGapGateway, gateway_events, 15),
        (lambda: DataPacing(DataPacingConfig()), gateway_events, 15),
        (link_red, link_events, 5),
        (lambda: LinkPacing(ExtraBackoff(TIMINGS["802.11b"])), link_events, 6),
    ],
    ids=["tcp-gap", "data-pacing", "lred", "link-pacing"],
)
def test_react_gives_what_the_single_calls_give(
    make: Callable[[], Any], events: Callable[[], Iterator[tuple[int, Event | None]]], least: int
) -> None:
    one, other = make(), make()
    seen = 0
    for now_ns, event in events():
        actions, at_ns = one.react(now_ns, event)
        if event is None:
            other.handle_timeout(now_ns)
        else:
            other.handle(now_ns, event)
        expected = []
        while (action := other.poll_action()) is not None:
            expected.append(action)
        assert [Forward(action) if isinstance(action, int) else action for action in actions] == expected
        assert at_ns == (None if other.deadline() is None else other.deadline()[0])
        seen += len(actions)
    assert seen >= least
    assert one.counters() == other.counters()


@pytest.mark.parametrize(
    ("hook", "shares"),
    [(TcpGapGateway(), False), (DataPacing(DataPacingConfig()), True)],
    ids=["tcp-gap", "data-pacing"],
)
def test_hook_says_whether_one_pace_is_for_all(hook: PacingHook[Any], shares: bool) -> None:
    assert hook.shares_pace is shares
