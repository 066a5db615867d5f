"""The exercise of lab 8: a congestion control that keeps the queue short."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from pacelab.experiment.experiment import Experiment
from pacelab.results.results import RunResult
from pacelab.running.runner import run
from pacelab.user_code.bases import CongestionControl, RateSample
from pacelab.user_code.messages import UserCodeError
from pacelab.user_schemes import run_congestion_control
from pacelab_labs.errors import Todo
from pacelab_labs.exercise import LIMIT_S, Exercise, call_limited, complain_about_number

LEAST_GOODPUT = 0.85
"""Share of NewReno's goodput in the trial run. A window that stays at its start has about a third."""
MOST_ROUND_TRIP = 0.9
"""Share of NewReno's round trip in the trial run."""

Acks = tuple[tuple[float | None, float | None], ...]
"""Of each ACK: delivery rate in packets per second, and round trip in ms."""

_ACKS: tuple[tuple[Acks, float, str], ...] = (
    (((80.0, 100.0),), 11.0, "1.25 x 80 x 0.1 + 1"),
    (((80.0, 2000.0),), 101.0, "1.25 x 80 x 1 + 1: the least round trip starts at one second"),
    (((80.0, 100.0), (40.0, 300.0)), 11.0, "a slower sample and a longer round trip change nothing"),
    (((80.0, 100.0), (80.0, 50.0)), 6.0, "1.25 x 80 x 0.05 + 1: the least round trip"),
    (((80.0, 100.0), (120.0, 200.0)), 16.0, "1.25 x 120 x 0.1 + 1: the largest rate"),
    (((None, 50.0), (80.0, 100.0)), 6.0, "an ACK without a rate still has a round trip"),
    (((80.0, 100.0), (120.0, None)), 16.0, "an ACK without a round trip still has a rate"),
    (((500.0, 100.0), *((80.0, 100.0),) * 49), 63.5, "1.25 x 500 x 0.1 + 1: the largest of the last 50 rates"),
    (((500.0, 100.0), *((80.0, 100.0),) * 50), 11.0, "only the last 50 rates count"),
)


def ack(rate_pps: float | None, rtt_ms: float | None) -> RateSample:
    """An ACK with this rate and round trip, in the open state."""
    rtt_ns = None if rtt_ms is None else round(rtt_ms * 1e6)
    return RateSample(
        now_ns=1_000_000_000,
        rtt_ns=rtt_ns,
        smoothed_rtt_ns=rtt_ns,
        rate_pps=rate_pps,
        interval_ns=None if rate_pps is None else 100_000_000,
        delivered_pkts=10,
        newly_delivered_pkts=1,
        lost_pkts=0,
        newly_lost_pkts=0,
        prior_delivered_pkts=5,
        in_flight_pkts=4,
        prior_in_flight_pkts=5,
        is_app_limited=False,
        phase="open",
    )


def _try_window(work: Any) -> str:
    if not (isinstance(work, type) and issubclass(work, CongestionControl)):
        return f"expected a class that extends CongestionControl; got {work!r}."
    for acks, expected, how in _ACKS:
        made = call_limited(partial(work, 2, 256), {}, limit_s=LIMIT_S)
        if made.failure:
            return f"making {work.__name__}(initial_window=2, window_limit=256): {made.failure}"
        for given in acks:
            outcome = call_limited(partial(made.value.delivered, ack(*given)), {}, limit_s=LIMIT_S)
            if outcome.todo:
                raise Todo("write delivered(); it should set self.window.")
            if outcome.failure:
                return f"delivered() with rate_pps {given[0]} and a round trip of {given[1]} ms: {outcome.failure}"
        shown = ", ".join(f"{rate} at {rtt} ms" for rate, rtt in acks[:3])
        told = f"after ACKs with rates {shown}{', ...' if len(acks) > 3 else ''}\n  "
        told += f"expected self.window {expected:g} ({how})\n  "
        window: Any = getattr(made.value, "window", None)
        if complaint := complain_about_number(window, none="self.window is a number of packets."):
            return told + complaint
        if not math.isclose(float(window), expected, rel_tol=1e-6):
            return told + f"got {float(window):g}{_hint(float(window), expected)}"
    return _try_run(work)


def _hint(got: float, expected: float) -> str:
    if math.isclose(got, expected - 1, rel_tol=1e-6):
        return (
            ": add the + 1. A sender sends whole packets only: with a window of 2.5 packets it sends two, so the "
            "measured rate and the window never grow."
        )
    if got > 1e6:
        return ": rtt_ns is in nanoseconds."
    return "."


def _try_run(work: type[CongestionControl]) -> str:
    tried = Experiment(topology_options={"hops": 4, "wired_hops": 1}, direction="down", window_pkts=256, duration_s=20)
    try:
        goodput_bps, trip_s = _measures(run_congestion_control(tried, work))
    except UserCodeError as error:
        return f"4 hops down, 20 s: expected a run; {error}"
    plain_bps, plain_s = _measures(run(tried))
    for what, share, least, most in (
        ("goodput", goodput_bps / plain_bps, LEAST_GOODPUT, math.inf),
        ("round trip", trip_s / plain_s, 0.0, MOST_ROUND_TRIP),
    ):
        if not least <= share <= most:
            bound = f"at least {least:.0%}" if least else f"at most {most:.0%}"
            return f"4 hops down, 20 s: expected {bound} of NewReno's {what}; got {share:.0%}."
    return ""


def _measures(result: RunResult) -> tuple[float, float]:
    """Goodput, and the mean round trip; infinite if none was measured."""
    flow = result.run["flows"][0]
    trip_s = flow["rtt_mean_s"]
    return result.goodput_bps, math.inf if trip_s is None else trip_s


LAB8 = {
    "lab8.delay_window": Exercise(
        asks="a congestion control",
        trial=_try_window,
        praise="it fills the path and keeps the queue short.",
    )
}
