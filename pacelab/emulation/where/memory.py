"""How much memory a guest has, and the folder that holds the guest's memory."""

from __future__ import annotations

import contextlib
import mmap
import shutil
import tempfile

from pacelab.errors import HostError

MEMORY_BYTES = 512 << 20
"""A guest's. Taken from the host as it is used: 20 hosts with agents take it all, caches of files with it."""
_HOSTS, _HOST_BYTES = 20, 24 << 20
"""A guest of more hosts than these has so much more for each of them. Without it Linux killed an agent of 25."""


def memory_bytes(hosts: int) -> int:
    """What a guest of so many hosts is given, each of which may have an agent."""
    return MEMORY_BYTES + max(0, hosts - _HOSTS) * _HOST_BYTES


def exec_folder(wanted_bytes: int = MEMORY_BYTES) -> str:
    """A folder for so much of the guest's memory, on a mount that programs may run from.

    In memory if it has the room there, which a container's 64 MB are not; else the first that has it, or the most.
    """
    places = list(filter(_may_run_from, ("/dev/shm", tempfile.gettempdir(), "/var/tmp")))
    if not places:
        raise HostError("--where uml: /dev/shm, /tmp and /var/tmp are mounted noexec: mount -o remount,exec /dev/shm")
    free = {place: shutil.disk_usage(place).free for place in places}
    return next((place for place in places if free[place] >= wanted_bytes), max(places, key=free.__getitem__))


def _may_run_from(place: str) -> bool:
    with contextlib.suppress(OSError), tempfile.TemporaryFile(dir=place) as file:
        file.truncate(mmap.PAGESIZE)
        mmap.mmap(file.fileno(), mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()
        return True
    return False
