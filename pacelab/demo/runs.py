"""Runs the demonstrations whose schemes are in Python, at the request of a page.

A page sends a change: values of the controls, positions of the nodes and a seed. A page never sends a configuration.
Each value of a change is checked against the demonstration.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pacelab.demo.model import SEED, Choice, Control, Demo, Value
from pacelab.documents import JsonObject
from pacelab.errors import ConfigError
from pacelab.options.arguments import coerce
from pacelab.options.voice import ACCEPTABLE_MOS
from pacelab.results.results import assemble
from pacelab.results.series import join_series
from pacelab.running.runner import find_backend
from pacelab_topologies.model import Topology

MAX_COORDINATE_M = 10_000.0
"""A node may be dragged this far from the origin along each axis."""
RECORDED_SEEDS = 3
"""Number of seeds of each setting in a file for slides."""
BPS_PER_KBPS = 1e3

Outcome = JsonObject
"""A view for the component (static/view.js), as JSON values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A page's request, after the checks."""

    values: Mapping[str, Value]
    places: tuple[tuple[float, float], ...]
    seed: int


def initial_change(demo: Demo) -> Change:
    """The initial settings of a demonstration."""
    experiment = demo.experiment()
    return Change(
        values=demo.values,
        places=tuple(node.position_m for node in experiment.network.nodes),
        seed=experiment.seed,
    )


def read_change(demo: Demo, document: Any) -> Change:
    """A page's JSON as a change. Raises ConfigError if a value is not valid."""
    if not isinstance(document, dict) or set(document) != {"values", "places", "seed"}:
        raise ConfigError("a change must have exactly the keys values, places and seed")
    values, places, seed = document["values"], document["places"], document["seed"]
    controls = {control.what: control for control in demo.controls}
    if not isinstance(values, dict) or set(values) != set(controls):
        raise ConfigError(f"values must have one entry for each of {', '.join(controls)}")
    for what, value in values.items():
        _check_value(controls[what], value)
    count = len(initial_change(demo).places)
    if not isinstance(places, list) or len(places) != count or not all(_is_place(place) for place in places):
        raise ConfigError(f"places must be {count} pairs of metres from {-MAX_COORDINATE_M:g} to {MAX_COORDINATE_M:g}")
    coerce("seed", SEED, seed)
    return Change(values=values, places=tuple((float(x), float(y)) for x, y in places), seed=seed)


def run_change(demo: Demo, change: Change) -> Outcome:
    """Run the demonstration with a change. Raises ConfigError if the changed network cannot carry the flows."""
    topology, run, series = _run(demo, change)
    compared = None
    if demo.compare_with is not None and change.values["scheme"] != demo.compare_with:
        other = replace(change, values={**change.values, "scheme": demo.compare_with})
        compared = _comparison(demo, _tcp_bps(topology, run), _tcp_bps(*_run(demo, other)[:2]))
    return _outcome(demo, topology, run, series, compared)


def _run(demo: Demo, change: Change) -> tuple[Topology, Mapping[str, Any], Mapping[str, Any]]:
    """The network, and the run with its series."""
    experiment = demo.experiment(change.values, seed=change.seed)
    topology = experiment.network
    nodes = zip(topology.nodes, change.places, strict=True)
    try:
        topology = replace(topology, nodes=tuple(replace(node, position_m=place) for node, place in nodes))
    except ValueError as error:
        raise ConfigError(f"{_with_labels(demo, topology, str(error))}; Reset puts the nodes back") from None
    experiment, scheme = experiment.with_network(topology), experiment.chosen_scheme
    outcome = find_backend("sim").run(experiment, scheme, on_progress=_ignore, pcap=None)
    run = assemble(experiment, scheme, outcome)
    return topology, run, join_series(experiment, outcome.air["series"])


def _tcp_bps(topology: Topology, run: Mapping[str, Any]) -> float:
    """Goodput of the flows that are not calls."""
    pairs = zip(topology.flows, run["flows"], strict=True)
    return math.fsum(result["goodput_bps"] for flow, result in pairs if flow.call is None)


def _comparison(demo: Demo, sum_bps: float, other_bps: float) -> str:
    """A sentence that compares the sum of the flows with that of the scheme `compare_with`."""
    scheme = next(control for control in demo.controls if control.what == "scheme")
    assert isinstance(scheme, Choice)
    name = next(shown for shown, value in scheme.settings if value == demo.compare_with)
    change = f"{abs(sum_bps / other_bps - 1):.1%}".replace("%", "\u00a0%") if other_bps else "not comparable"
    which = "more" if sum_bps > other_bps else "less"
    return (
        f"TCP carries {sum_bps / BPS_PER_KBPS:.0f} kbit/s in all, {change} {which} than the "
        f"{other_bps / BPS_PER_KBPS:.0f} kbit/s with {name}."
    )


def _with_labels(demo: Demo, topology: Topology, message: str) -> str:
    """`message` with the topology's node names replaced by the labels in the picture, if a node has a label."""
    labels = {node.name: _node_label(demo, topology, number) or node.name for number, node in enumerate(topology.nodes)}
    return re.sub(rf"\b({'|'.join(map(re.escape, labels))})\b", lambda found: labels[found[0]], message)


