"""Quantities of transfers of a given size, of hand-made results."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pacelab.claims.aspect import Aspect
from pacelab.claims.quantities import QUANTITIES
from pacelab.results import RunResult


def result(*, samples: int = 0) -> RunResult:
    """A transfer that has ended, one that has not, and a backlogged flow."""
    flows: list[dict[str, Any]] = [
        {"id": 0, "transfer_bps": 1_000_000.0, "goodput_bps": 26_667.0, "hops": 2},
        {"id": 1, "transfer_bps": None, "goodput_bps": 200_000.0, "hops": 2},
        {"id": 2, "transfer_bps": None, "goodput_bps": 300_000.0, "hops": 1},
    ]
    paced = {"rtt_samples": samples, "n_hop_delay_us": 20_000 * samples}
    return RunResult(
        run={"flows": flows, "hooks": {"points": [{"counters": paced}, {"counters": {}}]}}, host={}, series={}
    )


@pytest.mark.parametrize(
    ("name", "aspect", "expected"),
    [
        ("transfer_kbps", Aspect(), 500.0),  # of 1000, 200 and 300
        ("transfer_kbps", Aspect(flow=0), 1000.0),
        ("transfer_median_kbps", Aspect(), 300.0),
        ("transfer_least_kbps", Aspect(), 200.0),
        ("transfer_fairness", Aspect(), 1500**2 / (3 * (1000**2 + 200**2 + 300**2))),
        ("transfer_fairness_per_hop", Aspect(), 900**2 / (3 * (500**2 + 100**2 + 300**2))),
        ("transfer_log_utility", Aspect(), math.log(1e6) + math.log(2e5) + math.log(3e5)),
        ("rate_estimate_kbps", Aspect(), 500.0),
    ],
)
def test_quantity(name: str, aspect: Aspect, expected: float) -> None:
    assert QUANTITIES[name](result(), aspect) == pytest.approx(expected)


def test_a_paced_run_has_a_delay_and_the_rate_of_one_packet_in_it() -> None:
    assert QUANTITIES["pace_delay_s"](result(samples=7), Aspect()) == pytest.approx(0.02)
    assert QUANTITIES["rate_estimate_kbps"](result(samples=7), Aspect()) == pytest.approx(600.0)  # 12,000 bit / 20 ms
    assert QUANTITIES["pace_delay_s"](result(), Aspect()) is None
