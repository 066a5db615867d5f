"""What this host has and lets an agent do: capabilities, network interfaces; and the error when it lacks something.

And what an agent is told of the paths from here over the air, which no host knows.
"""

from __future__ import annotations

import fcntl
import socket
import struct
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from pathlib import Path


class AgentError(Exception):
    """One line: what was attempted: what happened; what to do. The command line ends with exit code 3."""


# Capabilities (linux/capability.h): what root may do, but not in a container that was not given it.

_BITS = {"CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13, "CAP_SYS_ADMIN": 21}


def lacking(*names: str) -> str:
    """Those of these capabilities that this process is without; empty when it has all."""
    lines = Path("/proc/self/status").read_text().splitlines()
    held = next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff:"))
    return " and ".join(name for name in names if not held >> _BITS[name] & 1)


def check_permitted() -> None:
    """AgentError when this process may not have packets of this host, or send its own."""
    if lacks := lacking("CAP_NET_ADMIN", "CAP_NET_RAW"):
        raise AgentError(f"not permitted without {lacks}; run as root, in a container with {in_container(lacks)}")


def in_container(lacks: str) -> str:
    """What gives a container the capabilities that `lacking` named."""
    return " ".join(f"--cap-add {name.removeprefix('CAP_')}" for name in lacks.split(" and "))


# Network interfaces, asked by ioctl: /sys may show those of another namespace.

_SIOCGIFFLAGS = 0x8913
_SIOCGIFMTU = 0x8921
_SIOCGIFADDR = 0x8915
_NAME_BYTES = 15
_UP = 0x1


def mtu_of(interface: str) -> int:
    """MTU in bytes; AgentError when there is no such interface."""
    if not 0 < len(interface.encode()) <= _NAME_BYTES:
        raise AgentError(f"interface {interface!r}: no such interface; {_present()}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            answer = fcntl.ioctl(asked, _SIOCGIFMTU, struct.pack("16si16x", interface.encode(), 0))
        except OSError:
            raise AgentError(f"interface {interface!r}: no such interface; {_present()}") from None
    return int(struct.unpack("16si16x", answer)[1])


def check_wired(interface: str | None) -> None:
    """AgentError when there is no such interface; `wire+` is iptables' own for all whose names begin so."""
    if interface is not None and not interface.endswith("+"):
        mtu_of(interface)


def is_up(interface: str) -> bool | None:
    """Whether it is switched on, None when there is none. (Of its carrier the kernel tells up to a second later.)"""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            answer = fcntl.ioctl(asked, _SIOCGIFFLAGS, struct.pack("16sH14x", interface.encode(), 0))
        except OSError:
            return None
    return bool(struct.unpack("16sH14x", answer)[1] & _UP)


def address_of(interface: str) -> str:
    """Its IPv4 address; AgentError when it has none, or there is no such interface."""
    mtu_of(interface)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            answer = fcntl.ioctl(asked, _SIOCGIFADDR, struct.pack("16s16x", interface.encode()[:_NAME_BYTES]))
        except OSError:
            raise AgentError(f"interface {interface!r}: it has no IPv4 address") from None
    return socket.inet_ntoa(answer[20:24])


def _present() -> str:
    return "there are " + ", ".join(name for _index, name in socket.if_nameindex())


# What the routes over the air look like from here: link rates towards each address.

_MAX_CACHED = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class PathTable:
    """Link rates of the wireless hops to an address, nearest first, in bit/s; the longest prefix decides.

    Linux has no place where such a thing could be looked up: whoever built the network says it.
    """

    default_bps: tuple[int, ...] = ()
    """Where no prefix matches; empty: no path known."""
    by_network: tuple[tuple[IPv4Network, tuple[int, ...]], ...] = ()
    _cache: dict[int, tuple[int, ...]] = field(default_factory=dict, repr=False, compare=False)

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return bool(self.default_bps or self.by_network)

    def rates_bps(self, address: int) -> tuple[int, ...]:
        """Rates on the way to (and from) an IPv4 address."""
        found = self._cache.get(address)
        if found is None:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            found = self._cache[address] = self._look_up(address)
        return found

    def _look_up(self, address: int) -> tuple[int, ...]:
        best, rates = -1, self.default_bps
        for network, its_rates in self.by_network:
            if network.prefixlen > best and address & int(network.netmask) == int(network.network_address):
                best, rates = network.prefixlen, its_rates
        return rates
