"""Figures of merit: Jain's index and 95 % intervals.

`math.fsum` throughout: Python's own `sum` of floats differs between versions, and results must not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean with the half width of its confidence interval (level `LEVEL`); None with fewer than two samples."""

    mean: float
    half_width: float | None
    samples: tuple[float, ...]


def jain(rates: Sequence[float]) -> float | None:
    """Jain's fairness index of the flows' rates: 1/n (one flow has all) .. 1 (equal); None when all are zero.

    Source: Jain, Chiu, Hawe, DEC-TR-301 (1984), eq. (1).
    """
    total = math.fsum(rates)
    squares = math.fsum(rate * rate for rate in rates)
    return total * total / (len(rates) * squares) if squares > 0 else None


def estimate(samples: Sequence[float]) -> Estimate:
    """Mean and t interval of independent samples (at least one)."""
    count = len(samples)
    mean = math.fsum(samples) / count
    if count < 2:
        return Estimate(mean=mean, half_width=None, samples=tuple(samples))
    variance = math.fsum((sample - mean) ** 2 for sample in samples) / (count - 1)
    return Estimate(mean=mean, half_width=_t_quantile(count - 1) * math.sqrt(variance / count), samples=tuple(samples))


def batch_rates_bps(batch_end_s: Sequence[float], *, batch_pkts: int, payload_bytes: int) -> list[float]:
    """Goodput in bit/s of each batch of `batch_pkts` packets; the first batch is discarded as initial transient.

    `batch_end_s` holds when each batch was complete, in seconds. Source: [tcp-gap] Sec. 5.1 (batch means).
    """
    bits = 8 * batch_pkts * payload_bytes
    return [bits / (end - start) for start, end in pairwise(batch_end_s)]


def _t_quantile(freedom: int) -> float:
    """Two-sided quantile of Student's t at `LEVEL`."""
    from scipy.special import stdtrit  # scipy.stats would take ten times as long to import

    return float(stdtrit(freedom, (1 + LEVEL) / 2))
