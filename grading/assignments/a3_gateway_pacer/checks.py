"""Assignment 3's rubric.

Expected values are built forwards: a check chooses the waiting time per node and makes the round trip of it, where a
solution has to go backwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pacelab import Experiment, FlowKey, Point
from pacelab.grading.assignment import Assignment, Check, Finding, Wrong
from pacelab.grading.figures import bars, timeline
from pacelab.grading.lab import DOWN, MS, UP, Lab, S, Shell, near
from pacelab.grading.remote import RemoteObject

PACER = "GatewayPacer"
ALLOWED = ("Forward", "Drop")
DATA_BYTES, ACK_BYTES = 1500, 40
EQUAL = (2_000_000,) * 5
DATA_MS, ACK_MS = 6.0, 0.16
"""1500 and 40 bytes at 2 Mbit/s."""
MARGIN = 1.15
"""Goodput over NewReno's that earns all points; equality earns none. Model: 1.6 and more, see docs/grading.md."""
FAIR, UNFAIR = 0.93, 0.5
"""Jain's index that earns all points, and none."""


def round_trip_ns(waiting_ms: float, rates_bps: Sequence[int] = EQUAL) -> int:
    """The round trip that a waiting time per node gives."""
    crossing_ns = sum((DATA_BYTES + ACK_BYTES) * 8 * S / rate for rate in rates_bps)
    return round(crossing_ns + 2 * len(rates_bps) * waiting_ms * MS)


def equal_rates(lab: Lab) -> None:
    """Five hops at 2 Mbit/s."""
    delay = lab.function("four_hop_delay_ns")
    for waiting_ms in (0, 2, lab.random("waiting").randrange(3, 30)):
        got = delay(round_trip_ns(waiting_ms), DATA_BYTES, ACK_BYTES, EQUAL)
        near(4 * (waiting_ms + DATA_MS) * MS, got, what=f"FHD of five equal hops, t_q = {waiting_ms} ms, in ns")


def unequal_rates(lab: Lab) -> None:
    """Links of different rates, the slow one among the first four, then behind them."""
    delay = lab.function("four_hop_delay_ns")
    waiting_ms = lab.random("waiting").randrange(1, 20)
    for rates, ahead_ms in (
        ((11_000_000, 1_000_000, 2_000_000, 2_000_000, 2_000_000), 12 / 11 + 12 + 6 + 6),
        ((2_000_000, 2_000_000, 2_000_000, 2_000_000, 1_000_000, 1_000_000), 24),
    ):
        got = delay(round_trip_ns(waiting_ms, rates), DATA_BYTES, ACK_BYTES, rates)
        near((4 * waiting_ms + ahead_ms) * MS, got, what=f"FHD over {rates}, t_q = {waiting_ms} ms, in ns")


def short_path(lab: Lab) -> None:
    """One to three hops: the h-hop delay."""
    delay = lab.function("four_hop_delay_ns")
    waiting_ms = lab.random("waiting").randrange(1, 20)
    for hops in (3, 2, 1):
        got = delay(round_trip_ns(waiting_ms, EQUAL[:hops]), DATA_BYTES, ACK_BYTES, EQUAL[:hops])
        near(hops * (waiting_ms + DATA_MS) * MS, got, what=f"delay of a path of {hops} hops, in ns")


def idle_path(lab: Lab) -> None:
    """A round trip shorter than the packets' own time: t_q is 0, not negative."""
    got = lab.function("four_hop_delay_ns")(20 * MS, DATA_BYTES, ACK_BYTES, EQUAL)
    near(4 * DATA_MS * MS, got, what="FHD when the round trip leaves no time to wait, in ns")


def _feed(estimator: RemoteObject, waiting_ms: float) -> None:
    estimator.call("sample", round_trip_ns(waiting_ms), DATA_BYTES, ACK_BYTES, EQUAL)


