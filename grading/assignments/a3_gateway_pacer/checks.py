"""Assignment 3's rubric.

Expected values are built forwards: a check chooses the waiting time per node and makes the round trip of it, where a
solution has to go backwards.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from pacelab import Experiment, FlowKey, Point
from pacelab.grading.assignment import Assignment, Check, Finding, Wrong
from pacelab.grading.figures import bars, timeline
from pacelab.grading.lab import DOWN, HEADERS, MS, UP, Lab, S, Shell, exactly, near, numeric
from pacelab.grading.remote import RemoteObject

PACER = "GatewayPacer"
ALLOWED = ("Forward", "Drop")
DATA_BYTES, ACK_BYTES = 1500, 40
EQUAL = (2_000_000,) * 5
DATA_MS = 6.0
"""1500 bytes at 2 Mbit/s."""
RATES = (1_000_000, 2_000_000, 5_500_000, 11_000_000)
WRAP = 1 << 32
LATE_NS = 1000
"""The clock of these checks is punctual: what is late by more was meant to be."""
MARGIN = 1.15
"""Goodput over NewReno's that earns all points; equality earns none. Model: 1.6 and more, see docs/grading.md."""
FAIR, UNFAIR = 0.93, 0.5
"""Jain's index that earns all points, and none."""


class Taken(NamedTuple):
    """A round trip, chosen by how long each node waits: a solution has to find that out."""

    waiting_ms: float
    data_bytes: int = DATA_BYTES
    ack_bytes: int = ACK_BYTES
    rates_bps: tuple[int, ...] = EQUAL

    @property
    def rtt_ns(self) -> int:
        """How long it takes."""
        crossing_ns = sum((self.data_bytes + self.ack_bytes) * 8 * S / rate for rate in self.rates_bps)
        return round(crossing_ns + 2 * len(self.rates_bps) * self.waiting_ms * MS)

    @property
    def delay_ns(self) -> float:
        """Its four-hop delay."""
        ahead = self.rates_bps[:4]
        return len(ahead) * self.waiting_ms * MS + sum(self.data_bytes * 8 * S / rate for rate in ahead)


FIRST = Taken(4)
"""T = 40 ms."""


def wanted_ns(taken: Sequence[Taken]) -> float:
    """T after these round trips."""
    smoothed = taken[0].delay_ns
    for item in taken[1:]:
        smoothed += 0.3 * (item.delay_ns - smoothed)
    trips = [item.rtt_ns for item in taken[-50:]]
    variation = statistics.stdev(trips) / statistics.fmean(trips) if len(trips) > 1 else 0.0
    return min(smoothed * (1 + 2 * variation), 500 * MS)


def drawn(draw: Random, *, hops: int | None = None, rates: Sequence[int] = RATES) -> Taken:
    """A round trip of sizes, rates and waiting that nobody can know."""
    count = hops or draw.randrange(4, 9)
    path = tuple(draw.choice(rates) for _ in range(count))
    return Taken(draw.randrange(1, 300) / 10, draw.randrange(200, 1501), draw.randrange(40, 121), path)


def _delay(lab: Lab, cases: Sequence[Taken]) -> None:
    delay = lab.function("four_hop_delay_ns")
    for taken in cases:
        got = delay(taken.rtt_ns, taken.data_bytes, taken.ack_bytes, taken.rates_bps)
        what = f"FHD of {taken.data_bytes} and {taken.ack_bytes} bytes over {taken.rates_bps}, t_q = "
        near(taken.delay_ns, got, what=f"{what}{taken.waiting_ms:g} ms, in ns")


def equal_rates(lab: Lab) -> None:
    """Five hops at 2 Mbit/s, then other sizes, rates and lengths."""
    draw = lab.random("equal rates")
    others = [drawn(draw, rates=(rate,)) for rate in RATES]
    _delay(lab, [Taken(0), Taken(2), Taken(draw.randrange(3, 30)), *others])


