"""The exercises of lab 5: a pace for TCP beside calls, and one step of a bandwidth controller."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random
from statistics import fmean

from pacelab import Experiment, run
from pacelab_labs.design import Design, Goal, between
from pacelab_labs.exercise import Case, Exercise

GOOD_MOS = 3.6
SEEDS = (1, 2)


def _mean_mos(pace_kbps: float, hops: int, calls: int) -> float:
    string = Experiment(
        topology="string",
        topology_options={"hops": hops, "voice": calls, "tcp": 3},
        scheme="data-pacing",
        pace_rate_bps=round(1000 * pace_kbps),
        duration_s=12,
    )
    return fmean(call["mos"] or 1.0 for seed in SEEDS for call in run(string.vary(seed=seed)).run["calls"])


def _judge_pace(pace_kbps: float, hops: int, calls: int) -> Sequence[Goal]:
    """The gateway sends three TCP flows at `pace_kbps` together."""
    here, faster = (_mean_mos(factor * pace_kbps, hops, calls) for factor in (1, 2))
    return (
        Goal(text=f"the calls' mean MOS is {GOOD_MOS} or better", met=here >= GOOD_MOS, measured=f"{here:.2f}"),
        Goal(text=f"at twice this pace it is below {GOOD_MOS}", met=faster < GOOD_MOS, measured=f"{faster:.2f}"),
    )


def _draw_pace(draw: Random, hops: int, calls: Sequence[int]) -> dict[str, int]:
    return {"calls": draw.choice(calls), "hops": hops}


PACE = Design(
    read=between(1, 20_000, "the pace in kbit/s"),
    judge=_judge_pace,
    cases=({"calls": 5, "hops": 4}, {"calls": 3, "hops": 2}, {"calls": 7, "hops": 3}),
    draws={
        "several lengths": (
            partial(_draw_pace, hops=4, calls=(5, 6)),
            partial(_draw_pace, hops=2, calls=(2, 3)),
            partial(_draw_pace, hops=3, calls=(4, 5)),
        ),
        "many calls": (
            partial(_draw_pace, hops=3, calls=(8, 9)),
            partial(_draw_pace, hops=2, calls=(9, 10)),
        ),
    },
)

_STEP = {"rate_kbps": 200.0}

LAB5 = {
    "lab5.pace": Exercise(
        asks="the pace of TCP in kbit/s",
        design=PACE,
        praise="good calls, and no capacity wasted.",
    ),
    "lab5.controller": Exercise(
        asks="the new rate in kbit/s",
        cases=(
            Case(arguments={"mos": 4.0, **_STEP}, expected=210.0, source="above Q_good 3.9: 5 % more"),
            Case(
                arguments={"mos": 3.8, **_STEP},
                expected=206.0,
                source="between Q_fair and Q_good: 3 % more",
                mistakes={210.0: "that is the step above Q_good; 3.8 is between Q_fair and Q_good."},
            ),
            Case(
                arguments={"mos": 3.65, **_STEP},
                expected=180.0,
                source="between Q_poor and Q_fair: 10 % less",
                mistakes={206.0: "3.65 is below Q_fair, 3.7: the calls are about to suffer."},
            ),
            Case(
                arguments={"mos": 3.5, **_STEP},
                expected=100.0,
                source="at most Q_poor, 3.6: halve it, as in Algorithm 1",
                mistakes={180.0: "that is the other reading, with Q_choke; Algorithm 1 does not use Q_choke."},
            ),
            Case(
                arguments={"mos": 3.9, **_STEP},
                expected=206.0,
                source="Q_good itself is not above Q_good: 3 % more",
                mistakes={210.0: "3.9 itself is not above Q_good."},
            ),
            Case(
                arguments={"mos": 3.7, **_STEP},
                expected=206.0,
                source="from Q_fair on: 3 % more (the paper's interval: 10 % less)",
                mistakes={180.0: "3.7 itself belongs to the case from Q_fair on."},
            ),
            Case(
                arguments={"mos": 3.6, **_STEP},
                expected=100.0,
                source="Q_poor itself is not above Q_poor: halve it",
                mistakes={180.0: "3.6 itself is not above Q_poor."},
            ),
        ),
    ),
}
