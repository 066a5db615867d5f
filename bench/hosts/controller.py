"""Measures the controller against its targets.

    sudo .venv/bin/python bench/hosts/controller.py [--flows N] [--seconds S]
    sudo .venv/bin/python bench/hosts/controller.py handover [--runs N] [--speed M/S]

Without `handover`:

    statistics      CPU of the controller with 1,000 active flows on one Open vSwitch and counters each second:
                    below 20 % of one core
    first packet    median round trip of a new flow's first packet, from switch to switch: below 20 ms
    killed          the controller is killed while all flows are active: no flow stops, and a new controller finds all
                    flows again

Open vSwitch uses its user-space datapath in its own namespaces. Switches, hosts and controller run at nice -10. Each
flow sends two datagrams per second from its own port. Exit code 1 if a target is missed, 3 if this machine cannot run
the measurement.

With `handover`, a handover between two gateways in each of some runs:

    silence     longest time without data at the receiver around the handover: below 1 s in every run
    goodput     from second 5 to 10 after the handover, relative to the 5 s before it: the mean ratio within 10 % of 1

It repeats `pacelab run two-gateways --backend tap --controller ryu --scheme tcp-gap` with the seeds 1, 2, 3 ... The
ratio has a 95 % t interval. If the machine was too busy, a run's fidelity is below valid: such runs are printed, but
not counted. Exit code 1 if a target is missed or no run was valid.
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

import pacelab
from pacelab.experiment.experiment import Experiment
from pacelab.results.metrics import estimate
from pacelab_controller.errors import ControllerError
from pacelab_controller.switches.hosts import Host, Network, shell, wait_for
from pacelab_controller.switches.ovs import missing
from pacelab_controller.switches.selftest import first_packets

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
    """`count` flows from one host to another, with one datagram each per `PACE_S`, spread evenly; and their
    receiver.
    """

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
    """Measure in private namespaces; return whether the targets are met."""
    os.setpriority(os.PRIO_PROCESS, 0, AHEAD)
    shell("mount -t tmpfs tmpfs /run && mkdir -p /run/netns")
    network = Network()
    try:
        network.start_controller()
        first, second, third = network.hosts
        first.run(f"ping -c 2 -i 0.2 {second.address}")
        trips = first_packets(first, third, FIRST_FLOWS)
        median = statistics.median(trips)
        spread = f"median {median * 1e3:.1f} ms, 90 % within {statistics.quantiles(trips, n=10)[-1] * 1e3:.1f} ms"
        load = os.getloadavg()[0]
        print(f"first packet, round trip of {len(trips)} flows: {spread}; load average {load:.1f}", flush=True)
        senders = Senders(first, second, flows)
        wait_for("the controller counts all flows", lambda: known(network) >= 0.99 * flows, 60)
        assert network.process is not None
        begun_s, begun = cpu_s(network.process.pid), time.monotonic()
        time.sleep(seconds)
        share = (cpu_s(network.process.pid) - begun_s) / (time.monotonic() - begun)
        counted = known(network)
        print(
            f"statistics: {flows} flows, {counted} with a rate, {2 * flows} rules per switch on their path, read each "
            f"second: {share:.1%} of a core over {seconds:g} s; load average {os.getloadavg()[0]:.1f}",
            flush=True,
        )
        senders.longest_s = 0.0
        network.kill_controller()
        time.sleep(DEAD_S)
        network.start_controller()
        wait_for("the new controller finds all flows again", lambda: known(network) >= 0.99 * flows, 60)
        time.sleep(2.0)
        late = sum(time.monotonic() - at > 2.0 for at in senders.heard.values())
        print(
            f"controller dead for {DEAD_S:g} s: longest time between two datagrams of a flow {senders.longest_s:.2f} s "
            f"(one is sent each {PACE_S:g} s), {late} flows stopped, the new controller found {known(network)} flows",
            flush=True,
        )
        return share < SHARE and median < FIRST_S and not late and senders.longest_s < 2.0
    finally:
        network.close()


def main() -> int:
    """Run, print, and return the exit code."""
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
        print(f"bench/hosts/controller: {missing() or 'this needs Linux and root rights'}", file=sys.stderr)
        return 3
    here = str(Path(__file__).parents[2])
    line = [sys.executable, __file__, *sys.argv[1:], INSIDE]
    return subprocess.run([*PRIVATE, *line], env=os.environ | {"PYTHONPATH": here}, check=False).returncode


SILENCE_S, OFF = 1.0, 0.10
AFTER_S = 20.0
"""Simulated time after the planned time of the handover: 10 s are measured."""


def handover(arguments: list[str]) -> int:
    """Run, print, and return the exit code."""
    parser = argparse.ArgumentParser(description="Measure handovers between two gateways.")
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument(
        "--speed", type=float, default=20.0, help="m/s (at a pedestrian's 2 m/s, a run takes more than 2 minutes)"
    )
    parser.add_argument("--direction", default="up", choices=("up", "down"))
    parser.add_argument("--scheme", default="tcp-gap")
    options = parser.parse_args(arguments)
    rows = []
    for seed in range(1, options.runs + 1):
        result = pacelab.run(
            Experiment(
                topology="two-gateways",
                topology_options={"speed": options.speed},
                direction=options.direction,
                backend="tap",
                controller="ryu",
                scheme=options.scheme,
                duration_s=10.0 + 200.0 / options.speed + AFTER_S,
                seed=seed,
            )
        )
        (found,) = result.host["controller"]["handovers"]
        (row,) = found["flows"]
        row |= {"timeouts": result.run["flows"][0]["timeouts"], "at_s": found["at_s"]}
        if result.run["fidelity"] == "valid":
            rows.append(row)
        print(
            f"run {seed}: handover at {row['at_s']} s, longest silence {row['silence_s']} s, "
            f"{row['before_bps'] / 1e3:.0f} -> {row['after_bps'] / 1e3:.0f} kbit/s, {row['timeouts']} timeouts, "
            f"fidelity {result.run['fidelity']}, load average {os.getloadavg()[0]:.1f}",
            flush=True,
        )
    if not rows:
        print("no run was valid: repeat this on an idle machine")
        return 1
    ratios = [row["after_bps"] / row["before_bps"] for row in rows]
    of_all = estimate(ratios)
    mean, half = of_all.mean, of_all.half_width
    worst = max(row["silence_s"] for row in rows)
    good = worst < SILENCE_S and abs(mean - 1) <= OFF
    ratio = f"{mean:.3f} " + ("(one run, no interval)" if half is None else f"+- {half:.3f}")
    print(f"{len(rows)} valid runs of {options.runs}: longest silence {worst} s; after / before {ratio}", flush=True)
    print("ok" if good else "MISSED")
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(handover(sys.argv[2:]) if sys.argv[1:2] == ["handover"] else main())
    except ControllerError as error:
        sys.exit(f"bench/hosts/controller.py: {error}")
