"""Assignment 4's rubric. The checks give the hook its random numbers, so each decision is known in advance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pacelab import EventMask, Experiment, HookSettings, Point
from pacelab_grading.rubric.assignment import Assignment, Check
from pacelab_grading.rubric.context import CheckContext, HookDriver, RunJson
from pacelab_grading.rubric.expect import near
from pacelab_grading.rubric.figures import bars
from pacelab_grading.rubric.findings import Finding, WrongAnswer

HOOK = "LinkRed"
ALLOWED = ("Forward", "Drop")
MOST = 0.75
"""Maximum probability of a hook with random thresholds: above all probabilities of `_Contended`."""
QUICKER, FEWER, KEPT = 0.92, 0.85, 0.5
"""Shares of NewReno's round-trip time and losses that earn all points, and of its goodput that must be kept."""


def average(context: CheckContext) -> None:
    """By hand: nine attempts are eight retransmissions, and an eighth of that is one."""
    average_ = context.new("RetryAverage")
    near(0, average_.get("value"), what="the average before any packet")
    for attempts, wanted in ((1, 0.0), (9, 1.0), (1, 0.875), (5, 0.875 * 7 / 8 + 0.5)):
        average_.call("update", attempts)
        near(wanted, average_.get("value"), what=f"the average after {attempts} attempts")
    draw = context.random("attempts")
    for _ in range(6):
        attempts = draw.randrange(1, 9)
        average_.call("update", attempts)
        wanted += (attempts - 1 - wanted) / 8
        near(wanted, average_.get("value"), what=f"the average after {attempts} more attempts")


def probability(context: CheckContext) -> None:
    """Below, within and above the thresholds."""
    chance = context.function("drop_probability")
    for value, wanted in (
        (0.0, 0.0),
        (0.99, 0.0),
        (1.0, 0.0),
        (2.0, 0.25),
        (2.5, 0.375),
        (3.0, 0.5),
        (4.9, 0.5),
        (99.0, 0.5),
    ):
        near(wanted, chance(value, 1.0, 5.0, 0.5), what=f"p at an average of {value}, thresholds 1 and 5, at most 0.5")
    draw = context.random("low")
    for _ in range(4):
        low, wide, most = draw.randrange(1, 40) / 10, draw.randrange(2, 30), draw.randrange(2, 9) / 10
        builds_on = draw.uniform(0, wide)
        what = f"p at {builds_on:.3f} above a threshold of {low}, the other {wide} higher, at most {most}"
        near(min(builds_on / wide, most), chance(low + builds_on, low, low + wide, most), what=what)
        near(0, chance(low * draw.uniform(0, 0.99), low, low + wide, most), what=f"p below a threshold of {low}")


class _Contended:
    """Random thresholds, and frames with an average between them; binary fractions, so that p is exact."""

    def __init__(self, context: CheckContext, topic: str) -> None:
        draw = context.random(topic)
        self.low, self.wide = draw.randrange(2, 6) / 4, draw.choice((4, 8))
        self.attempts = draw.randrange(8, 13)
        self.average = (self.attempts - 1) * 15 / 64  # after two frames
        self.chance = self.probability(self.average)

    def probability(self, average: float) -> float:
        """At this average; it is below `MOST`."""
        return (average - self.low) / self.wide

    def drive(
        self, context: CheckContext, draws: Sequence[float], *, delivered: Sequence[bool] = (True, True)
    ) -> HookDriver:
        """A hook with these random numbers, after two frames."""
        edges = {"min_retries": self.low, "max_retries": self.low + self.wide, "max_probability": MOST}
        driver = context.drive(HOOK, allowed=ALLOWED, uniform={"$draws": list(draws)}, **edges)
        for arrived in delivered:
            driver.transmitted(driver.data(), self.attempts, delivered=arrived)
        return driver


def _fate(driver: HookDriver, segment: Any, *, dropped: bool, why: str) -> None:
    driver.see(Point.LINK, segment)
    if segment.handle in driver.held:
        raise WrongAnswer("an immediate decision, Forward or Drop", "the segment is held")
    was_dropped = any(item.handle == segment.handle for item, _ in driver.dropped)
    if was_dropped != dropped:
        raise WrongAnswer(f"{'Drop' if dropped else 'Forward'}: {why}", "Drop" if was_dropped else "Forward")


def idle(context: CheckContext) -> None:
    """Without retransmissions all packets pass, and no number is drawn."""
    driver = _Contended(context, "idle").drive(context, (), delivered=())
    for index in range(10):
        _fate(driver, driver.data(seq=1460 * index), dropped=False, why="no frame was retransmitted")
        driver.transmitted(driver.data(), 1)


