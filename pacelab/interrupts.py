"""Signals during work that must not be interrupted anywhere: they are recorded on arrival and raised at a safe point.

A KeyboardInterrupt at any instruction could hit an algorithm in the middle of a packet and would look like a failure of
the algorithm. So the handler only sets a flag, which the run checks between events. A second Ctrl-C raises at once, for
an algorithm that never returns. The same holds for timers by which callers limit a run's time: an exception in the
middle of a long integer multiplication, where Python checks for signals, would end the whole process, because compiled
code mistakes the exception for a lack of memory.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

INTERRUPTS = ("SIGINT", "SIGTERM", "SIGHUP")
TIMERS = ("SIGALRM", "SIGVTALRM", "SIGPROF")
"""Windows does not have them."""


@contextlib.contextmanager
def deferred_alarms() -> Iterator[Callable[[], None]]:
    """Yields a function to call where it is safe to stop. It calls the caller's handlers of expired timers.

    If a timer expires a second time before that, its handler is called at once. Signals without a handler are not
    changed. Outside the main thread nothing is changed.
    """
    handlers: dict[int, Callable[[int, FrameType | None], object]] = {}
    if threading.current_thread() is threading.main_thread():
        for number in (getattr(signal, name, None) for name in TIMERS):
            handler = None if number is None else signal.getsignal(number)
            if number is not None and callable(handler):
                handlers[number] = handler
    expired: dict[int, FrameType | None] = {}

    def note(number: int, frame: FrameType | None) -> None:
        if number in expired:
            handlers[number](number, frame)
        expired[number] = frame

    def check() -> None:
        while expired:
            number, frame = expired.popitem()
            handlers[number](number, frame)

    for number in handlers:
        signal.signal(number, note)
    try:
        yield check
        check()
    finally:
        for number, handler in handlers.items():
            if signal.getsignal(number) is note:  # otherwise it was set again in the meantime
                signal.signal(number, handler)


@contextlib.contextmanager
def deferred_interrupts() -> Iterator[Callable[[], None]]:
    """Yields a function to call where it is safe to stop. It raises KeyboardInterrupt after Ctrl-C was pressed.

    The other signals that end a command are treated in the same way. Outside the main thread, and for signals with a
    handler of the caller, nothing is changed.
    """
    main = threading.current_thread() is threading.main_thread()
    known = [getattr(signal, name) for name in INTERRUPTS if hasattr(signal, name)]
    ours = [number for number in known if main and signal.getsignal(number) is signal.default_int_handler]
    if not ours:
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

    for number in ours:
        signal.signal(number, note)
    try:
        yield check
        check()
    finally:
        for number in ours:
            signal.signal(number, signal.default_int_handler)


def _never() -> None:
    """Do nothing: the caller handles Ctrl-C."""
