"""What lets an agent run and do nothing: said once, since it may be wanted. Nothing here stops an agent.

Whether interfaces are the right ones only their packets tell: none at all, none back, or some to an address whose path
nobody named.
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
"""TCP packets one way without one back that are no accident."""
_FORWARDING = "/proc/sys/net/ipv4/conf/{}/forwarding"


def _of_interfaces(air: str, wired: str | None) -> Iterator[str]:
    """What is not as it should be; `wired`: of a gateway, which forwards."""
    sides = [] if wired is None else _matching(wired)
    if wired is not None and not sides:
        yield f"no interface's name begins with {wired[:-1]}: nothing comes from the wired side until there is one"
    for name in (air, *sides):
        up = is_up(name)
        if up is None:
            yield f"{name} has gone: nothing passes by it until there is one of that name again"
        elif not up:
            yield f"{name} is down: nothing passes by it until `ip link set {name} up`"
        if up is not None and wired is not None and not _forwards(name):
            yield f"this host does not forward what comes by {name}: `sysctl -w net.ipv4.ip_forward=1` lets it"


class TrafficWatch:
    """What an agent meets, and what is odd about that."""

    def __init__(
        self, air: str, wired: str | None, *, paths_known: bool, say: Callable[[str], None], sees: str = "packet"
    ) -> None:
        """`paths_known`: there are rates of paths, so that each address should have some. `sees`: what it is shown."""
        self._air, self._wired, self._sees = air, wired, sees
        self._paths_known = paths_known
        self._say = say
        self._since_ns: int | None = None
        self._tcp: Counter[Point] = Counter()
        self._silence_said = self._one_way_said = self._unseen_said = False
        self._interfaces_said: set[str] = set()

    def look_at_interfaces(self) -> None:
        """At the start, and each second: they may go, or be switched off, under an agent."""
        for line in _of_interfaces(self._air, self._wired):
            if line not in self._interfaces_said:
                self._interfaces_said.add(line)
                self._say(line)

    def met(self, point: Point, far: int, *, path_known: bool) -> None:
        """A packet of TCP; `far`: the address at its other end over the air."""
        self._tcp[point] += 1
        if self._paths_known and not path_known:
            self._paths_known = False  # said once
            address = IPv4Address(far)
            self._say(f"no --path-rates for {address}: a scheme that goes by the path lets its flows pass as they are")

    def look(self, now_ns: int, *, seen: int, unseen: Counter[str], two_way: bool) -> None:
        """Each second. `seen`: packets of any kind so far, `unseen`: those that no scheme is shown, by reason;
        `two_way`: those that come back pass here, too.
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
            self._say(f"nearly all packets pass as they are, most as {most}: schemes see IPv4's TCP and UDP alone")
        ways = [point for point, count in self._tcp.items() if count]
        if two_way and len(ways) == 1 and self._tcp[ways[0]] >= MANY and not self._one_way_said:
            self._one_way_said = True
            self._say(f"TCP passes {self._way(ways[0])} alone: what comes back takes another way, and is not seen here")

    def _silence(self) -> str:
        if self._wired is None:
            return f"no {self._sees} by {self._air} in 10 s: is it the interface to the air?"
        return f"no {self._sees} between {self._wired} and {self._air} in 10 s: does this host route between the two?"

    def _way(self, point: Point) -> str:
        if self._wired is None:
            return f"{'in' if point is Point.LOCAL_IN else 'out'} by {self._air}"
        source, destination = self._wired, self._air
        if point is Point.AIR_TO_WIRED:
            source, destination = destination, source
        return f"from {source} to {destination}"


def _matching(wired: str) -> list[str]:
    """Interfaces that iptables' `wire+` stands for."""
    if not wired.endswith("+"):
        return [wired]
    return [name for _index, name in socket.if_nameindex() if name.startswith(wired[:-1])]


def _forwards(interface: str) -> bool:
    try:
        return Path(_FORWARDING.format(interface)).read_text() != "0\n"
    except OSError:
        return True  # nobody can tell
