"""The core that a guest runs on, and the CPU time that the guest has used."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path


class Core:
    """A core that no other guest on this machine uses, or any of ours if all are in use.

    The claim is a name in the kernel's abstract socket space. It ends with the process and leaves no file behind.
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


def cpu_seconds(group: int) -> float:
    """CPU time of a process group, including processes that have ended."""
    ticks = 0
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (path / "stat").read_text().rsplit(")", 1)[1].split()
                if int(fields[2]) == group:
                    ticks += sum(map(int, fields[11:15] if int(path.name) == group else fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")
