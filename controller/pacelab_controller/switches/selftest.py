"""`pacelab controller --check`: tests the controller with a real Open vSwitch, in private namespaces.

    python -m pacelab_controller.switches.selftest      (in these namespaces)

Three switches form a ring, in which broadcasts could loop, with one host each.
"""

from __future__ import annotations

import contextlib
import json as json_module
import os
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address
from itertools import pairwise
from pathlib import Path
from typing import Any

from pacelab_controller.core.frames import ARP, BROADCAST, REQUEST, arp_packet, read_mac
from pacelab_controller.errors import ControllerError
from pacelab_controller.switches.hosts import Host, Network, shell, wait_for
from pacelab_controller.switches.ovs import SAFE_PATH, missing

_UNSHARE = ("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--")
FIRST_PACKET_S = 0.020
OUTAGE_S = 1.0
FIRST_PACKETS = 40
AHEAD = -10
"""Niceness, so that other work on the machine does not influence the result."""
QUESTIONS, LOOP_S = 5, 1.5
DEAD_S = 5.0
"""Longer than hosts repeat unanswered ARP requests."""
VOICE_PORT, ECHO_PORT = 16_400, 7_000
PACE_S = 0.02
CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}
"""Capabilities for making namespaces, which root in a container may lack -> bit (linux/capability.h)."""
Check = tuple[str, Callable[[Network], str]]


def run_in_private(*, json: bool, print_line: Callable[[str], None]) -> int:
    """Run the self-test in private namespaces; returns the exit code."""
    if sys.platform != "linux":
        raise ControllerError(f"--check does not work on {sys.platform}; run it on Linux")
    if os.geteuid() != 0:
        raise ControllerError("--check makes network namespaces; run it as root")
    if lacks := _lacking():
        allow = " ".join(f"--cap-add {name.removeprefix('CAP_')}" for name in lacks)
        raise ControllerError(f"--check: root lacks {' and '.join(lacks)} here; start the container with {allow}")
    if problem := missing():
        raise ControllerError(f"--check: {problem}")
    if shutil.which("unshare", path=SAFE_PATH) is None:
        raise ControllerError("--check: unshare is not installed; install it: apt-get install util-linux")
    options = ["--json"] if json else []
    command = [*_UNSHARE, sys.executable, "-P", "-m", "pacelab_controller.switches.selftest", *options]
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": here, "PATH": SAFE_PATH}, check=False)
    if done.returncode == 0:
        print_line("all checks passed")
    return done.returncode


def _lacking() -> list[str]:
    """The `CAPABILITIES` that this process lacks."""
    lines = Path("/proc/self/status").read_text().splitlines()
    held = next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff:"))
    return [name for name, bit in CAPABILITIES.items() if not held >> bit & 1]


def main() -> int:
    """Run all checks in order; returns 1 if one has failed."""
    os.setpriority(os.PRIO_PROCESS, 0, AHEAD)
    shell("mount -t tmpfs tmpfs /run && mkdir -p /run/netns")
    as_json = "--json" in sys.argv
    rows: list[dict[str, Any]] = []
    network: Network | None = None
    try:
        network = Network()
        network.start_controller()
        for name, check in CHECKS:
            begun = time.monotonic()
            try:
                passed, said = True, check(network)
            except (ControllerError, AssertionError, OSError, LookupError, ValueError, StopIteration) as error:
                passed, said = False, f"{error}" or traceback.format_exc(limit=-1).splitlines()[-2].strip()
            row = {"check": name, "passed": passed, "said": said, "seconds": round(time.monotonic() - begun, 1)}
            rows.append(row)
            if not as_json:
                print(f"{'ok    ' if passed else 'FAILED'}  {name}: {said}", flush=True)
    finally:
        if network is not None:
            network.close()
    if as_json:
        print(json_module.dumps({"version": 1, "checks": rows}))
    return 0 if rows and all(row["passed"] for row in rows) else 1


def _ring(network: Network) -> str:
    found = network.topology()
    assert len(found["switches"]) == 3, f"{len(found['switches'])} switches of 3"
    assert len(found["links"]) == 6, f"{len(found['links'])} ends of links of 6"
    return f"datapath {network.switch.datapath}, 3 switches, 3 links"


def _no_loop(network: Network) -> str:
    first, second, _third = network.hosts
    ends = []
    for host in (first, second):
        with host.inside():
            ends.append(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ARP)))
        ends[-1].bind(("eth0", ARP))
        ends[-1].setblocking(False)
    asking, hearing = ends
    with asking, hearing:
        nobody = int(IPv4Address("10.9.0.77"))
        question = arp_packet(
            operation=REQUEST,
            src_mac=read_mac(first.mac),
            dst_mac=BROADCAST,
            sender=int(IPv4Address(first.address)),
            target_mac=0,
            target=nobody,
        )
        for _ in range(QUESTIONS):
            asking.send(question)
        time.sleep(LOOP_S)
        heard = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                heard += hearing.recv(2048) == question
    assert heard == QUESTIONS, f"{QUESTIONS} broadcasts arrived {heard} times"
    return f"{QUESTIONS} broadcasts arrived {heard} times"


