"""Hosts as network namespaces, commands between them, checks that nothing remains, and detection of a late machine.

A namespace lives as long as the process that holds it, and this process ends with the tests, however they end. So
nothing remains: interfaces and rules disappear with their namespace.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from pacelab.emulation.probes import missing
from pacelab_pacer.linux import status

ROOT = Path(__file__).parents[2]
PACELAB = [sys.executable, "-m", "pacelab"]
_DIES_WITH_US = ["setpriv", "--pdeathsig", "KILL"]


def missing_for_namespaces() -> str | None:
    """Why namespaces cannot be used here, or None."""
    if sys.platform != "linux":
        return "namespaces are Linux's"
    if os.geteuid() != 0:
        return "not root: run `sudo make test-linux`"
    for program in ("ip", "unshare", "nsenter", "setpriv", "iptables", "iperf3", "ethtool"):
        if shutil.which(program) is None:
            return f"{program} is missing: apt install iproute2 util-linux iptables iperf3 ethtool"
    probe = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    return None if probe.returncode == 0 else "no network namespaces here: a container needs CAP_SYS_ADMIN"


class Host:
    """One namespace."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._holder = subprocess.Popen(
            [*_DIES_WITH_US, "unshare", "--net", "sh", "-c", "echo up; exec sleep infinity"], stdout=subprocess.PIPE
        )
        assert self._holder.stdout is not None
        self._holder.stdout.readline()
        self._holder.stdout.close()
        self.pid = self._holder.pid
        self._running: list[subprocess.Popen[str]] = []
        self.run("ip link set lo up")

    def inside(self, *command: str) -> list[str]:
        return [*_DIES_WITH_US, "nsenter", "--net", "--target", str(self.pid), *command]

    def run(self, command: str, *, check: bool = True, timeout: float = 60) -> str:
        """Run a shell line to its end; return its output."""
        done = subprocess.run(
            self.inside("sh", "-c", command), capture_output=True, text=True, timeout=timeout, check=False
        )
        assert done.returncode == 0 or not check, f"{self.name}: {command}: {done.stderr}"
        return done.stdout

    def start(self, *command: str, **pipes: Any) -> subprocess.Popen[str]:
        """Start a program, which ends at the latest with the host."""
        process = subprocess.Popen(self.inside(*command), cwd=ROOT, text=True, **pipes)
        self._running.append(process)
        return process

    def python(self, code: str, *arguments: str) -> subprocess.Popen[str]:
        return self.start(sys.executable, "-c", code, *arguments, stdout=subprocess.PIPE)

    def close(self) -> None:
        for process in [*self._running, self._holder]:
            if process.poll() is None:
                process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


class RunningAgent:
    """`pacelab gateway ... --json` in a host, ready after construction."""

    def __init__(self, host: Host, *arguments: str) -> None:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = host.start(*PACELAB, *arguments, "--json", **pipes)
        self.documents: list[dict[str, Any]] = []
        document = self.read()
        assert document["event"] == "ready", document
        self.ready = document

    def read(self) -> dict[str, Any]:
        """The next document, checked against its type."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        line = self.process.stdout.readline()
        assert line, f"agent ended: {self.process.stderr.read()}"
        document: dict[str, Any] = json.loads(line)
        assert TypeAdapter(status.Line).dump_python(TypeAdapter(status.Line).validate_json(line)) == document
        self.documents.append(document)
        return document

    def stop(self) -> dict[str, Any]:
        """Stop the agent with SIGTERM; return its last document."""
        self.process.terminate()
        while (document := self.read())["event"] != "end":
            pass
        assert self.process.wait(10) == 0
        return document

    def kill(self) -> None:
        """kill -9."""
        os.kill(self.ready["pid"], 9)
        self.process.wait(10)

    def said(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read()


class Line:
    """wired 10.9.1.1 -- 10.9.1.254 gateway 10.9.2.254 -- 10.9.2.1 station, of veth pairs without offloads."""

    WIRED, STATION = "10.9.1.1", "10.9.2.1"

    def __init__(self) -> None:
        self.wired, self.gateway, self.station = Host("wired"), Host("gateway"), Host("station")
        gateway = self.gateway.pid
        for host, net, inner in ((self.wired, 1, "wired0"), (self.station, 2, "air0")):
            host.run(f"ip link add eth0 type veth peer name {inner} netns {gateway}")
            host.run(f"ip addr add 10.9.{net}.1/24 dev eth0; ip link set eth0 up")
            host.run("sysctl -qw net.ipv4.tcp_congestion_control=reno", check=False)
            self.gateway.run(f"ip addr add 10.9.{net}.254/24 dev {inner}; ip link set {inner} up")
            host.run(f"ip route add default via 10.9.{net}.254")
            host.run("ethtool -K eth0 tso off gso off gro off", check=False)
        self.gateway.run("sysctl -qw net.ipv4.ip_forward=1")

    def agent(self, *arguments: str) -> RunningAgent:
        """A gateway agent."""
        return RunningAgent(self.gateway, "gateway", "--air", "air0", "--wired", "wired0", *arguments)

    def rules(self) -> str:
        """Our rules in the gateway's firewall."""
        return self.gateway.run("iptables-save | grep PACELAB; ip6tables-save | grep PACELAB", check=False)

    def close(self) -> None:
        for host in (self.wired, self.gateway, self.station):
            host.close()


def iperf_server(host: Host) -> subprocess.Popen[str]:
    """Start iperf3's server for one transfer, and wait until it listens."""
    server = host.start("iperf3", "-s", "-1", stdout=subprocess.DEVNULL)
    until = time.monotonic() + 30
    while not host.run("ss -Hltn sport = 5201"):
        assert server.poll() is None, "iperf3 -s has ended"
        assert time.monotonic() < until, "iperf3 -s does not listen"
        time.sleep(0.05)
    return server


