"""Checks of the classes that students write in labs 3, 4, 7 and 8: by hand beside the model, and in the simulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from random import Random
from statistics import fmean
from typing import Any

import pacelab_labs
from pacelab import Experiment, PaceLabError, Pacer, RateSample, Sample, run_pacer
from pacelab_grading.labs.exercises import TOLERANCE, reference
from pacelab_grading.rubric.assignment import Check
from pacelab_grading.rubric.context import CheckContext
from pacelab_grading.rubric.expect import exactly, near, numeric
from pacelab_grading.rubric.findings import Finding, WrongAnswer
from pacelab_grading.sandbox.failures import StudentFailure
from pacelab_grading.sandbox.remote import RemoteObject
from pacelab_grading.sandbox.session import AnySession

Model = Callable[[], str]

LINK_RED, PACER, CONTROL = "MyLinkRed", "MyPacer", "DelayWindow"


# Lab 3

CAP = 0.05
"""max_P for dropping, as in the lab."""


def link_red(model: Model) -> tuple[Check, ...]:
    """Link RED: its average, then its drops."""
    common: dict[str, Any] = {"needs": (LINK_RED,), "hint": f'`lab.check("lab3.link_red", {LINK_RED})` shows details'}
    return (
        Check(
            id="average",
            title="Link RED's moving average",
            points=30,
            run=partial(_average, model),
            public=True,
            **common,
        ),
        Check(
            id="drops",
            title="... its drops on the line, and below",
            points=40,
            run=partial(_drops, model, False),
            **common,
        ),
        Check(
            id="drops-cap",
            title="... and at the maximum",
            points=30,
            run=partial(_drops, model, True),
            **common,
        ),
    )


def _average(model: Model, context: CheckContext) -> None:
    for number in range(2):
        draw = context.random(f"average {number}")
        attempts = [draw.randrange(1, 8) for _ in range(draw.randrange(4, 12))]
        (layer,) = context.objects(LINK_RED, [({"$random": 0.5},)])
        right = _layer(model, 0.5)
        for place, frame in enumerate(attempts, 1):
            delivered = place % 3 != 2
            right.sent(frame, delivered)
            got = layer.call_then_get("sent", frame, delivered, then="average")
            what = f"average after frames of {attempts[:place]} attempts" + ", the last dropped" * (not delivered)
            near(right.average, got, what=what)


def _drops(model: Model, capped: bool, context: CheckContext) -> None:
    """Drops by the student's own average: at the start, on the line, at the maximum."""
    for number in range(3):
        draw = context.random(f"drops {capped} {number}")
        frames = [draw.randrange(6, 20) for _ in range(12)] if capped or number else []
        (layer,) = context.objects(LINK_RED, [({"$random": 0.5},)])
        average = numeric(layer.get("average"), what="average")
        for frame in frames:
            average = numeric(layer.call_then_get("sent", frame, True, then="average"), what="average")
        below = draw.uniform(0.65, 0.95) * CAP
        while frames and not capped and _probability(model, average) > below and len(frames) < 200:
            frames.append(1)
            average = numeric(layer.call_then_get("sent", 1, True, then="average"), what="average")
        probability = _probability(model, average)
        if frames and not (probability == CAP if capped else 0 < probability <= below):
            aim = "the maximum" if capped else "the line"
            raise WrongAnswer(f"an average on {aim} after frames of {_runs(frames)} attempts", f"{average:.3f}")
        drawn = (0.0, 0.98 * probability, 1.02 * probability, draw.uniform(0.2, 1))
        layers = context.objects(LINK_RED, [({"$random": value},) for value in drawn])
        for layer, value in zip(layers, drawn, strict=True):
            for frame in frames:
                layer.call("sent", frame, True)
            what = f"passes() at an average of {average:.3f}, draw {value:.4f}"
            exactly(_layer(model, value, average).passes(), layer.call("passes"), what=what)


def _runs(frames: list[int]) -> str:
    return f"{frames[:12]} and {len(frames) - 12} times 1"


def _layer(model: Model, drawn: float, average: float = 0.0) -> Any:
    """The model's link layer."""
    layer = reference(model())[LINK_RED](_Fixed(drawn))
    layer.average = average
    return layer


def _probability(model: Model, average: float) -> float:
    """The probability of a drop, found by bisecting the model's answers."""
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if _layer(model, middle, average).passes() else (middle, high)
    return round(high, 6)


class _Fixed(Random):
    """A stream that always draws the same number."""

    def __init__(self, drawn: float) -> None:
        super().__init__(0)
        self._drawn = drawn

    def random(self) -> float:
        """The number."""
        return self._drawn


