"""The rubrics of labs 0 to 7: exercises and their points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from pacelab_grading.labs import classes, draws, exercises
from pacelab_grading.labs.exercises import Exercise, LabHandIn, Part, each
from pacelab_grading.rubric.assignment import Check


def _roles_of(answer: Any) -> list[list[str]]:
    return [sorted(set(part)) for part in answer]


def _sorted_pairs(answer: Any) -> Any:
    return sorted(answer)


LAB0 = (
    Exercise(
        name="lab0.goodput",
        function="goodput_bps",
        parts=(Part(id="goodput", title="goodput of random numbers", points=25, draw=draws.delivered),),
    ),
    Exercise(
        name="lab0.half_width",
        function="half_width",
        parts=(Part(id="interval", title="the interval of random samples", points=25, draw=draws.samples),),
    ),
)
LAB1 = (
    Exercise(
        name="lab1.capture",
        function="advantage_db",
        parts=(
            Part(id="capture", title="how much stronger the nearer sender is", points=13, draw=draws.two_senders),
            Part(id="capture-weaker", title="... and how much weaker the farther one", points=12, draw=draws.exchanged),
        ),
    ),
    Exercise(
        name="lab1.range",
        function="interference_m",
        parts=(
            Part(id="range", title="the interference range by power", points=13, draw=draws.captured),
            Part(id="range-sensed", title="... which ends at the sense range", points=12, draw=draws.out_of_sense),
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
                points=12,
                draw=partial(draws.places, disturb=lambda sense: sense),
            ),
            Part(
                id="roles-captured",
                title="... with capture",
                points=7,
                draw=partial(draws.places, disturb=lambda sense: 0.6 * sense),
            ),
            Part(
                id="roles-far",
                title="... and with interference from beyond the sense range",
                points=6,
                draw=partial(draws.places, disturb=lambda sense: 1.4 * sense),
            ),
        ),
    ),
    Exercise(
        name="lab1.one_queue",
        function="last_through_ms",
        parts=(
            Part(id="queue", title="a queue that never empties", points=12, draw=draws.busy),
            Part(id="queue-empty", title="... and one that does", points=13, draw=draws.with_gaps),
        ),
    ),
)
LAB2 = (
    Exercise(
        name="lab2.busy_at_once",
        function="busy_at_once",
        parts=(
            Part(id="busy", title="complete groups of hops", points=12, draw=draws.whole_groups),
            Part(id="busy-begun", title="... and an incomplete group", points=12, draw=draws.begun_groups),
            Part(id="busy-short", title="... and a chain shorter than a group", points=10, draw=draws.less_than_one),
        ),
    ),
    Exercise(
        name="lab2.best_window",
        function="best_window",
        parts=(
            Part(id="best", title="one window much better than the others", points=12, draw=draws.one_best),
            Part(id="best-plateau", title="... the smallest window of a plateau", points=14, draw=draws.plateau),
            Part(id="best-order", title="... in any order of measurement", points=8, draw=draws.in_no_order),
        ),
    ),
    Exercise(
        name="lab2.given_up",
        function="given_up",
        parts=(
            Part(id="given-up", title="a packet that is dropped at the retry limit", points=20, draw=draws.failures),
            Part(
                id="given-up-certain",
                title="... with one attempt, with certain success, with certain failure",
                points=12,
                draw=(draws.one_attempt, *each(draws.certain, failure=(0.0, 1.0))),
            ),
        ),
    ),
)
LAB3 = (
    Exercise(
        name="lab3.probability",
        function="probability",
        parts=(
            Part(id="probability", title="the probability on the line", points=20, draw=draws.on_the_line),
            Part(id="probability-none", title="... below it", points=10, draw=draws.below),
            Part(
                id="probability-cap",
                title="... and at its maximum",
                points=10,
                draw=each(draws.capped, far=(False, True)),
            ),
        ),
    ),
)
LAB4 = (
    Exercise(
        name="lab4.queueing",
        function="queueing_s",
        parts=(
            Part(
                id="queueing",
                title="t_q with usual sizes",
                points=6,
                draw=partial(draws.path, least=1, most=9, usual=True),
            ),
            Part(
                id="queueing-sizes",
                title="... with other sizes and rates",
                points=4,
                draw=partial(draws.path, least=1, most=9),
            ),
        ),
    ),
    Exercise(
        name="lab4.four_hop_delay",
        function="four_hop_delay_s",
        builds_on=("queueing_s",),
        parts=(
            Part(id="delay", title="the delay of four hops", points=6, draw=partial(draws.path, least=4, most=4)),
            Part(id="delay-long", title="... on longer paths", points=5, draw=partial(draws.path, least=5, most=12)),
            Part(
                id="delay-short", title="... and on shorter ones", points=5, draw=partial(draws.path, least=1, most=3)
            ),
        ),
    ),
    Exercise(
        name="lab4.cov",
        function="cov",
        parts=(
            Part(id="cov", title="the coefficient of variation", points=8, draw=draws.round_trips),
            Part(
                id="cov-few", title="... of one or two round trips", points=6, draw=each(draws.hardly_any, count=(1, 2))
            ),
        ),
    ),
    Exercise(
        name="lab4.release",
        function="release_ms",
        parts=(
            Part(id="release", title="a pacing queue that never empties", points=7, draw=draws.backlog),
            Part(
                id="release-empty",
                title="... and one that does",
                points=7,
                draw=each(draws.pauses, packets=(7, 7, 7, 1, 0)),
            ),
        ),
    ),
)
CONTROL = (
    Exercise(
        name="lab4.goodput_control",
        function="throttles",
        read=_sorted_pairs,
        parts=(
            Part(id="control", title="the fast flow is limited to the mean", points=6, draw=draws.one_too_fast),
            Part(
                id="control-mesh",
                title="... only if it comes from the wired side",
                points=4,
                draw=each(draws.from_the_mesh, fast=(False, True)),
            ),
            Part(
                id="control-threshold",
                title="... and so is each flow above the threshold, no other",
                points=4,
                draw=(*each(draws.near_the_threshold, by=(0.98, 1.02)), draws.two_too_fast),
            ),
        ),
    ),
)
LAB5 = (
    Exercise(
        name="lab5.mos",
        function="mos",
        parts=(
            Part(id="mos", title="MOS of calls with short delay", points=20, draw=draws.good_call),
            Part(id="mos-late", title="... beyond 177.3 ms", points=16, draw=each(draws.late_call, most=(0.0, 0.06))),
            Part(
                id="mos-worst",
                title="... of very bad calls",
                points=10,
                draw=(draws.bad_call, draws.hopeless_call),
            ),
        ),
    ),
    Exercise(
        name="lab5.controller",
        function="new_rate_kbps",
        parts=(
            Part(
                id="controller",
                title="up while calls are good, down otherwise",
                points=24,
                draw=each(draws.step, within=((3.92, 4.4), (1.0, 3.3), (3.4, 3.58))),
            ),
            Part(
                id="controller-between",
                title="... in smaller steps in between",
                points=18,
                draw=each(draws.step, within=((3.72, 3.88), (3.62, 3.68))),
            ),
            Part(
                id="controller-thresholds",
                title="... and at 3.6, 3.7, 3.9",
                points=12,
                draw=each(draws.step, within=((3.6, 3.6), (3.7, 3.7), (3.9, 3.9))),
            ),
        ),
    ),
)
LAB6 = (
    Exercise(
        name="lab6.exchange",
        function="exchange_us",
        parts=(
            Part(id="exchange", title="the time of an exchange", points=15, draw=draws.payload),
            Part(
                id="exchange-ack",
                title="... with almost no payload",
                points=10,
                draw=each(draws.no_payload, most=(1, 60)),
            ),
        ),
    ),
    Exercise(
        name="lab6.gain",
        function="gain",
        parts=(
            Part(id="gain", title="the gain over one ACK per segment", points=12, draw=partial(draws.acked, share=1.0)),
            Part(
                id="gain-fewer",
                title="... over fewer ACKs",
                points=13,
                draw=each(draws.acked, share=(0.5, 0.25, 0.125, 0.0)),
            ),
        ),
    ),
    Exercise(
        name="lab6.pace",
        function="paced_bps",
        parts=(
            Part(id="pace", title="the rate of one packet per delay", points=12, draw=draws.paced),
            Part(id="pace-sizes", title="... of packets of other sizes", points=13, draw=draws.other_packets),
        ),
    ),
    Exercise(
        name="lab6.verdict",
        function="verdict",
        parts=(
            Part(
                id="verdict",
                title="holds, fails, depends",
                points=11,
                draw=each(draws.gains, kinds=(("up",), ("down",), ("up", "down"))),
            ),
            Part(
                id="verdict-naught",
                title="... and a gain of 0 is no gain",
                points=14,
                draw=each(draws.gains, kinds=(("none",), ("none", "down"), ("none", "up"))),
            ),
        ),
    ),
)


def _model(name: str) -> str:
    return LABS[name].model


def _lab(number: int, title: str, file: str, *parts: Sequence[Exercise | Check]) -> LabHandIn:
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
            _lab(
                3, "Link RED and adaptive pacing", "lab3_link_red.py", LAB3, classes.link_red(partial(_model, "lab3"))
            ),
            _lab(4, "TCP-GAP", "lab4_tcp_gap.py", LAB4, classes.pacer(partial(_model, "lab4")), CONTROL),
            _lab(5, "voice and TCP", "lab5_voice.py", LAB5),
            _lab(6, "ACKs delayed and suppressed", "lab6_acks.py", LAB6),
            _lab(7, "a pacer of your own", "lab7_capstone.py", classes.capstone(partial(_model, "lab7"))),
        )
    }
)
"""Name -> lab."""