def smoothing(lab: Lab) -> None:
    """Eq. (2): 0.7 of the old, 0.3 of the new, the first sample as it is."""
    estimator = lab.new("PaceEstimator")
    _feed(estimator, 4)
    near(40 * MS, estimator.get("four_hop_delay_ns"), what="FHD_hat after one sample of 40 ms")
    _feed(estimator, 14)
    near((0.7 * 40 + 0.3 * 80) * MS, estimator.get("four_hop_delay_ns"), what="FHD_hat after samples of 40 and 80 ms")
    _feed(estimator, 14)
    near((0.7 * 52 + 0.3 * 80) * MS, estimator.get("four_hop_delay_ns"), what="FHD_hat after 40, 80 and 80 ms")


def variation(lab: Lab) -> None:
    """Eq. (5) by hand: 40, 50, 60 ms have mean 50 and deviation 10."""
    estimator = lab.new("PaceEstimator")
    near(0, estimator.call("cov"), what="COV without a sample")
    for index, rtt_ms in enumerate((40, 50, 60)):
        estimator.call("sample", rtt_ms * MS, DATA_BYTES, ACK_BYTES, EQUAL)
        if index == 0:
            near(0, estimator.call("cov"), what="COV of one sample")
    near(0.2, estimator.call("cov"), what="COV of 40, 50 and 60 ms")
    for _ in range(50):
        estimator.call("sample", 70 * MS, DATA_BYTES, ACK_BYTES, EQUAL)
    near(0, estimator.call("cov"), what="COV once the newest 50 round trips are all 70 ms", tolerance=1e-6)


def interval(lab: Lab) -> None:
    """Eq. (1)."""
    estimator = lab.new("PaceEstimator")
    near(0, estimator.call("interval_ns"), what="T before the first sample")
    _feed(estimator, 4)
    near(40 * MS, estimator.call("interval_ns"), what="T after one sample of FHD = 40 ms")
    for _ in range(2):
        _feed(estimator, 4)
    near(40 * MS, estimator.call("interval_ns"), what="T while the round trips do not vary")
    _feed(estimator, 11)  # RTT 70.8, 70.8, 70.8, 140.8: mean 88.3, deviation 35; FHD_hat = 0.7 x 40 + 0.3 x 68
    near(48.4 * (1 + 2 * 35 / 88.3) * MS, estimator.call("interval_ns"), what="T of varying round trips, in ns")
    for _ in range(20):
        _feed(estimator, 200)
    near(500 * MS, estimator.call("interval_ns"), what="T on a very slow path: MAX_INTERVAL_NS")


def others_pass(lab: Lab) -> None:
    """Only data from the wired side waits."""
    shell = lab.shell(PACER, allowed=ALLOWED)
    _primed(shell)
    for segment, point, what in (
        (shell.ack(UP, 1460), Point.WIRED_TO_AIR, "an ACK from the wired side"),
        (shell.data(DOWN, 0, 0, flags=0x12), Point.WIRED_TO_AIR, "a SYN from the wired side"),
        (shell.data(UP, 0), Point.AIR_TO_WIRED, "data from the air"),
        (shell.ack(DOWN, 2920), Point.AIR_TO_WIRED, "an ACK from the air"),
        (shell.data(FlowKey(100, 2, 80, 9), 0)._replace(protocol=17), Point.WIRED_TO_AIR, "a UDP packet"),
    ):
        shell.see(point, segment)
        if segment.handle in shell.held:
            raise Wrong(f"{what} forwarded at once", "it is held")


def _primed(shell: Shell, waiting_ms: float = 4) -> int:
    """Two segments and their ACKs: FHD 40 ms of five equal hops; returns T in ns."""
    for seq in (0, 1460):
        shell.see(Point.WIRED_TO_AIR, shell.data(DOWN, seq), EQUAL)
        shell.run_until(shell.now_ns + round_trip_ns(waiting_ms))
        if shell.held:
            raise Wrong("data that leaves at once while its flow has no pace, or its pace allows it", "it is held")
        shell.see(Point.AIR_TO_WIRED, shell.ack(DOWN, seq + 1460), EQUAL)
    return 40 * MS


