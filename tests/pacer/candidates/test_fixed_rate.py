from __future__ import annotations

import pytest
from hook_shell import DOWN, MS, UP, S, Shell, data, pure_ack

from pacelab.pacer.core.candidates.data_pacing import FixedRateConfig, FixedRatePacer
from pacelab.pacer.core.contract import Point, TransmitResult
from pacelab.pacer.core.pacing.paced_flow import FlowTableConfig
from pacelab.pacer.core.segment import ACK, FIN, RST

OUT = Point.LOCAL_OUT


def pacer(rate_bps: float = 1_200_000) -> Shell:
    return Shell(FixedRatePacer(FixedRateConfig(rate_bps=rate_bps)))


@pytest.mark.parametrize("point", [Point.LOCAL_OUT, Point.WIRED_TO_AIR])
def test_full_packets_leave_at_the_rate(point: Point) -> None:
    shell = pacer()
    for i in range(3):
        shell.see(point, data(UP, i * 1460))
    shell.run_until(S)
    assert shell.times(UP) == [0, 10 * MS, 20 * MS]  # 12,000 bits at 1.2 Mbit/s


def test_small_packet_makes_room_for_the_next_sooner() -> None:
    shell = pacer()
    shell.see(OUT, data(UP, 0, 110))  # 150 bytes on the wire: 1 ms
    shell.see(OUT, data(UP, 110))
    shell.see(OUT, data(UP, 1570))
    shell.run_until(S)
    assert shell.times(UP) == [0, 1 * MS, 11 * MS]


def test_flows_have_a_rate_each() -> None:
    shell = pacer()
    other = UP._replace(sport=9)
    for i in range(2):
        shell.see(OUT, data(UP, i * 1460))
        shell.see(OUT, data(other, i * 1460))
    shell.run_until(S)
    assert shell.times(UP) == shell.times(other) == [0, 10 * MS]


def test_opposite_direction_and_acks_are_not_paced() -> None:
    shell = pacer()
    for i in range(3):
        shell.see(Point.LOCAL_IN, data(UP, i * 1460))
        shell.see(Point.AIR_TO_WIRED, data(UP, i * 1460))
        shell.see(OUT, pure_ack(UP, i))
    assert {s.at_ns for s in shell.sent} == {0}
    assert len(shell.sent) == 9


def test_fin_waits_for_data_and_reset_does_not() -> None:
    shell = pacer()
    for i in range(3):
        shell.see(OUT, data(UP, i * 1460))
    shell.see(OUT, data(UP, 4380, 0, flags=FIN | ACK))
    shell.run_until(10 * MS)
    shell.see(OUT, data(UP, 4381, 0, flags=RST))
    assert [s.segment.seq for s in shell.sent] == [0, 1460, 4381]
    assert len(shell.dropped) == 2
    shell.check_conservation()


def test_pace_slower_than_the_idle_timeout_loses_nothing() -> None:
    shell = Shell(FixedRatePacer(FixedRateConfig(rate_bps=4000, table=FlowTableConfig(idle_timeout_ns=S))))
    for i in range(3):
        shell.see(OUT, data(UP, i * 1460))
    shell.run_until(10 * S)
    assert shell.times(UP) == [0, 3 * S, 6 * S]
    assert shell.hook.counters()["flows_expired"] == 1


@pytest.mark.parametrize("rate_bps", [0, -1.0])
def test_config_names_what_is_wrong(rate_bps: float) -> None:
    with pytest.raises(ValueError, match=f"rate_bps is {rate_bps}: allowed is a positive number of bit/s"):
        FixedRateConfig(rate_bps=rate_bps)


def test_left_to_the_shell_data_goes_at_once_and_the_pace_is_told() -> None:
    hook = FixedRatePacer(FixedRateConfig(rate_bps=1_200_000))
    hook.leave_pacing_to_shell()
    shell = Shell(hook)
    assert hook.pace_ns(DOWN) is None
    for number in range(3):
        shell.see(Point.WIRED_TO_AIR, data(DOWN, 1460 * number))
    # 1500 bytes at 1.2 Mbit/s: 10 ms.
    assert shell.times(DOWN) == [0, 0, 0]
    assert hook.pace_ns(DOWN) == 10 * MS
    assert hook.deadline() == (120 * S, "idle")


def test_transmissions_are_none_of_its_business() -> None:
    shell = pacer()
    shell.hook.handle(0, TransmitResult(data(UP, 0), attempts=3, delivered=True))
    assert shell.hook.poll_action() is None
