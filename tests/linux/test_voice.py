"""Calls between real hosts: the format of reports, VAGP's parts on packets, the playout rule, calls over the air."""

from __future__ import annotations

import re
import struct
import subprocess
import time
from typing import Any

import pytest
from network import Line, RunningAgent, iperf_server, why_not
from test_tap_plan import plan_of

from pacelab.emulation.plan import Plan
from pacelab.emulation.traffic.meter import Playout, report
from pacelab_pacer.core.segment import UDP, FlowKey, Rtp, Segment, VoiceQuality
from pacelab_pacer.core.vagp import quality_evaluator
from pacelab_pacer.linux.packet import PacketReader, read_voice_packet, read_voice_report, voice_packet, voice_report
from pacelab_pacer.linux.write import build

CALL = FlowKey(0x0A010001, 0x0A020009, 16384, 16386)
REPORT = FlowKey(0x0A020009, 0x0A010001, 16387, 16385)
QUALITY = VoiceQuality(CALL, 100_000_000, 5, 1, 2, 61_234_567)


def test_voice_packet_is_rtp_of_60_bytes_on_the_wire() -> None:
    packet = voice_packet(sequence=65_537, sent_ns=2_000_000_000, stream=7)
    # RFC 3550 Sec. 5.1: version 2, payload type 18, sequence, timestamp of an 8 kHz clock, SSRC.
    assert packet[:12] == bytes.fromhex("80120001") + struct.pack("!II", 16_000, 7)
    assert len(packet) + 28 == 60
    assert read_voice_packet(packet) == Rtp(1, 2_000_000_000)


def test_voice_packet_of_others_is_not_ours() -> None:
    ours = voice_packet(sequence=1, sent_ns=2, stream=7)
    assert read_voice_packet(ours[:12] + bytes(20)) is None
    assert read_voice_packet(b"\x80\x00" + ours[2:]) is None
    assert read_voice_packet(ours[:20]) is None


def test_voice_report_is_parsed_completely() -> None:
    report = voice_report(QUALITY, stream=9)
    assert read_voice_report(report, REPORT) == QUALITY


def test_voice_report_is_an_xr_packet_of_the_size_the_simulator_counts() -> None:
    report = voice_report(QUALITY, stream=9)
    # RFC 3611 Sec. 2: packet type 207, length in words less one, SSRC; a block's length likewise, its header included.
    assert report[:8] == bytes.fromhex("80cf") + struct.pack("!HI", 10, 9)
    assert report[8:16] == bytes.fromhex("fe000008") + struct.pack("!I", 9)
    assert report[16:] == struct.pack("!IIIQQ", 5, 1, 2, 100_000_000, 61_234_567)
    assert len(report) == quality_evaluator.REPORT_BYTES


@pytest.mark.parametrize("cut", [0, 7, 8, 11, 40, 43])
def test_voice_report_cut_short_is_none(cut: int) -> None:
    assert read_voice_report(voice_report(QUALITY, stream=9)[:cut], REPORT) is None


def test_voice_report_that_contradicts_itself_is_none() -> None:
    assert read_voice_report(voice_report(QUALITY._replace(lost=4), stream=9), REPORT) is None
    assert read_voice_report(voice_report(QUALITY, stream=9), REPORT._replace(dport=0)) is None


def test_voice_report_injected_is_read_by_the_next_node(make) -> None:
    segment = Segment(0, REPORT, UDP, 0, 0, 0, 44, 72, 0, None, quality=QUALITY)
    packet = build(segment)
    assert packet is not None
    make.check(packet)
    got = PacketReader().read(1, packet)
    assert isinstance(got, Segment)
    assert (got.flow, got.quality, got.packet_bytes) == (REPORT, QUALITY, 72)


# VAGP's parts on real packets: the station measures a call, the gateway reads its reports and writes windows.

