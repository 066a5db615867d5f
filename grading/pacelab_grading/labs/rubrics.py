"""The rubrics of labs 0 to 8: exercises and their points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from pacelab_grading.labs import classes, draws, exercises
from pacelab_grading.labs.designs import DesignProblem, Kind
from pacelab_grading.labs.exercises import Exercise, LabHandIn, Part, each
from pacelab_grading.rubric.assignment import Check


def _roles_of(answer: Any) -> list[list[str]]:
    return [sorted(set(part)) for part in answer]


def _sorted_pairs(answer: Any) -> Any:
    return sorted(answer)


LAB0 = (
    DesignProblem(
        name="lab0.window",
        function="window_pkts",
        kinds=(
            Kind(name="three links", id="window", title="a window that is just large enough", points=25),
            Kind(name="other wires", id="window-wires", title="... over shorter and longer wires", points=25),
        ),
    ),
    Exercise(
        name="lab0.half_width",
        function="half_width",
        parts=(Part(id="interval", title="the interval of random samples", points=25, draw=draws.samples),),
    ),
)
LAB1 = (
    DesignProblem(
        name="lab1.starve",
        function="starving_m",
        kinds=(
            Kind(
                name="short links",
                id="starve",
                title="a link that RTS/CTS starves, where the sense range decides",
                points=10,
            ),
            Kind(name="long links", id="starve-captured", title="... and where capture decides", points=10),
        ),
    ),
    DesignProblem(
        name="lab1.reuse",
        function="nearest_m",
        kinds=(
            Kind(name="the senders decide", id="reuse", title="two pairs at full goodput, senders decide", points=10),
            Kind(name="a receiver decides", id="reuse-captured", title="... and where a receiver decides", points=10),
        ),
    ),
    DesignProblem(
        name="lab1.shift",
        function="shift_m",
        kinds=(
            Kind(
                name="hidden senders",
                id="shift",
                title="a receiver that captures, moved as little as possible",
                points=10,
            ),
        ),
    ),
    Exercise(
        name="lab1.roles",
        function="roles",
        read=_roles_of,
        parts=(
            Part(
                id="roles",
                title="hidden and exposed nodes with equal ranges",
                points=10,
                draw=partial(draws.places, disturb=lambda sense: sense),
            ),
            Part(
                id="roles-captured",
                title="... with capture",
                points=8,
                draw=partial(draws.places, disturb=lambda sense: 0.6 * sense),
            ),
            Part(
                id="roles-far",
                title="... and with interference from beyond the sense range",
                points=7,
                draw=partial(draws.places, disturb=lambda sense: 1.4 * sense),
            ),
        ),
    ),
    Exercise(
        name="lab1.one_queue",
        function="last_through_ms",
        parts=(
            Part(id="queue", title="a queue that never empties", points=10, draw=draws.busy),
            Part(id="queue-empty", title="... and one that does", points=15, draw=draws.with_gaps),
        ),
    ),
)
LAB2 = (
    Exercise(
        name="lab2.busy_at_once",
        function="busy_at_once",
        parts=(
            Part(id="busy", title="complete groups of hops", points=10, draw=draws.whole_groups),
            Part(id="busy-begun", title="... and an incomplete group", points=10, draw=draws.begun_groups),
            Part(id="busy-short", title="... and a chain shorter than a group", points=10, draw=draws.less_than_one),
        ),
    ),
    Exercise(
        name="lab2.best_window",
        function="best_window",
        parts=(
            Part(id="best", title="one window much better than the others", points=10, draw=draws.one_best),
            Part(id="best-plateau", title="... the smallest window of a plateau", points=16, draw=draws.plateau),
            Part(id="best-order", title="... in any order of measurement", points=8, draw=draws.in_no_order),
        ),
    ),
    DesignProblem(
        name="lab2.schedule",
        function="interval_ms",
        kinds=(
            Kind(name="2 and 1 Mbit/s", id="schedule", title="a schedule that no window beats", points=20),
            Kind(name="smaller packets", id="schedule-small", title="... and with smaller packets", points=16),
        ),
    ),
)
LAB4 = (
    Exercise(
        name="lab4.release",
        function="release_ms",
        parts=(
            Part(id="release", title="a pacing queue that never empties", points=10, draw=draws.backlog),
            Part(
                id="release-empty",
                title="... and one that does",
                points=14,
                draw=each(draws.pauses, packets=(7, 7, 7, 1, 0)),
            ),
        ),
    ),
    DesignProblem(
        name="lab4.lose",
        function="losing_chain",
        kinds=(Kind(name="wide and narrow", id="lose", title="chains on which TCP-GAP loses a fifth", points=25),),
    ),
)
LAB5 = (
    DesignProblem(
        name="lab5.pace",
        function="pace_kbps",
        kinds=(
            Kind(
                name="several lengths", id="pace", title="a pace that protects the calls and wastes nothing", points=20
            ),
            Kind(name="many calls", id="pace-many", title="... beside many calls", points=20),
        ),
    ),
    Exercise(
        name="lab5.controller",
        function="new_rate_kbps",
        parts=(
            Part(
                id="controller",
                title="up while calls are good, down otherwise",
                points=22,
                draw=each(draws.step, within=((3.92, 4.4), (1.0, 3.3), (3.4, 3.58))),
            ),
            Part(
                id="controller-between",
                title="... in smaller steps in between",
                points=20,
                draw=each(draws.step, within=((3.72, 3.88), (3.62, 3.68))),
            ),
            Part(
                id="controller-thresholds",
                title="... and at 3.6, 3.7, 3.9",
                points=18,
                draw=each(draws.step, within=((3.6, 3.6), (3.7, 3.7), (3.9, 3.9))),
            ),
        ),
    ),
)
LAB6 = (
    DesignProblem(
        name="lab6.payload",
        function="payload_for",
        kinds=(
            Kind(name="11 Mbit/s", id="payload", title="a segment size at which ACKs cost a given share", points=24),
            Kind(name="other rates", id="payload-rates", title="... at other rates", points=26),
        ),
    ),
    Exercise(
        name="lab6.verdict",
        function="verdict",
        parts=(
            Part(
                id="verdict",
                title="holds, fails, depends",
                points=20,
                draw=each(draws.gains, kinds=(("up",), ("down",), ("up", "down"))),
            ),
            Part(
                id="verdict-naught",
                title="... and a gain of 0 is no gain",
                points=30,
                draw=each(draws.gains, kinds=(("none",), ("none", "down"), ("none", "up"))),
            ),
        ),
    ),
)


def _model(name: str) -> str:
    return LABS[name].model


def _lab(number: int, title: str, file: str, *parts: Sequence[Exercise | DesignProblem | Check]) -> LabHandIn:
    """A lab of exercises and other checks."""
    name = f"lab{number}"
    rows = [
        check
        for part in parts
        for item in part
        for check in ((item,) if isinstance(item, Check) else item.checks(partial(_model, name)))
    ]
    return LabHandIn(number=name, title=title, version=1, folder="", file=file, checks=tuple(rows))


LABS: Mapping[str, LabHandIn] = MappingProxyType(
    {
        str(lab.number): lab
        for lab in (
            _lab(0, "tour and first comparison", "lab0_tour.py", LAB0, exercises.LAB0),
            _lab(1, "hidden, exposed, far apart", "lab1_hidden_exposed.py", LAB1),
            _lab(2, "TCP's window over a chain", "lab2_window.py", LAB2),
            _lab(3, "Link RED and adaptive pacing", "lab3_link_red.py", classes.link_red(partial(_model, "lab3"))),
            _lab(4, "TCP-GAP", "lab4_tcp_gap.py", LAB4, classes.pacer(partial(_model, "lab4"))),
            _lab(5, "voice and TCP", "lab5_voice.py", LAB5),
            _lab(6, "ACKs delayed and suppressed", "lab6_acks.py", LAB6),
            _lab(7, "a pacer of your own", "lab7_capstone.py", classes.capstone(partial(_model, "lab7"))),
            _lab(8, "and today?", "lab8_today.py", classes.congestion_control(partial(_model, "lab8"))),
        )
    }
)
"""Name -> lab."""
