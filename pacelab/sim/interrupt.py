"""Ctrl-C during a run: noted when it comes, raised where the run can stop.

A KeyboardInterrupt raised at any instruction could hit an algorithm in the middle of a packet and would look like its
failure. So the signal only sets a mark; the run looks at it between events. A second Ctrl-C raises at once, for an
algorithm that never returns.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def deferred_interrupts() -> Iterator[Callable[[], None]]:
    """Yields what to call where it is safe to stop: it raises KeyboardInterrupt once Ctrl-C was pressed.

    Leaves Ctrl-C alone outside the main thread and where somebody else handles it.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield _never
        return
    pressed = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    def check() -> None:
        if pressed:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield check
        check()
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _never() -> None:
    """Ctrl-C is not ours to handle."""
