"""Namespaces of its own for each forked process: no other processes, no network, an empty /tmp.

Bubblewrap makes the namespaces of the fork server (`inside.fork_server`). Each process that the server forks for a
student's code gets new ones in them, so that two processes of one hand-in share nothing that they can change. This
needs CAP_SYS_ADMIN, which the process gives up before it runs the student's code (`guards.drop_capabilities`).

Source: namespaces(7), pid_namespaces(7), unshare(2), setns(2), mount(2).
"""

from __future__ import annotations

import ctypes
import os
import sys

NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000
NEWPID, NEWNET = 0x2000_0000, 0x4000_0000
RDONLY, NOSUID, NODEV, NOEXEC, REC, PRIVATE = 1, 2, 4, 8, 1 << 14, 1 << 18
TMP_BYTES = 1 << 20
FRESH = (("/tmp", "1777"), ("/dev/shm", "0755"), ("/dev/pts", "0755"))
"""Folders that are empty in each process, with their modes; `box` mounts all others read-only."""


class PidNamespaces:
    """Gives each forked process a PID namespace. Call `prepare` before the fork and `reset` after it.

    To go back to its own PID namespace, this process must own that one. Bubblewrap's may belong to another user
    namespace. So this process continues as the first one of a new PID namespace, and the process before waits for it.
    """

    def __init__(self) -> None:
        _call("unshare", NEWPID)
        pid = os.fork()
        if pid:
            os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xFF)
        self._own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)

    def prepare(self) -> None:
        """The next forked process is the first one of a new PID namespace."""
        _call("unshare", NEWPID)

    def reset(self) -> None:
        """Forked processes join this process's own PID namespace again; otherwise `prepare` would fail."""
        _call("setns", self._own, NEWPID)


def enter() -> None:
    """Move this process, the first one of its PID namespace, into new namespaces of all other kinds."""
    _call("unshare", NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWNET)
    _call("mount", None, b"/", None, REC | PRIVATE, None)
    _call("mount", b"proc", b"/proc", b"proc", RDONLY | NOSUID | NODEV | NOEXEC, None)
    for place, mode in FRESH:
        if os.path.isdir(place):
            options = f"size={TMP_BYTES},mode={mode}".encode()
            _call("mount", b"tmpfs", place.encode(), b"tmpfs", NOSUID | NODEV, options)
    os.chdir("/tmp")


def try_here() -> None:
    """Fork twice as the fork server does; end this process with code 0 if that works."""
    spaces = PidNamespaces()
    for _ in range(2):
        spaces.prepare()
        pid = os.fork()
        if pid == 0:
            try:
                enter()
            finally:
                os._exit(0 if sys.exc_info()[0] is None else 1)
        spaces.reset()
        if os.waitpid(pid, 0)[1] != 0:
            sys.exit(1)


def _call(name: str, *arguments: bytes | int | None) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*(ctypes.c_ulong(item) if isinstance(item, int) else item for item in arguments)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
