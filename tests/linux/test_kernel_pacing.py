"""`--datapath tc`: whose the kernel's classes are, and what becomes of them when agents and interfaces come and go."""

from __future__ import annotations

import re
import subprocess
from types import SimpleNamespace

import pytest
from network import PACELAB, Host, Line, RunningAgent, iperf

from pacelab.pacer.core.candidates.data_pacing import FixedRateConfig, FixedRatePacer
from pacelab.pacer.core.segment import SYN, FlowKey
from pacelab.pacer.core.tcp_gap.gateway import TcpGapGateway, TcpGapGatewayConfig
from pacelab.pacer.linux.agent import ROLES, AgentConfig
from pacelab.pacer.linux.air_tap import Tapped
from pacelab.pacer.linux.paths import PathTable
from pacelab.pacer.linux.tc_agent import BATCH_NS, TcAgent
from pacelab.units import NS_PER_S

TC = ("--scheme", "fixed-rate", "--pace-rate", "6", "--datapath", "tc")


def test_tc_agent_that_is_refused_leaves_the_one_that_runs_its_classes(line: Line) -> None:
    agent = line.agent(*TC)
    said = _refused(line.gateway, "gateway", *TC, "--air", "air0", "--wired", "wired0")
    assert "another agent paces there" in said
    assert "htb 5041:" in _left(line, "air0")
    assert _tables(line) == 1
    agent.stop()
    assert (_left(line, "air0"), _tables(line)) == ("", 0)


def test_tc_agent_that_was_killed_starts_again_beside_one_on_another_interface(line: Line) -> None:
    other = line.agent(*TC)
    killed = RunningAgent(line.gateway, "sender", *TC, "--air", "wired0")
    killed.kill()
    again = RunningAgent(line.gateway, "sender", *TC, "--air", "wired0")
    assert _tables(line) == 2
    again.stop()
    assert _left(line, "wired0") == ""
    assert "htb 5041:" in _left(line, "air0")
    other.stop()


def test_tc_classes_of_a_killed_agent_go_with_the_next_agent_of_any_kind(line: Line) -> None:
    line.agent(*TC).kill()
    assert "htb 5041:" in _left(line, "air0")
    agent = line.agent("--scheme", "fixed-rate", "--pace-rate", "6")
    assert (_left(line, "air0"), _tables(line)) == ("", 0)
    agent.kill()
    line.agent(*TC).stop()
    assert line.rules() == ""


def test_tc_agent_whose_classes_were_taken_away_ends_in_one_line(line: Line) -> None:
    agent = line.agent(*TC)
    line.gateway.run("tc qdisc del dev air0 root")
    # A SYN is enough: its flow is to have a class.
    line.wired.run(f"timeout 5 bash -c 'echo > /dev/tcp/{line.STATION}/9'", check=False)
    assert agent.process.wait(10) == 3
    said = agent.said()
    assert (said.count("\n"), "start the agent again" in said) == (1, True), said
    assert _tables(line) == 0


@pytest.mark.parametrize("taken", ["tc qdisc del dev air0 root", "ip link del air0", "nft flush ruleset"])
def test_tc_agent_without_its_pacing_ends_though_no_packet_comes(line: Line, taken: str) -> None:
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
    # 2 Mbit/s of air: 6 ms a packet of 1500 B, 0.36 ms one of 89 B, of which alone there is a round trip so far.
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
    """The one line that an agent says which cannot start."""
    done = host.start(*PACELAB, *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _out, said = done.communicate(timeout=30)
    assert (done.returncode, said.count("\n")) == (3, 1), said
    return said


def _left(line: Line, interface: str) -> str:
    return line.gateway.run(f"tc qdisc show dev {interface} | grep -v noqueue", check=False)


def _tables(line: Line) -> int:
    return line.gateway.run("nft list tables").count("pacelab-")
