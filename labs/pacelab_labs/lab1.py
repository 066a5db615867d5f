"""The exercises of lab 1: hidden and exposed nodes, positions of stations, a medium with one queue.

Three of them are design problems. Two pairs send all the time at 2 Mbit/s; a goodput is compared with that of a pair
alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Any

from pacelab import Experiment, run
from pacelab_labs.design import Design, Goal, at_least, at_most, between
from pacelab_labs.errors import Todo
from pacelab_labs.exercise import LIMIT_S, Case, Exercise, call_limited, show

FIG1_M = {letter: 200.0 * place for place, letter in enumerate("ABCDEFGHI")}
"""Positions of the nodes in [fu] Fig. 1."""

SENSE_M = 550.0
CAPTURE_M = 356.0
"""A sender beyond this distance does not destroy a frame over 200 m: 10 dB are a factor of 10^(10/40) in distance."""

_WHO: tuple[tuple[str, str, float, set[str], set[str], str], ...] = (
    # sender, receiver, interference range, hidden, exposed; by hand from the distances, sense range 550 m
    ("E", "F", SENSE_M, {"H"}, {"C"}, "Fu et al., section 3: H is hidden, C is exposed"),
    ("A", "B", SENSE_M, {"D"}, set(), "D is 600 m from A and 400 m from B"),
    ("F", "E", SENSE_M, {"C"}, {"H"}, "C is 600 m from F and 400 m from E; H is 400 m from F"),
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


ALONE_KBPS = {False: 1682.0, True: 1531.0}
"""Goodput of a pair alone in the 3 s of a check, without and with RTS/CTS. In the lab's 10 s it is 1681 and 1531."""
FULL, STARVED = 0.95, 0.2
"""Shares of that goodput."""
NEARER_M = 50.0
"""Two pairs that are this much closer together must lose."""
STEP_M = 10.0
"""A receiver that is moved this much less must lose."""


def _goodputs_kbps(rts: bool, **places: Any) -> list[float]:
    tried = Experiment(topology="pairs", topology_options=places, rts=rts, rate_bps=2_000_000, duration_s=3)
    return [flow["goodput_bps"] / 1000 for flow in run(tried).run["flows"]]


def _judge_starving(apart_m: float, link_m: float, sense_m: float) -> Sequence[Goal]:
    """E sends to F and H to I, in line; `apart_m` is the distance from E to H."""
    places = {"layout": "in-line", "apart": apart_m, "link": link_m, "sense": sense_m}
    off, on = (_goodputs_kbps(rts, **places)[0] for rts in (False, True))
    return (
        at_least(
            "RTS/CTS off: E→F has 95 % of the goodput of a pair that sends alone",
            off,
            FULL * ALONE_KBPS[False],
            "kbit/s",
        ),
        at_most("RTS/CTS on: E→F has at most 20 % of that goodput", on, STARVED * ALONE_KBPS[True], "kbit/s"),
    )


def _draw_starving(draw: Random, link: tuple[int, int], sense: tuple[int, int]) -> dict[str, float]:
    return {"link_m": float(draw.randrange(*link)), "sense_m": float(draw.randrange(*sense))}


STARVE = Design(
    read=between(1, 5000, "the distance"),
    judge=_judge_starving,
    cases=(
        {"link_m": 200.0, "sense_m": 550.0},
        {"link_m": 240.0, "sense_m": 550.0},
        {"link_m": 150.0, "sense_m": 700.0},
    ),
    draws={
        "short links": (
            partial(_draw_starving, link=(120, 150), sense=(430, 480)),
            partial(_draw_starving, link=(120, 160), sense=(700, 850)),
        ),
        "long links": (
            partial(_draw_starving, link=(232, 246), sense=(480, 560)),
            partial(_draw_starving, link=(180, 200), sense=(400, 440)),
        ),
    },
)


def _judge_reuse(apart_m: float, layout: str, link_m: float, sense_m: float) -> Sequence[Goal]:
    places = {"layout": layout, "link": link_m, "sense": sense_m}
    here = min(_goodputs_kbps(False, apart=apart_m, **places))
    nearer = min(_goodputs_kbps(False, apart=max(1.0, apart_m - NEARER_M), **places))
    full = FULL * ALONE_KBPS[False]
    return (
        at_least("each pair has 95 % of the goodput of a pair that sends alone", here, full, "kbit/s"),
        at_most(f"{NEARER_M:.0f} m closer together, one of the pairs has less", nearer, full, "kbit/s"),
    )


def _draw_reuse(
    draw: Random, layout: str, sense: tuple[int, int], link: tuple[int, int] = (120, 246)
) -> dict[str, Any]:
    return {"layout": layout} | _draw_starving(draw, link, sense)


REUSE = Design(
    read=between(1, 5000, "the distance"),
    judge=_judge_reuse,
    cases=(
        {"layout": "back-to-back", "link_m": 200.0, "sense_m": 550.0},
        {"layout": "in-line", "link_m": 150.0, "sense_m": 550.0},
        {"layout": "in-line", "link_m": 240.0, "sense_m": 550.0},
    ),
    draws={
        "the senders decide": (
            partial(_draw_reuse, layout="back-to-back", sense=(400, 460)),
            partial(_draw_reuse, layout="back-to-back", sense=(640, 800)),
            partial(_draw_reuse, layout="in-line", sense=(640, 800), link=(120, 200)),
        ),
        "a receiver decides": (
            partial(_draw_reuse, layout="in-line", sense=(460, 580), link=(232, 246)),
            partial(_draw_reuse, layout="in-line", sense=(400, 430), link=(190, 210)),
        ),
    },
)


def _judge_shift(shift_m: float, apart_m: float) -> Sequence[Goal]:
    """Two hidden senders, n0 and n2, and the receiver n1 between them."""
    places = {"layout": "shared", "apart": apart_m, "sense": 250.0}
    here = _goodputs_kbps(False, shift=shift_m, **places)[0]
    less = _goodputs_kbps(False, shift=max(0.0, shift_m - STEP_M), **places)[0]
    return (
        at_least("n0 has 90 % of the goodput of a sender that sends alone", here, 0.9 * ALONE_KBPS[False], "kbit/s"),
        at_most(
            f"if n1 is moved {STEP_M:.0f} m less, n0 has less than half of that goodput",
            less,
            0.5 * ALONE_KBPS[False],
            "kbit/s",
        ),
    )


def _draw_shift(draw: Random, apart: tuple[int, int]) -> dict[str, float]:
    return {"apart_m": float(draw.randrange(*apart))}


SHIFT = Design(
    read=between(0, 120, "the shift"),
    judge=_judge_shift,
    cases=({"apart_m": 270.0}, {"apart_m": 350.0}),
    draws={
        "hidden senders": (
            partial(_draw_shift, apart=(260, 270)),
            partial(_draw_shift, apart=(345, 360)),
            partial(_draw_shift, apart=(280, 330)),
        )
    },
)

LAB1 = {
    "lab1.roles": Exercise(
        asks="the hidden and the exposed nodes of a link, two sets of names",
        trial=_try_roles,
    ),
    "lab1.starve": Exercise(
        asks="the distance of the senders, in m",
        design=STARVE,
        praise="RTS/CTS starves this link, and only RTS/CTS.",
    ),
    "lab1.reuse": Exercise(
        asks="the distance of the senders, in m",
        design=REUSE,
        praise="two pairs with full goodput, as close together as possible.",
    ),
    "lab1.shift": Exercise(
        asks="how far the receiver moves from the middle towards n0, in m",
        design=SHIFT,
        praise="capture saves n0's frames.",
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
