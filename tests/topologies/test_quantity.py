"""Numbers with units."""

from __future__ import annotations

import pytest

from pacelab.topologies.quantity import LENGTH, RATE, SIZE, TIME, Quantity


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
