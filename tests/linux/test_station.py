"""`pacelab station` and `pacelab sender` at real hosts; with mediumd the back end tap runs them (test_tap.py)."""

from __future__ import annotations

import subprocess
import time

from network import PACELAB, Line, RunningAgent, iperf

FOUR_HOPS = ("--path-rates", "2,2,2,2")


def test_station_delays_acks_of_a_real_receiver(line: Line) -> None:
    line.station.run("ip route change default via 10.9.2.254 quickack 1")
    agent = RunningAgent(line.station, "station", "--scheme", "delayed-ack", "--air", "eth0")
    before = _segments_in(line)
    result = iperf(line.wired, line.station, line.STATION, "-w 64K -b 4M", seconds=4)
    acks = _segments_in(line) - before
    counters = agent.stop()["hook"]
    segments = result["end"]["sum_received"]["bytes"] / 1448
    # d is 4 from 100 kB on, that is for all but the first 70 of some 1400; iperf3's own talk is some 40 segments more.
    # A host that is busy acknowledges many segments at a time: then fewer go, and there is less to suppress.
    assert 0.1 * segments < acks < 0.33 * segments
    assert counters["acks_suppressed"] > 0.2 * segments
    assert counters["acks_timed_out"] < 0.1 * segments


def _segments_in(line: Line) -> int:
    """TCP segments that the wired host has received."""
    names, values = (row.split() for row in line.wired.run("grep ^Tcp: /proc/net/snmp").splitlines())
    return int(values[names.index("InSegs")])


def test_sender_paces_by_round_trips_less_the_option_of_a_gateway(line: Line) -> None:
    gateway = line.agent("--scheme", "tcp-gap", *FOUR_HOPS)
    agent = RunningAgent(line.station, "sender", "--scheme", "tcp-gap", "--air", "eth0", *FOUR_HOPS)
    result = iperf(line.station, line.wired, line.WIRED, "-w 64K", seconds=5)
    status = agent.stop()
    assert gateway.stop()["hook"]["rtt_wired_written"] > 20
    assert status["hook"]["rtt_samples"] > 20
    assert status["hook"]["delayed"] > 20
    # 1500 B over four hops of 2 Mbit/s: at most one segment in 24 ms.
    most = 1460 * 8 / 0.024
    assert most / 9 < result["end"]["sum_received"]["bits_per_second"] < 1.05 * most


def test_sender_tcp_ap_takes_no_notice_of_the_option(line: Line) -> None:
    agent = RunningAgent(line.station, "sender", "--scheme", "tcp-ap", "--air", "eth0", *FOUR_HOPS)
    iperf(line.station, line.wired, line.WIRED, "-w 64K", seconds=3)
    status = agent.stop()
    assert status["hook"]["delayed"] > 20
    assert status["failed"] is None


def test_relay_without_mediumd_says_what_it_needs(line: Line) -> None:
    def fails(*arguments: str) -> str:
        done = line.station.start(
            *(*PACELAB, "relay", "--scheme", "lred", "--air", "eth0", *arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        _out, said = done.communicate(timeout=30)
        assert (done.returncode, said.count("\n")) == (3, 1), said
        return said

    assert "--mediumd SOCKET" in fails()
    assert "is it running?" in fails("--mediumd", "/nowhere.sock", "--station", "n0")


def test_agents_of_one_host_do_not_get_in_each_others_way(line: Line) -> None:
    # A gateway that is also told to act as a sender for its own applications: four queues, two sets of rules.
    gateway = line.agent("--scheme", "tcp-gap", *FOUR_HOPS)
    sender = RunningAgent(line.gateway, "sender", "--scheme", "tcp-gap", "--air", "air0", *FOUR_HOPS)
    line.gateway.run("ping -c 1 10.9.2.1")
    line.wired.run("ping -c 1 10.9.2.1")
    time.sleep(0.2)
    assert sender.stop()["passed_unseen"]["not-tcp-udp"] == 2
    assert "PACELAB" in line.rules()
    assert gateway.stop()["passed_unseen"]["not-tcp-udp"] == 2
    assert line.rules() == ""