def spacing(lab: Lab) -> None:
    """A burst leaves T apart, none late by more than a millisecond."""
    shell = lab.shell(PACER, allowed=ALLOWED)
    pace_ns = _primed(shell)
    shell.run_until(1 * S)
    for index in range(6):
        shell.see(Point.WIRED_TO_AIR, shell.data(DOWN, 2920 + 1460 * index), EQUAL)
    shell.run_until(3 * S)
    times = shell.times()[2:]
    wanted = [1 * S + index * pace_ns for index in range(6)]
    picture = timeline({"expected": wanted, "yours": times}, "a burst of six at 1000 ms, T = 40 ms")
    if len(times) != 6:
        raise Wrong("six segments released", f"{len(times)}", picture)
    for number, (at_ns, want_ns) in enumerate(zip(times, wanted, strict=True), 1):
        if abs(at_ns - want_ns) > MS:
            raise Wrong(
                f"segment {number} of the burst at {want_ns / MS:g} ms", f"it left at {at_ns / MS:g} ms", picture
            )


def order(lab: Lab) -> None:
    """First in, first out; nothing lost, nothing twice."""
    shell = lab.shell(PACER, allowed=ALLOWED)
    _primed(shell)
    draw = lab.random("arrivals")
    seqs = [2920 + 1460 * index for index in range(12)]
    for seq in seqs:
        shell.see(Point.WIRED_TO_AIR, shell.data(DOWN, seq), EQUAL)
        shell.run_until(shell.now_ns + draw.randrange(0, 60) * MS)
    shell.run_until(shell.now_ns + 5 * S)
    if shell.seqs()[2:] != seqs:
        raise Wrong("all segments once, in the order of their arrival", f"sequence numbers {shell.seqs()[2:]}")


def from_release(lab: Lab) -> None:
    """The wait in the pacer's own queue is no part of the wireless round trip."""
    shell = lab.shell(PACER, allowed=ALLOWED)
    pace_ns = _primed(shell)
    shell.run_until(1 * S)
    for index in range(5):
        shell.see(Point.WIRED_TO_AIR, shell.data(DOWN, 2920 + 1460 * index), EQUAL)
    shell.run_until(1 * S + 4 * pace_ns)
    if len(shell.times()) != 7:
        raise Wrong("five segments released within 4 T", f"{len(shell.times()) - 2}")
    start_ns = shell.times()[-1]
    shell.run_until(start_ns + round_trip_ns(4))
    shell.see(Point.AIR_TO_WIRED, shell.ack(DOWN, 2920 + 5 * 1460), EQUAL)
    _expect_pace(shell, pace_ns, "T after an ACK that comes RTT_wireless after the release")


def karn(lab: Lab) -> None:
    """An ACK for a segment sent twice gives no sample."""
    shell = lab.shell(PACER, allowed=ALLOWED)
    pace_ns = _primed(shell)
    shell.run_until(1 * S)
    shell.see(Point.WIRED_TO_AIR, shell.data(DOWN, 2920), EQUAL)
    shell.run_until(1 * S + 900 * MS)
    shell.see(Point.WIRED_TO_AIR, shell.data(DOWN, 2920), EQUAL)  # the source's timeout
    shell.run_until(shell.now_ns + 5 * MS)
    shell.see(Point.AIR_TO_WIRED, shell.ack(DOWN, 4380), EQUAL)  # of which of the two?
    _expect_pace(shell, pace_ns, "T after the ACK of a retransmitted segment, which says nothing", seq=4380)


def _expect_pace(shell: Shell, pace_ns: int, what: str, *, seq: int = 20_000) -> None:
    """Measure the pace in force by a burst of three."""
    shell.run_until(shell.now_ns + 1 * S)
    before = len(shell.times())
    for index in range(3):
        shell.see(Point.WIRED_TO_AIR, shell.data(DOWN, seq + 1460 * index), EQUAL)
    shell.run_until(shell.now_ns + 3 * S)
    times = shell.times()[before:]
    if len(times) != 3:
        raise Wrong("three segments released", f"{len(times)}")
    near(pace_ns / MS, (times[2] - times[1]) / MS, what=f"{what}, in ms", tolerance=0.02)


