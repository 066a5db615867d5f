"""What a reader of a run must know before its numbers: the `notes` of run.json, except those of the back end."""

from __future__ import annotations

from collections.abc import Sequence

from pacelab.experiment.experiment import Experiment
from pacelab.options.congestion_controls import SIMULATED
from pacelab.options.settings import BY_FIELD, SCHEME_OPTIONS, in_group
from pacelab.options.values import AUTO, TCP_DEFAULTS
from pacelab.results.types import FlowResult, Hooks
from pacelab.schemes import Scheme
from pacelab.traffic.flows import ENGINE_KIND
from pacelab.units import BITS_PER_BYTE, BPS_PER_MBPS
from pacelab_topologies.model import Topology
from pacelab_topologies.registry import KINDS

OF_ONE_KIND = {
    **{"cbr_rate_bps": "cbr", "burst_pkts": "cbr", "size_bytes": "file", "http_users": "http"},
    **{"playout_s": "voice", "call_spacing_s": "voice"},
}
"""Option -> the only kind of traffic that uses it."""
OF_TCP = ("window_pkts", "initial_window_pkts", "min_rto_s", "rto_backoff", "ack")
"""Options that only TCP uses."""
NO_EFFECT = "has no effect"
"""The note on an option that nothing in the run uses. In a comparison, another run may use it."""
FAR_WIRES = 2
"""Wires are long if their round trip is longer than this number of packet transmissions over the hops there and back.
Then, without any queue, the n-hop delay has more than twice as much of the wires as of the air.
"""


def notes_on(experiment: Experiment, scheme: Scheme, flows: Sequence[FlowResult], hooks: Hooks) -> list[str]:
    """The notes in the order of run.json; `scheme` is the one that ran."""
    return [
        *_become(experiment),
        *_unused(experiment),
        *_unheard(experiment, scheme),
        *_no_stop(experiment),
        *_skipping(experiment),
        *_silent(flows, experiment),
        *_of_hooks(scheme, experiment.network, hooks),
        *_far_wires(experiment, scheme),
        *_told_rates(experiment, scheme),
    ]


def _become(experiment: Experiment) -> list[str]:
    """Note on a topology that its options turn into another one, for example `chain --voice`."""
    asked, made = experiment.kind.name, experiment.network.name
    if made == asked or not {asked, made} <= set(KINDS):  # a file may bear any name
        return []
    return [f"topology {asked} with these options is {made}: {KINDS[made].summary}"]


def _unused(experiment: Experiment) -> list[str]:
    """Note on a congestion control that no flow uses, because none is TCP or each TCP flow has its own."""
    carried = [flow.carried for flow in experiment.flows]
    if experiment.cc == "newreno" or any(ENGINE_KIND[what.kind] == "tcp" and what.cc is None for what in carried):
        return []
    return [f"congestion control {experiment.config()['cc']} never acted: no flow of this run takes it"]


def _unheard(experiment: Experiment, scheme: Scheme) -> list[str]:
    """Notes on options that no flow or scheme of the run uses, and on categories that no queue distinguishes.

    Options at their defaults were not requested and get no note.
    """
    carried = [flow.carried for flow in experiment.flows]
    kinds = {what.kind for what in carried}
    controls = {what.cc or experiment.cc for what in carried if ENGINE_KIND[what.kind] == "tcp"}
    nobodys = {name: f"no flow of this run is {kind}" for name, kind in OF_ONE_KIND.items() if kind not in kinds}
    for control in [control for control in SIMULATED if control not in controls]:
        nobodys |= dict.fromkeys(in_group(f"cc {control}"), f"no flow of this run has --cc {control}")
    if not controls:
        nobodys |= dict.fromkeys(OF_TCP, "no flow of this run is TCP")
    if not experiment.rts:
        nobodys["retry_long"] = "with --rts off all are --retry-short's"
    others = (name for name in SCHEME_OPTIONS if name not in scheme.options)
    nobodys |= dict.fromkeys(others, "the scheme does not take it")
    found = []
    for name, why in nobodys.items():
        option, value = BY_FIELD[name], getattr(experiment, name)
        brought = TCP_DEFAULTS[experiment.tcp_defaults].get(name), experiment.network.defaults.get(name)
        if value not in (option.default, *brought, scheme.implied_options.get(name)):
            found.append(f"{option.flag} {option.domain.show(value)} {NO_EFFECT}: {why}")
    heard = {None, "best-effort", *(["voice"] if experiment.priority else [])}
    named = dict.fromkeys(flow.carried.category for flow in experiment.flows if flow.call is None)
    if not experiment.edca:
        found += [f"category {name} has no effect without --edca on" for name in named if name not in heard]
    return found


