"""Windows resized at the gateway, and the edge that never moves back."""

from __future__ import annotations

import pytest
from hook_shell import CALM, DOWN, MS, UP, S, Shell, data, pure_ack, voice
from hypothesis import given
from hypothesis import strategies as st

from pacelab.pacer.core.candidates.ack_control import WindowControl, WindowControlConfig
from pacelab.pacer.core.contract import Point, TransmitResult
from pacelab.pacer.core.pacing.paced_flow import FlowTableConfig
from pacelab.pacer.core.pacing.tcp_seen import WindowEdge
from pacelab.pacer.core.segment import ACK, RST, SYN, Segment, seq_diff

OUT, IN = Point.WIRED_TO_AIR, Point.AIR_TO_WIRED


def control(window_pkts: int = 4, **settings: FlowTableConfig) -> Shell:
    return Shell(WindowControl(WindowControlConfig(window_pkts=window_pkts, **settings)))


def written(shell: Shell, segment: Segment) -> int:
    """Window that the segment leaves with."""
    shell.see(IN, segment)
    change = shell.rewritten.get(segment.handle)
    if change is None:
        return segment.window_bytes
    assert change.window_bytes is not None
    return change.window_bytes


def test_window_of_a_new_connection_is_small_from_the_syn_ack_on() -> None:
    shell = control()
    shell.see(OUT, data(DOWN, 99, 0, flags=SYN))
    assert written(shell, pure_ack(DOWN, 100, flags=SYN | ACK)) == 5840
    shell.see(OUT, data(DOWN, 100))
    assert written(shell, pure_ack(DOWN, 1560)) == 5840
    assert written(shell, pure_ack(DOWN, 3020, window=3000)) == 3000  # the receiver's own is smaller
    assert shell.hook.counters()["windows_narrowed"] == 2


def test_connection_from_the_wireless_side_is_small_from_its_syn_on() -> None:
    shell = control()
    assert written(shell, data(UP, 99, 0, flags=SYN)) == 5840
    assert written(shell, pure_ack(DOWN, 100)) == 5840


def test_hook_that_starts_in_mid_connection_takes_nothing_back() -> None:
    shell = control()
    assert written(shell, pure_ack(DOWN, 1000, window=20_000)) == 20_000
    assert written(shell, pure_ack(DOWN, 11_000, window=20_000)) == 10_000  # up to 21,000 still
    assert written(shell, pure_ack(DOWN, 15_000, window=20_000)) == 6000
    assert written(shell, pure_ack(DOWN, 19_000, window=20_000)) == 5840


def test_window_counts_segments_of_the_size_seen() -> None:
    shell = control()
    written(shell, pure_ack(DOWN, 0, flags=SYN | ACK))
    shell.see(OUT, data(DOWN, 0, 2000))
    shell.see(OUT, data(DOWN, 2000, 100))
    assert written(shell, pure_ack(DOWN, 2000)) == 8000


def test_repeated_syn_ack_does_not_move_the_edge_back() -> None:
    shell = control()
    written(shell, pure_ack(DOWN, 100, flags=SYN | ACK))
    written(shell, pure_ack(DOWN, 1560))  # edge at 7400
    assert written(shell, pure_ack(DOWN, 100, flags=SYN | ACK)) == 7300


def test_new_connection_and_reset_forget_the_old_edge() -> None:
    shell = control()
    for end in (data(DOWN, 7, 0, flags=SYN), data(DOWN, 7, 0, flags=RST)):
        written(shell, pure_ack(DOWN, 0, window=60_000))
        shell.see(OUT, end)
    written(shell, pure_ack(DOWN, 0, window=60_000))
    assert written(shell, data(UP, 7, 0, flags=RST)) == 65_535
    written(shell, pure_ack(DOWN, 0, window=60_000))
    assert written(shell, data(UP, 7, 0, flags=SYN)) == 5840
    assert shell.hook.counters()["flows_ended"] == 4


def test_what_is_no_ack_passes() -> None:
    shell = control()
    shell.see(IN, data(UP, 0, flags=0))
    shell.see(IN, voice(UP, 0, 0))
    shell.see(Point.LOCAL_IN, pure_ack(DOWN, 0))
    shell.see(OUT, data(DOWN, 0))
    shell.hook.handle(0, TransmitResult(data(DOWN, 0), 1, delivered=True))
    assert len(shell.sent) == 4
    assert shell.rewritten == {}
    assert shell.hook.deadline() is None


def test_flows_are_bounded_and_forgotten() -> None:
    shell = control(table=FlowTableConfig(max_flows=2, idle_timeout_ns=S))
    for number in range(4):
        written(shell, pure_ack(DOWN._replace(sport=number), 0, flags=SYN | ACK))
    assert shell.hook.deadline() == (S, "idle")
    shell.run_until(2 * S)
    counters = shell.hook.counters()
    assert (counters["unlimited_segments"], counters["flows_expired"]) == (2, 2)
    assert shell.hook.deadline() is None


@pytest.mark.parametrize("name", ["window_pkts", "assumed_segment_bytes"])
def test_config_names_what_is_wrong(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is 0: allowed is an integer of at least 1"):
        WindowControlConfig(**{"window_pkts": 1, name: 0})


@CALM
@given(
    st.booleans(),
    st.lists(st.tuples(st.integers(-3000, 6000), st.integers(0, 50_000), st.integers(0, 40_000)), max_size=60),
)
def test_right_edge_never_moves_back_unless_the_receiver_does_it(
    fresh: bool, steps: list[tuple[int, int, int]]
) -> None:
    """Across the wrap; ACKs may come out of order, and receivers may shrink their windows themselves."""
    edge = WindowEdge(fresh=fresh)
    ack, furthest = 2**32 - 10_000, None
    for advance, advertised, wanted in steps:
        ack = (ack + advance) % 2**32
        window = edge.grant(pure_ack(DOWN, ack, window=advertised), wanted)
        assert 0 <= window <= advertised or window == advertised
        end = (ack + window) % 2**32
        if furthest is not None and seq_diff(end, furthest) < 0:
            assert window == advertised
        if furthest is None or seq_diff(end, furthest) > 0:
            furthest = end


@CALM
@given(st.lists(st.tuples(st.integers(1, 20), st.integers(1, 40)), min_size=1, max_size=60), st.integers(1, 10))
def test_sender_is_never_stopped_for_good(steps: list[tuple[int, int]], window_pkts: int) -> None:
    """Whatever is acknowledged, a segment more may go than is under way, or as many as the window has."""
    shell = control(window_pkts)
    written(shell, pure_ack(DOWN, 0, flags=SYN | ACK))
    acked = sent = 0
    for more, gap_ms in steps:
        sent = max(sent, acked + window_pkts)
        acked = min(sent, acked + more)
        shell.run_until(shell.now_ns + gap_ms * MS)
        assert written(shell, pure_ack(DOWN, acked * 1460, window=1 << 20)) >= window_pkts * 1460