def unequal_rates(lab: Lab) -> None:
    """Links of different rates, the slow one among the first four, then behind them."""
    draw = lab.random("unequal rates")
    waiting_ms = draw.randrange(1, 20)
    known = (
        (11_000_000, 1_000_000, 2_000_000, 2_000_000, 2_000_000),
        (2_000_000, 2_000_000, 2_000_000, 2_000_000, 1_000_000, 1_000_000),
    )
    _delay(lab, [*(Taken(waiting_ms, rates_bps=rates) for rates in known), *(drawn(draw) for _ in range(4))])


def short_path(lab: Lab) -> None:
    """One to three hops: the h-hop delay."""
    draw = lab.random("short path")
    known = [Taken(draw.randrange(1, 20), rates_bps=EQUAL[:hops]) for hops in (3, 2, 1)]
    _delay(lab, [*known, *(drawn(draw, hops=hops, rates=(draw.choice(RATES),)) for hops in (3, 2, 1))])


def idle_path(lab: Lab) -> None:
    """A round trip shorter than the packets' own time: t_q is 0, not negative."""
    delay = lab.function("four_hop_delay_ns")
    near(4 * DATA_MS * MS, delay(20 * MS, DATA_BYTES, ACK_BYTES, EQUAL), what="FHD when no time is left to wait, in ns")
    draw = lab.random("idle path")
    taken = drawn(draw, rates=(draw.choice(RATES),))._replace(waiting_ms=0)
    got = delay(draw.randrange(1, taken.rtt_ns), taken.data_bytes, taken.ack_bytes, taken.rates_bps)
    near(taken.delay_ns, got, what=f"FHD over {taken.rates_bps} when no time is left to wait, in ns")


def _take(estimator: RemoteObject, taken: Taken) -> None:
    estimator.call("sample", taken.rtt_ns, taken.data_bytes, taken.ack_bytes, taken.rates_bps)


def smoothing(lab: Lab) -> None:
    """Eq. (2): 0.7 of the old, 0.3 of the new, the first sample as it is."""
    estimator = lab.new("PaceEstimator")
    exactly(None, estimator.get("four_hop_delay_ns"), what="FHD_hat before the first sample")
    for waiting_ms, wanted, what in (
        (4, 40.0, "one sample of 40 ms"),
        (14, 0.7 * 40 + 0.3 * 80, "samples of 40 and 80 ms"),
        (14, 0.7 * 52 + 0.3 * 80, "40, 80 and 80 ms"),
    ):
        _take(estimator, Taken(waiting_ms))
        near(wanted * MS, estimator.get("four_hop_delay_ns"), what=f"FHD_hat after {what}")
    draw = lab.random("smoothing")
    estimator = lab.new("PaceEstimator")
    smoothed = None
    for number in range(1, 6):
        taken = drawn(draw)
        _take(estimator, taken)
        smoothed = taken.delay_ns if smoothed is None else 0.7 * smoothed + 0.3 * taken.delay_ns
        near(smoothed, estimator.get("four_hop_delay_ns"), what=f"FHD_hat after {number} samples of other sizes")


def variation(lab: Lab) -> None:
    """Eq. (5) by hand: 40, 50, 60 ms have mean 50 and deviation 10; then any, of which the newest 50 count."""
    estimator = lab.new("PaceEstimator")
    near(0, estimator.call("cov"), what="COV without a sample")
    for index, rtt_ms in enumerate((40, 50, 60)):
        estimator.call("sample", rtt_ms * MS, DATA_BYTES, ACK_BYTES, EQUAL)
        if index == 0:
            near(0, estimator.call("cov"), what="COV of one sample")
        elif index == 1:
            near(math.sqrt(50) / 45, estimator.call("cov"), what="COV of 40 and 50 ms")
    near(0.2, estimator.call("cov"), what="COV of 40, 50 and 60 ms")
    draw = lab.random("variation")
    trips = [40 * MS, 50 * MS, 60 * MS]
    for _ in range(55):
        trips.append(draw.randrange(30, 300) * MS)
        estimator.call("sample", trips[-1], DATA_BYTES, ACK_BYTES, EQUAL)
        if len(trips) in (7, 49, 50, 51, 52, 58):
            newest = trips[-50:]
            wanted = statistics.stdev(newest) / statistics.fmean(newest)
            near(wanted, estimator.call("cov"), what=f"COV of the newest 50 of {len(trips)} round trips")


