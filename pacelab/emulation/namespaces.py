"""Network namespaces. Their names exist only in the run's own mount namespace, never on the host."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pacelab.emulation.helper_client import as_root
from pacelab.errors import HostError

FOLDER = Path("/run/netns")
"""The folder of `ip netns`, so that `ip -n n0 addr` works inside a run."""

CLONE_NEWNET = 0x40000000
MS_BIND = 4096
_OWN = "/proc/thread-self/ns/net"
_SYSCTL = Path("/proc/sys")


def create(name: str) -> None:
    """Make a network namespace called `name`."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / name
    path.touch(exist_ok=False)
    with _restored():
        _call("unshare", CLONE_NEWNET)
        _call("mount", _OWN.encode(), str(path).encode(), b"none", MS_BIND, None)


def adopt(name: str, pid: int) -> None:
    """Give the network namespace of this process the name `name`."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / name
    path.touch(exist_ok=False)
    _call("mount", f"/proc/{pid}/ns/net".encode(), str(path).encode(), b"none", MS_BIND, None)


@contextlib.contextmanager
def inside(name: str) -> Iterator[None]:
    """Context manager: move the thread into that namespace. Sockets made there stay there."""
    with _restored():
        enter(name)
        yield


def enter(name: str) -> None:
    """Move the thread into that namespace permanently."""
    fd = os.open(FOLDER / name, os.O_RDONLY)
    try:
        _call("setns", fd, CLONE_NEWNET)
    finally:
        os.close(fd)


def command_in(name: str, command: Sequence[str]) -> list[str]:
    """The command line that runs `command` in that namespace."""
    return ["nsenter", f"--net={FOLDER / name}", "--", *command]


def set_sysctls(values: Mapping[str, str | int]) -> list[str]:
    """Set network sysctls of this thread's namespace. Return those that the kernel does not have."""
    missing = []
    for name, value in values.items():
        path = _SYSCTL / name.replace(".", "/")
        try:
            path.write_text(f"{value}\n")
        except FileNotFoundError:
            missing.append(name)
        except OSError as error:
            raise HostError(f"setting sysctl {name}={value}: {error.strerror}") from None
    return missing


_SIOCETHTOOL = 0x8946
_OFFLOADS = {"tx": 0x17, "tso": 0x1F, "gso": 0x24, "gro": 0x2C}
"""ETHTOOL_STXCSUM, _STSO, _SGSO and _SGRO (linux/ethtool.h)."""


def switch_offloads_off(interface: str) -> None:
    """Switch off segmentation and checksum offload on an interface of this thread's namespace, so each packet is one
    frame.

    Raises OSError.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for command in _OFFLOADS.values():
            value = ctypes.create_string_buffer(struct.pack("II", command, 0))
            request = struct.pack("16sP", interface.encode(), ctypes.addressof(value))
            with contextlib.suppress(OSError):  # a device without this offload refuses to switch it off
                fcntl.ioctl(control, _SIOCETHTOOL, request)


_libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def _restored() -> Iterator[None]:
    """Context manager: return to the namespace that this thread was in."""
    before = os.open(_OWN, os.O_RDONLY)
    try:
        yield
    finally:
        try:
            _call("setns", before, CLONE_NEWNET)
        finally:
            os.close(before)


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise HostError(f"{name} for a network namespace: {os.strerror(number)}; run as root: {as_root()}")


def mount_tmpfs(place: str) -> None:
    """Mount an empty folder in memory at `place`, in this mount namespace."""
    _mount("tmpfs", place, b"mode=0755")


def mount_sysfs() -> None:
    """Mount this network namespace's /sys, with its radios, in this mount namespace."""
    _mount("sysfs", "/sys")
    _mount("debugfs", "/sys/kernel/debug")


def _mount(kind: str, place: str, data: bytes | None = None) -> None:
    if _libc.mount(kind.encode(), place.encode(), kind.encode(), 0, data) != 0:
        raise HostError(f"mounting a {kind} at {place}: {os.strerror(ctypes.get_errno())}; run as root")