def per_flow(lab: Lab) -> None:
    """One flow's queue and pace do not hold up another's."""
    shell = lab.shell(PACER, allowed=ALLOWED)
    _primed(shell)
    shell.run_until(1 * S)
    for index in range(10):
        shell.see(Point.WIRED_TO_AIR, shell.data(DOWN, 2920 + 1460 * index), EQUAL)
    other = FlowKey(src=101, dst=2, sport=80, dport=5001)
    segment = shell.data(other, 0)
    shell.see(Point.WIRED_TO_AIR, segment, EQUAL)
    if segment.handle in shell.held:
        raise Wrong("the first segment of a second flow forwarded at once", "it waits behind the first flow's")
    near(40 * 9, (_drained(shell) - S) / MS, what="time of the first flow's burst of ten, in ms", tolerance=0.02)


def _drained(shell: Shell) -> int:
    shell.run_until(10 * S)
    return shell.times()[-1]


def harmless_timeouts(lab: Lab) -> None:
    """Early, repeated and late timeouts: no release before its time, none forgotten."""
    shell = lab.shell(PACER, allowed=ALLOWED)
    pace_ns = _primed(shell)
    shell.timeout()
    shell.run_until(1 * S)
    for index in range(4):
        shell.see(Point.WIRED_TO_AIR, shell.data(DOWN, 2920 + 1460 * index), EQUAL)
    shell.skip_to(1 * S + pace_ns // 2)
    for _ in range(3):
        shell.timeout()
    if len(shell.times()) != 3:
        raise Wrong("an early timeout that releases nothing", f"{len(shell.times()) - 2} segments released")
    shell.skip_to(1 * S + pace_ns + 7 * MS)
    shell.timeout()
    shell.timeout()
    if len(shell.times()) != 4:
        raise Wrong("a late timeout, and the same again, that release one segment", f"{len(shell.times()) - 3}")
    shell.run_until(3 * S)
    times = shell.times()[2:]
    if len(times) != 4 or min(later - earlier for earlier, later in pairwise(times)) < pace_ns - MS:
        raise Wrong("four segments, at least T apart", f"at {[round(at_ns / MS, 3) for at_ns in times]} ms")


def goodput(lab: Lab) -> Finding:
    """More than NewReno, on chains that nobody has seen, where routing takes contention for broken links (AODV)."""
    shown, ours, theirs = {}, 0.0, 0.0
    for hops in (7, 8, 9):
        chain = Experiment(
            topology="chain",
            topology_options={"hops": hops, "spacing": float(lab.random(f"spacing {hops}").randrange(195, 206))},
            direction="down",
            rate_bps=2_000_000,
            routing="aodv",
            duration_s=20.0,
            seed=lab.seed(f"goodput {hops}"),
        )
        with_hook = lab.simulate(chain, "gateway", PACER, allowed=ALLOWED)["totals"]["goodput_bps"]
        without = lab.baseline(chain)["totals"]["goodput_bps"]
        shown[f"{hops} hops"] = (without / 1e3, with_hook / 1e3)
        ours, theirs = ours + with_hook, theirs + without
    ratio = ours / theirs
    picture = bars(shown, ("NewReno", "yours"), "goodput in kbit/s")
    share = min(1.0, max(0.0, (ratio - 1) / (MARGIN - 1)))
    return Finding(
        share=share,
        expected=f"at least {MARGIN:.2f} times NewReno's goodput over chains of 7, 8 and 9 hops (below: a part)",
        got=f"{ratio:.2f} times ({ours / 3e3:.0f} against {theirs / 3e3:.0f} kbit/s)",
        picture=picture,
    )


def fairness(lab: Lab) -> Finding:
    """Four flows through one gateway."""
    cross = Experiment(
        topology="cross-gateway",
        topology_options={"hops": lab.random("arms").randrange(4, 6)},
        direction="down",
        rate_bps=2_000_000,
        duration_s=20.0,
        seed=lab.seed("fairness"),
    )
    run = lab.simulate(cross, "gateway", PACER, allowed=ALLOWED)
    without = lab.baseline(cross)
    index = run["totals"]["jain"] or 0.0
    moved = run["totals"]["goodput_bps"] > 0.7 * without["totals"]["goodput_bps"]
    flows = {
        f"{flow['src']}-{flow['dst']}": (base["goodput_bps"] / 1e3, flow["goodput_bps"] / 1e3)
        for flow, base in zip(run["flows"], without["flows"], strict=True)
    }
    picture = bars(flows, ("NewReno", "yours"), "goodput in kbit/s")
    total = run["totals"]["goodput_bps"] / without["totals"]["goodput_bps"]
    return Finding(
        share=min(1.0, max(0.0, (index - UNFAIR) / (FAIR - UNFAIR))) if moved else 0.0,
        expected=f"Jain's index of {FAIR} or more over four flows, at 0.7 of NewReno's total or more",
        got=f"index {index:.2f}, {total:.2f} of NewReno's total",
        picture=picture,
    )


DELAY, ESTIMATOR, HOOK = ("four_hop_delay_ns",), ("PaceEstimator",), (PACER,)

ASSIGNMENT = Assignment(
    number=3,
    title="A gateway that paces by the four-hop delay",
    version=1,
    folder="a3_gateway_pacer",
    file="gateway_pacer.py",
    checks=(
        Check(
            id="equal-rates",
            title="the four-hop delay of equal links",
            points=10,
            run=equal_rates,
            needs=DELAY,
            public=True,
            hint="solve eq. (3) for t_q first: both directions wait, and the ACK takes time too; bytes are 8 bits",
        ),
        Check(
            id="unequal-rates",
            title="... of links of different rates",
            points=6,
            run=unequal_rates,
            needs=DELAY,
            hint="the round trip sums over all links, the delay over the first four",
        ),
        Check(
            id="short-path",
            title="... of a path of fewer than four hops",
            points=6,
            run=short_path,
            needs=DELAY,
            hint="a packet cannot get four hops away on a path of two",
        ),
        Check(
            id="idle-path",
            title="... never of negative waiting",
            points=3,
            run=idle_path,
            needs=DELAY,
            hint="t_q is at least 0",
        ),
        Check(
            id="smoothing",
            title="the moving average",
            points=7,
            run=smoothing,
            needs=ESTIMATOR,
            public=True,
            hint="alpha weighs the old value; the first sample is taken as it is",
        ),
        Check(
            id="variation",
            title="the coefficient of variation",
            points=7,
            run=variation,
            needs=ESTIMATOR,
            hint="N - 1 below the sum of squares; deviation over mean; the newest 50 only",
        ),
        Check(
            id="interval",
            title="the time between two packets",
            points=6,
            run=interval,
            needs=ESTIMATOR,
            hint="T grows with the variation: it is the reciprocal of eq. (1)",
        ),
        Check(
            id="others-pass",
            title="only data from the wire is paced",
            points=5,
            run=others_pass,
            needs=HOOK,
            hint="look at event.point and at segment.is_data",
        ),
        Check(
            id="spacing",
            title="a burst leaves T apart",
            points=8,
            run=spacing,
            needs=HOOK,
            public=True,
            hint="after a release the next one is T later, and deadline() says when",
        ),
        Check(
            id="order",
            title="in order, nothing lost",
            points=5,
            run=order,
            needs=HOOK,
            hint="one queue per flow, first in, first out",
        ),
        Check(
            id="from-release",
            title="round trips start at the release",
            points=7,
            run=from_release,
            needs=HOOK,
            hint="a segment that waited in your queue was not in the air yet",
        ),
        Check(
            id="karn",
            title="no sample from retransmissions",
            points=6,
            run=karn,
            needs=HOOK,
            hint="of which of the two transmissions is the ACK?",
        ),
        Check(
            id="per-flow",
            title="flows are paced apart",
            points=5,
            run=per_flow,
            needs=HOOK,
            hint="segment.flow is the key of everything you keep",
        ),
        Check(
            id="timeouts",
            title="early, late and repeated timeouts do no harm",
            points=5,
            run=harmless_timeouts,
            needs=HOOK,
            hint="in handle_timeout compare with now_ns before you release",
        ),
        Check(
            id="goodput",
            title="more goodput than NewReno",
            points=9,
            run=goodput,
            simulates=True,
            needs=HOOK,
            hint="if all above is right, this is too; if not, mend those first",
        ),
        Check(
            id="fairness",
            title="fair among four flows",
            points=5,
            run=fairness,
            simulates=True,
            needs=HOOK,
            hint="state that flows share makes one of them pay for another",
        ),
    ),
)
