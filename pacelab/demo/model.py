"""What a demonstration is: a network, its controls, a question and what to look for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pacelab.experiment.experiment import Experiment
from pacelab.sim.airconfig import compile_air

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
