"""Assignment 3's checks of the hook alone, with hand-made packets and times."""

from __future__ import annotations

from pacelab import FlowKey, Point, Segment
from pacelab_grading.assignments.a3_gateway_pacer.estimates import (
    DATA_BYTES,
    EQUAL,
    FIRST,
    Taken,
    wanted_ns,
)
from pacelab_grading.rubric.context import DOWN, HEADERS, MS, UP, CheckContext, HookDriver, S
from pacelab_grading.rubric.expect import near
from pacelab_grading.rubric.figures import timeline
from pacelab_grading.rubric.findings import WrongAnswer

PACER = "GatewayPacer"
ALLOWED = ("Forward", "Drop")
WRAP = 1 << 32
LATE_NS = 1000
"""The clock of these checks is exact, so a segment that is later by more is late on purpose."""
AT_ONCE = "data that should wait left at once, see the check `spacing`"
"""Other checks report this for a hook that does not pace."""


def others_pass(context: CheckContext) -> None:
    """Only data from the wired side waits; everything else overtakes it."""
    driver = context.drive(PACER, allowed=ALLOWED)
    _primed(driver)
    for index in range(2, 8):
        driver.see(Point.WIRED_TO_AIR, driver.data(DOWN, 1460 * index), EQUAL)
    _some_waits(driver)
    for segment, point, what in (
        (driver.ack(UP, 1460), Point.WIRED_TO_AIR, "an ACK from the wired side"),
        (driver.data(DOWN, 0, 0, flags=0x12), Point.WIRED_TO_AIR, "a SYN from the wired side"),
        (driver.data(UP, 0), Point.AIR_TO_WIRED, "data from the air"),
        (driver.ack(DOWN, 2920), Point.AIR_TO_WIRED, "an ACK from the air"),
        (
            driver.ack(DOWN._replace(sport=81), 1460),
            Point.AIR_TO_WIRED,
            "an ACK from the air, of an unknown flow",
        ),
        (driver.data(FlowKey(100, 2, 80, 9), 0)._replace(protocol=17), Point.WIRED_TO_AIR, "a UDP packet"),
        (driver.data(DOWN, 0)._replace(protocol=17), Point.WIRED_TO_AIR, "a UDP packet of the same addresses"),
    ):
        _passes(driver, point, segment, what)
    for index in range(1, 6):  # if it came from the wired side, it would have a pace by now
        _passes(driver, Point.AIR_TO_WIRED, driver.data(UP, 1460 * index), "data from the air")
        if index < 3:
            driver.run_until(driver.now_ns + FIRST.rtt_ns)
            ack = driver.ack(UP, 1460 * (index + 1))
            _passes(driver, Point.WIRED_TO_AIR, ack, "an ACK from the wired side")


def _passes(driver: HookDriver, point: Point, segment: Segment, what: str) -> None:
    driver.see(point, segment, EQUAL)
    if segment.handle in driver.held:
        raise WrongAnswer(f"{what} forwarded at once", "it is held")


def _some_waits(driver: HookDriver) -> None:
    if not driver.held:
        raise WrongAnswer("precondition: some data of a burst waits", "nothing is held")


def _primed(driver: HookDriver, *, taken: Taken = FIRST, start: int = 0, flow: FlowKey = DOWN) -> int:
    """Two segments and their ACKs, so that the flow has its pace; returns T in ns."""
    for seq in (start, start + taken.data_bytes - HEADERS):
        _trip(driver, seq, taken, flow=flow)
    return round(wanted_ns([taken, taken]))


def _trip(driver: HookDriver, seq: int, taken: Taken, *, flow: FlowKey = DOWN) -> None:
    """A segment that leaves at once, and its ACK."""
    payload = taken.data_bytes - HEADERS
    driver.see(Point.WIRED_TO_AIR, driver.data(flow, seq % WRAP, payload), taken.rates_bps)
    if driver.held:
        raise WrongAnswer(
            "data that leaves at once, because its flow has no pace yet or its pace permits it", "it is held"
        )
    driver.run_until(driver.now_ns + taken.rtt_ns)
    _ack(driver, seq + payload, taken, flow=flow)


def _kept(context: CheckContext, taken: Taken = FIRST) -> int:
    """The hook's own pace in ns after two such round trips, right or wrong: `spacing` judges it. Without a pace, T."""
    driver = context.drive(PACER, allowed=ALLOWED)
    pace_ns = _primed(driver, taken=taken)
    driver.run_until(1 * S)
    for index in range(2, 5):
        driver.see(Point.WIRED_TO_AIR, driver.data(DOWN, 1460 * index), EQUAL)
    driver.run_until(3 * S)
    times = driver.times()
    kept_ns = times[4] - times[3] if len(times) == 5 else 0
    return kept_ns if MS < kept_ns <= 500 * MS else pace_ns


