"""How far a packet travels through the core: what a reader follows, and what a run pays for per packet."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import FrameType

import pacelab.pacer.core
from pacelab import native
from pacelab.pacer.core.contract import Hook, Point, SegmentSeen
from pacelab.pacer.core.tcp_gap.gateway import TcpGapGateway
from tests.pacer.hook_shell import DOWN, FOUR_HOPS, MS, data, pure_ack

CORE = str(Path(pacelab.pacer.core.__file__).parent)
ROUNDS = 60
"""More than the samples that the variation is of."""


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


def test_a_packet_of_tcp_gap_takes_few_calls_over_few_files() -> None:
    if native.is_compiled():  # no one is told of the calls then
        again = [sys.executable, "-m", "pytest", __file__]
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
