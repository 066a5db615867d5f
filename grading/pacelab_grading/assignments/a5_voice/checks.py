"""Assignment 5's rubric. MOS by hand: [vagp] Sec. III-A gives 3.6 for 160 ms without loss and 104 ms with 2 %."""

from __future__ import annotations

import math
from typing import Any

from pacelab import Experiment
from pacelab_grading.assignments.a5_voice.gate import VoiceGate
from pacelab_grading.rubric.assignment import Assignment, Check
from pacelab_grading.rubric.context import MS, CheckContext, RunJson
from pacelab_grading.rubric.expect import near, numeric
from pacelab_grading.rubric.figures import bars
from pacelab_grading.rubric.findings import Finding, WrongAnswer
from pacelab_grading.sandbox.remote import RemoteObject

MOS_TOLERANCE = 2e-4
"""Relative; expected values have three decimals."""
RATE_TOLERANCE = 1e-3
"""Relative: a rate may be rounded to whole bit/s in each round."""
HELD, UNHELD = 3.7, 3.2
"""Mean MOS of the calls that earns all points, and none."""
BETTER = 0.1
"""Minimum difference to NewReno's."""
USED, UNUSED = 0.35, 0.15
"""Share of NewReno's TCP goodput that earns all points, and none."""


def quality(delay_ms: float, loss: float) -> float:
    """The E-model of the template, with the numbers of G.729a."""
    late = max(0.0, delay_ms + 85 - 177.3)
    rating = 83.2 - 0.024 * (delay_ms + 85) - 0.11 * late - 40 * math.log1p(10 * loss)
    curve = 1 + 0.035 * rating + 7e-6 * rating * (rating - 60) * (100 - rating)
    return max(1.0, curve) if rating > 0 else 1.0


def hand_values(context: CheckContext) -> None:
    """Four points of the curve."""
    judge = context.function("mos")
    for known_ms, share, wanted in ((0, 0.0, 4.067), (160, 0.0, 3.591), (104, 0.02, 3.601), (50, 0.1, 2.693)):
        near(wanted, judge(known_ms, share), what=f"MOS at {known_ms} ms, loss {share}", tolerance=MOS_TOLERANCE)
    draw = context.random("points")
    for low, high in ((0, 90), (0, 90), (95, 200), (95, 200)):
        delay_ms, loss = draw.uniform(low, high), draw.uniform(0, 0.12)
        near(quality(delay_ms, loss), judge(delay_ms, loss), what=f"MOS at {delay_ms:.3f} ms, loss {loss:.4f}")


def collapse(context: CheckContext) -> None:
    """Between 1 and 4.5 for all inputs, but not always 1."""
    judge = context.function("mos")
    if numeric(judge(20, 0.0), what="MOS at 20 ms, loss 0") < 2:
        raise WrongAnswer("precondition: a MOS above 2 at 20 ms, loss 0", "a lower one")
    for delay_ms, loss in ((0, 1.0), (2000, 0.0), (400, 0.9), (700, 0.2)):
        near(1.0, judge(delay_ms, loss), what=f"MOS at {delay_ms} ms, loss {loss}")
    draw = context.random("collapse")
    for rating in (draw.uniform(2, 5), draw.uniform(2, 5)):  # R above 0, but the curve below 1
        loss = math.expm1((83.2 - 0.024 * 135 - rating) / 40) / 10
        near(1.0, judge(50, loss), what=f"MOS at 50 ms, loss {loss:.4f}, R = {rating:.2f}")


def _feed(
    evaluator: RemoteObject, numbers: list[int], *, call: str = "a", delay_ms: float = 50, at_ms: int = 1000
) -> None:
    """Packets that arrive every 20 ms from `at_ms` on."""
    for index, number in enumerate(numbers):
        now = (at_ms + 20 * index) * MS
        evaluator.call("packet", now, call, number, now - round(delay_ms * MS))