# Lab 4


def pacer(model: Model) -> tuple[Check, ...]:
    """TCP-GAP's estimator: with few round trips, with many, on a short path, in the simulator."""
    common: dict[str, Any] = {
        "needs": (PACER,),
        "hint": f'`lab.check("lab4.pacer", {PACER})` shows details',
    }
    return (
        Check(
            id="pacer",
            title="the pace after a few round trips",
            points=12,
            run=partial(_few, model),
            public=True,
            **common,
        ),
        Check(
            id="pacer-many", title="... after many, and on short paths", points=14, run=partial(_many, model), **common
        ),
        Check(
            id="pacer-run",
            title="... and in the simulator, after each round trip",
            points=25,
            run=partial(_simulated, model),
            simulates=True,
            **common,
        ),
    )


def _few(model: Model, context: CheckContext) -> None:
    for number in range(2):
        mine, other = context.objects(PACER, [(), ()])
        other.call("measured", {"$sample": [0.05, 1.0, 4, 2e6, 1500, 40]})  # of another flow, so it must change nothing
        _paces(model, mine, context.random(f"few {number}"), hops=(4, 9), count=5)


def _many(model: Model, context: CheckContext) -> None:
    _paces(model, context.new(PACER), context.random("many"), hops=(4, 9), count=70)
    _paces(model, context.new(PACER), context.random("short"), hops=(1, 3), count=5)


def _paces(model: Model, mine: RemoteObject, draw: Random, *, hops: tuple[int, int], count: int) -> None:
    right = reference(model())[PACER]()
    rate_bps, slower = draw.choice((2e6, 11e6)), draw.uniform(1.5, 4)
    for place in range(1, count + 1):
        path = draw.randrange(hops[0], hops[1] + 1), rate_bps, draw.randrange(500, 1501), draw.randrange(40, 80)
        usual_s = path[0] * 8 * (path[2] + path[3]) / path[1] * slower
        sample = Sample(place * 0.1, usual_s * draw.uniform(0.8, 1.3), *path)
        right.measured(sample)
        got = mine.call_then_get("measured", {"$sample": list(sample)}, then="interval_s")
        what = f"interval_s after {place} round trips over {path[0]} hops, the last of {sample.rtt_s * 1e3:.1f} ms"
        near(right.interval_s, got, what=what, tolerance=TOLERANCE)


def _simulated(model: Model, context: CheckContext) -> None:
    right = reference(model())[PACER]
    for direction in ("down", "up"):
        draw = context.random(f"simulated {direction}")
        experiment = Experiment(
            topology_options={"hops": draw.randrange(4, 8)},
            direction=direction,
            routing=draw.choice(("aodv", "static")),
            window_pkts=64,
            duration_s=6,
            seed=draw.randrange(1, 1_000_000),
        )
        asked = Asked(context, beside=right)
        context.step(f"simulate a chain, {experiment.topology_options}, {direction}, seed {experiment.seed}")
        asked.run(partial(run_pacer, experiment, watched=False))


PROCESSES = 8
"""Ten networks have about fifty flows, and their processes stay until the end of the check."""


class Asked:
    """Makes a class of pacers for the simulator that ask the student's pacers; `beside` is the model to compare."""

    def __init__(self, context: CheckContext, beside: type[Pacer] | None = None) -> None:
        self._lab = context
        self._sessions: list[AnySession] = []
        self._made = 0
        self.failure: StudentFailure | WrongAnswer | None = None
        self.waits: list[bool] = []
        """For each round trip, whether the interval is longer than the airtime of a packet."""
        asked = self

        class Mine(Pacer):
            def __init__(self) -> None:
                self._mine = asked.guarded(asked.made)
                self._right = beside() if beside is not None else None

            def measured(self, sample: Sample) -> None:
                self.interval_s = asked.guarded(lambda: asked.interval(self._mine, self._right, sample))

        self.pacer: type[Pacer] = Mine

    def made(self) -> RemoteObject:
        """A pacer of the student, in a separate process while there are few of them."""
        if self._made < PROCESSES:
            self._sessions.append(self._lab.session())
        self._made += 1
        return RemoteObject(self._sessions[self._made % len(self._sessions)], PACER, {})

    def interval(self, mine: RemoteObject, right: Pacer | None, sample: Sample) -> float:
        """The student's interval after a round trip."""
        got = mine.call_then_get("measured", {"$sample": list(sample)}, then="interval_s")
        if numeric(got, what="interval_s") < 0:
            raise WrongAnswer("interval_s of at least 0 seconds", repr(got))
        if right is not None:
            right.measured(sample)
            what = f"interval_s at {sample.now_s:.3f} s, a round trip of {sample.rtt_s * 1e3:.1f} ms"
            near(right.interval_s, got, what=what, tolerance=TOLERANCE)
        self.waits.append(got > 8 * sample.data_bytes / sample.rate_bps)
        return float(got)

    def guarded(self, ask: Callable[[], Any]) -> Any:
        """Ask, and keep the first failure, which the simulator would report in other words."""
        if self.failure is not None:
            raise self.failure
        try:
            return ask()
        except (StudentFailure, WrongAnswer) as failure:
            self.failure = failure
            raise

    def must_wait(self) -> None:
        """Raise `WrongAnswer` for a pacer that hardly ever delays a packet."""
        if sum(self.waits) < PACES * len(self.waits) or not self.waits:
            expected = f"an interval longer than a packet's airtime after at least {PACES:.0%} of the round trips"
            raise WrongAnswer(expected, f"after {sum(self.waits)} of {len(self.waits)}")

    def run(self, simulate: Callable[[type[Pacer]], Any]) -> Any:
        """The result of `simulate` with the pacer. Raises the first failure."""
        try:
            found = simulate(self.pacer)
        except PaceLabError:
            if self.failure is None:
                raise
            raise self.failure from None
        if self.failure is not None:
            raise self.failure
        return found


