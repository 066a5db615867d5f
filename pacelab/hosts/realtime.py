"""A Python process that wakes in time: SCHED_FIFO, no timer slack, no pauses of the garbage collector."""

from __future__ import annotations

import ctypes
import gc
import os
import select
import time

_PR_SET_TIMERSLACK = 29
_NS_PER_MS = 1_000_000
LONGEST_WAIT_NS = 200 * _NS_PER_MS


def become_real_time(*, priority: int) -> bool:
    """Do what the host allows; returns whether SCHED_FIFO was."""
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    gc.freeze()
    gc.disable()
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError:
        return False
    return True


class Waiter:
    """Waits for readable descriptors or a moment of CLOCK_MONOTONIC, whichever comes first."""

    def __init__(self, fds: list[int]) -> None:
        self._fds = fds
        self._poll = select.poll()
        for fd in fds:
            self._poll.register(fd, select.POLLIN)

    def wait(self, until_ns: int | None) -> list[int]:
        """Readable descriptors; none when the moment has come (or after LONGEST_WAIT_NS, to look at signals)."""
        left_ns = LONGEST_WAIT_NS if until_ns is None else min(until_ns - time.monotonic_ns(), LONGEST_WAIT_NS)
        if 0 < left_ns < 2 * _NS_PER_MS:  # poll() counts whole milliseconds, select() microseconds
            return select.select(self._fds, [], [], left_ns / 1e9)[0]
        return [fd for fd, _event in self._poll.poll(max(0, left_ns // _NS_PER_MS - 1))]
