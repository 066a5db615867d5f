"""The exercises of lab 4: TCP-GAP's estimator piece by piece, the pacing queue, Goodput Control.

The examples are worked by hand with b = 2 Mbit/s, s_data = 1500 B and s_ACK = 40 B: a data packet takes 6.00 ms, data
and ACK together 6.16 ms, their difference 5.84 ms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from pacelab.user_code.bases import Pacer, Sample
from pacelab_labs.errors import Todo
from pacelab_labs.exercise import LIMIT_S, Case, Exercise, call_limited, complain_about_number, show

_PATH = {"rate_bps": 2e6, "data_bytes": 1500, "ack_bytes": 40}

_Paces = Sequence[tuple[float, int, float | None, str]]

_PACES: _Paces = (
    # round trip, hops, interval expected, how
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
    """The misconception behind a wrong pace, if it is a known one. All values are computed by hand."""
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
    """The pacing queue: when packets leave."""
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


def _try_control(work: Any) -> str:
    """Goodput Control: which flows are throttled, and to what."""
    if not callable(work):
        return f"expected a function that returns a dict; got {work!r}."
    cases: tuple[tuple[dict[str, float], set[str], dict[str, float], str], ...] = (
        ({"FTP1": 360.0, "FTP2": 150.0}, {"FTP1"}, {"FTP1": 255.0}, "the mean is 255, and 360 > 1.1 x 255"),
        ({"FTP1": 270.0, "FTP2": 250.0}, {"FTP1"}, {}, "270 is less than 1.1 x 260"),
        (
            {"FTP1": 400.0, "FTP2": 380.0, "FTP3": 50.0, "FTP4": 50.0},
            {"FTP1", "FTP2"},
            {"FTP1": 220.0, "FTP2": 220.0},
            "the mean is 220, and both are above 1.1 x 220",
        ),
        ({"FTP1": 150.0, "FTP2": 360.0}, {"FTP1"}, {}, "FTP2 comes from the wireless side: the gateway cannot pace it"),
    )
    for goodput, down, expected, why in cases:
        arguments = {"goodput_kbps": dict(goodput), "from_wired": set(down), "threshold": 1.1}
        outcome = call_limited(work, arguments, limit_s=LIMIT_S)
        if outcome.todo:
            raise Todo("write the function; it should return a dict: flow -> rate it is throttled to.")
        told = f"goodput {goodput}, from the wired side {sorted(down)}\n  expected {expected} ({why})\n  "
        if outcome.failure:
            return told + outcome.failure
        if not isinstance(outcome.value, dict):
            return told + f"got {show(outcome.value)}, which is not a dict."
        got = outcome.value
        if any(complain_about_number(rate) for rate in got.values()):
            return told + f"got {got}: each rate must be a number."
        if not got.keys() <= down:
            return told + f"got {got}: the gateway paces only flows from the wired side."
        if got.keys() != expected.keys():
            return (
                told + f"got {got}: throttle the flows above threshold times the mean of all flows, wired and wireless."
            )
        if any(not math.isclose(got[flow], rate, rel_tol=1e-6) for flow, rate in expected.items()):
            return told + f"got {got}: the rate is the mean of all flows, wired and wireless."
    return ""


LAB4 = {
    "lab4.queueing": Exercise(
        asks="the mean queueing delay per node, t_q, in seconds",
        cases=(
            Case(
                arguments={"rtt_s": 0.040, "hops": 4, **_PATH},
                expected=0.00192,
                source="(10.00 - 6.16) / 2 ms: a round trip is 2h waits and, on h hops, data one way, ACK the other",
                mistakes={
                    1.92: "these are milliseconds; seconds are asked for.",
                    0.00384: "that is the wait for both ways; eq. (3) halves it.",
                    0.01692: "h counts: the round trip is over 4 hops.",
                    0.00200: "the ACK's 40 bytes also count.",
                    0.004615: "sizes are in bytes: 8 bits each.",
                },
            ),
            Case(
                arguments={"rtt_s": 0.01232, "hops": 2, **_PATH},
                expected=0.0,
                source="2 x 6.16 ms: nobody waited",
            ),
            Case(
                arguments={"rtt_s": 0.040, "hops": 4, "rate_bps": 2e6, "data_bytes": 1000, "ack_bytes": 100},
                expected=0.0028,
                source="other sizes: data and ACK take 4.40 ms, (10.00 - 4.40) / 2 ms",
            ),
        ),
    ),
    "lab4.four_hop_delay": Exercise(
        asks="the four-hop delay (h-hop delay on shorter paths) in seconds",
        cases=(
            Case(
                arguments={"rtt_s": 0.040, "hops": 4, **_PATH},
                expected=0.03168,
                source="4 x (1.92 + 6.00) ms, or eq. (4): 2 x (10.00 + 5.84) ms",
                mistakes={
                    31.68: "these are milliseconds; seconds are asked for.",
                    0.01584: "that is half: eq. (4) has 2 (RTT/h + ...), or 4 (t_q + s_data/b).",
                    0.02: "that is half a round trip; the ACK's way back is faster than the data's.",
                    0.02146: "sizes are in bytes: 8 bits each.",
                    0.01068: "sizes are in bytes: 8 bits each.",
                },
            ),
            Case(
                arguments={"rtt_s": 0.070, "hops": 7, **_PATH},
                expected=0.03168,
                source="the same per hop, so the same over four hops",
                mistakes={0.05544: "that is the delay over all 7 hops; four is where a packet is out of the way."},
            ),
            Case(
                arguments={"rtt_s": 0.020, "hops": 2, **_PATH},
                expected=0.01584,
                source="two hops only: 2 x (1.92 + 6.00) ms (the paper, section 5.2: the h-hop delay where h < 4)",
                mistakes={0.03168: "the path has two hops; a packet does not travel four."},
            ),
        ),
    ),
    "lab4.cov": Exercise(
        asks="the coefficient of variation, a number without unit",
        cases=(
            Case(
                arguments={"rtts_s": [0.040, 0.050, 0.060]},
                expected=0.2,
                source="deviation 10 ms with n - 1 = 2 under the root, mean 50 ms",
                mistakes={
                    0.163299: "that is with n under the root; eq. (5) has n - 1.",
                    0.010: "that is the deviation in seconds; divide it by the mean.",
                    0.0001: "that is the variance.",
                },
            ),
            Case(arguments={"rtts_s": [0.040]}, expected=0.0, source="one sample does not vary"),
            Case(arguments={"rtts_s": [0.05, 0.05]}, expected=0.0, source="equal samples"),
        ),
    ),
    "lab4.release": Exercise(asks="the times at which packets leave", trial=_try_release),
    "lab4.pacer": Exercise(
        asks="a pacer", trial=_try_pacer, praise="a pace for each round trip: that is TCP-GAP's estimator."
    ),
    "lab4.goodput_control": Exercise(asks="which flows are throttled, and to what", trial=_try_control),
}
