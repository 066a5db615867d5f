"""Three hosts in a row for the pacer's benchmark: network namespaces that end with the process that holds them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

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
        """Start a piece of Python here; what it prints is read from its stdout."""
        return self.start(sys.executable, "-c", code, *map(str, arguments), stdout=subprocess.PIPE)

    def run(self, line: str) -> str:
        """Run a shell line to its end."""
        done = self.start("sh", "-c", line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, said = done.communicate(timeout=120)
        assert done.returncode == 0, f"{line}: {said}"
        return out

    def close(self) -> None:
        """End what holds it."""
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
        """Nothing is left."""
        for host in (self.wired, self.gateway, self.station):
            host.close()


class Agent:
    """An agent in the gateway; ready when made."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        ready = self._read()
        self.pid: int = ready["pid"]

    def cpu_s(self) -> float:
        """User and system time so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> dict[str, Any]:
        """End it; its last document."""
        os.kill(self.pid, 15)
        while (document := self._read())["event"] != "end":
            pass
        self._process.wait()
        return document

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the agent ended; what it said is above"
        document: dict[str, Any] = json.loads(line)
        return document


def start_agent(line: Line, *arguments: str) -> Agent:
    """`pacelab gateway` in the gateway."""
    command = ("-m", "pacelab", "gateway", "--air", "air0", "--wired", "wired0", "--json", *arguments)
    return Agent(line.gateway.start(sys.executable, *command, stdout=subprocess.PIPE))
