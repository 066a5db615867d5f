"""The exercises of lab 1: capture, interference range, hidden and exposed nodes, a medium with one queue."""

from __future__ import annotations

from typing import Any

from pacelab_labs.errors import Todo
from pacelab_labs.exercise import LIMIT_S, Case, Exercise, call_limited, show

FIG1_M = {letter: 200.0 * place for place, letter in enumerate("ABCDEFGHI")}
"""Places of the nodes in [fu] Fig. 1."""

SENSE_M = 550.0
CAPTURE_M = 356.0
"""A sender beyond this distance does not destroy a frame over 200 m: 10 dB are a factor of 10^(10/40) in distance."""

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
        return f"expected a function that returns two sets of names; got {type(work).__name__}."
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
            return told + f"got {show(outcome.value)}, which is not a pair of sets."
        if found == [hidden, exposed]:
            continue
        if found == [exposed, hidden]:
            return told + "got the two sets in the wrong order: return the hidden nodes first, then the exposed nodes."
        if {sender, receiver} & (found[0] | found[1]):
            return told + "got sets that contain the link's own sender or receiver."
        both = {name for name in others if _near(name, sender, SENSE_M) and _near(name, receiver, disturb_m)}
        if both and found[0] - hidden == both:
            return told + "got hidden nodes that the sender senses. A node that the sender senses is not hidden."
        if disturb_m != SENSE_M:
            return told + (
                f"got hidden {_names(found[0])} and exposed {_names(found[1])}. This case has two ranges: "
                "a node senses up to sense_m, and a sender destroys frames up to disturb_m."
            )
        known = sorted((found[0] ^ hidden | found[1] ^ exposed) & others.keys())
        hint = f": look at {known[0]}, {_from_both(known[0], sender, receiver)}." if known else "."
        return told + f"got hidden {_names(found[0])} and exposed {_names(found[1])}{hint}"
    return ""


def _from_both(name: str, sender: str, receiver: str) -> str:
    far = [f"{abs(FIG1_M[name] - FIG1_M[end]):g} m from {end}" for end in (sender, receiver)]
    return f"{far[0]} (the sender) and {far[1]} (the receiver)"


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
                    6.0206: "that formula lets power fall with the square of the distance; beyond the crossover of "
                    "86 m, power falls with the fourth power of the distance (two-ray ground).",
                    -12.041: "the sign is wrong: the nearer sender is stronger, so the result is above 0 dB.",
                    16.0: "that is the ratio of the powers; take 10 log10 of the ratio to get dB.",
                    27.726: "use log10 for dB, not ln.",
                    24.082: "use 10 log10 for powers; 20 log10 is for amplitudes.",
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
                source="the distances of the first case, exchanged: the sender is weaker, so the result is below 0 dB",
            ),
        ),
    ),
    "lab1.range": Exercise(
        asks="the interference range of a link, in m",
        cases=(
            Case(
                arguments={"link_m": 200.0, "capture_db": 40.0 * 0.30103, "sense_m": 1000.0},
                expected=400.0,
                source="12.04 dB are a factor of 16 in power; with the fourth power, that is twice the distance",
                mistakes={
                    800.0: "10^(dB/20) lets power fall with the square of the distance; use the fourth power.",
                    100.0: "that is nearer than the sender; an interferer that is 12 dB weaker is farther away.",
                    1000.0: "that is the sense range; a sender there is much weaker than the link's own frame.",
                },
            ),
            Case(
                arguments={"link_m": 250.0, "capture_db": 40.0 * 0.69897, "sense_m": 550.0},
                expected=550.0,
                source="power alone gives 1250 m, but the receiver senses no frame from beyond 550 m",
                mistakes={1250.0: "a sender beyond the sense range does no harm: take the smaller of the two ranges."},
            ),
        ),
    ),
    "lab1.one_queue": Exercise(
        asks="the time at which the last frame ends, in ms",
        cases=(
            Case(
                arguments={"arrivals_ms": [0.0, 0.0, 0.0, 0.0], "frame_ms": 7.0},
                expected=28.0,
                source="four frames one after the other, 4 x 7",
                mistakes={
                    7.0: "that is the time for four frames at once; a single queue sends one after the other.",
                    14.0: "that is the time if two frames are sent at once; all stations share one queue.",
                },
            ),
            Case(
                arguments={"arrivals_ms": [0.0, 100.0], "frame_ms": 7.0},
                expected=107.0,
                source="the queue is empty when the second frame arrives: 100 + 7",
                mistakes={14.0: "a frame cannot start before it arrives: the second frame starts at 100 ms."},
            ),
        ),
    ),
}
