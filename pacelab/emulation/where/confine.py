"""Confines a guest's kernel on the host: one core, an unprivileged user, and it ends when we do."""

from __future__ import annotations

import ctypes
import os
import signal
import stat
from collections.abc import Mapping
from pathlib import Path

NOBODY = 65_534
_ADDR_NO_RANDOMIZE = 0x0040000
_CLONE_NEWNS, _MS_BIND, _MS_REC, _MS_PRIVATE = 0x20000, 0x1000, 0x4000, 0x40000
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 1, 38, 47, 4
_CAPSET_HEADER = (0x20080522, 0)
_SYS_CAPSET = 126
_libc = ctypes.CDLL(None, use_errno=True)


def confine(core: int, closed: Mapping[Path, Path]) -> None:
    """Run in the kernel's process before it starts: dies with us, one core, unprivileged user, fixed addresses.

    `closed`: link -> its folder, which an unprivileged user cannot reach (see `closed_to_nobody`). The folder is
    mounted in place of the link.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.sched_setaffinity(0, {core})
    if closed:
        _must(_libc.unshare(_CLONE_NEWNS))
        _must(_libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None))
        for link, folder in closed.items():
            link.unlink()
            link.mkdir()
            _must(_libc.mount(bytes(folder), bytes(link), None, _MS_BIND, None))
    if may_be_nobody():
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # a change of user resets this flag
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header, data = (ctypes.c_uint32 * 2)(*_CAPSET_HEADER), (ctypes.c_uint32 * 6)()
    _libc.syscall(_SYS_CAPSET, header, data)
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _libc.personality(_ADDR_NO_RANDOMIZE)


def _must(returned: int) -> None:
    if returned != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def closed_to_nobody(folder: Path) -> bool:
    """Whether a folder on the path is open only to its owner, such as a root account's home (mode 700)."""
    place = folder.resolve()
    return any(not way.stat().st_mode & stat.S_IXOTH for way in (place, *place.parents))


def may_be_nobody() -> bool:
    """Whether we are root and can change to user nobody. Root of a user namespace without that user cannot."""
    return os.geteuid() == 0 and all(_maps_nobody(Path(f"/proc/self/{ids}_map")) for ids in ("uid", "gid"))


def _maps_nobody(table: Path) -> bool:
    rows = (map(int, line.split()) for line in table.read_text().splitlines())
    return any(first <= NOBODY < first + count for first, _outside, count in rows)
