"""What lab 4 says of its figure is what its comparison gives: TCP-GAP's gain over NewReno by the number of hops."""

from __future__ import annotations

import pytest

from pacelab import Experiment, compare

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.thorough]

HOPS = range(1, 11)


@pytest.fixture(scope="module")
def gains() -> dict[tuple[str, str, int], float]:
    """Scheme, direction and hops -> gain; as the lab compares them."""
    base = Experiment(routing="aodv", window_pkts=64, duration_s=20)
    grid = {"hops": list(HOPS), "direction": ["up", "down"]}
    made = compare(base, schemes=["newreno", "tcp-gap", "tcp-gap-eval"], axes=grid, seeds=3, jobs=1)
    return {(row["scheme"], row["point"]["direction"], row["point"]["hops"]): row["gain"] for row in made.rows}


def percent(gain: float) -> int:
    return round(100 * gain)


def test_the_gain_begins_at_four_hops(gains: dict[tuple[str, str, int], float]) -> None:
    up = [percent(gains["tcp-gap", "up", hops]) for hops in HOPS if hops >= 4]
    down = [percent(gains["tcp-gap", "down", hops]) for hops in range(4, 9)]
    assert (min(up), max(up)) == (15, 44)
    assert (min(down), max(down)) == (18, 61)
    assert percent(gains["tcp-gap", "down", 9]) > 61


def test_the_scheme_as_printed_loses_on_short_chains(gains: dict[tuple[str, str, int], float]) -> None:
    short = [percent(gains["tcp-gap", direction, hops]) for direction in ("up", "down") for hops in (1, 2)]
    assert min(short) == -9
    assert percent(gains["tcp-gap", "down", 3]) == -16


def test_the_authors_spread_gains_at_three_hops(gains: dict[tuple[str, str, int], float]) -> None:
    assert all(gains["tcp-gap-eval", direction, 3] > 0 for direction in ("up", "down"))
    assert percent(gains["tcp-gap-eval", "down", 4]) == 42
