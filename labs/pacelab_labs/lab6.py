"""The exercises of lab 6: a cell in which ACKs have a given cost, and when a conclusion holds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Any

from pacelab import Experiment, run
from pacelab_labs.design import Design, Goal, whole_between
from pacelab_labs.errors import Todo
from pacelab_labs.exercise import LIMIT_S, Exercise, call_limited, show

NEAR = 0.03
"""How far the measured gain may be from the requested one. The paper's model, which has no backoff, is often off by
more."""


def _judge_payload(payload_bytes: int, wanted: float, rate_mbps: float) -> Sequence[Goal]:
    """One station, downstream: suppressed ACKs compared with an ACK per segment."""
    cell = Experiment(
        topology="access-point",
        topology_options={"stations": 1},
        direction="down",
        rate_bps=int(rate_mbps * 1e6),
        payload_bytes=payload_bytes,
        duration_s=6,
    )
    measured = run(cell.vary(scheme="ack-suppression")).goodput_bps / run(cell).goodput_bps - 1
    return (
        Goal(
            text=f"without ACKs the goodput is {wanted:.0%} higher, give or take {100 * NEAR:.0f} points",
            met=abs(measured - wanted) <= NEAR,
            measured=f"{measured:+.1%}",
        ),
    )


def _draw_payload(draw: Random, rate_mbps: float, wanted: tuple[float, float]) -> dict[str, float]:
    return {"wanted": round(draw.uniform(*wanted), 3), "rate_mbps": rate_mbps}


PAYLOAD = Design(
    read=whole_between(1, 1460, "the payload in bytes"),
    judge=_judge_payload,
    cases=({"wanted": 0.6, "rate_mbps": 11.0}, {"wanted": 0.72, "rate_mbps": 11.0}, {"wanted": 0.3, "rate_mbps": 2.0}),
    draws={
        "11 Mbit/s": (
            partial(_draw_payload, rate_mbps=11.0, wanted=(0.55, 0.6)),
            partial(_draw_payload, rate_mbps=11.0, wanted=(0.7, 0.74)),
        ),
        "other rates": (
            partial(_draw_payload, rate_mbps=2.0, wanted=(0.24, 0.3)),
            partial(_draw_payload, rate_mbps=5.5, wanted=(0.42, 0.6)),
        ),
    },
)

_WORDS = ("holds", "fails", "depends")
_VERDICTS = (
    ({"ns2": 0.35, "standard": 0.38, "no RTS": 0.30}, "holds", "every variant gains"),
    ({"ns2": -0.11, "standard": -0.02}, "fails", "every variant loses"),
    ({"ns2": -0.11, "no retries": 1.3}, "depends", "one loses, one gains"),
    ({"ns2": 0.0, "standard": 0.2}, "depends", "a gain of 0 is none"),
)


def _try_verdict(work: Any) -> str:
    if not callable(work):
        return f"expected a function that returns a word; got {work!r}."
    for gains, expected, why in _VERDICTS:
        outcome = call_limited(work, {"gains": dict(gains)}, limit_s=LIMIT_S)
        if outcome.todo:
            raise Todo('write the function; it should return "holds", "fails" or "depends".')
        told = f"gains {gains}\n  expected {expected!r} ({why})\n  "
        if outcome.failure:
            return told + outcome.failure
        if not isinstance(outcome.value, str) or outcome.value not in _WORDS:
            return told + f'got {show(outcome.value)}: return "holds", "fails" or "depends", in small letters.'
        if outcome.value != expected:
            above = sum(gain > 0 for gain in gains.values())
            return told + f"got {show(outcome.value)}: {above} of {len(gains)} {'is' if above == 1 else 'are'} above 0."
    return ""


LAB6 = {
    "lab6.payload": Exercise(
        asks="the payload of a segment, in bytes",
        design=PAYLOAD,
        praise="that is the gain.",
    ),
    "lab6.verdict": Exercise(
        asks="a verdict",
        trial=_try_verdict,
        praise="with one exception the conclusion depends.",
    ),
}
