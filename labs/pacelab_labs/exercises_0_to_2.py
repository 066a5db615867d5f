"""The exercises of labs 0 to 2: reading a result; who disturbs whom; the window.

Lab 0: reading a result, and what an interval says.
"""

from __future__ import annotations

from typing import Any

from pacelab_labs.errors import Todo
from pacelab_labs.exercise import LIMIT_S, Case, Exercise, call_limited, show

LAB0 = {
    "lab0.goodput": Exercise(
        asks="the goodput in bit/s",
        cases=(
            Case(
                arguments={"delivered_pkts": 100, "payload_bytes": 1460, "seconds": 10.0},
                expected=116_800.0,
                source="100 packets of 11,680 bits in 10 s",
                mistakes={
                    14_600.0: "these are bytes per second; a byte has 8 bits.",
                    120_000.0: "that counts the 40 bytes of headers; goodput is payload only.",
                    1_168_000.0: "these are bits; divide by the seconds.",
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
                    1.7557: "the deviation was divided by n = 5; with a mean taken from the same samples it is n - 1.",
                    4.3892: "that is t times the deviation of one sample; a mean of n varies sqrt(n) times less.",
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


# Lab 1: capture and ranges, who disturbs whom, and what a medium with one queue does.

FIG1_M = {letter: 200.0 * place for place, letter in enumerate("ABCDEFGHI")}
"""Places of the nodes in [fu] Fig. 1."""

SENSE_M = 550.0
CAPTURE_M = 356.0
"""From farther than this a sender spares a frame over 200 m: 10 dB are the distance times 10^(10/40)."""

_WHO: tuple[tuple[str, str, float, set[str], set[str], str], ...] = (
    # sender, receiver, interference range, hidden, exposed; by hand from the distances, sense range 550 m
    ("E", "F", SENSE_M, {"H"}, {"C"}, "Fu et al., section 3: H is hidden, C is exposed"),
    ("A", "B", SENSE_M, {"D"}, set(), "D is 600 m from A and 400 m from B"),
    ("F", "E", SENSE_M, {"C"}, {"H"}, "the other way round"),
    ("E", "F", CAPTURE_M, set(), {"C", "D"}, "H and D are 400 m from F, farther than 356 m"),
)


def _try_roles(work: Any) -> str:
    """The student's `roles(sender_m, receiver_m, others_m, sense_m, disturb_m)` -> (hidden, exposed), sets of names."""
    if not callable(work):
        return f"expected a function that returns two sets of names; came {type(work).__name__}."
    for sender, receiver, disturb_m, hidden, exposed, why in _WHO:
        others = {name: at for name, at in FIG1_M.items() if name not in (sender, receiver)}
        arguments = {"sender_m": FIG1_M[sender], "receiver_m": FIG1_M[receiver], "others_m": others}
        outcome = call_limited(work, arguments | {"sense_m": SENSE_M, "disturb_m": disturb_m}, limit_s=LIMIT_S)
        if outcome.todo:
            raise Todo("write the function; it should return two sets of names: hidden, exposed.")
        told = f"{sender}→{receiver}, interference range {disturb_m:g} m\n  "
        told += f"expected hidden {_names(hidden)} and exposed {_names(exposed)} ({why})\n  "
        if outcome.failure:
            return told + outcome.failure
        try:
            found = [set(part) for part in outcome.value]
        except TypeError:
            found = []
        if len(found) != 2:
            return told + f"came {show(outcome.value)}, which is not two sets."
        if found == [hidden, exposed]:
            continue
        if found == [exposed, hidden]:
            return told + "came the same the other way round: first the hidden ones, then the exposed ones."
        if {sender, receiver} & (found[0] | found[1]):
            return told + "came the link's own ends among them."
        both = {name for name in others if _near(name, sender, SENSE_M) and _near(name, receiver, disturb_m)}
        if both and found[0] - hidden == both:
            return told + "came also nodes that the sender senses: they are not hidden from it."
        if disturb_m != SENSE_M:
            return told + (
                f"came hidden {_names(found[0])} and exposed {_names(found[1])}: whom the receiver senses and whom "
                "the link suffers from are two ranges here, sense_m and disturb_m."
            )
        known = sorted((found[0] ^ hidden | found[1] ^ exposed) & others.keys())
        hint = f": look at {known[0]}, {_from_both(known[0], sender, receiver)}." if known else "."
        return told + f"came hidden {_names(found[0])} and exposed {_names(found[1])}{hint}"
    return ""


def _from_both(name: str, sender: str, receiver: str) -> str:
    far = [f"{abs(FIG1_M[name] - FIG1_M[end]):g} m from {end}" for end in (sender, receiver)]
    return f"{far[0]}, which sends, and {far[1]}, which receives"


def _near(name: str, other: str, reach_m: float) -> bool:
    return abs(FIG1_M[name] - FIG1_M[other]) <= reach_m


def _names(found: set[str]) -> str:
    return "{" + ", ".join(sorted(map(str, found))) + "}"


LAB1 = {
    "lab1.roles": Exercise(asks="the hidden and the exposed nodes of a link, two sets of names", trial=_try_roles),
    "lab1.capture": Exercise(
        asks="how much stronger the near sender is, in dB",
        cases=(
            Case(
                arguments={"near_m": 100.0, "far_m": 200.0},
                expected=12.041,
                source="twice the distance is a 16th of the power, and 10 log10(16) = 12.04 dB",
                mistakes={
                    6.0206: "that is a power falling with the square of the distance; beyond the crossover of 86 m "
                    "two-ray ground gives the fourth.",
                    -12.041: "the sign: the nearer sender is the stronger one.",
                    16.0: "that is the ratio; in dB it is 10 log10 of it.",
                    27.726: "dB are with log10, not with ln.",
                    24.082: "20 log10 is for amplitudes; powers take 10 log10.",
                },
            ),
            Case(
                arguments={"near_m": 150.0, "far_m": 150.0},
                expected=0.0,
                source="equally far, equally strong",
            ),
            Case(
                arguments={"near_m": 200.0, "far_m": 100.0},
                expected=-12.041,
                source="the first case with the two exchanged: weaker, so below 0 dB",
            ),
        ),
    ),
    "lab1.range": Exercise(
        asks="the interference range of a link, in m",
        cases=(
            Case(
                arguments={"link_m": 200.0, "capture_db": 40.0 * 0.30103, "sense_m": 1000.0},
                expected=400.0,
                source="12.04 dB are a factor of 16 in power, and twice the distance by the fourth power",
                mistakes={
                    800.0: "that is for a power falling with the square of the distance: 10^(dB/20).",
                    100.0: "that is nearer than the sender: a disturber is weaker when he is farther.",
                    1000.0: "from there a frame is sensed; this link's own is much stronger.",
                },
            ),
            Case(
                arguments={"link_m": 250.0, "capture_db": 40.0 * 0.69897, "sense_m": 550.0},
                expected=550.0,
                source="1250 m by power alone, but a frame from beyond 550 m is not even sensed",
                mistakes={1250.0: "beyond the sense range nobody disturbs: the smaller of the two."},
            ),
        ),
    ),
    "lab1.one_queue": Exercise(
        asks="when the last frame is through, in ms",
        cases=(
            Case(
                arguments={"arrivals_ms": [0.0, 0.0, 0.0, 0.0], "frame_ms": 7.0},
                expected=28.0,
                source="four frames one after the other, 4 x 7",
                mistakes={
                    7.0: "that is four frames at once: spatial reuse, which a single queue does not have.",
                    14.0: "that is two frames at a time; there is one queue for all stations.",
                },
            ),
            Case(
                arguments={"arrivals_ms": [0.0, 100.0], "frame_ms": 7.0},
                expected=107.0,
                source="the second frame finds the queue empty: 100 + 7",
                mistakes={14.0: "the queue was empty at 100 ms: a frame starts at its arrival or later."},
            ),
        ),
    ),
}


# Lab 2: how many hops can be busy, which window is the best, how often a packet is given up.

LAB2 = {
    "lab2.busy_at_once": Exercise(
        asks="the largest number of hops that can send at once",
        cases=(
            Case(
                arguments={"hops": 8, "every": 4},
                expected=2,
                source="Fu et al., figure 1: A→B with E→F, and three more such pairs",
                mistakes={
                    3: "hops 0, 4 and 8: but eight hops are numbered 0 to 7.",
                    8: "hops closer than four to each other disturb each other.",
                },
            ),
            Case(
                arguments={"hops": 5, "every": 4},
                expected=2,
                source="A→B and E→F fit into five hops",
                mistakes={
                    1: "5 // 4 rounds down, but the hops left over are enough for one more sender.",
                    1.25: "hops are whole.",
                },
            ),
            Case(arguments={"hops": 4, "every": 4}, expected=1, source="the fifth hop would be the next one"),
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
                    3: "that is the window of the very best goodput; 246 and 248 differ by less than seeds do.",
                    248: "that is a goodput; the window is asked for.",
                },
            ),
            Case(
                arguments={"goodput_kbps": {1: 150.0, 2: 240.0, 3: 248.0, 4: 243.0, 5: 250.0, 6: 249.0}},
                expected=3,
                source="99 % of 250 is 247.5, and of windows 3, 5 and 6 the smallest is 3",
                mistakes={
                    2: "240 is 4 % less than 250; within 1 % is asked for.",
                    5: "that is the best one; 248, of a smaller window, is within 1 % of it.",
                },
            ),
            Case(arguments={"goodput_kbps": {8: 100.0, 4: 100.0, 16: 100.0}}, expected=4, source="all are equal"),
            Case(arguments={"goodput_kbps": {1: 100.0}}, expected=1, source="there is only one"),
        ),
    ),
    "lab2.given_up": Exercise(
        asks="the probability that a packet is given up",
        cases=(
            Case(
                arguments={"failure": 0.5, "attempts": 7},
                expected=0.0078125,
                source="seven failures in a row, one half each: 1/128",
                mistakes={
                    0.00390625: "that is eight failures; the first attempt is one of the seven.",
                    3.5: "probabilities of independent events multiply.",
                    0.9921875: "that is the probability that it arrives.",
                },
            ),
            Case(arguments={"failure": 0.0, "attempts": 7}, expected=0.0, source="nothing ever fails"),
            Case(arguments={"failure": 0.9, "attempts": 1}, expected=0.9, source="a single attempt"),
        ),
    ),
}
