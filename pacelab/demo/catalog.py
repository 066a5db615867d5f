"""What is shown: the network of each demonstration, its controls, and what to look for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

from pacelab.airconfig import compile_air
from pacelab.errors import ConfigError
from pacelab.experiment import Experiment

MEASURE_S, WARMUP_S = 2.5, 0.5
"""Goodput is taken from so much air, virtual time; the start is left out."""
WATCH_S = 0.06
"""So much of the air is shown in slow motion, virtual time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A control with a few settings. `what` names to the component what it changes (static/air.js)."""

    what: str
    label: str
    settings: tuple[tuple[str, float], ...]
    """(shown, value)"""
    value: float


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
    """One demonstration."""

    name: str
    title: str
    question: str
    """What to predict before touching anything."""
    answer: str
    """What to look for."""
    topology: str
    labels: tuple[str, ...]
    """Short names of the nodes, as the text uses them."""
    controls: tuple[Control, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the experiment."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the topology."""

    def air(self) -> dict[str, Any]:
        """The air configuration at the start (medium/README.md)."""
        experiment = Experiment(
            topology=self.topology,
            topology_options=dict(self.options),
            duration_s=MEASURE_S,
            warmup_s=WARMUP_S,
            **self.settings,
        )
        return compile_air(experiment, experiment.build_topology())

    def document(self) -> dict[str, Any]:
        """What the component is given, as JSON values."""
        document = {name: getattr(self, name) for name in ("name", "title", "question", "answer", "labels")}
        controls = [asdict(control) for control in self.controls]
        return document | {"controls": controls, "air": self.air(), "watch_s": WATCH_S}


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
                answer="Without RTS/CTS most frames of A and C fall into one another at B. An RTS is short, and B's "
                "CTS silences the other. Drag C next to A: they hear each other, and carrier sense is enough.",
                topology="hidden",
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
                "Shorten the carrier sense range below their distance: both send at once, and the sum doubles.",
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
                answer="Near, they share one channel. In between, one pair may starve: its receiver is disturbed by a "
                "sender that its own sender cannot hear. Far apart, each has the whole rate.",
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
                answer="A chain has room for about one segment in four hops. A larger window only puts more segments "
                "into each other's way: the goodput stops growing, collisions and retries do not.",
                topology="chain",
                labels=tuple("ABCDEFG"),
                settings={"rate_bps": 2_000_000, "window_pkts": 3},
                options={"hops": 6, "wired": False},
                controls=(
                    Slider(what="window", label="Window", unit="segments", low=1, high=32, step=1, value=3),
                    _rts(1),
                    RATE,
                    SENSE,
                ),
            ),
        )
    }
)
"""Name -> demonstration."""


def find_demo(name: str) -> Demo:
    """The demonstration called `name`; ConfigError names the known ones."""
    if name not in DEMOS:
        raise ConfigError(f"demo {name!r}: allowed is one of {', '.join(DEMOS)}")
    return DEMOS[name]
