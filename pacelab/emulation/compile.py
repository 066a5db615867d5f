"""Compiles an experiment to the plan of a run on real hosts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pydantic import ValidationError

from pacelab.documents import JsonObject
from pacelab.emulation import plan as plans
from pacelab.emulation.changes import position_at
from pacelab.emulation.documents import first_error
from pacelab.errors import ConfigError
from pacelab.experiment.air_config import compile_air
from pacelab.experiment.backends import KINDS
from pacelab.options.congestion_controls import find_control, switches_of
from pacelab.options.values import AUTO
from pacelab.options.voice import CODECS

if TYPE_CHECKING:
    from pacelab.experiment.experiment import Experiment
    from pacelab.schemes import Scheme
    from pacelab.traffic.flows import PlannedFlow

SATURATING_FACTOR = 1.25
"""A saturated source offers the radio's data rate times this factor, because Linux's TAP never blocks the sender."""


def compile_plan(experiment: Experiment, scheme: Scheme | None = None) -> plans.Plan:
    """The plan of one run. Raises ConfigError if it exceeds the plan's limits. `scheme`: a scheme whose code a guest
    loads.
    """
    topology = experiment.network
    own, scheme = scheme is not None, scheme or experiment.chosen_scheme
    air = compile_air(experiment)
    stations = [index for index, node in enumerate(topology.nodes) if node.wireless]
    document: JsonObject = {
        "version": 2,
        "radios": experiment.backend,
        "builder": experiment.builder or "plain",
        "medium": experiment.medium or "pacelab",
        "routing": experiment.routing,
        "qdisc": experiment.qdisc,
        "marks": experiment.ecn,
        "rate_control": experiment.rate_bps == AUTO,
        "seed": experiment.seed,
        "duration_s": air["duration_s"],
        "warmup_s": air["warmup_s"],
        "series_interval_s": air["series_interval_s"],
        "radio": air["radio"] | {"phy": experiment.phy, "edca": experiment.edca, "voice_first": experiment.priority},
        "nodes": air["nodes"],
        "wires": air["wired"],
        "neighbours": [(a, b) for a in stations for b in stations if a < b and topology.decodes(a, b)],
        "link_rates": [
            {"a": link.a, "b": link.b, "rate_bps": link.rate_bps, "at_s": link.at_s} for link in topology.link_rates
        ],
        "moves": _moves(experiment),
        "tcp": {
            "control": _linux_control(experiment.cc),
            "segment_bytes": experiment.payload_bytes,
            "window_pkts": experiment.window_pkts,
            "initial_window_pkts": experiment.initial_window_pkts,
            "min_rto_s": experiment.min_rto_s,
            "ack_every_segment": experiment.ack == "every",
            "ecn": experiment.ecn or scheme.uses_ecn(experiment.throttle),
            "switches": switches_of(experiment.linux_tcp),
        },
        "flows": [_flow(experiment, flow) for flow in experiment.flows],
        "ping_interval_s": experiment.ping_interval_s,
        "controller": experiment.controller,
        "scheme": {
            "name": scheme.name,
            "own": own,
            "hooks": [{"point": point, "host": host} for point, host in scheme.sites(topology)],
            "settings": experiment.hook_settings,
        },
        "capture_bytes": None,
    }
    try:
        return plans.Plan.model_validate(document, strict=False)
    except ValidationError as error:
        raise ConfigError(f"--backend {experiment.backend}: {first_error(error, given=True)}") from None


def _moves(experiment: Experiment) -> list[JsonObject]:
    """The part of each walk within the run: random walks may end long after it."""
    topology, end_s = experiment.network, experiment.duration_s
    found: list[JsonObject] = []
    for node in dict.fromkeys(move.node for move in topology.moves):
        track = [move for move in topology.moves if move.node == node]
        within = [(move.at_s, move.position_m) for move in track if move.at_s <= end_s]
        if len(within) < len(track):
            within.append((end_s, position_at(topology.nodes[node].position_m, track, end_s)))
        found += [{"node": node, "at_s": at_s, "position_m": place} for at_s, place in within]
    if len(found) > plans.MOST_MOVES:
        raise ConfigError(
            f"--backend {experiment.backend}: the nodes of topology {topology.name!r} turn or pause {len(found)} times "
            f"within --seconds {end_s:g}: at most {plans.MOST_MOVES} times are possible"
        )
    return found


def _flow(experiment: Experiment, flow: PlannedFlow) -> JsonObject:
    what = flow.carried
    stop_s = experiment.duration_s if flow.stop_s is None else min(flow.stop_s, experiment.duration_s)
    made = {
        "src": flow.src,
        "dst": flow.dst,
        "kind": KINDS[what.kind],
        "start_s": flow.start_s,
        "stop_s": stop_s,
        "payload_bytes": what.payload_bytes,
        "rate_bps": None,
        "burst_pkts": 1,
        "category": what.category,
        "call": None,
        "interval_s": None,
        "playout_s": None,
    }
    if what.kind == "udp-saturated":
        made["rate_bps"] = math.ceil(SATURATING_FACTOR * experiment.data_rate_bps)
    elif what.kind == "cbr":
        made |= {"rate_bps": what.rate_bps, "burst_pkts": what.burst_pkts}
    elif what.kind == "voice":
        interval_s = CODECS[experiment.codec].interval_s
        made |= {"call": flow.call, "interval_s": interval_s, "playout_s": experiment.playout_s}
    return made


def _linux_control(name: str) -> str:
    """The kernel's name of a congestion control. `check_hosts` has checked that it is available."""
    control = find_control(name)
    assert control is not None
    assert control.linux is not None
    return control.linux
