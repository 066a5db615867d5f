"""Real-time priority for processes that carry packets: SCHED_FIFO, no timer slack, no garbage collection."""

from __future__ import annotations

import ctypes
import gc
import os

_PR_SET_TIMERSLACK = 29
_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4
FIFO_PRIORITY = 10


def be_punctual() -> bool:
    """Make this process wake up on time, as far as the host allows it; return whether SCHED_FIFO was allowed.

    Timers get nanosecond slack, memory stays resident, and the garbage collector no longer runs by itself.
    """
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    # A reclaimed page would cost a wait. Without the privilege the call fails, which does no harm.
    library.mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT)
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(FIFO_PRIORITY))
    except (OSError, AttributeError):
        return False
    return True


def become_real_time(*, priority: int) -> bool:
    """Like `be_punctual` without locked memory, for processes that generate traffic; return whether SCHED_FIFO was
    allowed.
    """
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    gc.freeze()
    gc.disable()
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError:
        return False
    return True
