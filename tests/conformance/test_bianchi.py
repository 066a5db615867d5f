"""A cell of n saturated stations on `standard` against Bianchi's model: within 2 %."""

from __future__ import annotations

import bianchi
import pytest

pytestmark = pytest.mark.thorough

NAMES = [bianchi.name(stations, rts) for rts in (False, True) for stations in bianchi.STATIONS]


@pytest.mark.parametrize("name", NAMES)
def test_cell_has_the_throughput_of_the_fixed_point(name, measure):
    cases = {case.name: case for case in bianchi.cases()}
    got = measure(list(cases.values()))[name]
    assert got.mean_kbps == pytest.approx(cases[name].expected_kbps, rel=0.02)


def test_fixed_point_of_two_stations_satisfies_its_equations_by_hand():
    # p = tau for two stations: tau (sum p^k (1 + W_k/2)) = sum p^k. At p = 0.057 by hand: sum p^k = 1.06045,
    # the slots 16.5 + 0.057 * 32.5 + 0.003249 * 64.5 + 0.000185 * 128.5 + ... = 18.589; tau = 0.05705.
    assert bianchi.goodput_kbps(2, rts=False) == pytest.approx(
        # idle 0.943^2 = 0.88925, success 2 * 0.057 * 0.943 = 0.10750, collision 0.00325, in us 20, 1564, 1665
        0.10750 * 11680 / (0.88925 * 20 + 0.10750 * 1564 + 0.00325 * 1665) * 1e3,
        rel=0.002,
    )