# Lab 7

KEEPS = 0.8
"""Share of NewReno's goodput, as in `lab.check("lab7.pacer")`."""
PACES = 0.1
"""Share of the round trips after which the interval must exceed a packet's airtime."""
SETS = 2
"""Sets of five networks; the score of one set depends much on chance."""
LEAST_LEAD = 10.0
"""Minimum lead of the sample solution over the notebook's example on the random sets, in points of the score: without a
lead, a better pacer could not show it."""


class Example(Pacer):
    """The notebook's `OnePerRoundTrip`, which all students have."""

    def measured(self, sample: Sample) -> None:
        """One packet per round trip."""
        self.interval_s = sample.rtt_s


def capstone(model: Model) -> tuple[Check, ...]:
    """Whether it paces at all, and its score."""
    common: dict[str, Any] = {"needs": (PACER,), "simulates": True}
    return (
        Check(
            id="paces",
            title="it paces, and keeps most of the goodput",
            points=20,
            run=_it_paces,
            public=True,
            hint='`lab.check("lab7.pacer", MyPacer)` runs the same test',
            **common,
        ),
        Check(
            id="score",
            title="its score on unseen networks, up to the score of the notebook's example",
            points=20,
            run=partial(_score, model, False),
            hint="`lab.score(MyPacer)` shows where you can gain points; another word gives other networks",
            **common,
        ),
        Check(
            id="score-more",
            title="... and from there to the score of the sample solution",
            points=60,
            run=partial(_score, model, True),
            hint="what do round trips show about contention, and what about queues?",
            **common,
        ),
    )


def _it_paces(context: CheckContext) -> None:
    for direction in ("down", "up"):
        experiment = Experiment(
            topology_options={"hops": 5},
            direction=direction,
            window_pkts=64,
            duration_s=10,
            seed=context.seed(f"5 hops {direction}"),
        )
        asked = Asked(context)
        context.step(f"simulate 5 hops {direction}, 10 s")
        result = asked.run(partial(run_pacer, experiment, watched=False))
        asked.must_wait()
        base = context.baseline(experiment)["totals"]["goodput_bps"]
        got = f"{result.goodput_bps / 1e3:.0f} kbit/s, 5 hops {direction}"
        if result.goodput_bps < KEEPS * base:
            raise WrongAnswer(f"at least {KEEPS:.0%} of NewReno's {base / 1e3:.0f} kbit/s", got)


def _score(model: Model, more: bool, context: CheckContext) -> Finding:
    """The capstone's score on random sets: from NewReno's 0 to the example's, or from there to the model's."""
    draw = context.random("networks")
    while True:
        words = tuple(draw.randbytes(16).hex() for _ in range(SETS))
        example, best = (_mean_score_of_ours(made, words) for made in (Example, reference(model())[PACER]))
        if best >= example + LEAST_LEAD and example > 0:
            break
    if "score" not in context.memory:
        asked = Asked(context)
        context.step(f"score on {SETS} sets of networks")
        mine = asked.run(partial(_mean_score, words=words))
        asked.must_wait()  # otherwise its points are chance
        context.memory["score"] = {"points": mine}
    points = context.memory["score"]["points"]
    low, high = (example, best) if more else (0.0, example)
    return Finding(
        share=min(1.0, max(0.0, (points - low) / (high - low))),
        expected=f"a score of {high:.1f} for all points, of {low:.1f} for none (NewReno 0, sample solution {best:.1f})",
        got=f"{points:.1f} points",
    )


