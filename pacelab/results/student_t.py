"""Quantiles of Student's t distribution. With these 50 lines, confidence intervals need no package of 100 MB."""

from __future__ import annotations

import math
from functools import cache

_MOST_STEPS = 50


@cache
def t_quantile(freedom: int, level: float) -> float:
    """The t with P(|T| <= t) = `level` (0..1, both excluded) for `freedom` degrees of freedom, at least 1.

    Newton's method for the angle atan(t / sqrt(freedom)), starting from the normal distribution's quantile.
    """
    from statistics import NormalDist  # a run that estimates nothing does without

    angle = math.atan(NormalDist().inv_cdf((1 + level) / 2) / math.sqrt(freedom))
    log_scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(math.pi) / 2
    for _ in range(_MOST_STEPS):
        slope = 2 * math.exp(log_scale + (freedom - 1) * math.log(math.cos(angle)))
        step = (_probability(angle, freedom) - level) / slope
        # Half of the way to the end of the range at most: the slope vanishes there.
        angle -= max(step, (angle - math.pi / 2) / 2)
        if abs(step) <= 1e-16 * angle:
            break
    return math.sqrt(freedom) * math.tan(angle)


def _probability(angle: float, freedom: int) -> float:
    """P(|T| <= sqrt(freedom) tan(angle)). Source: Abramowitz and Stegun, eqs. 26.7.3 (odd) and 26.7.4 (even)."""
    cos2 = math.cos(angle) ** 2
    odd = freedom % 2
    if freedom == 1:
        return 2 * angle / math.pi
    term = math.cos(angle) if odd else 1.0
    terms = [term]
    for k in range(2 + odd, freedom - 1, 2):
        term *= cos2 * (k - 1) / k
        terms.append(term)
    total = math.sin(angle) * math.fsum(terms)
    return 2 / math.pi * (angle + total) if odd else total
