"""Quantiles of Student's t against tables and against SciPy."""

from __future__ import annotations

import pytest

from pacelab.results.student_t import t_quantile


@pytest.mark.parametrize(
    ("freedom", "expected"),
    [(1, 12.7062), (2, 4.30265), (4, 2.77645), (9, 2.26216), (10, 2.22814), (29, 2.04523), (120, 1.97993)],
)
def test_quantiles_of_a_table(freedom: int, expected: float) -> None:
    """Source: any table of the t distribution, two-sided, 95 %."""
    assert t_quantile(freedom, 0.95) == pytest.approx(expected, rel=3e-6)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_quantiles_agree_with_scipy(level: float) -> None:
    from scipy.special import stdtrit

    for freedom in (*range(1, 200), 999, 9999):
        assert t_quantile(freedom, level) == pytest.approx(float(stdtrit(freedom, (1 + level) / 2)), rel=1e-12)
