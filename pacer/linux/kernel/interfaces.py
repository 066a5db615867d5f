"""Network interfaces, asked by ioctl: /sys may show those of another namespace."""

from __future__ import annotations

import fcntl
import socket
import struct

from pacelab.pacer.linux.errors import AgentError

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
