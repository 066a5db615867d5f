"""A limit on the memory that user code may take."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

MOST_BYTES = 2**31
"""Address space, of which numerical libraries reserve much for each core where such code imports them."""
_TAKEN = Path("/proc/self/statm")
"""Of Linux; elsewhere nothing is bounded."""
_ONE_AT_A_TIME = threading.RLock()
"""The bound is the process's: of two threads each would take the other's for what was there before."""


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Meanwhile this process may take so much more, and no more: beyond that is a MemoryError."""
    if not _TAKEN.is_file():
        yield
        return
    import resource

    with _ONE_AT_A_TIME:
        before, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = int(_TAKEN.read_text().split()[0]) * resource.getpagesize() + MOST_BYTES
        if before != resource.RLIM_INFINITY and before <= most:
            yield
            return
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (before, hard))
