"""`pacelab cleanup`: removes what killed runs left.

The processes of a run end with the process that started it. Its namespaces and interfaces end with its processes. The
following can remain: processes that the kernel could not end in time, rules and pacing of agents that were killed on
the host itself, and folders of guests. Each carries the mark of its owner. `pacelab cleanup` touches neither foreign
objects nor those of a live run.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from pacelab.emulation.helper_client import as_root
from pacelab.emulation.processes import OWNER
from pacelab.emulation.where.work_folder import remove_left
from pacelab.errors import HostError
from pacelab_pacer.linux.host import in_container, lacking

_PROC = Path("/proc")
END_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """The objects that were removed."""

    processes: tuple[int, ...]
    rules: tuple[str, ...]
    folders: tuple[str, ...]


def clean_up() -> Removed:
    """End the processes of runs whose owner is gone; remove rules of agents and folders of guests. Needs root."""
    if os.geteuid() != 0:
        raise HostError(f"cleanup: only root can remove what earlier runs left; run {as_root('cleanup')}")
    if lacks := lacking("CAP_NET_ADMIN"):
        raise HostError(f"cleanup: root lacks {lacks} here; start the container with {in_container(lacks)}")
    processes = orphans()
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + END_S
    while orphans() and time.monotonic() < until:
        time.sleep(0.05)
    if left := orphans():
        raise HostError(f"cleanup: processes {left} are still there after SIGKILL; restart the machine")
    return Removed(processes=tuple(processes), rules=tuple(_stale_rules()), folders=tuple(remove_left()))


def orphans() -> list[int]:
    """Processes of runs whose owner is gone."""
    found = []
    for folder in _PROC.iterdir():
        if not folder.name.isdecimal():
            continue
        owner = _owner_of(folder)
        if owner is not None and not _is_alive(owner):
            found.append(int(folder.name))
    return sorted(found)


def start_of(pid: int) -> str | None:
    """Start time of a process, in ticks since boot; None if the process does not exist or is a zombie."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else fields[19]


def _owner_of(folder: Path) -> str | None:
    try:
        if start_of(int(folder.name)) is None:
            return None
        variables = (folder / "environ").read_bytes().split(b"\0")
    except OSError:
        return None
    prefix = f"{OWNER}=".encode()
    return next((text.removeprefix(prefix).decode() for text in variables if text.startswith(prefix)), None)


def _is_alive(owner: str) -> bool:
    pid, _, start = owner.partition(":")
    return pid.isdecimal() and start_of(int(pid)) == start


def _stale_rules() -> list[str]:
    from pacelab_pacer.linux import kernel_pacing, rules

    return [*rules.remove_stale(), *kernel_pacing.remove_stale()]
