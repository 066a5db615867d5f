"""What a demonstration is made of: a network, controls, a question and sentences to check."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from pacelab.documents import JsonObject
from pacelab.domains import Whole
from pacelab.errors import ConfigError
from pacelab.experiment.air_config import compile_air
from pacelab.experiment.air_types import AirConfig
from pacelab.experiment.experiment import Experiment
from pacelab.options.settings import BY_FIELD
from pacelab.units import BPS_PER_MBPS
from pacelab_topologies.model import Topology

MEASURE_S, WARMUP_S = 2.5, 0.5
"""Virtual time of a run. Goodput is measured after the warm-up."""
WATCH_S = 0.06
"""Virtual time that the page shows in slow motion."""
SEED = Whole(0, 1_000_000)

Value = float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A control with a few settings. `what` names what it changes, see `_SETTINGS` and static/air.js."""

    what: str
    label: str
    settings: tuple[tuple[str, Value], ...]
    """Pairs of the displayed text and the value."""
    value: Value

    @property
    def valid(self) -> str:
        """The valid values in words, as the command line takes them."""
        return f"one of {', '.join(shown for shown, _ in self._texts())}"

    def parse(self, text: str) -> Value:
        """The value for its text on the command line. Raises ValueError if there is none."""
        for shown, value in self._texts():
            if shown == text:
                return value
        raise ValueError(text)

    def check(self, value: Any) -> None:
        """Raise ValueError if the control has no such setting."""
        if not any(type(value) is type(setting) and value == setting for _, setting in self.settings):
            raise ValueError(value)

    def _texts(self) -> list[tuple[str, Value]]:
        return [(value if isinstance(value, str) else shown, value) for shown, value in self.settings]


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

    @property
    def valid(self) -> str:
        """The valid values in words."""
        return f"a number from {self.low:g} to {self.high:g} in steps of {self.step:g}"

    def parse(self, text: str) -> Value:
        """The value for its text on the command line. Raises ValueError if there is none."""
        value = float(text)
        self.check(value)
        if (value - self.low) % self.step:
            raise ValueError(text)
        return int(value) if value.is_integer() else value

    def check(self, value: Any) -> None:
        """Raise ValueError if the value is outside of the range."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.low <= value <= self.high:
            raise ValueError(value)

    @property
    def positions(self) -> list[int]:
        """The values of a slider whose values are whole numbers."""
        return list(range(int(self.low), int(self.high) + 1, int(self.step)))


Control = Choice | Slider

_SETTINGS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "rate": lambda mbps: {"rate_bps": round(mbps * BPS_PER_MBPS)},
    "rts": lambda on: {"rts": bool(on)},
    "window": lambda pkts: {"window_pkts": pkts},
    "routing": lambda name: {"routing": name},
    "scheme": lambda name: {"scheme": name},
}
"""By `what` of a control: the settings of the experiment for its value."""
_OPTIONS = ("hops", "voice")
"""The `what` of controls that set the topology's option of the same name."""
FLAGS = {"rate_bps": "rate", "window_pkts": "window"}
"""Fields of an experiment that a control calls by another name."""


def flag_of(name: str) -> str:
    """The flag of an option on the command line, from its field (`duration_s`: --seconds)."""
    return BY_FIELD[name].flag if name in BY_FIELD else f"--{name.replace('_', '-')}"


