"""The exercises of lab 4: the pacing queue, TCP-GAP's estimator, and a chain on which TCP-GAP loses.

The examples are worked by hand with b = 2 Mbit/s, s_data = 1500 B and s_ACK = 40 B: a data packet takes 6.00 ms, data
and ACK together 6.16 ms, their difference 5.84 ms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from random import Random
from statistics import fmean
from typing import Any

from pacelab import Experiment, run
from pacelab.user_code.bases import Pacer, Sample
from pacelab_labs.design import Design, Goal, whole_between
from pacelab_labs.errors import Todo
from pacelab_labs.exercise import LIMIT_S, Exercise, call_limited, complain_about_number, show

_PATH = {"rate_bps": 2e6, "data_bytes": 1500, "ack_bytes": 40}

_Paces = Sequence[tuple[float, int, float | None, str]]

_PACES: _Paces = (
    # round trip, hops, expected interval, derivation
    (0.040, 4, 0.031680, "the first sample: FHD 31.68 ms, no variation yet"),
    (0.050, 4, 0.043607, "FHD_hat 0.7 x 31.68 + 0.3 x 36.68 = 33.18 ms; COV of 40 and 50 ms is 0.15713"),
    (0.060, 4, 0.050022, "FHD_hat 0.7 x 33.18 + 0.3 x 41.68 = 35.73 ms; COV of 40, 50 and 60 ms is 0.2"),
    (0.060, 6, 0.047104, "another way: FHD 31.68 ms, FHD_hat 34.515 ms; COV of 40, 50, 60 and 60 ms is 0.18237"),
)
_OTHER_SIZES = {"rate_bps": 2e6, "data_bytes": 1000, "ack_bytes": 100}
_OTHER_PACES: _Paces = ((0.040, 2, 0.023600, "another flow, 1000 and 100 B: 2 x (7.80 + 4.00) ms, no variation yet"),)
_MANY_PACES: _Paces = (
    *((0.100, 4, None, ""),) * 10,
    *((0.040, 4, None, ""), (0.060, 4, None, "")) * 24,
    (0.040, 4, None, ""),
    (0.060, 4, 0.052740, "FHD_hat 0.7 x 35.80 + 0.3 x 41.68 = 37.56 ms; COV of 25 times 40 and 60 ms is 0.20203"),
)
"""An expected interval of None is not compared."""


def _try_pacer(work: Any) -> str:
    """Feeds round trips to a student's Pacer, then to the pacers of other flows. Each flow has its own pacer."""
    if not (isinstance(work, type) and issubclass(work, Pacer)):
        return f"expected a class that extends Pacer; got {work!r}."
    return (
        _try_flow(work, _PACES, _PATH)
        or _try_flow(work, _OTHER_PACES, _OTHER_SIZES)
        or _try_flow(work, _MANY_PACES, _PATH)
    )


def _try_flow(work: type[Pacer], paces: _Paces, path: Mapping[str, Any]) -> str:
    made = call_limited(work, {}, limit_s=LIMIT_S)
    if made.todo:
        raise Todo("write the class.")
    if made.failure:
        return f"making {work.__name__}(): {made.failure}"
    pacer, told = made.value, []
    sizes = f"data of {path['data_bytes']} B and ACKs of {path['ack_bytes']} B"
    for place, (rtt_s, hops, expected_s, how) in enumerate(paces, start=1):
        sample = Sample(now_s=float(place), rtt_s=rtt_s, hops=hops, **path)
        told.append(f"{rtt_s * 1000:.0f} ms")
        outcome = call_limited(pacer.measured, {"sample": sample}, limit_s=LIMIT_S)
        if outcome.todo:
            raise Todo("write measured(); it should set self.interval_s to T = FHD_hat (1 + 2 COV).")
        last = ", ".join(told) if len(told) <= len(_PACES) else f"{', '.join(told[-2:])} (and {len(told) - 2} before)"
        after = f"after round trips of {last}, the last over {hops} hops, {sizes}\n  "
        if expected_s is not None:
            after += f"expected T = {expected_s:.6f} s ({how})\n  "
        if outcome.failure:
            return after + outcome.failure
        complaint = complain_about_number(pacer.interval_s, none="self.interval_s is a number of seconds.")
        if complaint:
            return after + complaint
        got = float(pacer.interval_s)
        if expected_s is not None and not math.isclose(got, expected_s, rel_tol=1e-4):
            return after + f"got {got:.6f} s{_guess_pace(place, got)}"
    return ""


def _guess_pace(place: int, got_s: float) -> str:
    """The misconception behind a wrong pace, if it is a known one. All values were computed by hand."""
    known = {
        (
            2,
            0.035180 * 1.314270,
        ): ": 0.7 is the weight of the old average and 0.3 of the new delay. You swapped the two.",
        (2, 0.036680 * 1.314270): ": that is without the moving average of eq. (2).",
        (2, 0.033180): ": that is FHD_hat alone, without the factor 1 + 2 COV.",
        (2, 0.033180 * 1.157135): ": COV counts twice.",
        (2, 0.033180 * 1.222222): ": that is COV with n under the root; eq. (5) has n - 1.",
    }
    for (at, wrong_s), why in known.items():
        if at == place and math.isclose(got_s, wrong_s, rel_tol=1e-3):
            return why
    if place > len(_PACES):
        return ". COV uses exactly the last 50 round trips."
    if place == 1 and got_s == 0.0:
        return ": measured() never set self.interval_s. Did you forget `self.`? (COV of one sample is 0.)"
    if place == 1:
        return (
            ". A flow's first sample has no deviation: T is its FHD, by eq. (3) and (4) and the sample's own sizes. "
            "Does __init__ set every attribute of the pacer?"
        )
    return ". Does measured() use equations (1), (2) and (5)?"


