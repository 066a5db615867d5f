"""What a guest's kernel may do on the host: it runs on one core, as nobody, without privileges, and ends with us."""

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
    """In the kernel's process before it starts: dies with us, on one core, nobody special, at fixed addresses.

    `closed`: link -> its folder, which nobody may reach (see `closed_to_nobody`). It stands in the link's place then.
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
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # a change of user has taken it back
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header, data = (ctypes.c_uint32 * 2)(*_CAPSET_HEADER), (ctypes.c_uint32 * 6)()
    _libc.syscall(_SYS_CAPSET, header, data)
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _libc.personality(_ADDR_NO_RANDOMIZE)


def _must(returned: int) -> None:
    if returned != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def closed_to_nobody(folder: Path) -> bool:
    """Whether somewhere on the way only its owner may go on, as into a root account's home (mode 700)."""
    place = folder.resolve()
    return any(not way.stat().st_mode & stat.S_IXOTH for way in (place, *place.parents))


def may_be_nobody() -> bool:
    """Root, but not that of a user namespace which knows no such user."""
    return os.geteuid() == 0 and all(_maps_nobody(Path(f"/proc/self/{ids}_map")) for ids in ("uid", "gid"))


def _maps_nobody(table: Path) -> bool:
    rows = (map(int, line.split()) for line in table.read_text().splitlines())
    return any(first <= NOBODY < first + count for first, _outside, count in rows)
