"""Waits for packets or for a time, whichever comes first."""

from __future__ import annotations

import select
import time

_NS_PER_MS = 1_000_000
LONGEST_WAIT_NS = 200 * _NS_PER_MS
"""A caller wakes up at least this often to check for signals."""


class Waiter:
    """Waits for readable descriptors or a time of CLOCK_MONOTONIC, whichever comes first."""

    def __init__(self, fds: list[int]) -> None:
        self._fds = fds
        self._poll = select.poll()
        for fd in fds:
            self._poll.register(fd, select.POLLIN)

    def wait(self, until_ns: int | None) -> list[int]:
        """Readable descriptors; none at the given time, or after LONGEST_WAIT_NS."""
        left_ns = LONGEST_WAIT_NS if until_ns is None else min(until_ns - time.monotonic_ns(), LONGEST_WAIT_NS)
        if 0 < left_ns < 2 * _NS_PER_MS:  # poll() counts in milliseconds, select() in microseconds
            return select.select(self._fds, [], [], left_ns / 1e9)[0]
        return [fd for fd, _event in self._poll.poll(max(0, left_ns // _NS_PER_MS - 1))]
