"""One process's share of memory and processes, by control group; version 2 or 1, as root where it is writable."""

from __future__ import annotations

import contextlib
import functools
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from pacelab.grading.leftovers import CGROUPS as ROOT
from pacelab.grading.leftovers import GROUP, own_mark

MAX_PROCESSES = 8
"""bubblewrap's own two and the student's one; the rest is room."""
SLACK_BYTES = 64 << 20
"""Above the limit of the address space, so that Python's own MemoryError comes first and tells more."""


@dataclass(frozen=True, slots=True)
class Cgroup:
    """A group made for one process; folders in one or two hierarchies."""

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
            plan = [(ROOT / name, {"memory.max": limit, "pids.max": str(MAX_PROCESSES)})]
        else:
            plan = [
                (ROOT / "memory" / name, {"memory.limit_in_bytes": limit}),
                (ROOT / "pids" / name, {"pids.max": str(MAX_PROCESSES)}),
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
