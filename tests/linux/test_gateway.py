"""Agents on real packets: gateway and station."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest
from network import (
    FLOOD,
    PACELAB,
    ROOT,
    Host,
    Line,
    RunningAgent,
    iperf,
    iperf_server,
    missing_for_namespaces,
    sent_on,
)

from pacelab_pacer.linux import watchdog

# `pacelab gateway` between real hosts: real TCP, real rules, kill -9.


FOUR_HOPS = ("--path-rates", "2,2,2,2")
SCHEME = ("--scheme", "tcp-gap", *FOUR_HOPS)
WINDOW = "-w 64K"
"""The papers' window. Above 1 MiB per flow the pacing queue overflows."""


def test_gateway_paces_a_real_tcp_by_the_papers_formula(line: Line) -> None:
    agent = line.agent(*SCHEME)
    result = iperf(line.wired, line.station, line.STATION, seconds=5)
    status = agent.stop()
    # Packets of 1500 B over four hops of 2 Mbit/s: T >= 4 x 6 ms, so at most 1/T = 41.7 segments/s of 1448 or 1460 B.
    # COV_RTT lengthens T: on a wire, round trips are short but uneven, more so on a busy machine; a COV of 4 gives 1/9.
    most = 1460 * 8 / 0.024
    assert most / 9 < result["end"]["sum_received"]["bits_per_second"] < 1.02 * most
    assert status["hook"]["delayed"] > 20
    assert status["hook"]["rtt_samples"] > 20
    assert (status["failed"], status["errors"], status["queue"]["lost"]) == (None, 0, 0)
    assert line.rules() == ""


def test_gateway_fixed_rate_keeps_the_average_exactly(line: Line) -> None:
    agent = line.agent("--scheme", "fixed-rate", "--pace-rate", "6", *FOUR_HOPS)
    result = iperf(line.wired, line.station, line.STATION, WINDOW, seconds=5)
    agent.stop()
    # Whole packets of 1500 B at 6 Mbit/s: 500/s; goodput 1448/1500 of it with timestamps. iperf3's start and end are
    # unpaced for fractions of a second; bench/hosts/pacer.py measures the rate to 0.1 %.
    goodput = result["end"]["sum_received"]["bits_per_second"]
    assert 0.96 < goodput / (6e6 * 1448 / 1500) < 1.02


def test_gateway_writes_rtt_wired_into_acks_for_the_station(line: Line, tmp_path: Path) -> None:
    agent = line.agent(*SCHEME)
    with (tmp_path / "seen.pcap").open("wb") as seen:
        command = ("tcpdump", "-i", "eth0", "--immediate-mode", "-U", "-w", "-", "tcp")
        dump = line.station.start(*command, stdout=seen, stderr=subprocess.PIPE)
    assert dump.stderr is not None
    while "listening on" not in dump.stderr.readline():
        assert dump.poll() is None
    iperf(line.station, line.wired, line.WIRED, "-b 2M", seconds=4)
    dump.terminate()
    dump.communicate(timeout=30)
    assert agent.stop()["hook"]["rtt_wired_written"] > 10
    assert (tmp_path / "seen.pcap").read_bytes().count(bytes.fromhex("fd0c4750")) > 10