def counts_losses(context: CheckContext) -> None:
    """Two of ten sequence numbers are missing: e = 0.2 at 50 ms. A packet that arrives twice counts once."""
    evaluator = context.new("QualityEvaluator")
    _feed(evaluator, [100, 101, 102, 104, 105, 106, 108, 109])
    near(1.874, evaluator.call("evaluate", 1200 * MS), what="MOS of 8 of 10 packets at 50 ms", tolerance=MOS_TOLERANCE)
    twice = context.new("QualityEvaluator")
    _feed(twice, [20, 21, 22, 22, 23])
    near(4.022, twice.call("evaluate", 1200 * MS), what="MOS of 4 packets, one of them twice", tolerance=MOS_TOLERANCE)
    other = context.new("QualityEvaluator")
    _feed(other, [7, 8, 9, 10])
    near(4.022, other.call("evaluate", 1100 * MS), what="MOS of 4 of 4 packets at 50 ms", tolerance=MOS_TOLERANCE)
    draw = context.random("losses")
    for _ in range(3):
        first, count = draw.randrange(0, 5000), draw.randrange(10, 20)
        numbers = [first, *(first + index for index in range(1, count - 1) if draw.random() < 0.9), first + count - 1]
        numbers[0], numbers[1], numbers[-1] = numbers[-1], numbers[0], numbers[1]  # packets in another order
        delays_ms = [draw.randrange(5, 159) for _ in numbers]
        any_ = context.new("QualityEvaluator")
        for index, (sequence, delay_ms) in enumerate(zip(numbers, delays_ms, strict=True)):
            now_ns = (1000 + 20 * index) * MS
            any_.call("packet", now_ns, "a", sequence, now_ns - delay_ms * MS)
        wanted = quality(sum(delays_ms) / len(delays_ms), 1 - len(numbers) / count)
        near(wanted, any_.call("evaluate", 1400 * MS), what=f"MOS of packets {numbers} at {delays_ms} ms")


def counts_late(context: CheckContext) -> None:
    """Late packets are lost, and their delay does not count."""
    evaluator = context.new("QualityEvaluator")
    _feed(evaluator, [0, 1, 2, 3, 4, 5, 6, 7, 8])
    _feed(evaluator, [9], delay_ms=400, at_ms=1180)
    near(2.693, evaluator.call("evaluate", 1200 * MS), what="MOS of ten packets, one late", tolerance=MOS_TOLERANCE)
    late = context.new("QualityEvaluator")
    _feed(late, [0, 1, 2], delay_ms=200)
    near(1.0, late.call("evaluate", 1100 * MS), what="MOS when all packets are late")
    for late_ns, missed in ((160 * MS - 1, 0), (160 * MS, 0), (160 * MS + 1, 1)):
        edge = context.new("QualityEvaluator")
        _feed(edge, [0, 1, 2, 3, 4])
        edge.call("packet", 1100 * MS, "a", 5, 1100 * MS - late_ns)
        delay_ms = 50 if missed else (5 * 50 + late_ns / MS) / 6
        what = f"MOS of five packets of 50 ms and one of {late_ns:,} ns"
        near(quality(delay_ms, missed / 6), edge.call("evaluate", 1200 * MS), what=what)


def window(context: CheckContext) -> None:
    """500 ms; older packets do not count."""
    evaluator = context.new("QualityEvaluator")
    _feed(evaluator, [0, 2, 4, 6])
    for at_ms in (1100, 1200):
        what = f"MOS at {at_ms} ms, of 4 of 7 packets" + ", as one round before" * (at_ms > 1100)
        near(quality(50, 3 / 7), evaluator.call("evaluate", at_ms * MS), what=what)
    _feed(evaluator, [40, 41, 42, 43], at_ms=1600)
    near(
        4.022,
        evaluator.call("evaluate", 1700 * MS),
        what="MOS when the gaps are older than 500 ms",
        tolerance=MOS_TOLERANCE,
    )
    for at_ns, missing in ((1500 * MS, 1), (1500 * MS + 1, 0)):  # the packet of 1000 ms is 500 ms old, then older
        edge = context.new("QualityEvaluator")
        _feed(edge, [0], at_ms=1000)
        _feed(edge, [2, 3, 4, 5], at_ms=1400)
        counted = 5 if missing else 4
        what = f"MOS at {at_ns:,} ns, with a packet of 1000 ms and a gap after it"
        near(quality(50, missing / (counted + missing)), edge.call("evaluate", at_ns), what=what)


