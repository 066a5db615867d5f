"""CoDel on the pacing queue: forty segments arrive at once and leave 51.68 ms apart after one RTT_wireless of 80 ms.

The target is 1.5 T = 77.52 ms, the interval 172.52 ms. The k-th release after 80 ms is at 80 ms + k T, and its head has
waited for k T. So the queue is standing from k = 2 (183.36 ms) on, and the first drop is at the first release after
355.88 ms: k = 6. The next ones are due 172.52 and 121.99 ms later, at 562.60 and 684.59 ms: k = 10 and 12.
"""

from __future__ import annotations

from pacelab_pacer.core.contract import Point
from pacelab_pacer.core.segment import ACK, FIN
from pacelab_pacer.core.tcp_gap.codel_gateway import TcpGapCodelGateway
from tests.pacer.hook_driver import DOWN, MS, Driver, S, data, pure_ack

WIRED, AIR = Point.WIRED_TO_AIR, Point.AIR_TO_WIRED
T = 51_680_000


def with_queue(*, ecn_capable: bool = False) -> Driver:
    driver = Driver(TcpGapCodelGateway())
    driver.see(WIRED, data(DOWN, 0))
    driver.run_until(80 * MS)
    driver.see(AIR, pure_ack(DOWN, 1460))
    for number in range(1, 41):
        driver.see(WIRED, data(DOWN, number * 1460)._replace(ecn_capable=ecn_capable))
    return driver


def test_a_standing_queue_loses_packets_and_keeps_the_pace() -> None:
    driver = with_queue()
    driver.run_until(80 * MS + 12 * T)
    assert [(segment.seq // 1460, reason) for segment, reason in driver.dropped] == [
        (7, "codel"),
        (12, "codel"),
        (15, "codel"),
    ]
    assert driver.times(DOWN)[1:] == [80 * MS + k * T for k in range(13)]
    assert driver.hook.counters()["codel_drops"] == 3
    driver.check_conservation()


def test_packets_of_an_ecn_capable_flow_are_marked_instead() -> None:
    driver = with_queue(ecn_capable=True)
    driver.run_until(80 * MS + 12 * T)
    assert driver.dropped == []
    marked = [s.segment.seq // 1460 for s in driver.sent if s.segment.handle in driver.rewritten]
    assert marked == [7, 11, 13]  # k = 6, 10 and 12, without earlier losses
    assert all(rewrite.congestion_experienced for rewrite in driver.rewritten.values())
    assert driver.hook.counters()["codel_marks"] == 3


def test_the_source_hears_of_a_drop() -> None:
    """TCP-GAP would absorb the duplicates after the source's repair, and send the segment a third time."""
    driver = with_queue()
    driver.run_until(80 * MS + 8 * T)
    hole = 7 * 1460
    driver.see(AIR, pure_ack(DOWN, hole))
    before = len(driver.sent)
    for _ in range(3):
        driver.see(AIR, pure_ack(DOWN, hole))
    driver.see(WIRED, data(DOWN, hole))
    driver.run_until(3 * S)
    driver.see(AIR, pure_ack(DOWN, hole))
    after = [s.segment for s in driver.sent[before:]]
    assert sum(segment.is_pure_ack for segment in after) == 4
    sent = [segment.seq for segment in after if segment.payload_bytes]
    assert sent[0] == hole
    assert sent.count(hole) == 1
    assert not any(s.again for s in driver.sent)


def test_a_fin_behind_the_data_leaves_although_codel_drops() -> None:
    driver = with_queue()
    driver.see(WIRED, data(DOWN, 41 * 1460, 0, flags=ACK | FIN))
    driver.run_until(10 * S)
    assert len(driver.dropped) > 3
    assert any(s.segment.flags & FIN for s in driver.sent)
    driver.check_conservation()
    assert not driver.held


def test_acknowledged_packets_leave_the_queue() -> None:
    driver = with_queue()
    driver.run_until(80 * MS + 2 * T)
    for number in range(1, 4):
        driver.see(WIRED, data(DOWN, number * 1460))  # the source goes back
    driver.see(AIR, pure_ack(DOWN, 4 * 1460))
    assert [segment.seq // 1460 for segment, _ in driver.dropped] == [1, 2, 3]
    driver.run_until(10 * S)
    driver.check_conservation()
    assert not driver.held
