"""Ten thousand flows: state stays bounded, and time per event does not grow with them."""

from __future__ import annotations

import time

from pacelab_pacer.core.contract import Point
from pacelab_pacer.core.pacing.paced_flow import FlowTableConfig
from pacelab_pacer.core.segment import FlowKey
from pacelab_pacer.core.tcp_gap.gateway import TcpGapGateway, TcpGapGatewayConfig
from pacelab_pacer.core.tcp_gap.sender import TcpGapSender, TcpGapSenderConfig
from pacelab_pacer.core.vagp.gateway import Vagp, VagpConfig
from tests.pacer.hook_shell import DOWN, MS, UP, S, Shell, data, pure_ack

FLOWS = 10_000
GENEROUS_S = 10.0
"""Processor time per test. A test needs half a second; anything quadratic in the flows would take minutes."""


def key(base: FlowKey, number: int) -> FlowKey:
    return base._replace(sport=number % 60_000, dport=number // 60_000 + 1)


def test_gateway_with_ten_thousand_flows_is_bounded_and_forgets() -> None:
    hook = TcpGapGateway(TcpGapGatewayConfig(buffer_bytes=100 << 20, assumed_window_bytes=8000))
    shell = Shell(hook)
    started = time.process_time()
    for number in range(FLOWS):
        flow = key(DOWN, number)
        for i in range(3):
            shell.see(Point.WIRED_TO_AIR, data(flow, i * 1460))
    assert len(shell.held) == 2 * FLOWS
    shell.run_until(80 * MS)
    assert len(shell.held) == 0
    for number in range(FLOWS):
        shell.see(Point.AIR_TO_WIRED, pure_ack(key(DOWN, number), 4380))
    shell.run_until(6 * S)
    assert hook.counters()["rtt_samples"] == FLOWS
    assert len(hook._wakes) <= 64 + 2
    shell.run_until(200 * S)
    assert hook.counters()["flows_expired"] == FLOWS
    assert hook.deadline() is None
    assert len(hook._flows.by_key) == 0
    assert hook._budget.reserved_bytes == 0
    assert time.process_time() - started < GENEROUS_S


def test_table_bounds_the_flows_of_a_sender() -> None:
    hook = TcpGapSender(TcpGapSenderConfig(table=FlowTableConfig(max_flows=1000)))
    shell = Shell(hook)
    started = time.process_time()
    for number in range(FLOWS):
        for i in range(2):
            shell.see(Point.LOCAL_OUT, data(key(UP, number), i * 1460))
    assert len(hook._flows.by_key) == 1000
    assert len(shell.held) == 1000
    assert hook.counters()["unpaced_segments"] == 2 * (FLOWS - 1000)
    assert time.process_time() - started < GENEROUS_S


def test_buffer_bounds_what_the_gateway_holds() -> None:
    hook = TcpGapGateway(TcpGapGatewayConfig(buffer_bytes=1_000_000, assumed_window_bytes=10_000))
    shell = Shell(hook)
    for number in range(1000):
        for i in range(12):
            shell.see(Point.WIRED_TO_AIR, data(key(DOWN, number), i * 1460))
    assert sum(s.payload_bytes for s in [*shell.held.values(), *shell.kept.values()]) <= 1_000_000
    assert hook.counters()["unpaced_flows"] == 900


def test_vagp_with_ten_thousand_flows_is_bounded_and_forgets() -> None:
    hook = Vagp(VagpConfig(buffer_bytes=20_000_000, assumed_window_bytes=8000, initial_rtt_ns=MS))
    shell = Shell(hook)
    started = time.process_time()
    for number in range(FLOWS):
        for i in range(3):
            shell.see(Point.WIRED_TO_AIR, data(key(DOWN, number), i * 1460))
    assert hook.counters()["unpaced_flows"] == FLOWS - 2500
    assert len(shell.held) == 3 * 2500 - 1
    assert sum(s.payload_bytes for s in [*shell.held.values(), *shell.kept.values()]) <= 20_000_000
    shell.run_until(300 * S)  # 12 Mbit/s: 7.5 s
    assert (len(shell.held), len(shell.kept), len(hook._flows.by_key)) == (0, 0, 0)
    assert hook._budget.reserved_bytes == 0
    assert hook.deadline() is None
    assert time.process_time() - started < GENEROUS_S
