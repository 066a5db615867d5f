"""Assignment 1's rubric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import cos, dist, sin
from typing import Any

from pacelab import Experiment
from pacelab_grading.rubric.assignment import Assignment, Check
from pacelab_grading.rubric.context import CheckContext, RemoteFunction
from pacelab_grading.rubric.expect import exactly, near
from pacelab_grading.rubric.figures import bars
from pacelab_grading.rubric.findings import Finding, WrongAnswer

SENSE_M = 550.0
APART_FROM_EDGE_M = 40
LONE = 0.9
"""Share of its goodput without the other link that a link must keep to count as independent."""
Link = tuple[tuple[float, float], tuple[float, float]]


def ranges(context: CheckContext) -> None:
    """250 m and 550 m, edges included, in the plane."""
    for name, edge in (("decodes", 250), ("senses", 550)):
        near_enough = context.function(name)
        for metres, wanted in ((edge, True), (edge + 0.4, False), (1, True)):
            exactly(wanted, near_enough((0, 0), (metres, 0)), what=f"{name} at {metres} m")
        exactly(True, near_enough((0, 0), (0.6 * edge, -0.8 * edge)), what=f"{name} at {edge} m across")
        exactly(False, near_enough((0, 0), (0.8 * edge, 0.8 * edge)), what=f"{name} at {1.131 * edge:.0f} m across")
        draw = context.random(name)
        for apart in (draw.uniform(0.5, 0.999) * edge, draw.uniform(1.001, 1.4) * edge):
            angle, x, y = draw.uniform(0, 6.3), draw.randrange(-900, 900), draw.randrange(-900, 900)
            there = (x + apart * cos(angle), y + apart * sin(angle))
            exactly(apart < edge, near_enough((x, y), there), what=f"{name} from ({x}, {y}), {apart:.1f} m away")


def capture(context: CheckContext) -> None:
    """10 dB are a factor of 1.778 in distance."""
    survives = context.function("captured")
    draw = context.random("scale")
    scale = draw.randrange(80, 240)
    drawn = ((draw.uniform(1.0, 1.777), False), (draw.uniform(1.779, 3.0), True))
    for factor, wanted in ((1.0, False), (1.77, False), (1.79, True), (3.0, True), (0.5, False), *drawn):
        exactly(
            wanted, survives(scale, factor * scale), what=f"captured at {scale} m, the other at {factor:g} times that"
        )


def _line(sender: float, receiver: float, y: float = 0.0) -> Link:
    return (sender, y), (receiver, y)


def _turned(context: CheckContext, topic: str) -> Callable[[Link], Link]:
    """The same links, moved and rotated: only the distances count."""
    draw = context.random(topic)
    angle, x, y = draw.uniform(0, 6.3), draw.randrange(-900, 900), draw.randrange(-900, 900)

    def turn(point: tuple[float, float]) -> tuple[float, float]:
        return (
            round(x + point[0] * cos(angle) - point[1] * sin(angle), 3),
            round(y + point[0] * sin(angle) + point[1] * cos(angle), 3),
        )

    return lambda link: (turn(link[0]), turn(link[1]))


def _related(context: CheckContext, wanted: str, cases: Sequence[tuple[Link, Link, str]]) -> None:
    """Each case as it is, with the links exchanged, and rotated."""
    relate, turn = context.function("relation"), _turned(context, wanted)
    apart = 100 if wanted == "independent" else 5000
    answer = relate(_line(0, 200), _line(apart, apart + 200))
    if answer == wanted:  # a constant answer; another check tests what it should be here
        raise WrongAnswer(f"precondition: relation at a distance of {apart} m is not {wanted!r}", repr(answer))
    for first, second, what in cases:
        exactly(wanted, relate(first, second), what=f"relation, {what}")
        exactly(wanted, relate(second, first), what=f"relation, {what}, the links exchanged")
        if "550" not in what:  # rounding after the rotation would move the exact edge
            exactly(wanted, relate(turn(first), turn(second)), what=f"relation, {what}, rotated")


def sharing(context: CheckContext) -> None:
    """Senders that sense each other share the medium, whether they would interfere or not."""
    apart = context.random("sharing").randrange(260, 540)
    cases = (
        (_line(0, 200), _line(400, 600), "400 m between the senders"),
        (_line(0, 200), _line(550, 750), "550 m between the senders"),
        (_line(0, 200), _line(-300, -500), "back to back: exposed"),
        (_line(0, 240), _line(-apart, -apart - 240), f"back to back, {apart} m apart"),
    )
    _related(context, "share", cases)


def hiding(context: CheckContext) -> None:
    """Senders that do not sense each other, but one is sensed at the other's receiver."""
    apart = context.random("hiding").randrange(560, 740)
    cases = (
        (_line(0, 200), _line(700, 500), "senders 700 m apart, receivers between"),
        (_line(0, 200), _line(700, 900), "the second sender 500 m from the first receiver"),
        (_line(0, 200), _line(apart, apart + 200), f"the second sender {apart - 200} m from the first receiver"),
    )
    _related(context, "hidden", cases)