def test_gateway_killed_during_a_transfer_the_transfer_continues_and_a_restarted_agent_handles_it(line: Line) -> None:
    agent = line.agent("--scheme", "fixed-rate", "--pace-rate", "4")
    server = iperf_server(line.station)
    command = ("iperf3", "-J", "-c", line.STATION, "-t", "14", "-i", "1", *WINDOW.split())
    client = line.wired.start(*command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    time.sleep(3)
    agent.kill()
    time.sleep(3)
    assert "PACELAB" in line.rules()  # otherwise the test could not remove the rules
    again = line.agent("--scheme", "fixed-rate", "--pace-rate", "4")
    assert str(agent.ready["pid"]) not in line.rules()
    assert client.stdout is not None
    result = json.loads(client.stdout.read())
    server.wait(10)
    status = again.stop()
    said = again.said()
    assert "removed what a killed agent left behind" in said
    assert sorted(set(names := re.findall(r"PACELAB-\S+\d", said))) == sorted(names)
    rates = [one["sum"]["bits_per_second"] / 1e6 for one in result["intervals"]]
    # Paced, then unpaced (a veth carries hundreds of Mbit/s), then paced again. iperf3 counts bytes written to its
    # socket, so single seconds are uneven.
    assert max(rates[3:6]) > 50, rates
    assert status["hook"]["delayed"] > 50
    assert line.rules() == ""


def test_gateway_stopped_in_mid_transfer_lets_packets_pass_until_it_continues(line: Line) -> None:
    agent = line.agent("--scheme", "fixed-rate", "--pace-rate", "4")
    server = iperf_server(line.station)
    command = ("iperf3", "-J", "-c", line.STATION, "-t", "12", "-i", "0.5", *WINDOW.split())
    client = line.wired.start(*command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    time.sleep(3)
    os.kill(agent.ready["pid"], signal.SIGSTOP)
    stopped_s = time.monotonic()
    while agent.read()["event"] != "released":
        pass
    noticed_s = time.monotonic() - stopped_s
    assert line.rules() == ""
    time.sleep(3)
    os.kill(agent.ready["pid"], signal.SIGCONT)
    while not agent.read()["released"]["times"]:
        pass
    assert "PACELAB" in line.rules()
    assert client.stdout is not None
    result = json.loads(client.stdout.read())
    server.wait(10)
    status = agent.stop()
    assert "the agent hung" in agent.said()
    assert status["released"]["times"] == 1
    assert noticed_s < status["released"]["seconds"]
    rates = [one["sum"]["bits_per_second"] / 1e6 for one in result["intervals"]]
    assert max(rates) > 50, rates  # unpaced
    assert line.rules() == ""


TAKEN = """
import subprocess, sys
from pacelab_pacer.linux.rules import Capture, Rules
rules = Rules((Capture(hook="FORWARD", queue=7, in_interface="a", out_interface="b"),), own_mark=1)
said = [rules.are_in()]
rules.install()
said.append(rules.are_in())
subprocess.run(sys.argv[1], shell=True, check=True)
said.append(rules.are_in())
print(said)
"""


@pytest.mark.parametrize("taken", ["nft flush ruleset", "iptables -t mangle -F FORWARD", "iptables -t mangle -F"])
def test_rules_that_were_removed_are_detected(taken: str) -> None:
    if reason := missing_for_namespaces():
        pytest.skip(reason)
    command = ("unshare", "--net", sys.executable, "-c", TAKEN, taken)
    said = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert said.stdout == "[False, True, False]\n", said.stderr


class _TakenOut:
    """Rules that another program removes once."""

    queues: ClassVar[list[int]] = []

    def __init__(self) -> None:
        self.done: list[str] = []

    def are_in(self) -> bool:
        return False

    def remove(self) -> None:
        self.done.append("removed")

    def install(self) -> list[str]:
        self.done.append("installed")
        return []


def test_an_agent_hears_from_its_watchdog_that_its_rules_were_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "LOOK_S", 0.0)
    monkeypatch.setattr(watchdog, "BEAT_NS", 0)
    rules = _TakenOut()
    watching = watchdog.Watchdog(rules, punctual=False, on_release=lambda: None)  # type: ignore[arg-type]
    deadline_s = time.monotonic() + 10
    while not watching.taken and time.monotonic() < deadline_s:
        watching.beat(time.monotonic_ns(), 0)
        time.sleep(0.01)
    watching.close()
    assert (rules.done[:2], watching.released) == (["removed", "installed"], 0)


CONNECT = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 9), 4)
except ConnectionRefusedError:
    print("there")
