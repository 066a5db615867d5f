"""Measures the Linux pacer against its targets: `sudo .venv/bin/python bench/hosts/pacer.py [--seconds S]`, on an idle
machine.

    pass-through    20,000 packets/s of 1000 B through NFQUEUE and Python: none lost
    pacing          TCP data of 1500 B at 500 packets/s: the mean rate within 0.1 %, by the receiver's kernel
    latency         median additional delay of an unpaced packet with the agent: under 100 us
    tc              500 Mbit/s paced by the kernel, the agent uses less than 10 % of a core

Everything runs in private namespaces. The programs that send and receive run at nice -15. Exit code 1 if a target is
missed, 3 if this cannot run here.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Three hosts in a line: network namespaces that end with the process that holds them.

ROOT = Path(__file__).parents[2]
_DIES_WITH_US = ["setpriv", "--pdeathsig", "KILL"]
PROGRAMS = ("ip", "unshare", "nsenter", "setpriv", "iptables", "nft", "iperf3", "ethtool")


def missing() -> str | None:
    """Why this cannot run here, or None."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs Linux and root"
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"missing: {', '.join(absent)}" if absent else None


class Host:
    """One namespace."""

    def __init__(self) -> None:
        command = [*_DIES_WITH_US, "unshare", "--net", "sh", "-c", "echo up; exec sleep infinity"]
        self._holder = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self._holder.stdout is not None
        self._holder.stdout.readline()
        self.pid = self._holder.pid
        self.run("ip link set lo up")

    def start(self, *command: str, **pipes: Any) -> subprocess.Popen[str]:
        """Start a program here."""
        inside = [*_DIES_WITH_US, "nice", "-n", "-15", "nsenter", "--net", "--target", str(self.pid), *command]
        return subprocess.Popen(inside, cwd=ROOT, text=True, **pipes)

    def python(self, code: str, *arguments: Any) -> subprocess.Popen[str]:
        """Start Python code here. Its output is read from its stdout."""
        return self.start(sys.executable, "-c", code, *map(str, arguments), stdout=subprocess.PIPE)

    def run(self, line: str) -> str:
        """Run a shell line to its end."""
        done = self.start("sh", "-c", line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, errors = done.communicate(timeout=120)
        assert done.returncode == 0, f"{line}: {errors}"
        return out

    def close(self) -> None:
        """End the process that holds the namespace."""
        self._holder.kill()
        self._holder.wait()


class Line:
    """wired 10.9.1.1 -- 10.9.1.254 gateway 10.9.2.254 -- 10.9.2.1 station, of veth pairs without offloads."""

    STATION = "10.9.2.1"

    def __init__(self) -> None:
        self.wired, self.gateway, self.station = Host(), Host(), Host()
        for host, net, inner in ((self.wired, 1, "wired0"), (self.station, 2, "air0")):
            host.run(f"ip link add eth0 type veth peer name {inner} netns {self.gateway.pid}")
            host.run(
                f"ip addr add 10.9.{net}.1/24 dev eth0; ip link set eth0 up; ethtool -K eth0 tso off gso off gro off"
            )
            self.gateway.run(f"ip addr add 10.9.{net}.254/24 dev {inner}; ip link set {inner} up")
            host.run(f"ip route add default via 10.9.{net}.254")
        self.gateway.run("sysctl -qw net.ipv4.ip_forward=1")

    def close(self) -> None:
        """Remove everything."""
        for host in (self.wired, self.gateway, self.station):
            host.close()


class Agent:
    """An agent at the gateway. It is ready after construction."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        ready = self._read()
        self.pid: int = ready["pid"]

    def cpu_s(self) -> float:
        """User and system time so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> dict[str, Any]:
        """Stop the agent; return its last document."""
        os.kill(self.pid, 15)
        while (document := self._read())["event"] != "end":
            pass
        self._process.wait()
        return document

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the agent has ended; its message is printed above"
        document: dict[str, Any] = json.loads(line)
        return document


def start_agent(line: Line, *arguments: str) -> Agent:
    """Start `pacelab gateway` at the gateway."""
    command = ("-m", "pacelab", "gateway", "--air", "air0", "--wired", "wired0", "--json", *arguments)
    return Agent(line.gateway.start(sys.executable, *command, stdout=subprocess.PIPE))


SENT_PPS = 20_000
PACED_PPS = 500
PACED_MBPS = 6
"""500 packets of 1500 B."""
RATE_ERROR = 0.001
LATENCY_US = 100.0
TC_MBPS = 500
TC_SHARE = 0.10
SETTLE_S = 2.0
WINDOW = ("-w", "256K", "-C", "reno")
"""Large enough that the pacing queue is never empty, and smaller than its capacity. CUBIC would take many seconds to
fill it.
"""
FILL_S = 6.0

SEND = """
import socket, struct, sys, time
count, gap = int(sys.argv[1]), int(sys.argv[2])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
rest, at = bytes(964), time.monotonic_ns()
for number in range(count):
    at += gap
    while (early := at - time.monotonic_ns()) > 0:
        if early > 300_000: time.sleep((early - 200_000) / 1e9)
    s.sendto(struct.pack('!Q', time.monotonic_ns()) + rest, ('10.9.2.1', 7000))
"""
RECEIVE = """
import socket, struct, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)
s.setsockopt(socket.SOL_SOCKET, 35, 1)
s.bind(('', 7000))
print('up', flush=True)
s.settimeout(3)
waits = []
try:
    while True:
        data, stamps, *_ = s.recvmsg(2000, 64)
        seconds, ns = struct.unpack('qq', stamps[0][2][:16])
        at = seconds * 10**9 + ns - (time.time_ns() - time.monotonic_ns())
        waits.append(at - struct.unpack('!Q', data[:8])[0])
except TimeoutError:
    pass
waits.sort()
print(len(waits), waits[len(waits) // 2] / 1e3, waits[len(waits) * 99 // 100] / 1e3)
"""
WATCH = """
import sys, time
from pacelab_pacer.linux.air_tap import AirTap
tap, end, seen = AirTap('eth0'), time.monotonic() + float(sys.argv[1]), []
print('up', flush=True)
while time.monotonic() < end:
    time.sleep(0.02)
    seen += [(p.at_ns, int.from_bytes(p.headers[2:4], 'big')) for p in tap.receive() if not p.outgoing]
seen = [(at, size) for at, size in seen if size > 60]  # data
full = sum(size == 1500 for _at, size in seen)
gaps = sorted(b - a for (a, size), (b, _) in zip(seen, seen[1:]) if size == 1500)
# The time to the next packet depends on the packet's size, so a short packet counts in proportion to its size.
rate = sum(size for _at, size in seen[:-1]) / 1500 * 1e9 / (seen[-1][0] - seen[0][0])
print(len(seen), full, rate, *(gaps[len(gaps) * share // 100] / 1e3 for share in (1, 50, 99)), gaps[-1] / 1e3)
"""
TC_AGENT = """
import json, sys
from pacelab_pacer.core.candidates.data_pacing import FixedRateConfig, FixedRatePacer
from pacelab_pacer.linux.agent import ROLES, AgentConfig
from pacelab_pacer.linux.tc_agent import TcAgent
config = AgentConfig(role=ROLES['gateway'], scheme='fixed-rate', air='air0', wired='wired0')
hook = FixedRatePacer(FixedRateConfig(rate_bps=float(sys.argv[1]) * 1e6))
say = lambda line: print(line, file=sys.stderr)
TcAgent(config, hook, say=say, on_status=lambda document: print(json.dumps(document), flush=True)).run()
"""
"""`pacelab gateway --datapath tc`; the maximum of --pace-rate is 100 Mbit/s."""


def main() -> int:
    """Measure everything; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10, help="length of each measurement (default 10)")
    seconds: float = parser.parse_args().seconds
    if reason := missing():
        print(f"bench/hosts/pacer.py: {reason}", file=sys.stderr)
        return 3
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load average {load:.1f}{'' if load < 1 else ': not idle, so times are longer'}")
    met = [measure(seconds) for measure in (_pass_through, _latency, _pacing, _tc)]
    print("every target met" if all(met) else "a target was MISSED")
    return 0 if all(met) else 1


def _on_a_line(measure: Callable[[Line, float], bool]) -> Callable[[float], bool]:
    def run(seconds: float) -> bool:
        line = Line()
        try:
            return measure(line, seconds)
        finally:
            line.close()

    return run


@_on_a_line
def _pass_through(line: Line, seconds: float) -> bool:
    agent = start_agent(line, "--scheme", "tcp-gap", "--path-rates", "11")
    count = round(SENT_PPS * seconds)
    arrived, before, started = _arrived(line), agent.cpu_s(), time.monotonic()
    received, median_us, _p99 = _datagrams(line, count, SENT_PPS)
    share = (agent.cpu_s() - before) / (time.monotonic() - started)
    status = agent.stop()
    arrived = _arrived(line) - arrived
    lost = count - arrived
    print(f"pass-through: {SENT_PPS} packets/s for {seconds:g} s: {lost} of {count} lost (target 0), {status['queue']}")
    print(f"    the agent took {1e6 * share / SENT_PPS:.1f} us of CPU a packet; median wait {median_us:.0f} us")
    if received < arrived:
        print(f"    {arrived - received} more packets arrived, but the receiver here was too slow to read them")
    return lost == 0


@_on_a_line
def _latency(line: Line, seconds: float) -> bool:
    count = round(PACED_PPS * seconds)
    bare = [_datagrams(line, count, PACED_PPS)[1]]
    agent = start_agent(line, "--scheme", "tcp-gap", "--path-rates", "11")
    _count, with_us, p99_us = _datagrams(line, count, PACED_PPS)
    agent.stop()
    bare.append(_datagrams(line, count, PACED_PPS)[1])
    added = with_us - statistics.mean(bare)
    print(
        f"latency: median {with_us:.0f} us with the agent, {bare[0]:.0f} and {bare[1]:.0f} us without: "
        f"{added:.0f} us added (target below {LATENCY_US:.0f}); 99 %: {p99_us:.0f} us"
    )
    return added < LATENCY_US


@_on_a_line
def _pacing(line: Line, seconds: float) -> bool:
    agent = start_agent(line, "--scheme", "fixed-rate", "--pace-rate", str(PACED_MBPS))
    server, client = _transfer(line, seconds + FILL_S + SETTLE_S, *WINDOW)
    time.sleep(FILL_S)
    watcher = line.station.python(WATCH, seconds)
    assert watcher.stdout is not None
    watcher.stdout.readline()
    count, full, rate, p1_us, p50_us, p99_us, most_us = map(float, watcher.stdout.readline().split())
    client.wait()
    server.wait()
    status = agent.stop()
    error = rate / PACED_PPS - 1
    late = status["release_lateness_us"]
    print(
        f"pacing: {rate:.3f} packets/s over {count:.0f} packets ({full:.0f} full), {error:+.4%} of {PACED_PPS} "
        f"(target within {RATE_ERROR:.1%})"
    )
    gaps = f"{p1_us:.0f}, {p50_us:.0f}, {p99_us:.0f} us (1, 50, 99 %), {most_us:.0f} us at most"
    print(f"    gaps {gaps}; late releases: {late} us")
    return abs(error) <= RATE_ERROR


@_on_a_line
def _tc(line: Line, seconds: float) -> bool:
    agent = Agent(line.gateway.python(TC_AGENT, TC_MBPS))
    server, client = _transfer(line, seconds + 2 * SETTLE_S, "-w", "2M")
    time.sleep(SETTLE_S)
    start_bytes, before, started = _bytes_out(line), agent.cpu_s(), time.monotonic()
    time.sleep(seconds)
    end_bytes, after, ended = _bytes_out(line), agent.cpu_s(), time.monotonic()
    client.wait()
    server.wait()
    status = agent.stop()
    share = (after - before) / (ended - started)
    rate = (end_bytes - start_bytes) * 8 / (ended - started) / 1e6 * 1500 / 1514
    print(
        f"tc: {rate:.0f} Mbit/s (target {TC_MBPS} within 5 %), the agent took {share:.1%} of a core "
        f"(target below {TC_SHARE:.0%})\n    {status['packets']['seen']} packets seen, one sample per "
        f"{status['sampled_octets']} B"
    )
    return abs(rate / TC_MBPS - 1) < 0.05 and share < TC_SHARE


def _datagrams(line: Line, count: int, pps: int) -> tuple[int, float, float]:
    """Send through the gateway; return the number received, and the median and 99th percentile of the delay in us."""
    receiver = line.station.python(RECEIVE)
    assert receiver.stdout is not None
    receiver.stdout.readline()
    line.wired.python(SEND, count, 1_000_000_000 // pps).wait()
    received, median_us, p99_us = receiver.stdout.readline().split()
    receiver.wait()
    return int(received), float(median_us), float(p99_us)


def _arrived(line: Line) -> int:
    """Datagrams that the station's kernel received, read or not."""
    names, counts = (row.split()[1:] for row in line.station.run("grep ^Udp: /proc/net/snmp").splitlines())
    found = dict(zip(names, map(int, counts), strict=True))
    return found["InDatagrams"] + found["RcvbufErrors"]


def _transfer(line: Line, seconds: float, *options: str) -> tuple[subprocess.Popen[str], subprocess.Popen[str]]:
    server = line.station.start("iperf3", "-s", "-1", stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    client = line.wired.start("iperf3", "-c", line.STATION, "-t", str(seconds), *options, stdout=subprocess.DEVNULL)
    return server, client


def _bytes_out(line: Line) -> int:
    return int(line.gateway.run("sed -n 's/.*air0: *//p' /proc/net/dev").split()[8])


if __name__ == "__main__":
    sys.exit(main())
