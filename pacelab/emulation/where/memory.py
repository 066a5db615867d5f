"""The size of a guest's memory, and the folder for the file that holds it."""

from __future__ import annotations

import contextlib
import mmap
import shutil
import tempfile

from pacelab.errors import HostError

MEMORY_BYTES = 512 << 20
"""A guest's memory. The host allocates it on use: 20 hosts with agents use all of it, including the page cache."""
_HOSTS, _HOST_BYTES = 20, 24 << 20
"""A guest with more hosts gets this much more per further host. Without it, Linux killed one of 25 agents."""


def memory_bytes(hosts: int) -> int:
    """The memory of a guest with this many hosts, each of which may have an agent."""
    return MEMORY_BYTES + max(0, hosts - _HOSTS) * _HOST_BYTES


def exec_folder(wanted_bytes: int = MEMORY_BYTES) -> str:
    """A folder for this much guest memory, on a mount that permits the execution of programs.

    A folder in memory if it is large enough, unlike a container's 64 MB. Otherwise the first folder that is large
    enough, or the largest.
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
