"""`pacelab` and `python -m pacelab`: the command line, and how a signal ends it from the first moment to the last."""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType

STOPPED_BY = ("SIGTERM", "SIGHUP")
"""A batch system's time is over; the terminal has gone."""
OFTEN_ENOUGH = (10_000, 20, 50)
"""Garbage is looked for: by Python's own 700, 10, 10 a short run looks through all that it loads again and again, for a
twentieth of its CPU."""


def main() -> int:
    """Run the command line; returns the exit code."""
    try:
        _hear_as_interrupt()
        _fill_standard_files()
        gc.set_threshold(*OFTEN_ENOUGH)
        os.environ.pop("MPLBACKEND", None)  # figures go into files; Matplotlib does not load where it does not know it
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's threads: idle here, and starting them takes time
        from pacelab.cli.main import main as run

        return run()
    except KeyboardInterrupt:  # while the above was loaded
        from pacelab.console import log

        log("interrupted")
        return 130
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is left to save
        gc.freeze()  # nor is garbage looked for once more at the end, for a twelfth of a short run's CPU


def _hear_as_interrupt() -> None:
    """These end a command as Ctrl-C does: what is finished is kept. Not what nohup has made deaf.

    A script's shell makes what it starts in the background (`&`) deaf to Ctrl-C, not to these.
    """
    ctrl_c = signal.getsignal(signal.SIGINT)
    if ctrl_c not in (signal.default_int_handler, signal.SIG_IGN):
        return
    for number in (getattr(signal, name, None) for name in STOPPED_BY):
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler if ctrl_c is signal.SIG_IGN else _interrupt)


def _fill_standard_files() -> None:
    """Where one of stdin, stdout and stderr is closed, as a daemon's may be, what is opened next would be it."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):  # a shell is in front, whose Ctrl-C it is
        raise KeyboardInterrupt
    handler(signal.SIGINT, frame)


if __name__ == "__main__":  # spawned workers import this module too
    sys.exit(main())