def calls(context: CheckContext) -> None:
    """Sequence numbers belong to their call, also equal ones; the losses of all calls are added up."""
    evaluator = context.new("QualityEvaluator")
    _feed(evaluator, [5, 6, 7, 8, 9], call="a")
    _feed(evaluator, [905, 907, 908, 909], call="b")
    near(2.693, evaluator.call("evaluate", 1200 * MS), what="MOS of two calls, 1 of 10 lost", tolerance=MOS_TOLERANCE)
    draw = context.random("calls")
    mixed = context.new("QualityEvaluator")
    delays_ms, lost, expected = [], 0, 0
    first = draw.randrange(0, 900)
    for call in ("3:5004", "3:5006", "4:5004"):  # each call with its own number of packets and delay
        count, delay_ms = draw.randrange(4, 12), draw.randrange(10, 150)
        gap = draw.randrange(1, count - 1)
        _feed(mixed, [first + index for index in range(count) if index != gap], call=call, delay_ms=delay_ms)
        delays_ms += [delay_ms] * (count - 1)
        lost, expected = lost + 1, expected + count
    wanted = quality(sum(delays_ms) / len(delays_ms), lost / expected)
    near(wanted, mixed.call("evaluate", 1300 * MS), what=f"MOS of three calls, {lost} of {expected} lost")


def silence(context: CheckContext) -> None:
    """Without packets there is no MOS; packets of another evaluator do not count."""
    evaluator, other = context.objects("QualityEvaluator", [(), ()])
    _none(evaluator, 0, "before any packet")
    _feed(evaluator, [1])
    numeric(evaluator.call("evaluate", 1100 * MS), what="precondition: MOS of one packet")
    _none(other, 1100, "from an evaluator without packets, beside one with a packet")
    _none(evaluator, 9000, "long after the last packet")


def _none(evaluator: RemoteObject, moment_ms: int, what: str) -> None:
    if (got := evaluator.call("evaluate", moment_ms * MS)) is not None:
        raise WrongAnswer(f"None {what}", repr(got)[:60])


def steps(context: CheckContext) -> None:
    """The four factors, including the thresholds."""
    for quality, factor in ((4.0, 1.05), (3.9, 1.03), (3.7, 1.03), (3.69, 0.9), (3.61, 0.9), (3.6, 0.5), (None, 1.05)):
        controller = context.new("BandwidthController")
        got = controller.call("adjust", quality)
        near(100_000 * factor, got, what=f"rate after one round of MOS {quality}", tolerance=RATE_TOLERANCE)
    draw = context.random("steps")
    bands = [(3.91, 4.4, 1.05), (3.71, 3.89, 1.03), (3.61, 3.69, 0.9), (1.0, 3.59, 0.5), (3.71, 3.89, 1.03)]
    draw.shuffle(bands)
    controller, rate = context.new("BandwidthController"), 100_000.0
    for low, high, factor in bands:
        quality, rate = draw.uniform(low, high), rate * factor
        what = f"rate after one more round, of MOS {quality:.3f}"
        near(rate, controller.call("adjust", quality), what=what, tolerance=RATE_TOLERANCE)


def bounds(context: CheckContext) -> None:
    """12 kbit/s and 10 Mbit/s."""
    draw = context.random("bounds")
    controller = context.new("BandwidthController")
    _rounds(controller, draw.uniform(1, 3.5), draw.randrange(4, 10), 12_000, "poor rounds")
    fair = draw.randrange(1, 5)
    _rounds(controller, draw.uniform(3.71, 3.89), fair, 12_000 * 1.03**fair, "fair rounds after that")
    _rounds(controller, draw.uniform(4.0, 4.4), draw.randrange(155, 180), 10_000_000, "good rounds")


