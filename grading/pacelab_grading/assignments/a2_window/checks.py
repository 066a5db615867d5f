"""Assignment 2's rubric."""

from __future__ import annotations

from pacelab import Experiment
from pacelab_grading.rubric.assignment import Assignment, Check
from pacelab_grading.rubric.context import MS, CheckContext, RunJson
from pacelab_grading.rubric.expect import exactly, failing, near, numeric
from pacelab_grading.rubric.figures import bars
from pacelab_grading.rubric.findings import Finding, WrongAnswer
from pacelab_grading.sandbox.failures import Raised
from pacelab_grading.sandbox.remote import RemoteObject

WINDOWS = range(1, 9)
"""Windows that `choose_window` is compared with; W* of up to 12 hops is 2 to 4."""
NEAR_BEST, QUICK = 0.9, 0.75
"""Share of the best window's goodput, and of the round-trip time of 32 packets, that earn all points."""
SHORT = range(1, 5)
"""Hops of chains whose air carries one packet: each further packet of a window only waits."""
ONE_WAITS, THREE_WAIT = 2.4, 3.8
"""On these chains, the round-trip time divided by that of a single packet: for all points, and for none. Two packets
in flight measure about twice its round-trip time, three packets 3.1 times, four packets 3.9 times."""


def reuse(context: CheckContext) -> None:
    """1 packet up to 4 hops, 2 up to 8."""
    carried = context.function("packets_in_the_air")
    for hops, wanted in ((1, 1), (4, 1), (5, 2), (8, 2), (9, 3), (40, 10)):
        exactly(wanted, carried(hops), what=f"packets in the air of {hops} hops")
    draw = context.random("hops")
    for carries in (draw.randrange(4, 9), draw.randrange(11, 30)):
        hops = 4 * carries - draw.randrange(0, 4)
        exactly(carries, carried(hops), what=f"packets in the air of {hops} hops")


def bound(context: CheckContext) -> None:
    """A 1500-byte packet every 4 x 5 ms: 600 kbit/s."""
    limit = context.function("goodput_bound_bps")
    near(600_000, limit(7, 1500, 5_000_000), what="bound of 7 hops, 1500 bytes, 5 ms a hop, in bit/s")
    near(600_000, limit(4, 1500, 5_000_000), what="bound of 4 hops, in bit/s")
    ms = context.random("exchange").randrange(2, 9) + 0.375
    size, hops = context.random("size").randrange(200, 1500), context.random("hops").randrange(5, 30)
    wanted = size * 8 / (4 * ms) * 1000
    near(wanted, limit(hops, size, round(ms * 1_000_000)), what=f"bound of {hops} hops, {size} bytes, {ms} ms a hop")


def short_bound(context: CheckContext) -> None:
    """Below four hops only the existing hops count. The check `bound` judges the unit, with four hops."""
    limit = context.function("goodput_bound_bps")
    for hops in (1, 2, 3):
        for size, ms in ((1500, 5), (context.random(f"size {hops}").randrange(200, 1500), 7)):
            four = numeric(limit(4, size, ms * MS), what=f"bound of 4 hops, {size} bytes, {ms} ms a hop")
            if four <= 0:
                raise WrongAnswer("a bound above 0", f"{four:g}")
            what = f"bound of {hops} hops, {size} bytes, {ms} ms a hop (yours of 4 hops is {four:,.6g})"
            near(four * 4 / hops, limit(hops, size, ms * MS), what=what)


def plateau(context: CheckContext) -> None:
    """The smallest window on the plateau, not the one with the largest number."""
    best = context.function("best_window")
    exactly(
        2,
        best({"$map": [[1, 150.0], [2, 246.0], [3, 248.0], [4, 245.0], [8, 230.0]]}),
        what="W* of 150 246 248 245 .. 230",
    )
    exactly(3, best({"$map": [[5, 99.0], [3, 98.0], [1, 90.0]]}), what="W* of unordered windows")
    exactly(1, best({"$map": [[1, 90.0], [2, 100.0]]}, tolerance=0.1), what="W* with a tolerance of 0.1")
    exactly(2, best({"$map": [[1, 90.0], [2, 97.0], [3, 94.0], [4, 100.0]]}), what="W* of 90 97 94 100, tolerance 0.05")
    exactly(1, best({"$map": [[1, 95.1], [2, 100.0]]}), what="W* of 95.1 and 100, tolerance 0.05")
    exactly(2, best({"$map": [[1, 94.9], [2, 100.0]]}), what="W* of 94.9 and 100, tolerance 0.05")
    draw = context.random("plateau")
    for _ in range(3):
        first, top, tolerance = draw.randrange(2, 6), draw.uniform(200, 900), draw.randrange(2, 9) / 100
        rates = {window: top * (1 - tolerance) * draw.uniform(0.3, 0.99) for window in range(1, first)}
        rates |= {window: top * (1 - tolerance * draw.uniform(0, 0.9)) for window in range(first, 9)}
        rates[draw.randrange(first, 9)] = top
        pairs = [[window, rate] for window, rate in rates.items()]
        draw.shuffle(pairs)
        exactly(first, best({"$map": pairs}, tolerance=tolerance), what=f"W* of a plateau within {tolerance}")


