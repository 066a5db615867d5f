"""What this host has and permits (capabilities and network interfaces), and the error if something is missing."""

from __future__ import annotations

import fcntl
import socket
import struct
from pathlib import Path


class AgentError(Exception):
    """One line: what was attempted: what happened; what to do. The command line then ends with exit code 3."""


# Capabilities (linux/capability.h). Root has them, except in a container that did not get them.

_BITS = {"CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13, "CAP_SYS_ADMIN": 21}


def lacking(*names: str) -> str:
    """Those of these capabilities that this process lacks; empty if it has all."""
    lines = Path("/proc/self/status").read_text().splitlines()
    held = next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff:"))
    return " and ".join(name for name in names if not held >> _BITS[name] & 1)


def check_permitted() -> None:
    """Raise AgentError if this process may not receive packets of this host, or send its own."""
    if lacks := lacking("CAP_NET_ADMIN", "CAP_NET_RAW"):
        raise AgentError(f"not permitted without {lacks}; run as root, in a container with {in_container(lacks)}")


def in_container(lacks: str) -> str:
    """The options that give a container the capabilities that `lacking` named."""
    return " ".join(f"--cap-add {name.removeprefix('CAP_')}" for name in lacks.split(" and "))


# Network interfaces, asked by ioctl: /sys may show those of another namespace.

_SIOCGIFFLAGS = 0x8913
_SIOCGIFMTU = 0x8921
_SIOCGIFADDR = 0x8915
_NAME_BYTES = 15
_UP = 0x1


def mtu_of(interface: str) -> int:
    """MTU in bytes. Raises AgentError if there is no such interface."""
    if not 0 < len(interface.encode()) <= _NAME_BYTES:
        raise AgentError(f"interface {interface!r}: no such interface; {_present()}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            answer = fcntl.ioctl(asked, _SIOCGIFMTU, struct.pack("16si16x", interface.encode(), 0))
        except OSError:
            raise AgentError(f"interface {interface!r}: no such interface; {_present()}") from None
    return int(struct.unpack("16si16x", answer)[1])


def check_wired(interface: str | None) -> None:
    """Raise AgentError if there is no such interface. `wire+` is iptables' form for all names that begin
    with `wire`.
    """
    if interface is not None and not interface.endswith("+"):
        mtu_of(interface)


def is_up(interface: str) -> bool | None:
    """Whether an interface is switched on; None if it is missing. (The kernel reports its carrier up to 1 s later.)"""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            answer = fcntl.ioctl(asked, _SIOCGIFFLAGS, struct.pack("16sH14x", interface.encode(), 0))
        except OSError:
            return None
    return bool(struct.unpack("16sH14x", answer)[1] & _UP)


def address_of(interface: str) -> str:
    """An interface's IPv4 address. Raises AgentError if it has none, or if there is no such interface."""
    mtu_of(interface)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            answer = fcntl.ioctl(asked, _SIOCGIFADDR, struct.pack("16s16x", interface.encode()[:_NAME_BYTES]))
        except OSError:
            raise AgentError(f"interface {interface!r}: it has no IPv4 address") from None
    return socket.inet_ntoa(answer[20:24])


def _present() -> str:
    return "there are " + ", ".join(name for _index, name in socket.if_nameindex())
