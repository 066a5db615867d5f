"""Kernel features that hosts need: links between hosts, classes for pacing, sockets of another process."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network import FLOOD, PACELAB, Host, Line, RunningAgent, iperf, iperf_server, sent_on, why_not

from pacelab.emulation.network.iperf3_sockets import data_socket, listening_descriptor
from pacelab.units import NS_PER_S
from pacelab_pacer.core.candidates.data_pacing import FixedRateConfig, FixedRatePacer
from pacelab_pacer.core.segment import SYN, FlowKey
from pacelab_pacer.core.tcp_gap.gateway import TcpGapGateway, TcpGapGatewayConfig
from pacelab_pacer.linux.agent import ROLES, AgentConfig
from pacelab_pacer.linux.air_tap import Tapped
from pacelab_pacer.linux.kernel_pacing import MAX_FLOWS
from pacelab_pacer.linux.link_layer import Shares, Station
from pacelab_pacer.linux.paths import PathTable
from pacelab_pacer.linux.tc_agent import BATCH_NS, TcAgent

# The kernel's links between hosts, and the plan of their queues.

# Retries by the kernel's counters, shared among packets; the relay agent that uses them.


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


def test_shares_distinguish_failures_from_neighbours() -> None:
    seen = [station((2, 6, 1), "42:00:00:00:00:01"), station((1, 0, 0), "42:00:00:00:00:02")]
    results = [report.result for report in Shares([]).reports(seen)]
    assert [result.delivered for result in results] == [False, True, True]
    assert [result.next_hop for result in results] == [0, 0, 1]


def test_shares_begin_again_with_a_neighbour_that_was_forgotten() -> None:
    shares = Shares([station((50, 90, 0))])
    assert attempts(shares, (2, 2, 0)) == [2, 2]


@settings(deadline=None)  # the machine may be busy
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 300)), max_size=30))
def test_shares_conserve_packets_and_retries(steps: list[tuple[int, int]]) -> None:
    shares, packets, retries, told = Shares([]), 0, 0, []
    for more_packets, more_retries in [*steps, (1, 0)]:  # a last packet takes the remaining retries
        packets, retries = packets + more_packets, retries + more_retries
        told += attempts(shares, (packets, retries, 0))
    assert len(told) == packets
    assert sum(told) - len(told) == retries


def test_relay_asks_the_kernel_and_reports_missing_counters(line: Line) -> None:
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
    assert "use one of lred, lred-ecn" in done.communicate(timeout=30)[1]
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
    # T >= 4 x 6 ms for packets of 1500 B. COV_RTT only lengthens it, and the round trips of a wire are uneven.
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


def test_tc_flows_for_which_no_class_is_left_share_a_pace(line: Line) -> None:
    agent = line.agent("--scheme", "fixed-rate", "--pace-rate", "6", "--datapath", "tc")
    line.station.run("ip route add blackhole 10.9.1.0/24")  # no answers: a RST would end the flows
    line.wired.python(FLOOD, "1200", "100").wait(60)
    line.station.run("ip route del blackhole 10.9.1.0/24")
    # A busy machine needs seconds for a thousand classes, and flows that start before are not paced at once.
    until = time.monotonic() + 60
    while len(line.gateway.run("tc class show dev air0").splitlines()) < MAX_FLOWS and time.monotonic() < until:
        time.sleep(0.2)
    server = iperf_server(line.station)
    client = line.wired.start(
        "iperf3", "-c", line.STATION, "-t", "4", "-P", "4", *WINDOW.split(), stdout=subprocess.DEVNULL
    )
    time.sleep(1)
    start_bytes, start_s = sent_on(line.gateway, "air0")
    time.sleep(2)
    end_bytes, end_s = sent_on(line.gateway, "air0")
    client.wait(30)
    server.wait(30)
    agent.stop()
    assert "further ones share a class" in agent.said()
    # Four flows, each with a pace of 6 Mbit/s of its own.
    assert 0.9 < (end_bytes - start_bytes) * 8 / (end_s - start_s) / (6e6 * 1514 / 1500) < 1.05


def test_tc_a_flood_of_syns_takes_no_class(line: Line) -> None:
    agent = line.agent("--scheme", "fixed-rate", "--pace-rate", "6", "--datapath", "tc")
    line.station.run("ip route add blackhole 10.9.1.0/24")  # no answers: half-open
    line.wired.python(FLOOD, "1200").wait(60)
    line.station.run("ip route del blackhole 10.9.1.0/24")
    rate = _rate_of_a_transfer(line, line.gateway, "air0")
    classes = line.gateway.run("tc class show dev air0").splitlines()
    assert agent.stop()["packets"]["seen"] > 1200
    assert len(classes) <= 2, classes  # iperf3's data and its control connection
    assert 0.98 < rate / (6e6 * 1514 / 1500) < 1.01


SHARED = """
from contextlib import closing
from pacelab_pacer.core.segment import FlowKey
from pacelab_pacer.linux.kernel_pacing import MAX_FLOWS, KernelPacing
with closing(KernelPacing("air0")) as kernel:
    kernel.set_rates({FlowKey(1, 2, 3, port): (6_000_000, 1500) for port in range(MAX_FLOWS)})
    kernel.set_rates({FlowKey(1, 2, 4, port): rate for port, rate in enumerate([(6_000_000, 200), (9_000_000, 1500)])})
    input()
