"""The network editor: the page's data, and runs of the schemes whose hooks are in Python.

The user changes the network in the page. Schemes without hooks run there, in the engine. For any other scheme the page
sends the network as a topology file to the local server, which reads it like any topology file. The options are those
that the page started with. Only RTS/CTS and the routes can be switched.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pacelab.demo.model import SEED
from pacelab.demo.page import compressed_text, data_page, engine_text, script, static
from pacelab.demo.problems import PROBLEMS, Problem
from pacelab.documents import JsonObject
from pacelab.errors import ConfigError
from pacelab.experiment.air_config import compile_air
from pacelab.experiment.experiment import Experiment
from pacelab.experiment.from_text import build_experiment
from pacelab.figures.timeline import record_air
from pacelab.options.arguments import coerce
from pacelab.options.settings import BACKEND_OPTIONS, BY_FIELD
from pacelab.results.folder import write_file
from pacelab.running.runner import find_backend
from pacelab.schemes import SCHEMES
from pacelab_topologies.model import Topology
from pacelab_topologies.registry import KINDS

NEW = "new"
"""The name of a small network to start from (static/new.yaml)."""
QUESTION = "Drag nodes, add nodes and connect them with flows. The network runs again after each change."
DURATION_S = 20.0
"""Virtual time of each run, unless the topology sets its own."""
WATCH_S = (0.9, 1.0)
"""The interval that is shown in slow motion. TCP has settled by then."""
RECORDED_SEEDS = 3
"""Number of runs of each Python scheme in an exported file."""
MAX_HOPS = 10
"""Right end of the slider of hops, unless the chain starts with more."""
NOT_IN_PAGE = ("backend", *BACKEND_OPTIONS)
"""Options of a run that the page does not have."""
SWITCHES = ("--rts", "--routing")
"""Options that the page switches, so that a topology file may have them as it likes."""
MODULES = (
    *("air.js", "scene.js", "timeline.js", "curves.js"),
    *("editor_network.js", "editor_backend.js", "editor.js", "start_editor.js"),
)
WORKER_MODULES = ("engine.js", "worker.js")
PYTHON_WORKER = "python_worker.js"


@dataclass(frozen=True, slots=True)
class EditorSession:
    """A network and the schemes to compare on it: one experiment per scheme, equal otherwise."""

    experiments: tuple[Experiment, ...]
    problem: Problem | None = None
    """The design problem of the page."""
    opened: Mapping[str, Any] = field(default_factory=dict)
    """The arguments of `open_editor` that made this session."""

    @property
    def topology(self) -> Topology:
        """The network before the user changes it."""
        return self.experiments[0].network

    def experiment_for(self, scheme: object) -> Experiment:
        """The experiment with this scheme. Raises ConfigError with the known schemes if there is none."""
        for experiment in self.experiments:
            if experiment.scheme == scheme:
                return experiment
        known = ", ".join(experiment.scheme for experiment in self.experiments)
        raise ConfigError(f"scheme must be one of {known}, not {scheme!r:.60}")


def open_editor(topology: str, schemes: Sequence[str], options: Mapping[str, Any] | None = None) -> EditorSession:
    """An editor for the network `topology` (a name, NEW, a design problem, or the path of a file) with `schemes`.

    `options` are options of `pacelab run`, as for `build_experiment`. Raises ConfigError if a scheme or an option is
    unknown or does not fit this network, or if the network has voice calls or short transfers, which a topology file
    cannot describe.
    """
    opened = {"topology": topology, "schemes": list(schemes), "options": dict(options or {})}
    options = dict(options or {})
    for name in NOT_IN_PAGE:
        if options.get(name) is not None:
            flag = BY_FIELD[name].flag
            raise ConfigError(
                f"demo {topology} has no option {flag}: the page always runs the simulator; "
                f"for real hosts: pacelab run {topology} {flag} ..."
            )
    for name in schemes:
        if name in SCHEMES and SCHEMES[name].traffic == ("voice",):
            raise ConfigError(
                f"demo {topology}: --scheme {name} acts on voice calls, which this page does not have; "
                "run `pacelab demo voice`"
            )
    problem = PROBLEMS.get(topology)
    if problem is not None:
        topology = str(problem.file)
    if topology == NEW:
        topology = str(Path(__file__).with_name("static") / "new.yaml")
    first = build_experiment(topology, options)
    if "duration_s" not in options and not _sets_duration(first.network):
        options["duration_s"] = f"{DURATION_S:g}"
    experiments = tuple(build_experiment(topology, options, scheme=name) for name in dict.fromkeys(schemes))
    session = EditorSession(experiments, problem, opened)
    for experiment in session.experiments:
        if "traffic" in experiment.own_files:
            raise ConfigError(
                f"demo {topology}: its traffic comes from a file, which the page cannot show; "
                "set the traffic to tcp, udp-saturated, cbr or file"
            )
        if len(experiment.flows) != len(experiment.network.flows) or any(f.call is not None for f in experiment.flows):
            raise ConfigError(
                f"demo {topology}: the page cannot show voice calls or short transfers; "
                "set the traffic to tcp, udp-saturated, cbr or file"
            )
    return session


def run_change(session: EditorSession, message: Any) -> JsonObject:
    """Run what a page requests: `{"scheme", "file", "seed"}`. Raises ConfigError if a value is not valid."""
    from pacelab_topologies.own import read_yaml  # imports pydantic, which slows the start of the command line

    if not isinstance(message, dict) or set(message) != {"scheme", "file", "seed"}:
        raise ConfigError("a change must have exactly the keys scheme, file and seed")
    text, seed = message["file"], message["seed"]
    if not isinstance(text, str):
        raise ConfigError("file must be the text of a topology file")
    coerce("seed", SEED, seed)
    try:
        topology = read_yaml(text, "the network")
    except ValueError as error:
        raise ConfigError(str(error)) from None
    experiment = session.experiment_for(message["scheme"])
    # The options of a file could name other files of this machine, so they must be the known ones.
    found = {name: str(value) for name, value in topology.defaults.items() if name not in SWITCHES}
    if found != _file_defaults(session):
        raise ConfigError(
            "the network: its defaults must be those that the page started with; restore them, or start `pacelab demo` "
            "with this file"
        )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "network.yaml")
        file.write_text(text, "utf-8")
        return _run(Experiment(topology=str(file), scheme=experiment.scheme, seed=seed))


def answer_change(session: EditorSession, text: str) -> str:
    """`run_change` for a page that runs Python itself, from JSON to JSON: `{"error": ...}` if a value is not valid."""
    try:
        outcome = run_change(session, json.loads(text))
    except ConfigError as error:
        outcome = {"error": str(error)}
    return json.dumps(outcome, allow_nan=False)


def editor_page(session: EditorSession, *, recorded: bool = False, pyodide: str = "") -> str:
    """The page. With `recorded`, it holds runs of the Python schemes, and needs no server.

    With `pyodide`, the address of a folder of `make lite`, the page itself runs the Python schemes.
    """
    topology = session.topology
    loss = topology.path_loss
    ranges = {"decode_m": topology.decode_m, "sense_m": topology.sense_m}
    if loss is not None:
        ranges |= {"exponent": loss.exponent, "shadowing_db": loss.shadowing_db}
    page: JsonObject = {
        "title": session.problem.title if session.problem else None,
        "question": session.problem.question if session.problem else QUESTION,
        "goals": [goal.for_page() for goal in session.problem.goals] if session.problem else [],
        "file": {
            "name": topology.name,
            "description": topology.description,
            "drawn": f"drawn by hand, from {topology.name}" if session.experiments[0].kind.name in KINDS else None,
            "ranges": ranges,
            "area_m": topology.area_m,
            "defaults": {name.removeprefix("--"): value for name, value in _file_defaults(session).items()},
        },
        "schemes": [
            {
                "name": experiment.scheme,
                "summary": experiment.chosen_scheme.summary,
                "python": _has_hooks(experiment),
                "air": compile_air(experiment),
            }
            for experiment in session.experiments
        ],
        "chains": _chains(session.experiments[0]),
        "watch_s": WATCH_S,
        "style": static("style.css").replace("pacelab-demo", "pacelab-editor") + static("editor.css"),
        "worker": script(*WORKER_MODULES),
        "engine": engine_text(),
    }
    if recorded:
        runs = {
            experiment.scheme: [
                _run(experiment.vary(seed=experiment.seed + number)) for number in range(RECORDED_SEEDS)
            ]
            for experiment in session.experiments
            if _has_hooks(experiment)
        }
        page["recorded"] = compressed_text(json.dumps(runs, allow_nan=False).encode())
    if pyodide:
        page["pyodide"] = {"address": pyodide, "opened": session.opened, "worker": static(PYTHON_WORKER)}
    return data_page(f"PaceLab: {page['title'] or topology.name}", page, script(*MODULES))


def export_editor(session: EditorSession, path: Path, *, pyodide: str = "") -> None:
    """Write the page as one file that works offline. `pyodide`: see `editor_page`."""
    write_file(path, editor_page(session, recorded=True, pyodide=pyodide).encode())


def _chains(experiment: Experiment) -> dict[str, JsonObject]:
    """By number of hops: the nodes, wires and flows of such a chain. Empty if the network is not a built-in chain."""
    if experiment.kind.name != "chain" or experiment.own_files:
        return {}
    found = {}
    chosen: Any = experiment.topology_options.get("hops", 0)
    for hops in range(1, max(MAX_HOPS, chosen) + 1):
        options = {**experiment.topology_options, "hops": hops}
        chain = experiment.vary(topology_options=options)
        air = compile_air(chain)
        found[str(hops)] = {"description": chain.network.description} | {
            name: air[name] for name in ("nodes", "wired", "flows")
        }
    return found


def _file_defaults(session: EditorSession) -> dict[str, str]:
    """The options in this network's file, by flag, without SWITCHES."""
    first = session.experiments[0]
    found = dict(_as_option(name, value) for name, value in first.network.defaults.items())
    for name, value in first.request.items():
        # The file has the flows' directions and the shape of the network as such, and the page has its schemes.
        if name in BY_FIELD and name != "direction" and value is not None:
            found.update([_as_option(name, value)])
    if first.traffic != "tcp":
        found["--traffic"] = str(first.traffic)
    found["--seconds"] = f"{first.duration_s:g}"
    return {flag: text for flag, text in found.items() if flag not in SWITCHES}


def _run(experiment: Experiment) -> JsonObject:
    outcome = find_backend("sim").run(experiment, experiment.chosen_scheme, on_progress=lambda _part: None, pcap=None)
    parts = {name: outcome.air[name] for name in ("flows", "series")}
    return {"result": parts, "tap": record_air(experiment, until_s=WATCH_S[1])}


def _has_hooks(experiment: Experiment) -> bool:
    return bool(experiment.chosen_scheme.attach(experiment.network, experiment.hook_settings))


def _sets_duration(topology: Topology) -> bool:
    return any(_as_option(name, value)[0] == "--seconds" for name, value in topology.defaults.items())


def _as_option(name: str, value: Any) -> tuple[str, str]:
    """A default of a topology as a flag and its text. `name` is a flag or a field of Experiment."""
    if name.startswith("--"):
        return name, str(value)
    return BY_FIELD[name].flag, BY_FIELD[name].domain.show(value)
