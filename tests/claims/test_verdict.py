"""Verdicts from hand-made numbers, on both sides of each band."""

from __future__ import annotations

import math

import pytest

from pacelab.claims.model import Check, Kind
from pacelab.claims.verdict import Verdict, judge, worst
from pacelab.metrics import Estimate


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
