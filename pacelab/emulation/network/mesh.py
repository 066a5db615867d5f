"""`--routing` with Linux's own mesh protocols among the radios of a run, and the wait until routes exist.

    802.11s     mac80211's mesh: routes on demand by HWMP, below IP (see `radios`)
    batman-adv  the kernel's module over an IBSS, below IP (see `radios`)
    olsr        olsrd, a program at each station of an IBSS or with a TAP device

olsrd keeps its routes in its own table. They are copied to the main table together with TCP's settings, which Linux
keeps per route (`tcp`).
"""

from __future__ import annotations

import contextlib
import select
import shutil
import socket
import threading
import time
from pathlib import Path

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from pacelab.emulation.namespaces import inside
from pacelab.emulation.network import addresses, tcp
from pacelab.emulation.network.addresses import AIR, Route
from pacelab.emulation.network.medium import SOCKET
from pacelab.emulation.plan import Plan
from pacelab.emulation.processes import SAFE_PATH, Child
from pacelab.errors import HostError

OLSRD = "olsrd"
TABLE = 77
"""Number of olsrd's routing table."""
REACHED_S = 90.0
"""olsrd sends a HELLO every 2 s and a topology message every 5 s; over six hops it took 20 s to find routes."""
PORT, ARRIVES_S = 7070, 0.5
_ROUTE_CHANGES = 0x40
"""RTMGRP_IPV4_ROUTE (linux/rtnetlink.h)."""


def finds(plan: Plan, route: Route) -> bool:
    """Whether olsrd has to find a route of the plan."""
    return plan.routing == "olsr" and route.name == AIR


def start(plan: Plan) -> list[Child]:
    """Start the routing programs; return when both ends of each flow reach each other. Raises HostError."""
    children = _start_olsrd(plan) if plan.routing == "olsr" else []
    missing = {(flow.src, flow.dst) for flow in plan.flows} | {(flow.dst, flow.src) for flow in plan.flows}
    until = time.monotonic() + REACHED_S
    while missing:
        missing -= {way for way in sorted(missing) if _reaches(plan, *way)}
        for child in children:
            if not child.alive():
                raise HostError(f"starting {child.name}: {child.last_words() or 'it printed no message'}")
        if missing and time.monotonic() > until:
            src, dst = (plan.nodes[host].name for host in min(missing))
            raise HostError(
                f"--routing {plan.routing}: no route from {src} to {dst} after {REACHED_S:g} s; check that radio links "
                "connect them"
            )
    return children


def configuration(plan: Plan, host: int) -> str:
    """Configuration of olsrd for a station: a gateway announces the hosts that it reaches by wire.

    Source: olsrd 0.9.8, files/olsrd.conf.default. The intervals are those of RFC 3626.
    """
    wired = [
        f"{addresses.address(route.dst)} 255.255.255.255"
        for route in addresses.routes(plan)[host]
        if route.name != AIR and not plan.nodes[route.dst].wireless
    ]
    announced = f"Hna4 {{ {' '.join(wired)} }}\n" if wired else ""
    lock = Path(SOCKET).with_name(f"{OLSRD}-{plan.nodes[host].name}.lock")
    return f"""DebugLevel 0
FIBMetric "flat"
LockFile "{lock}"
RtTable {TABLE}
RtTableDefault {TABLE}
{announced}Interface "{AIR}" {{
    Mode "mesh"
    Ip4Broadcast 255.255.255.255
    HelloInterval 2.0
    TcInterval 5.0
    HnaInterval 5.0
}}
"""


def _start_olsrd(plan: Plan) -> list[Child]:
    program = shutil.which(OLSRD, path=SAFE_PATH)
    if program is None:
        raise HostError(f"--routing olsr: no program {OLSRD} in {SAFE_PATH}: build it (github.com/OLSR/olsrd)")
    children = []
    for host in plan.stations:
        name = plan.nodes[host].name
        file = Path(SOCKET).with_name(f"{OLSRD}-{name}.conf")
        file.write_text(configuration(plan, host))
        listens = threading.Event()
        threading.Thread(target=_copy_routes, args=(plan, host, listens), daemon=True).start()
        listens.wait()
        children.append(Child(f"{OLSRD} at {name}", [program, "-f", str(file), "-nofork"], netns=name))
    return children