def interval(lab: Lab) -> None:
    """Eq. (1)."""
    estimator = lab.new("PaceEstimator")
    near(0, estimator.call("interval_ns"), what="T before the first sample")
    taken = [Taken(4)] * 3
    for count in (1, 2, 3):
        _take(estimator, taken[count - 1])
        near(40 * MS, estimator.call("interval_ns"), what="T while the round trips do not vary")
    draw = lab.random("interval")
    for item in (Taken(11), *(drawn(draw) for _ in range(4))):
        taken.append(item)
        _take(estimator, item)
        got = numeric(estimator.call("interval_ns"), what="T of varying round trips")
        near(wanted_ns(taken), got, what=f"T of {len(taken)} varying round trips, in ns")
        if got % 1:
            raise Wrong("T, a whole number of ns", f"{got}")
    for _ in range(20):
        _take(estimator, Taken(200))
    near(500 * MS, estimator.call("interval_ns"), what="T on a very slow path: MAX_INTERVAL_NS")


def others_pass(lab: Lab) -> None:
    """Only data from the wired side waits, and all else passes it."""
    shell = lab.shell(PACER, allowed=ALLOWED)
    _primed(shell)
    for index in range(2, 8):
        shell.see(Point.WIRED_TO_AIR, shell.data(DOWN, 1460 * index), EQUAL)
    _some_waits(shell)
    for segment, point, what in (
        (shell.ack(UP, 1460), Point.WIRED_TO_AIR, "an ACK from the wired side"),
        (shell.data(DOWN, 0, 0, flags=0x12), Point.WIRED_TO_AIR, "a SYN from the wired side"),
        (shell.data(UP, 0), Point.AIR_TO_WIRED, "data from the air"),
        (shell.ack(DOWN, 2920), Point.AIR_TO_WIRED, "an ACK from the air"),
        (shell.data(FlowKey(100, 2, 80, 9), 0)._replace(protocol=17), Point.WIRED_TO_AIR, "a UDP packet"),
        (shell.data(DOWN, 0)._replace(protocol=17), Point.WIRED_TO_AIR, "a UDP packet of the same addresses"),
    ):
        shell.see(point, segment)
        if segment.handle in shell.held:
            raise Wrong(f"{what} forwarded at once", "it is held")


def _some_waits(shell: Shell) -> None:
    if not shell.held:
        raise Wrong("first of all, of data that comes at once, some that waits", "nothing is held")


def _primed(shell: Shell, *, taken: Taken = FIRST, start: int = 0, flow: FlowKey = DOWN) -> int:
    """Two segments and their ACKs, so that the flow has its pace; returns T in ns."""
    for seq in (start, start + taken.data_bytes - HEADERS):
        _trip(shell, seq, taken, flow=flow)
    return round(wanted_ns([taken, taken]))


def _trip(shell: Shell, seq: int, taken: Taken, *, flow: FlowKey = DOWN) -> None:
    """A segment that leaves at once, and its ACK."""
    payload = taken.data_bytes - HEADERS
    shell.see(Point.WIRED_TO_AIR, shell.data(flow, seq % WRAP, payload), taken.rates_bps)
    if shell.held:
        raise Wrong("data that leaves at once while its flow has no pace, or its pace allows it", "it is held")
    shell.run_until(shell.now_ns + taken.rtt_ns)
    _ack(shell, seq + payload, taken, flow=flow)


def _ack(shell: Shell, number: int, taken: Taken, *, flow: FlowKey = DOWN) -> None:
    ack = shell.ack(flow, number % WRAP)._replace(packet_bytes=taken.ack_bytes)
    shell.see(Point.AIR_TO_WIRED, ack, taken.rates_bps)


