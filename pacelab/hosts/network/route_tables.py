"""A host's routes and neighbours in its kernel. Routes carry TCP's settings (`tcp_settings`)."""

from __future__ import annotations

from pyroute2 import IPRoute

from pacelab.errors import HostError
from pacelab.hosts.network import addresses, tcp_settings
from pacelab.hosts.plan import Plan

_PERMANENT = 0x80
_ONLINK = 4
_SCOPE_LINK = 253


def put_route(netlink: IPRoute, plan: Plan, host: int, route: addresses.Route) -> None:
    """Give a host a route, in the place of the one that it has to there.

    `netlink` is in the host's namespace. A neighbour on the way is known already, by its route or `put_neighbour`.
    """
    index = index_of(netlink, plan.nodes[host].name, route.name)
    common = {
        "dst": f"{addresses.address(route.dst)}/32",
        "oif": index,
        "prefsrc": addresses.address(host),
        "metrics": tcp_settings.route_metrics(plan.tcp),
    }
    if route.via != route.dst:
        netlink.route("replace", gateway=addresses.address(route.via), flags=_ONLINK, **common)
        return
    if not route.by_arp:
        put_neighbour(netlink, plan, host, route.dst)
    netlink.route("replace", scope=_SCOPE_LINK, **common)


def put_neighbour(netlink: IPRoute, plan: Plan, host: int, neighbour: int) -> None:
    """Tell a host its neighbour's MAC, so that it never asks."""
    name = addresses.interface_towards(plan, host, neighbour)
    netlink.neigh(
        "replace",
        dst=addresses.address(neighbour),
        lladdr=addresses.neighbour_mac(plan, host, neighbour),
        ifindex=index_of(netlink, plan.nodes[host].name, name),
        state=_PERMANENT,
    )


def remove_route(netlink: IPRoute, dst: int) -> None:
    """Take a host's route to there from it."""
    netlink.route("del", dst=f"{addresses.address(dst)}/32")


def index_of(netlink: IPRoute, host: str, name: str) -> int:
    """Number of an interface. Raises HostError when the host has none of this name."""
    found = netlink.link_lookup(ifname=name)
    if not found:
        raise HostError(f"host {host}: no interface {name}; is mediumd of this version?")
    index: int = found[0]
    return index
