"""Runs a demonstration whose schemes are in Python, for a page that asks.

A page sends a change: values of the controls, places of the nodes, a seed. It never sends a configuration: what a
change may say is checked against the demonstration, value by value.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pacelab.demo.catalog import Choice, Control, Demo, Slider, Value
from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.options.voice import ACCEPTABLE_MOS
from pacelab.results.results import assemble, join_series
from pacelab.running.runner import find_backend
from pacelab_topologies.model import Topology

FARTHEST_M = 10_000.0
"""A node may be dragged so far from the origin."""
MOST_SEED = 1_000_000
RECORDED_SEEDS = 3
"""A file for slides has every setting with so many seeds in it."""
BPS_PER_KBPS = 1e3

Outcome = dict[str, Any]
"""What the component shows (static/view.js), JSON values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a page asks for, checked."""

    values: Mapping[str, Value]
    places: tuple[tuple[float, float], ...]
    seed: int


def start(demo: Demo) -> Change:
    """The demonstration as it begins."""
    experiment = demo.experiment()
    return Change(
        values={control.what: control.value for control in demo.controls},
        places=tuple(node.position_m for node in experiment.network.nodes),
        seed=experiment.seed,
    )


def read_change(demo: Demo, document: Any) -> Change:
    """A page's JSON as a change; ConfigError names what is not allowed."""
    if not isinstance(document, dict) or set(document) != {"values", "places", "seed"}:
        raise ConfigError("a change has values, places and seed, and nothing else")
    values, places, seed = document["values"], document["places"], document["seed"]
    controls = {control.what: control for control in demo.controls}
    if not isinstance(values, dict) or set(values) != set(controls):
        raise ConfigError(f"values: allowed is one for each of {', '.join(controls)}")
    for what, value in values.items():
        _check_value(controls[what], value)
    count = len(start(demo).places)
    if not isinstance(places, list) or len(places) != count or not all(_is_place(place) for place in places):
        raise ConfigError(f"places: allowed are {count} pairs of metres within {FARTHEST_M:g}")
    if type(seed) is not int or not 0 <= seed <= MOST_SEED:
        raise ConfigError(f"seed: allowed is a whole number from 0 to {MOST_SEED}")
    return Change(values=values, places=tuple((float(x), float(y)) for x, y in places), seed=seed)


def answer(demo: Demo, change: Change) -> Outcome:
    """Run it; what the component shows. ConfigError when the network so changed cannot carry the flows."""
    experiment = _experiment(demo, change)
    topology = experiment.network
    nodes = zip(topology.nodes, change.places, strict=True)
    try:
        topology = replace(topology, nodes=tuple(replace(node, position_m=place) for node, place in nodes))
    except ValueError as error:
        raise ConfigError(f"{_by_labels(demo, topology, str(error))}; Reset puts the nodes back") from None
    experiment, scheme = experiment.on(topology), experiment.chosen_scheme
    outcome = find_backend("sim").run(experiment, scheme, on_progress=_ignore, pcap=None)
    run = assemble(experiment, scheme, outcome)
    series = join_series(experiment, outcome.air["series"])
    return _outcome(demo, topology, run, series)


def _by_labels(demo: Demo, topology: Topology, said: str) -> str:
    """A text about the topology's nodes, by the names that the picture has where it has one."""
    labels = {node.name: _picture_s(demo, topology, number) or node.name for number, node in enumerate(topology.nodes)}
    return re.sub(rf"\b({'|'.join(map(re.escape, labels))})\b", lambda found: labels[found[0]], said)


def recorded(demo: Demo) -> Iterator[tuple[list[Any], Outcome]]:
    """Every setting of the controls with some seeds: the values in the controls' order and the seed, the outcome."""
    begin = start(demo)
    settings = [[value for _, value in control.settings] for control in demo.controls if isinstance(control, Choice)]
    for seed in range(begin.seed, begin.seed + RECORDED_SEEDS):
        for chosen in itertools.product(*settings):
            values = {control.what: value for control, value in zip(demo.controls, chosen, strict=True)}
            yield [*chosen, seed], answer(demo, replace(begin, values=values, seed=seed))


def _check_value(control: Control, value: Any) -> None:
    if isinstance(control, Slider):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not control.low <= value <= control.high:
            raise ConfigError(f"{control.what} {value!r}: allowed is {control.low:g} to {control.high:g}")
        return
    allowed = [setting for _, setting in control.settings]
    if not any(type(value) is type(setting) and value == setting for setting in allowed):
        raise ConfigError(f"{control.what} {value!r}: allowed is one of {', '.join(map(str, allowed))}")


def _is_place(place: Any) -> bool:
    return (
        isinstance(place, list)
        and len(place) == 2
        and all(type(metres) in (int, float) and abs(metres) <= FARTHEST_M for metres in place)
    )


def _experiment(demo: Demo, change: Change) -> Experiment:
    """`scheme` is an experiment's; every other control is an option of the topology."""
    options = {what: value for what, value in change.values.items() if what != "scheme"}
    return demo.experiment(
        scheme=change.values.get("scheme", "newreno"), topology_options=dict(demo.options) | options, seed=change.seed
    )


def _outcome(demo: Demo, topology: Topology, run: Mapping[str, Any], series: Mapping[str, Any]) -> Outcome:
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
        "numbers": _numbers(run),
    }


def _label(demo: Demo, topology: Topology, flow: Any) -> str:
    """Between the radios that the picture has: a wired end is drawn as the gateway."""
    return f"{_picture_s(demo, topology, flow.src)} → {_picture_s(demo, topology, flow.dst)}"


def _picture_s(demo: Demo, topology: Topology, node: int) -> str:
    """The picture's name of a node; a relay has none."""
    return demo.labels[node if topology.nodes[node].wireless else topology.gateways[0]]


def _goodput_curves(flows: Sequence[Mapping[str, Any]], run: Mapping[str, Any], series: Mapping[str, Any]) -> Outcome:
    lines = [
        {"label": flow["label"], "values": [round(bps / BPS_PER_KBPS, 1) for bps in line["goodput_bps"]]}
        for flow, line in zip(flows, series["flows"], strict=True)
    ]
    return {"what": "Goodput", "unit": "kbit/s", "low": 0, "t_s": series["t_s"], "lines": lines}


def _mos_curves(run: Mapping[str, Any], series: Mapping[str, Any]) -> Outcome:
    """Of each call the worse direction, of the packets sent in each interval; then the worst call and their mean."""
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


def _numbers(run: Mapping[str, Any]) -> str:
    totals, config = run["totals"], run["config"]
    parts = []
    if totals["jain"] is not None and not totals["calls"]:
        parts.append(f"Fairness (Jain's index) {totals['jain']:.2f}")
    if totals["calls"]:
        parts.append(f"{totals['calls_acceptable']} of {totals['calls']} calls acceptable")
    drops = run["drops"]
    lost = drops["mac-rts"] + drops["mac-data"]
    parts.append(f"{lost} {'packet' if lost == 1 else 'packets'} given up by the link layer")
    measured_s = totals["end_s"] - config["warmup_s"]
    return (
        f"{', '.join(parts)} (seed {config['seed']}, {measured_s:g}\u00a0s of air after {config['warmup_s']:g}\u00a0s)."
    )


def _ignore(_fraction: float) -> None:
    pass
