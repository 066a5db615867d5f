"""The null hook keeps the contract and changes nothing."""

from __future__ import annotations

from pacelab.pacer.core.contract import Point, TransmitResult
from pacelab.pacer.core.null import NullHook
from tests.pacer.hook_shell import DOWN, S, Shell, data


def test_every_segment_passes_at_once_and_nothing_else_happens() -> None:
    shell = Shell(NullHook())
    first = data(DOWN, 0)
    shell.see(Point.WIRED_TO_AIR, first)
    shell.hook.handle(0, TransmitResult(first, 3, True, 1))
    shell.run_until(S)
    shell.timeout()
    assert [sent.segment for sent in shell.sent] == [first]
    assert shell.hook.poll_action() is None
    assert shell.hook.deadline() is None
    assert shell.hook.counters() == {}
