"""VAGP's parts on real packets: the station measures a call, the gateway reads its reports and writes windows."""

from __future__ import annotations

import re
import subprocess
import time

from network import Line, RunningAgent

CALL = """
import socket, sys, time
from pacelab.pacer.linux.voice_format import voice_packet
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
    """A call of 5 s through gateway and station; the gateway's and the station's last status."""
    gateway = line.agent("--scheme", "vagp", "--path-rates", "11")
    station = RunningAgent(line.station, "station", "--scheme", "vagp", "--air", "eth0", "--path-rates", "11")
    line.station.python(EAR)
    line.wired.python(CALL, "250", loss).wait(20)
    ends = gateway.stop(), station.stop()
    gateway.documents.pop()
    ends[0]["calls"] = [
        flow["mos"] for one in gateway.documents for flow in one.get("flows", []) if flow["mos"] is not None
    ]
    return ends


def test_voice_report_reaches_the_gateway_and_tells_the_quality(line: Line) -> None:
    gateway, station = hear(line, "whole")
    assert station["hook"]["reports_sent"] > 5
    assert station["packets"]["injected"] == station["hook"]["reports_sent"]
    # Without loss and with next to no delay: 94.2 - 0.024 x 85 - 11 = 81.2, MOS 4.07 (the paper's "3.9 is maximum").
    assert gateway["calls"][-1] == 4.07
    assert (gateway["errors"], station["errors"]) == (0, 0)


def test_voice_report_tells_of_loss(line: Line) -> None:
    gateway, _station = hear(line, "every seventh is missing")
    # One of seven is lost, none or one in a window of 5. Seen each second, 50 packets or 1 of the 7 on: of any three
    # in a row at least one has the loss. One of 5: R = 81.2 - 40 ln 3 = 37.2, MOS 1.92.
    assert min(gateway["calls"]) < 2.5


def test_window_control_writes_windows_that_a_real_sender_obeys(line: Line) -> None:
    agent = line.agent("--scheme", "window-control", "--gateway-window", "8")
    server = line.station.start("iperf3", "-s", "-1", stdout=subprocess.DEVNULL)
    time.sleep(0.3)
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
