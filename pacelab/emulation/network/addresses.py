"""Addresses and routes of hosts. Pure functions of a plan.

Every host has one IPv4 address on all its interfaces. Routes are host routes over shortest paths, as in the simulator.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from pacelab.emulation.plan import Plan
from pacelab.experiment.backends import BRIDGING

AIR = "air0"
"""Name of the wireless interface of every wireless host. It has the host's address."""
RADIO = "radio0"
"""Name of the radio if `AIR` is an interface on top of it (see `radio_name`)."""
WIRE = "wire"
"""Prefix of the names of wired interfaces."""
TO_SWITCH = "wires"
"""Name of a host's interface to its own switch (see `has_switch`)."""
BASE = (10, 77)
"""The first two bytes of all addresses: 10.77.0.1 is the first host."""


@dataclass(frozen=True, slots=True)
class Interface:
    """One interface of a host, and the host at its other end (None: the air)."""

    name: str
    mac: str
    peer: int | None


@dataclass(frozen=True, slots=True)
class Route:
    """A route to the host `dst` through its neighbour `via` (possibly `dst` itself), out of the interface `name`."""

    dst: int
    via: int
    name: str
    by_arp: bool = False
    """The host resolves `dst` by ARP on `name`: switches deliver packets to it, wherever it is."""


def address(host: int) -> str:
    """IPv4 address of a host."""
    number = host + 1
    return f"{BASE[0]}.{BASE[1]}.{number >> 8}.{number & 255}"


def interfaces(plan: Plan, host: int) -> list[Interface]:
    """Interfaces of a host: the wireless one, then its wires in the plan's order."""
    found = [Interface(AIR, air_mac(host), None)] if plan.nodes[host].wireless else []
    if has_switch(plan, host):
        return [*found, Interface(TO_SWITCH, _mac(3, host), host)]
    for number, wire in enumerate(plan.wires):
        if host in (wire.a, wire.b):
            peer = wire.b if host == wire.a else wire.a
            found.append(Interface(wire_name(number), _mac(1 + (host == wire.b), number), peer))
    return found


def has_switch(plan: Plan, host: int) -> bool:
    """Whether the host has its own switch. With a controller, all wired hosts have one, except hosts with a single
    wire.
    """
    wires = sum(host in (wire.a, wire.b) for wire in plan.wires)
    return plan.controller is not None and wires > 0 and (wires > 1 or plan.nodes[host].wireless)


def wired_port(plan: Plan, host: int) -> Interface | None:
    """With a controller: the host's one wired interface."""
    return next((port for port in interfaces(plan, host) if port.peer is not None), None)


def air_mac(host: int) -> str:
    """MAC address of a host's wireless interface.

    It is locally administered and has the bit by which mac80211_hwsim distinguishes a radio's address from its
    interface's, so that both are the same.
    """
    return f"42{_mac(0, host)[2:]}"


def mesh_mac(plan: Plan, host: int) -> str:
    """MAC address of the interface `AIR`: the radio's, unless `AIR` is an interface on top of it."""
    return air_mac(host) if radio_name(plan) == AIR else _mac(4, host)


def radio_name(plan: Plan) -> str:
    """Name of a wireless host's radio. With batman-adv, `AIR` is the interface on top of it."""
    return RADIO if plan.routing == "batman-adv" else AIR


def wire_name(number: int) -> str:
    """Name of the interfaces at both ends of a wire."""
    return f"{WIRE}{number}"


def neighbour_mac(plan: Plan, host: int, neighbour: int) -> str:
    """MAC address by which `host` reaches its neighbour."""
    out = interface_towards(plan, host, neighbour)
    if out == AIR:
        return mesh_mac(plan, neighbour)
    return next(port.mac for port in interfaces(plan, neighbour) if port.name == out)


def interface_towards(plan: Plan, host: int, neighbour: int) -> str:
    """Interface of `host` to its neighbour. A wire takes precedence over the air."""
    if any({host, neighbour} == {wire.a, wire.b} for wire in plan.wires):
        ports = interfaces(plan, host)
        return next(port.name for port in ports if port.peer in (neighbour, host))
    return AIR


def edges(plan: Plan) -> list[list[int]]:
    """Neighbours of each host, ascending."""
    near: list[set[int]] = [set() for _ in plan.nodes]
    for a, b in (*plan.neighbours, *((wire.a, wire.b) for wire in plan.wires)):
        near[a].add(b)
        near[b].add(a)
    return [sorted(hosts) for hosts in near]


def routes(plan: Plan) -> list[list[Route]]:
    """Routes of each host to every host that it can reach: fewest hops, ties to the lower host number.

    With a routing protocol below IP, all stations are one hop apart.
    """
    near = edges(plan)
    if plan.routing in BRIDGING:
        stations = set(plan.stations)
        near = [sorted({*there, *stations} - {host} if host in stations else there) for host, there in enumerate(near)]
    tables: list[list[Route]] = [[] for _ in plan.nodes]
    for dst in range(len(near)):
        hops = _hops(near, dst)
        for host, count in hops.items():
            if host != dst:
                via = next(there for there in near[host] if hops[there] == count - 1)
                name = interface_towards(plan, host, via)
                by_arp = plan.controller is not None and name != AIR
                tables[host].append(Route(dst, dst if by_arp else via, name, by_arp))
    return tables


def path(plan: Plan, src: int, dst: int) -> list[int]:
    """Hosts on the path from `src` to `dst`, both included; empty if there is no path."""
    near = edges(plan)
    hops = _hops(near, dst)
    if src not in hops:
        return []
    way = [src]
    while way[-1] != dst:
        way.append(next(there for there in near[way[-1]] if hops[there] == hops[way[-1]] - 1))
    return way


def _hops(near: list[list[int]], dst: int) -> dict[int, int]:
    hops = {dst: 0}
    queue = deque([dst])
    while queue:
        here = queue.popleft()
        for there in near[here]:
            if there not in hops:
                hops[there] = hops[here] + 1
                queue.append(there)
    return hops


def _mac(kind: int, number: int) -> str:
    return f"02:50:4c:{kind:02x}:{number >> 8:02x}:{number & 255:02x}"
