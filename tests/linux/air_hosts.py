"""Hosts on mediumd's air: one namespace per station, mediumd, a connection to it, UDP senders and a counter."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from network import ROOT, Host

NEVER_RTS = 4_294_967_295
TWO_RAY: dict[str, Any] = {"kind": "two-ray", "capture_db": 10.0}


def program() -> Path | None:
    """mediumd as built in this tree, else the one beside Python, else the one on the PATH."""
    for place in (ROOT / "medium/target/release/mediumd", Path(sys.executable).parent / "mediumd"):
        if os.access(place, os.X_OK):
            return place
    found = shutil.which("mediumd")
    return Path(found) if found else None


def missing_for_mediumd() -> str | None:
    """Why mediumd cannot run here, or None."""
    if program() is None:
        return "mediumd is not built: make build"
    if not Path("/dev/net/tun").exists():
        return "no /dev/net/tun: modprobe tun; mkdir -p /dev/net; mknod /dev/net/tun c 10 200"
    return None


def radio(**other: Any) -> dict[str, Any]:
    """802.11b at 2 Mbit/s with preset `standard`, without RTS."""
    return {
        "preset": "standard",
        "basic_rate_bps": 1_000_000,
        "data_rate_bps": 2_000_000,
        "rts_threshold_bytes": NEVER_RTS,
        "short_retry_limit": 7,
        "long_retry_limit": 4,
        "queue_pkts": 50,
        "mac_ack_rate": "basic",
        "propagation": TWO_RAY,
        **other,
    }


class Connection:
    """A client on mediumd's socket."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(10)
        self.socket.connect(str(path))
        self._lines = self.socket.makefile("rb")
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def send(self, line: bytes) -> None:
        self.socket.sendall(line + b"\n")

    def next(self) -> dict[str, Any]:
        """The next line of any kind; empty at the end."""
        line = self._lines.readline()
        found: dict[str, Any] = json.loads(line) if line else {}
        return found

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The whole answer. Events before it are stored."""
        self._number += 1
        self.send(json.dumps({"id": self._number, "method": method, "params": params}).encode())
        while "event" in (answer := self.next()):
            self.events.append(answer)
        assert answer["id"] == self._number
        return answer

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result. An error fails the test."""
        answer = self.ask(method, **params)
        result: dict[str, Any] = answer["result"]
        return result

    def close(self) -> None:
        self._lines.close()
        self.socket.close()


class Air:
    """Stations `n0`, `n1`, ... with addresses 10.0.0.1, ... and static neighbours, connected by mediumd."""

    def __init__(self, x_m: Sequence[float], *, options: Sequence[str] = (), **radio_keys: Any) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mediumd-"))
        self.socket_path = self.folder / "socket"
        self.hosts = [Host(f"n{number}") for number in range(len(x_m))]
        self.options = list(options)
        self.config = {
            "version": 1,
            "seed": 1,
            "radio": radio(**radio_keys),
            "stations": [
                {
                    "name": host.name,
                    "position_m": [x, 0.0],
                    "mac": mac(number),
                    "tap": {"netns": f"/proc/{host.pid}/ns/net", "name": "air0"},
                }
                for number, (host, x) in enumerate(zip(self.hosts, x_m, strict=True))
            ],
        }
        for host in self.hosts:
            host.run("sysctl -qw net.ipv6.conf.default.disable_ipv6=1", check=False)
        self.start()

    def start(self) -> None:
        """Start mediumd, wait until it is ready, and give the hosts their addresses."""
        path = self.folder / "config.json"
        path.write_text(json.dumps(self.config), encoding="utf-8")
        command = [program(), "--config", path, "--socket", self.socket_path, "--die-with-parent", *self.options]
        self.process = subprocess.Popen(
            [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.said()
        self.ready: dict[str, Any] = json.loads(line)
        for number, host in enumerate(self.hosts):
            host.run(f"ip addr add {address(number)}/24 dev air0")
        self.set_neighbours()
        self.control = Connection(self.socket_path)

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self._forget_process()

    def _forget_process(self) -> None:
        self.control.close()
        self.process.wait(10)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    def set_neighbours(self) -> None:
        for host in self.hosts:
            others = [number for number in range(len(self.hosts)) if self.hosts[number] is not host]
            host.run("; ".join(f"ip neigh replace {address(n)} lladdr {mac(n)} dev air0" for n in others) or "true")

    def said(self) -> str:
        """The output on standard error, up to the end of the process."""
        assert self.process.stderr is not None
        return self.process.stderr.read()

    def stats(self) -> dict[str, Any]:
        return self.control.call("stats")

    def count(self, station: int, key: str) -> int:
        """One counter of one station."""
        value: int = self.stats()["stations"][station][key]
        return value

    def ping(self, src: int, dst: int, options: str = "-c 1 -W 1") -> list[float]:
        """Round-trip times in ms of the answered echo requests."""
        text = self.hosts[src].run(f"ping -n {options} {address(dst)}", check=False)
        return [float(line.split("time=")[1].split()[0]) for line in text.splitlines() if "time=" in line]

    def tap_exists(self, station: int) -> bool:
        return "air0" in self.hosts[station].run("ip -o link")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self._forget_process()
        for host in self.hosts:
            host.close()
        shutil.rmtree(self.folder)


def mac(number: int) -> str:
    return f"02:00:00:00:00:{number + 1:02x}"


def address(number: int) -> str:
    return f"10.0.0.{number + 1}"


SENDER = """
import socket, sys, time
address, size, rate, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
data, start, sent = bytes(size), time.monotonic(), 0
while (passed := time.monotonic() - start) < seconds:
    while sent < passed * rate:
        out.sendto(data, (address, 9000))
        sent += 1
    time.sleep(0.001)
print(sent)
"""
"""Sends datagrams of a given size and rate, those of 0.001 s at once. Prints their number."""

COUNTER = """
import collections, socket, sys, time
got = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
got.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
got.bind(("", 9000))
counts = collections.Counter()
start, end = (time.monotonic() + float(word) for word in sys.argv[1:3])
while (now := time.monotonic()) < end:
    got.settimeout(end - now)
    try:
        _, (source, _) = got.recvfrom(2048)
    except TimeoutError:
        break
    counts[source] += time.monotonic() >= start
print(*(counts[source] for source in sys.argv[3:]))
"""
"""Counts datagrams by source between two times from now on."""


def saturated(
    air: Air, flows: Sequence[tuple[int, int]], *, warmup_s: float, seconds: float, pkts_per_s: float = 500
) -> list[int]:
    """Datagrams of 1460 bytes of IP (ns-2's size on the air) delivered by each flow in `seconds` after `warmup_s`."""
    receivers = sorted({dst for _, dst in flows})
    sources = {dst: [src for src, to in flows if to == dst] for dst in receivers}
    counters = [
        air.hosts[dst].python(COUNTER, str(warmup_s), str(warmup_s + seconds), *map(address, sources[dst]))
        for dst in receivers
    ]
    senders = [
        air.hosts[src].python(SENDER, address(dst), str(1460 - 28), str(pkts_per_s), str(warmup_s + seconds + 0.5))
        for src, dst in flows
    ]
    found: dict[tuple[int, int], int] = {}
    for dst, counter in zip(receivers, counters, strict=True):
        words = counter.communicate(timeout=warmup_s + seconds + 30)[0].split()
        found |= {(src, dst): int(word) for src, word in zip(sources[dst], words, strict=True)}
    for sender in senders:
        sender.communicate(timeout=30)
    return [found[flow] for flow in flows]


def wait_until(true: Any, seconds: float = 5) -> bool:
    """Whether the condition became true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.02)
    return False
