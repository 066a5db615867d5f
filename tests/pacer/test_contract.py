"""The contract: the hook that does nothing, `react`, properties of every pacing hook, and calls per packet."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pacelab_pacer.core
from pacelab_pacer import native
from pacelab_pacer.core.candidates.ack_control import AckPacing, AckPacingConfig, WindowControl, WindowControlConfig
from pacelab_pacer.core.candidates.data_pacing import DataPacing, DataPacingConfig, FixedRateConfig, FixedRatePacer
from pacelab_pacer.core.contract import Event, Forward, Hook, Point, SegmentSeen, TransmitResult
from pacelab_pacer.core.expect.expected_ack import PACE, ExpectedAck
from pacelab_pacer.core.link_red.link_pacing import ExtraBackoff, LinkPacing
from pacelab_pacer.core.link_red.link_red import LinkRed, LinkRedConfig
from pacelab_pacer.core.link_red.link_timing import TIMINGS
from pacelab_pacer.core.null import NullHook
from pacelab_pacer.core.pacing.paced_flow import FlowTableConfig
from pacelab_pacer.core.pacing.pacing_hook import PacingHook
from pacelab_pacer.core.segment import ACK, FIN, RST, SYN, seq_diff
from pacelab_pacer.core.tcp_ap.hooks import TcpApSender
from pacelab_pacer.core.tcp_gap.gateway import TcpGapGateway, TcpGapGatewayConfig
from pacelab_pacer.core.tcp_gap.sender import TcpGapSender, TcpGapSenderConfig
from pacelab_pacer.core.vagp.bandwidth_controller import BandwidthConfig
from pacelab_pacer.core.vagp.equations import Reading
from pacelab_pacer.core.vagp.gateway import Vagp, VagpConfig
from tests.pacer.hook_driver import CALM, DOWN, FOUR_HOPS, MS, UP, Driver, S, data, pure_ack

# The null hook keeps the contract and changes nothing.


def test_every_segment_passes_at_once_and_nothing_else_happens() -> None:
    driver = Driver(NullHook())
    first = data(DOWN, 0)
    driver.see(Point.WIRED_TO_AIR, first)
    driver.hook.handle(0, TransmitResult(first, 3, True, 1))
    driver.run_until(S)
    driver.timeout()
    assert [sent.segment for sent in driver.sent] == [first]
    assert driver.hook.poll_action() is None
    assert driver.hook.deadline() is None
    assert driver.hook.counters() == {}


# `react` combines the rest of the contract in one call.


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
        actions, at_ns = one.react(now_ns, event) or ([], None)
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
def test_hook_reports_whether_one_pace_is_for_all(hook: PacingHook[Any], shares: bool) -> None:
    assert hook.shares_pace is shares


# A packet's path through the core: a reader follows it, and a run pays for it per packet.

CORE = str(Path(pacelab_pacer.core.__file__).parent)
ROUNDS = 60
"""More than the number of samples in the variation."""


def calls(hook: Hook, now_ns: int, event: SegmentSeen) -> list[tuple[str, str]]:
    """(file, function) of every call into the core, from `handle` to the last `poll_action`."""
    seen: list[tuple[str, str]] = []

    def note(frame: FrameType, what: str, _: object) -> None:
        if what == "call" and frame.f_code.co_filename.startswith(CORE):
            seen.append((frame.f_code.co_filename, frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        hook.handle(now_ns, event)
        while hook.poll_action() is not None:
            pass
    finally:
        sys.setprofile(before)
    return seen


def test_a_packet_of_tcp_gap_takes_few_calls_over_few_files(request: pytest.FixtureRequest) -> None:
    if native.is_compiled():  # compiled code reports no calls
        again = [sys.executable, "-m", "pytest", f"{__file__}::{request.node.name}"]
        subprocess.run(again, env={**os.environ, "PACELAB_INTERPRETED": "1"}, check=True)
        return
    hook, now_ns, seq = TcpGapGateway(), 0, 0
    for number in range(ROUNDS):
        outward = calls(hook, now_ns, SegmentSeen(Point.WIRED_TO_AIR, data(DOWN, seq), FOUR_HOPS))
        seq += 1460
        now_ns += (30 + number % 3) * MS
        inward = calls(hook, now_ns, SegmentSeen(Point.AIR_TO_WIRED, pure_ack(DOWN, seq), FOUR_HOPS))
        now_ns += 60 * MS  # longer than the pace: the next packet goes at once
    counters = hook.counters()
    assert (counters["paced"], counters["delayed"], counters["rtt_samples"]) == (ROUNDS, 0, ROUNDS)
    assert 0 < len(outward) <= 12, outward
    assert len({file for file, _ in outward}) <= 5, outward
    assert 0 < len(inward) <= 16, inward
    assert len({file for file, _ in inward}) <= 7, inward


# Properties of every pacing hook for any events in any order.

TABLE = FlowTableConfig(idle_timeout_ns=2 * S, max_flows=3)

HOOKS: dict[str, Callable[[], Hook]] = {
    "gateway": lambda: TcpGapGateway(
        TcpGapGatewayConfig(table=TABLE, buffer_bytes=30_000, assumed_window_bytes=12_000)
    ),
    "gateway, no control": lambda: TcpGapGateway(TcpGapGatewayConfig(goodput_control=None, forward_duplicates=True)),
    "expected ACK gateway": lambda: ExpectedAck(TcpGapGateway(TcpGapGatewayConfig(table=TABLE, pace=PACE))),
    "expected ACK station": lambda: ExpectedAck(TcpGapSender(TcpGapSenderConfig(table=TABLE, pace=PACE))),
    "sender": lambda: TcpGapSender(TcpGapSenderConfig(table=TABLE, queue_limit_bytes=8000)),
    "tcp-ap": lambda: TcpApSender(hops=6),
    "fixed rate": lambda: FixedRatePacer(FixedRateConfig(rate_bps=500_000.0, table=TABLE)),
    "data pacing gateway": lambda: DataPacing(
        DataPacingConfig(rate_bps=500_000.0, table=TABLE, queue_limit_bytes=8000)
    ),
    "ACK pacing gateway": lambda: AckPacing(AckPacingConfig(rate_bps=500_000.0, table=TABLE, queue_limit_pkts=4)),
    "window control gateway": lambda: WindowControl(WindowControlConfig(window_pkts=3, table=TABLE)),
    "vagp gateway": lambda: Vagp(VagpConfig(table=TABLE, buffer_bytes=30_000, assumed_window_bytes=12_000)),
    "vagp gateway, all fit": lambda: Vagp(VagpConfig(bandwidth=BandwidthConfig(reading=Reading.PRINTED))),
}
INJECTING = {"vagp gateway", "vagp gateway, all fit"}

STEP = st.tuples(
    st.sampled_from(["out", "out", "out", "again", "ack", "ack", "fin", "rst", "syn", "wait", "sleep", "timeout"]),
    st.integers(0, 3),  # which flow
    st.integers(0, 400),  # ms to wait, or how much to acknowledge
    st.booleans(),  # at a gateway: from the wired side
)


class Chaos:
    """Four flows in each direction, near the wrap of the sequence space, with any events at any time."""

    def __init__(self, hook: Hook, *, gateway: bool, may_inject: bool) -> None:
        self.driver = Driver(hook, may_inject=may_inject)
        self.gateway = gateway
        self.next_seq: dict[tuple[int, bool], int] = {}

    def step(self, action: str, number: int, amount: int, wired: bool) -> None:
        driver = self.driver
        if action == "wait":
            driver.run_until(driver.now_ns + amount * 10 * MS)
            return
        if action == "sleep":
            driver.skip_to(driver.now_ns + amount * MS)
            return
        if action == "timeout":
            driver.timeout()
            return
        outward, inward = self.points(wired)
        flow = (DOWN if self.gateway and wired else UP)._replace(sport=number)
        seq = self.next_seq.setdefault((number, wired), 2**32 - 2000)
        if action in ("out", "again"):
            first = seq if action == "out" else (seq - 1460) % 2**32
            self.next_seq[number, wired] = (first + 1460) % 2**32
            driver.see(outward, data(flow, first), FOUR_HOPS[: amount % 5])
        elif action == "ack":
            ack = (seq - 1460 * (amount % 4)) % 2**32
            rtt_wired = amount * MS if amount % 3 == 0 else None
            driver.see(inward, pure_ack(flow, ack, rtt_wired=rtt_wired, window=5000 + 100 * (amount % 40)))
        else:
            flags = {"fin": FIN | ACK, "rst": RST, "syn": SYN}[action]
            driver.see(outward, data(flow, seq, 0, flags=flags))

    def points(self, wired: bool) -> tuple[Point, Point]:
        """Where data leaves, and where its ACKs arrive."""
        if not self.gateway:
            return Point.LOCAL_OUT, Point.LOCAL_IN
        return (Point.WIRED_TO_AIR, Point.AIR_TO_WIRED) if wired else (Point.AIR_TO_WIRED, Point.WIRED_TO_AIR)


@pytest.mark.parametrize("name", HOOKS)
@CALM
@given(st.lists(STEP, max_size=120))
def test_any_interleaving_keeps_the_contract(name: str, steps: list[tuple[str, int, int, bool]]) -> None:
    chaos = Chaos(HOOKS[name](), gateway="gateway" in name, may_inject=name in INJECTING)
    for step in steps:
        chaos.step(*step)
        chaos.driver.check_conservation()
        waiting = chaos.driver.hook.deadline()
        assert waiting is not None or not chaos.driver.held  # queued packets have a release time
    chaos.driver.run_until(chaos.driver.now_ns + 1000 * S)
    chaos.driver.check_conservation()
    assert chaos.driver.held == {}
    assert chaos.driver.kept == {}
    assert chaos.driver.hook.deadline() is None


@pytest.mark.parametrize("name", HOOKS)
@CALM
@given(st.lists(st.integers(0, 300), min_size=2, max_size=60))
def test_same_events_give_the_same_actions(name: str, gaps_ms: list[int]) -> None:
    results = []
    for _ in range(2):
        driver = Driver(HOOKS[name]())
        for i, gap in enumerate(gaps_ms):
            wired = "gateway" in name
            driver.see(Point.WIRED_TO_AIR if wired else Point.LOCAL_OUT, data(DOWN._replace(sport=i % 3), i * 1460))
            driver.run_until(driver.now_ns + gap * MS)
        results.append([(s.at_ns, s.segment.flow, s.segment.seq) for s in driver.sent])
    assert results[0] == results[1]


@CALM
@given(st.lists(st.tuples(st.integers(0, 120), st.integers(0, 3)), min_size=5, max_size=80), st.booleans())
def test_first_transmissions_keep_order_and_distance(steps: list[tuple[int, int]], at_gateway: bool) -> None:
    """Punctual timeouts: releases are in order, and no two are closer than the current pace. No overflow here."""
    hook: TcpGapGateway | TcpGapSender = TcpGapGateway() if at_gateway else TcpGapSender()
    outward = Point.WIRED_TO_AIR if at_gateway else Point.LOCAL_OUT
    inward = Point.AIR_TO_WIRED if at_gateway else Point.LOCAL_IN
    driver = Driver(hook)
    paces: list[int] = []
    seq = 2**32 - 10_000
    for gap_ms, arrivals in steps:
        for _ in range(arrivals):
            if len(driver.held) < 20:
                driver.see(outward, data(DOWN, seq % 2**32))
                seq += 1460
                note_paces(hook, driver, paces)
        target = driver.now_ns + gap_ms * MS
        while (wanted := hook.deadline()) is not None and wanted[0] <= target:
            driver.run_until(wanted[0])
            note_paces(hook, driver, paces)
        driver.run_until(target)
        if driver.sent:
            driver.see(inward, pure_ack(DOWN, driver.sent_seqs(DOWN)[-1]))
    times = driver.times(DOWN)
    assert len(times) == len(paces)
    for (earlier, later), pace in zip(pairwise(times), paces[1:], strict=True):
        assert later - earlier >= pace
    firsts = [s.segment.seq for s in driver.sent if s.segment.payload_bytes and not s.again]
    assert all(seq_diff(b, a) > 0 for a, b in pairwise(firsts))


def note_paces(hook: TcpGapGateway | TcpGapSender, driver: Driver, paces: list[int]) -> None:
    """Record the pace at each new release."""
    flow = hook._flows.by_key.get(DOWN)
    assert flow is not None
    paces.extend([flow.pacer.schedule.interval_ns] * (len(driver.times(DOWN)) - len(paces)))


@CALM
@given(st.lists(st.integers(1, 400), min_size=5, max_size=60))
def test_late_timeouts_never_burst(lateness_ms: list[int]) -> None:
    """However late it is called, a pacer of 10 ms sends packets at least 5 ms apart."""
    driver = Driver(FixedRatePacer(FixedRateConfig(rate_bps=1_200_000)))
    for i, late in enumerate(lateness_ms):
        driver.see(Point.LOCAL_OUT, data(UP, i * 1460))
        wanted = driver.hook.deadline()
        assert wanted is not None
        if wanted[1] == "pace":
            driver.skip_to(max(driver.now_ns, wanted[0]) + late * MS)
            driver.timeout()
    driver.run_until(driver.now_ns + S)
    assert len(driver.times(UP)) == len(lateness_ms)
    assert all(later - earlier >= 5 * MS for earlier, later in pairwise(driver.times(UP)))


@CALM
@given(st.lists(st.tuples(st.sampled_from(list(Point)), st.integers(0, 255), st.integers(0, 3000)), max_size=60))
def test_any_header_gets_a_verdict(seen: list[tuple[Point, int, int]]) -> None:
    """Invalid flags and sizes at any point: an exception would disable the whole hook."""
    for name, make in HOOKS.items():
        driver = Driver(make(), may_inject=name in INJECTING)
        for i, (point, flags, payload) in enumerate(seen):
            segment = data(UP, i * 97, payload % 1500, flags=flags, ack=(payload * 1_431_655_765) % 2**32)
            driver.see(point, segment, FOUR_HOPS[: payload % 5])
        driver.run_until(1000 * S)
        driver.check_conservation()
        assert driver.held == {}
