"""Reasons why an agent may run without effect. Each is reported once, because it may be intended; none stops an agent.

Only packets show whether the interfaces are right: there may be no packets, none in one direction, or some to an
address without a known path.
"""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address
from pathlib import Path

from pacelab.units import NS_PER_S
from pacelab_pacer.core.contract import Point
from pacelab_pacer.linux.host import is_up

QUIET_NS = 10 * NS_PER_S
MANY = 20
"""This many TCP packets in one direction without one in the other are no accident."""
_FORWARDING = "/proc/sys/net/ipv4/conf/{}/forwarding"


def _of_interfaces(air: str, wired: str | None) -> Iterator[str]:
    """What is wrong with the interfaces; `wired` is given for a gateway, which forwards."""
    sides = [] if wired is None else _matching(wired)
    if wired is not None and not sides:
        yield f"no interface's name begins with {wired[:-1]}: no packet arrives from the wired side until there is one"
    for name in (air, *sides):
        up = is_up(name)
        if up is None:
            yield f"{name} is missing: no packet passes until an interface of that name exists again"
        elif not up:
            yield f"{name} is down: no packet passes until you run `ip link set {name} up`"
        if up is not None and wired is not None and not _forwards(name):
            yield f"this host does not forward packets from {name}: run `sysctl -w net.ipv4.ip_forward=1`"


class TrafficWatch:
    """Watches the packets of an agent for signs of a wrong set-up."""

    def __init__(
        self, air: str, wired: str | None, *, paths_known: bool, say: Callable[[str], None], sees: str = "packet"
    ) -> None:
        """`paths_known`: rates of paths were given, so each address should have rates. `sees`: the observed packets."""
        self._air, self._wired, self._sees = air, wired, sees
        self._paths_known = paths_known
        self._say = say
        self._since_ns: int | None = None
        self._tcp: Counter[Point] = Counter()
        self._silence_said = self._one_way_said = self._unseen_said = False
        self._interfaces_said: set[str] = set()

    def look_at_interfaces(self) -> None:
        """Call this at the start and each second: interfaces may be removed or switched off under an agent."""
        for line in _of_interfaces(self._air, self._wired):
            if line not in self._interfaces_said:
                self._interfaces_said.add(line)
                self._say(line)

    def met(self, point: Point, far: int, *, path_known: bool) -> None:
        """A TCP packet was seen; `far` is the address at its other end over the air."""
        self._tcp[point] += 1
        if self._paths_known and not path_known:
            self._paths_known = False  # reported once
            address = IPv4Address(far)
            self._say(f"no --path-rates for {address}: schemes whose pace depends on the path do not pace its flows")

    def check(self, now_ns: int, *, seen: int, unseen: Counter[str], two_way: bool) -> None:
        """Call this each second. `seen`: number of packets so far. `unseen`: those that bypass the scheme, by reason.

        `two_way`: packets of both directions pass here.
        """
        if self._since_ns is None:
            self._since_ns = now_ns
        if now_ns - self._since_ns < QUIET_NS:
            return
        if not seen and not self._silence_said:
            self._silence_said = True
            self._say(self._silence())
        if unseen.total() >= MANY and 10 * unseen.total() > 9 * seen and not self._unseen_said:
            self._unseen_said = True
            most = unseen.most_common(1)[0][0]
            self._say(f"nearly all packets bypass the scheme, most as {most}: schemes see only IPv4 TCP and UDP")
        ways = [point for point, count in self._tcp.items() if count]
        if two_way and len(ways) == 1 and self._tcp[ways[0]] >= MANY and not self._one_way_said:
            self._one_way_said = True
            self._say(f"TCP passes only {self._way(ways[0])}: the packets back take another way and are not seen here")

    def _silence(self) -> str:
        if self._wired is None:
            return f"no {self._sees} on {self._air} in 10 s: is this the interface to the air?"
        return f"no {self._sees} between {self._wired} and {self._air} in 10 s: does this host route between them?"

    def _way(self, point: Point) -> str:
        if self._wired is None:
            return f"{'in from' if point is Point.LOCAL_IN else 'out to'} {self._air}"
        source, destination = self._wired, self._air
        if point is Point.AIR_TO_WIRED:
            source, destination = destination, source
        return f"from {source} to {destination}"


def _matching(wired: str) -> list[str]:
    """The interfaces that iptables' `wire+` means."""
    if not wired.endswith("+"):
        return [wired]
    return [name for _index, name in socket.if_nameindex() if name.startswith(wired[:-1])]


def _forwards(interface: str) -> bool:
    try:
        return Path(_FORWARDING.format(interface)).read_text() != "0\n"
    except OSError:
        return True  # unknown