def _mean_score(pacer: type[Pacer], words: Sequence[str]) -> float:
    return fmean(pacelab_labs.score(pacer, word=word, watched=False).points for word in words)


_mean_score_of_ours = lru_cache(maxsize=64)(_mean_score)
"""Computed once for all submissions that this process grades."""


# Lab 8

INITIAL_WINDOW, WINDOW_LIMIT = 2, 256
MEMORY = 50
"""Rates of which the largest counts, as in the lab."""

Ack = tuple[float | None, int | None]
"""Delivery rate in packets per second, and round trip in ns."""


def congestion_control(model: Model) -> tuple[Check, ...]:
    """The window: with a rate and a round trip in each ACK, with one of the two, after more rates than are kept.

    The first ACK always has a round trip, and windows are compared only after an ACK with a rate: the lab's text leaves
    open what holds before.
    """
    common: dict[str, Any] = {"needs": (CONTROL,), "hint": f'`lab.check("lab8.delay_window", {CONTROL})` shows details'}
    return (
        Check(
            id="window",
            title="the window after each ACK",
            points=40,
            run=partial(_windows, model, _complete),
            public=True,
            **common,
        ),
        Check(
            id="window-none",
            title="... if an ACK shows only a rate or only a round trip",
            points=30,
            run=partial(_windows, model, _with_gaps),
            **common,
        ),
        Check(
            id="window-forgets",
            title="... and after more than 50 rates",
            points=30,
            run=partial(_windows, model, _after_a_peak),
            **common,
        ),
    )


def _complete(draw: Random) -> list[Ack]:
    """The first round trip is above the second at which the least one starts."""
    first = _rate(draw), draw.randrange(1_200_000_000, 3_000_000_000)
    return [first, *((_rate(draw), _round_trip_ns(draw)) for _ in range(11))]


def _with_gaps(draw: Random) -> list[Ack]:
    acks: list[Ack] = [(None, _round_trip_ns(draw)), (_rate(draw), _round_trip_ns(draw))]
    for _ in range(6):
        acks += [(None, _round_trip_ns(draw)), (_rate(draw), None), (None, None), (_rate(draw), _round_trip_ns(draw))]
    return acks


def _after_a_peak(draw: Random) -> list[Ack]:
    return [(draw.uniform(500, 900), _round_trip_ns(draw)), *_complete(draw), *(_complete(draw) * MEMORY)[:MEMORY]]


def _rate(draw: Random) -> float:
    return draw.uniform(20, 400)


def _round_trip_ns(draw: Random) -> int:
    return draw.randrange(20_000_000, 900_000_000)


def _windows(model: Model, acks: Callable[[Random], list[Ack]], context: CheckContext) -> None:
    for number in range(3):
        mine, other = context.objects(CONTROL, [(INITIAL_WINDOW, WINDOW_LIMIT)] * 2)
        of_another_flow = _rate_sample(1, 900.0, 10_000_000)  # so it must change nothing
        other.call("delivered", {"$rate_sample": list(of_another_flow)})
        right = reference(model())[CONTROL](INITIAL_WINDOW, WINDOW_LIMIT)
        for place, (rate_pps, rtt_ns) in enumerate(acks(context.random(f"{acks.__name__} {number}")), 1):
            sample = _rate_sample(place, rate_pps, rtt_ns)
            right.delivered(sample)
            got = mine.call_then_get("delivered", {"$rate_sample": list(sample)}, then="window")
            if rate_pps is not None:
                shown = "none" if rtt_ns is None else f"{rtt_ns / 1e6:.1f} ms"
                what = f"window after {place} ACKs, the last with {rate_pps:.1f} packets/s and round trip {shown}"
                near(right.window, got, what=what, tolerance=TOLERANCE)


def _rate_sample(place: int, rate_pps: float | None, rtt_ns: int | None) -> RateSample:
    """The sample of the ACK for packet `place`; one packet is delivered every 10 ms."""
    return RateSample(
        now_ns=1_000_000_000 + place * 10_000_000,
        rtt_ns=rtt_ns,
        smoothed_rtt_ns=rtt_ns,
        rate_pps=rate_pps,
        interval_ns=None if rate_pps is None else 100_000_000,
        delivered_pkts=place,
        newly_delivered_pkts=1,
        lost_pkts=0,
        newly_lost_pkts=0,
        prior_delivered_pkts=max(0, place - 4),
        in_flight_pkts=4,
        prior_in_flight_pkts=5,
        is_app_limited=False,
        phase="open",
    )
