"""Domains parse what they show and refuse everything else by name."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelab.topologies.domain import ON_OFF, Choice, Real, Whole

MBPS = Real(0, 100_000_000, above=True, scale=1_000_000, whole=True)


@given(st.integers(1, 50))
def test_whole_parses_what_it_shows(value: int) -> None:
    assert Whole(1, 50).parse(Whole(1, 50).show(value)) == value


@given(st.integers(1, 100_000_000))
def test_real_with_a_scale_parses_what_it_shows(value: int) -> None:
    assert MBPS.parse(MBPS.show(value)) == value


@given(st.floats(0, 10_000))
def test_real_parses_what_it_shows_to_15_digits(value: float) -> None:
    domain = Real(0, 10_000)
    assert math.isclose(domain.parse(domain.show(value)), value, rel_tol=1e-14, abs_tol=1e-300)


@pytest.mark.parametrize("text", ["", "x", "1.5", "0", "51", "-3", "nan", "1e1", "9" * 5000])
def test_whole_refuses(text: str) -> None:
    with pytest.raises(ValueError, match=r"allowed is a whole number from 1 to 50$"):
        Whole(1, 50).parse(text)


@pytest.mark.parametrize("text", ["", "x", "0", "-1", "nan", "inf", "-inf", "1e999", "100.1"])
def test_real_refuses(text: str) -> None:
    with pytest.raises(ValueError, match=r"allowed is a number above 0, up to 100$"):
        MBPS.parse(text)


@pytest.mark.parametrize("value", [None, "1", True, float("nan"), -1.0])
def test_real_refuses_values(value: object) -> None:
    with pytest.raises(ValueError, match=r"allowed is a number from 0 to 1$"):
        Real(0, 1).check(value)


def test_choice_names_what_is_allowed() -> None:
    with pytest.raises(ValueError, match=r"^'maybe': allowed is one of on, off$"):
        ON_OFF.parse("maybe")
    with pytest.raises(ValueError, match=r"^'tap': allowed is only sim$"):
        Choice.of("sim").parse("tap")


def test_choice_does_not_take_1_for_on() -> None:
    with pytest.raises(ValueError, match=r"^1: allowed is one of on, off$"):
        ON_OFF.check(1)
