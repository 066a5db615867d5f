"""Quantiles of delays and round-trip times without NumPy, so that the processes at the hosts start quickly."""

from __future__ import annotations

import math
from collections.abc import Sequence

RANKS = {"p50": 0.5, "p99": 0.99}
RTT_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The quantiles of round-trip times in a result (medium/README.md)."""


def quantiles(sample: Sequence[int]) -> dict[str, int]:
    """p50, p99 and max by the nearest rank; empty for an empty sample."""
    if not sample:
        return {}
    ranked = sorted(sample)
    found = {name: ranked[min(len(ranked) - 1, int(share * len(ranked)))] for name, share in RANKS.items()}
    return found | {"max": ranked[-1]}


def rtt_quantiles_s(sample: Sequence[float]) -> list[float] | None:
    """`RTT_SHARES` by the nearest rank, as in the simulator; None for an empty sample."""
    ranked = sorted(sample)
    return [ranked[math.floor(share * (len(ranked) - 1) + 0.5)] for share in RTT_SHARES] if ranked else None
