"""`pacelab` and `python -m pacelab`: runs the command line, and ends cleanly on a signal at any time."""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType

STOPPED_BY = ("SIGTERM", "SIGHUP")
"""A batch system sends SIGTERM when the time is over; a terminal that closes sends SIGHUP."""
GC_THRESHOLDS = (10_000, 20, 50)
"""Thresholds of the garbage collector. With Python's own (700, 10, 10), a short run spends a twentieth of its CPU time
on collections of the modules that it loads."""


def main() -> int:
    """Run the command line and return the exit code."""
    try:
        _handle_as_interrupt()
        _fill_standard_files()
        gc.set_threshold(*GC_THRESHOLDS)
        os.environ.pop("MPLBACKEND", None)  # Matplotlib fails to load with an unknown back end; figures need none
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more threads would be idle, and take time to start
        from pacelab.cli.main import main as run

        return run()
    except KeyboardInterrupt:  # during the import above
        from pacelab.console import log

        log("interrupted")
        return 130
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is left to save
        gc.freeze()  # skips the last collection, a twelfth of a short run's CPU time


def _handle_as_interrupt() -> None:
    """Let these signals end a command as Ctrl-C does, so that finished results are kept. Ignored signals stay ignored
    (nohup).

    A shell starts background commands (`&`) of a script with SIGINT ignored, but not with these signals ignored.
    """
    ctrl_c = signal.getsignal(signal.SIGINT)
    if ctrl_c not in (signal.default_int_handler, signal.SIG_IGN):
        return
    for number in (getattr(signal, name, None) for name in STOPPED_BY):
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler if ctrl_c is signal.SIG_IGN else _interrupt)


def _fill_standard_files() -> None:
    """Open the null device for each of stdin, stdout and stderr that is closed, so that no other file gets
    its number.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):  # SIGINT is ignored: a shell started this process in the background
        raise KeyboardInterrupt
    handler(signal.SIGINT, frame)


if __name__ == "__main__":  # spawned workers import this module too
    sys.exit(main())
