"""Domains of values: what the messages say about values that Python cannot write out or convert."""

from __future__ import annotations

import math

import pytest

from pacelab.domains import Real, Whole


@pytest.mark.parametrize("domain", [Whole(1, 2), Real(1, 2)])
@pytest.mark.parametrize("digits", [400, 5000])
def test_a_huge_whole_number_is_described(domain: Whole | Real, digits: int) -> None:
    with pytest.raises(ValueError, match=f"from 1 to 2, not 'a number of about {digits} digits'"):
        domain.check(-(10**digits))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 0.999, 2.001, True, "1", None])
def test_a_number_outside_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="must be a number from 1 to 2, not "):
        Real(1, 2).check(value)


@pytest.mark.parametrize("value", [1, 2, 1.5])
def test_the_ends_belong_to_a_range(value: float) -> None:
    Real(1, 2).check(value)
