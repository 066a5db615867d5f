"""The hosts of a plan: namespaces, air, wires, addresses and routes, inside the run's own namespaces (see
`session`).
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

from pyroute2 import IPRoute

from pacelab.emulation.messages import WireReport
from pacelab.emulation.namespaces import FOLDER, command_in, create, inside, set_sysctls, switch_offloads_off
from pacelab.emulation.network import addresses, mesh, stock, tcp, wire_relay
from pacelab.emulation.network.host_network import MediumControl
from pacelab.emulation.network.medium import SOCKET, Medium, configuration
from pacelab.emulation.network.mesh import index_of, put_route
from pacelab.emulation.network.radio_queues import RadioQueues, enable_backpressure
from pacelab.emulation.network.radios import Radios
from pacelab.emulation.network.switched import SwitchedWires
from pacelab.emulation.network.wire_relay import ETHERNET_HEADER_BYTES
from pacelab.emulation.plan import Plan, Wire
from pacelab.emulation.processes import Child, environment, last_document
from pacelab.emulation.programs import find_mediumd
from pacelab.errors import HostError
from pacelab.units import BITS_PER_BYTE

US_PER_S = 1_000_000


class PlainNetwork:
    """A HostNetwork of plain network namespaces."""

    def __init__(self, plan: Plan, page_fd: int | None = None) -> None:
        """Build everything, or raise HostError. `page_fd`: a listening socket for a controller's page."""
        self.plan = plan
        self.missing_sysctls: list[str] = []
        self.relay: Child | None = None
        self.start_walking: Callable[[float], None] | None = None
        self._air_stopped_s = 0.0
        self._looked_s = time.monotonic()
        self._netlink: list[IPRoute] = []
        self._dropped_before = 0
        self._make_hosts()
        for node in plan.nodes:
            with inside(node.name):
                missing = set_sysctls(tcp.sysctls(plan.tcp))
                self._netlink.append(IPRoute())
            self.missing_sysctls = missing  # all hosts have the same kernel
        if "no-hystart" in plan.tcp.switches:
            Path(tcp.HYSTART).write_text("0")
        if plan.qdisc != "pfifo":
            enable_backpressure(plan)
        self.radios = self._make_radios()
        self.air = stock.start(plan) if plan.medium == "stock" else self._start_mediumd()
        self.switched = SwitchedWires(plan, page_fd=page_fd) if plan.controller is not None else None
        self.wires = self._wire_up() if plan.wires else "none"
        for host in range(len(plan.nodes)):
            self._configure(host)
        self.queues = RadioQueues(plan, self._netlink)
        for host, table in enumerate(addresses.routes(plan)):
            self._route(host, [route for route in table if not mesh.finds(plan, route)])
        if self.switched is not None:
            self.switched.start()
        if self.radios is not None:
            self.radios.join()
        self.routing = mesh.start(plan) if plan.routing != "static" else []
        self.medium: MediumControl = stock.StockMedium(plan) if plan.medium == "stock" else Medium()

    def check_alive(self) -> None:
        """Raise HostError if the air or the wires have ended."""
        controller = None if self.switched is None else self.switched.process
        for child in (self.air, self.relay, controller, *self.routing):
            if child is not None and not child.alive():
                raise HostError(f"{child.name} ended in the middle of a run: {child.how_it_ended()}")
        if self.switched is not None and (ended := self.switched.ended()):
            raise HostError(f"{ended[0]} ended in the middle of a run: {ended[1]}")
        before_s, self._looked_s = self._looked_s, time.monotonic()
        if self.air.stopped():
            self._air_stopped_s += self._looked_s - before_s

    def faults(self) -> list[str]:
        """Faults that spoilt the run: a medium that was stopped."""
        if not self._air_stopped_s:
            return []
        return [f"{self.air.name} was stopped for about {self._air_stopped_s:.1f} s: no frames were sent in this time"]

    def mark_wires(self) -> None:
        """Start the measured part: count drops of wires from now on."""
        if self.relay is not None:
            self.relay.process.send_signal(wire_relay.BEGIN)
        self._dropped_before = self._netem_drops()

    def wire_report(self) -> WireReport:
        """End the relay of the wires. Return counters since the mark and the relay's lateness; empty without wires."""
        if self.relay is None:
            drops = self._netem_drops() - self._dropped_before
            return {"counters": {"wired-queue": drops}} if self.wires == "netem" else {}
        report = cast("WireReport", last_document(self.relay.end()))
        if "counters" not in report:
            raise HostError(f"{self.relay.name} did not answer at the end of the run; try once more")
        self.relay = None
        return report

    def _make_hosts(self) -> None:
        """Make namespaces with the names of the nodes."""
        for node in self.plan.nodes:
            create(node.name)

    def _make_radios(self) -> Radios | None:
        """Make the hosts' wireless interfaces, unless mediumd makes them."""
        return Radios(self.plan) if self.plan.radios == "hwsim" else None

    def _start_mediumd(self) -> Child:
        Path(SOCKET).parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(configuration(self.plan)).encode()
        child = Child(
            "mediumd", [str(find_mediumd()), "--config", "-", "--socket", SOCKET, "--die-with-parent"], stdin=text
        )
        child.wait_ready()
        return child

    def _wire_up(self) -> str:
        """Make the wires; return how they are carried."""
        if self.switched is None and _has_netem(self.plan.nodes[0].name):
            for number, wire in enumerate(self.plan.wires):
                self._veth(number, wire)
            return "netem"
        names = [node.name for node in self.plan.nodes]
        wires = [
            {
                "ends": [(names[wire.a], addresses.wire_name(number)), (names[wire.b], addresses.wire_name(number))]
                if self.switched is None
                else self.switched.ends(number),
                "rate_bps": wire.rate_bps,
                "delay_s": wire.delay_s,
                "queue_pkts": wire.queue_pkts,
            }
            for number, wire in enumerate(self.plan.wires)
        ]
        self.relay = Child("the wires' relay", wire_relay.main, stdin=json.dumps(wires).encode() + b"\n")
        self.relay.wait_ready()
        if self.switched is not None:
            self.switched.attach(self._netlink)
        return "relay"

    def _veth(self, number: int, wire: Wire) -> None:
        """Make a pair of interfaces. Each end queues, delays and limits the packets that it sends.

        netem counts packets in flight toward its limit, so the queue has the requested length only on a busy wire.
        """
        name = addresses.wire_name(number)
        fd = os.open(FOLDER / self.plan.nodes[wire.b].name, os.O_RDONLY)
        try:
            self._netlink[wire.a].link("add", ifname=name, kind="veth", peer={"ifname": name, "net_ns_fd": fd})
        finally:
            os.close(fd)
        under_way = wire.rate_bps * wire.delay_s / BITS_PER_BYTE / tcp.mtu_bytes(self.plan)
        delay = ["delay", f"{round(wire.delay_s * US_PER_S)}us"]
        # A wire's rate counts IP packets, as in the simulator. So netem has to subtract the Ethernet header.
        rate = ["rate", f"{wire.rate_bps}bit", str(-ETHERNET_HEADER_BYTES)]
        limit = ["limit", str(wire.queue_pkts + round(under_way))]
        for host in (wire.a, wire.b):
            _add_netem(self.plan.nodes[host].name, name, [*delay, *rate, *limit])

    def _netem_drops(self) -> int:
        """Packets dropped at full queues of the kernel's wires, since the wires were made."""
        if self.wires != "netem":
            return 0
        drops = 0
        for number, wire in enumerate(self.plan.wires):
            for host in (wire.a, wire.b):
                index = self._index(host, addresses.wire_name(number))
                for queue in self._netlink[host].get_qdiscs(index=index):
                    drops += queue.get_nested("TCA_STATS2", "TCA_STATS_QUEUE")["drops"]
        return drops

    def _configure(self, host: int) -> None:
        ports = addresses.interfaces(self.plan, host)
        netlink = self._netlink[host]
        mtu = tcp.mtu_bytes(self.plan)
        netlink.link("set", index=self._index(host, "lo"), state="up")
        for port in ports:
            index = self._index(host, port.name)
            if port.peer is not None:  # radios have their addresses already, and mediumd's TAPs their MTU
                netlink.link("set", index=index, address=port.mac)
            if port.peer is not None or self.radios is not None:
                netlink.link("set", index=index, mtu=mtu)
            netlink.link("set", index=index, state="up", gso_max_segs=1)
            netlink.addr("replace", index=index, address=addresses.address(host), prefixlen=32)
        with inside(self.plan.nodes[host].name):
            for port in ports:
                switch_offloads_off(port.name)

    def _route(self, host: int, table: list[addresses.Route]) -> None:
        neighbours = [route for route in table if route.via == route.dst]
        for route in [*neighbours, *(route for route in table if route.via != route.dst)]:
            self.set_route(host, route)

    def set_route(self, host: int, route: addresses.Route) -> None:
        """Give a host a route, or replace its route to the same destination."""
        put_route(self._netlink[host], self.plan, host, route)

    def _index(self, host: int, name: str) -> int:
        return index_of(self._netlink[host], self.plan.nodes[host].name, name)


def _has_netem(host: str) -> bool:
    """Whether the kernel has netem, tried on the loopback interface of a host."""
    try:
        _add_netem(host, "lo", ["delay", "1ms"])
    except HostError:
        return False
    _tc(host, "del", "lo")
    return True


def _add_netem(host: str, interface: str, options: list[str]) -> None:
    _tc(host, "add", interface, "netem", *options)


def _tc(host: str, action: str, interface: str, *options: str) -> None:
    # Use the program tc, because pyroute2's netem refuses a rate.
    command = command_in(host, ["tc", "qdisc", action, "dev", interface, "root", *options])
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    if done.returncode != 0:
        raise HostError(f"host {host}: {' '.join(command[3:])}: {done.stderr.strip()}")
