"""The demonstrations, and what one is: a network, its controls, a question and what to look for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

from pacelab.errors import ConfigError
from pacelab.experiment.air_config import compile_air
from pacelab.experiment.experiment import Experiment

MEASURE_S, WARMUP_S = 2.5, 0.5
"""Goodput is taken from so much air, virtual time; the start is left out."""
WATCH_S = 0.06
"""So much of the air is shown in slow motion, virtual time."""

Value = float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A control with a few settings. `what` says what it changes (static/air.js, or runs.py of a Python demo)."""

    what: str
    label: str
    settings: tuple[tuple[str, Value], ...]
    """(shown, value)"""
    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Slider:
    """A control with a range. `nodes` are those that it moves, for `what` = "gap"."""

    what: str
    label: str
    unit: str
    low: float
    high: float
    step: float
    value: float
    nodes: tuple[int, ...] = ()


Control = Choice | Slider


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """One demonstration. The engine in the page runs it, or with `python` the schemes here (runs.py)."""

    name: str
    title: str
    question: str
    """What to predict before touching anything."""
    answer: str
    """What to look for."""
    topology: str
    labels: tuple[str, ...]
    """Short names of the nodes, as the text uses them; "" of relays and wired nodes, which are drawn small or not."""
    controls: tuple[Control, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the experiment."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the topology."""
    slides: tuple[tuple[str, Mapping[str, Any]], ...] = (("", {}),)
    """Parts of an animation: caption, and what changes of the experiment (with `python`: of the controls' values)."""
    python: bool = False
    duration_s: float = MEASURE_S
    warmup_s: float = WARMUP_S
    watch_from_s: float = 0.0
    """The slow motion begins here: with TCP, where it has settled."""
    sweep: tuple[str, tuple[float, ...]] | None = None
    """A slider's `what`, and the settings of it that a curve of goodput is drawn through."""
    full_bps: float | None = None
    """A bar of goodput is full here; None: at the data rate, or twice that of several flows."""

    def experiment(self, **changes: Any) -> Experiment:
        """The experiment at the start; `changes` are other settings."""
        settings: dict[str, Any] = {
            "topology": self.topology,
            "topology_options": dict(self.options),
            "duration_s": self.duration_s,
            "warmup_s": self.warmup_s,
        }
        return Experiment(**(settings | dict(self.settings) | changes))

    def air(self) -> dict[str, Any]:
        """The air configuration at the start (medium/README.md)."""
        experiment = self.experiment()
        return compile_air(experiment)

    def document(self) -> dict[str, Any]:
        """What the component is given, as JSON values."""
        names = ("name", "title", "question", "answer", "labels", "python", "full_bps")
        document = {name: getattr(self, name) for name in names}
        controls = [asdict(control) for control in self.controls]
        gateways = self.experiment().network.gateways
        document |= {"gateway": gateways[0] if gateways else None}
        sweep = {"what": self.sweep[0], "points": list(self.sweep[1])} if self.sweep else None
        watch = {"watch_from_s": self.watch_from_s, "watch_s": WATCH_S}
        return document | {"controls": controls, "air": self.air(), "sweep": sweep} | watch


RATES = tuple((f"{rate:g}", rate) for rate in (1, 2, 5.5, 11))
RATE = Choice(what="rate", label="Data rate (Mbit/s)", settings=RATES, value=2)
SENSE = Slider(what="sense", label="Carrier sense range", unit="m", low=250, high=1500, step=10, value=550)


def _rts(value: int) -> Choice:
    return Choice(what="rts", label="RTS/CTS", settings=(("off", 0), ("on", 1)), value=value)


DEMOS: Mapping[str, Demo] = MappingProxyType(
    {
        demo.name: demo
        for demo in (
            Demo(
                name="hidden",
                title="Hidden terminals",
                question="A and C both send to B and cannot hear each other. How much of the air's capacity reaches "
                "B? And with RTS/CTS?",
                answer="Without RTS/CTS nine of ten frames of A and C fall into one another at B, at 2 Mbit/s. An RTS "
                "is short, and B's CTS silences the other: together they carry more than four times as much. At 11 "
                "Mbit/s frames are shorter themselves, and RTS/CTS gains a tenth or so. Drag C next to A, or let both "
                "sense farther than 400 m: they hear each other, and carrier sense is enough.",
                topology="hidden",
                slides=(("RTS/CTS off", {}), ("RTS/CTS on", {"rts": True})),
                labels=("A", "B", "C"),
                settings={"traffic": "udp-saturated", "rts": False, "rate_bps": 2_000_000},
                controls=(
                    _rts(0),
                    RATE,
                    Slider(what="sense", label="Carrier sense range", unit="m", low=250, high=600, step=10, value=250),
                ),
            ),
            Demo(
                name="exposed",
                title="Exposed terminals",
                question="B sends to A, C sends to D, away from each other. Do they have to share the air?",
                answer="B and C sense each other and wait in turn, though neither would disturb the other's receiver. "
                "Set the carrier sense range to 250 m and drag C and D away until C is farther than that from B: both "
                "send at once, and the sum doubles.",
                topology="exposed",
                labels=("A", "B", "C", "D"),
                settings={"traffic": "udp-saturated", "rts": False, "rate_bps": 2_000_000},
                controls=(
                    _rts(0),
                    RATE,
                    Slider(what="sense", label="Carrier sense range", unit="m", low=250, high=800, step=10, value=550),
                ),
            ),
            Demo(
                name="reuse",
                title="Spatial reuse",
                question="Two pairs, each sending as fast as it can. How far apart must they be to have the air for "
                "themselves?",
                answer="As long as A and C sense each other they share one channel; B and C farther apart than the "
                "sense range, each pair has the whole rate. In between (550 m sensed: 360 to 550 m from B to C) B "
                "senses C and receives A all the same, by capture: both pairs have nearly all, at 11 Mbit/s four "
                "fifths. Now switch RTS/CTS on: A's pair starves. B begins with C's frames, cannot read them, and may "
                "not answer A.",
                topology="reuse",
                labels=("A", "B", "C", "D"),
                settings={"traffic": "udp-saturated", "rts": False, "rate_bps": 2_000_000},
                controls=(
                    Slider(
                        what="gap",
                        label="Distance of the pairs",
                        unit="m",
                        low=100,
                        high=1500,
                        step=10,
                        value=1000,
                        nodes=(2, 3),
                    ),
                    SENSE,
                    _rts(0),
                    RATE,
                ),
            ),
            Demo(
                name="window",
                title="TCP's window on a chain",
                question="A TCP flow runs over six hops. Which window carries most: 1, 3, or 32 segments?",
                answer="A chain has room for about one segment in four hops. One leaves air idle; with two or three "
                "TCP is at its best. A larger window only puts segments into each other's way: with 32 TCP carries "
                "about 3 % less than with 3. So it is at every rate and sense range: with RTS/CTS no window carries "
                "5 % more than the better of 2 and 3.",
                topology="chain",
                labels=tuple("ABCDEFG"),
                settings={"rate_bps": 2_000_000, "window_pkts": 3},
                options={"hops": 6, "wired": False},
                slides=(("3 segments", {}), ("32 segments", {"window_pkts": 32})),
                duration_s=65.0,
                warmup_s=5.0,
                watch_from_s=5.0,
                sweep=("window", (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32)),
                full_bps=950_000,
                controls=(
                    Slider(what="window", label="Window", unit="segments", low=1, high=32, step=1, value=3),
                    _rts(1),
                    RATE,
                    SENSE,
                ),
            ),
            Demo(
                name="starvation",
                title="Starved flows, and pacing",
                question="A and C send to the gateway G, B and D receive from it: four TCP flows of three hops each. "
                "Do they share the air?",
                answer="With NewReno A and C starve: in seeds 1 to 10 neither has more than 4 of some 470 kbit/s. "
                "Pacing at the senders and at the gateway lets them in, for 6 to 8 % of the sum. B and D still have "
                "more; Goodput Control throttles them at the gateway, some seconds after it has measured that. Link "
                "RED with pacing gives up fewer packets, but A and C go on starving.",
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
                    Choice(
                        what="scheme",
                        label="Scheme",
                        settings=(
                            ("NewReno alone", "newreno"),
                            ("TCP-GAP", "tcp-gap"),
                            ("TCP-GAP without its Goodput Control", "tcp-gap-nogc"),
                            ("Link RED with pacing", "lred+pacing"),
                        ),
                        value="newreno",
                    ),
                ),
                python=True,
                duration_s=30.0,
                warmup_s=6.0,
                full_bps=500_000,
            ),
            Demo(
                name="voice",
                title="Calls beside TCP",
                question="Calls and three TCP downloads share a string of four hops. What does the voice need: "
                "priority in the queues, or less TCP?",
                answer="Beside NewReno most of five calls stay below a MOS of 3.6, which is about GSM. VAGP at the "
                "gateway gives TCP what the calls leave over: in each of seeds 1 to 10 all five calls are at 3.6 or "
                "better, and TCP has 8 to 31 % less. Voice first in every queue costs TCP little and helps some of the "
                "five. Of two calls it helps none, and VAGP takes 38 to 46 % of TCP to help both; eight leave TCP "
                "little, and either helps seven of them or more. "
                "802.11e's own queue for voice ruins them all: see the packets given up.",
                topology="chain",
                labels=("G", "1", "2", "3", "4", "", ""),
                options={"hops": 4, "tcp": 3},
                slides=(("NewReno alone", {}), ("VAGP", {"scheme": "vagp"})),
                controls=(
                    Choice(
                        what="scheme",
                        label="Scheme",
                        settings=(
                            ("NewReno alone", "newreno"),
                            ("VAGP", "vagp"),
                            ("voice first in queues", "priority"),
                            ("802.11e", "edca"),
                        ),
                        value="newreno",
                    ),
                    Choice(what="voice", label="Calls", settings=(("2", 2), ("5", 5), ("8", 8)), value=5),
                ),
                python=True,
                duration_s=25.0,
                warmup_s=8.0,
                full_bps=1_200_000,
            ),
        )
    }
)
"""Name -> demonstration."""


def find_demo(name: str) -> Demo:
    """The demonstration called `name`; ConfigError names the known ones."""
    if not isinstance(name, str) or name not in DEMOS:
        raise ConfigError(f"demo {name!r:.60}: allowed is one of {', '.join(DEMOS)}")
    return DEMOS[name]