def draws(context: CheckContext) -> None:
    """At p = 0 no number is drawn, above it one for each packet."""
    case, draw = _Contended(context, "draws"), context.random("numbers")
    numbers = [0.0, 0.99, *(draw.choice((0.0, 0.99)) for _ in range(3))]
    draw.shuffle(numbers)
    numbers += [case.chance, case.chance * 0.9999]
    driver = case.drive(context, numbers, delivered=())
    if driver.hook.event_mask != EventMask.SEGMENT | EventMask.TRANSMIT:
        raise WrongAnswer("an event_mask of SEGMENT | TRANSMIT, to receive both events", str(driver.hook.event_mask))
    _fate(driver, driver.data(), dropped=False, why="p = 0")
    for _ in range(2):
        driver.transmitted(driver.data(), case.attempts)
    for number in numbers:
        why = f"p = {case.chance:g}, and the random number for this packet is {number:g}"
        _fate(driver, driver.data(), dropped=number < case.chance, why=why)
    _defaults(context)


def _defaults(context: CheckContext) -> None:
    """The defaults are thresholds 0.4 and 20 and a maximum of 0.05: averages of 0.375, 1 and 2.64 test all of them."""
    chance = 0.6 / 19.6
    for frames, drawn, dropped in (
        ((4,), None, False),
        ((9,), chance * 1.001, False),
        ((9,), chance * 0.999, True),
        ((9, 9, 9), 0.0501, False),
        ((9, 9, 9), 0.0499, True),
    ):
        driver = context.drive(HOOK, allowed=ALLOWED, uniform={"$draws": [] if drawn is None else [drawn]})
        for attempts in frames:
            driver.transmitted(driver.data(), attempts)
        _fate(
            driver,
            driver.data(),
            dropped=dropped,
            why=f"default thresholds, frames of {frames} attempts, drawn {drawn}",
        )


def learns(context: CheckContext) -> None:
    """The average follows the frames, delivered or not; random numbers on both sides of p show it."""
    case = _Contended(context, "learns")
    later = case.probability(case.average * 7 / 8)
    given_up = context.random("given up").randrange(2)
    numbers = [chance + aside for chance in (case.chance, later) for aside in (0.01, -0.01)]
    driver = case.drive(context, numbers, delivered=(given_up != 0, given_up != 1))
    _fate(driver, driver.data(), dropped=False, why=f"drawn {numbers[0]:.4f}, p = {case.chance:.4f}")
    _fate(driver, driver.data(), dropped=True, why=f"drawn {numbers[1]:.4f}, p = {case.chance:.4f}")
    driver.transmitted(driver.data(), 1, to=0)
    after = f"p = {later:.4f} after a delivered frame"
    _fate(driver, driver.data(), dropped=False, why=f"drawn {numbers[2]:.4f}, {after}")
    _fate(driver, driver.data(), dropped=True, why=f"drawn {numbers[3]:.4f}, {after}")
    other = context.drive_in_same_process(driver, HOOK, allowed=ALLOWED, uniform={"$draws": [0.0]})
    _fate(
        other, other.data(), dropped=False, why="no frame of this node was retransmitted, only frames of another node"
    )


def broadcasts(context: CheckContext) -> None:
    """They are sent once, so they give no information."""
    case = _Contended(context, "broadcasts")
    number = case.chance * 0.9
    driver = case.drive(context, (number,))
    for _ in range(20):
        driver.transmitted(driver.data(), 1, to=None)
    why = f"drawn {number:.4f}, p = {case.chance:.4f} as before the broadcasts"
    _fate(driver, driver.data(), dropped=True, why=why)


def alike(context: CheckContext) -> None:
    """ACKs and other packets are treated like data."""
    case, draw = _Contended(context, "alike"), context.random("sides")
    kinds = ["an ACK", "a datagram", "a SYN"]
    fates = [(kind, dropped) for kind in kinds for dropped in (True, False)]
    draw.shuffle(fates)
    driver = case.drive(context, [case.chance * (0.9 if dropped else 1.1) for _, dropped in fates])
    for kind, dropped in fates:
        why = f"{kind}, random number {'below' if dropped else 'above'} p = {case.chance:.4f}"
        _fate(driver, _packet(driver, kind), dropped=dropped, why=why)


def _packet(driver: HookDriver, kind: str) -> Any:
    if kind == "an ACK":
        return driver.ack()
    return driver.data(payload=0, flags=0x02) if kind == "a SYN" else driver.data()._replace(protocol=17)


def _compare(
    context: CheckContext,
) -> tuple[dict[str, tuple[float, float]], list[tuple[RunJson, RunJson]]]:
    pairs = []
    for hops in (6, 7):
        chain = Experiment(
            topology="chain",
            topology_options={"hops": hops, "wired": False},
            rate_bps=2_000_000,
            min_rto_s=1.0,
            duration_s=20.0,
            seed=context.seed(f"chain {hops}"),
        )

        def stream(settings: HookSettings) -> dict[str, str]:
            return {"$stream": f"{context.seed('stream')}/{settings.node}"}

        ours = context.simulate(chain, "link", HOOK, allowed=ALLOWED, uniform=stream)
        pairs.append((ours, context.baseline(chain)))
    shown = {
        f"{hops} hops": (base["totals"]["goodput_bps"] / 1e3, run["totals"]["goodput_bps"] / 1e3)
        for hops, (run, base) in zip((6, 7), pairs, strict=True)
    }
    return shown, pairs


