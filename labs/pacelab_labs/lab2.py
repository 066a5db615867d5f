"""The exercises of lab 2: how many hops can be busy, which window is the best, and a schedule that no window beats."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from random import Random
from statistics import fmean

from pacelab import Experiment, Pacer, RunResult, Sample, run, run_pacer
from pacelab_labs.design import Design, Goal, at_least, at_most, between
from pacelab_labs.exercise import Case, Exercise

NO_WORSE = 0.97
"""Required share of the best window's goodput. Two seeds of 40 s differ by a few per cent."""
FEWER = 0.75
"""Permitted share of the packets that TCP with a window of 32 loses."""
WINDOWS = (2, 3, 4, 5, 6, 32)
SEEDS = (1, 2)


def _chain(hops: int, rate_mbps: float, payload_bytes: int) -> Experiment:
    return Experiment(
        topology_options={"hops": hops, "wired": False},
        rate_bps=int(rate_mbps * 1e6),
        payload_bytes=payload_bytes,
        radio="ns2-2001",
        tcp_defaults="ns2-2001",
        window_pkts=32,
        duration_s=40,
    )


def _mean_kbps(results: Sequence[RunResult]) -> float:
    return fmean(result.goodput_bps for result in results) / 1000


def _dropped(results: Sequence[RunResult]) -> int:
    return sum(result.run["totals"]["dropped_pkts"] for result in results)


@lru_cache(maxsize=32)
def _windows(hops: int, rate_mbps: float, payload_bytes: int) -> tuple[float, int]:
    """The goodput of the best window in kbit/s, and the packets lost at the largest one."""
    chain = _chain(hops, rate_mbps, payload_bytes)
    runs = {window: [run(chain.vary(window_pkts=window, seed=seed)) for seed in SEEDS] for window in WINDOWS}
    return max(map(_mean_kbps, runs.values())), _dropped(runs[WINDOWS[-1]])


def _judge_schedule(interval_ms: float, hops: int, rate_mbps: float, payload_bytes: int) -> Sequence[Goal]:
    """The first node sends a packet in each `interval_ms`, with TCP and a window of 32."""

    class Constant(Pacer):
        interval_s = interval_ms / 1000

        def measured(self, sample: Sample) -> None:
            """Leave the interval unchanged."""

    chain = _chain(hops, rate_mbps, payload_bytes)
    paced = [run_pacer(chain.vary(seed=seed), Constant, watched=False) for seed in SEEDS]
    best_kbps, lost = _windows(hops, rate_mbps, payload_bytes)
    return (
        at_least(
            "the goodput is at most 3 % below that of the best window",
            _mean_kbps(paced),
            NO_WORSE * best_kbps,
            "kbit/s",
        ),
        at_most("it loses at most three quarters of what window 32 loses", _dropped(paced), FEWER * lost, "packets"),
    )


def _draw_schedule(draw: Random, rate_mbps: float, payload: tuple[int, int]) -> dict[str, float]:
    return {"hops": draw.choice((6, 7)), "rate_mbps": rate_mbps, "payload_bytes": draw.randrange(*payload)}


SCHEDULE = Design(
    read=between(1, 1000, "the interval in ms"),
    judge=_judge_schedule,
    cases=(
        {"hops": 7, "rate_mbps": 2.0, "payload_bytes": 1460},
        {"hops": 6, "rate_mbps": 1.0, "payload_bytes": 1460},
        {"hops": 6, "rate_mbps": 1.0, "payload_bytes": 900},
    ),
    draws={
        "2 and 1 Mbit/s": tuple(partial(_draw_schedule, rate_mbps=rate, payload=(1200, 1461)) for rate in (2.0, 1.0)),
        "smaller packets": tuple(partial(_draw_schedule, rate_mbps=rate, payload=(850, 1100)) for rate in (2.0, 1.0)),
    },
)

LAB2 = {
    "lab2.busy_at_once": Exercise(
        asks="the largest number of hops that can send at once",
        cases=(
            Case(
                arguments={"hops": 8, "every": 4},
                expected=2,
                source="Fu et al., figure 1: A sends to B while E sends to F",
                mistakes={
                    3: "that counts the hops 0, 4 and 8, but the eight hops have the numbers 0 to 7.",
                    8: "hops that are fewer than four hops apart interfere with each other.",
                },
            ),
            Case(
                arguments={"hops": 5, "every": 4},
                expected=2,
                source="five hops have room for two senders, A and E",
                mistakes={
                    1: "5 // 4 rounds down, but the fifth hop can also send.",
                    1.25: "the result must be a whole number of hops.",
                },
            ),
            Case(
                arguments={"hops": 4, "every": 4},
                expected=1,
                source="a second sender needs a fifth hop",
            ),
            Case(arguments={"hops": 1, "every": 4}, expected=1, source="one hop, one sender"),
        ),
    ),
    "lab2.best_window": Exercise(
        asks="the smallest window whose goodput is within 1 % of the best",
        cases=(
            Case(
                arguments={"goodput_kbps": {1: 178.0, 2: 246.0, 3: 248.0, 4: 245.0, 8: 241.0}},
                expected=2,
                source="99 % of 248 is 245.5, and window 2 has 246",
                mistakes={
                    3: "that is the window of the highest goodput; a smaller window is within 1 % of it.",
                    248: "that is the goodput; return its window.",
                },
            ),
            Case(
                arguments={"goodput_kbps": {1: 150.0, 2: 240.0, 3: 248.0, 4: 243.0, 5: 250.0, 6: 249.0}},
                expected=3,
                source="99 % of 250 is 247.5, and of windows 3, 5 and 6 the smallest is 3",
                mistakes={
                    2: "that goodput (240) is 4 % below the best (250); it must be within 1 % of the best.",
                    5: "that is the window of the highest goodput (250); window 3 is within 1 % of 250.",
                },
            ),
            Case(
                arguments={"goodput_kbps": {8: 100.0, 4: 100.0, 16: 100.0}},
                expected=4,
                source="all goodputs are equal",
            ),
            Case(arguments={"goodput_kbps": {1: 100.0}}, expected=1, source="there is only one window"),
        ),
    ),
    "lab2.schedule": Exercise(
        asks="the time between two packets, in ms",
        design=SCHEDULE,
        praise="no window beats this schedule.",
    ),
}
