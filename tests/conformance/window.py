"""W*: the smallest window that is as good as the best."""

from __future__ import annotations

from collections.abc import Mapping

WITHIN = 0.02


def best_window(goodput_kbps: Mapping[int, float]) -> int:
    """The smallest window, in packets, whose goodput is within 2 % of the best."""
    best = max(goodput_kbps.values())
    return min(window for window, kbps in goodput_kbps.items() if kbps >= (1 - WITHIN) * best)
