"""The exercises of lab 0: the window of a flow over a long wire, and the meaning of a confidence interval."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random

from pacelab import Experiment, run
from pacelab_labs import design
from pacelab_labs.design import Design, Goal, at_least, at_most
from pacelab_labs.exercise import Case, Exercise

MORE = 1.15
"""The flow may carry this multiple of the requested goodput. One packet of window is a tenth of it or less."""


def _judge_window(window: int, kbps: float, payload_bytes: int, wired_hops: int) -> Sequence[Goal]:
    """The topology has one wireless hop and `wired_hops` links of 40 ms. The first seconds, while the window opens, do
    not count.
    """
    tried = Experiment(
        topology_options={"hops": 1, "wired_hops": wired_hops},
        payload_bytes=payload_bytes,
        window_pkts=window,
        warmup_s=2,
        duration_s=12,
    )
    carried = run(tried).goodput_bps / 1000
    return (
        at_least("the flow carries the requested goodput", carried, kbps, "kbit/s"),
        at_most("and at most 15 % more", carried, MORE * kbps, "kbit/s"),
    )


def _draw_window(draw: Random, wired_hops: Sequence[int]) -> dict[str, float]:
    """A goodput between those of two windows, so that rounding does not change the answer."""
    payload_bytes, links = draw.randrange(500, 1461), draw.choice(wired_hops)
    round_trip_s = 0.08 * links + 0.0075
    kbps = (draw.randrange(11, 21) - 0.6) * payload_bytes * 8 / round_trip_s / 1000
    return {"kbps": round(kbps, 1), "payload_bytes": payload_bytes, "wired_hops": links}


WINDOW = Design(
    read=design.whole_between(1, 1000, "the window"),
    judge=_judge_window,
    cases=(
        {"kbps": 500.0, "payload_bytes": 1460, "wired_hops": 3},
        {"kbps": 250.0, "payload_bytes": 1000, "wired_hops": 4},
        {"kbps": 900.0, "payload_bytes": 1460, "wired_hops": 2},
    ),
    draws={
        "three links": (partial(_draw_window, wired_hops=(3,)),),
        "other wires": (partial(_draw_window, wired_hops=(2,)), partial(_draw_window, wired_hops=(4, 5))),
    },
)

LAB0 = {
    "lab0.window": Exercise(
        asks="a window in packets",
        design=WINDOW,
        praise="this window is just large enough.",
    ),
    "lab0.half_width": Exercise(
        asks="the half width of the 95 % interval, in the unit of the samples",
        cases=(
            Case(
                arguments={"samples": [1.0, 2.0, 3.0, 4.0, 5.0], "t": 2.776},
                expected=1.963,
                source="mean 3, standard deviation 1.5811 = sqrt(10/4), divided by sqrt(5), times 2.776",
                mistakes={
                    1.7557: "the sum of squares was divided by n = 5; divide it by n - 1, because the mean comes "
                    "from the same samples.",
                    4.3892: "that is t times the standard deviation of the samples; divide it by sqrt(n).",
                    0.7071: "that is the standard error; multiply it by t.",
                },
            ),
            Case(
                arguments={"samples": [480.0, 500.0, 520.0], "t": 4.303},
                expected=49.687,
                source="standard deviation 20, divided by sqrt(3), times 4.303",
            ),
        ),
    ),
}
