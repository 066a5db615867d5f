"""Voice between real hosts: the rule of playout, and calls over the air."""

from __future__ import annotations

from typing import Any

import pytest
from tap_runs import why_not
from test_tap_plan import plan_of

from pacelab.hosts.plan import Plan
from pacelab.hosts.traffic.meter import Playout, report

MS = 1_000_000


def receiver(packets: int) -> Playout:
    """A 60 ms buffer that has expected a packet every 20 ms, from 0 on."""
    playout = Playout(60 * MS)
    for number in range(packets):
        playout.expect(number * 20 * MS)
    return playout


def arrive(playout: Playout, number: int, delay_ms: int) -> bool:
    sent_ns = number * 20 * MS
    return playout.arrive(sent_ns + delay_ms * MS, sent_ns)


# These are the simulator's own cases (medium/network/src/voice.rs): one rule, two implementations.


def test_packet_is_in_time_up_to_the_first_ones_delay_and_the_buffer() -> None:
    playout = receiver(4)
    assert [arrive(playout, number, delay) for number, delay in ((0, 10), (1, 70), (2, 71))] == [True, True, False]
    counts = playout.counts(0, 1000 * MS, 1000 * MS)
    assert (counts.due, counts.lost, counts.late) == (4, 1, 1)
    assert counts.delays_ns == [10 * MS, 70 * MS, 71 * MS]


def test_receiver_aligns_itself_to_the_mean_of_the_last_spurt() -> None:
    # packet 45 arrives 1000 ms after packet 0: aligned to the mean of 0 to 44, (10 + 44 * 110) / 45 = 107.8 ms
    playout = receiver(60)
    assert arrive(playout, 0, 10)
    assert not any(arrive(playout, number, 110) for number in range(1, 45))
    assert arrive(playout, 45, 110)
    assert arrive(playout, 46, 167)
    assert not arrive(playout, 47, 168)


def test_what_arrives_twice_counts_once() -> None:
    playout = receiver(1)
    assert arrive(playout, 0, 10)
    assert not arrive(playout, 0, 20)
    assert playout.counts(0, 1000 * MS, 1000 * MS).delays_ns == [10 * MS]


def test_packet_whose_moment_has_not_come_is_not_lost() -> None:
    playout = receiver(3)
    assert arrive(playout, 0, 10)
    for now_ms, due, lost in ((89, 1, 0), (90, 2, 1), (110, 3, 2)):
        counts = playout.counts(0, 1000 * MS, now_ms * MS)
        assert (counts.due, counts.lost) == (due, lost)


def test_silence_has_no_delay() -> None:
    counts = receiver(2).counts(0, 1000 * MS, 1000 * MS)
    assert (counts.due, counts.lost, counts.delay_mean_s, counts.delay_quantiles_s()) == (2, 2, None, None)


def test_report_counts_packets_where_they_were_sent() -> None:
    playout = receiver(4)
    arrive(playout, 0, 10)
    arrive(playout, 3, 30)
    edges_ns = (0, 40 * MS, 200 * MS)
    found = report(playout, edges_ns=edges_ns, measured_ns=40 * MS, payload_bytes=20, playout_s=0.06)
    assert found["voice"]["due_pkts"] == 2
    assert found["voice"]["delay_mean_s"] == pytest.approx(0.03)
    assert found["series_voice"] == {
        "due_pkts": [2, 2],
        "lost_pkts": [1, 1],
        "late_pkts": [0, 0],
        "delay_s": [pytest.approx(0.01), pytest.approx(0.03)],
    }
    assert found["series_bps"] == pytest.approx([160 / 0.04, 160 / 0.16])


def call_of(**options: Any) -> Plan:
    return plan_of(
        topology="chain", topology_options={"hops": 2, "wired_hops": 1}, traffic="voice", direction="up", **options
    )


def test_compile_call_has_two_flows() -> None:
    there, back = call_of().flows
    assert (there.kind, there.call, there.payload_bytes, there.interval_s, there.playout_s) == (
        "voice",
        0,
        20,
        0.02,
        0.06,
    )
    assert (back.src, back.dst, back.call) == (there.dst, there.src, 0)
    assert there.category == "voice"


@pytest.mark.kernel
@pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
def test_call_over_two_hops_and_a_wire() -> None:
    from pacelab.hosts.session import run_plan

    plan = call_of(duration_s=4.0, warmup_s=1.0)
    result = run_plan(plan, lambda _fraction: None)
    for flow in result["air"]["flows"]:
        voice = flow["voice"]
        assert (flow["kind"], voice["call"]) == ("voice", 0)
        assert 130 <= voice["due_pkts"] <= 150  # 50 a second for 3 s, less those whose moment is after the end
        assert voice["lost_pkts"] + voice["late_pkts"] <= 0.1 * voice["due_pkts"]
        assert 0.040 < voice["delay_mean_s"] < 0.060  # the wire's 40 ms and two hops of about 2 ms
        assert flow["goodput_bps"] == pytest.approx(8000, rel=0.2)