def recorded_runs(demo: Demo) -> Iterator[tuple[list[Any], Outcome]]:
    """Runs of every setting of the controls with several seeds.

    Each item is a pair. Its first part is the values, in the order of the controls, then the seed; its second part is
    the outcome.
    """
    begin = initial_change(demo)
    settings = [[value for _, value in control.settings] for control in demo.controls if isinstance(control, Choice)]
    for seed in range(begin.seed, begin.seed + RECORDED_SEEDS):
        for chosen in itertools.product(*settings):
            values = {control.what: value for control, value in zip(demo.controls, chosen, strict=True)}
            yield [*chosen, seed], run_change(demo, replace(begin, values=values, seed=seed))


def _check_value(control: Control, value: Any) -> None:
    try:
        control.check(value)
    except ValueError:
        raise ConfigError(f"{control.what} must be {control.valid}, not {value!r:.60}") from None


def _is_place(place: Any) -> bool:
    return (
        isinstance(place, list)
        and len(place) == 2
        and all(type(metres) in (int, float) and abs(metres) <= MAX_COORDINATE_M for metres in place)
    )


def _outcome(
    demo: Demo, topology: Topology, run: Mapping[str, Any], series: Mapping[str, Any], compared: str | None
) -> Outcome:
    flows = [
        {"label": _label(demo, topology, flow), "src": flow.src, "dst": flow.dst, "goodput_bps": result["goodput_bps"]}
        for flow, result in zip(topology.flows, run["flows"], strict=True)
        if flow.call is None
    ]
    calls = [{"label": f"call {call['call'] + 1}", "mos": call["mos"]} for call in run["calls"]]
    return {
        "flows": flows,
        "calls": calls,
        "acceptable_mos": ACCEPTABLE_MOS,
        "ranges": {"decode_m": topology.decode_m, "sense_m": topology.sense_m},
        "curves": _mos_curves(run, series) if calls else _goodput_curves(flows, run, series),
        "numbers": _numbers(run, compared),
    }


def _label(demo: Demo, topology: Topology, flow: Any) -> str:
    """The flow's name in the picture, such as "A → G"."""
    return f"{_node_label(demo, topology, flow.src)} → {_node_label(demo, topology, flow.dst)}"


def _node_label(demo: Demo, topology: Topology, node: int) -> str:
    """A node's label in the picture. A wired node has the gateway's label, and a relay has none."""
    return demo.labels_of(topology)[node if topology.nodes[node].wireless else topology.gateways[0]]


def _goodput_curves(flows: Sequence[Mapping[str, Any]], run: Mapping[str, Any], series: Mapping[str, Any]) -> Outcome:
    lines = [
        {"label": flow["label"], "values": [round(bps / BPS_PER_KBPS, 1) for bps in line["goodput_bps"]]}
        for flow, line in zip(flows, series["flows"], strict=True)
    ]
    return {"what": "Goodput", "unit": "kbit/s", "low": 0, "t_s": series["t_s"], "lines": lines}


def _mos_curves(run: Mapping[str, Any], series: Mapping[str, Any]) -> Outcome:
    """The mean MOS of the calls and the worst MOS, over time.

    The MOS of a call in an interval is that of its worse direction.
    """
    by_flow = {line["id"]: line["mos"] for line in series["flows"] if "mos" in line}
    calls = [[by_flow[flow] for flow in call["flows"]] for call in run["calls"]]
    moments = [
        [min(known) for call in moment if (known := [score for score in call if score is not None])]
        for moment in zip(*(zip(*directions, strict=True) for directions in calls), strict=True)
    ]
    lines = [
        {
            "label": "mean",
            "values": [round(math.fsum(scores) / len(scores), 2) if scores else None for scores in moments],
        },
        {"label": "worst", "values": [round(min(scores), 2) if scores else None for scores in moments]},
    ]
    marks = {"low": 1, "high": 4.5, "mark": ACCEPTABLE_MOS, "mark_label": "acceptable"}
    return {"what": "Quality of the calls", "unit": "MOS", "t_s": series["t_s"], "lines": lines} | marks


def _numbers(run: Mapping[str, Any], compared: str | None) -> str:
    totals, config = run["totals"], run["config"]
    parts = [] if compared is None else [compared]
    if totals["jain"] is not None and not totals["calls"]:
        parts.append(f"Fairness (Jain's index) is {totals['jain']:.2f}.")
    if totals["calls"]:
        parts.append(f"{totals['calls_acceptable']} of {totals['calls']} calls are acceptable.")
    drops = run["drops"]
    lost = drops["mac-rts"] + drops["mac-data"]
    parts.append(f"The link layer gave up {lost} {'packet' if lost == 1 else 'packets'}")
    measured_s = totals["end_s"] - config["warmup_s"]
    return (
        f"{' '.join(parts)} (seed {config['seed']}, {measured_s:g}\u00a0s after a warm-up of "
        f"{config['warmup_s']:g}\u00a0s)."
    )


def _ignore(_fraction: float) -> None:
    pass
