"""The demonstrations. Each has a network, controls, a question and an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

from pacelab.errors import ConfigError
from pacelab.experiment.air_config import compile_air
from pacelab.experiment.experiment import Experiment

MEASURE_S, WARMUP_S = 2.5, 0.5
"""Virtual time of a run. Goodput is measured after the warm-up."""
WATCH_S = 0.06
"""Virtual time that the page shows in slow motion."""

Value = float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A control with a few settings. `what` names what it changes: see static/air.js, or runs.py for Python demos."""

    what: str
    label: str
    settings: tuple[tuple[str, Value], ...]
    """Pairs of the displayed text and the value."""
    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Slider:
    """A control with a range. If `what` is "gap", the slider moves the `nodes`."""

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
    """One demonstration. The engine in the page runs it. If `python` is true, runs.py runs it with a Python scheme."""

    name: str
    title: str
    question: str
    """What the reader predicts before moving a control."""
    answer: str
    """What the reader should look for."""
    topology: str
    labels: tuple[str, ...]
    """Short names of the nodes, as the text uses them. Relays and wired nodes have the name "": relays are drawn small,
    and wired nodes are not drawn."""
    controls: tuple[Control, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the experiment."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the topology."""
    slides: tuple[tuple[str, Mapping[str, Any]], ...] = (("", {}),)
    """Parts of the animation: a caption, and the settings that differ. These are settings of the experiment, or values
    of the controls if `python` is true."""
    python: bool = False
    duration_s: float = MEASURE_S
    warmup_s: float = WARMUP_S
    watch_from_s: float = 0.0
    """Start of the slow motion. With TCP, this is a time at which TCP has settled."""
    sweep: tuple[str, tuple[float, ...]] | None = None
    """The `what` of a slider, and the slider positions at which the goodput curve has points."""
    full_bps: float | None = None
    """Goodput that fills a bar. None means the data rate for one flow, and twice the data rate for several flows."""

    def experiment(self, **changes: Any) -> Experiment:
        """The experiment with the initial settings, except for `changes`."""
        settings: dict[str, Any] = {
            "topology": self.topology,
            "topology_options": dict(self.options),
            "duration_s": self.duration_s,
            "warmup_s": self.warmup_s,
        }
        return Experiment(**(settings | dict(self.settings) | changes))

    def air(self) -> dict[str, Any]:
        """The air configuration with the initial settings (medium/README.md)."""
        experiment = self.experiment()
        return compile_air(experiment)

    def document(self) -> dict[str, Any]:
        """The input of the page component, as JSON values."""
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
                question="A and C both send to B, but they cannot hear each other. How much of the air's capacity "
                "reaches B? How much reaches B with RTS/CTS?",
                answer="At 2 Mbit/s without RTS/CTS, nine of ten frames of A and C collide at B. An RTS is short, and "
                "B's CTS silences the other sender. With RTS/CTS, A and C together carry more than four times as much. "
                "At 11 Mbit/s the data frames are shorter, and RTS/CTS gains only about a tenth. Drag C next to A, or "
                "set the carrier sense range to more than 400 m. A and C then hear each other, and carrier sense is "
                "enough.",
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
                question="B sends to A, and C sends to D, in opposite directions. Must B and C share the air?",
                answer="B and C sense each other and send in turn, although neither would disturb the other's "
                "receiver. Set the carrier sense range to 250 m, and drag C and D away until B and C are more than "
                "250 m apart. B and C then send at the same time, and the sum doubles.",
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
                question="A sends to B, and C sends to D. How far apart must the pairs be so that each has the air to "
                "itself?",
                answer="As long as A and C sense each other, the two pairs share one channel. Once B and C are "
                "farther apart than the sense range, each pair gets the full rate. Between these distances (360 to "
                "550 m from B to C, if the sense range is 550 m), B senses C but still receives A's frames, by "
                "capture. Both pairs then get nearly the full rate, or four fifths of the full rate at 11 Mbit/s. Now "
                "switch RTS/CTS on: the pair of A and B starves. B starts to receive C's frames, cannot decode them, "
                "and may not answer A's RTS.",
                topology="reuse",
                labels=("A", "B", "C", "D"),
                settings={"traffic": "udp-saturated", "rts": False, "rate_bps": 2_000_000},
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
                    SENSE,
                    _rts(0),
                    RATE,
                ),
            ),
            Demo(
                name="window",
                title="TCP's window on a chain",
                question="A TCP flow runs over six hops. Which window gives the highest goodput: 1, 3 or 32 segments?",
                answer="A chain has room for about one segment per four hops. A window of one segment leaves air idle. "
                "With two or three segments, TCP is at its best. In a larger window the segments only get in each "
                "other's way: with the initial settings, TCP carries about 3 % less with 32 segments than with 3. At "
                "every data rate and sense range, if RTS/CTS is on, no window carries 5 % more than the better of 2 "
                "and 3.",
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
                title="Starved flows and pacing",
                question="A and C send to the gateway G, and B and D receive from G. Each of these four TCP flows "
                "takes three hops. Do the flows share the air fairly?",
                answer="With NewReno, A and C starve: in seeds 1 to 10, neither gets more than 4 kbit/s of a sum of "
                "about 470 kbit/s. Pacing at the senders and at the gateway lets A and C in. Over the ten seeds "
                "together, pacing costs 6 to 8 % of the sum. B and D still get more than A and C. Goodput Control at "
                "the gateway throttles B and D some seconds after it has measured this. Link RED with pacing gives up "
                "fewer packets, but A and C still starve.",
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
                            ("TCP-GAP without Goodput Control", "tcp-gap-nogc"),
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
                title="Voice calls beside TCP",
                question="Voice calls and three TCP downloads share a chain of four hops. What do the calls "
                "need: priority in the queues, or less TCP?",
                answer="Beside NewReno, most of five calls stay below a MOS of 3.6, which is about GSM quality. VAGP "
                "at the gateway gives TCP what the calls leave over: in each of seeds 1 to 10, all five calls have a "
                "MOS of 3.6 or better, and TCP carries 8 to 31 % less. Voice first in every queue costs TCP little "
                "and helps some of the five calls. Of two calls, voice first helps none, and VAGP takes 38 to 46 % of "
                "TCP's goodput to help both. Eight calls leave TCP little, and either scheme helps seven or more of "
                "them. The voice queue of 802.11e ruins all calls: see the number of packets given up.",
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
                            ("Voice first in queues", "priority"),
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
"""The demonstrations by name."""


def find_demo(name: str) -> Demo:
    """The demonstration called `name`. Raises ConfigError with the known names if there is none."""
    if not isinstance(name, str) or name not in DEMOS:
        raise ConfigError(f"demo must be one of {', '.join(DEMOS)}, not {name!r:.60}")
    return DEMOS[name]