def independence(context: CheckContext) -> None:
    """Links that are far enough from each other."""
    apart = context.random("independence").randrange(760, 1500)
    cases = (
        (_line(0, 200), _line(800, 1000), "600 m from receiver to sender"),
        (_line(0, -200), _line(600, 800), "back to back, senders 600 m apart"),
        (_line(0, 200), _line(900, 700), "facing, receivers 500 m apart"),
        (_line(0, 200), _line(0, 200, 560), "side by side, 560 m apart"),
        (_line(0, 200), _line(apart, apart + 200), f"{apart - 200} m from receiver to sender"),
    )
    _related(context, "independent", cases)


def _sensed(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return dist(a, b) <= SENSE_M


def _independent(first: Link, second: Link) -> bool:
    pairs = ((first[0], second[0]), (first[0], second[1]), (second[0], first[1]))
    return not any(_sensed(a, b) for a, b in pairs)


def _slots_of(schedule: RemoteFunction, links: list[Link]) -> list[list[int]]:
    slots: Any = schedule({"$list": links})
    shaped = isinstance(slots, list) and all(isinstance(slot, list) for slot in slots)
    whole = shaped and all(type(number) is int for slot in slots for number in slot)
    if not whole or sorted(number for slot in slots for number in slot) != list(range(len(links))):
        raise WrongAnswer(
            f"a list of lists that contain each number of {list(range(len(links)))} once", repr(slots)[:120]
        )
    for slot in slots:
        for one, other in combinations(slot, 2):
            if not _independent(links[one], links[other]):
                raise WrongAnswer("slots whose links are independent of each other", f"{one} and {other} in one slot")
    return [list(slot) for slot in slots]


def chain_schedule(context: CheckContext) -> None:
    """A chain of 200 m hops needs four slots, however long it is."""
    schedule = context.function("schedule")
    for hops in (1, 3, 4, 9):
        links = [_line(200.0 * hop, 200.0 * (hop + 1)) for hop in range(hops)]
        slots = _slots_of(schedule, links)
        exactly(min(hops, 4), len(slots), what=f"slots of a chain of {hops} hops")


def any_schedule(context: CheckContext) -> None:
    """Random links: as few slots as first fit needs."""
    draw, schedule = context.random("field"), context.function("schedule")
    _slots_of(schedule, [])
    for _ in range(3):
        links: list[Link] = []
        for _ in range(draw.randrange(12, 17)):
            x, y = draw.randrange(0, 2500), draw.randrange(0, 2500)
            links.append(((x, y), (x + draw.randrange(-170, 170), y + draw.randrange(-170, 170))))
        wanted = _first_fit(links)
        found = len(_slots_of(schedule, links))
        if found > wanted:
            raise WrongAnswer(f"at most {wanted} slots for {len(links)} links, as first fit needs", f"{found} slots")


def _first_fit(links: Sequence[Link]) -> int:
    greedy: list[list[int]] = []
    for number, link in enumerate(links):
        home = next((slot for slot in greedy if all(_independent(link, links[other]) for other in slot)), None)
        if home is None:
            greedy.append([number])
        else:
            home.append(number)
    return len(greedy)


def airtime(context: CheckContext) -> None:
    """192 us, and the time of the bits."""
    takes = context.function("airtime_us")
    near(304, takes(14, 1_000_000), what="14 bytes at 1 Mbit/s, in us")
    near(192 + 6136, takes(1534, 2_000_000), what="1534 bytes at 2 Mbit/s, in us")
    size = 11 * context.random("size").randrange(10, 130) + 3  # not a whole number of us
    near(192 + size * 8 / 11, takes(size, 11_000_000), what=f"{size} bytes at 11 Mbit/s, in us")
    near(192 + size * 8 / 5.5, takes(size, 5_500_000), what=f"{size} bytes at 5.5 Mbit/s, in us")


def _frames(context: CheckContext, topic: str) -> list[tuple[int, int, float]]:
    """Sizes, rates, and the airtime of the data, in us."""
    draw = context.random(topic)
    known = [(1534, 2_000_000), (1100, 11_000_000)]
    drawn = [(draw.randrange(100, 1500), draw.choice((1_000_000, 5_500_000, 11_000_000))) for _ in range(2)]
    return [(size, rate, 192 + size * 8e6 / rate) for size, rate in (*known, *drawn)]


def rts_nav(context: CheckContext) -> None:
    """3 SIFS, CTS 304, data, ACK 304 us."""
    nav = context.function("rts_nav_us")
    for size, rate, takes_us in _frames(context, "rts"):
        near(30 + 304 + takes_us + 304, nav(size, rate), what=f"NAV of an RTS for {size} bytes at {rate} bit/s, in us")


def cts_nav(context: CheckContext) -> None:
    """The NAV of the RTS, minus a SIFS and the CTS."""
    nav = context.function("cts_nav_us")
    for size, rate, takes_us in _frames(context, "cts"):
        near(20 + takes_us + 304, nav(size, rate), what=f"NAV of a CTS for {size} bytes at {rate} bit/s, in us")


def predictions(context: CheckContext) -> Finding:
    """Whether two links interfere: first predicted, then simulated."""
    draw = context.random("pairs")
    relate = context.function("relation")
    right, shown = 0, {}
    low, high = SENSE_M + APART_FROM_EDGE_M, SENSE_M + 200 - APART_FROM_EDGE_M
    far = (SENSE_M + 200 + APART_FROM_EDGE_M, 1100)
    cases = [
        ("in-line", draw.uniform(300, SENSE_M - APART_FROM_EDGE_M), False),
        ("in-line", draw.uniform(low, high), False),
        ("in-line", draw.uniform(*far), True),
        ("back-to-back", draw.uniform(low, 1100), True),
    ]
    for layout, apart, wanted in cases:
        run = context.baseline(
            Experiment(
                topology="pairs",
                topology_options={"layout": layout, "apart": round(apart, 1)},
                rate_bps=2_000_000,
                duration_s=5.0,
                seed=context.seed(f"{layout} {apart}"),
            )
        )
        places = [tuple(node["position_m"]) for node in run["topology"]["nodes"]]
        nodes = {node["name"]: place for node, place in zip(run["topology"]["nodes"], places, strict=True)}
        first, second = ((nodes[flow["src"]], nodes[flow["dst"]]) for flow in run["flows"])
        rates = [flow["goodput_bps"] for flow in run["flows"]]
        calm = min(rates) >= LONE * context.baseline(_lone(context))["totals"]["goodput_bps"] / 2
        answer = relate(first, second)
        shown[f"{layout} {apart:.0f} m: {answer}"[:40]] = tuple(rate / 1e3 for rate in rates)
        right += (answer == "independent") == calm and calm == wanted
    share = max(0.0, 2 * right / len(cases) - 1)
    return Finding(
        share=share,
        expected="four correct predictions: two links are independent if both keep nine tenths of their goodput",
        got=f"{right} of {len(cases)} correct (half of them could be guessed: no points)",
        picture=bars(shown, ("first link", "second link"), "goodput in kbit/s"),
    )


def _lone(context: CheckContext) -> Experiment:
    """Two links without interference: twice the goodput of one."""
    return Experiment(
        topology="pairs",
        topology_options={"layout": "in-line", "apart": 5000.0},
        rate_bps=2_000_000,
        duration_s=5.0,
        seed=context.seed("alone"),
    )


ASSIGNMENT = Assignment(
    number=1,
    title="Who interferes with whom",
    version=1,
    folder="a1_interference",
    file="interference.py",
    checks=(
        Check(
            id="ranges",
            title="decode and sense ranges",
            points=8,
            run=ranges,
            needs=("decodes", "senses"),
            public=True,
            hint="use the distance in the plane; the edge belongs to the range",
        ),
        Check(
            id="capture",
            title="capture",
            points=10,
            run=capture,
            needs=("captured",),
            hint="10 dB are a factor of 10 in power, and power falls with the fourth power of the distance",
        ),
        Check(
            id="sharing",
            title="links that share the medium",
            points=9,
            run=sharing,
            needs=("relation",),
            builds_on=("senses",),
            public=True,
            hint="only the senders decide: an exposed sender waits as well",
        ),
        Check(
            id="hiding",
            title="hidden senders",
            points=12,
            run=hiding,
            needs=("relation",),
            builds_on=("senses",),
            hint="check both receivers",
        ),
        Check(
            id="independence",
            title="independent links",
            points=9,
            run=independence,
            needs=("relation",),
            builds_on=("senses",),
            hint="collisions of CTS and ACKs are ignored here: receivers may sense each other",
        ),
        Check(
            id="chain-schedule",
            title="a chain in four slots",
            points=10,
            run=chain_schedule,
            needs=("schedule",),
            builds_on=("senses", "relation"),
            public=True,
            hint="take the links in order and put each into the first slot where it fits",
        ),
        Check(
            id="any-schedule",
            title="random links",
            points=10,
            run=any_schedule,
            needs=("schedule",),
            builds_on=("senses", "relation"),
            hint="a link must fit with all links of a slot; try earlier slots first",
        ),
        Check(
            id="airtime",
            title="time on the air",
            points=6,
            run=airtime,
            needs=("airtime_us",),
            public=True,
            hint="a byte has 8 bits; each frame has a preamble",
        ),
        Check(
            id="rts-nav",
            title="the NAV of an RTS",
            points=8,
            run=rts_nav,
            needs=("rts_nav_us",),
            builds_on=("airtime_us",),
            hint="the time after the RTS: three frames, with a SIFS before each",
        ),
        Check(
            id="cts-nav",
            title="the NAV of a CTS",
            points=6,
            run=cts_nav,
            needs=("cts_nav_us",),
            builds_on=("airtime_us",),
            hint="the time after the CTS",
        ),
        Check(
            id="predictions",
            title="your predictions against the simulator",
            points=12,
            run=predictions,
            needs=("relation",),
            builds_on=("senses",),
            hint="this passes if all checks above pass; fix those first",
            simulates=True,
        ),
    ),
)
