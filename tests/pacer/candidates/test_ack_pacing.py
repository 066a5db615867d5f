"""ACKs that clock out data no faster than a rate."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hook_shell import CALM, DOWN, MS, UP, S, Shell, data, pure_ack, voice
from hypothesis import given
from hypothesis import strategies as st

from pacelab.pacer.core.candidates.ack_control import AckPacing, AckPacingConfig
from pacelab.pacer.core.contract import Point, TransmitResult
from pacelab.pacer.core.pacing.paced_flow import FlowTableConfig
from pacelab.pacer.core.segment import ACK, FIN, RST

OUT, IN = Point.WIRED_TO_AIR, Point.AIR_TO_WIRED
OTHER = DOWN._replace(dport=6000)


def pacer(**settings: object) -> Shell:
    return Shell(AckPacing(AckPacingConfig(**({"rate_bps": 1_200_000} | settings))))  # type: ignore[arg-type]


def ack_times(shell: Shell) -> list[int]:
    return [s.at_ns for s in shell.sent if s.segment.is_pure_ack]


def send(shell: Shell, packets: int, flow=DOWN) -> None:  # type: ignore[no-untyped-def]
    for i in range(packets):
        shell.see(OUT, data(flow, i * 1460))


def test_an_ack_leaves_as_long_after_the_last_as_its_data_takes() -> None:
    shell = pacer()
    send(shell, 5)
    for acked in (1, 2, 4, 5):
        shell.see(IN, pure_ack(DOWN, acked * 1460))
    shell.run_until(S)
    # 1500 octets are 10 ms; the third ACK is worth two segments
    assert ack_times(shell) == [0, 10 * MS, 20 * MS, 40 * MS]
    counters = shell.hook.counters()
    assert (counters["paced"], counters["delayed"]) == (4, 3)


def test_duplicates_and_lies_are_worth_a_segment() -> None:
    shell = pacer()
    send(shell, 2)
    for acked in (1460, 1460, 10**9, 2920):
        shell.see(IN, pure_ack(DOWN, acked))
    shell.run_until(S)
    assert ack_times(shell) == [0, 10 * MS, 20 * MS, 30 * MS]


def test_worth_follows_the_largest_segment() -> None:
    shell = pacer()
    shell.see(OUT, data(DOWN, 0, 1460))
    shell.see(OUT, data(DOWN, 1460, 110))
    shell.see(OUT, data(DOWN, 0, 1460))
    shell.see(OUT, data(DOWN, 1570, 2960))
    shell.see(IN, pure_ack(DOWN, 1460))
    shell.see(IN, pure_ack(DOWN, 1570))
    shell.see(IN, pure_ack(DOWN, 4530))
    shell.run_until(S)
    assert ack_times(shell) == [0, 20 * MS, 40 * MS]  # at least 2960 + 40 octets each


def test_flows_take_turns_and_their_acks_keep_their_order() -> None:
    shell = pacer()
    for flow in (DOWN, OTHER):
        send(shell, 3, flow)
    for flow in (DOWN, OTHER):
        for acked in (1, 2, 3):
            shell.see(IN, pure_ack(flow, acked * 1460))
    shell.run_until(S)
    acks = [(s.segment.flow.sport, s.segment.ack // 1460) for s in shell.sent if s.segment.is_pure_ack]
    assert acks == [(5000, 1), (6000, 1), (5000, 2), (6000, 2), (5000, 3), (6000, 3)]


def test_the_rest_passes() -> None:
    shell = pacer()
    shell.see(OUT, pure_ack(UP, 0))
    shell.see(IN, pure_ack(DOWN, 1460))  # of a flow never seen
    shell.see(IN, voice(UP, 0, 0))
    shell.see(Point.LOCAL_OUT, data(UP, 0))
    send(shell, 1)
    shell.see(IN, data(UP, 0, ack=1460))
    shell.hook.handle(0, TransmitResult(data(DOWN, 0), 1, delivered=True))
    assert len(shell.sent) == 6
    assert shell.hook.counters()["paced"] == 0


def test_reset_drops_and_a_proper_end_forwards_what_waits() -> None:
    shell = pacer()
    send(shell, 4)
    for acked in (1, 2, 3):
        shell.see(IN, pure_ack(DOWN, acked * 1460))
    shell.see(OUT, data(DOWN, 5840, 0, flags=FIN | ACK, ack=77))
    shell.see(IN, data(UP, 77, 0, flags=FIN | ACK, ack=5841))
    assert len(shell.held) == 2
    shell.see(OUT, data(DOWN, 5841, 0, flags=ACK, ack=78))
    assert (shell.held, shell.dropped, shell.hook.deadline()) == ({}, [], None)
    send(shell, 4)
    for acked in (1, 2):
        shell.see(IN, pure_ack(DOWN, acked * 1460))
    shell.see(IN, data(UP, 0, 0, flags=RST))
    assert [reason for _, reason in shell.dropped] == ["connection over"] * 2
    shell.check_conservation()


def test_state_is_bounded_and_forgotten() -> None:
    shell = pacer(table=FlowTableConfig(max_flows=1, idle_timeout_ns=S), queue_limit_pkts=3, rate_bps=4000)
    send(shell, 8)
    send(shell, 1, OTHER)
    for acked in range(1, 7):
        shell.see(IN, pure_ack(DOWN, acked * 1460))
    counters = shell.hook.counters()
    assert (len(shell.held), counters["overflows"], counters["unpaced_segments"]) == (3, 2, 1)
    shell.run_until(20 * S)  # 3 s an ACK, an idle timeout of 1 s: none is lost
    assert len(ack_times(shell)) == 6
    assert shell.hook.counters()["flows_expired"] == 1
    assert shell.hook.deadline() is None


@pytest.mark.parametrize("name", ["rate_bps", "queue_limit_pkts"])
def test_config_names_what_is_wrong(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is 0: allowed is"):
        AckPacingConfig(**{"rate_bps": 1e6, name: 0})  # type: ignore[arg-type]


@CALM
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 2), st.integers(0, 3)), min_size=5, max_size=60))
def test_acks_are_as_far_apart_as_a_segment_at_the_rate(steps: list[tuple[int, int, int]]) -> None:
    shell = pacer()
    acked = [0, 0, 0]
    for number in range(3):
        send(shell, 60, DOWN._replace(dport=number))
    for gap_ms, number, more in steps:
        acked[number] = min(60, acked[number] + more)
        shell.see(IN, pure_ack(DOWN._replace(dport=number), acked[number] * 1460))
        shell.run_until(shell.now_ns + gap_ms * MS)
    shell.run_until(shell.now_ns + 1000 * S)
    shell.check_conservation()
    times = ack_times(shell)
    assert len(times) == len(steps)
    assert all(b - a >= 10 * MS for a, b in pairwise(times))
