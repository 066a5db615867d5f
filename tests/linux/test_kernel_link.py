"""The kernel's own link between hosts, and the plan of its queues."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time

from hypothesis import given
from hypothesis import strategies as st
from network import PACELAB, Host, Line, RunningAgent, iperf

from pacelab.pacer.linux.link_layer import Shares, Station

# Retries as the kernel counts them, shared among packets; the relay agent that asks for them.


Counts = tuple[int, int, int]


def station(counts: Counts, mac: str = "42:00:00:00:00:01") -> Station:
    packets, retries, failed = counts
    return Station(mac, True, packets, retries, failed)


def attempts(shares: Shares, *counts: Counts) -> list[int]:
    return [report.result.attempts for report in shares.reports([station(one) for one in counts])]


def test_shares_start_at_what_is_there_already() -> None:
    shares = Shares([station((100, 40, 2))])
    assert attempts(shares, (100, 40, 2)) == []
    assert attempts(shares, (102, 40, 2)) == [1, 1]


def test_shares_spread_the_retries_of_an_interval_evenly() -> None:
    assert sorted(attempts(Shares([]), (4, 6, 0))) == [2, 2, 3, 3]


def test_shares_keep_retries_for_the_next_packet() -> None:
    shares = Shares([])
    assert attempts(shares, (1, 0, 0)) == [1]
    assert attempts(shares, (1, 3, 0)) == []
    assert attempts(shares, (2, 3, 0)) == [4]


def test_shares_tell_failures_and_neighbours_apart() -> None:
    seen = [station((2, 6, 1), "42:00:00:00:00:01"), station((1, 0, 0), "42:00:00:00:00:02")]
    results = [report.result for report in Shares([]).reports(seen)]
    assert [result.delivered for result in results] == [False, True, True]
    assert [result.next_hop for result in results] == [0, 0, 1]


def test_shares_begin_anew_with_a_neighbour_that_was_forgotten() -> None:
    shares = Shares([station((50, 90, 0))])
    assert attempts(shares, (2, 2, 0)) == [2, 2]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 300)), max_size=30))
def test_shares_conserve_packets_and_retries(steps: list[tuple[int, int]]) -> None:
    shares, packets, retries, told = Shares([]), 0, 0, []
    for more_packets, more_retries in [*steps, (1, 0)]:  # a last packet takes what is left
        packets, retries = packets + more_packets, retries + more_retries
        told += attempts(shares, (packets, retries, 0))
    assert len(told) == packets
    assert sum(told) - len(told) == retries


def test_relay_asks_the_kernel_and_says_when_the_interface_has_no_such_counters(line: Line) -> None:
    done = line.station.start(
        *(*PACELAB, "relay", "--scheme", "lred", "--air", "eth0", "--link", "nl80211"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    _out, said = done.communicate(timeout=30)
    assert (done.returncode, said.count("\n")) == (3, 1), said
    assert "is it a Wi-Fi interface?" in said


def test_relay_refuses_the_kernels_counts_for_schemes_that_follow_single_frames(line: Line) -> None:
    done = line.station.start(
        *(*PACELAB, "relay", "--scheme", "lred+pacing", "--air", "eth0", "--link", "nl80211"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert "allowed is one of lred, lred-ecn" in done.communicate(timeout=30)[1]
    assert done.returncode == 2


# `--datapath tc`: paced by the kernel's HTB at rates that the algorithm computes beside the packets.


WINDOW = "-w 64K"


def test_tc_fixed_rate_is_kept_by_the_kernel(line: Line) -> None:
    agent = line.agent("--scheme", "fixed-rate", "--pace-rate", "6", "--datapath", "tc")
    rate = _rate_of_a_transfer(line, line.gateway, "air0")
    status = agent.stop()
    # 6 Mbit/s of IP packets of 1500 B are 1514/1500 of it with Ethernet headers. HTB may lose 1.2 % to its clock.
    assert 0.98 < rate / (6e6 * 1514 / 1500) < 1.01
    assert (status["failed"], status["not_carried_out"].get("Resend")) == (None, None)
    assert _left(line) == ""


def test_tc_tcp_gap_paces_to_the_papers_formula(line: Line) -> None:
    agent = line.agent("--scheme", "tcp-gap-nogc", "--path-rates", "2,2,2,2", "--datapath", "tc")
    rate = _rate_of_a_transfer(line, line.gateway, "air0")
    status = agent.stop()
    # T >= 4 x 6 ms for packets of 1500 B; COV_RTT only lengthens it, and the round trips of a wire are uneven.
    assert 0.05 * 1514 * 8 / 0.024 < rate < 1.02 * 1514 * 8 / 0.024
    assert status["hook"]["rtt_samples"] > 10


def test_tc_sender_paces_the_hosts_own_applications(line: Line) -> None:
    scheme = ("--scheme", "fixed-rate", "--pace-rate", "6", "--datapath", "tc")
    agent = RunningAgent(line.wired, "sender", "--air", "eth0", *scheme)
    rate = _rate_of_a_transfer(line, line.wired, "eth0")
    agent.stop()
    assert 0.98 < rate / (6e6 * 1514 / 1500) < 1.01


def test_tc_agent_killed_leaves_its_classes_and_the_next_one_takes_over(line: Line) -> None:
    agent = line.agent("--scheme", "fixed-rate", "--pace-rate", "6", "--datapath", "tc")
    iperf(line.wired, line.station, line.STATION, WINDOW, seconds=2)
    agent.kill()
    assert "htb 5041:" in _left(line)
    again = line.agent("--scheme", "fixed-rate", "--pace-rate", "6", "--datapath", "tc")
    assert _left(line).count("pacelab-") == 1
    again.stop()
    assert _left(line) == ""


def test_tc_refusals_are_one_line_exit_3_and_leave_what_was_there(line: Line) -> None:
    line.gateway.run("tc qdisc add dev air0 root handle 7: tbf rate 10mbit burst 5kb latency 50ms")
    done = line.gateway.start(
        *(*PACELAB, "gateway", "--scheme", "fixed-rate", "--pace-rate", "6", "--datapath", "tc"),
        *("--air", "air0", "--wired", "wired0"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    _out, said = done.communicate(timeout=30)
    assert (done.returncode, said.count("\n")) == (3, 1), said
    assert "tc qdisc del dev air0 root" in said
    assert "tbf 7:" in _left(line)
    assert "pacelab-" not in _left(line)


def _rate_of_a_transfer(line: Line, host: Host, interface: str) -> float:
    """What an iperf3 from the wired host to the station puts on an interface, bit/s with Ethernet headers, over 5 s."""
    server = line.station.start("iperf3", "-s", "-1", stdout=subprocess.DEVNULL)
    time.sleep(0.3)
    client = line.wired.start("iperf3", "-c", line.STATION, "-t", "9", *WINDOW.split(), stdout=subprocess.DEVNULL)
    time.sleep(3)
    start_bytes, start_s = _sent(host, interface)
    time.sleep(5)
    end_bytes, end_s = _sent(host, interface)
    client.wait(30)
    server.wait(30)
    return (end_bytes - start_bytes) * 8 / (end_s - start_s)


READ = """
import sys, time
while True:  # a busy machine may stop between two lines: what was read is then of no known time
    before = time.monotonic()
    lines = open("/proc/net/dev").readlines()
    after = time.monotonic()
    if after - before < 0.002:
        break
(line,) = (line for line in lines if line.strip().startswith(sys.argv[1] + ":"))
print(line.partition(":")[2].split()[8], before)
"""


def _sent(host: Host, interface: str) -> tuple[int, float]:
    """Bytes sent on an interface, and when that was read, s."""
    count, at_s = host.run(f"{shlex.quote(sys.executable)} -S -c {shlex.quote(READ)} {interface}").split()
    return int(count), float(at_s)


def _left(line: Line) -> str:
    return line.gateway.run("tc qdisc show dev air0 | grep -v noqueue; nft list tables | grep pacelab-", check=False)
