"""Ten thousand flows: state stays bounded, and time per event does not grow with them."""

from __future__ import annotations

import time

from pacelab_pacer.core.candidates.data_pacing import DataPacing, DataPacingConfig
from pacelab_pacer.core.contract import Point
from pacelab_pacer.core.pacing.paced_flow import FlowTableConfig
from pacelab_pacer.core.segment import FlowKey
from pacelab_pacer.core.tcp_gap.gateway import TcpGapGateway, TcpGapGatewayConfig
from pacelab_pacer.core.tcp_gap.sender import TcpGapSender, TcpGapSenderConfig
from pacelab_pacer.core.vagp.fixed_rate import FixedConfig
from pacelab_pacer.core.vagp.gateway import Vagp, VagpConfig
from tests.pacer.hook_driver import DOWN, MS, UP, Driver, S, data, pure_ack

FLOWS = 10_000
GENEROUS_S = 10.0
"""Limit of processor time per test. A test needs half a second; anything quadratic in the flows would take minutes."""


def key(base: FlowKey, number: int) -> FlowKey:
    return base._replace(sport=number % 60_000, dport=number // 60_000 + 1)


def test_gateway_with_ten_thousand_flows_is_bounded_and_forgets() -> None:
    hook = TcpGapGateway(TcpGapGatewayConfig(buffer_bytes=100 << 20, table=FlowTableConfig(max_flows=5 * FLOWS)))
    driver = Driver(hook)
    started = time.process_time()
    for number in range(FLOWS):
        flow = key(DOWN, number)
        for i in range(3):
            driver.see(Point.WIRED_TO_AIR, data(flow, i * 1460))
    assert len(driver.held) == 2 * FLOWS
    driver.run_until(80 * MS)
    assert len(driver.held) == 0
    for number in range(FLOWS):
        driver.see(Point.AIR_TO_WIRED, pure_ack(key(DOWN, number), 4380))
    driver.run_until(6 * S)
    assert hook.counters()["rtt_samples"] == FLOWS
    assert len(hook._wakes) <= 64 + 2
    driver.run_until(200 * S)
    assert hook.counters()["flows_expired"] == FLOWS
    assert hook.deadline() is None
    assert len(hook._flows.by_key) == 0
    assert held_bytes(hook) == 0
    assert time.process_time() - started < GENEROUS_S


def test_table_bounds_the_flows_of_a_sender() -> None:
    hook = TcpGapSender(TcpGapSenderConfig(table=FlowTableConfig(max_flows=1000)))
    driver = Driver(hook)
    started = time.process_time()
    for number in range(FLOWS):
        for i in range(2):
            driver.see(Point.LOCAL_OUT, data(key(UP, number), i * 1460))
    assert len(hook._flows.by_key) == 1000
    # The first packet of a flow leaves at once. Half as many packets as flows may wait, so a flow is removed.
    assert len(driver.held) == 500
    counters = hook.counters()
    assert (counters["overflows"], counters["flows_replaced"]) == (FLOWS - 500, FLOWS - 1000)
    assert counters["unpaced_segments"] == 0
    assert time.process_time() - started < GENEROUS_S


def test_buffer_bounds_what_the_gateway_holds() -> None:
    hook = TcpGapGateway(TcpGapGatewayConfig(buffer_bytes=1_000_000))
    driver = Driver(hook)
    for number in range(1000):
        for i in range(12):
            driver.see(Point.WIRED_TO_AIR, data(key(DOWN, number), i * 1460))
    held = sum(s.payload_bytes for s in [*driver.held.values(), *driver.kept.values()])
    assert 990_000 < held <= 1_000_000
    assert held == held_bytes(hook)
    assert hook.counters()["unpaced_flows"] == 0
    assert len(driver.sent) == 1000, "of each flow the first packet, which had to wait for nothing"


def test_small_packets_are_bounded_by_their_number() -> None:
    hook = DataPacing(DataPacingConfig(rate_bps=12_000))
    driver = Driver(hook)
    for number in range(100):
        for i in range(1000):
            driver.see(Point.WIRED_TO_AIR, data(key(DOWN, number), i, payload=1))
    assert 8000 < len(driver.held) <= 8192, "half of the kernel's queue"


def held_bytes(hook: TcpGapGateway | Vagp) -> int:
    """The bytes that the hook holds by its own count."""
    return hook._store.queued_bytes + hook._store.kept_bytes


def test_vagp_with_ten_thousand_flows_is_bounded_and_keeps_its_rate() -> None:
    table = FlowTableConfig(max_flows=4 * FLOWS)
    bandwidth = FixedConfig(rate_bps=12_000_000)
    hook = Vagp(VagpConfig(buffer_bytes=20_000_000, bandwidth=bandwidth, table=table))
    driver = Driver(hook)
    started = time.process_time()
    for number in range(FLOWS):
        for i in range(3):
            driver.see(Point.WIRED_TO_AIR, data(key(DOWN, number), i * 1460))
    assert len(driver.sent) == 1, "all flows share one pace"
    assert hook.counters()["unpaced_flows"] == 0
    assert 19_900_000 < sum(s.payload_bytes for s in [*driver.held.values(), *driver.kept.values()]) <= 20_000_000
    waiting = len(driver.held)
    driver.run_until(5 * S)  # a packet a millisecond
    assert len(driver.held) == waiting - 5000
    driver.run_until(300 * S)
    assert (len(driver.held), len(driver.kept), len(hook._flows.by_key)) == (0, 0, 0)
    assert held_bytes(hook) == 0
    assert hook.deadline() is None
    assert time.process_time() - started < GENEROUS_S
