"""The exercises of labs 5 to 7: voice beside TCP; what an ACK costs; a pacer of one's own.

Lab 5 has the E-model, a bandwidth controller's step, and what is redundant. MOS by hand:
R = 94.2 - 0.024 d - 0.11 (d - 177.3) [d > 177.3] - 11 - 40 ln(1 + 10 e), then
MOS = 1 + 0.035 R + 7e-6 R (R - 60) (100 - R).
"""

from __future__ import annotations

from typing import Any

from pacelab.experiment.experiment import Experiment
from pacelab.options.own_code import UserCodeError
from pacelab.running.runner import run
from pacelab.user_code.bases import Pacer
from pacelab.user_code.run_own import run_pacer
from pacelab_labs.errors import Todo
from pacelab_labs.exercise import LIMIT_S, Case, Exercise, call_limited, show

_STEP = {"rate_kbps": 200.0}

LAB5 = {
    "lab5.mos": Exercise(
        asks="the MOS, from 1 to 4.5",
        cases=(
            Case(
                arguments={"network_ms": 160.0, "loss": 0.0},
                expected=3.591,
                source="d = 245 ms, R = 69.87; the paper, section III: 3.6 asks for less than 160 ms",
                mistakes={
                    4.000: "d is mouth to ear: add 25 ms of codec and 60 ms of playout buffer.",
                    3.9177: "beyond 177.3 ms each ms costs 0.11 more.",
                },
            ),
            Case(
                arguments={"network_ms": 104.0, "loss": 0.02},
                expected=3.601,
                source="d = 189 ms, R = 70.08; the paper, section III: 98 % in less than 104 ms",
                mistakes={3.9211: "the loss is missing, or it was taken in per cent.", 3.7877: "ln, not log10."},
            ),
            Case(
                arguments={"network_ms": 0.0, "loss": 1.0},
                expected=1.0,
                source="R is below 0: nothing arrived, and 1 is the worst there is",
                mistakes={1.3696: "R is below 0 here, and MOS is 1 then."},
            ),
            Case(
                arguments={"network_ms": 50.0, "loss": 0.0},
                expected=4.02249,
                source="d = 135 ms, R = 79.96: below 177.3 ms each ms costs 0.024 alone",
                mistakes={4.18578: "0.11 (d - 177.3) is taken off beyond 177.3 ms alone."},
            ),
            Case(
                arguments={"network_ms": 0.0, "loss": 0.57},
                expected=1.0,
                source="R = 5.08: the formula says 0.992, and 1 is the worst there is",
                mistakes={0.9924: "no MOS is below 1."},
            ),
        ),
    ),
    "lab5.controller": Exercise(
        asks="the new rate in kbit/s",
        cases=(
            Case(arguments={"mos": 4.0, **_STEP}, expected=210.0, source="above Q_good 3.9: 5 % more"),
            Case(arguments={"mos": 3.8, **_STEP}, expected=206.0, source="between Q_fair and Q_good: 3 % more"),
            Case(
                arguments={"mos": 3.65, **_STEP},
                expected=180.0,
                source="between Q_poor and Q_fair: 10 % less",
                mistakes={206.0: "3.65 is below Q_fair, 3.7: the calls are about to suffer."},
            ),
            Case(
                arguments={"mos": 3.5, **_STEP},
                expected=100.0,
                source="at most Q_poor, 3.6: halve it, as Algorithm 1 prints",
                mistakes={180.0: "that is the other reading, with Q_choke; here Algorithm 1 as it is printed."},
            ),
            Case(arguments={"mos": 3.9, **_STEP}, expected=206.0, source="Q_good itself is not above Q_good: 3 % more"),
            Case(arguments={"mos": 3.7, **_STEP}, expected=206.0, source="from Q_fair on: 3 % more"),
            Case(arguments={"mos": 3.6, **_STEP}, expected=100.0, source="Q_poor itself is not above Q_poor: halve it"),
        ),
    ),
}


# Lab 6: what an ACK costs, what pacing by hops allows, and when a conclusion holds.

_VERDICTS = (
    ({"ns2": 0.35, "standard": 0.38, "no RTS": 0.30}, "holds", "every variant gains"),
    ({"ns2": -0.11, "standard": -0.02}, "fails", "every variant loses"),
    ({"ns2": -0.11, "no retries": 1.3}, "depends", "one loses, one gains"),
    ({"ns2": 0.0, "standard": 0.2}, "depends", "a gain of 0 is none"),
)


def _try_verdict(work: Any) -> str:
    if not callable(work):
        return f"expected a function that returns a word; came {work!r}."
    for gains, expected, why in _VERDICTS:
        outcome = call_limited(work, {"gains": dict(gains)}, limit_s=LIMIT_S)
        if outcome.todo:
            raise Todo('write the function; it should return "holds", "fails" or "depends".')
        told = f"gains {gains}\n  expected {expected!r} ({why})\n  "
        if outcome.failure:
            return told + outcome.failure
        if not isinstance(outcome.value, str):
            return told + f'came {show(outcome.value)}: one of "holds", "fails" and "depends" is asked for.'
        if outcome.value != expected:
            above = sum(gain > 0 for gain in gains.values())
            return (
                told + f"came {show(outcome.value)}: {above} of {len(gains)} {'is' if above == 1 else 'are'} above 0."
            )
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
                    833_375.0: "whole packets count, headers too: 1500 bytes.",
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
    "lab6.verdict": Exercise(asks="a verdict", trial=_try_verdict, praise="one exception is enough for: it depends."),
}


# Lab 7: a pacer that paces, and does not pay for it with silence.

LEAST = 0.8
"""Share of NewReno's goodput that a pacer must keep to be worth a score."""


def _try_pacer(work: Any) -> str:
    if not (isinstance(work, type) and issubclass(work, Pacer)):
        return f"expected a class that extends Pacer; came {work!r}."
    for direction in ("down", "up"):
        tried = Experiment(topology_options={"hops": 5}, direction=direction, window_pkts=64, duration_s=10)
        try:
            result = run_pacer(tried, work)
        except UserCodeError as error:
            if "Todo" in str(error):
                raise Todo("write measured(); it should set self.interval_s.") from None
            return f"5 hops {direction}, 10 s: expected a run; {error}"
        told = f"5 hops {direction}, 10 s: "
        if result.run["hooks"]["actions"] == 0:
            return told + "expected some packets to wait; came none. Does measured() set self.interval_s above 0?"
        plain = run(tried).goodput_bps
        if result.goodput_bps < LEAST * plain:
            return (
                told + f"expected at least {LEAST:.0%} of NewReno's {plain / 1000:.0f} kbit/s; came "
                f"{result.goodput_bps / 1000:.0f}. Is the interval in seconds, and not too long?"
            )
    return ""


LAB7 = {"lab7.pacer": Exercise(asks="a pacer", trial=_try_pacer, praise="it paces, in both directions. Now score it.")}
