"""What makes a Python process punctual, as far as the host allows it."""

from __future__ import annotations

import ctypes
import gc
import os

_PR_SET_TIMERSLACK = 29
FIFO_PRIORITY = 10


def be_punctual() -> bool:
    """Timers to the nanosecond, no garbage collection of what lives on, SCHED_FIFO; whether the last was allowed."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(FIFO_PRIORITY))
    except (OSError, AttributeError):
        return False
    return True
