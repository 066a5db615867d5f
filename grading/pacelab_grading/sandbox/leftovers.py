"""Removes what a killed grader left behind: folders, control groups, System V objects.

The name of a folder or control group contains the id of the process that made it and the start time of that process,
because the kernel reuses ids. If no such process runs, nobody needs the folder. System V objects outlive every process;
those of the sandboxes' users are not needed when no sandboxed process runs.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

BOX, GROUP = "pacelab-box-", "pacelab-group-"
CGROUPS = Path("/sys/fs/cgroup")
HIERARCHIES = (CGROUPS, CGROUPS / "memory", CGROUPS / "pids")
MARK = re.compile(rf"^(?:{BOX}|{GROUP})(?P<pid>\d+)\.(?P<started>\d+)-")
IPC_RMID = 0
SYSV = {"shm": "shmctl", "sem": "semctl", "msg": "msgctl"}
"""Kind -> the libc function that removes one."""


def own_mark() -> str:
    """The mark of this process: id and start time."""
    return f"{os.getpid()}.{_started(os.getpid())}"


def remove_leftovers(users: range) -> list[str]:
    """Remove what dead graders of this user left. `users` are the sandboxes' users. Returns a line for each."""
    found = [f"a killed grader's folder {path}" for path in _folders()]
    found += [f"a killed grader's control group {path}" for path in _groups()]
    if os.geteuid() == 0 and not any(_sandboxes(users)):
        found += _sysv(users)
    return found


def _folders() -> Iterator[Path]:
    for path in sorted(Path(tempfile.gettempdir()).glob(f"{BOX}*")):
        with contextlib.suppress(OSError):
            if _abandoned(path) and path.stat(follow_symlinks=False).st_uid == os.geteuid() and not path.is_symlink():
                shutil.rmtree(path)
                yield path


def _groups() -> Iterator[Path]:
    for top in HIERARCHIES:
        for path in sorted(top.glob(f"{GROUP}*")):
            if _abandoned(path):
                with contextlib.suppress(OSError):
                    _empty(path)
                    path.rmdir()
                    yield path


def _empty(group: Path) -> None:
    """Kill all processes of a control group and wait until they have ended."""
    for _ in range(100):
        pids = [int(line) for line in (group / "cgroup.procs").read_text().split()]
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def _abandoned(path: Path) -> bool:
    mark = MARK.match(path.name)
    return mark is not None and _started(int(mark["pid"])) != mark["started"]


def _started(pid: int) -> str:
    """When a process started, in the kernel's ticks; empty if it does not run."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]


def _sandboxes(users: range) -> Iterator[int]:
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{name}").st_uid in users:
                    yield int(name)


def _sysv(users: range) -> list[str]:
    libc = ctypes.CDLL(None, use_errno=True)
    found = []
    for kind, control in SYSV.items():
        try:
            header, *rows = Path(f"/proc/sysvipc/{kind}").read_text(encoding="ascii").splitlines()
        except (OSError, ValueError):
            continue
        columns = header.split()
        for row in rows:
            values = dict(zip(columns, row.split(), strict=False))
            if int(values["uid"]) in users or int(values["cuid"]) in users:
                number = int(values[columns[1]])
                arguments = (number, 0, IPC_RMID) if kind == "sem" else (number, IPC_RMID, 0)
                if getattr(libc, control)(*arguments) == 0:
                    found.append(f"a submission's System V object: {kind} {number}")
    return found
