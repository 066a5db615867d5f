"""A topology as text (for terminals and logs) or as a figure."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from pacelab.topologies.model import Topology

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def describe(topology: Topology) -> str:
    """The topology in lines of text: a sketch of each flow's path, then nodes, links and ranges."""
    lines = [topology.description, ""]
    lines += [f"  flow {number}:  {_sketch(topology, number)}" for number in range(len(topology.flows))]
    lines.append("")
    for number, node in enumerate(topology.nodes):
        role = "gateway" if number in topology.gateways else "radio" if node.wireless else "wired host"
        where = f"x = {node.position_m[0]:g} m, y = {node.position_m[1]:g} m" if node.wireless else ""
        lines.append(f"  {number:3}  {node.name:8} {role:10} {where}".rstrip())
    lines.append("")
    for wire in topology.wired:
        ends = f"{topology.nodes[wire.a].name} === {topology.nodes[wire.b].name}"
        lines.append(f"  wire {ends}: {wire.rate_bps / 1e6:g} Mbit/s, {wire.delay_s * 1e3:g} ms")
    lines.append(f"  ranges: decode {topology.decode_m:g} m, sense {topology.sense_m:g} m")
    lines.append(f"  features: {', '.join(topology.features)}")
    return "\n".join(lines)


def _sketch(topology: Topology, number: int) -> str:
    path = topology.path(topology.flows[number])
    text = topology.nodes[path[0]].name
    for a, b in pairwise(path):
        link = "-->" if topology.nodes[a].wireless and topology.nodes[b].wireless else "==>"
        text += f" {link} {topology.nodes[b].name}"
    return text


def plot_topology(topology: Topology, ax: Axes | None = None) -> Axes:
    """Draw nodes (circles, the gateway a square, wired hosts triangles), flows (arrows) and the first flow's ranges.

    Axes are in metres; a wired host stands beside its gateway, not to scale.
    """
    from matplotlib import pyplot
    from matplotlib.patches import Circle

    if ax is None:
        ax = pyplot.subplots(figsize=(9, 4), layout="constrained")[1]
    for wire in topology.wired:
        (x1, y1), (x2, y2) = (topology.nodes[end].position_m for end in (wire.a, wire.b))
        ax.plot([x1, x2], [y1, y2], color="0.5", linewidth=3, zorder=1, label="_wire")
    for number, node in enumerate(topology.nodes):
        marker = "s" if number in topology.gateways else "o" if node.wireless else "^"
        ax.plot(*node.position_m, marker, color="black", markersize=8, zorder=3)
        ax.annotate(node.name, node.position_m, textcoords="offset points", xytext=(0, 10), ha="center")
    for number, flow in enumerate(topology.flows):
        ends = topology.nodes[flow.src].position_m, topology.nodes[flow.dst].position_m
        arrow = {"arrowstyle": "->", "color": f"C{number % 10}", "connectionstyle": "arc3,rad=0.25", "linewidth": 1.5}
        ax.annotate("", xy=ends[1], xytext=ends[0], arrowprops=arrow)
    src = topology.flows[0].src
    if not topology.nodes[src].wireless:
        src = topology.gateways[0]
    for reach, style, label in ((topology.decode_m, "--", "decode"), (topology.sense_m, ":", "sense")):
        circle = Circle(topology.nodes[src].position_m, reach, fill=False, linestyle=style, edgecolor="0.4")
        circle.set_label(f"{label} range of {topology.nodes[src].name}: {reach:g} m")
        ax.add_patch(circle)
    ax.set(xlabel="x (m)", ylabel="y (m)", title=topology.description)
    ax.set_aspect("equal", adjustable="datalim")
    ax.autoscale_view()
    ax.legend(fontsize="small", loc="upper right")
    return ax
