"""Processor time and sleep of another process, as the kernel counts them."""

from __future__ import annotations

import time

SAMPLE_S = 0.1


class ProcessWatch:
    """Measures one process from now on."""

    def __init__(self, pid: int | None) -> None:
        self._pid = pid
        self._wall = time.monotonic()
        self._cpu = self.total_cpu_s()
        self.asleep_s = 0.0

    def sample(self) -> None:
        """Ask the kernel what the process does. Call this after each `SAMPLE_S` of silence."""
        try:
            with open(f"/proc/{self._pid}/stat", encoding="utf-8") as file:
                state = file.read().rpartition(")")[2].split()[0]
        except OSError:
            return
        self.asleep_s = self.asleep_s + SAMPLE_S if state in "STt" else 0.0

    def total_cpu_s(self) -> float:
        """Processor time of the process since it started; 0 if it has ended."""
        if self._pid is None:
            return 0.0
        try:
            return time.clock_gettime((~self._pid << 3) | 2)  # the clock of another process, clock_getcpuclockid(3)
        except OSError:
            return 0.0

    def cpu_s(self) -> float:
        """Processor time since this watch began."""
        return self.total_cpu_s() - self._cpu

    def wall_s(self) -> float:
        """Seconds since this watch began."""
        return time.monotonic() - self._wall
