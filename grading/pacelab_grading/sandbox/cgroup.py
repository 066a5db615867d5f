"""A control group that limits memory and the number of processes of one sandboxed process."""

from __future__ import annotations

import contextlib
import functools
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from pacelab_grading.sandbox.leftovers import CGROUPS, GROUP, own_mark

MAX_PROCESSES = 8
"""bubblewrap's two and the student's one, with some room."""
SLACK_BYTES = 64 << 20
"""Above the limit of the address space, so that Python raises its own MemoryError first: it says more than a kill."""


@dataclass(frozen=True, slots=True)
class Cgroup:
    """One control group, version 2 or 1. Root can make one where /sys/fs/cgroup is writable."""

    folders: tuple[Path, ...]

    @staticmethod
    @functools.cache
    def version() -> str | None:
        """The version in which a group can be made here, tried: "v2", "v1" or None."""
        for version in ("v2", "v1"):
            group = Cgroup.make(version, 64 << 20)
            if group is not None:
                group.remove()
                return version
        return None

    @staticmethod
    def make(version: str, memory_bytes: int) -> Cgroup | None:
        """A new group with limits, or None if that fails."""
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
                    if not (folder / file).exists():  # the controller is not delegated, or this is a plain folder
                        raise FileNotFoundError(folder / file)
                    (folder / file).write_text(value)
        except OSError:
            group.remove()
            return None
        return group

    def add(self, pid: int) -> None:
        """Put a process into the group. The processes that it starts join the group too."""
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(pid))

    def remove(self) -> None:
        """Remove the group when its processes are gone. The kernel may need a moment for that."""
        for folder in self.folders:
            for _ in range(50):
                with contextlib.suppress(FileNotFoundError):
                    try:
                        folder.rmdir()
                    except OSError:
                        time.sleep(0.01)
                        continue
                break