def spacing(lab: Lab) -> None:
    """A burst leaves T apart, punctually."""
    shell = lab.shell(PACER, allowed=ALLOWED)
    pace_ns = _primed(shell, taken=Taken(lab.random("spacing").randrange(20, 90) / 10))
    shell.run_until(1 * S)
    for index in range(6):
        shell.see(Point.WIRED_TO_AIR, shell.data(DOWN, 2920 + 1460 * index), EQUAL)
    shell.run_until(3 * S)
    times = shell.times()[2:]
    wanted = [1 * S + index * pace_ns for index in range(6)]
    picture = timeline({"expected": wanted, "yours": times}, f"a burst of six at 1000 ms, T = {pace_ns / MS:g} ms")
    if len(times) != 6:
        raise Wrong("six segments released", f"{len(times)}", picture)
    for number, (at_ns, want_ns) in enumerate(zip(times, wanted, strict=True), 1):
        if abs(at_ns - want_ns) > LATE_NS:
            raise Wrong(
                f"segment {number} of the burst at {want_ns / MS:g} ms", f"it left at {at_ns / MS:g} ms", picture
            )


def order(lab: Lab) -> None:
    """First in, first out; nothing lost, nothing twice."""
    shell = lab.shell(PACER, allowed=ALLOWED)
    _primed(shell)
    draw = lab.random("arrivals")
    seqs = [(WRAP - 4 * 1460 + 1460 * index) % WRAP for index in range(12)]
    for seq in seqs[:6]:
        shell.see(Point.WIRED_TO_AIR, shell.data(DOWN, seq), EQUAL)
    _some_waits(shell)
    for seq in seqs[6:]:
        shell.run_until(shell.now_ns + draw.randrange(0, 60) * MS)
        shell.see(Point.WIRED_TO_AIR, shell.data(DOWN, seq), EQUAL)
    shell.run_until(shell.now_ns + 5 * S)
    if shell.seqs()[2:] != seqs:
        raise Wrong("all segments once, in the order of their arrival", f"sequence numbers {shell.seqs()[2:]}")


