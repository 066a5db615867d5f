"""The exercises of lab 0: reading a result, and what an interval says."""

from __future__ import annotations

from pacelab_labs.exercise import Case, Exercise

LAB0 = {
    "lab0.goodput": Exercise(
        asks="the goodput in bit/s",
        cases=(
            Case(
                arguments={"delivered_pkts": 100, "payload_bytes": 1460, "seconds": 10.0},
                expected=116_800.0,
                source="100 packets of 11,680 bits in 10 s",
                mistakes={
                    14_600.0: "that is the goodput in bytes per second; a byte has 8 bits.",
                    120_000.0: "that includes the 40 bytes of headers; goodput counts only the payload.",
                    1_168_000.0: "that is the number of bits; divide it by the number of seconds.",
                },
            ),
            Case(
                arguments={"delivered_pkts": 0, "payload_bytes": 1460, "seconds": 5.0},
                expected=0.0,
                source="nothing delivered",
            ),
        ),
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
                    4.3892: "that is t times the standard deviation of one sample; divide it by sqrt(n) to get that of "
                    "the mean of n samples.",
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
