"""Median, 99th percentile and maximum of delays, without NumPy: the processes at the hosts start quickly."""

from __future__ import annotations

from collections.abc import Sequence

RANKS = {"p50": 0.5, "p99": 0.99}


def quantiles(sample: Sequence[int]) -> dict[str, int]:
    """p50, p99 and max by the nearest rank; empty for an empty sample."""
    if not sample:
        return {}
    ranked = sorted(sample)
    found = {name: ranked[min(len(ranked) - 1, int(share * len(ranked)))] for name, share in RANKS.items()}
    return found | {"max": ranked[-1]}
