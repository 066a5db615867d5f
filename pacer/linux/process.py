"""A Python process that wakes in time and hears when it is to end.

What makes it punctual, as far as the host allows it: SCHED_FIFO, no timer slack, no pauses of the garbage collector.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import select
import signal
import socket
import time
from types import FrameType

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


_NS_PER_MS = 1_000_000
LONGEST_WAIT_NS = 200 * _NS_PER_MS


def become_real_time(*, priority: int) -> bool:
    """Less of it, for processes that carry traffic: no locked memory; returns whether SCHED_FIFO was."""
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


class StopSignal:
    """SIGTERM, SIGINT and SIGHUP (its terminal has gone) as something to wait for.

    Readable, and `given`, once one of them has come. `close` puts things back.
    """

    def __init__(self) -> None:
        self.given = False
        self._receiver, self._sender = socket.socketpair()
        for end in (self._receiver, self._sender):
            end.setblocking(False)
        heard = [signal.SIGTERM, signal.SIGINT]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup: it is to outlive its terminal
            heard.append(signal.SIGHUP)
        self._old = {number: signal.signal(number, self._note) for number in heard}
        self._old_fd = signal.set_wakeup_fd(self._sender.fileno())

    def fileno(self) -> int:
        """For select."""
        return self._receiver.fileno()

    def drain(self) -> None:
        """Not readable until the next one comes; any other signal that has a handler makes it so, too."""
        with contextlib.suppress(BlockingIOError):
            self._receiver.recv(4096)

    def close(self) -> None:
        """No more."""
        signal.set_wakeup_fd(self._old_fd)
        for number, handler in self._old.items():
            signal.signal(number, handler)
        self._receiver.close()
        self._sender.close()

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.given = True
