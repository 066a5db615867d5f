"""The wired side as a software-defined network: OpenFlow switches where wires meet, and a controller.

    namespace ".switches"                 Open vSwitch, the controller, all wires' ends that meet at a switch
      switch of GA   wires(GA) | w0       each gateway, and each wired host with several wires, has a switch of its own
      switch of R    w0 w1 w2 | wires(R)  and is a host at it; a host at the end of one wire has that wire
      ...

A host has one wired interface. Its routes to everything behind this interface have no next hop: the host sends an ARP
request, the controller answers, and switches deliver the packet to the present place of the address. So a station keeps
its address when it changes gateways. Gateways answer ARP requests for the stations behind them (proxy ARP), from which
the controller learns where the stations are.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute

from pacelab.documents import JsonObject
from pacelab.emulation.namespaces import FOLDER, command_in, create, inside, set_sysctls, switch_offloads_off
from pacelab.emulation.network import addresses, tcp
from pacelab.emulation.plan import Plan
from pacelab.emulation.processes import Child, python
from pacelab.errors import HostError

NAMESPACE = ".switches"
"""Names of hosts begin with a letter, so no host has this name."""
PLACE = Path("/run/pacelab")
SOCKET = str(PLACE / "controller.sock")
"""A path in the run's own mount namespace."""
FOUND_S = 20.0
SETTLED_S = 1.5
"""After the controller has found its last link, it takes a port without a link for a host's port."""
GROUP = "pacelab.controllers"


def find_controller(name: str) -> Any:
    """Find the installed controller. Raises HostError."""
    for offered in entry_points(group=GROUP, name=name):
        return offered.load()
    raise HostError(
        f"--controller {name}: this installation does not have this controller; install it with: make build"
    )


def missing(name: str) -> str | None:
    """What the controller needs and this machine lacks, with the command that installs it."""
    lacks: str | None = find_controller(name).missing()
    return lacks


