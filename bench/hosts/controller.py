"""The controller against its targets: `sudo .venv/bin/python bench/hosts/controller.py [--flows N] [--seconds S]`.

    statistics      1,000 active flows on one Open vSwitch, counters each second: below 20 % of one core
    first packet    round trip of a new flow's first packet, from switch to switch: below 20 ms at the median
    killed          the controller is killed with all flows active: none stops; started anew it finds them all again

Open vSwitch's own datapath in user space, namespaces of its own; switches, hosts and controller run at nice -10, ahead
of other work. Each flow is two datagrams a second from a port of its own. Exit code 1 if a target is missed, 3 if this
cannot run here.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

from pacelab.controller.errors import ControllerError
from pacelab.controller.switches.hosts import Host, Network, shell, wait_for
from pacelab.controller.switches.ovs import missing
from pacelab.controller.switches.selftest import first_packets

INSIDE = "--inside"
PRIVATE = ("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--")
AHEAD = -10
SHARE, FIRST_S = 0.20, 0.020
FIRST_PORT = 20_000
FIRST_FLOWS = 200
PACE_S = 0.5
DEAD_S = 5.0
TICKS = os.sysconf("SC_CLK_TCK")


class Senders:
    """`count` flows from one host to another, a datagram each `PACE_S`, spread over it; who hears them."""

    def __init__(self, src: Host, dst: Host, count: int) -> None:
        self.count = count
        self.heard: dict[int, float] = {}
        self.longest_s = 0.0
        """The longest time between two datagrams of one flow."""
        self._sockets = []
        with src.inside():
            for number in range(count):
                one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                one.bind(("", FIRST_PORT + number))
                self._sockets.append(one)
        with dst.inside():
            self._server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._server.bind(("", 9000))
        self._to = (dst.address, 9000)
        for work in (self._listen, self._send):
            threading.Thread(target=work, daemon=True).start()

    def _send(self) -> None:
        at = time.monotonic()
        while True:
            for one in self._sockets:
                one.sendto(b"x" * 100, self._to)
                at += PACE_S / self.count
                time.sleep(max(0.0, at - time.monotonic()))

    def _listen(self) -> None:
        while True:
            _data, (_host, port) = self._server.recvfrom(2048)
            now = time.monotonic()
            self.longest_s = max(self.longest_s, now - self.heard.get(port, now))
            self.heard[port] = now


def cpu_s(pid: int) -> float:
    """User and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def known(network: Network) -> int:
    """Flows from our ports that the controller counts with a rate."""
    return sum(row["rate_bps"] > 0 and flow.endswith(":9000") for flow, row in network.flows().items())


def measure(flows: int, seconds: float) -> bool:
    """All of it, in namespaces of our own; whether the targets are met."""
    os.setpriority(os.PRIO_PROCESS, 0, AHEAD)
    shell("mount -t tmpfs tmpfs /run && mkdir -p /run/netns")
    network = Network()
    try:
        network.start_controller()
        first, second, third = network.hosts
        first.run(f"ping -c 2 -i 0.2 {second.address}")
        trips = first_packets(first, third, FIRST_FLOWS)
        median = statistics.median(trips)
        told = f"median {median * 1e3:.1f} ms, 90 % within {statistics.quantiles(trips, n=10)[-1] * 1e3:.1f} ms"
        print(f"first packet, there and back, {len(trips)} flows: {told}; load {os.getloadavg()[0]:.1f}", flush=True)
        senders = Senders(first, second, flows)
        wait_for("the controller counts all flows", lambda: known(network) >= 0.99 * flows, 60)
        assert network.process is not None
        begun_s, begun = cpu_s(network.process.pid), time.monotonic()
        time.sleep(seconds)
        share = (cpu_s(network.process.pid) - begun_s) / (time.monotonic() - begun)
        counted = known(network)
        print(
            f"statistics: {flows} flows, {counted} with a rate, {2 * flows} rules a switch on their way, each second: "
            f"{share:.1%} of a core over {seconds:g} s; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
        senders.longest_s = 0.0
        network.kill_controller()
        time.sleep(DEAD_S)
        network.start_controller()
        wait_for("a new controller finds all flows again", lambda: known(network) >= 0.99 * flows, 60)
        time.sleep(2.0)
        late = sum(time.monotonic() - at > 2.0 for at in senders.heard.values())
        print(
            f"killed for {DEAD_S:g} s: longest time between two of a flow's datagrams {senders.longest_s:.2f} s (sent "
            f"each {PACE_S:g} s), {late} flows stopped, {known(network)} found again",
            flush=True,
        )
        return share < SHARE and median < FIRST_S and not late and senders.longest_s < 2.0
    finally:
        network.close()


def main() -> int:
    """Run, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--flows", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument(INSIDE, action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        good = measure(options.flows, options.seconds)
        print("ok" if good else "MISSED")
        return 0 if good else 1
    if sys.platform != "linux" or os.geteuid() != 0 or missing():
        print(f"bench/hosts/controller: run as root on Linux; {missing() or 'Open vSwitch is there'}", file=sys.stderr)
        return 3
    here = str(Path(__file__).parents[2])
    line = [sys.executable, __file__, *sys.argv[1:], INSIDE]
    return subprocess.run([*PRIVATE, *line], env=os.environ | {"PYTHONPATH": here}, check=False).returncode


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ControllerError as error:
        sys.exit(f"bench/hosts/controller.py: {error}")