"""
"""Sends to a port on which nothing listens."""


def test_packets_in_a_stopped_agents_queue_also_pass(line: Line) -> None:
    # The first SYN. Linux sends no copy while one still waits in this host, so no connection would start.
    agent = RunningAgent(line.gateway, "sender", "--scheme", "fixed-rate", "--pace-rate", "4", "--air", "air0")
    os.kill(agent.ready["pid"], signal.SIGSTOP)
    asked = line.gateway.start(
        *(sys.executable, "-c", CONNECT, line.STATION), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert asked.communicate(timeout=10)[0] == "there\n"
    os.kill(agent.ready["pid"], signal.SIGCONT)
    while not (status := agent.read()).get("released", {}).get("times"):
        pass
    assert status["errors"] == 0
    agent.stop()


def watchdog_of(agent: RunningAgent) -> int:
    """The watchdog's process."""
    pid = agent.ready["pid"]
    children = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    (process,) = [child for child in children if Path(f"/proc/{child}/comm").read_text() != "display\n"]
    return process


def test_gateway_ends_when_its_watchdog_is_killed_and_packets_pass(line: Line) -> None:
    agent = line.agent("--scheme", "fixed-rate", "--pace-rate", "4")
    os.kill(watchdog_of(agent), signal.SIGKILL)
    assert agent.process.wait(10) == 3
    said = agent.said()
    assert (said.count("\n"), "the watchdog was killed" in said) == (1, True), said
    assert line.rules() == ""


def test_gateway_watchdog_ends_with_an_agent_that_is_killed(line: Line) -> None:
    agent = line.agent("--scheme", "fixed-rate", "--pace-rate", "4")
    process = watchdog_of(agent)
    agent.kill()
    deadline_s = time.monotonic() + 10
    while Path(f"/proc/{process}/stat").exists() and time.monotonic() < deadline_s:
        time.sleep(0.02)
    assert not Path(f"/proc/{process}/stat").exists()