def _ping(network: Network) -> str:
    for src in network.hosts:
        for dst in network.hosts:
            if src is not dst:
                said = src.run(f"ping -c 3 -i 0.1 -W 2 {dst.address}")
                assert "3 received" in said, said
                assert "DUP" not in said, said
    return "six pairs, nothing lost or duplicated"


class Echo:
    """A datagram echo at a host, in a thread."""

    def __init__(self, host: Host, port: int = ECHO_PORT) -> None:
        with host.inside():
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.socket.bind(("", port))
        self.heard: dict[bytes, int] = {}
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            data, peer = self.socket.recvfrom(2048)
            self.heard[data] = self.heard.get(data, 0) + 1
            self.socket.sendto(data, peer)


def first_packets(src: Host, dst: Host, count: int = FIRST_PACKETS) -> list[float]:
    """Round trips of the first packets of new flows, in s."""
    Echo(dst)
    found = []
    for _ in range(count):
        with src.inside(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.settimeout(2)
            begun = time.perf_counter()
            one.sendto(b"first", (dst.address, ECHO_PORT))
            one.recv(100)
            found.append(time.perf_counter() - begun)
        time.sleep(0.01)
    return found


def _first_packet(network: Network) -> str:
    found = first_packets(network.hosts[0], network.hosts[1])
    median = statistics.median(found)
    assert median < FIRST_PACKET_S, f"the median is {median * 1e3:.1f} ms"
    return f"median round trip {median * 1e3:.1f} ms, longest of {len(found)}: {max(found) * 1e3:.1f} ms"


def _classes(network: Network) -> str:
    first, second, _third = network.hosts
    with second.inside():
        server = socket.create_server((second.address, 8080))
    with first.inside():
        client = socket.create_connection((second.address, 8080), 5)
        voice = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with server, client, voice:
        for number in range(60):
            client.sendall(b"x" * 1000)
            voice.sendto(rtp(number), (second.address, VOICE_PORT))
            time.sleep(PACE_S)
        called = f"{second.address}:{VOICE_PORT}"
        kinds = {row["class"] for flow, row in network.flows().items() if flow.endswith((called, ":8080"))}
        row = next((row for flow, row in network.flows().items() if flow.endswith(called)), None)
    assert kinds == {"tcp", "voice"}, f"classes {sorted(kinds)}"
    assert row is not None
    rules = [rule for rule in network.switch.rules("s1") if "set_queue:1" in rule]
    assert rules, "no rule selects the queue for voice"
    return f"TCP, and voice by {row['reason']}; its rule selects the queue"


def rtp(number: int, source: int = 7) -> bytes:
    """A packet of a G.729 call."""
    return struct.pack("!BBHII", 0x80, 18, number & 0xFFFF, 160 * number, source) + bytes(20)


def _statistics(network: Network) -> str:
    first, second, _third = network.hosts
    with first.inside():
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    offered_bps = (500 + 28) * 8 / 0.005
    end, at = time.monotonic() + 5, time.monotonic()
    while at < end:
        one.sendto(bytes(500), (second.address, 9000))
        at += 0.005
        time.sleep(max(0.0, at - time.monotonic()))
    row = next(row for flow, row in network.flows().items() if flow.endswith(":9000"))
    one.close()
    off = abs(row["rate_bps"] / offered_bps - 1)
    assert off < 0.15, f"{row['rate_bps'] / 1e3:.0f} kbit/s of {offered_bps / 1e3:.0f}"
    return f"{row['rate_bps'] / 1e3:.0f} kbit/s of {offered_bps / 1e3:.0f} offered"


class Stream:
    """Numbered datagrams from a host to an address, 50 per second, in a thread, and their answers."""

    def __init__(self, src: Host, address: str, port: int = ECHO_PORT) -> None:
        with src.inside():
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(0.05)
        self._to = (address, port)
        self.sent: dict[int, float] = {}
        self.back: dict[int, list[float]] = {}
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._send, self._receive)]
        for thread in self._threads:
            thread.start()

    def _send(self) -> None:
        number, at = 0, time.monotonic()
        while not self._stop.is_set():
            self.sent[number] = time.monotonic()
            self.socket.sendto(b"%06d" % number, self._to)
            number, at = number + 1, at + PACE_S
            time.sleep(max(0.0, at - time.monotonic()))

    def _receive(self) -> None:
        while not self._stop.is_set():
            try:
                self.back.setdefault(int(self.socket.recv(100)), []).append(time.monotonic())
            except TimeoutError:
                continue

    def stop(self) -> None:
        """End the stream after packets in transit have arrived."""
        time.sleep(0.3)
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self.socket.close()

    def outage_s(self) -> float:
        """The longest time between two answers, minus the sending interval."""
        times = sorted(at for arrivals in self.back.values() for at in arrivals)
        return max(later - earlier for earlier, later in pairwise(times)) - PACE_S

    def lost(self) -> int:
        """Packets without an answer, except the last few."""
        last = max(self.sent) - 10
        return sum(number not in self.back for number in self.sent if number < last)

    def twice(self) -> int:
        """Packets with more than one answer."""
        return sum(len(arrivals) > 1 for arrivals in self.back.values())


