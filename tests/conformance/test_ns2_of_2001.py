"""Preset and TCP defaults `ns2-2001` against ns-2.1b8a itself: rates, TCP's window, packets that the MAC gave up."""

from __future__ import annotations

import statistics

import ns2_of_2001
import pytest
from ns2_of_2001 import Chain, Row

RATE_TOLERANCE = 0.05
MEDIAN_TOLERANCE = 0.01
WINDOW_TOLERANCE = 0.05
FLOW_TOLERANCE = 0.05
"""Of the total."""

STATIC = [chain for chain in ns2_of_2001.chains() if chain.routing == "static"]
AODV = [chain for chain in ns2_of_2001.chains() if chain.routing == "aodv-2.35"]
AODV_TOLERANCE = 0.15
"""Or ns-2's 95 % interval: as in test_ns2.py."""
SATURATED = ns2_of_2001.saturated()


@pytest.fixture(scope="session")
def ours() -> dict[Chain, Row]:
    """Every chain that is compared, run once."""
    pytest.importorskip("pacelab._medium", reason="the air engine is not built: `make build` builds it")
    return ns2_of_2001.measure_chains(STATIC + AODV)


@pytest.mark.thorough
@pytest.mark.parametrize("chain", STATIC, ids=lambda chain: chain.name)
def test_each_chain_has_the_rate_and_the_window_of_ns2(chain, ours):
    theirs = ns2_of_2001.chains()[chain]
    assert ours[chain].kbps == pytest.approx(theirs.kbps, rel=RATE_TOLERANCE)
    if chain.flows == 1:  # which of several flows has the larger share differs from seed to seed
        assert ours[chain].window_pkts == pytest.approx(theirs.window_pkts, rel=WINDOW_TOLERANCE)


@pytest.mark.thorough
def test_the_middle_row_is_within_one_percent(ours):
    theirs = ns2_of_2001.chains()
    assert statistics.median(abs(ours[chain].kbps / theirs[chain].kbps - 1) for chain in STATIC) <= MEDIAN_TOLERANCE


@pytest.mark.thorough
def test_the_mac_gives_up_as_many_packets_in_all(ours):
    theirs = ns2_of_2001.chains()
    many = [chain for chain in STATIC if theirs[chain].drops >= 50]
    assert len(many) >= 10
    shares = [ours[chain].drops / theirs[chain].drops for chain in many]
    assert statistics.mean(shares) == pytest.approx(1, abs=0.05)
    assert all(0.85 <= share <= 1.15 for share in shares)


OUTSIDE = {Chain("aodv-2.35", 1, 16, 8): "ours is 20 % lower, the reason is not known"}
AODV_CASES = [
    pytest.param(chain, marks=pytest.mark.xfail(reason=OUTSIDE[chain], strict=True)) if chain in OUTSIDE else chain
    for chain in AODV
]


@pytest.mark.thorough
@pytest.mark.parametrize("chain", AODV_CASES, ids=lambda chain: chain.name)
def test_with_the_aodv_that_ours_follows_each_chain_has_the_rate_of_ns2(chain, ours):
    theirs, got = ns2_of_2001.chains()[chain], ours[chain].kbps
    assert abs(got - theirs.kbps) <= theirs.half_kbps or got == pytest.approx(theirs.kbps, rel=AODV_TOLERANCE)


@pytest.mark.parametrize("case", SATURATED, ids=lambda case: case.name)
def test_saturated_flows_have_the_rates_that_ns2_gives_them(case, measure):
    got = measure(SATURATED)[case.name]
    assert got.mean_kbps == pytest.approx(case.expected_kbps, rel=MEDIAN_TOLERANCE)
    assert got.flows_kbps == pytest.approx(case.expected_flows_kbps, abs=FLOW_TOLERANCE * case.expected_kbps)