def no_measurement(context: CheckContext) -> None:
    """Without a measurement it is an error, not 0."""
    best = context.function("best_window")
    exactly(3, best({"$map": [[3, 100.0]]}), what="precondition: W* of one measurement")
    try:
        got = best({"$map": []})
    except Raised as error:
        if error.is_a("ValueError"):
            return
        raise WrongAnswer("ValueError without a measurement", error.type) from None
    raise WrongAnswer("ValueError without a measurement", repr(got))


def _full(window: RemoteObject) -> None:
    try:
        got = window.call("send")
    except Raised as error:
        if error.is_a("RuntimeError"):
            return
        raise WrongAnswer("RuntimeError from send() when the window is full", error.type) from None
    raise WrongAnswer("RuntimeError from send() when the window is full", f"packet {got} was sent")


def fills(context: CheckContext) -> None:
    """At most the limit, numbered in order."""
    limit = context.random("limit").randrange(2, 7)
    window, other = context.objects("SlidingWindow", [(limit,), (limit,)])
    for number in range(limit):
        exactly(True, window.call("can_send"), what=f"can_send() with {number} of {limit} packets in flight")
        exactly(number, window.call("send"), what="the packet's number")
    exactly(False, window.call("can_send"), what=f"can_send() with {limit} of {limit} packets in flight")
    _full(window)
    exactly(limit, window.call("in_flight"), what="packets in flight")
    exactly(0, other.call("in_flight"), what="packets in flight of another window")
    exactly(0, other.call("send"), what="the first packet's number in another window")
    single = context.new("SlidingWindow", limit=1)
    exactly(0, single.call("send"), what="the first packet's number with a limit of 1")
    exactly(False, single.call("can_send"), what="can_send() with 1 of 1 packet in flight")


def cumulative(context: CheckContext) -> None:
    """An ACK covers all packets below it. Numbers and limit only have to be consistent; `fills` judges them."""
    fresh = context.new("SlidingWindow", limit=4)
    first = fresh.call("send")
    _sends(fresh, 3)
    full = fresh.call("can_send")
    draw = context.random("acks")
    limit = draw.randrange(5, 12)
    window = context.new("SlidingWindow", limit=limit)
    sent = acknowledged = 0
    for _ in range(4):
        for _ in range(limit - (sent - acknowledged)):
            _numbered(first, sent, window.call("send"))
            sent += 1
        covers = draw.randrange(1, limit + 1)
        acknowledged += covers
        exactly(covers, window.call("acknowledge", acknowledged), what=f"packets freed by an ACK of {acknowledged}")
        exactly(sent - acknowledged, window.call("in_flight"), what=f"packets in flight after an ACK of {acknowledged}")
    window = context.new("SlidingWindow", limit=4)
    _sends(window, 4)
    exactly(3, window.call("acknowledge", 3), what="packets freed by an ACK of 3 after packets 0 to 3")
    exactly(1, window.call("in_flight"), what="packets in flight")
    for number in (4, 5, 6):
        _numbered(first, number, window.call("send"))
    exactly(full, window.call("can_send"), what="can_send() with four packets in flight")
    exactly(4, window.call("acknowledge", 7), what="packets freed by an ACK of 7 after packets 0 to 6, of which 3 to 6")
    exactly(0, window.call("in_flight"), what="packets in flight after an ACK of all packets")


def _numbered(first: object, sent: int, got: object) -> None:
    if isinstance(first, int):
        exactly(first + sent, got, what="the next packet's number")


def strange_acks(context: CheckContext) -> None:
    """Old, duplicate and impossible ACKs free nothing."""
    draw = context.random("strange")
    limit = draw.randrange(3, 9)
    covered = draw.randrange(2, limit)
    window = context.new("SlidingWindow", limit=limit)
    _sends(window, limit)
    window.call("acknowledge", covered)
    if window.call("in_flight") != limit - covered:  # judged by `cumulative`
        window, covered = context.new("SlidingWindow", limit=limit), limit
        _sends(window, limit)
        _acknowledges(window, 1, limit)
    kinds = [
        (covered, "a duplicate"),
        (draw.randrange(1, covered), "an old one"),
        (0, "the first one"),
        (limit + 1, "one for the next packet"),
        (limit + draw.randrange(2, 20), "one for packets never sent"),
    ]
    draw.shuffle(kinds)
    for number, kind in kinds:
        exactly(0, window.call("acknowledge", number), what=f"packets freed by {kind}, ACK {number}")
        exactly(limit - covered, window.call("in_flight"), what=f"packets in flight after {kind}")


