"""What makes a Python process punctual, as far as the host allows it."""

from __future__ import annotations

import ctypes
import gc
import os

_PR_SET_TIMERSLACK = 29
_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4
FIFO_PRIORITY = 10


def be_punctual() -> bool:
    """Timers to the nanosecond, memory that stays, no garbage collection, SCHED_FIFO; whether the last was allowed."""
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    # No waiting for a page that was reclaimed meanwhile; refused without the right to it, which is fine.
    library.mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT)
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(FIFO_PRIORITY))
    except (OSError, AttributeError):
        return False
    return True
