"""A limit on the memory that user code may take."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

MOST_BYTES = 2**31
"""Limit of the address space. Numerical libraries reserve much of it for each core if user code imports them."""
_STATM = Path("/proc/self/statm")
"""Only Linux has it; on other systems there is no limit."""
_LOCK = threading.RLock()
"""The limit applies to the process. Two threads at once would each restore the other's limit."""


@contextlib.contextmanager
def limited_memory() -> Iterator[None]:
    """Within this context, this process may take that much more memory; beyond that, Python raises MemoryError."""
    if not _STATM.is_file():
        yield
        return
    import resource

    with _LOCK:
        before, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = int(_STATM.read_text().split()[0]) * resource.getpagesize() + MOST_BYTES
        if before != resource.RLIM_INFINITY and before <= most:
            yield
            return
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (before, hard))
