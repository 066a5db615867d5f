"""The exercises of lab 5: the E-model and a bandwidth controller's step.

MOS by hand:
R = 94.2 - 0.024 d - 0.11 (d - 177.3) [d > 177.3] - 11 - 40 ln(1 + 10 e), then
MOS = 1 + 0.035 R + 7e-6 R (R - 60) (100 - R).
"""

from __future__ import annotations

from pacelab_labs.exercise import Case, Exercise

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
                source="at most Q_poor, 3.6: halve it, as in Algorithm 1",
                mistakes={180.0: "that is the other reading, with Q_choke; Algorithm 1 does not use Q_choke."},
            ),
            Case(arguments={"mos": 3.9, **_STEP}, expected=206.0, source="Q_good itself is not above Q_good: 3 % more"),
            Case(
                arguments={"mos": 3.7, **_STEP},
                expected=206.0,
                source="from Q_fair on: 3 % more (the paper's interval: 10 % less)",
            ),
            Case(arguments={"mos": 3.6, **_STEP}, expected=100.0, source="Q_poor itself is not above Q_poor: halve it"),
        ),
    ),
}
