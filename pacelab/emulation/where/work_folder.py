"""The working folder of a guest's kernel.

A killed process leaves its folder behind, with a copy of the kernel in it. A run holds a lock on its folder, and the
lock ends with the process, however the process ends. A folder that can be locked belongs to no run, and the next run,
or `pacelab cleanup`, removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

PREFIX = "pacelab-guest-"
KERNEL = "linux"
"""Name of the kernel's copy. It is written after the folder is locked, so a folder without it is new or empty."""


@contextlib.contextmanager
def work_folder() -> Iterator[Path]:
    """A new folder for this run, removed at the run's end."""
    remove_left()
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as work, _opened(Path(work)) as folder:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield Path(work)


def remove_left() -> list[str]:
    """Remove folders of runs that have ended, as far as this user may. Return what was removed."""
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
