from __future__ import annotations

from pacelab.pacer.core.segment import FlowKey
from pacelab.pacer.linux.window_scales import WindowScales

FLOW = FlowKey(1, 2, 3, 4)
BACK = FLOW.reversed()


def test_window_scales_one_side_without_means_none() -> None:
    scales = WindowScales()
    scales.note_syn(FLOW, 7)
    assert scales.shift(FLOW) is None
    scales.note_syn(BACK, None)
    assert (scales.shift(FLOW), scales.shift(BACK)) == (0, 0)


def test_window_scales_beyond_14_are_14() -> None:
    scales = WindowScales()
    scales.note_syn(FLOW, 200)
    scales.note_syn(BACK, 0)
    assert scales.shift(FLOW) == 14


def test_window_scales_in_mid_connection_a_window_is_at_least_what_is_under_way() -> None:
    scales = WindowScales()
    scales.window_bytes(FLOW, 400, ack=None, end_seq=90_000)
    # 80,000 octets under way against a window field of 1,000: its unit is at least 2^7, 1000 << 6 being 64,000.
    assert scales.window_bytes(BACK, 1_000, ack=10_000, end_seq=None) == 128_000
    assert scales.shift(BACK) is None
    assert scales.unit(BACK) == 7
    # A smaller window later does not shrink the unit.
    assert scales.window_bytes(BACK, 10, ack=90_000, end_seq=None) == 1_280


def test_window_scales_old_acks_and_wrapped_numbers_teach_nothing_wrong() -> None:
    scales = WindowScales()
    scales.window_bytes(FLOW, 400, ack=None, end_seq=100)
    assert scales.window_bytes(BACK, 50, ack=200, end_seq=None) == 50  # ahead of all data
    assert scales.window_bytes(BACK, 50, ack=4_294_967_290, end_seq=None) == 200  # 106 under way


def test_window_scales_a_syn_starts_anew() -> None:
    scales = WindowScales()
    scales.window_bytes(FLOW, 400, ack=None, end_seq=90_000)
    scales.window_bytes(BACK, 1_000, ack=10_000, end_seq=None)
    scales.note_syn(BACK, 3)
    scales.note_syn(FLOW, 3)
    assert scales.window_bytes(BACK, 1_000, ack=10_000, end_seq=None) == 8_000


def test_window_scales_memory_is_bounded() -> None:
    scales = WindowScales(max_flows=100)
    for port in range(10_000):
        scales.note_syn(FlowKey(1, 2, port, 80), 7)
    assert len(scales) == 100