def _ack(driver: HookDriver, number: int, taken: Taken, *, flow: FlowKey = DOWN) -> None:
    ack = driver.ack(flow, number % WRAP)._replace(packet_bytes=taken.ack_bytes)
    driver.see(Point.AIR_TO_WIRED, ack, taken.rates_bps)


def spacing(context: CheckContext) -> None:
    """The segments of a burst leave exactly T apart, large or small."""
    driver = context.drive(PACER, allowed=ALLOWED)
    draw = context.random("spacing")
    pace_ns = _primed(driver, taken=Taken(draw.randrange(20, 90) / 10))
    driver.run_until(1 * S)
    seq = 2920
    for payload in (1460, *draw.sample((100, 536, 1200, 1460, 1460), 5)):
        driver.see(Point.WIRED_TO_AIR, driver.data(DOWN, seq, payload), EQUAL)
        seq += payload
    driver.run_until(3 * S)
    times = driver.times()[2:]
    wanted = [1 * S + index * pace_ns for index in range(6)]
    picture = timeline({"expected": wanted, "yours": times}, f"a burst of six at 1000 ms, T = {pace_ns / MS:g} ms")
    if len(times) != 6:
        raise WrongAnswer("six segments released", f"{len(times)}", picture)
    for number, (at_ns, want_ns) in enumerate(zip(times, wanted, strict=True), 1):
        if abs(at_ns - want_ns) > LATE_NS:
            raise WrongAnswer(
                f"segment {number} of the burst at {want_ns / MS:g} ms", f"it left at {at_ns / MS:g} ms", picture
            )


def order(context: CheckContext) -> None:
    """First in, first out; nothing lost or duplicated."""
    driver = context.drive(PACER, allowed=ALLOWED)
    _primed(driver)
    draw = context.random("arrivals")
    seqs = [(WRAP - 4 * 1460 + 1460 * index) % WRAP for index in range(12)]
    for seq in seqs[:6]:
        driver.see(Point.WIRED_TO_AIR, driver.data(DOWN, seq), EQUAL)
    _some_waits(driver)
    for seq in seqs[6:]:
        driver.run_until(driver.now_ns + draw.randrange(0, 60) * MS)
        driver.see(Point.WIRED_TO_AIR, driver.data(DOWN, seq), EQUAL)
    driver.run_until(driver.now_ns + 5 * S)
    if driver.seqs()[2:] != seqs:
        raise WrongAnswer("each segment once, in the order of arrival", f"sequence numbers {driver.seqs()[2:]}")