def shrinks(context: CheckContext) -> None:
    """A smaller limit takes no packet back and applies from then on; so does a larger one."""
    window = context.new("SlidingWindow", limit=5)
    _sends(window, 5)
    window.call("set_limit", 2)
    exactly(5, window.call("in_flight"), what="packets in flight after the limit went from 5 to 2")
    exactly(False, window.call("can_send"), what="can_send() with five packets in flight, limit 2")
    _acknowledges(window, 1, 5)
    exactly(True, window.call("can_send"), what="can_send() with no packet in flight, limit 2")
    _sends(window, 2)
    exactly(False, window.call("can_send"), what="can_send() with two packets in flight, limit 2")
    _acknowledges(window, 6, 7)
    _sends(window, 1)
    window.call("set_limit", 1)
    exactly(False, window.call("can_send"), what="can_send() with one packet in flight, limit 1")
    with failing("ValueError for a limit of 0, as for any limit below 1"):
        _refused(window)
    exactly(1, window.call("in_flight"), what="packets in flight after a refused limit")
    _acknowledges(window, 8, 8)
    exactly(True, window.call("can_send"), what="can_send() with no packet in flight, limit 1, after a refused one")
    window.call("set_limit", 2)
    _sends(window, 1)
    exactly(True, window.call("can_send"), what="can_send() with one packet in flight, the limit raised to 2")
    _sends(window, 1)
    exactly(False, window.call("can_send"), what="can_send() with two packets in flight, the limit raised to 2")
    _not_made(context)


def _sends(window: RemoteObject, count: int) -> None:
    for _ in range(count):
        window.call("send")


def _acknowledges(window: RemoteObject, first: int, last: int) -> None:
    """Acknowledge all packets one by one, so that ACKs which free one packet too many or too few end the same."""
    for number in range(first, last + 1):
        window.call("acknowledge", number)
    exactly(0, window.call("in_flight"), what=f"packets in flight, {last} sent, after ACKs {first} to {last} each")


def _refused(window: RemoteObject) -> None:
    for limit in (0, -2):
        try:
            window.call("set_limit", limit)
        except Raised as error:
            if error.is_a("ValueError"):
                continue
            raise
        raise WrongAnswer(f"ValueError from set_limit({limit})", "no error")


def _not_made(context: CheckContext) -> None:
    try:
        context.new("SlidingWindow", limit=0)
    except Raised as error:
        if error.is_a("ValueError"):
            return
        raise WrongAnswer("ValueError from SlidingWindow(limit=0)", error.type) from None
    raise WrongAnswer("ValueError from SlidingWindow(limit=0)", "no error")


def _chain(hops: int, window: int, seed: int) -> Experiment:
    return Experiment(
        topology="chain",
        topology_options={"hops": hops, "wired": False},
        rate_bps=2_000_000,
        window_pkts=window,
        duration_s=15.0,
        seed=seed,
    )


def _choice(context: CheckContext, hops: int) -> int:
    got = context.function("choose_window")(hops)
    if isinstance(got, float) and got.is_integer():
        got = int(got)
    if isinstance(got, bool) or not isinstance(got, int) or not 1 <= got <= 1000:
        raise WrongAnswer(f"a window for {hops} hops, a whole number of at least 1", repr(got)[:80])
    return got


def chosen(context: CheckContext) -> Finding:
    """Goodput with the chosen window, compared with the best of 1 to 8, on chains of random lengths."""
    shown, ours, bests = {}, 0.0, 0.0
    for hops in (6, 9, context.random("hops").randrange(10, 13)):
        seed = context.seed(f"chain {hops}")
        window = _choice(context, hops)
        rate = context.baseline(_chain(hops, window, seed))["totals"]["goodput_bps"]
        best = max(context.baseline(_chain(hops, other, seed))["totals"]["goodput_bps"] for other in WINDOWS)
        shown[f"{hops} hops, W = {window}"] = (best / 1e3, rate / 1e3)
        ours, bests = ours + rate, bests + best
    return Finding(
        share=min(1.0, max(0.0, (ours / bests - 0.5) / (NEAR_BEST - 0.5))),
        expected=f"at least {NEAR_BEST} of the best window's goodput (half of it or less: no points)",
        got=f"{ours / bests:.2f}",
        picture=bars(shown, ("best", "yours"), "goodput in kbit/s"),
    )


