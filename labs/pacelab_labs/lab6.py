"""The exercises of lab 6: what an ACK costs, what pacing by hops allows, and when a conclusion holds."""

from __future__ import annotations

from typing import Any

from pacelab_labs.errors import Todo
from pacelab_labs.exercise import LIMIT_S, Case, Exercise, call_limited, show

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
        if not isinstance(outcome.value, str):
            return told + f'got {show(outcome.value)}: return "holds", "fails" or "depends".'
        if outcome.value != expected:
            above = sum(gain > 0 for gain in gains.values())
            return told + f"got {show(outcome.value)}: {above} of {len(gains)} {'is' if above == 1 else 'are'} above 0."
    return ""


LAB6 = {
    "lab6.exchange": Exercise(
        asks="the time of one packet on the air, in microseconds",
        cases=(
            Case(
                arguments={"payload_bytes": 1460},
                expected=1882.18,
                source="50 + 30 us of waits, 84 B at 1 Mbit/s are 672 us, 1554 B at 11 Mbit/s are 1130.18 us",
                mistakes={
                    1832.18: "DIFS, 50 us, comes before all.",
                    1852.18: "SIFS comes three times: after RTS, CTS and data.",
                    1862.18: "SIFS comes three times: after RTS, CTS and data.",
                    1271.27: "RTS and CTS go at the basic rate of 1 Mbit/s, not at 11.",
                    1872.0: "10 us are missing: is the MAC's own ACK, of 14 bytes, part of it, and SIFS three times?",
                    305.27: "sizes are in bytes: 8 bits each.",
                },
            ),
            Case(
                arguments={"payload_bytes": 0},
                expected=820.36,
                source="a TCP ACK: the same without the 1460 B, so 94 B at 11 Mbit/s are 68.36 us",
            ),
        ),
    ),
    "lab6.gain": Exercise(
        asks="the relative gain, 0.2 for 20 %",
        cases=(
            Case(
                arguments={"data_us": 2000.0, "ack_us": 1000.0, "acks_per_segment": 1.0},
                expected=0.5,
                source="3000 us instead of 2000 for the same payload",
                mistakes={
                    0.333333: "that is the share of time saved; 2/3 of the time is 3/2 of the goodput.",
                    1.5: "that is the ratio; the gain is what is above 1.",
                },
            ),
            Case(
                arguments={"data_us": 2000.0, "ack_us": 1000.0, "acks_per_segment": 0.5},
                expected=0.25,
                source="2500 us instead of 2000",
            ),
        ),
    ),
    "lab6.pace": Exercise(
        asks="the rate in bit/s",
        cases=(
            Case(
                arguments={"delay_s": 0.0140153, "packet_bytes": 1500},
                expected=856_207.0,
                source="Lee, table 5.1, 9 hops, one flow",
                mistakes={
                    107_025.9: "these are bytes per second.",
                    833_375.0: "whole packets count, with their headers: 1500 bytes.",
                },
            ),
            Case(
                arguments={"delay_s": 0.0116968, "packet_bytes": 1500},
                expected=1_025_918.0,
                source="Lee, table 5.1, one hop, one flow",
            ),
            Case(
                arguments={"delay_s": 0.010, "packet_bytes": 500},
                expected=400_000.0,
                source="smaller packets: 4,000 bits each 10 ms",
            ),
        ),
    ),
    "lab6.verdict": Exercise(asks="a verdict", trial=_try_verdict, praise="with one exception the conclusion depends."),
}
