"""A network of one's own, live: what its page is given, and runs of those schemes whose hooks are Python.

The page has a network, which a person changes; a scheme without hooks runs there, in the engine. Of the others the page
asks the local server, with the network as a topology file. The file is read as any (pacelab_topologies.own); options
are the ones that the page began with, but for RTS/CTS.
"""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacelab.demo.page import data_page, engine_bytes, script, static
from pacelab.errors import ConfigError
from pacelab.experiment.air_config import compile_air
from pacelab.experiment.experiment import Experiment
from pacelab.figures.timeline import record_air
from pacelab.options.table import BY_FIELD
from pacelab.results.folder import write_file
from pacelab.running.runner import find_backend
from pacelab.schemes import SCHEMES
from pacelab_topologies.model import Topology
from pacelab_topologies.registry import KINDS

NEW = "new"
"""A network to begin with, of static/new.yaml."""
DURATION_S = 20.0
"""Virtual time of each run, unless the topology says another."""
WATCH_S = (0.9, 1.0)
"""This of the air is shown in slow motion: TCP has found its pace by then."""
RECORDED_SEEDS = 3
"""An exported file has so many runs of a Python scheme in it."""
MOST_SEED = 1_000_000
MODULES = ("air.js", "scene.js", "timeline.js", "curves.js", "own.js")
WORKER = """
let engine;
onmessage = async ({ data: { engine: bytes, id, air, until_s, where } }) => {
  if (bytes) { engine = startEngine(bytes); return; }
  try {
    const run = await engine;
    if (where) postMessage({ id, ...run.places(air) });
    else postMessage({ id, result: run(air), tap: run({ ...air, tap: true, duration_s: until_s, warmup_s: 0 }).tap });
  } catch (error) {
    postMessage({ id, error: error.message });
  }
};
"""
START = """
const page = JSON.parse(document.getElementById("demo").textContent);
const shown = document.createElement("pacelab-own");
document.querySelector("main").replaceChildren(shown);
shown.start(page, ownRuns(page));
"""


@dataclass(frozen=True, slots=True)
class Own:
    """A network and the schemes to see it under, the same experiment but for that."""

    experiments: tuple[Experiment, ...]

    @property
    def topology(self) -> Topology:
        """The network at first."""
        return self.experiments[0].network

    def named(self, scheme: object) -> Experiment:
        """The experiment under this scheme; ConfigError names those there are."""
        for experiment in self.experiments:
            if experiment.scheme == scheme:
                return experiment
        raise ConfigError(f"scheme {scheme!r}: allowed is one of {', '.join(one.scheme for one in self.experiments)}")


def open_own(topology: str, schemes: Sequence[str]) -> Own:
    """The network called `topology` (a name, NEW, or a file's path) under `schemes`.

    Raises ConfigError when one of them is not known or cannot run there, or when the network has calls or short
    transfers, which a topology file's flows are not.
    """
    if topology == NEW:
        topology = str(Path(__file__).with_name("static") / "new.yaml")
    for name in schemes:
        if name in SCHEMES and SCHEMES[name].traffic == ("voice",):
            said = "it acts on calls, which its page has not: `pacelab demo voice` shows them"
            raise ConfigError(f"demo {topology} --scheme {name}: {said}")
    first = Experiment(topology=topology)
    settings: dict[str, Any] = {} if _says_how_long(first.network) else {"duration_s": DURATION_S}
    own = Own(tuple(Experiment(topology=topology, scheme=name, **settings) for name in dict.fromkeys(schemes)))
    for experiment in own.experiments:
        if "traffic" in experiment.own_files:
            raise ConfigError(f"demo {topology}: its traffic is a file's; allowed is traffic by name")
        if len(experiment.flows) != len(experiment.network.flows) or any(f.call is not None for f in experiment.flows):
            raise ConfigError(f"demo {topology}: allowed are flows of tcp, udp-saturated, cbr or file")
    return own


