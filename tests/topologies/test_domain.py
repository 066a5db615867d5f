"""What an option allows, and how its text is read."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelab.topologies.document import LENGTH, RATE, SIZE, TIME, Quantity
from pacelab.topologies.domain import ON_OFF, Choice, Real, Whole

# Domains parse what they show and refuse everything else by name.


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
    with pytest.raises(ValueError, match=r"^1: allowed is one of on, off: here on is True$"):
        ON_OFF.check(1)


# Numbers with units.


@pytest.mark.parametrize(
    ("quantity", "text", "value"),
    [
        (TIME, "40 ms", 0.04),
        (TIME, "500us", 0.0005),
        (TIME, "2 min", 120.0),
        (RATE, "5.5 Mbit/s", 5_500_000),
        (RATE, "1e3 bit/s", 1000),
        (SIZE, "1 MB", 1_000_000),
        (SIZE, "1 MiB", 1_048_576),
        (LENGTH, "-0.2 km", -200.0),
    ],
)
def test_quantity_in_the_houses_unit(quantity: Quantity, text: str, value: float) -> None:
    assert quantity.parse(text) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("text", ["40", "ms", "", "1,5 s", "4 S", "nan s", "-1 s", "1e999 s", True, None, [1]])
def test_quantity_refuses_and_says_what_is_allowed(text: object) -> None:
    with pytest.raises(ValueError, match=r"allowed is a number of at least 0 with one of the units s, ms, us, min"):
        TIME.parse(text)