def recovery(context: CheckContext) -> None:
    """Half of R_max after five good rounds, once, and only after a poor round. All rates follow from 100 kbit/s."""
    draw = context.random("recovery")
    controller = context.new("BandwidthController")
    rounds = draw.randrange(45, 56)
    best = 100_000 * 1.05**rounds
    _rounds(controller, 4.0, rounds, best, "good rounds")
    rate = best * 1.03**3
    _rounds(controller, 3.8, 3, rate, "fair rounds, which do not change R_max")
    halvings = 5
    rate /= 2**halvings
    _rounds(controller, 2.0, halvings, rate, "poor rounds")
    _rounds(controller, 4.0, 3, rate * 1.05**3, "good rounds")
    rate *= 1.05**3 * 1.03
    _rounds(controller, 3.8, 1, rate, "fair round, which restarts the count")
    _rounds(controller, 4.0, 2, rate * 1.05**2, "good rounds")
    rate *= 1.05**2 * 0.9
    _rounds(controller, 3.65, 1, rate, "round below fair, which restarts the count as well")
    _rounds(controller, 4.0, 3, rate * 1.05**3, "good rounds")
    _rounds(controller, None, 1, rate * 1.05**4, "round without a call, which counts as good")
    rate = best / 2
    _rounds(controller, 4.0, 1, rate, "more good round, the fifth in a row: half of R_max")
    rate *= 0.9**10
    _rounds(controller, 3.65, 10, rate, "rounds below fair")
    rate *= 1.05**6
    _rounds(controller, 4.0, 6, rate, "good rounds, without a poor one since the jump: no second jump")
    _rounds(controller, 2.0, 4, rate / 2**4, "poor rounds")
    _rounds(controller, 4.0, 5, best / 4, "good rounds: half of R_max, which was reset at the first jump")
    _no_jump(context)


def _no_jump(context: CheckContext) -> None:
    """No poor round, or a rate that is already above half of R_max."""
    builds_on = context.new("BandwidthController")
    _rounds(builds_on, None, 10, 100_000 * 1.05**10, "rounds without a call")
    _rounds(builds_on, 2.0, 1, 50_000 * 1.05**10, "poor round")
    _rounds(builds_on, 4.0, 5, 50_000 * 1.05**15, "good rounds: already more than half of R_max")
    fresh = context.new("BandwidthController")
    _rounds(fresh, 4.0, 1, 105_000, "good round at the start")
    _rounds(fresh, 3.65, 10, 105_000 * 0.9**10, "rounds below fair")
    _rounds(fresh, 4.0, 6, 105_000 * 0.9**10 * 1.05**6, "good rounds, without any poor one: no jump")


def _rounds(controller: RemoteObject, quality: float | None, count: int, wanted: float, what: str) -> None:
    rate: Any = None
    for _ in range(count):
        rate = controller.call("adjust", quality)
    near(wanted, rate, what=f"rate after {count} {what}", tolerance=RATE_TOLERANCE)


def _simulate(context: CheckContext) -> list[tuple[RunJson, RunJson]]:
    pairs = []
    for hops, voice, tcp in ((2, 4, 2), (3, 4, 2), (4, 5, 3)):
        string = Experiment(
            topology="string",
            topology_options={"hops": hops, "voice": voice, "tcp": tcp},
            traffic="mixed",
            direction="down",
            duration_s=12.0,
            warmup_s=4.0,
            seed=context.seed(f"string {hops}"),
        )

        def gate() -> VoiceGate:
            evaluator = RemoteObject(context.session(), "QualityEvaluator", {})
            return VoiceGate(evaluator, RemoteObject(context.session(), "BandwidthController", {}))

        pairs.append((context.simulate_trusted(string, gate), context.baseline(string)))
    return pairs


def _mos(run: RunJson) -> float:
    found = [flow["mos"] for flow in run["flows"] if flow["mos"] is not None]
    return float(sum(found) / len(found)) if found else 1.0  # no call


def _tcp(run: RunJson) -> float:
    return float(sum(flow["goodput_bps"] for flow in run["flows"] if flow["kind"] == "tcp"))


def protects(context: CheckContext) -> Finding:
    """Calls beside TCP, on two to four hops."""
    pairs = _simulate(context)
    ours = sum(_mos(run) for run, _ in pairs) / len(pairs)
    theirs = sum(_mos(base) for _, base in pairs) / len(pairs)
    moved = sum(_tcp(run) for run, _ in pairs) >= UNUSED * sum(_tcp(base) for _, base in pairs)
    shown = {f"{hops} hops": (_mos(base), _mos(run)) for hops, (run, base) in zip((2, 3, 4), pairs, strict=True)}
    return Finding(
        share=min(1.0, max(0.0, (ours - UNHELD) / (HELD - UNHELD))) if ours >= theirs + BETTER and moved else 0.0,
        expected=f"a mean MOS of at least {HELD} (less: part of the points), {BETTER} above NewReno, with TCP goodput",
        got=f"{ours:.2f}, NewReno {theirs:.2f}",
        picture=bars(shown, ("NewReno", "yours"), "mean MOS of the calls"),
    )