"""


def test_tc_flows_that_share_a_class_get_no_rate_for_the_headers_of_smaller_packets(line: Line) -> None:
    agent = line.gateway.start(sys.executable, "-c", SHARED, stdin=subprocess.PIPE)
    shared = f"class htb 5041:{0x10 + MAX_FLOWS:x} "
    until = time.monotonic() + 60
    while not (told := _class(line, shared)) and time.monotonic() < until:
        time.sleep(0.1)
    agent.communicate("\n", timeout=30)
    # A packet of 200 B has 14 more on Ethernet: at its share of headers, packets of 1500 B would have 6.36 Mbit/s.
    assert f"rate {6_000 * 1514 // 1500}Kbit" in told, told


def _class(line: Line, name: str) -> str:
    """What tc says of a class, if it is there."""
    listed = line.gateway.run("tc class show dev air0", check=False).splitlines()
    return next((each for each in listed if each.startswith(name)), "")


def _rate_of_a_transfer(line: Line, host: Host, interface: str) -> float:
    """The bit/s with Ethernet headers that an iperf3 from the wired host to the station sends on an interface, over 5
    s.
    """
    server = iperf_server(line.station)
    client = line.wired.start("iperf3", "-c", line.STATION, "-t", "9", *WINDOW.split(), stdout=subprocess.DEVNULL)
    time.sleep(3)
    start_bytes, start_s = sent_on(host, interface)
    time.sleep(5)
    end_bytes, end_s = sent_on(host, interface)
    client.wait(30)
    server.wait(30)
    return (end_bytes - start_bytes) * 8 / (end_s - start_s)


def _left(line: Line) -> str:
    return line.gateway.run("tc qdisc show dev air0 | grep -v noqueue; nft list tables | grep pacelab-", check=False)


# `--datapath tc`: ownership of the kernel's classes, and their fate when agents and interfaces come and go.

TC = ("--scheme", "fixed-rate", "--pace-rate", "6", "--datapath", "tc")


def test_tc_agent_that_is_refused_leaves_the_one_that_runs_its_classes(line: Line) -> None:
    agent = line.agent(*TC)
    said = _refused(line.gateway, "gateway", *TC, "--air", "air0", "--wired", "wired0")
    assert "another agent already paces on this interface" in said
    assert "htb 5041:" in _left_at(line, "air0")
    assert _tables(line) == 1
    agent.stop()
    assert (_left_at(line, "air0"), _tables(line)) == ("", 0)


def test_tc_agent_that_was_killed_starts_again_beside_one_on_another_interface(line: Line) -> None:
    other = line.agent(*TC)
    killed = RunningAgent(line.gateway, "sender", *TC, "--air", "wired0")
    killed.kill()
    again = RunningAgent(line.gateway, "sender", *TC, "--air", "wired0")
    assert _tables(line) == 2
    again.stop()
    assert _left_at(line, "wired0") == ""
    assert "htb 5041:" in _left_at(line, "air0")
    other.stop()


def test_tc_classes_of_a_killed_agent_go_with_the_next_agent_of_any_kind(line: Line) -> None:
    line.agent(*TC).kill()
    assert "htb 5041:" in _left_at(line, "air0")
    agent = line.agent("--scheme", "fixed-rate", "--pace-rate", "6")
    assert (_left_at(line, "air0"), _tables(line)) == ("", 0)
    agent.kill()
    line.agent(*TC).stop()
    assert line.rules() == ""


def test_tc_agent_whose_classes_were_taken_away_ends_in_one_line(line: Line) -> None:
    agent = line.agent(*TC)
    line.gateway.run("tc qdisc del dev air0 root")
    # A SYN is enough: its flow gets a class.
    line.wired.run(f"timeout 5 bash -c 'echo > /dev/tcp/{line.STATION}/9'", check=False)
    assert agent.process.wait(10) == 3
    said = agent.said()
    assert (said.count("\n"), "start the agent again" in said) == (1, True), said
    assert _tables(line) == 0


@pytest.mark.parametrize("taken", ["tc qdisc del dev air0 root", "ip link del air0", "nft flush ruleset"])
def test_tc_agent_without_its_pacing_ends_even_without_packets(line: Line, taken: str) -> None:
    agent = line.agent(*TC)
    line.gateway.run(taken)
    assert agent.process.wait(10) == 3
    said = agent.said()
    assert (said.count("\n"), "start the agent again" in said) == (1, True), said
    assert _tables(line) == 0


def test_tc_paces_flows_whose_addresses_the_gateway_translates(line: Line) -> None:
    line.gateway.run("iptables -t nat -A POSTROUTING -o air0 -j MASQUERADE")
    agent = line.agent(*TC)
    iperf(line.wired, line.station, line.STATION, "-w 64K", seconds=2)
    assert max(sent for _rate, sent in _classes(line)) > 100_000
    agent.stop()


def test_tc_pace_is_that_of_packets_where_super_packets_of_offloads_pass(line: Line) -> None:
    line.wired.run("ethtool -K eth0 tso on gso on")
    agent = line.agent(*TC)
    iperf(line.wired, line.station, line.STATION, seconds=2)
    # 6 Mbit/s of packets of 1500 B, 1514 B with Ethernet headers; iperf3's other connection has smaller packets.
    rate_bps, _sent = max(_classes(line), key=lambda one: one[1])
    assert 0.99 < rate_bps / (6e6 * 1514 / 1500) < 1.01
    agent.stop()


def test_tc_waits_for_no_batch_while_a_flow_that_sends_has_no_pace(make, monkeypatch) -> None:
    config = AgentConfig(role=ROLES["gateway"], scheme="fixed-rate", air="air0", wired="wired0")
    hook = FixedRatePacer(FixedRateConfig(rate_bps=300e3))
    agent = TcAgent(config, hook, say=print, on_status=print)
    monkeypatch.setattr(agent, "_mtu_bytes", 1500, raising=False)
    monkeypatch.setattr(agent, "_kernel", SimpleNamespace(add=list, set_rates=dict), raising=False)
    syn = Tapped(NS_PER_S, True, make.tcp(flags=0x02))
    first_data = Tapped(2 * NS_PER_S, True, make.tcp(bytes(1000)))
    waits = []
    for packet in (syn, first_data):
        agent._see(packet)
        waits.append(agent._may_wait([packet], packet.at_ns + BATCH_NS))
        agent._set_rates(packet.at_ns + BATCH_NS)
    agent._see(Tapped(3 * NS_PER_S, True, make.tcp(bytes(1000), seq=2000)))
    assert (waits, agent._may_wait([first_data], 3 * NS_PER_S)) == ([False, False], True)


def test_tc_rate_that_a_small_first_packet_measured_is_not_that_of_larger_ones(make, monkeypatch) -> None:
    # At 2 Mbit/s a packet of 1500 B takes 6 ms, and one of 89 B takes 0.36 ms. Only the latter has a round trip so far.
    paths = PathTable(default_bps=(2_000_000,))
    config = AgentConfig(role=ROLES["gateway"], scheme="tcp-gap", air="air0", wired="wired0", paths=paths)
    agent = TcAgent(config, TcpGapGateway(TcpGapGatewayConfig()), say=print, on_status=print)
    told: dict[FlowKey, tuple[int, int]] = {}
    monkeypatch.setattr(agent, "_mtu_bytes", 1500, raising=False)
    monkeypatch.setattr(agent, "_kernel", SimpleNamespace(add=list, set_rates=told.update), raising=False)
    back = type(make)()
    back.SRC, back.DST = make.DST, make.SRC
    packets = (
        Tapped(NS_PER_S, True, make.tcp(flags=SYN)),
        Tapped(2 * NS_PER_S, True, make.tcp(bytes(49))),
        Tapped(2 * NS_PER_S + 30_000, False, back.tcp(seq=2000, ack=1049, ports=(80, 5000))),
        *(Tapped(3 * NS_PER_S, True, make.tcp(bytes(1460), seq=1049 + at)) for at in range(0, 14_600, 1460)),
    )
    for packet in packets:
        agent._see(packet)
        agent._set_rates(packet.at_ns)
    ((rate_bps, packet_bytes),) = told.values()
    assert packet_bytes == 1500
    assert 1.9e6 < rate_bps < 2.1e6


def _classes(line: Line) -> list[tuple[float, int]]:
    """Rate in bit/s and bytes sent of each class on the air."""
    told = line.gateway.run("tc -s class show dev air0")
    found = re.findall(r"rate (\d+)([KM]?)bit .*\n Sent (\d+) bytes", told)
    return [(int(rate) * {"": 1, "K": 1e3, "M": 1e6}[unit], int(sent)) for rate, unit, sent in found]


def _refused(host: Host, *arguments: str) -> str:
    """The one line of an agent that cannot start."""
    done = host.start(*PACELAB, *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _out, said = done.communicate(timeout=30)
    assert (done.returncode, said.count("\n")) == (3, 1), said
    return said


def _left_at(line: Line, interface: str) -> str:
    return line.gateway.run(f"tc qdisc show dev {interface} | grep -v noqueue", check=False)


def _tables(line: Line) -> int:
    return line.gateway.run("nft list tables").count("pacelab-")


# Sockets of another process: its connection is found, and other sockets are not changed.

NO_HOSTS = why_not("tap")
needs_hosts = pytest.mark.skipif(NO_HOSTS is not None, reason=NO_HOSTS or "")

SERVER = """
import socket, sys

def listen(port):
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    made.listen()
    return made

listener = listen(0)
port = listener.getsockname()[1]
print(port, flush=True)
held = [listener.accept()[0] for _ in range(int(sys.argv[1]))]
for _ in range(5000):
    listener.close()
    listener = listen(port)
"""


@needs_hosts
@pytest.mark.kernel
@pytest.mark.parametrize("connections", [1, 2])
def test_a_listener_is_left_alone_while_connections_are_looked_for(connections: int) -> None:
    """iperf3 binds its port again when a test starts, and gives up if it cannot."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(connections)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        listens_at = listening_descriptor(server.pid)
        assert listens_at is not None
        clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(connections)]
        found = []
        while server.poll() is None:
            data = data_socket(server.pid, but=listens_at)
            if data is not None:
                found.append(data.getpeername())
                data.close()
        said = server.stderr.read() if server.stderr is not None else ""
        assert server.returncode == 0, said
        assert set(found) == ({clients[1].getsockname()} if connections == 2 else set())
        for client in clients:
            client.close()