CALLER = """
import socket, sys, time
from pacelab_pacer.linux.packet import voice_packet
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', 16384))
at = time.monotonic_ns()
for number in range(int(sys.argv[1])):
    at += 20_000_000
    time.sleep(max(0, at - time.monotonic_ns()) / 1e9)
    if number % 7 != 6 or sys.argv[2] == 'whole':
        s.sendto(voice_packet(sequence=number, sent_ns=time.monotonic_ns(), stream=1), ('10.9.2.1', 16384))
"""
EAR = "import socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.bind(('', 16384))\ntime.sleep(60)"


def hear(line: Line, loss: str) -> tuple[dict, dict]:
    """A call of 5 s through gateway and station; returns the last status of both."""
    gateway = line.agent("--scheme", "vagp", "--path-rates", "11")
    station = RunningAgent(line.station, "station", "--scheme", "vagp", "--air", "eth0", "--path-rates", "11")
    line.station.python(EAR)
    line.wired.python(CALLER, "250", loss).wait(20)
    ends = gateway.stop(), station.stop()
    gateway.documents.pop()
    ends[0]["calls"] = [
        flow["mos"] for one in gateway.documents for flow in one.get("flows", []) if flow["mos"] is not None
    ]
    return ends


def test_voice_report_reaches_the_gateway_with_the_quality(line: Line) -> None:
    gateway, station = hear(line, "whole")
    assert station["hook"]["reports_sent"] > 5
    assert station["packets"]["injected"] == station["hook"]["reports_sent"]
    # Without loss and with next to no delay: 94.2 - 0.024 x 85 - 11 = 81.2, MOS 4.07 (the paper's "3.9 is maximum").
    assert gateway["calls"][-1] == 4.07
    assert (gateway["errors"], station["errors"]) == (0, 0)


def test_voice_report_contains_the_loss(line: Line) -> None:
    gateway, _station = hear(line, "every seventh is missing")
    # One of seven is lost, so none or one in a window of 5. Readings are 50 packets apart, which is 1 modulo 7: of any
    # three consecutive readings at least one contains the loss. With one of 5: R = 81.2 - 40 ln 3 = 37.2, MOS 1.92.
    assert min(gateway["calls"]) < 2.5


def test_window_control_writes_windows_that_a_real_sender_obeys(line: Line) -> None:
    agent = line.agent("--scheme", "window-control", "--gateway-window", "8")
    server = iperf_server(line.station)
    client = line.wired.start("iperf3", "-c", line.STATION, "-t", "4", "-b", "8M", stdout=subprocess.DEVNULL)
    time.sleep(3)
    sockets = line.wired.run("ss -tin dport = 5201")
    client.wait(30)
    server.wait(30)
    status = agent.stop()
    windows = [int(window) for window in re.findall(r"snd_wnd:(\d+)", sockets)]
    # 8 segments of 1448 or 1460 bytes; a window is written in units of its scale, rounded down.
    assert windows
    assert min(windows) <= 8 * 1460
    assert status["hook"]["windows_narrowed"] > 50
    assert status["packets"]["rewritten"] >= status["hook"]["windows_narrowed"]
    assert status["packets"].get("window_scale_unknown", 0) == 0


# Voice between real hosts: the playout rule, and calls over the air.

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


def test_duplicates_count_once() -> None:
    playout = receiver(1)
    assert arrive(playout, 0, 10)
    assert not arrive(playout, 0, 20)
    assert playout.counts(0, 1000 * MS, 1000 * MS).delays_ns == [10 * MS]


def test_packet_before_its_playout_time_is_not_lost() -> None:
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
    from pacelab.emulation.session import run_plan

    plan = call_of(duration_s=4.0, warmup_s=1.0)
    result = run_plan(plan, lambda _fraction: None)
    for flow in result["air"]["flows"]:
        voice = flow["voice"]
        assert (flow["kind"], voice["call"]) == ("voice", 0)
        assert 130 <= voice["due_pkts"] <= 150  # 50 per second for 3 s, except those to be played after the end
        assert voice["lost_pkts"] + voice["late_pkts"] <= 0.1 * voice["due_pkts"]
        assert 0.040 < voice["delay_mean_s"] < 0.060  # the wire's 40 ms and two hops of about 2 ms
        assert flow["goodput_bps"] == pytest.approx(8000, rel=0.2)
