"""From measured numbers to verdicts: bands, reductions, and Fu's model."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from pacelab.claims.load import parse_claim
from pacelab.claims.model import Check, Claim, Reduction
from pacelab.claims.outcome import (
    MOST_SEEDS,
    Found,
    Verdict,
    by_scatter,
    conclude,
    decisive,
    judge,
    key_of_measure,
    more_seeds,
    too_wide,
)
from pacelab.claims.quantities import (
    capacities,
    greedy_independent_set,
    network_drop_probability,
    retry_drop_probability,
    sender_drop_probability,
)
from pacelab.claims.reductions import plateau, reduce_axis
from pacelab_topologies.model import Flow
from pacelab_topologies.registry import load_topology

# Verdicts on checks from hand-made numbers, on both sides of each band. With three seeds, the prediction of a single
# run is sqrt(1 + 3) = 2 half widths in either direction.


def check(band: list[float], paper: float | None = None, direction: list[float] | None = None, **more: Any) -> Check:
    measure = {"of": "goodput_kbps", **more.pop("measure", {})}
    document = {"what": "x", "measure": measure, "paper": paper, "band": band, "band_from": "by hand", **more}
    return Check.model_validate(document | {"direction": direction})


def found(mean: float | None, half_width: float | None) -> Found:
    return Found(mean=mean, half_width=half_width, seeds=3)


@pytest.mark.parametrize(
    ("mean", "half_width", "verdict"),
    [
        (100.0, 1.0, Verdict.REPRODUCED),
        (95.0, 0.0, Verdict.REPRODUCED),  # on the edge
        (105.0, 0.0, Verdict.REPRODUCED),
        (91.5, 2.0, Verdict.REPRODUCED),  # 95 is within two half widths
        (108.5, 2.0, Verdict.REPRODUCED),
        (90.5, 2.0, Verdict.DIRECTION),  # 95 is not
        (109.5, 2.0, Verdict.DIRECTION),
        (100.0, 12.5, Verdict.REPRODUCED),  # a prediction of 25 in either direction, a quarter of the number
        (100.0, 12.6, Verdict.REPRODUCED),  # wider, but our single runs range from 75 to 125
        (100.0, 25.0, Verdict.REPRODUCED),  # from 50 to 150, half of the number
        (100.0, 25.1, Verdict.DIRECTION),  # wider: it would permit anything
        (10.0, 9.0, Verdict.DIRECTION),
        (10.0, 11.0, Verdict.NOT),  # may be below 0
        (-1.0, 0.5, Verdict.NOT),
        (250.0, 1.0, Verdict.NOT),  # beyond the direction's other end
        (100.0, None, Verdict.NOT),  # one seed: no interval
        (None, None, Verdict.NOT),  # undefined
        (math.nan, 1.0, Verdict.NOT),
    ],
)
def test_judge_number(mean: float | None, half_width: float | None, verdict: Verdict) -> None:
    assert judge(check([95, 105], 100, [0, 200]), found(mean, half_width)) is verdict


def test_judge_number_by_the_runs_that_it_averages() -> None:
    """For three runs of the paper, the mean scatters less: sqrt(1 + 3 / 3) = 1.41 half widths; for very many, 1."""
    assert judge(check([100, 100], 100), found(103, 2)) is Verdict.REPRODUCED
    assert judge(check([100, 100], 100), found(103, 2), runs=3) is Verdict.NOT
    assert judge(check([100, 100], 100), found(102.8, 2), runs=3) is Verdict.REPRODUCED
    assert judge(check([100, 100], 100), found(102.1, 2), runs=1e9) is Verdict.NOT


def test_judge_number_of_a_single_run_by_the_range_of_single_runs() -> None:
    """More seeds narrow the mean, never the range of single runs."""
    queue = check([16, 16], 16)
    runs_of_16 = Found(mean=16.4, half_width=1.12, seeds=30)  # 2.045 * 3 / sqrt(30); a single run is within 6.2
    assert judge(queue, runs_of_16) is Verdict.REPRODUCED
    assert by_scatter(queue, runs_of_16, runs=1)
    assert not by_scatter(queue, found(16.4, 0.5), runs=1)  # passes without it
    assert judge(check([12, 12], 12), Found(mean=17, half_width=2, seeds=10), runs=2) is Verdict.NOT  # 4.9 of 3
    assert judge(check([12, 12], 12), Found(mean=17, half_width=1.7, seeds=10)) is Verdict.REPRODUCED  # 5.6 of 6
    assert judge(check([12, 12], 12), Found(mean=17, half_width=1.9, seeds=10)) is Verdict.NOT  # 6.3 of 6


@pytest.mark.parametrize(
    ("mean", "half_width", "paper", "verdict"),
    [
        (3.0, 1.0, 3, Verdict.REPRODUCED),  # the plateau reaches from 2 to 4
        (5.0, 1.0, 3, Verdict.NOT),
        (4.5, 1.0, 3, Verdict.REPRODUCED),  # 3.5 is on the edge of the band
        (4.5, 0.9, 3, Verdict.NOT),
        (4.5, 1.0, None, Verdict.HOLDS),
        (5.0, 1.0, None, Verdict.NOT),
    ],
)
def test_judge_place_by_the_plateau(mean: float, half_width: float, paper: float | None, verdict: Verdict) -> None:
    place = {"reduce": [{"how": "peak_at", "over": "window"}]}
    assert judge(check([2.5, 3.5], paper, measure=place), found(mean, half_width)) is verdict


@pytest.mark.parametrize(
    ("band", "paper", "measure", "mean", "narrow"),
    [
        ([95, 105], 100, {}, 100, 12.5),  # half of a quarter of the number
        ([0, 0.1], None, {}, 5, 0.025),  # a quarter of the band
        ([0, math.inf], None, {}, 200, 10),  # 5 % of the mean
        ([0, math.inf], None, {"compare": "change", "against": {"scheme": "newreno"}}, 3, 0.05),
        ([0.9, math.inf], None, {"of": "fairness"}, 0.5, 0.05),
    ],
)
def test_more_seeds_are_wanted_by_width_alone(
    band: list[float], paper: float | None, measure: dict[str, Any], mean: float, narrow: float
) -> None:
    for where in (mean, -mean):
        assert not too_wide(check(band, paper, measure=measure), found(where, narrow))
        assert too_wide(check(band, paper, measure=measure), found(where, narrow * 1.01))
    assert not too_wide(check(band, paper, measure=measure), None)


def test_both_set_ups_get_twice_the_seeds_while_one_of_them_is_too_wide(claim_text: str) -> None:
    claim = parse_claim(claim_text, "x")

    def half(half_width: float) -> dict[str, Any]:
        return {"seeds": 10, "values": {key_of_measure(claim.checks[0].measure): [2.0, half_width]}}

    narrow, wide = half(0.25), half(0.26)  # the limit for p is a quarter of 2, and half of it is 0.25
    assert more_seeds(claim, [narrow, narrow], 10) == 10
    assert more_seeds(claim, [narrow, wide], 10) == more_seeds(claim, [wide, narrow], 10) == 20
    assert more_seeds(claim, [wide, None], 30) == MOST_SEEDS == 40
    assert more_seeds(claim, [wide, wide], 40) == 40
    assert more_seeds(claim, [wide, wide], 60) == 60, "a claim that states more seeds keeps them"


@pytest.mark.parametrize(("mean", "verdict"), [(0.0, Verdict.REPRODUCED), (0.01, Verdict.NOT), (-0.01, Verdict.NOT)])
def test_judge_number_exactly_none(mean: float, verdict: Verdict) -> None:
    assert judge(check([0, 0], 0), found(mean, 0.0)) is verdict


def test_judge_number_on_a_scale() -> None:
    """A prediction of 0.25 is a quarter of an index of 1, but is not informative; the limit is a tenth of the scale."""
    index = check([0.99, 1], 1, measure={"of": "fairness"})
    assert judge(index, found(0.9, 0.05)) is Verdict.REPRODUCED
    assert judge(index, found(0.9, 0.06)) is Verdict.REPRODUCED  # by the range of single runs, 0.12 in either direction
    assert judge(index, found(0.9, 0.06), runs=1.2) is Verdict.NOT
    assert judge(index, found(0.9, 0.11)) is Verdict.NOT  # our mean is not known well enough
    assert judge(index, found(0.7, 0.06)) is Verdict.NOT
    score = check([3.55, 3.65], 3.6, measure={"of": "mos_mean"})  # from 1 to 4.5
    assert judge(score, found(3.4, 0.17)) is Verdict.REPRODUCED
    assert judge(score, found(3.4, 0.19), runs=1.2) is Verdict.NOT
    change = check([0.99, 1], 1, measure={"of": "fairness", "compare": "change", "against": {"scheme": "newreno"}})
    assert judge(change, found(0.9, 0.06)) is Verdict.REPRODUCED  # relative: there is no scale


@pytest.mark.parametrize(
    ("mean", "half_width", "verdict"),
    [
        (0.5, 0.4, Verdict.HOLDS),
        (0.5, 0.6, Verdict.NOT),
        (-0.5, 0.1, Verdict.NOT),
        (5.0, 1.0, Verdict.HOLDS),
        (0.5, None, Verdict.NOT),
        (None, None, Verdict.NOT),
    ],
)
def test_judge_statement(mean: float | None, half_width: float | None, verdict: Verdict) -> None:
    assert judge(check([0, math.inf]), found(mean, half_width)) is verdict


@pytest.mark.parametrize(
    ("mean", "half_width", "verdict"),
    [
        (-0.2, 0.01, Verdict.NOT),
        (0.0, 0.01, Verdict.HOLDS),
        (0.05, 0.01, Verdict.HOLDS),  # a proven but small difference
        (0.0, 0.2, Verdict.NOT),  # no proven difference, and nothing is excluded
        (0.2, 0.01, Verdict.NOT),
    ],
)
def test_judge_equivalence(mean: float, half_width: float, verdict: Verdict) -> None:
    assert judge(check([-0.1, 0.1]), found(mean, half_width)) is verdict


def test_an_interval_ends_where_the_quantity_does() -> None:
    def reduced(how: str) -> dict[str, Any]:
        return {"of": "goodput_kbps", "reduce": [{"how": how, "over": "hops"}]}

    assert judge(check([0.9, 1], measure={"of": "fairness"}), found(0.97, 0.05)) is Verdict.HOLDS
    assert judge(check([0.9, 1]), found(0.97, 0.05)) is Verdict.NOT
    assert judge(check([0, 0.1], measure=reduced("spread")), found(0.01, 0.02)) is Verdict.HOLDS
    assert judge(check([-1, -0.9], measure=reduced("trend")), found(-0.99, 0.03)) is Verdict.HOLDS
    loss = check([0.09, 0.11], 0.1, [0, math.inf], measure=reduced("shortfall"))
    assert judge(loss, found(0.01, 0.02)) is Verdict.NOT  # perhaps there is no loss
    place = {"of": "contention_part", "reduce": [{"how": "first_above", "level": 0.5, "over": "queue"}]}
    assert judge(check([5, 7], measure=place), found(6, 0.5)) is Verdict.HOLDS  # packets, not a share
    assert judge(check([10, 10], 10, [0, 20], measure=place), found(6, 0.5)) is Verdict.DIRECTION
    share = check([0.5, 0.5], 0.5, [0, 0.9], measure={"of": "contention_part"})
    assert judge(share, found(0.02, 0.03)) is Verdict.DIRECTION


def test_checks_that_were_not_run_are_not_judged() -> None:
    assert judge(check([0, 1]), None) is Verdict.NOT_RUN


# Verdicts of claims from those of their checks: three headline checks (a number with a direction, one without, a
# statement), a detail, and a question of our own.

R, H, D, N, X_RUN = Verdict.REPRODUCED, Verdict.HOLDS, Verdict.DIRECTION, Verdict.NOT, Verdict.NOT_RUN


def claim(claim_text: str, extra: str = "") -> Claim:
    head, _ = claim_text.split("checks:")
    line = "  - {what: w, role: ROLE, measure: {of: goodput_kbps, at: {hops: 1}}, band: [1, 2], band_from: f"
    checks = [
        line.replace("ROLE", "headline") + ", paper: 1.5, direction: [0, 3]}",
        line.replace("ROLE", "headline") + ", paper: 1.5}",
        line.replace("ROLE", "headline") + "}",
        line.replace("ROLE", "detail") + "}",
        line.replace("ROLE", "ours") + "}",
    ]
    return parse_claim("\n".join([head + "checks:", *checks, extra]), "x")


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([R, R, H, H, H], Verdict.REPRODUCED),
        ([R, R, H, N, N], Verdict.REPRODUCED),  # details and our own questions do not count
        ([D, R, H, H, H], Verdict.DIRECTION),
        ([R, N, H, H, H], Verdict.DIRECTION),  # a number without a direction fails, and the others hold
        ([D, N, H, H, H], Verdict.DIRECTION),
        ([N, R, H, H, H], Verdict.NOT),  # a direction fails
        ([R, R, N, H, H], Verdict.NOT),  # a statement fails
        ([R, R, X_RUN, H, H], Verdict.NOT_RUN),
        ([R, R, H, X_RUN, X_RUN], Verdict.REPRODUCED),
    ],
)
def test_the_headline_decides(claim_text: str, verdicts: list[Verdict], expected: Verdict) -> None:
    assert conclude(claim(claim_text), verdicts) is expected


def test_a_number_alone_that_is_missed_is_not_reproduced(claim_text: str) -> None:
    text = claim_text.replace("    direction: [1, .inf]\n", "")
    assert conclude(parse_claim(text, "x"), [N]) is Verdict.NOT


def test_statements_alone_hold(claim_text: str) -> None:
    text = claim_text.replace("    direction: [1, .inf]\n", "").replace("    paper: 2\n", "")
    assert conclude(parse_claim(text, "x"), [H]) is Verdict.HOLDS
    assert conclude(parse_claim(text, "x"), [N]) is Verdict.NOT


@pytest.mark.parametrize(
    ("extra", "met", "missed"),
    [
        ("contradicted: five runs of theirs", Verdict.REPRODUCED, Verdict.CONTRADICTED),
        ("inconsistent: {here: four, there: five}", Verdict.INCONSISTENT, Verdict.INCONSISTENT),
        ("extension: the paper has none", Verdict.OWN, Verdict.OWN),
    ],
)
def test_declared_verdicts(claim_text: str, extra: str, met: Verdict, missed: Verdict) -> None:
    assert conclude(claim(claim_text, extra), [R, R, H, H, H]) is met
    assert conclude(claim(claim_text, extra), [N, R, H, H, H]) is missed
    assert conclude(claim(claim_text, extra), [X_RUN, R, H, H, H]) is Verdict.NOT_RUN


def test_the_worst_headline_check_is_shown(claim_text: str) -> None:
    assert decisive(claim(claim_text), [R, D, D, N, N]) == 1
    assert decisive(claim(claim_text), [R, R, H, N, N]) == 2
    assert decisive(claim(claim_text), [N, N, H, H, H]) == 0


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
        ([1, 97, 100, 2], {"how": "short_at", "level": 2}, 0.03),
        ([1, 97, 100, 2], {"how": "short_at", "level": 4}, 0),
        ([1, 97, 100, 2], {"how": "short_at", "level": 3}, None),
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


@pytest.mark.parametrize(
    ("y", "expected"),
    [([1, 97, 100, 98], (4, 8)), ([98, 97, 100, 2], (1, 4)), ([1, 2, 3, 4], (8, 8)), ([5, 5, 5, 5], (1, 8))],
)
def test_plateau_ends_2_percent_below_the_best(y: list[float], expected: tuple[float, float]) -> None:
    assert plateau(X, y) == expected


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
    with pytest.raises(ValueError, match=r"from 0 to 1"):
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
    # 12 of 24 senders start: the same H, half of the time
    assert drop(24) == pytest.approx(drop(12) / 2)
    assert drop(24) * 24 == pytest.approx(drop(48) * 48)


def test_network_drop_probability_is_of_all_starters() -> None:
    single = drop(8)
    assert network_drop_probability(8, most_starters=12, most_winners=4) == pytest.approx(1 - (1 - single) ** 8)


def test_capacities_of_pairs_in_a_line() -> None:
    # pairs n0->n1, n2->n3, ... 200 m apart, sensing 550 m: senders 800 m apart can start and succeed at once
    chain = load_topology("chain", hops=11, wired=False)
    pairs = replace(chain, flows=tuple(Flow(src=i, dst=i + 1) for i in range(0, 12, 2)))
    # senders at 0, 400, ... 2000 m: every second may start; 0->200, 800->1000 and 1600->1800 do not touch
    assert capacities(pairs) == (3, 3)


def test_most_independent_of_a_line() -> None:
    # seven in a line, each conflicts with the next two: 0, 3, 6
    line = [[0 < abs(i - j) <= 2 for j in range(7)] for i in range(7)]
    assert greedy_independent_set(line) == 3