def from_release(context: CheckContext) -> None:
    """The waiting time in the pacer's queue is not part of the round trip; the newest covered segment counts.

    The path is that of the ACK, and data from the air gives no round trip.
    """
    draw = context.random("from release")
    first = Taken(draw.randrange(20, 90) / 10, draw.randrange(600, 1501), draw.randrange(40, 100))
    payload = first.data_bytes - HEADERS
    start = WRAP - payload * 4 - draw.randrange(1, payload)  # sequence numbers wrap around
    driver = context.drive(PACER, allowed=ALLOWED)
    pace_ns = _primed(driver, taken=first, start=start)
    driver.run_until(2 * S)
    for index in range(2, 8):
        driver.see(Point.WIRED_TO_AIR, driver.data(DOWN, (start + index * payload) % WRAP, payload), EQUAL[:4])
    driver.run_until(2 * S + 5 * pace_ns + MS)
    if len(driver.times()) != 8:
        raise WrongAnswer("six segments released within 5 T", f"{len(driver.times()) - 2}")
    driver.see(Point.AIR_TO_WIRED, driver.data(UP, 0)._replace(ack=(start + 4 * payload) % WRAP), EQUAL)
    last = first._replace(waiting_ms=first.waiting_ms + draw.randrange(5, 30) / 10)
    driver.run_until(driver.times()[-2] + last.rtt_ns)
    _ack(driver, start + 7 * payload + payload // 2, last)  # of five, and half of the sixth
    _expect_pace(
        driver,
        wanted_ns([first, first, last]),
        "T after one ACK for five of six segments that waited in the pacer",
        seq=start + 8 * payload,
    )


def karn(context: CheckContext) -> None:
    """The ACK of a segment that was sent twice gives no sample; later ACKs do."""
    draw = context.random("karn")
    first = Taken(draw.randrange(20, 90) / 10)
    payload = DATA_BYTES - HEADERS
    start = WRAP - 2 * payload - draw.randrange(200, payload)  # sequence numbers wrap around within the third segment
    driver = context.drive(PACER, allowed=ALLOWED)
    pace_ns = _primed(driver, taken=first, start=start)
    driver.run_until(1 * S)
    again = (start + 2 * payload) % WRAP
    driver.see(Point.WIRED_TO_AIR, driver.data(DOWN, again), EQUAL)
    driver.run_until(1 * S + 900 * MS)
    driver.see(
        Point.WIRED_TO_AIR, driver.data(DOWN, again - 100), EQUAL
    )  # a retransmission with other segment boundaries
    driver.run_until(driver.now_ns + 5 * MS)
    _ack(driver, start + 3 * payload, first)  # of which of the two?
    _expect_pace(
        driver,
        pace_ns,
        "T after the ACK of a retransmitted segment, which must give no sample",
        seq=start + 3 * payload,
    )
    driver.run_until(driver.now_ns + 2 * S)
    _ack(driver, start + 6 * payload, first)  # of the burst, much later: a normal sample
    late_ns = driver.now_ns - driver.times()[-1]
    crossing_ns = first._replace(waiting_ms=0).rtt_ns
    late = first._replace(waiting_ms=(late_ns - crossing_ns) / (2 * len(EQUAL)) / MS)
    _expect_pace(driver, wanted_ns([first, first, late]), "T after the next ACK", seq=start + 6 * payload)
    _several_again(context)
    _one_of_two_again(context)


def _several_again(context: CheckContext) -> None:
    """Three segments sent twice, the middle one last: no ACK gives a sample until one covers the third."""
    driver = context.drive(PACER, allowed=ALLOWED)
    pace_ns = _primed(driver)
    payload = DATA_BYTES - HEADERS
    for index in (2, 3, 4, 2, 4, 3):
        driver.run_until(driver.now_ns + 1 * S)
        driver.see(Point.WIRED_TO_AIR, driver.data(DOWN, index * payload), EQUAL)
    for covered in (3, 4, 5):
        driver.run_until(driver.now_ns + 100 * MS)
        _ack(driver, covered * payload, FIRST)
    what = "T after the ACKs, one by one, of three segments that were sent twice"
    _expect_pace(driver, pace_ns, what, seq=5 * payload)


def _one_of_two_again(context: CheckContext) -> None:
    """The ACK of the first segment, which was sent twice, ends the rule; the ACK of the second is a sample."""
    driver = context.drive(PACER, allowed=ALLOWED)
    _primed(driver)
    payload = DATA_BYTES - HEADERS
    for index in (2, 3, 2):
        driver.run_until(driver.now_ns + 1 * S)
        driver.see(Point.WIRED_TO_AIR, driver.data(DOWN, index * payload), EQUAL)
    driver.run_until(driver.times()[3] + Taken(150).rtt_ns)
    _ack(driver, 3 * payload, FIRST)
    _ack(driver, 4 * payload, FIRST)
    what = "T after the ACKs of a segment that was sent twice and of one that was sent once"
    _expect_pace(driver, wanted_ns([FIRST, FIRST, Taken(150)]), what, seq=4 * payload)


def _expect_pace(driver: HookDriver, pace_ns: float, what: str, *, seq: int = 20_000, flow: FlowKey = DOWN) -> None:
    """Measure the current pace with a burst of three."""
    driver.run_until(driver.now_ns + 1 * S)
    before = len(driver.times(flow))
    for index in range(3):
        driver.see(Point.WIRED_TO_AIR, driver.data(flow, (seq + 1460 * index) % WRAP), EQUAL)
    driver.run_until(driver.now_ns + 3 * S)
    times = driver.times(flow)[before:]
    if len(times) != 3:
        raise WrongAnswer("three segments released", f"{len(times)}")
    if times[2] == times[1]:
        raise WrongAnswer(f"{what}, measured with a paced burst", f"{AT_ONCE}: no T can be measured")
    near(pace_ns / MS, (times[2] - times[1]) / MS, what=f"{what}, in ms", tolerance=1e-5)


def per_flow(context: CheckContext) -> None:
    """A flow's queue and pace do not delay another flow, whichever part of the key differs."""
    driver, pace_ns = context.drive(PACER, allowed=ALLOWED), _kept(context)
    _primed(driver)
    driver.run_until(1 * S)
    for index in range(10):
        driver.see(Point.WIRED_TO_AIR, driver.data(DOWN, 2920 + 1460 * index), EQUAL)
    draw = context.random("other flows")
    for part in FlowKey._fields:
        other = DOWN._replace(**{part: draw.randrange(200, 250)})
        segment = driver.data(other, 0)
        driver.see(Point.WIRED_TO_AIR, segment, EQUAL)
        if segment.handle in driver.held:
            raise WrongAnswer(
                f"the first segment of a flow with another {part} forwarded at once", "it waits behind another flow"
            )
    near(
        pace_ns * 9 / MS,
        (_drained(driver) - S) / MS,
        what="time of the first flow's burst of ten, in ms",
        tolerance=1e-5,
    )

    _together(context)
    _beside_one_again(context)


def _together(context: CheckContext) -> None:
    """Flows with simultaneous bursts and different paces: the earliest deadline counts."""
    driver = context.drive(PACER, allowed=ALLOWED)
    draw = context.random("together")
    flows = {DOWN: Taken(draw.randrange(10, 40) / 10)}
    for number, part in enumerate(FlowKey._fields):
        low = 50 + 20 * number
        flows[DOWN._replace(**{part: draw.randrange(200, 250)})] = Taken(draw.randrange(low, low + 15) / 10)
    paces = {flow: _kept(context, taken) for flow, taken in flows.items()}
    for flow, taken in flows.items():
        _primed(driver, taken=taken, flow=flow)
    start_ns = 2 * S
    driver.run_until(start_ns)
    for index in range(2, 7):
        for flow in reversed(flows):
            driver.see(Point.WIRED_TO_AIR, driver.data(flow, 1460 * index), EQUAL)
    driver.run_until(6 * S)
    for flow, pace_ns in paces.items():
        took = [(at_ns - start_ns) / MS for at_ns in driver.times(flow)[2:]]
        for number, at_ms in enumerate(took):
            ends = f"{flow.src}:{flow.sport}->{flow.dst}:{flow.dport}"
            what = f"segment {number + 1} of flow {ends} beside other flows, in ms after the first"
            near(number * pace_ns / MS, at_ms, what=what, tolerance=1e-5)
        if len(took) != 5:
            raise WrongAnswer("five segments of each flow", f"{len(took)}")


def _beside_one_again(context: CheckContext) -> None:
    """While one flow has a segment that was sent twice, another flow gives samples."""
    driver = context.drive(PACER, allowed=ALLOWED)
    _primed(driver)
    for _ in range(2):
        driver.run_until(driver.now_ns + 1 * S)
        driver.see(Point.WIRED_TO_AIR, driver.data(DOWN, 2920), EQUAL)
    other = DOWN._replace(dst=DOWN.dst + 1)
    taken = Taken(context.random("beside").randrange(50, 90) / 10)
    _primed(driver, taken=taken, flow=other)
    _expect_pace(
        driver, _kept(context, taken), "T of a flow beside one with a segment that was sent twice", seq=2920, flow=other
    )


def _drained(driver: HookDriver) -> int:
    driver.run_until(10 * S)
    return driver.times()[-1]


def harmless_timeouts(context: CheckContext) -> None:
    """Early, repeated and late timeouts: no early release, and none is forgotten."""
    driver, taken = context.drive(PACER, allowed=ALLOWED), Taken(context.random("timeouts").randrange(20, 90) / 10)
    pace_ns = _kept(context, taken)
    _primed(driver, taken=taken)
    driver.timeout()
    driver.run_until(1 * S)
    for index in range(4):
        driver.see(Point.WIRED_TO_AIR, driver.data(DOWN, 2920 + 1460 * index), EQUAL)
    if len(driver.times()) != 3:
        raise WrongAnswer(
            "precondition: one of four simultaneous segments leaves at once", f"{len(driver.times()) - 2}: {AT_ONCE}"
        )
    for at_ns in (1 * S + pace_ns // 2, 1 * S + pace_ns - 1000):
        driver.skip_to(at_ns)
        for _ in range(3):
            driver.timeout()
    if len(driver.times()) != 3:
        raise WrongAnswer("an early timeout that releases nothing", f"{len(driver.times()) - 2} segments released")
    late_ns = 1 * S + pace_ns + 7 * MS
    driver.skip_to(late_ns)
    driver.timeout()
    driver.timeout()
    if len(driver.times()) != 4:
        raise WrongAnswer("one segment released by a late timeout that is called twice", f"{len(driver.times()) - 3}")
    driver.run_until(3 * S)
    times = driver.times()[2:]
    wanted = [1 * S, late_ns, late_ns + pace_ns, late_ns + 2 * pace_ns]
    if len(times) != 4 or max(abs(at - want) for at, want in zip(times, wanted, strict=True)) > LATE_NS:
        shown = [round(at_ns / MS, 3) for at_ns in times]
        raise WrongAnswer(f"four segments, T apart: {[round(at / MS, 3) for at in wanted]} ms", f"{shown} ms")
