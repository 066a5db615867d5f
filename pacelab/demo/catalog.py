"""The demonstrations. Each has a network, controls, a question and an answer."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pacelab.demo.model import Choice, Demo, Slider, Value
from pacelab.errors import ConfigError

RATES: tuple[tuple[str, Value], ...] = tuple((f"{rate:g}", rate) for rate in (1, 2, 5.5, 11))
RATE = Choice(what="rate", label="Data rate (Mbit/s)", settings=RATES, value=2)


def _rts(value: int) -> Choice:
    return Choice(what="rts", label="RTS/CTS", settings=(("off", 0), ("on", 1)), value=value)


def _sense(high: float, value: float) -> Slider:
    return Slider(what="sense", label="Carrier sense range", unit="m", low=250, high=high, step=10, value=value)


def _routes(value: str) -> Choice:
    return Choice(what="routing", label="Routes", settings=(("static", "static"), ("AODV", "aodv")), value=value)


def _schemes(*settings: tuple[str, Value]) -> Choice:
    return Choice(what="scheme", label="Scheme", settings=settings, value="newreno")


HIDDEN = Demo(
    name="hidden",
    title="Hidden terminals",
    question="A and C both send to B, but they cannot hear each other. How much of the channel's capacity do they use "
    "together? How much with RTS/CTS?",
    answer=(
        "A and C are 200 m from B and out of each other's sense range. At 2 Mbit/s without RTS/CTS, about nine of ten "
        "of their frames collide at B.",
        "An RTS is short, and B's CTS silences the other sender: at 2 Mbit/s, A and C together carry more than four "
        "times as much with RTS/CTS.",
        "At 11 Mbit/s the data frames are shorter, and RTS/CTS changes the sum by less than a quarter.",
        "Drag C next to A, or set the carrier sense range to 400 m or more. A and C then sense each other, and carrier "
        "sense is enough.",
    ),
    topology="hidden",
    slides=(("RTS/CTS off", {}), ("RTS/CTS on", {"rts": 1})),
    settings={"traffic": "udp-saturated"},
    controls=(_rts(0), RATE, _sense(600, 250)),
)
EXPOSED = Demo(
    name="exposed",
    title="Exposed terminals",
    question="B sends to A, and C sends to D, in opposite directions. Must B and C share the air?",
    answer=(
        "As long as B and C sense each other, they send in turn, although neither would disturb the other's receiver.",
        "B and C are 300 m apart. Set the carrier sense range to less than 300 m: B and C then send at the same time, "
        "and the sum doubles.",
    ),
    topology="exposed",
    moved={2: (500.0, 0.0), 3: (700.0, 0.0)},
    slides=(("sense range 550 m", {}), ("sense range 250 m", {"sense": 250})),
    settings={"traffic": "udp-saturated"},
    controls=(_rts(0), RATE, _sense(800, 550)),
)
REUSE = Demo(
    name="reuse",
    title="Spatial reuse",
    question="A sends to B, and C sends to D. How far apart must the pairs be so that each has the channel to itself?",
    answer=(
        "As long as A and C sense each other, the two pairs share one channel.",
        "Once B and C are farther apart than the sense range, each pair gets its full goodput, that of a pair that "
        "sends alone.",
        "Between these distances (360 to 550 m from B to C, if the sense range is 550 m), B senses C but still "
        "receives A's frames, by capture. Without RTS/CTS each pair then gets at least nine tenths of its full goodput "
        "at 1 and 2 Mbit/s, and at least two thirds at the higher rates.",
        "Now switch RTS/CTS on: the pair of A and B gets less than half of its rate, and often almost nothing. B "
        "starts to receive C's frames, cannot decode them, and may not answer A's RTS.",
    ),
    topology="reuse",
    settings={"traffic": "udp-saturated"},
    controls=(
        Slider(
            what="gap",
            label="Distance from B to C",
            unit="m",
            low=100,
            high=1500,
            step=10,
            value=1000,
            nodes=(2, 3),
        ),
        _sense(1500, 550),
        _rts(0),
        RATE,
    ),
)
WINDOW = Demo(
    name="window",
    title="TCP's window on a chain",
    question="A TCP flow crosses a chain of radios. Which window gives the highest goodput: 1, 3 or 32 segments?",
    answer=(
        "A chain carries about one segment per four hops at the same time. On seven or eight hops at 2 Mbit/s or more, "
        "a window of one segment leaves the channel idle: the goodput is at least a tenth lower than with the better "
        "of the windows 2 and 3.",
        "Over static routes a larger window changes little: with a window of 4 to 32 segments, the goodput differs by "
        "at most a tenth from the goodput with the best of the windows 1, 2 and 3.",
        "When contention destroys a frame, AODV assumes that the link is broken, and searches for a new route. On "
        "seven or eight hops at 2 Mbit/s, the goodput with a window of 32 is at least a fifth lower than with the best "
        "of the windows 1, 2 and 3, and about half lower on average over many seeds.",
    ),
    topology="chain",
    options={"wired": False},
    slides=(("3 segments", {}), ("32 segments", {"window": 32})),
    duration_s=65.0,
    warmup_s=5.0,
    watch_from_s=5.0,
    sweep=("window", (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32)),
    controls=(
        Slider(what="window", label="Window", unit="segments", low=1, high=32, step=1, value=3),
        Slider(what="hops", label="Hops", unit="", low=2, high=8, step=1, value=7),
        _routes("aodv"),
        _rts(1),
        RATE,
    ),
)
STARVATION = Demo(
    name="starvation",
    title="Starved flows and pacing",
    question="A and C send to G, and B and D receive from G: four TCP flows of three hops. Is that fair?",
    answer=(
        "Over static routes and with NewReno alone, A and C starve: together they get less than a twentieth of the "
        "sum.",
        "Pacing at the senders and at the gateway gives A and C a share: over static routes, TCP-GAP gives each of "
        "them more than 25 kbit/s, with or without Goodput Control. The line below the bars says what that costs.",
        "Over static routes and without Goodput Control, B and D still get more than A and C. Goodput Control at the "
        "gateway throttles a flow that gets much more than the mean: on average over many seeds, B and D get less "
        "with it.",
        "Over static routes, Link RED with pacing gives up fewer packets than NewReno alone, but A and C still get "
        "less than 50 kbit/s each.",
        "When contention destroys frames, AODV assumes that links are broken: NewReno alone then carries less than "
        "over static routes, about a third less on average over many seeds.",
    ),
    topology="cross-gateway",
    labels=("A", "", "", "B", "", "", "C", "", "", "D", "", "", "G", "", "", "", "", "", "", ""),
    settings={"rate_bps": 2_000_000, "direction": "mixed"},
    options={"hops": 3},
    slides=(
        ("NewReno alone", {}),
        ("TCP-GAP without Goodput Control", {"scheme": "tcp-gap-nogc"}),
        ("TCP-GAP", {"scheme": "tcp-gap"}),
    ),
    controls=(
        _schemes(
            ("NewReno alone", "newreno"),
            ("TCP-GAP", "tcp-gap"),
            ("TCP-GAP without Goodput Control", "tcp-gap-nogc"),
            ("Link RED with pacing", "lred+pacing"),
        ),
        _routes("static"),
    ),
    python=True,
    duration_s=30.0,
    warmup_s=6.0,
    compare_with="newreno",
    full_bps=500_000,
)
VOICE = Demo(
    name="voice",
    title="Voice calls beside TCP",
    question="Voice calls and three TCP downloads share a chain of four hops. What do the calls need: priority in the "
    "queues, or less TCP?",
    answer=(
        "Over static routes and beside NewReno alone, two calls stay below a MOS of 3.6, which is about GSM quality. "
        "Of five calls, at least two stay below 3.6.",
        "VAGP at the gateway gives TCP what the calls leave over: over static routes, all calls have a MOS of 3.4 or "
        "better. The line below the bars says what TCP pays.",
        "Two calls, static routes: if every queue sends voice packets first, neither call reaches a MOS of 3.6.",
        "Eight calls leave TCP little: over static routes, seven or more of them reach a MOS of 3.6 with voice first, "
        "and also with VAGP.",
        "The voice queue of 802.11e ruins all calls: see the number of packets given up.",
        "When contention destroys frames, AODV assumes that links are broken: beside NewReno alone, no call then "
        "reaches a MOS of 3.6.",
    ),
    topology="chain",
    labels=("G", "1", "2", "3", "4", "", ""),
    options={"hops": 4, "tcp": 3},
    slides=(("NewReno alone", {}), ("VAGP", {"scheme": "vagp"})),
    controls=(
        _schemes(
            ("NewReno alone", "newreno"),
            ("VAGP", "vagp"),
            ("Voice first in queues", "priority"),
            ("802.11e", "edca"),
        ),
        Choice(what="voice", label="Calls", settings=(("2", 2), ("5", 5), ("8", 8)), value=5),
        _routes("static"),
    ),
    python=True,
    duration_s=25.0,
    warmup_s=8.0,
    compare_with="newreno",
    full_bps=1_200_000,
)

DEMOS: Mapping[str, Demo] = MappingProxyType(
    {demo.name: demo for demo in (HIDDEN, EXPOSED, REUSE, WINDOW, STARVATION, VOICE)}
)
"""The demonstrations by name."""


def find_demo(name: str) -> Demo:
    """The demonstration called `name`. Raises ConfigError with the known names if there is none."""
    if not isinstance(name, str) or name not in DEMOS:
        raise ConfigError(f"demo must be one of {', '.join(DEMOS)}, not {name!r:.60}")
    return DEMOS[name]
