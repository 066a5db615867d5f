"""What the host gives a guest's kernel: one core, no privilege, memory that may be executed, and a folder to work in.

The folder does not outlast its run for long. Who is killed leaves it, with a copy of the kernel in it. A run holds a
lock on its folder, which ends with the process, however that ends: a folder that can be locked is nobody's, and the
next run, or `pacelab cleanup`, removes it.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import mmap
import os
import shutil
import signal
import socket
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from pacelab.errors import HostError

NOBODY = 65_534
MEMORY_BYTES = 512 << 20
"""A guest's. Taken from the host as it is used: 20 hosts with agents take it all, caches of files with it."""
_HOSTS, _HOST_BYTES = 20, 24 << 20
"""A guest of more hosts than these has so much more for each of them. Without it Linux killed an agent of 25."""
_ADDR_NO_RANDOMIZE = 0x0040000
_CLONE_NEWNS, _MS_BIND, _MS_REC, _MS_PRIVATE = 0x20000, 0x1000, 0x4000, 0x40000
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 1, 38, 47, 4
_CAPSET_HEADER = (0x20080522, 0)
_SYS_CAPSET = 126
_libc = ctypes.CDLL(None, use_errno=True)


class Core:
    """A core that no other guest on this machine has, or any of ours when all are taken.

    The claim is a name in the kernel's abstract socket space: it ends with the process, and leaves no file behind.
    """

    def __init__(self) -> None:
        cores = sorted(os.sched_getaffinity(0))
        self._claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.number = cores[os.getpid() % len(cores)]
        self.own = False
        for core in cores:
            with contextlib.suppress(OSError):
                self._claim.bind(f"\0pacelab-uml-core-{core}")
                self.number, self.own = core, True
                break

    def __enter__(self) -> Core:
        return self

    def __exit__(self, *_error: object) -> None:
        self._claim.close()


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


def memory_bytes(hosts: int) -> int:
    """What a guest of so many hosts is given, each of which may have an agent."""
    return MEMORY_BYTES + max(0, hosts - _HOSTS) * _HOST_BYTES


def exec_folder(wanted_bytes: int = MEMORY_BYTES) -> str:
    """A folder for so much of the guest's memory, on a mount that programs may run from.

    In memory if it has the room there, which a container's 64 MB are not; else the first that has it, or the most.
    """
    places = list(filter(_may_run_from, ("/dev/shm", tempfile.gettempdir(), "/var/tmp")))
    if not places:
        raise HostError(
            "--where uml: /dev/shm, /tmp and /var/tmp are mounted noexec; run `mount -o remount,exec /dev/shm`"
        )
    free = {place: shutil.disk_usage(place).free for place in places}
    return next((place for place in places if free[place] >= wanted_bytes), max(places, key=free.__getitem__))


def _may_run_from(place: str) -> bool:
    with contextlib.suppress(OSError), tempfile.TemporaryFile(dir=place) as file:
        file.truncate(mmap.PAGESIZE)
        mmap.mmap(file.fileno(), mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()
        return True
    return False


def cpu_seconds(group: int) -> float:
    """CPU time of a process group, including its processes that have ended."""
    ticks = 0
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (path / "stat").read_text().rsplit(")", 1)[1].split()
                if int(fields[2]) == group:
                    ticks += sum(map(int, fields[11:15] if int(path.name) == group else fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


# The folder that a guest's kernel works in.

PREFIX = "pacelab-guest-"
KERNEL = "linux"
"""Name of the kernel's copy: it is put in after the folder was locked, so that one without is young or empty."""


@contextlib.contextmanager
def work_folder() -> Iterator[Path]:
    """A folder of this run's own, gone at its end."""
    remove_left()
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as work, _opened(Path(work)) as folder:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield Path(work)


def remove_left() -> list[str]:
    """Remove the folders of runs that are no more, as far as this user may; what was removed."""
    removed = []
    for place in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError), _opened(place) as folder:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if (place / KERNEL).exists():
                shutil.rmtree(place)
                removed.append(str(place))
    return removed


@contextlib.contextmanager
def _opened(place: Path) -> Iterator[int]:
    folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield folder
    finally:
        os.close(folder)
