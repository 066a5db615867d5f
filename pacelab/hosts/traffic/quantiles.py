"""Quantiles of a sample by the nearest rank."""

from __future__ import annotations

from collections.abc import Sequence

SHARES = {"p50": 0.5, "p99": 0.99}


def quantiles(sample: Sequence[int]) -> dict[str, int]:
    """p50, p99 and max; empty for an empty sample."""
    if not sample:
        return {}
    ranked = sorted(sample)
    found = {name: ranked[min(len(ranked) - 1, int(share * len(ranked)))] for name, share in SHARES.items()}
    return found | {"max": ranked[-1]}