def quick(context: CheckContext) -> Finding:
    """Round-trip time with the chosen window, compared with 32 packets on long chains and with one on short chains."""
    ours, large, rate, bests = 0.0, 0.0, 0.0, 0.0
    for hops in (6, 9):
        seed = context.seed(f"chain {hops}")
        mine = context.baseline(_chain(hops, _choice(context, hops), seed))
        other = context.baseline(_chain(hops, 32, seed))
        ours += _rtt_s(mine)
        large += _rtt_s(other)
        rate += mine["totals"]["goodput_bps"]
        bests += other["totals"]["goodput_bps"]
    ratio, waits = ours / large, _waiting(context)
    long = (1 - ratio) / (1 - QUICK) if rate > 0.9 * bests else 0.0
    short = (THREE_WAIT - waits) / (THREE_WAIT - ONE_WAITS)
    return Finding(
        share=min(1.0, max(0.0, min(long, short))),
        expected=f"on 6 and 9 hops at most {QUICK} of the round-trip time of 32 packets, with at least 0.9 of their "
        f"goodput; on 1 to 4 hops at most {ONE_WAITS} times the round-trip time of one packet",
        got=f"{ratio:.2f} of the round-trip time, {rate / bests:.2f} of the goodput; {waits:.2f} times on 1 to 4 hops",
    )


def _waiting(context: CheckContext) -> float:
    """Round-trip time with the chosen window divided by that of one packet, the mean of the short chains."""
    found = []
    for hops in SHORT:
        seed = context.seed(f"chain {hops}")
        mine = context.baseline(_chain(hops, _choice(context, hops), seed))
        found.append(_rtt_s(mine) / _rtt_s(context.baseline(_chain(hops, 1, seed))))
    return sum(found) / len(found)


def _rtt_s(run: RunJson) -> float:
    """The mean round-trip time; without a sample, one that earns nothing."""
    return float(run["flows"][0]["rtt_mean_s"] or 1e3)


AIR, BOUND, BEST, WINDOW, CHOICE = (
    ("packets_in_the_air",),
    ("goodput_bound_bps",),
    ("best_window",),
    ("SlidingWindow",),
    ("choose_window",),
)

ASSIGNMENT = Assignment(
    number=2,
    title="The window and W*",
    version=1,
    folder="a2_window",
    file="window.py",
    checks=(
        Check(
            id="reuse",
            title="how many packets the air carries",
            points=10,
            run=reuse,
            needs=AIR,
            public=True,
            hint="each group of four hops carries one packet, also an incomplete group",
        ),
        Check(
            id="bound",
            title="the bound of a long chain",
            points=10,
            run=bound,
            needs=BOUND,
            public=True,
            hint="one packet per four exchanges; a byte has 8 bits, a second 1e9 ns",
        ),
        Check(
            id="short-bound",
            title="the bound of a short chain",
            points=6,
            run=short_bound,
            needs=BOUND,
            hint="a packet that has arrived does not interfere",
        ),
        Check(
            id="plateau",
            title="W* is the smallest window on the plateau",
            points=12,
            run=plateau,
            needs=BEST,
            hint="find the best goodput, then the smallest window close to it",
        ),
        Check(
            id="no-measurement",
            title="... and an error without a measurement",
            points=4,
            run=no_measurement,
            needs=BEST,
            hint="raise ValueError",
        ),
        Check(
            id="fills",
            title="the window fills up to its limit",
            points=10,
            run=fills,
            needs=WINDOW,
            public=True,
            hint="exactly `limit` packets may be in flight",
        ),
        Check(
            id="cumulative",
            title="an ACK covers all packets below it",
            points=10,
            run=cumulative,
            needs=WINDOW,
            hint="acknowledge(3) says that 0, 1 and 2 have arrived",
        ),
        Check(
            id="strange-acks",
            title="old, duplicate and impossible ACKs",
            points=10,
            run=strange_acks,
            needs=WINDOW,
            hint="compare with what was acknowledged, and with what was sent",
        ),
        Check(
            id="shrinks",
            title="a smaller window takes no packet back",
            points=8,
            run=shrinks,
            needs=WINDOW,
            hint="the limit applies to packets sent from now on; ACKs free packets as before",
        ),
        Check(
            id="chosen",
            title="your window's goodput on unseen chains",
            points=12,
            run=chosen,
            needs=CHOICE,
            builds_on=AIR,
            hint="sweep the window: where does the plateau begin?",
            simulates=True,
        ),
        Check(
            id="quick",
            title="... and its round-trip time",
            points=8,
            run=quick,
            needs=CHOICE,
            builds_on=AIR,
            hint="above W* a larger window only makes packets wait longer; W* depends on the number of hops",
            simulates=True,
        ),
    ),
)
