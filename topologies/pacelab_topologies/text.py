"""A topology as text, for terminals and logs."""

from __future__ import annotations

from itertools import pairwise

from pacelab_topologies.model import Topology


def describe(topology: Topology) -> str:
    """The topology in lines of text: a sketch of each flow's path, then nodes, links, moves and ranges."""
    lines = [topology.description, ""]
    for number, flow in enumerate(topology.flows):
        what = "flow" if flow.call is None else f"call {flow.call}, flow"
        lines.append(f"  {what} {number}:  {_sketch(topology, number)}")
    lines.append("")
    for number, node in enumerate(topology.nodes):
        role = "gateway" if number in topology.gateways else "radio" if node.wireless else "wired host"
        where = f"x = {node.position_m[0]:g} m, y = {node.position_m[1]:g} m" if node.wireless else ""
        lines.append(f"  {number:3}  {node.name:8} {role:10} {where}".rstrip())
    lines.append("")
    names = [node.name for node in topology.nodes]
    for wire in topology.wired:
        ends = f"{names[wire.a]} === {names[wire.b]}"
        lines.append(f"  wire {ends}: {wire.rate_bps / 1e6:g} Mbit/s, {wire.delay_s * 1e3:g} ms")
    for move in topology.moves:
        x, y = move.position_m
        lines.append(f"  move {names[move.node]}: at {move.at_s:g} s it is at x = {x:g} m, y = {y:g} m")
    for link in topology.link_rates:
        when = f" from {link.at_s:g} s on" if link.at_s else ""
        lines.append(f"  rate {names[link.a]} -> {names[link.b]}: {link.rate_bps / 1e6:g} Mbit/s{when}")
    lines.append(f"  ranges: decode {topology.decode_m:g} m, sense {topology.sense_m:g} m")
    lines.append(f"  features: {', '.join(topology.features)}")
    if topology.source:
        lines.append(f"  source: {topology.source}")
    return "\n".join(lines)


def _sketch(topology: Topology, number: int) -> str:
    flow = topology.flows[number]
    path = topology.path(flow)
    text = topology.nodes[flow.src].name
    if not path:
        text += f" ... {topology.nodes[flow.dst].name} (no path at 0 s)"
    for a, b in pairwise(path):
        link = "-->" if topology.nodes[a].wireless and topology.nodes[b].wireless else "==>"
        text += f" {link} {topology.nodes[b].name}"
    if flow.start_s:
        text += f", from {flow.start_s:g} s"
    if flow.stop_s is not None:
        text += f", until {flow.stop_s:g} s"
    return text
