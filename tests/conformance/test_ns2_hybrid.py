"""TCP-GAP's networks with their wired part against ns-2, whose wires are Queues and DelayLinks."""

from __future__ import annotations

import statistics

import pytest
import references

pytestmark = pytest.mark.thorough

CASES = references.hybrids()
STATIC_TOLERANCE = 0.04
AODV_TOLERANCE = 0.15
"""As in test_ns2.py. Or ns-2's 95 % interval: of several flows with windows of 64 no two seeds are alike."""
MEDIAN_TOLERANCE = 0.01


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_total_is_that_of_ns2(case, measure):
    got = measure(CASES)[case.name].mean_kbps
    tolerance = STATIC_TOLERANCE if case.key[3] == "static" else AODV_TOLERANCE
    inside = abs(got - case.expected_kbps) <= case.expected_half_kbps
    assert inside or got == pytest.approx(case.expected_kbps, rel=tolerance)


def test_the_middle_row_is_within_one_percent(measure):
    got = measure(CASES)
    far = [abs(got[case.name].mean_kbps / case.expected_kbps - 1) for case in CASES]
    assert statistics.median(far) <= MEDIAN_TOLERANCE