@dataclass(frozen=True, kw_only=True)
class Demo:
    """One demonstration. The engine in the page runs it. If `python` is true, runs.py runs it with a Python scheme."""

    name: str
    title: str
    question: str
    """What the reader predicts before moving a control."""
    answer: tuple[str, ...]
    """Sentences that say what to look for. Each one holds at every setting and seed that it speaks of:
    tests/demo/test_texts.py checks them at random settings and seeds."""
    topology: str
    controls: tuple[Control, ...]
    labels: tuple[str, ...] | None = None
    """Short names of the nodes, as the text uses them. Relays and wired nodes have the name "": relays are drawn small,
    and wired nodes are not drawn. None: letters in the order of the nodes."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the experiment that no control changes."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the topology that no control changes."""
    moved: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    """Nodes that do not start at the topology's position, with their position in metres."""
    slides: tuple[tuple[str, Mapping[str, Value]], ...] = (("", {}),)
    """Parts of the animation: a caption, and the values of controls that differ."""
    python: bool = False
    duration_s: float = MEASURE_S
    warmup_s: float = WARMUP_S
    watch_from_s: float = 0.0
    """Start of the slow motion. With TCP, this is a time at which TCP has settled."""
    sweep: tuple[str, tuple[float, ...]] | None = None
    """The `what` of a slider, and the slider positions at which the goodput curve has points."""
    compare_with: str | None = None
    """The scheme with whose sum a run is compared in a sentence below the bars."""
    full_bps: float | None = None
    """Goodput that fills a bar. None means the data rate for one flow, and twice the data rate for several flows. With
    a sweep, the highest point of the curve fills the bar."""
    seed: int = 1

    @property
    def values(self) -> dict[str, Value]:
        """The initial values of the controls."""
        return {control.what: control.value for control in self.controls}

    def starting_at(self, texts: Mapping[str, str]) -> Demo:
        """The demonstration with other initial values, from the text of options of `pacelab run` by their field.

        Raises ConfigError for an option or a value that the demonstration does not have.
        """
        controls = {control.what: control for control in self.controls if control.what != "gap"}
        seed = self.seed
        for name, text in texts.items():
            what = FLAGS.get(name, name)
            if what == "seed":
                seed = self._seed(text)
            elif what in controls:
                value: Any = self._parse(controls[what], text)
                controls[what] = replace(controls[what], value=value)
            else:
                flags = ", ".join(f"--{each}" for each in (*controls, "seed"))
                raise ConfigError(
                    f"demo {self.name} has no option {flag_of(name)}; it has {flags}; for all options of "
                    f"`pacelab run`, show a network: pacelab demo {self.topology} --scheme newreno ..."
                )
        changed = tuple(controls.get(control.what, control) for control in self.controls)
        return replace(self, controls=changed, seed=seed)

    def _parse(self, control: Control, text: str) -> Value:
        try:
            return control.parse(text)
        except ValueError:
            raise ConfigError(f"demo {self.name}: --{control.what} must be {control.valid}, not {text!r}") from None

    def _seed(self, text: str) -> int:
        try:
            return SEED.parse(text)
        except ValueError as error:
            raise ConfigError(f"demo {self.name}: --seed {error}") from None

    def experiment(self, values: Mapping[str, Value] | None = None, **changes: Any) -> Experiment:
        """The experiment with these values of the controls, the others being the initial ones."""
        values = self.values | dict(values or {})
        settings: dict[str, Any] = {
            "topology": self.topology,
            "topology_options": dict(self.options) | {what: values[what] for what in _OPTIONS if what in values},
            "duration_s": self.duration_s,
            "warmup_s": self.warmup_s,
            "seed": self.seed,
            **self.settings,
        }
        for what, value in values.items():
            settings |= _SETTINGS[what](value) if what in _SETTINGS else {}
        experiment = Experiment(**(settings | changes))
        network = self._place(experiment.network, values)
        return experiment if network is experiment.network else experiment.with_network(network)

    def _place(self, network: Topology, values: Mapping[str, Value]) -> Topology:
        """The network with the nodes and the sense range where the controls and `moved` put them."""
        places = dict(self.moved)
        for control in self.controls:
            if isinstance(control, Slider) and control.what == "gap":
                fixed, first = (network.nodes[node].position_m for node in (control.nodes[0] - 1, control.nodes[0]))
                shift = float(values["gap"]) - (first[0] - fixed[0])
                for node in control.nodes:
                    x, y = network.nodes[node].position_m
                    places[node] = (x + shift, y)
        if places:
            nodes = (replace(node, position_m=places.get(i, node.position_m)) for i, node in enumerate(network.nodes))
            network = replace(network, nodes=tuple(nodes))
        if "sense" in values:
            sense_m = float(values["sense"])
            network = replace(network, sense_m=sense_m, decode_m=min(network.decode_m, sense_m))
        return network

    def labels_of(self, network: Topology) -> tuple[str, ...]:
        """The label of each node."""
        return self.labels or tuple(string.ascii_uppercase[: len(network.nodes)])

    def air(self) -> AirConfig:
        """The air configuration with the initial values (medium/README.md)."""
        return compile_air(self.experiment())

    @cached_property
    def shapes(self) -> dict[str, JsonObject]:
        """By number of hops: what the page replaces in the configuration when its slider of hops moves."""
        hops = next((control for control in self.controls if control.what == "hops"), None)
        if not isinstance(hops, Slider):
            return {}
        found = {}
        for count in hops.positions:
            experiment = self.experiment({"hops": count})
            air = compile_air(experiment)
            found[str(count)] = {"labels": self.labels_of(experiment.network)} | {
                name: air[name] for name in ("nodes", "wired", "flows")
            }
        return found

    def document(self) -> JsonObject:
        """The input of the page component, as JSON values."""
        names = ("name", "title", "question", "answer", "python", "full_bps", "shapes")
        document = {name: getattr(self, name) for name in names}
        experiment = self.experiment()
        gateways = experiment.network.gateways
        document |= {"labels": self.labels_of(experiment.network), "gateway": gateways[0] if gateways else None}
        document |= {"controls": [asdict(control) for control in self.controls], "air": compile_air(experiment)}
        document["sweep"] = {"what": self.sweep[0], "points": list(self.sweep[1])} if self.sweep else None
        return document | {"watch_from_s": self.watch_from_s, "watch_s": WATCH_S}