def _no_stop(experiment: Experiment) -> list[str]:
    """Note on stop times of the topology for flows that are transfers of a fixed size."""
    return [
        f"flow {plan.group}: its stop at {flow.stop_s:g} s {NO_EFFECT}: a transfer ends with its last byte"
        for plan in experiment.flows
        if plan.carried.kind == "file" and (flow := experiment.network.flows[plan.group]).stop_s is not None
    ]


def _skipping(experiment: Experiment) -> list[str]:
    """Note on nodes so close together that the shortest route skips some of the hops that the option asks for."""
    options = {option.name: option.default for option in experiment.kind.options} | dict(experiment.topology_options)
    if experiment.kind.name not in KINDS or not {"hops", "spacing"} <= set(options) or options["hops"] == 1:
        return []
    spacing, decode_m = options["spacing"], experiment.network.decode_m
    if 2 * spacing > decode_m:
        return []
    return [f"--spacing {spacing:g}: nodes decode {decode_m:g} m, so routes skip some and have fewer hops than --hops"]


def _silent(flows: Sequence[FlowResult], experiment: Experiment) -> list[str]:
    """Note on flows that delivered nothing in the measured interval, except transfers that had ended before it."""
    silent = [
        flow for flow in flows if flow["goodput_bps"] == 0 and flow["traffic"] != "http" and flow["finished_s"] is None
    ]
    found = []
    for flow in silent:
        start_s = experiment.flows[flow["id"]].start_s
        why = " after the warm-up" if experiment.warmup_s else ""
        if start_s >= experiment.duration_s:
            why = f": it starts at {start_s:g} s, and the run ends at {experiment.duration_s:g}"
        found.append(f"flow {flow['id']}, {flow['src']} -> {flow['dst']}, delivered nothing{why}")
    return found


_UNDER_LOAD = {
    "unpaced_segments": "data packets that passed unpaced: {}",
    "overflows": "packets dropped because its queue was full: {}",
    "calls_unmeasured": "packets of calls that it had no room to measure: {}",
    "flows_replaced": "flows forgotten because its table was full: {}",
}
"""Counter of a pacing hook -> what a reader of the result must know."""


def _of_hooks(scheme: Scheme, topology: Topology, hooks: Hooks) -> list[str]:
    notes = []
    if "gateway" in scheme.points and not topology.gateways:
        present = sorted({point["point"] for point in hooks["points"]})
        notes.append(f"scheme {scheme.name}: this topology has no gateway; it acts at: {', '.join(present)}")
    for point in hooks["points"]:
        if point["failed"] is not None:
            notes.append(f"scheme {scheme.name}: hook at node {point['node']} failed: {point['failed']}")
        elif point["errors"]:
            notes.append(
                f"scheme {scheme.name}: hook at node {point['node']}: actions that could not be carried out, as "
                "on packets that it does not hold"
            )
        for counter, text in _UNDER_LOAD.items():
            if count := point["counters"].get(counter):
                notes.append(f"scheme {scheme.name}: hook at node {point['node']}: {text.format(count)}")
    if scheme.points and not hooks["actions"]:
        notes.append(f"scheme {scheme.name} never acted")
    return notes


def _told_rates(experiment: Experiment, scheme: Scheme) -> list[str]:
    """Of a scheme under rate control: which rates its hooks took the hops to have."""
    if experiment.rate_bps != AUTO or not scheme.points:
        return []
    mbps = experiment.data_rate_bps / BPS_PER_MBPS
    return [
        f"scheme {scheme.name} counted with {mbps:g} Mbit/s at every hop; under --rate {AUTO} hops are often slower"
    ]


def _far_wires(experiment: Experiment, scheme: Scheme) -> list[str]:
    """For a scheme that counts wires as hops: how many of its flows have wires that are far longer than their hops."""
    if not scheme.rtt_includes_wire:
        return []
    topology = experiment.network
    paced, packet_s = {node for _, node in scheme.sites(topology)}, {}
    for plan in experiment.flows:
        if plan.src in paced and plan.call is None:
            packet_s[plan.group] = BITS_PER_BYTE * plan.carried.payload_bytes / experiment.data_rate_bps
    far = {}
    for group, seconds in packet_s.items():
        flow = topology.flows[group]
        hops, wires_s = topology.wireless_hops(flow), 2 * topology.wired_delay_s(flow)
        if wires_s > FAR_WIRES * 2 * hops * seconds:
            far[group] = wires_s
    if not far:
        return []
    return [
        f"scheme {scheme.name}: its pace takes the whole round trip for the air's, the {1000 * max(far.values()):g} ms "
        f"of wires (flows with far wires: {len(far)}) as well, and gives much less than the path carries: "
        "take tcp-gap, which leaves the wires out, or a network without them"
    ]
