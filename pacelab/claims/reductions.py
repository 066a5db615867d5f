"""Reduces the values along an axis of a claim to one number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from pacelab.claims.model import Reduction


def reduce_axis(x: Sequence[float], y: Sequence[float], reduction: Reduction) -> float | None:
    """Reduce an axis to a number. `y`: the values at `x`, in their order. If the axis has names, `x` are positions.

    Returns None if the values do not define the number.

    largest, smallest, mean, spread  of the values
    peak_at                          x of the largest value, the first of equals; as the last reduction, see `plateau`
    shortfall                        how far the last value is below the largest: 0 none, 1 all
    short_at                         the same for the value at a given x: near 0 on a plateau
    trend                            Spearman's rank correlation with x: 1 always rising, -1 always falling
    first_above                      first x whose value exceeds a level
    knee                             corner of the flat - rising - flat curve that fits best (number 1 or 2)
    """
    pairs = [pair for pair in zip(x, y, strict=True) if lies_inside(pair[0], reduction)]
    if not pairs:
        return None
    x, y = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    top = max(y)
    match reduction.how:
        case "largest":
            return top
        case "smallest":
            return min(y)
        case "mean":
            return math.fsum(y) / len(y)
        case "spread":
            return top - min(y)
        case "peak_at":
            return x[y.index(top)]
        case "shortfall":
            return 1 - y[-1] / top if top > 0 else None
        case "trend":
            return _correlation(_ranks(x), _ranks(y))
        case "first_above":
            assert reduction.level is not None
            return next((place for place, value in pairs if value > reduction.level), None)
        case "short_at":
            there = next((value for place, value in pairs if place == reduction.level), None)
            return 1 - there / top if there is not None and top > 0 else None
        case "knee":
            return _knees(x, y)[reduction.number - 1] if len(x) >= 4 else None
        case "highest" | "lowest" | "sampled":
            raise ValueError(
                f"how: {reduction.how} is valid only for the intervals of single settings (see `measure`), not for a "
                "curve; choose another value of how"
            )


PLATEAU = 0.02
"""A plateau contains the values down to this fraction below the largest one (docs/verdicts.md)."""


def plateau(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """First and last x whose value is at most `PLATEAU` below the largest: a flat maximum has no single position."""
    top = max(y)
    places = [place for place, value in zip(x, y, strict=True) if value >= top - PLATEAU * abs(top)]
    return places[0], places[-1]


def lies_inside(place: float, reduction: Reduction) -> bool:
    """Whether a value of the axis is in the range of the reduction."""
    low, high = reduction.low, reduction.high
    return (low is None or place >= low) and (high is None or place <= high)


def _ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1. Equal values share their mean rank."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]


def _correlation(a: Sequence[float], b: Sequence[float]) -> float | None:
    mean_a, mean_b = math.fsum(a) / len(a), math.fsum(b) / len(b)
    spread_a = math.fsum((value - mean_a) ** 2 for value in a)
    spread_b = math.fsum((value - mean_b) ** 2 for value in b)
    if not (spread_a and spread_b):
        return None
    return math.fsum((p - mean_a) * (q - mean_b) for p, q in zip(a, b, strict=True)) / math.sqrt(spread_a * spread_b)


def _knees(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Corners among the values of x with the least squared error; the levels are the means before and after them."""
    best = (math.inf, x[0], x[-1])
    for first, second in combinations(range(len(x)), 2):
        low, high = _mean(y[: first + 1]), _mean(y[second:])
        error = 0.0
        for place, value in zip(x, y, strict=True):
            share = min(1.0, max(0.0, (place - x[first]) / (x[second] - x[first])))
            error += (value - low - share * (high - low)) ** 2
        if error < best[0]:
            best = (error, x[first], x[second])
    return best[1], best[2]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
