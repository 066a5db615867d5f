"""Control groups of sandboxes; and what a grader that was killed leaves behind, removed at the next start.

A folder or a control group bears the mark of the process that made it: its number, and when it was started, since
numbers are used again. By that name they are found: where no such process runs any more, nobody needs it. System V
objects outlive every process; those of the users that sandboxes run as are nobody's once no grader runs.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import re
import shutil
import signal
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BOX, GROUP = "pacelab-box-", "pacelab-group-"
CGROUPS = Path("/sys/fs/cgroup")
HIERARCHIES = (CGROUPS, CGROUPS / "memory", CGROUPS / "pids")
MARK = re.compile(rf"^(?:{BOX}|{GROUP})(?P<pid>\d+)\.(?P<started>\d+)-")
IPC_RMID = 0
SYSV = {"shm": "shmctl", "sem": "semctl", "msg": "msgctl"}
"""Kind -> the call of libc that removes one."""


def own_mark() -> str:
    """The mark of this process."""
    return f"{os.getpid()}.{_started(os.getpid())}"


def sweep(users: range) -> list[str]:
    """Remove what dead graders of this user left; `users` are those of sandboxes. Returns a line for each."""
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
    """Kill what runs in a control group, and wait for its end."""
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
    """When a process was started, in the kernel's ticks; empty when there is none."""
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


MAX_PROCESSES = 8
"""bubblewrap's own two and the student's one; the rest is room."""
SLACK_BYTES = 64 << 20
"""Above the limit of the address space, so that Python's own MemoryError comes first and tells more."""


@dataclass(frozen=True, slots=True)
class Cgroup:
    """One process's share of memory and processes, by control group; version 2 or 1, as root where it is writable."""

    folders: tuple[Path, ...]

    @staticmethod
    @functools.cache
    def version() -> str | None:
        """What a group can be made in, tried: v2, v1 or None."""
        for version in ("v2", "v1"):
            group = Cgroup.make(version, 64 << 20)
            if group is not None:
                group.remove()
                return version
        return None

    @staticmethod
    def make(version: str, memory_bytes: int) -> Cgroup | None:
        """A fresh group with limits, or None where that fails."""
        name = f"{GROUP}{own_mark()}-{uuid.uuid4().hex[:8]}"
        limit = str(memory_bytes + SLACK_BYTES)
        if version == "v2":
            plan = [(CGROUPS / name, {"memory.max": limit, "pids.max": str(MAX_PROCESSES)})]
        else:
            plan = [
                (CGROUPS / "memory" / name, {"memory.limit_in_bytes": limit}),
                (CGROUPS / "pids" / name, {"pids.max": str(MAX_PROCESSES)}),
            ]
        group = Cgroup(tuple(folder for folder, _ in plan))
        try:
            for folder, settings in plan:
                if not folder.parent.is_dir():
                    raise FileNotFoundError(folder.parent)
                folder.mkdir()
                for file, value in settings.items():
                    if not (folder / file).exists():  # a controller that is not delegated, or a plain folder
                        raise FileNotFoundError(folder / file)
                    (folder / file).write_text(value)
        except OSError:
            group.remove()
            return None
        return group

    def add(self, pid: int) -> None:
        """Put a process in; those that it starts follow."""
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(pid))

    def remove(self) -> None:
        """Take the group away once its processes are gone; the kernel may need a moment."""
        for folder in self.folders:
            for _ in range(50):
                with contextlib.suppress(FileNotFoundError):
                    try:
                        folder.rmdir()
                    except OSError:
                        time.sleep(0.01)
                        continue
                break
