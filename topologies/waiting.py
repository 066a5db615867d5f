"""A word about code of your own that does not return: it is waited for, and somebody should know for what."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

PATIENCE_S = 5.0
"""How long one waits without a word."""
_said: set[str] = set()
"""Once in each process: a network is made several times in a run."""


@contextlib.contextmanager
def waiting_for(what: str) -> Iterator[None]:
    """Meanwhile, after a while, one line on stderr says that `what` is waited for."""
    timer = threading.Timer(PATIENCE_S, _say, (what,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _say(what: str) -> None:
    if what in _said or sys.stderr is None:
        return
    told = f"{what} has not returned for {PATIENCE_S:g} s; it is waited for, Ctrl-C ends it"
    with contextlib.suppress(OSError):
        print(f"pacelab: {told}", file=sys.stderr)
    _said.add(what)