def test_gateway_bad_packets_pass_unharmed_and_are_counted(line: Line, make) -> None:
    agent = line.agent(*SCHEME)
    line.wired.run("ping -c 3 -i 0.2 10.9.2.1")
    line.wired.run("ping -c 2 -i 0.2 -s 4000 10.9.2.1")  # three fragments in each direction
    send = """
import socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
def checksum(d):
    t = sum(struct.unpack('!%dH' % (len(d) // 2), d))
    while t >> 16: t = (t & 0xffff) + (t >> 16)
    return ~t & 0xffff
def send(protocol, content):
    a = socket.inet_aton('10.9.1.1') + socket.inet_aton('10.9.2.1')
    s.sendto(struct.pack('!BBHHHBBH', 0x45, 0, 20 + len(content), 1, 0, 64, protocol, 0) + a + content, ('10.9.2.1', 0))
send(6, bytes(12))                                                     # truncated
send(6, struct.pack('!HHIIBBHHH', 1, 2, 3, 4, 0x40, 16, 5, 6, 7))      # offset below 5
send(6, struct.pack('!HHIIBBHHH', 1, 2, 3, 4, 0x50, 16, 5, 6, 7))      # wrong checksum
send(17, struct.pack('!HHHH', 7001, 7001, 8, 0))
"""
    sink = line.station.python(
        "import socket\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.bind(('',7001)); print('up',flush=True)\n"
        "s.settimeout(5); print(len(s.recv(100)),flush=True)"
    )
    assert sink.stdout is not None
    sink.stdout.readline()
    seen = line.station.start(
        "tcpdump", "-i", "eth0", "-c", "3", "-w", "-", "tcp", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    time.sleep(0.5)
    line.wired.python(send).wait(10)
    assert sink.stdout.readline() == "0\n"
    seen.wait(10)  # all three arrived
    status = agent.stop()
    unseen = status["passed_unseen"]
    assert unseen.pop("fragment") + unseen.pop("not-tcp-udp") >= 10
    assert unseen == {"truncated": 1, "malformed": 1, "checksum": 1}
    assert status["errors"] == 0


def add_ipv6(line: Line) -> None:
    """Addresses and routes of IPv6; the station is fd00:2::1."""
    line.gateway.run("sysctl -qw net.ipv6.conf.all.forwarding=1")
    for net, host, inner in ((1, line.wired, "wired0"), (2, line.station, "air0")):
        line.gateway.run(f"ip -6 addr add fd00:{net}::fe/64 dev {inner} nodad")
        host.run(f"ip -6 addr add fd00:{net}::1/64 dev eth0 nodad; ip -6 route add default via fd00:{net}::fe")


def test_gateway_ipv6_passes_and_is_counted(line: Line) -> None:
    add_ipv6(line)
    agent = line.agent(*SCHEME)
    line.wired.run("ping -6 -c 3 -i 0.2 fd00:2::1")
    assert agent.stop()["passed_unseen"]["ipv6"] >= 6


def test_gateway_ten_thousand_syns_cost_bounded_memory_and_one_line(line: Line) -> None:
    agent = line.agent(*SCHEME)
    before = _resident_bytes(agent)
    line.station.run("ip route add blackhole 10.9.1.0/24")  # no answers: half-open for ever
    line.wired.python(FLOOD, "10000").wait(60)
    time.sleep(1.5)
    grown = _resident_bytes(agent) - before
    line.station.run("ip route del blackhole 10.9.1.0/24")
    # A hundred windows of 64 KiB exceed the gateway's 4 MiB, but only packets in the gateway need space.
    sinks = line.station.python(_SINK, "100")
    assert sinks.stdout is not None
    sinks.stdout.readline()
    line.wired.python(_MANY, "100", "5000", "2").wait(60)
    status = agent.stop()
    assert status["packets"]["seen"] > 10_000
    assert grown < 40 << 20, grown
    assert (status["hook"]["unpaced_flows"], status["hook"]["unpaced_segments"]) == (0, 0)
    assert agent.said() == ""
    assert status["failed"] is None


def test_gateway_keeps_its_rate_with_a_thousand_connections(line: Line) -> None:
    agent = line.agent("--scheme", "data-pacing", "--pace-rate", "2")
    sinks = line.station.python(_SINK, "1000")
    assert sinks.stdout is not None
    sinks.stdout.readline()
    sources = line.wired.python(_MANY, "1000", "60000", "9")
    assert sources.stdout is not None
    assert sources.stdout.readline() == "connected\n"
    time.sleep(2)
    start_bytes, start_s = sent_on(line.gateway, "air0")
    time.sleep(5)
    end_bytes, end_s = sent_on(line.gateway, "air0")
    status = agent.stop()
    # Whole IP packets of 1500 B at 2 Mbit/s, 1514 B with Ethernet headers. Control packets are not paced.
    assert 0.97 < (end_bytes - start_bytes) * 8 / (end_s - start_s) / (2e6 * 1514 / 1500) < 1.03
    assert status["hook"]["overflows"] > 0, "more came than 4 MiB hold"
    assert (status["hook"]["unpaced_segments"], status["held_pkts"] <= 8192, status["errors"]) == (0, True, 0)
    assert "pacing queue is full" in agent.said()


def test_gateway_ipv6_keeps_the_rate_of_all(line: Line) -> None:
    add_ipv6(line)
    agent = line.agent("--scheme", "data-pacing", "--pace-rate", "2")
    start_bytes, start_s = sent_on(line.gateway, "air0")
    iperf(line.wired, line.station, "fd00:2::1", seconds=3)
    end_bytes, end_s = sent_on(line.gateway, "air0")
    status = agent.stop()
    assert status["packets"]["paced_unread"] > 300, "500 full packets in three seconds"
    assert status["errors"] == 0
    # The mean includes the time in which nothing was sent, so a slow machine only lowers it.
    assert end_bytes - start_bytes > 500_000
    assert (end_bytes - start_bytes) * 8 / (end_s - start_s) < 1.03 * 2e6 * 1514 / 1500


def test_gateway_paces_larger_packets_once_the_mtu_was_raised(line: Line) -> None:
    agent = line.agent("--scheme", "fixed-rate", "--pace-rate", "2", "--path-rates", "11")
    for host, interfaces in ((line.wired, ["eth0"]), (line.gateway, ["wired0", "air0"]), (line.station, ["eth0"])):
        for interface in interfaces:
            host.run(f"ip link set {interface} mtu 3000")
    for _ in range(2):  # one document per second, each after a check of the interfaces
        agent.read()
    line.wired.run(f"ping -c 1 -s 2500 -M do -W 2 {line.STATION}")
    iperf(line.wired, line.station, line.STATION, seconds=1)
    found = agent.stop()
    assert (found["packets"]["seen"] > 20, found["passed_unseen"]) == (True, {"not-tcp-udp": 2}), found


def test_gateway_sees_packets_that_a_firewall_marked(line: Line) -> None:
    line.gateway.run("iptables -t mangle -A PREROUTING -j MARK --set-mark 0xffffffff")
    agent = line.agent(*SCHEME)
    line.wired.run(f"ping -c 3 -i 0.2 {line.STATION}")
    assert agent.stop()["passed_unseen"] == {"not-tcp-udp": 6}


def test_gateway_refusals_are_one_line_exit_3_and_leave_nothing(line: Line) -> None:
    def fails(*arguments: str) -> str:
        done = line.gateway.start(
            *PACELAB, "gateway", *SCHEME, *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        _out, said = done.communicate(timeout=30)
        assert done.returncode == 3, said
        assert said.count("\n") == 1, said
        return said

    assert "'nope'" in fails("--air", "nope", "--wired", "wired0")
    assert "'nope'" in fails("--air", "air0", "--wired", "nope")
    assert line.rules() == ""
    agent = line.agent(*SCHEME)
    rules = line.rules()
    assert "in use" in fails("--air", "air0", "--wired", "wired0")
    assert "20481: in use" in fails("--air", "air0", "--wired", "wired0", "--queue", "20481")
    assert line.rules() == rules
    agent.stop()
    assert line.rules() == ""


def test_gateway_without_permission_is_one_line_exit_3(line: Line) -> None:
    command = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all", *PACELAB, "gateway"]
    own = (*SCHEME, "--air", "air0", "--wired", "wired0")
    done = line.gateway.start(*command, *own, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _out, said = done.communicate(timeout=30)
    assert (done.returncode, said.count("\n")) == (3, 1), said
    assert "not permitted without CAP_NET_ADMIN and CAP_NET_RAW; run as root, in a container with" in said


def test_gateway_in_a_container_with_the_usual_capabilities_reports_the_missing_ones(line: Line) -> None:
    command = ["setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-net_admin", *PACELAB, "gateway"]
    for more in ((), ("--datapath", "tc")):
        own = (*SCHEME, "--air", "air0", "--wired", "wired0", *more)
        done = line.gateway.start(*command, *own, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        _out, said = done.communicate(timeout=30)
        assert (done.returncode, said.count("\n")) == (3, 1), said
        assert "without CAP_NET_ADMIN; run as root, in a container with --cap-add NET_ADMIN" in said


def _dump(host: Host, *options: str) -> subprocess.Popen[str]:
    """Capture the host's TCP packets into a pipe."""
    command = ("tcpdump", "-i", "eth0", "-w", "-", *options, "tcp")
    return host.start(*command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def _resident_bytes(agent: RunningAgent) -> int:
    with open(f"/proc/{agent.ready['pid']}/statm") as statm:
        return int(statm.read().split()[1]) * 4096


_SINK = """
import selectors, socket
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
s = socket.create_server(('', 9000), backlog=500)
print('up', flush=True)
held = [s.accept()[0] for _ in range(int(sys.argv[1]))]
while True: socket.socket.recv(held[0], 1)
"""
_MANY = """
import resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
connections, size, seconds = map(int, sys.argv[1:])
held = [socket.create_connection(('10.9.2.1', 9000)) for _ in range(connections)]
print('connected', flush=True)
for one in held: one.setblocking(False); one.send(bytes(size))
time.sleep(seconds)
"""


@pytest.mark.kernel
def test_gateway_host_of_tests_leaves_no_namespace() -> None:
    if reason := missing_for_namespaces():
        pytest.skip(reason)
    host = Host("short")
    host.close()
    assert subprocess.run(["nsenter", "--net", "--target", str(host.pid), "true"], check=False).returncode != 0


# `pacelab station` and `pacelab sender` on real hosts. With mediumd, the back end tap runs them (test_tap.py).


def test_station_delays_acks_of_a_real_receiver(line: Line) -> None:
    line.station.run("ip route change default via 10.9.2.254 quickack 1")
    agent = RunningAgent(line.station, "station", "--scheme", "delayed-ack", "--air", "eth0")
    before = _segments_in(line)
    result = iperf(line.wired, line.station, line.STATION, "-w 64K -b 4M", seconds=4)
    acks = _segments_in(line) - before
    counters = agent.stop()["hook"]
    segments = result["end"]["sum_received"]["bytes"] / 1448
    # d is 4 from 100 kB on, that is for all except the first 70 of about 1400 segments. iperf3's control connection
    # adds about
    # 40. A busy host acknowledges many segments at a time; then there are fewer ACKs to suppress.
    assert 0.1 * segments < acks < 0.33 * segments
    assert counters["acks_suppressed"] > 0.2 * segments
    assert counters["acks_timed_out"] < 0.1 * segments


def _segments_in(line: Line) -> int:
    """TCP segments that the wired host has received."""
    names, values = (row.split() for row in line.wired.run("grep ^Tcp: /proc/net/snmp").splitlines())
    return int(values[names.index("InSegs")])


def test_sender_paces_by_round_trips_less_the_option_of_a_gateway(line: Line) -> None:
    gateway = line.agent(*SCHEME)
    agent = RunningAgent(line.station, "sender", "--scheme", "tcp-gap", "--air", "eth0", *FOUR_HOPS)
    result = iperf(line.station, line.wired, line.WIRED, "-w 64K", seconds=5)
    status = agent.stop()
    assert gateway.stop()["hook"]["rtt_wired_written"] > 20
    assert status["hook"]["rtt_samples"] > 20
    assert status["hook"]["delayed"] > 20
    # 1500 B over four hops of 2 Mbit/s: at most one segment in 24 ms.
    most = 1460 * 8 / 0.024
    assert most / 9 < result["end"]["sum_received"]["bits_per_second"] < 1.05 * most


def test_sender_tcp_ap_ignores_the_option(line: Line) -> None:
    agent = RunningAgent(line.station, "sender", "--scheme", "tcp-ap", "--air", "eth0", *FOUR_HOPS)
    iperf(line.station, line.wired, line.WIRED, "-w 64K", seconds=3)
    status = agent.stop()
    assert status["hook"]["delayed"] > 20
    assert status["failed"] is None


def test_relay_without_mediumd_reports_what_it_needs(line: Line) -> None:
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
    # A gateway that also acts as a sender for its own applications: four queues, two sets of rules.
    gateway = line.agent(*SCHEME)
    sender = RunningAgent(line.gateway, "sender", "--scheme", "tcp-gap", "--air", "air0", *FOUR_HOPS)
    line.gateway.run("ping -c 1 10.9.2.1")
    line.wired.run("ping -c 1 10.9.2.1")
    time.sleep(0.2)
    assert sender.stop()["passed_unseen"]["not-tcp-udp"] == 2
    assert "PACELAB" in line.rules()
    assert gateway.stop()["passed_unseen"]["not-tcp-udp"] == 2
    assert line.rules() == ""


def test_agent_whose_terminal_goes_ends(line: Line, hangup: Callable[[signal.Handlers], object]) -> None:
    hangup(signal.SIG_DFL)
    agent = line.agent(*SCHEME)
    os.kill(agent.ready["pid"], signal.SIGHUP)
    assert agent.process.wait(10) == 0
    assert line.rules() == ""


def test_agent_under_nohup_outlives_its_terminal(line: Line, hangup: Callable[[signal.Handlers], object]) -> None:
    hangup(signal.SIG_IGN)
    agent = line.agent(*SCHEME)
    os.kill(agent.ready["pid"], signal.SIGHUP)
    assert agent.read()["event"] == "status"
    agent.stop()
