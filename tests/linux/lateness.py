"""How late this machine was: what a test of real hosts says of a machine that stood still is said of the machine."""

from __future__ import annotations

import threading
import time

STEP_S = 0.005
LATE_S = 0.010
"""On a machine that has a core to spare a sleeper is a tenth of it late."""


class Sleeper:
    """Sleeps for 5 ms at a time, and knows how late it awoke at the worst since it was last asked."""

    def __init__(self) -> None:
        self._worst_s = 0.0
        threading.Thread(target=self._sleep, daemon=True).start()

    def worst_s(self) -> float:
        """Since the last call."""
        worst_s, self._worst_s = self._worst_s, 0.0
        return worst_s

    def _sleep(self) -> None:
        while True:
            before = time.monotonic()
            time.sleep(STEP_S)
            self._worst_s = max(self._worst_s, time.monotonic() - before - STEP_S)