def answer(own: Own, message: Any) -> dict[str, Any]:
    """Run what a page asks for: `{"scheme", "file", "rts", "seed"}`; ConfigError names what is not allowed."""
    from pacelab_topologies.own import read_yaml  # pydantic, which the command line starts without

    if not isinstance(message, dict) or set(message) != {"scheme", "file", "rts", "seed"}:
        raise ConfigError("a change has scheme, file, rts and seed, and nothing else")
    text, rts, seed = message["file"], message["rts"], message["seed"]
    if not isinstance(text, str) or type(rts) is not bool:
        raise ConfigError("file is a topology file's text, rts true or false")
    if type(seed) is not int or not 0 <= seed <= MOST_SEED:
        raise ConfigError(f"seed: allowed is a whole number from 0 to {MOST_SEED}")
    try:
        topology = read_yaml(text, "the network")
    except ValueError as error:
        raise ConfigError(str(error)) from None
    begun = own.named(message["scheme"])
    # A file's options could name other files of this machine.
    if {name: value for name, value in topology.defaults.items() if name != "--rts"} != _file_defaults(own):
        raise ConfigError("the network: its defaults are others than those that the page began with")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "network.yaml")
        file.write_text(text, "utf-8")
        return _run(begun.vary(topology=str(file), rts=rts, seed=seed))


def own_page(own: Own, *, recorded: bool = False) -> str:
    """The page; with `recorded`, runs of Python's schemes are in it, and it needs no server."""
    topology = own.topology
    loss = topology.path_loss
    ranges = {"decode_m": topology.decode_m, "sense_m": topology.sense_m}
    if loss is not None:
        ranges |= {"exponent": loss.exponent, "shadowing_db": loss.shadowing_db}
    page = {
        "question": "Drag nodes, add some, join them by flows: the air runs again with each change.",
        "file": {
            "name": topology.name,
            "description": topology.description,
            "drawn": f"drawn by hand, from {topology.name}" if own.experiments[0].kind.name in KINDS else None,
            "ranges": ranges,
            "area_m": topology.area_m,
            "defaults": {name.removeprefix("--"): value for name, value in _file_defaults(own).items()},
        },
        "schemes": [
            {
                "name": experiment.scheme,
                "summary": experiment.chosen_scheme.summary,
                "python": _has_hooks(experiment),
                "air": compile_air(experiment),
            }
            for experiment in own.experiments
        ],
        "watch_s": WATCH_S,
        "style": static("style.css").replace("pacelab-demo", "pacelab-own"),
        "worker": script("engine.js") + WORKER,
        "engine": base64.b64encode(engine_bytes()).decode("ascii"),
    }
    if recorded:
        page["recorded"] = {
            experiment.scheme: [
                _run(experiment.vary(seed=experiment.seed + number)) for number in range(RECORDED_SEEDS)
            ]
            for experiment in own.experiments
            if _has_hooks(experiment)
        }
    parts = script(*MODULES)
    return data_page(f"PaceLab: {topology.name}", page, f"{parts}\n{START}")


def export_own(own: Own, path: Path) -> None:
    """Write one file that works offline."""
    write_file(path, own_page(own, recorded=True).encode())


def _file_defaults(own: Own) -> dict[str, str]:
    """The options that the file of this network has, by their flags, but for RTS/CTS, which the page switches."""
    first = own.experiments[0]
    found = dict(_shown(name, value) for name, value in first.network.defaults.items())
    if first.traffic != "tcp":
        found["--traffic"] = str(first.traffic)
    found["--seconds"] = f"{first.duration_s:g}"
    found.pop("--rts", None)
    return found


def _run(experiment: Experiment) -> dict[str, Any]:
    outcome = find_backend("sim").run(experiment, experiment.chosen_scheme, on_progress=lambda _part: None, pcap=None)
    parts = {name: outcome.air[name] for name in ("flows", "series")}
    return {"result": parts, "tap": record_air(experiment, until_s=WATCH_S[1])}


def _has_hooks(experiment: Experiment) -> bool:
    return bool(experiment.chosen_scheme.attach(experiment.network, experiment.hook_settings))


def _says_how_long(topology: Topology) -> bool:
    return any(_shown(name, value)[0] == "--seconds" for name, value in topology.defaults.items())


def _shown(name: str, value: Any) -> tuple[str, str]:
    """A default of a topology, by its flag or by an experiment's field, as its flag and text."""
    if name.startswith("--"):
        return name, str(value)
    return BY_FIELD[name].flag, BY_FIELD[name].domain.show(value)