def iperf(sender: Host, receiver: Host, address: str, *options: str, seconds: float = 3) -> dict[str, Any]:
    """A TCP transfer from `sender` to `receiver`; returns iperf3's result."""
    server = iperf_server(receiver)
    text = sender.run(f"iperf3 -J -c {address} -t {seconds} {' '.join(options)}", timeout=seconds + 30, check=False)
    server.wait(10)
    result: dict[str, Any] = json.loads(text)
    assert "error" not in result, result["error"]
    return result


# Shared parts of the tests of real hosts: commands, and checks that nothing remains.

GONE_S = 10.0


def why_not(back_end: str = "tap") -> str | None:
    """Why the back end is not available here, or None."""
    if sys.platform != "linux":
        return "needs Linux"
    if os.geteuid() != 0:
        return "not root: run `sudo make test-linux`"
    lacks = list(missing(back_end))
    return "; ".join(f"no {name}: {remedy}" for name, remedy in lacks) or None


def start(*arguments: str, **pipes: Any) -> subprocess.Popen[str]:
    """A pacelab command."""
    return subprocess.Popen([*PACELAB, *arguments], cwd=ROOT, text=True, **pipes)


def run(*arguments: str, timeout: float = 300, back_end: str = "tap") -> dict[str, Any]:
    """Run `pacelab run ... --json` to its end; return its document."""
    command = [*PACELAB, "run", *arguments, "--backend", back_end, "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def goodputs_kbps(document: dict[str, Any]) -> list[float]:
    return [flow["goodput_bps"] / 1e3 for flow in document["run"]["flows"]]


def children_of(owner: int) -> list[int]:
    """Processes of runs that process `owner` started."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdecimal() and f"PACELAB_OWNER={owner}:".encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def names_of(pid: int) -> str:
    """The command line and the name of a process; empty if it has ended."""
    folder = Path(f"/proc/{pid}")
    try:
        return (folder / "cmdline").read_text() + (folder / "comm").read_text()
    except OSError:
        return ""


def wait_for_children(process: subprocess.Popen[str], *, least: int = 4) -> None:
    """Wait until a run's hosts exist."""
    until = time.monotonic() + 30
    while len(children_of(process.pid)) < least:
        assert process.poll() is None, "it ended"
        assert time.monotonic() < until
        time.sleep(0.05)


def assert_gone(owner: int) -> None:
    """Check that nothing outlives a run."""
    until = time.monotonic() + GONE_S
    while (left := children_of(owner)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not left


def host_state() -> tuple[str, str, str]:
    """Interfaces, named namespaces and mounts of the host."""
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    names = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout
    mounts = [line for line in Path("/proc/self/mounts").read_text().splitlines() if "netns" in line or "/run" in line]
    ours = [line.split(": ")[1] for line in links.splitlines() if "air0" in line or "wire" in line]
    return "\n".join(ours), names, "\n".join(mounts)


# The lateness of this machine. A failure while the machine stood still is a failure of the machine.

STEP_S = 0.005
LATE_S = 0.010
"""On a machine with a free core, a sleeper's lateness is a tenth of this."""


class Sleeper:
    """Sleeps for 5 ms at a time and records its largest lateness since the last query."""

    def __init__(self) -> None:
        self._worst_s = 0.0
        threading.Thread(target=self._sleep, daemon=True).start()

    def worst_s(self) -> float:
        """The largest lateness since the last call."""
        worst_s, self._worst_s = self._worst_s, 0.0
        return worst_s

    def _sleep(self) -> None:
        while True:
            before = time.monotonic()
            time.sleep(STEP_S)
            self._worst_s = max(self._worst_s, time.monotonic() - before - STEP_S)


FLOOD = """
import socket, struct, sys, time
flags, data = (0x10, bytes(int(sys.argv[2]))) if sys.argv[2:] else (2, b'')
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
a = socket.inet_aton('10.9.1.1') + socket.inet_aton('10.9.2.1')
def checksum(d):
    t = sum(struct.unpack('!%dH' % (len(d) // 2), d))
    while t >> 16: t = (t & 0xffff) + (t >> 16)
    return ~t & 0xffff
for n in range(int(sys.argv[1])):
    text = struct.pack('!HHIIBBHHH', 1024 + n, 80 + n // 60000, n, 0, 0x50, flags, 65535, 0, 0) + data
    text = text[:16] + struct.pack('!H', checksum(a + struct.pack('!BBH', 0, 6, len(text)) + text)) + text[18:]
    s.sendto(struct.pack('!BBHHHBBH', 0x45, 0, 20 + len(text), 1, 0, 64, 6, 0) + a + text, ('10.9.2.1', 0))
    if n % 100 == 0: time.sleep(0.005)
"""
"""Sends a segment of so many connections to the station: a SYN, or data of this even size in bytes."""

READ = """
import sys, time
while True:  # a busy machine may stop between two lines: the time of what was read is then unknown
    before = time.monotonic()
    lines = open("/proc/net/dev").readlines()
    after = time.monotonic()
    if after - before < 0.002:
        break
(line,) = (line for line in lines if line.strip().startswith(sys.argv[1] + ":"))
print(line.partition(":")[2].split()[8], before)
"""


def sent_on(host: Host, interface: str) -> tuple[int, float]:
    """Bytes sent on an interface, and the time of the reading in s."""
    count, at_s = host.run(f"{shlex.quote(sys.executable)} -S -c {shlex.quote(READ)} {interface}").split()
    return int(count), float(at_s)
