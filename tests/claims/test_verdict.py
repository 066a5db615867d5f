"""From measured numbers to verdicts: bands, reductions, and Fu's model."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from pacelab.claims.contention import (
    capacities,
    most_independent,
    network_drop_probability,
    retry_drop_probability,
    sender_drop_probability,
)
from pacelab.claims.model import Check, Kind, Reduction
from pacelab.claims.reductions import reduce_axis
from pacelab.claims.verdict import Verdict, judge, worst
from pacelab.results.metrics import Estimate
from pacelab.topologies.model import Flow
from pacelab.topologies.registry import load_topology

# Verdicts from hand-made numbers, on both sides of each band.


def check(band: list[float], paper: float | None = None, direction: list[float] | None = None) -> Check:
    document = {"what": "x", "measure": {"of": "goodput_kbps"}, "paper": paper, "band": band, "band_from": "by hand"}
    return Check.model_validate(document | {"direction": direction})


def found(mean: float, half_width: float | None) -> Estimate:
    return Estimate(mean=mean, half_width=half_width, samples=(mean,))


@pytest.mark.parametrize(
    ("mean", "half_width", "verdict"),
    [
        (100.0, 1.0, Verdict.REPRODUCED),
        (95.0, 0.1, Verdict.REPRODUCED),  # on the edge
        (105.0, 0.1, Verdict.REPRODUCED),
        (94.0, 2.0, Verdict.REPRODUCED),  # below, its interval reaches in
        (106.0, 2.0, Verdict.REPRODUCED),
        (94.0, 0.5, Verdict.DIRECTION),  # below, its interval does not
        (106.0, 0.5, Verdict.DIRECTION),
        (80.0, 16.0, Verdict.DIRECTION),  # reaches in, but wider than a tenth of 100: says nothing
        (120.0, 16.0, Verdict.DIRECTION),
        (10.0, 9.0, Verdict.DIRECTION),
        (10.0, 11.0, Verdict.NOT),  # may be below 0
        (-1.0, 0.5, Verdict.NOT),
        (250.0, 1.0, Verdict.NOT),  # beyond the direction's other end
        (106.0, None, Verdict.DIRECTION),  # one seed: no interval
        (math.nan, 1.0, Verdict.NOT),
        (math.inf, None, Verdict.NOT),
    ],
)
def test_judge_value(mean: float, half_width: float | None, verdict: Verdict) -> None:
    assert judge(check([95, 105], 100, [0, 200]), "value", found(mean, half_width)) is verdict


@pytest.mark.parametrize(("mean", "verdict"), [(0.0, Verdict.REPRODUCED), (0.01, Verdict.NOT), (-0.01, Verdict.NOT)])
def test_judge_value_exactly_none(mean: float, verdict: Verdict) -> None:
    assert judge(check([0, 0], 0), "value", found(mean, 0.0)) is verdict


@pytest.mark.parametrize(
    ("mean", "half_width", "verdict"),
    [
        (0.5, 0.4, Verdict.DIRECTION),
        (0.5, 0.6, Verdict.NOT),
        (-0.5, 0.1, Verdict.NOT),
        (5.0, 1.0, Verdict.DIRECTION),
    ],
)
def test_judge_direction(mean: float, half_width: float, verdict: Verdict) -> None:
    assert judge(check([0, math.inf]), "direction", found(mean, half_width)) is verdict


@pytest.mark.parametrize(("mean", "verdict"), [(-0.2, Verdict.NOT), (0.0, Verdict.DIRECTION), (0.2, Verdict.NOT)])
def test_judge_direction_band_has_two_sides(mean: float, verdict: Verdict) -> None:
    assert judge(check([-0.1, 0.1]), "direction", found(mean, 0.01)) is verdict


@pytest.mark.parametrize("kind", ["value", "direction"])
def test_judge_undefined_is_not_reproduced(kind: Kind) -> None:
    assert judge(check([0, 1]), kind, None) is Verdict.NOT


def test_worst_orders_verdicts() -> None:
    assert worst([Verdict.REPRODUCED, Verdict.REPRODUCED]) is Verdict.REPRODUCED
    assert worst([Verdict.REPRODUCED, Verdict.DIRECTION]) is Verdict.DIRECTION
    assert worst([Verdict.NOT, Verdict.DIRECTION]) is Verdict.NOT


# Reductions of an axis, by hand.


X = [1.0, 2.0, 4.0, 8.0]


@pytest.mark.parametrize(
    ("y", "how", "expected"),
    [
        ([1, 3, 3, 2], {"how": "largest"}, 3),
        ([1, 3, 3, 2], {"how": "smallest"}, 1),
        ([1, 3, 3, 1], {"how": "mean"}, 2),
        ([1, 3, 3, 2], {"how": "spread"}, 2),
        ([1, 3, 3, 2], {"how": "peak_at"}, 2),
        ([1, 97, 100, 2], {"how": "reaches", "level": 0.96}, 2),
        ([1, 97, 100, 2], {"how": "reaches", "level": 0.98}, 4),
        ([1, 4, 3, 3], {"how": "shortfall"}, 0.25),
        ([1, 4, 3, 5], {"how": "shortfall"}, 0),
        ([0, 0, 0, 0], {"how": "shortfall"}, None),
        ([1, 2, 3, 9], {"how": "trend"}, 1),
        ([9, 3, 2, 1], {"how": "trend"}, -1),
        ([5, 5, 5, 5], {"how": "trend"}, None),
        ([1, 2, 2, 4], {"how": "trend"}, 4.5 / (5 * 4.5) ** 0.5),  # ranks 1, 2.5, 2.5, 4
        ([0.1, 0.5, 0.6, 0.2], {"how": "first_above", "level": 0.5}, 4),
        ([0.1, 0.5, 0.6, 0.2], {"how": "first_above", "level": 0.7}, None),
        ([1, 3, 9, 2], {"how": "largest", "high": 2}, 3),
        ([9, 3, 1, 2], {"how": "largest", "low": 2}, 3),
        ([9, 3, 1, 2], {"how": "largest", "low": 20}, None),
    ],
)
def test_reduce_axis(y: list[float], how: dict[str, Any], expected: float | None) -> None:
    reduction = Reduction.model_validate({"over": "x", **how})
    assert reduce_axis(X, y, reduction) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(("number", "expected"), [(1, 3.0), (2, 6.0)])
def test_knees_of_a_ramp(number: int, expected: float) -> None:
    x = [float(i) for i in range(1, 10)]
    y = [0, 0, 0, 0.1, 0.2, 0.3, 0.3, 0.3, 0.3]  # flat to 3, up to 6, flat
    assert reduce_axis(x, y, Reduction(how="knee", over="x", number=number)) == expected


# Fu's model by hand.


def test_retry_drop_probability_is_the_chains_last_state() -> None:
    # H = 1/2, r = 2: states 1 : 1/2 : 1/4, the last has 1/7 of them
    assert retry_drop_probability(0.5, retry_limit=2) == pytest.approx(1 / 7)
    assert retry_drop_probability(0.0) == 0
    assert retry_drop_probability(1.0) == pytest.approx(1 / 8)
    assert retry_drop_probability(1 - 1e-9) == pytest.approx(1 / 8, rel=1e-6)
    with pytest.raises(ValueError, match=r"0\.\.1"):
        retry_drop_probability(1.5)


def drop(backlogged: int) -> float:
    return sender_drop_probability(backlogged, most_starters=12, most_winners=4)


def test_property_5_1_no_drops_up_to_the_capacity() -> None:
    assert [drop(m) for m in (1, 2, 3, 4)] == [0, 0, 0, 0]


def test_property_5_2_drops_grow_beyond_it() -> None:
    # m = 8: c = 8, b = 4, H = 1/2, CS = 1
    assert drop(8) == pytest.approx(0.5 * 0.5**7 / (1 - 0.5**8))
    # m = 12: c = 12, b = 4, H = 2/3
    assert drop(12) == pytest.approx((1 / 3) * (2 / 3) ** 7 / (1 - (2 / 3) ** 8))
    assert drop(4) < drop(8) < drop(12)


def test_property_5_3_a_start_fails_no_more_often_beyond_the_starters() -> None:
    # of 24 senders 12 start: the same H, half of the time
    assert drop(24) == pytest.approx(drop(12) / 2)
    assert drop(24) * 24 == pytest.approx(drop(48) * 48)


def test_network_drop_probability_is_of_all_starters() -> None:
    single = drop(8)
    assert network_drop_probability(8, most_starters=12, most_winners=4) == pytest.approx(1 - (1 - single) ** 8)


def test_capacities_of_pairs_in_a_line() -> None:
    # pairs n0->n1, n2->n3, ... 200 m apart, sensing 550 m: senders 800 m apart start at once, and so do they succeed
    chain = load_topology("chain", hops=11, wired=False)
    pairs = replace(chain, flows=tuple(Flow(src=i, dst=i + 1) for i in range(0, 12, 2)))
    # senders at 0, 400, ... 2000 m: every second may start; 0->200, 800->1000 and 1600->1800 do not touch
    assert capacities(pairs) == (3, 3)


def test_most_independent_of_a_line() -> None:
    # seven in a line, each conflicts with the next two: 0, 3, 6
    line = [[0 < abs(i - j) <= 2 for j in range(7)] for i in range(7)]
    assert most_independent(line) == 3