def _link_down(network: Network) -> str:
    first, second, _third = network.hosts
    stream = Stream(first, second.address)
    Echo(second, ECHO_PORT + 1)
    time.sleep(1)
    shell("ip link set l1a down")
    time.sleep(2)
    shell("ip link set l1a up")
    wait_for("the link comes back", lambda: len(network.topology()["links"]) == 6)
    time.sleep(1)
    stream.stop()
    assert stream.outage_s() < OUTAGE_S, f"{stream.outage_s():.2f} s"
    assert not stream.twice(), f"{stream.twice()} packets arrived twice"
    return f"{stream.outage_s() * 1e3:.0f} ms without answers, {stream.lost()} packets lost, none twice"


def _handover(network: Network) -> str:
    first, second, third = network.hosts
    station = "10.9.0.100"
    second.run(f"ip addr add {station}/32 dev eth0")
    second.announce_address(station)
    stream = Stream(first, station)
    time.sleep(1)
    begun = time.monotonic()
    Echo(third)
    third.run(f"ip addr add {station}/32 dev eth0")
    third.announce_address(station)  # both hosts answer for it now, so packets in transit are not lost
    time.sleep(2.5)
    second.run(f"ip addr del {station}/32 dev eth0")
    time.sleep(1)
    stream.stop()
    place = next(row for row in network.topology()["stations"] if row["address"] == station)
    assert place["switch"].endswith("3"), f"the controller places the station at {place['switch']}"
    assert stream.outage_s() < OUTAGE_S, f"{stream.outage_s():.2f} s"
    assert not stream.twice(), f"{stream.twice()} packets arrived twice"
    assert time.monotonic() - begun < 10
    left = [rule for rule in network.switch.rules("s2") if f"nw_dst={station}" in rule]
    assert not left, f"old rules stay: {left[0]}"
    return f"{max(0.0, stream.outage_s()) * 1e3:.0f} ms without answers, {stream.lost()} lost, none twice, no old rules"


def _killed(network: Network) -> str:
    first, second, _third = network.hosts
    stream = Stream(first, second.address)
    time.sleep(1)
    network.kill_controller()
    for host, other in ((first, second), (second, first)):  # as if the entry had expired: three requests, then no more
        host.run(f"ip neigh replace {other.address} lladdr {other.mac} dev eth0 nud probe")
    time.sleep(DEAD_S)
    network.start_controller()
    time.sleep(2.5)
    flow = next((flow for flow in network.flows() if flow.endswith(f"> {second.address}:{ECHO_PORT}")), None)
    stream.stop()
    # Switches that need their controller would be silent while it is dead; a busy machine would not.
    assert stream.outage_s() < OUTAGE_S < DEAD_S, f"{stream.outage_s():.2f} s without answers"
    assert not stream.lost(), f"{stream.lost()} packets lost"
    assert flow is not None, "the new controller does not know the flow"
    longest_ms = max(0.0, stream.outage_s()) * 1e3
    return (
        f"no packet of {len(stream.sent)} lost, {longest_ms:.0f} ms without answers, the new controller knows the flow"
    )


def _guarded(network: Network) -> str:
    client = network.client.__class__(network.client._url, "wrong")
    for method, path, body in (("GET", "/v1/flows", None), ("PUT", "/v1/stations/10.9.0.1", {"gateway": "g"})):
        status, _answer = client.ask(method, path, body)
        assert status == 401, f"{method} {path} without the token: {status}"
    return "reading and writing need the token"


def _checks() -> Iterator[Check]:
    yield "switches and links", _ring
    yield "no loops", _no_loop
    yield "hosts reach each other", _ping
    yield "first packet of a flow", _first_packet
    yield "classes and queues", _classes
    yield "statistics", _statistics
    yield "a link goes down", _link_down
    yield "handover", _handover
    yield "controller killed", _killed
    yield "token", _guarded


CHECKS = tuple(_checks())

if __name__ == "__main__":
    sys.exit(main())