def uses(context: CheckContext) -> Finding:
    """TCP gets the remaining capacity."""
    pairs = _simulate(context)
    share = sum(_tcp(run) for run, _ in pairs) / sum(_tcp(base) for _, base in pairs)
    quality = sum(_mos(run) for run, _ in pairs) / len(pairs)
    shown = {f"{hops} hops": (_tcp(b) / 1e3, _tcp(r) / 1e3) for hops, (r, b) in zip((2, 3, 4), pairs, strict=True)}
    return Finding(
        share=min(1.0, max(0.0, (share - UNUSED) / (USED - UNUSED))) if quality >= UNHELD + BETTER else 0.0,
        expected=f"at least {USED} of NewReno's TCP goodput, with a mean MOS of at least {UNHELD + BETTER:g}",
        got=f"{share:.2f} of it at a mean MOS of {quality:.2f}",
        picture=bars(shown, ("NewReno", "yours"), "TCP goodput in kbit/s"),
    )


MOS, EVALUATOR, CONTROLLER = ("mos",), ("QualityEvaluator",), ("BandwidthController",)
BOTH = (*EVALUATOR, *CONTROLLER)

ASSIGNMENT = Assignment(
    number=5,
    title="Voice quality, and a rate that protects it",
    version=1,
    folder="a5_voice",
    file="voice.py",
    checks=(
        Check(
            id="hand-values",
            title="the E-model",
            points=10,
            run=hand_values,
            needs=MOS,
            public=True,
            hint="d includes the delay of codec and playout buffer; ln is the natural logarithm",
        ),
        Check(
            id="collapse",
            title="... of a very bad call",
            points=6,
            run=collapse,
            needs=MOS,
            hint="the polynomial is valid only within its limits",
        ),
        Check(
            id="losses",
            title="losses by sequence numbers",
            points=10,
            run=counts_losses,
            needs=EVALUATOR,
            builds_on=MOS,
            public=True,
            hint="all numbers from the lowest to the highest are expected; count each packet once",
        ),
        Check(
            id="late",
            title="late packets",
            points=8,
            run=counts_late,
            needs=EVALUATOR,
            builds_on=MOS,
            hint="they are lost; their delay does not count",
        ),
        Check(
            id="window",
            title="the window",
            points=8,
            run=window,
            needs=EVALUATOR,
            builds_on=MOS,
            hint="forget packets that arrived more than 500 ms ago",
        ),
        Check(
            id="calls",
            title="several calls",
            points=6,
            run=calls,
            needs=EVALUATOR,
            builds_on=MOS,
            hint="sequence numbers belong to their call",
        ),
        Check(
            id="silence",
            title="no packet, no MOS",
            points=4,
            run=silence,
            needs=EVALUATOR,
            builds_on=MOS,
            hint="return None, not 0",
        ),
        Check(
            id="steps",
            title="the four steps of the rate",
            points=12,
            run=steps,
            needs=CONTROLLER,
            public=True,
            hint="to which band does each threshold belong?",
        ),
        Check(
            id="bounds",
            title="the bounds of the rate",
            points=6,
            run=bounds,
            needs=CONTROLLER,
            hint="a rate of 0 can never grow again",
        ),
        Check(
            id="recovery",
            title="recovery to R_max / 2",
            points=10,
            run=recovery,
            needs=CONTROLLER,
            hint="after a poor round, five good rounds in a row; only once",
        ),
        Check(
            id="protects",
            title="calls beside TCP keep their quality",
            points=12,
            run=protects,
            needs=BOTH,
            builds_on=(*MOS, *BOTH),
            hint="this passes if all checks above pass; fix those first",
            simulates=True,
        ),
        Check(
            id="uses",
            title="... and TCP gets the rest",
            points=8,
            run=uses,
            needs=BOTH,
            builds_on=(*MOS, *BOTH),
            hint="a rate that never rises wastes capacity",
            simulates=True,
        ),
    ),
)