def from_release(lab: Lab) -> None:
    """The wait in the pacer's own queue is no part of the wireless round trip; the newest segment covered counts.

    The path is the ACK's, and data from the air gives no round trip.
    """
    draw = lab.random("from release")
    first = Taken(draw.randrange(20, 90) / 10, draw.randrange(600, 1501), draw.randrange(40, 100))
    payload = first.data_bytes - HEADERS
    start = WRAP - payload * 4 - draw.randrange(1, payload)  # sequence numbers begin anew on the way
    shell = lab.shell(PACER, allowed=ALLOWED)
    pace_ns = _primed(shell, taken=first, start=start)
    shell.run_until(2 * S)
    for index in range(2, 8):
        shell.see(Point.WIRED_TO_AIR, shell.data(DOWN, (start + index * payload) % WRAP, payload), EQUAL[:4])
    shell.run_until(2 * S + 5 * pace_ns + MS)
    if len(shell.times()) != 8:
        raise Wrong("six segments released within 5 T", f"{len(shell.times()) - 2}")
    shell.see(Point.AIR_TO_WIRED, shell.data(UP, 0)._replace(ack=(start + 4 * payload) % WRAP), EQUAL)
    last = first._replace(waiting_ms=first.waiting_ms + draw.randrange(5, 30) / 10)
    shell.run_until(shell.times()[-2] + last.rtt_ns)
    _ack(shell, start + 7 * payload + payload // 2, last)  # of five, and half of the sixth
    _expect_pace(
        shell,
        wanted_ns([first, first, last]),
        "T after one ACK for five of six segments that waited in the pacer",
        seq=start + 8 * payload,
    )


def karn(lab: Lab) -> None:
    """An ACK for a segment sent twice gives no sample, those after it do."""
    draw = lab.random("karn")
    first = Taken(draw.randrange(20, 90) / 10)
    payload = DATA_BYTES - HEADERS
    start = WRAP - 2 * payload - draw.randrange(200, payload)  # sequence numbers begin anew within the third
    shell = lab.shell(PACER, allowed=ALLOWED)
    pace_ns = _primed(shell, taken=first, start=start)
    shell.run_until(1 * S)
    again = (start + 2 * payload) % WRAP
    shell.see(Point.WIRED_TO_AIR, shell.data(DOWN, again), EQUAL)
    shell.run_until(1 * S + 900 * MS)
    shell.see(Point.WIRED_TO_AIR, shell.data(DOWN, again - 100), EQUAL)  # the source's timeout, cut elsewhere
    shell.run_until(shell.now_ns + 5 * MS)
    _ack(shell, start + 3 * payload, first)  # of which of the two?
    _expect_pace(
        shell, pace_ns, "T after the ACK of a retransmitted segment, which says nothing", seq=start + 3 * payload
    )
    shell.run_until(shell.now_ns + 2 * S)
    _ack(shell, start + 6 * payload, first)  # of the burst, long after: a sample like any other
    late_ns = shell.now_ns - shell.times()[-1]
    crossing_ns = first._replace(waiting_ms=0).rtt_ns
    late = first._replace(waiting_ms=(late_ns - crossing_ns) / (2 * len(EQUAL)) / MS)
    _expect_pace(shell, wanted_ns([first, first, late]), "T after the next ACK", seq=start + 6 * payload)
    _several_again(lab)
    _one_of_two_again(lab)


def _several_again(lab: Lab) -> None:
    """Three segments sent twice, the middle one last: no ACK gives a sample before one has covered the third."""
    shell = lab.shell(PACER, allowed=ALLOWED)
    pace_ns = _primed(shell)
    payload = DATA_BYTES - HEADERS
    for index in (2, 3, 4, 2, 4, 3):
        shell.run_until(shell.now_ns + 1 * S)
        shell.see(Point.WIRED_TO_AIR, shell.data(DOWN, index * payload), EQUAL)
    for covered in (3, 4, 5):
        shell.run_until(shell.now_ns + 100 * MS)
        _ack(shell, covered * payload, FIRST)
    what = "T after the ACKs, one by one, of three segments that were sent twice"
    _expect_pace(shell, pace_ns, what, seq=5 * payload)


def _one_of_two_again(lab: Lab) -> None:
    """The ACK of the first, which was sent twice, lifts the rule; that of the second is a sample."""
    shell = lab.shell(PACER, allowed=ALLOWED)
    _primed(shell)
    payload = DATA_BYTES - HEADERS
    for index in (2, 3, 2):
        shell.run_until(shell.now_ns + 1 * S)
        shell.see(Point.WIRED_TO_AIR, shell.data(DOWN, index * payload), EQUAL)
    shell.run_until(shell.times()[3] + Taken(150).rtt_ns)
    _ack(shell, 3 * payload, FIRST)
    _ack(shell, 4 * payload, FIRST)
    what = "T after the ACK of a segment that was sent once, after that of one that was sent twice"
    _expect_pace(shell, wanted_ns([FIRST, FIRST, Taken(150)]), what, seq=4 * payload)


def _expect_pace(shell: Shell, pace_ns: float, what: str, *, seq: int = 20_000, flow: FlowKey = DOWN) -> None:
    """Measure the pace in force by a burst of three."""
    shell.run_until(shell.now_ns + 1 * S)
    before = len(shell.times(flow))
    for index in range(3):
        shell.see(Point.WIRED_TO_AIR, shell.data(flow, (seq + 1460 * index) % WRAP), EQUAL)
    shell.run_until(shell.now_ns + 3 * S)
    times = shell.times(flow)[before:]
    if len(times) != 3:
        raise Wrong("three segments released", f"{len(times)}")
    near(pace_ns / MS, (times[2] - times[1]) / MS, what=f"{what}, in ms", tolerance=1e-5)


def per_flow(lab: Lab) -> None:
    """One flow's queue and pace do not hold up another's, whatever part of its key is another."""
    shell = lab.shell(PACER, allowed=ALLOWED)
    pace_ns = _primed(shell)
    shell.run_until(1 * S)
    for index in range(10):
        shell.see(Point.WIRED_TO_AIR, shell.data(DOWN, 2920 + 1460 * index), EQUAL)
    draw = lab.random("other flows")
    for part in FlowKey._fields:
        other = DOWN._replace(**{part: draw.randrange(200, 250)})
        segment = shell.data(other, 0)
        shell.see(Point.WIRED_TO_AIR, segment, EQUAL)
        if segment.handle in shell.held:
            raise Wrong(
                f"the first segment of a flow with another {part} forwarded at once", "it waits behind another's"
            )
    near(
        pace_ns * 9 / MS,
        (_drained(shell) - S) / MS,
        what="time of the first flow's burst of ten, in ms",
        tolerance=1e-5,
    )

    _together(lab)
    _beside_one_again(lab)


def _together(lab: Lab) -> None:
    """Flows with bursts at once and a pace each, whatever part of their keys differs: the earliest deadline counts."""
    shell = lab.shell(PACER, allowed=ALLOWED)
    draw = lab.random("together")
    flows = {DOWN: Taken(draw.randrange(10, 40) / 10)}
    for number, part in enumerate(FlowKey._fields):
        low = 50 + 20 * number
        flows[DOWN._replace(**{part: draw.randrange(200, 250)})] = Taken(draw.randrange(low, low + 15) / 10)
    paces = {flow: _primed(shell, taken=taken, flow=flow) for flow, taken in flows.items()}
    start_ns = 2 * S
    shell.run_until(start_ns)
    for index in range(2, 7):
        for flow in reversed(flows):
            shell.see(Point.WIRED_TO_AIR, shell.data(flow, 1460 * index), EQUAL)
    shell.run_until(6 * S)
    for flow, pace_ns in paces.items():
        took = [(at_ns - start_ns) / MS for at_ns in shell.times(flow)[2:]]
        for number, at_ms in enumerate(took):
            ends = f"{flow.src}:{flow.sport}->{flow.dst}:{flow.dport}"
            what = f"segment {number + 1} of flow {ends} beside others, in ms after the first"
            near(number * pace_ns / MS, at_ms, what=what, tolerance=1e-5)
        if len(took) != 5:
            raise Wrong("five segments of each flow", f"{len(took)}")


def _beside_one_again(lab: Lab) -> None:
    """While one flow has a segment sent twice, another gives samples."""
    shell = lab.shell(PACER, allowed=ALLOWED)
    _primed(shell)
    for _ in range(2):
        shell.run_until(shell.now_ns + 1 * S)
        shell.see(Point.WIRED_TO_AIR, shell.data(DOWN, 2920), EQUAL)
    other = DOWN._replace(dst=DOWN.dst + 1)
    pace_ns = _primed(shell, taken=Taken(lab.random("beside").randrange(50, 90) / 10), flow=other)
    _expect_pace(shell, pace_ns, "T of a flow beside one with a segment sent twice", seq=2920, flow=other)


def _drained(shell: Shell) -> int:
    shell.run_until(10 * S)
    return shell.times()[-1]


def harmless_timeouts(lab: Lab) -> None:
    """Early, repeated and late timeouts: no release before its time, none forgotten."""
    shell = lab.shell(PACER, allowed=ALLOWED)
    pace_ns = _primed(shell, taken=Taken(lab.random("timeouts").randrange(20, 90) / 10))
    shell.timeout()
    shell.run_until(1 * S)
    for index in range(4):
        shell.see(Point.WIRED_TO_AIR, shell.data(DOWN, 2920 + 1460 * index), EQUAL)
    for at_ns in (1 * S + pace_ns // 2, 1 * S + pace_ns - 1000):
        shell.skip_to(at_ns)
        for _ in range(3):
            shell.timeout()
    if len(shell.times()) != 3:
        raise Wrong("an early timeout that releases nothing", f"{len(shell.times()) - 2} segments released")
    late_ns = 1 * S + pace_ns + 7 * MS
    shell.skip_to(late_ns)
    shell.timeout()
    shell.timeout()
    if len(shell.times()) != 4:
        raise Wrong("a late timeout, and the same again, that release one segment", f"{len(shell.times()) - 3}")
    shell.run_until(3 * S)
    times = shell.times()[2:]
    wanted = [1 * S, late_ns, late_ns + pace_ns, late_ns + 2 * pace_ns]
    if len(times) != 4 or max(abs(at - want) for at, want in zip(times, wanted, strict=True)) > LATE_NS:
        told = [round(at_ns / MS, 3) for at_ns in times]
        raise Wrong(f"four segments, T after the one before: {[round(at / MS, 3) for at in wanted]} ms", f"{told} ms")


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
    total = run["totals"]["goodput_bps"] / without["totals"]["goodput_bps"]
    paced = total > 0.7 and run["totals"] != without["totals"]  # what changes nothing is NewReno's
    flows = {
        f"{flow['src']}-{flow['dst']}": (base["goodput_bps"] / 1e3, flow["goodput_bps"] / 1e3)
        for flow, base in zip(run["flows"], without["flows"], strict=True)
    }
    picture = bars(flows, ("NewReno", "yours"), "goodput in kbit/s")
    return Finding(
        share=min(1.0, max(0.0, (index - UNFAIR) / (FAIR - UNFAIR))) if paced else 0.0,
        expected=f"Jain's index of {FAIR} or more over four flows that are paced, at 0.7 of NewReno's total or more",
        got=f"index {index:.2f}, {total:.2f} of NewReno's total" + ", as without your hook" * (total == 1),
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
            above=DELAY,
            public=True,
            hint="alpha weighs the old value; the first sample is taken as it is",
        ),
        Check(
            id="variation",
            title="the coefficient of variation",
            points=7,
            run=variation,
            needs=ESTIMATOR,
            above=DELAY,
            hint="N - 1 below the sum of squares; deviation over mean; the newest 50 only",
        ),
        Check(
            id="interval",
            title="the time between two packets",
            points=6,
            run=interval,
            needs=ESTIMATOR,
            above=DELAY,
            hint="T grows with the variation: it is the reciprocal of eq. (1)",
        ),
        Check(
            id="others-pass",
            title="only data from the wire is paced",
            points=5,
            run=others_pass,
            needs=HOOK,
            above=(*DELAY, *ESTIMATOR),
            hint="look at event.point and at segment.is_data",
        ),
        Check(
            id="spacing",
            title="a burst leaves T apart",
            points=8,
            run=spacing,
            needs=HOOK,
            above=(*DELAY, *ESTIMATOR),
            public=True,
            hint="after a release the next one is T later, and deadline() says when",
        ),
        Check(
            id="order",
            title="in order, nothing lost",
            points=5,
            run=order,
            needs=HOOK,
            above=(*DELAY, *ESTIMATOR),
            hint="one queue per flow, first in, first out",
        ),
        Check(
            id="from-release",
            title="round trips start at the release",
            points=7,
            run=from_release,
            needs=HOOK,
            above=(*DELAY, *ESTIMATOR),
            hint="a segment that waited in your queue was not in the air yet",
        ),
        Check(
            id="karn",
            title="no sample from retransmissions",
            points=6,
            run=karn,
            needs=HOOK,
            above=(*DELAY, *ESTIMATOR),
            hint="of which of the two transmissions is the ACK?",
        ),
        Check(
            id="per-flow",
            title="flows are paced apart",
            points=5,
            run=per_flow,
            needs=HOOK,
            above=(*DELAY, *ESTIMATOR),
            hint="segment.flow is the key of everything you keep",
        ),
        Check(
            id="timeouts",
            title="early, late and repeated timeouts do no harm",
            points=5,
            run=harmless_timeouts,
            needs=HOOK,
            above=(*DELAY, *ESTIMATOR),
            hint="in handle_timeout compare with now_ns before you release",
        ),
        Check(
            id="goodput",
            title="more goodput than NewReno",
            points=9,
            run=goodput,
            simulates=True,
            needs=HOOK,
            above=(*DELAY, *ESTIMATOR),
            hint="if all above is right, this is too; if not, mend those first",
        ),
        Check(
            id="fairness",
            title="fair among four flows",
            points=5,
            run=fairness,
            simulates=True,
            needs=HOOK,
            above=(*DELAY, *ESTIMATOR),
            hint="state that flows share makes one of them pay for another",
        ),
    ),
)
