"""A line on stderr when user code takes long to return: a user should know what PaceLab is waiting for."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator

HAS_THREADS = sys.platform not in ("emscripten", "wasi")
"""A browser runs Python without threads."""
NOTICE_AFTER_S = 5.0
"""The time before the message."""
_said: set[str] = set()
"""Messages of this process, each printed once: a network is built several times in a run."""


@contextlib.contextmanager
def waiting_for(what: str) -> Iterator[None]:
    """Print to stderr, once, that `what` is waited for, if this takes long. Without threads nothing is printed."""
    if not HAS_THREADS:
        yield
        return
    timer = threading.Timer(NOTICE_AFTER_S, say, (what,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def say(what: str) -> None:
    """Print, once, that `what` is waited for."""
    if what not in _said:
        _tell(what)
        _said.add(what)


def tell_by(tell: Callable[[str], None]) -> None:
    """In a worker, send these messages to `tell` instead of stderr, since several workers may wait for the same."""
    global _tell
    _tell = tell


def _on_stderr(what: str) -> None:
    if sys.stderr is None:
        return
    line = f"{what} has not returned for {NOTICE_AFTER_S:g} s; PaceLab waits for it; press Ctrl-C to stop it"
    with contextlib.suppress(OSError):
        print(f"pacelab: {line}", file=sys.stderr)


_tell = _on_stderr
