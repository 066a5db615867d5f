"""The rubrics of labs 0 to 7: what each exercise is called with, and what it is worth."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from types import MappingProxyType
from typing import Any

from pacelab.grading.assignment import Check
from pacelab.grading.labs import classes, runs
from pacelab.grading.labs.exercises import Arguments, Exercise, Part, each
from pacelab.grading.labs.hand_in import LabHandIn

RATES_BPS = (1e6, 2e6, 5.5e6, 11e6)
SENSE_M = 550.0


# Lab 0


def _delivered(draw: Random) -> Arguments:
    seconds = draw.randrange(5, 120) / 2
    return {"delivered_pkts": draw.randrange(50, 9000), "payload_bytes": draw.randrange(200, 1461), "seconds": seconds}


def _samples(draw: Random) -> Arguments:
    middle, count = draw.uniform(100, 900), draw.randrange(3, 12)
    return {"samples": [middle * draw.uniform(0.8, 1.2) for _ in range(count)], "t": draw.uniform(1.9, 4.4)}


# Lab 1


def _two_senders(draw: Random) -> Arguments:
    near = draw.uniform(90, 300)
    return {"near_m": near, "far_m": near * draw.uniform(1.05, 3)}


def _exchanged(draw: Random) -> Arguments:
    near, far = _two_senders(draw).values()
    return {"near_m": far, "far_m": near}


def _captured(draw: Random) -> Arguments:
    return {"link_m": draw.uniform(90, 250), "capture_db": draw.uniform(1, 12), "sense_m": draw.uniform(520, 900)}


def _out_of_sense(draw: Random) -> Arguments:
    return {"link_m": draw.uniform(150, 250), "capture_db": draw.uniform(20, 40), "sense_m": draw.uniform(300, 450)}


def _places(draw: Random, disturb: Callable[[float], float]) -> Arguments:
    """Two ends and others on a line, none of them just at the end of a range."""
    while True:
        sense = draw.uniform(300, 600)
        sender = draw.uniform(-500, 500)
        receiver = sender + draw.choice((-1, 1)) * draw.uniform(100, 250)
        others = {name: draw.uniform(-1200, 1200) for name in draw.sample("ABCDGHKLMPRSTV", draw.randrange(6, 11))}
        reach = disturb(sense)
        far = [abs(at - sender) <= sense for at in others.values()]
        near = [abs(at - receiver) <= reach for at in others.values()]
        kinds = set(zip(far, near, strict=True))
        if len(kinds) == 4 or (reach < sense and len(kinds) == 3):  # where capture helps much, nobody may be hidden
            ranges = {"sense_m": sense, "disturb_m": reach}
            return {"sender_m": sender, "receiver_m": receiver, "others_m": others, **ranges}


def _roles_of(answer: Any) -> list[list[str]]:
    return [sorted(set(part)) for part in answer]


def _busy(draw: Random) -> Arguments:
    frame = draw.randrange(4, 60) / 4
    arrivals = [0.0]
    for _ in range(draw.randrange(2, 9)):
        arrivals.append(arrivals[-1] + draw.uniform(0, 0.9) * frame)
    return {"arrivals_ms": arrivals, "frame_ms": frame}


def _with_gaps(draw: Random) -> Arguments:
    frame = draw.randrange(4, 60) / 4
    arrivals = [draw.uniform(1, 30)]
    for gap in draw.sample((0.2, 0.5, 1.5, 3.0, 0.1, 2.2), 5):
        arrivals.append(arrivals[-1] + gap * frame)
    return {"arrivals_ms": arrivals, "frame_ms": frame}


# Lab 2


def _whole_groups(draw: Random) -> Arguments:
    every = draw.randrange(2, 8)
    return {"hops": every * draw.randrange(2, 12), "every": every}


def _begun_groups(draw: Random) -> Arguments:
    every = draw.randrange(3, 8)
    return {"hops": every * draw.randrange(2, 12) + draw.randrange(1, every), "every": every}


def _less_than_one(draw: Random) -> Arguments:
    every = draw.randrange(3, 9)
    return {"hops": draw.randrange(1, every), "every": every}


def _one_best(draw: Random) -> Arguments:
    windows = sorted(draw.sample(range(1, 33), 6))
    top, best = draw.uniform(200, 900), draw.choice(windows)
    return {"goodput_kbps": {w: top * (1.0 if w == best else draw.uniform(0.3, 0.97)) for w in windows}}


def _plateau(draw: Random) -> Arguments:
    """The very best lies behind one or two others within a per cent; one just below a per cent lies before them."""
    windows = sorted(draw.sample(range(2, 33), 6))
    top, first = draw.uniform(200, 900), draw.randrange(1, 3)
    below = [draw.uniform(0.4, 0.9) for _ in range(first - 1)] + [draw.uniform(0.983, 0.9895)]
    shares = [*below, draw.uniform(0.9905, 0.998), 1.0, *(draw.uniform(0.991, 0.999) for _ in range(6))]
    return {"goodput_kbps": {w: top * share for w, share in zip(windows, shares, strict=False)}}


def _in_no_order(draw: Random) -> Arguments:
    (goodput,) = _plateau(draw).values()
    pairs = list(goodput.items())
    draw.shuffle(pairs)
    return {"goodput_kbps": dict(pairs)}


def _failures(draw: Random) -> Arguments:
    return {"failure": draw.uniform(0.1, 0.9), "attempts": draw.randrange(2, 9)}


def _one_attempt(draw: Random) -> Arguments:
    return {"failure": draw.uniform(0.1, 0.9), "attempts": 1}


def _certain(draw: Random, failure: float) -> Arguments:
    return {"failure": failure, "attempts": draw.randrange(2, 9)}


# Lab 3


def _thresholds(draw: Random) -> Arguments:
    least = draw.uniform(0.2, 1.5)
    return {"min_th": least, "max_th": least + draw.uniform(1, 20), "max_p": draw.uniform(0.05, 0.3)}


def _on_the_line(draw: Random) -> Arguments:
    given = _thresholds(draw)
    up = draw.uniform(0.1, 0.95) * given["max_p"]
    return {"average": given["min_th"] + up * (given["max_th"] - given["min_th"]), **given}


def _below(draw: Random) -> Arguments:
    given = _thresholds(draw)
    return {"average": given["min_th"] * draw.uniform(0, 0.98), **given}


def _capped(draw: Random, far: bool) -> Arguments:
    given = _thresholds(draw)
    up = draw.uniform(1.1, 3) if far else draw.uniform(1.05, 1.6) * given["max_p"]
    return {"average": given["min_th"] + up * (given["max_th"] - given["min_th"]), **given}


# Lab 4


def _path(draw: Random, least: int, most: int, *, usual: bool = False) -> Arguments:
    """A round trip with some waiting in it."""
    hops, rate = draw.randrange(least, most + 1), 2e6 if usual else draw.choice(RATES_BPS)
    data, ack = (1500, 40) if usual else (draw.randrange(200, 1501), draw.randrange(40, 80))
    wait = draw.uniform(0.2, 3) * 8 * data / rate
    rtt = hops * (2 * wait + 8 * (data + ack) / rate)
    return {"rtt_s": rtt, "hops": hops, "rate_bps": rate, "data_bytes": data, "ack_bytes": ack}


def _round_trips(draw: Random) -> Arguments:
    middle = draw.uniform(0.02, 0.3)
    return {"rtts_s": [middle * draw.uniform(0.5, 1.5) for _ in range(draw.randrange(3, 20))]}


def _hardly_any(draw: Random, count: int) -> Arguments:
    return {"rtts_s": [draw.uniform(0.02, 0.3) for _ in range(count)]}


def _backlog(draw: Random) -> Arguments:
    interval = draw.uniform(5, 40)
    arrivals = [draw.uniform(0, 50)]
    for _ in range(draw.randrange(2, 9)):
        arrivals.append(arrivals[-1] + draw.uniform(0, 0.8) * interval)
    return {"arrivals_ms": arrivals, "interval_ms": interval}


def _pauses(draw: Random, packets: int) -> Arguments:
    interval = draw.uniform(5, 40)
    arrivals = [draw.uniform(0, 50)]
    for gap in draw.sample((0.0, 0.3, 0.6, 1.3, 2.5, 4.0), 6):
        arrivals.append(arrivals[-1] + gap * interval)
    return {"arrivals_ms": arrivals[:packets], "interval_ms": interval}


def _one_too_fast(draw: Random) -> Arguments:
    names = [f"FTP{number}" for number in range(1, draw.randrange(3, 6))]
    goodput = {name: draw.uniform(80, 120) for name in names}
    fast = draw.choice(names)
    goodput[fast] *= 4
    return {"goodput_kbps": goodput, "from_wired": set(names), "threshold": draw.uniform(1.05, 1.3)}


def _from_the_mesh(draw: Random) -> Arguments:
    given = _one_too_fast(draw)
    names = sorted(given["goodput_kbps"])
    return {**given, "from_wired": set(draw.sample(names, draw.randrange(0, len(names))))}


def _near_the_threshold(draw: Random, by: float) -> Arguments:
    """Three flows, the first just below or just above the threshold times the mean."""
    mean, threshold = draw.uniform(100, 500), draw.uniform(1.1, 1.5)
    first = threshold * mean * by
    second = (3 * mean - first) * draw.uniform(0.45, 0.55)
    goodput = {"a": first, "b": second, "c": 3 * mean - first - second}
    return {"goodput_kbps": goodput, "from_wired": {"a", "b", "c"}, "threshold": threshold}


def _sorted_pairs(answer: Any) -> Any:
    return sorted(answer)


# Lab 5


def _good_call(draw: Random) -> Arguments:
    return {"network_ms": draw.uniform(5, 90), "loss": draw.uniform(0.005, 0.12)}


def _late_call(draw: Random, most: float) -> Arguments:
    return {"network_ms": draw.uniform(95, 250), "loss": draw.uniform(0, most)}


def _bad_call(draw: Random) -> Arguments:
    """R from 12 to 40, where MOS is below 2: at less than 7 the curve is below 1, of which the lab says nothing."""
    network = draw.uniform(5, 90)
    lost = 94.2 - 0.024 * (network + 85) - 11 - draw.uniform(12, 40)
    return {"network_ms": network, "loss": (math.exp(lost / 40) - 1) / 10}


def _hopeless_call(draw: Random) -> Arguments:
    return {"network_ms": draw.uniform(300, 900), "loss": draw.uniform(0.4, 1.0)}


def _step(draw: Random, within: tuple[float, float]) -> Arguments:
    return {"mos": draw.uniform(*within), "rate_kbps": draw.uniform(20, 2000)}


# Lab 6


def _payload(draw: Random) -> Arguments:
    return {"payload_bytes": draw.randrange(100, 1461)}


def _no_payload(draw: Random, most: int) -> Arguments:
    return {"payload_bytes": draw.randrange(0, most)}


def _acked(draw: Random, share: float) -> Arguments:
    return {"data_us": draw.uniform(900, 3000), "ack_us": draw.uniform(300, 1500), "acks_per_segment": share}


def _paced(draw: Random) -> Arguments:
    return {"delay_s": draw.uniform(0.002, 0.06), "packet_bytes": 1500}


def _other_packets(draw: Random) -> Arguments:
    return {**_paced(draw), "packet_bytes": draw.randrange(100, 1460)}


GAINS = {"up": (0.01, 1.5), "down": (-0.9, -0.01), "none": (0.0, 0.0)}


def _gains(draw: Random, kinds: Sequence[str]) -> Arguments:
    """Of each kind at least one."""
    found = [*kinds, *draw.choices(kinds, k=draw.randrange(1, 4))]
    draw.shuffle(found)
    return {"gains": {name: draw.uniform(*GAINS[kind]) for name, kind in zip("uvwxyz", found, strict=False)}}


LAB0 = (
    Exercise(
        name="lab0.goodput",
        function="goodput_bps",
        parts=(Part(id="goodput", title="goodput of numbers drawn", points=25, draw=_delivered),),
    ),
    Exercise(
        name="lab0.half_width",
        function="half_width",
        parts=(Part(id="interval", title="the interval of samples drawn", points=25, draw=_samples),),
    ),
)
LAB1 = (
    Exercise(
        name="lab1.capture",
        function="advantage_db",
        parts=(
            Part(id="capture", title="how much stronger the nearer sender is", points=13, draw=_two_senders),
            Part(id="capture-weaker", title="... and by how much weaker the farther", points=12, draw=_exchanged),
        ),
    ),
    Exercise(
        name="lab1.range",
        function="interference_m",
        parts=(
            Part(id="range", title="the interference range by power", points=13, draw=_captured),
            Part(id="range-sensed", title="... which ends where nothing is sensed", points=12, draw=_out_of_sense),
        ),
    ),
    Exercise(
        name="lab1.roles",
        function="roles",
        read=_roles_of,
        parts=(
            Part(
                id="roles",
                title="hidden and exposed nodes, both ranges alike",
                points=12,
                draw=partial(_places, disturb=lambda sense: sense),
            ),
            Part(
                id="roles-captured",
                title="... with capture",
                points=7,
                draw=partial(_places, disturb=lambda sense: 0.6 * sense),
            ),
            Part(
                id="roles-far",
                title="... and where a link is disturbed from farther than it senses",
                points=6,
                draw=partial(_places, disturb=lambda sense: 1.4 * sense),
            ),
        ),
    ),
    Exercise(
        name="lab1.one_queue",
        function="last_through_ms",
        parts=(
            Part(id="queue", title="one queue that never empties", points=12, draw=_busy),
            Part(id="queue-empty", title="... and one that does", points=13, draw=_with_gaps),
        ),
    ),
)
LAB2 = (
    Exercise(
        name="lab2.busy_at_once",
        function="busy_at_once",
        parts=(
            Part(id="busy", title="whole groups of hops", points=12, draw=_whole_groups),
            Part(id="busy-begun", title="... and one begun", points=12, draw=_begun_groups),
            Part(id="busy-short", title="... and a chain shorter than one", points=10, draw=_less_than_one),
        ),
    ),
    Exercise(
        name="lab2.best_window",
        function="best_window",
        parts=(
            Part(id="best", title="one window far above the others", points=12, draw=_one_best),
            Part(id="best-plateau", title="... the smallest of a plateau", points=14, draw=_plateau),
            Part(id="best-order", title="... in whatever order they were measured", points=8, draw=_in_no_order),
        ),
    ),
    Exercise(
        name="lab2.given_up",
        function="given_up",
        parts=(
            Part(id="given-up", title="a packet that is given up", points=20, draw=_failures),
            Part(
                id="given-up-certain",
                title="... at once, never, always",
                points=12,
                draw=(_one_attempt, *each(_certain, failure=(0.0, 1.0))),
            ),
        ),
    ),
)
LAB3 = (
    Exercise(
        name="lab3.probability",
        function="probability",
        parts=(
            Part(id="probability", title="the probability on the line", points=20, draw=_on_the_line),
            Part(id="probability-none", title="... below it", points=10, draw=_below),
            Part(id="probability-cap", title="... and at its cap", points=10, draw=each(_capped, far=(False, True))),
        ),
    ),
)
LAB4 = (
    Exercise(
        name="lab4.queueing",
        function="queueing_s",
        parts=(
            Part(id="queueing", title="t_q, usual sizes", points=6, draw=partial(_path, least=1, most=9, usual=True)),
            Part(
                id="queueing-sizes", title="... other sizes and rates", points=4, draw=partial(_path, least=1, most=9)
            ),
        ),
    ),
    Exercise(
        name="lab4.four_hop_delay",
        function="four_hop_delay_s",
        above=("queueing_s",),
        parts=(
            Part(id="delay", title="the delay of four hops", points=6, draw=partial(_path, least=4, most=4)),
            Part(id="delay-long", title="... on longer paths", points=5, draw=partial(_path, least=5, most=12)),
            Part(id="delay-short", title="... and on shorter ones", points=5, draw=partial(_path, least=1, most=3)),
        ),
    ),
    Exercise(
        name="lab4.cov",
        function="cov",
        parts=(
            Part(id="cov", title="the coefficient of variation", points=8, draw=_round_trips),
            Part(id="cov-few", title="... of one or two round trips", points=6, draw=each(_hardly_any, count=(1, 2))),
        ),
    ),
    Exercise(
        name="lab4.release",
        function="release_ms",
        parts=(
            Part(id="release", title="a pacing queue that never empties", points=7, draw=_backlog),
            Part(
                id="release-empty", title="... and one that does", points=7, draw=each(_pauses, packets=(7, 7, 7, 1, 0))
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
            Part(id="control", title="the fast flow is throttled to the mean", points=6, draw=_one_too_fast),
            Part(id="control-mesh", title="... if it comes from the wire", points=4, draw=_from_the_mesh),
            Part(
                id="control-threshold",
                title="... and is above the threshold",
                points=4,
                draw=each(_near_the_threshold, by=(0.98, 1.02)),
            ),
        ),
    ),
)
LAB5 = (
    Exercise(
        name="lab5.mos",
        function="mos",
        parts=(
            Part(id="mos", title="MOS of calls with little delay", points=20, draw=_good_call),
            Part(id="mos-late", title="... beyond 177.3 ms", points=16, draw=each(_late_call, most=(0.0, 0.06))),
            Part(
                id="mos-worst",
                title="... of calls that hardly anybody understands",
                points=10,
                draw=(_bad_call, _hopeless_call),
            ),
        ),
    ),
    Exercise(
        name="lab5.controller",
        function="new_rate_kbps",
        parts=(
            Part(
                id="controller",
                title="up while calls are good, down when they are not",
                points=24,
                draw=each(_step, within=((3.92, 4.4), (1.0, 3.58))),
            ),
            Part(
                id="controller-between",
                title="... by less in between",
                points=18,
                draw=each(_step, within=((3.72, 3.88), (3.62, 3.68))),
            ),
            Part(
                id="controller-thresholds",
                title="... and at 3.6, 3.7, 3.9",
                points=12,
                draw=each(_step, within=((3.6, 3.6), (3.7, 3.7), (3.9, 3.9))),
            ),
        ),
    ),
)
LAB6 = (
    Exercise(
        name="lab6.exchange",
        function="exchange_us",
        parts=(
            Part(id="exchange", title="the time of an exchange", points=15, draw=_payload),
            Part(
                id="exchange-ack",
                title="... that carries hardly anything",
                points=10,
                draw=each(_no_payload, most=(1, 60)),
            ),
        ),
    ),
    Exercise(
        name="lab6.gain",
        function="gain",
        parts=(
            Part(id="gain", title="the gain over an ACK each", points=12, draw=partial(_acked, share=1.0)),
            Part(
                id="gain-fewer",
                title="... over fewer",
                points=13,
                draw=each(_acked, share=(0.5, 0.25, 0.125, 0.0)),
            ),
        ),
    ),
    Exercise(
        name="lab6.pace",
        function="paced_bps",
        parts=(
            Part(id="pace", title="the rate of a packet per delay", points=12, draw=_paced),
            Part(id="pace-sizes", title="... of other sizes", points=13, draw=_other_packets),
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
                draw=each(_gains, kinds=(("up",), ("down",), ("up", "down"))),
            ),
            Part(
                id="verdict-naught",
                title="... and a gain of 0 is none",
                points=14,
                draw=each(_gains, kinds=(("none",), ("none", "down"), ("none", "up"))),
            ),
        ),
    ),
)


def _model(name: str) -> str:
    return LABS[name].model


def _lab(number: int, title: str, file: str, *parts: Sequence[Exercise | Check]) -> LabHandIn:
    """A lab of exercises and of checks that are no calls of a function."""
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
            _lab(0, "tour and first comparison", "lab0_tour.py", LAB0, runs.LAB0),
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
