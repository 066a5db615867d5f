"""Reductions of an axis, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from pacelab.claims.model import Reduction
from pacelab.claims.reductions import reduce_axis

X = [1.0, 2.0, 4.0, 8.0]


@pytest.mark.parametrize(
    ("y", "how", "expected"),
    [
        ([1, 3, 3, 2], {"how": "largest"}, 3),
        ([1, 3, 3, 2], {"how": "smallest"}, 1),
        ([1, 3, 3, 1], {"how": "mean"}, 2),
        ([1, 3, 3, 2], {"how": "spread"}, 2),
        ([1, 3, 3, 2], {"how": "peak_at"}, 2),
        ([1, 97, 100, 2], {"how": "reaches", "level": 0.96}, 2),
        ([1, 97, 100, 2], {"how": "reaches", "level": 0.98}, 4),
        ([1, 4, 3, 3], {"how": "shortfall"}, 0.25),
        ([1, 4, 3, 5], {"how": "shortfall"}, 0),
        ([0, 0, 0, 0], {"how": "shortfall"}, None),
        ([1, 2, 3, 9], {"how": "trend"}, 1),
        ([9, 3, 2, 1], {"how": "trend"}, -1),
        ([5, 5, 5, 5], {"how": "trend"}, None),
        ([1, 2, 2, 4], {"how": "trend"}, 4.5 / (5 * 4.5) ** 0.5),  # ranks 1, 2.5, 2.5, 4
        ([0.1, 0.5, 0.6, 0.2], {"how": "first_above", "level": 0.5}, 4),
        ([0.1, 0.5, 0.6, 0.2], {"how": "first_above", "level": 0.7}, None),
        ([1, 3, 9, 2], {"how": "largest", "high": 2}, 3),
        ([9, 3, 1, 2], {"how": "largest", "low": 2}, 3),
        ([9, 3, 1, 2], {"how": "largest", "low": 20}, None),
    ],
)
def test_reduce_axis(y: list[float], how: dict[str, Any], expected: float | None) -> None:
    reduction = Reduction.model_validate({"over": "x", **how})
    assert reduce_axis(X, y, reduction) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(("number", "expected"), [(1, 3.0), (2, 6.0)])
def test_knees_of_a_ramp(number: int, expected: float) -> None:
    x = [float(i) for i in range(1, 10)]
    y = [0, 0, 0, 0.1, 0.2, 0.3, 0.3, 0.3, 0.3]  # flat to 3, up to 6, flat
    assert reduce_axis(x, y, Reduction(how="knee", over="x", number=number)) == expected