def _copy_routes(plan: Plan, host: int, listens: threading.Event) -> None:
    """Copy olsrd's routes to the main table, for ever. If this `listens`, the host knows its possible neighbours."""
    with inside(plan.nodes[host].name):
        tables, changes = IPRoute(), IPRoute()
    changes.bind(groups=_ROUTE_CHANGES)
    for other in plan.stations:
        if other != host:
            put_neighbour(tables, plan, host, other)
    listens.set()
    numbers = {addresses.address(other): other for other in range(len(plan.nodes))}
    ways: dict[int, int] = {}
    while True:
        for change in changes.get():
            dst = numbers.get(change.get_attr("RTA_DST") or "")
            if change["table"] != TABLE or dst is None:
                continue
            via = numbers.get(change.get_attr("RTA_GATEWAY") or "", dst)
            if change["event"] == "RTM_NEWROUTE":
                ways[dst] = via
                put_route(tables, plan, host, Route(dst, via, AIR))
            elif ways.get(dst) == via:  # and not a route that has been replaced
                del ways[dst]
                with contextlib.suppress(NetlinkError):  # the route has disappeared with its interface
                    remove_route(tables, dst)


def _reaches(plan: Plan, src: int, dst: int) -> bool:
    """Whether a datagram that is sent now arrives soon."""
    with _socket(plan, dst) as receiver, _socket(plan, src) as sender:
        receiver.bind((addresses.address(dst), PORT))
        with contextlib.suppress(OSError):  # no route exists yet
            sender.sendto(b"?", (addresses.address(dst), PORT))
        return bool(select.select([receiver], [], [], ARRIVES_S)[0])


def _socket(plan: Plan, host: int) -> socket.socket:
    with inside(plan.nodes[host].name):
        return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


# A host's routes and neighbours in its kernel. Routes have TCP's settings (`tcp`).

_PERMANENT = 0x80
_ONLINK = 4
_SCOPE_LINK = 253


def put_route(netlink: IPRoute, plan: Plan, host: int, route: addresses.Route) -> None:
    """Give a host a route, or replace its route to the same destination.

    `netlink` is in the host's namespace. The neighbour on the path is known already, by its route or `put_neighbour`.
    """
    index = index_of(netlink, plan.nodes[host].name, route.name)
    common = {
        "dst": f"{addresses.address(route.dst)}/32",
        "oif": index,
        "prefsrc": addresses.address(host),
        "metrics": tcp.route_metrics(plan.tcp),
    }
    if route.via != route.dst:
        netlink.route("replace", gateway=addresses.address(route.via), flags=_ONLINK, **common)
        return
    if not route.by_arp:
        put_neighbour(netlink, plan, host, route.dst)
    netlink.route("replace", scope=_SCOPE_LINK, **common)


def put_neighbour(netlink: IPRoute, plan: Plan, host: int, neighbour: int) -> None:
    """Tell a host its neighbour's MAC address, so that it sends no ARP request."""
    name = addresses.interface_towards(plan, host, neighbour)
    netlink.neigh(
        "replace",
        dst=addresses.address(neighbour),
        lladdr=addresses.neighbour_mac(plan, host, neighbour),
        ifindex=index_of(netlink, plan.nodes[host].name, name),
        state=_PERMANENT,
    )


def remove_route(netlink: IPRoute, dst: int) -> None:
    """Remove a host's route to this destination."""
    netlink.route("del", dst=f"{addresses.address(dst)}/32")


def index_of(netlink: IPRoute, host: str, name: str) -> int:
    """Index of an interface. Raises HostError if the host has no interface of this name."""
    found = netlink.link_lookup(ifname=name)
    if not found:
        raise HostError(f"host {host} has no interface {name}; check that mediumd has the same version as pacelab")
    index: int = found[0]
    return index
