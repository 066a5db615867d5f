"""Preset standard against ns-3 with ns-2's ranges: within 6 %, or inside ns-3's own 95 % interval."""

from __future__ import annotations

import pytest
import references

pytestmark = pytest.mark.thorough

CASES = references.ns3()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_goodput_is_that_of_ns3(case, measure):
    got = measure(CASES)[case.name].mean_kbps
    inside = abs(got - case.expected_kbps) <= case.expected_half_kbps
    assert inside or got == pytest.approx(case.expected_kbps, rel=0.06)
