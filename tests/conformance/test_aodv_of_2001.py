"""`--routing aodv-2001` against ns-2.1b8a with its own AODV."""

from __future__ import annotations

import statistics

import aodv_of_2001
import pytest
from aodv_of_2001 import Case

MEDIAN_TOLERANCE = 0.015
TOLERANCE = 0.06
SAMPLE = [Case("chain", 1, 4, 32), Case("chain", 1, 16, 32), Case("cross", 2, 6, 32)]
"""Rows in which 2.35's AODV differs by 9 to 25 %."""
OTHERWISE: dict[Case, Case] = {Case("grid", 4, 12, 4): Case(aodv_of_2001.WITHOUT_ARP, 4, 12, 4)}
"""Rows that a tested difference takes out of the band, and the rows of ns-2 without this difference. PaceLab's AODV
needs no ARP. On the grid with a window of 4, ARP lets two of ns-2's four flows starve with seed 1: 191, 167, 4 and
3 kbit/s, without ARP 103, 81, 75 and 71.
"""


@pytest.fixture(scope="session")
def deviations() -> dict[Case, float]:
    """All rows, run once."""
    pytest.importorskip("pacelab_medium", reason="the air engine is not built: `make build` builds it")
    return aodv_of_2001.deviations(list(aodv_of_2001.rows()))


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    "case",
    [SAMPLE[0], *(pytest.param(case, marks=pytest.mark.thorough) for case in SAMPLE[1:])],
    ids=lambda it: it.name,
)
def test_a_sample_of_rows_is_within_the_band(case: Case) -> None:
    assert abs(aodv_of_2001.deviations([case])[case]) <= TOLERANCE


@pytest.mark.thorough
@pytest.mark.parametrize("case", aodv_of_2001.rows(), ids=lambda case: case.name)
def test_each_row_is_within_the_band(case: Case, deviations: dict[Case, float]) -> None:
    assert abs(deviations[OTHERWISE.get(case, case)]) <= TOLERANCE


@pytest.mark.thorough
@pytest.mark.parametrize("case", OTHERWISE, ids=lambda case: case.name)
def test_a_row_with_a_tested_difference_needs_it(case: Case, deviations: dict[Case, float]) -> None:
    assert TOLERANCE < abs(deviations[case]) <= 2 * TOLERANCE


@pytest.mark.thorough
def test_the_middle_row_is_within_a_percent_and_a_half(deviations: dict[Case, float]) -> None:
    assert len(deviations) >= 61
    assert statistics.median(map(abs, deviations.values())) <= MEDIAN_TOLERANCE