def _try_release(work: Any) -> str:
    """The departure times of the pacing queue."""
    if not callable(work):
        return f"expected a function that returns a list of times; got {work!r}."
    cases: tuple[tuple[list[float], float, list[float], str], ...] = (
        ([0.0, 0.0, 0.0, 50.0], 10.0, [0.0, 10.0, 20.0, 50.0], "the first waits for nothing, the fourth arrives late"),
        ([5.0, 6.0], 10.0, [5.0, 15.0], "one interval after the packet before"),
        ([], 10.0, [], "no packet arrives"),
    )
    for arrivals, interval, expected, why in cases:
        arguments = {"arrivals_ms": list(arrivals), "interval_ms": interval}
        outcome = call_limited(work, arguments, limit_s=LIMIT_S)
        if outcome.todo:
            raise Todo("write the function; it should return the times at which the packets leave, a list.")
        told = f"arrivals {arrivals}, interval {interval}\n  expected {expected} ({why})\n  "
        if outcome.failure:
            return told + outcome.failure
        times = outcome.value.tolist() if hasattr(outcome.value, "tolist") else outcome.value  # NumPy's
        if not isinstance(times, list | tuple):
            return told + f"got {show(outcome.value)}, which is not a list of numbers."
        if complaint := next(filter(None, map(complain_about_number, times)), ""):
            return told + f"in the list {complaint}"
        got = [float(time) for time in times]
        if len(got) != len(expected):
            return told + f"got {len(got)} times: {got}."
        if any(not math.isclose(a, b, abs_tol=1e-9) for a, b in zip(got, expected, strict=True)):
            if got == [time + interval for time in arrivals]:
                return told + f"got {got}: each packet waits on its own. A packet must wait for the packet before it."
            if got == arrivals:
                return told + f"got {got}: no packet waits. The pacer releases one packet per interval."
            if any(a < b for a, b in zip(got, arrivals, strict=True)):
                return told + f"got {got}: a packet leaves before it arrives."
            if any(after - before < interval for before, after in pairwise(got)):
                return told + f"got {got}: two packets leave less than one interval apart."
            return told + f"got {got}: a packet waits longer than it must."
    return ""


LOSS = 0.2
SEEDS = (1, 2, 3)
LONGEST, LARGEST = 12, 64
"""Maximum hops and window of a design."""


def _read_chain(answer: Any) -> tuple[int, int]:
    try:
        hops, window = answer
    except (TypeError, ValueError):
        raise ValueError("the answer must be a pair, (hops, window)") from None
    return whole_between(1, LONGEST, "hops")(hops), whole_between(1, LARGEST, "the window")(window)


def _judge_losing(chosen: tuple[int, int], spacing_m: float) -> Sequence[Goal]:
    """A chain with nodes `spacing_m` apart; a flow from the wired network, static routes."""
    hops, window = chosen
    net = {"hops": hops, "spacing": spacing_m}
    chain = Experiment(topology_options=net, direction="down", window_pkts=window, duration_s=20)
    newreno, paced = (
        fmean(run(chain.vary(scheme=scheme, seed=seed)).goodput_bps for seed in SEEDS)
        for scheme in ("newreno", "tcp-gap")
    )
    return (
        Goal(
            text=f"TCP-GAP carries at least {LOSS:.0%} less than NewReno, mean of {len(SEEDS)} seeds",
            met=paced <= (1 - LOSS) * newreno,
            measured=f"{paced / newreno - 1:+.0%}",
        ),
    )


def _draw_losing(draw: Random, spacing: tuple[int, int]) -> dict[str, float]:
    return {"spacing_m": float(draw.randrange(*spacing))}


LOSE = Design(
    read=_read_chain,
    judge=_judge_losing,
    cases=({"spacing_m": 200.0}, {"spacing_m": 150.0}, {"spacing_m": 230.0}),
    draws={
        "wide and narrow": (
            partial(_draw_losing, spacing=(188, 245)),
            partial(_draw_losing, spacing=(141, 178)),
        ),
    },
)

LAB4 = {
    "lab4.release": Exercise(
        asks="the times at which packets leave",
        trial=_try_release,
    ),
    "lab4.pacer": Exercise(
        asks="a pacer",
        trial=_try_pacer,
        praise="a pace for each round trip: that is TCP-GAP's estimator.",
    ),
    "lab4.lose": Exercise(
        asks="hops and a window, a pair",
        design=LOSE,
        praise="here TCP-GAP loses a fifth: now you know its limit.",
    ),
}