def _kept(pairs: Sequence[tuple[RunJson, RunJson]]) -> float:
    ours = sum(run["totals"]["goodput_bps"] for run, _ in pairs)
    return float(ours / sum(base["totals"]["goodput_bps"] for _, base in pairs))


def delay(context: CheckContext) -> Finding:
    """A smaller window means shorter queues."""
    shown, pairs = _compare(context)
    kept = _kept(pairs)
    expected = f"a round-trip time of at most {QUICKER} of NewReno's, with at least {KEPT} of its goodput"
    picture = bars(shown, ("NewReno", "yours"), "goodput in kbit/s")
    trips_s = [run["flows"][0]["rtt_mean_s"] for run, _ in pairs]
    if None in trips_s:
        raise WrongAnswer(expected, f"no round trip, {kept:.2f} of its goodput", picture)
    ratio = sum(trips_s) / sum(base["flows"][0]["rtt_mean_s"] for _, base in pairs)
    return Finding(
        share=min(1.0, max(0.0, (1 - ratio) / (1 - QUICKER))) if kept >= KEPT else 0.0,
        expected=expected,
        got=f"{ratio:.2f} of its round-trip time, {kept:.2f} of its goodput",
        picture=picture,
    )


def losses(context: CheckContext) -> Finding:
    """Early drops avoid losses at the retry limit."""
    shown, pairs = _compare(context)
    kept = _kept(pairs)
    ours = sum(run["totals"]["link_dropped_pkts"] for run, _ in pairs)
    ratio = ours / max(1, sum(base["totals"]["link_dropped_pkts"] for _, base in pairs))
    return Finding(
        share=min(1.0, max(0.0, (1 - ratio) / (1 - FEWER))) if kept >= KEPT else 0.0,
        expected=f"at most {FEWER} of NewReno's losses at the retry limit, with at least {KEPT} of its goodput",
        got=f"{ratio:.2f} of its losses, {kept:.2f} of its goodput",
        picture=bars(shown, ("NewReno", "yours"), "goodput in kbit/s"),
    )


AVERAGE, CHANCE, RED = ("RetryAverage",), ("drop_probability",), (HOOK,)


ASSIGNMENT = Assignment(
    number=4,
    title="Link RED",
    version=1,
    folder="a4_link_red",
    file="link_red.py",
    checks=(
        Check(
            id="average",
            title="the moving average of retransmissions",
            points=12,
            run=average,
            needs=AVERAGE,
            public=True,
            hint="the first attempt is not a retransmission; the old value has the weight 7/8",
        ),
        Check(
            id="probability",
            title="the drop probability",
            points=14,
            run=probability,
            needs=CHANCE,
            public=True,
            hint="the line is 0 at the lower threshold; max_probability is its limit",
        ),
        Check(
            id="idle",
            title="without contention all packets pass",
            points=8,
            run=idle,
            needs=RED,
            builds_on=(*AVERAGE, *CHANCE),
            public=True,
            hint="at p = 0, draw no number and drop nothing",
        ),
        Check(
            id="draws",
            title="one random number per packet if p > 0",
            points=10,
            run=draws,
            needs=RED,
            builds_on=(*AVERAGE, *CHANCE),
            hint="an unnecessary number shifts all later ones; drop a packet if its number is below p",
        ),
        Check(
            id="learns",
            title="the average follows the transmitted frames",
            points=12,
            run=learns,
            needs=RED,
            builds_on=(*AVERAGE, *CHANCE),
            hint="count attempts of delivered and dropped frames; each node has its own average",
        ),
        Check(
            id="broadcasts",
            title="broadcasts do not change the average",
            points=8,
            run=broadcasts,
            needs=RED,
            builds_on=(*AVERAGE, *CHANCE),
            hint="next_hop is None: such a frame is never retransmitted",
        ),
        Check(
            id="alike",
            title="all packets are treated the same",
            points=8,
            run=alike,
            needs=RED,
            builds_on=(*AVERAGE, *CHANCE),
            hint="as the paper prints it, ACKs are dropped as well",
        ),
        Check(
            id="delay",
            title="shorter round trips than NewReno alone",
            points=14,
            run=delay,
            needs=RED,
            builds_on=(*AVERAGE, *CHANCE),
            hint="this passes if all checks above pass; fix those first",
            simulates=True,
        ),
        Check(
            id="losses",
            title="fewer losses at the retry limit",
            points=14,
            run=losses,
            needs=RED,
            builds_on=(*AVERAGE, *CHANCE),
            hint="this passes if all checks above pass; fix those first",
            simulates=True,
        ),
    ),
)