class SwitchedWires:
    """Switches and controller of a run. They end with the process that made them."""

    def __init__(self, plan: Plan, *, page_fd: int | None = None) -> None:
        """Make the namespace. `page_fd`: a listening socket for the controller's page."""
        assert plan.controller is not None
        self._plan, self._page_fd = plan, page_fd
        self._kit = find_controller(plan.controller)
        if lacks := self._kit.missing():
            raise HostError(f"--controller {plan.controller}: {lacks}")
        self.token = secrets.token_urlsafe(16)
        self.process: Child | None = None
        self.page: str | None = None
        """Link to the controller's page."""
        create(NAMESPACE)
        with inside(NAMESPACE):
            set_sysctls(tcp.QUIET | {"net.ipv4.ip_forward": 0})
            self._netlink = IPRoute()
        self._ports: list[tuple[int, str, int | None]] = []
        """Of a host's switch: interface, and rate if it is a wire's."""

    @property
    def url(self) -> str:
        """URL of the controller."""
        return f"unix:{SOCKET}"

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables for the controller's clients."""
        return {self._kit.token_variable: self.token}

    @property
    def hosts(self) -> list[int]:
        """Hosts with a switch."""
        return [host for host in range(len(self._plan.nodes)) if addresses.has_switch(self._plan, host)]

    def ends(self, number: int) -> list[tuple[str, str]]:
        """Namespace and interface name of a wire's two ends."""
        wire = self._plan.wires[number]
        found = []
        for host, letter in ((wire.a, "a"), (wire.b, "b")):
            if addresses.has_switch(self._plan, host):
                device = f"w{number}{letter}"
                self._ports.append((host, device, wire.rate_bps))
                found.append((NAMESPACE, device))
            else:
                found.append((self._plan.nodes[host].name, addresses.wire_name(number)))
        return found

    def attach(self, netlink: Sequence[IPRoute]) -> None:
        """Connect hosts with their switches; `netlink`: by host. The ends of wires exist already."""
        for host in self.hosts:
            device = f"h{host}"
            fd = os.open(FOLDER / NAMESPACE, os.O_RDONLY)
            try:
                peer = {"ifname": device, "net_ns_fd": fd}
                netlink[host].link("add", ifname=addresses.TO_SWITCH, kind="veth", peer=peer)
            finally:
                os.close(fd)
            self._ports.append((host, device, None))
            if self._plan.nodes[host].wireless:
                with inside(self._plan.nodes[host].name):
                    set_sysctls(
                        {
                            f"net.ipv4.conf.{addresses.TO_SWITCH}.proxy_arp": 1,
                            f"net.ipv4.neigh.{addresses.TO_SWITCH}.proxy_delay": 0,
                        }
                    )
        mtu = tcp.mtu_bytes(self._plan)
        with inside(NAMESPACE):
            self._netlink.link("set", index=self._netlink.link_lookup(ifname="lo")[0], state="up")
            for _host, device, _rate_bps in self._ports:
                index = self._netlink.link_lookup(ifname=device)[0]
                self._netlink.link("set", index=index, mtu=mtu, state="up")
                switch_offloads_off(device)

    def start(self) -> None:
        """Start the switches and the controller; return when the controller knows the network."""
        try:
            self._switches = self._kit(PLACE / "switches", prefix=command_in(NAMESPACE, []))
            names = self._start_switches()
            self._start_controller(names)
        except self._kit.Error as error:
            raise HostError(f"--controller {self._plan.controller}: {error}") from None

    def ended(self) -> tuple[str, str] | None:
        """A program of the switches that has ended, and how it ended."""
        found: tuple[str, str] | None = self._switches.ended()
        return found

    def describe(self) -> JsonObject:
        """The description for host.json."""
        return {"name": self._plan.controller, "datapath": self._switches.datapath, "switches": len(self.hosts)}

    def _start_switches(self) -> dict[str, str]:
        """Return the names of switches and addresses."""
        nodes = self._plan.nodes
        names = {addresses.address(host): node.name for host, node in enumerate(nodes)}
        for host in self.hosts:
            names[self._switches.add_switch(f"sw{host}", host + 1)] = nodes[host].name
            ports = [(device, rate_bps) for owner, device, rate_bps in self._ports if owner == host]
            for number, (device, rate_bps) in enumerate(ports, 1):
                self._switches.add_port(f"sw{host}", device, number, rate_bps)
        return names

    def _start_controller(self, names: dict[str, str]) -> None:
        network = PLACE / "network.json"
        switches = [f"{host + 1:016x}" for host in self.hosts]
        network.write_text(json.dumps({"names": names, "switches": switches, "picture": picture(self._plan)}))
        command = self._switches.command(socket=SOCKET, network=str(network), fd=self._page_fd)
        self.process = Child(
            "the controller",
            python(*command),
            netns=NAMESPACE,
            variables=self.variables,
            pass_fds=[] if self._page_fd is None else [self._page_fd],
        )
        ready = self.process.wait_ready()
        self.page = None if self._page_fd is None else ready["link"]
        wanted = 2 * sum(
            addresses.has_switch(self._plan, wire.a) and addresses.has_switch(self._plan, wire.b)
            for wire in self._plan.wires
        )
        until = time.monotonic() + FOUND_S
        while self._switches.links(self.url, self.token) < wanted:
            if time.monotonic() > until or not self.process.alive():
                said = self.process.last_words() or "it has not found all links"
                raise HostError(f"the controller: {said}")
            time.sleep(0.05)
        time.sleep(SETTLED_S)


def picture(plan: Plan) -> JsonObject:
    """The network for the controller's page: nodes with their positions, and wires."""
    return {
        "nodes": [
            {
                "name": node.name,
                "wireless": node.wireless,
                "position_m": node.position_m,
                "address": addresses.address(host),
                "switch": f"{host + 1:016x}" if addresses.has_switch(plan, host) else None,
            }
            for host, node in enumerate(plan.nodes)
        ],
        "wires": [(wire.a, wire.b) for wire in plan.wires],
        "gateways": plan.gateways,
        "walking": sorted({move.node for move in plan.moves}),
    }
