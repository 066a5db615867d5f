"""Hosts and switches for the self-test: network namespaces on a ring of switches, and a controller.

Use it only in private mount, network and process namespaces: names are not unique, and nothing is removed.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pacelab.documents import JsonObject
from pacelab_controller.core.frames import ARP, BROADCAST, REQUEST, arp_packet, read_mac
from pacelab_controller.errors import ControllerError
from pacelab_controller.switches.ovs import OpenVSwitch
from pacelab_controller.web.client import TOKEN, Client

FOLDER = Path("/run/pacelab-check")
OPENFLOW = "127.0.0.1:6653"
_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)
WAIT_S = 15.0


def shell(command: str, *, check: bool = True) -> str:
    """Run a shell command; returns what it printed."""
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise ControllerError(f"self-test: {command} failed: {done.stderr.strip()}")
    return done.stdout


def wait_for(what: str, condition: Callable[[], Any], seconds: float = WAIT_S) -> Any:
    """The result of `condition` as soon as it is true. Raises ControllerError after `seconds`."""
    until = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > until:
            raise ControllerError(f"no success after {seconds:g} s: {what}")
        time.sleep(0.02)
    return found


class Host:
    """A namespace with an interface `eth0` at a switch."""

    def __init__(self, number: int) -> None:
        self.name, self.address, self.mac = f"h{number}", f"10.9.0.{number}", f"02:00:00:00:09:{number:02x}"
        self.device = f"p{number}"
        shell(
            f"ip netns add {self.name}; ip link add {self.device} type veth peer name eth0 netns {self.name};"
            f"ip link set {self.device} up; ip -n {self.name} link set lo up;"
            f"ip -n {self.name} link set eth0 address {self.mac} up;"
            f"ip -n {self.name} addr add {self.address}/24 dev eth0;"
            f"ip netns exec {self.name} ethtool -K eth0 tx off tso off gso off"
        )

    def run(self, command: str, *, check: bool = True) -> str:
        """Run a shell command in the namespace."""
        return shell(f"ip netns exec {self.name} sh -c '{command}'", check=check)

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Move this thread into the namespace; sockets that it opens stay there."""
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        there = os.open(f"/run/netns/{self.name}", os.O_RDONLY)
        try:
            _setns(there)
            yield
        finally:
            _setns(before)
            os.close(there)
            os.close(before)

    def announce_address(self, address: str) -> None:
        """Send a gratuitous ARP request: this host has that address now."""
        import socket
        from ipaddress import IPv4Address

        number, mac = int(IPv4Address(address)), read_mac(self.mac)
        packet = arp_packet(
            operation=REQUEST, src_mac=mac, dst_mac=BROADCAST, sender=number, target_mac=0, target=number
        )
        with self.inside(), socket.socket(socket.AF_PACKET, socket.SOCK_RAW, ARP) as raw:
            raw.bind(("eth0", 0))
            raw.send(packet)


def _setns(fd: int) -> None:
    if _libc.setns(fd, _CLONE_NEWNET) != 0:
        raise ControllerError(f"self-test: setns: {os.strerror(ctypes.get_errno())}; run as root")


class Network:
    """A ring of `count` switches with one host each, and a controller."""

    def __init__(self, count: int = 3, *, rate_bps: int | None = None) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        shell("ip link set lo up")
        self.token = "self-test"
        self.client = Client(f"unix:{FOLDER}/rest.sock", self.token)
        self.switch = OpenVSwitch(FOLDER / "ovs")
        self.count = count
        for number in range(1, count + 1):
            self.switch.add_bridge(f"s{number}", dpid=number, controller=f"tcp:{OPENFLOW}")
        self.hosts = [Host(number) for number in range(1, count + 1)]
        for number, host in enumerate(self.hosts, 1):
            self.switch.add_port(f"s{number}", host.device, number=1, rate_bps=rate_bps)
        for number in range(1, count + 1) if count > 2 else range(1, count):
            there = number % count + 1
            one, other = f"l{number}a", f"l{number}b"
            shell(f"ip link add {one} type veth peer name {other}; ip link set {one} up; ip link set {other} up")
            self.switch.add_port(f"s{number}", one, number=2)
            self.switch.add_port(f"s{there}", other, number=3)
        self.process: subprocess.Popen[bytes] | None = None

    def start_controller(self) -> None:
        """Start `pacelab controller` and wait for its switches, links and ports."""
        command = [sys.executable, "-P", "-m", "pacelab_controller", "--listen", OPENFLOW, "--json", "--quiet"]
        self.process = subprocess.Popen(
            [*command, "--socket", str(FOLDER / "rest.sock")],
            stdout=subprocess.PIPE,
            env=os.environ | {TOKEN: self.token},
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line or json.loads(line)["event"] != "ready":
            raise ControllerError("self-test: the controller does not start; its messages are above")
        links = 2 * self.count if self.count > 2 else 2
        wait_for("all switches connect and find their links", lambda: len(self.topology()["links"]) == links)
        time.sleep(1.0)  # until ports count as edges

    def kill_controller(self) -> None:
        """Kill -9."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process = None

    def topology(self) -> Any:
        """GET /v1/topology."""
        return self.client.ask("GET", "/v1/topology")[1]

    def flows(self) -> JsonObject:
        """GET /v1/flows, by flow."""
        return {row["flow"]: row for row in self.client.ask("GET", "/v1/flows?limit=10000")[1]["flows"]}

    def close(self) -> None:
        """End all programs."""
        if self.process is not None:
            self.kill_controller()
        self.switch.close()
