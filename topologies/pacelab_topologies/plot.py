"""A topology as text (for terminals and logs) or as a figure."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from pacelab_topologies.model import Topology

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LABELS = 40
"""With more nodes only the ends of flows and the gateways are named, with more of these only gateways."""
ZOOM = 1.5
"""Ranges larger than so many times the network are not drawn in full: they would leave a dot of it."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's palette; flows differ in their line too, and carry their number."""
LINES = ("-", "--", "-.", ":")


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


def plot_topology(topology: Topology, ax: Axes | None = None) -> Axes:
    """Draw nodes, links, wires, flows and moves.

    Circles are radios, squares gateways, triangles wired hosts; thin grey lines join nodes that decode each other,
    thick ones are wires; each flow is an arrow along its path, with its number. Large circles are the ranges of the
    first flow's radio. Axes are in metres; wired hosts stand beside their gateway, not to scale.
    """
    if not isinstance(topology, Topology):
        raise ValueError(f"topology must be a pacelab.Topology, for example from load_topology, not {topology!r:.60}")
    from matplotlib import pyplot

    if ax is None:
        ax = pyplot.subplots(figsize=(9, 5), layout="constrained")[1]
    _draw_links(topology, ax)
    _draw_nodes(topology, ax)
    for number in range(len(topology.flows)):
        _draw_flow(topology, number, ax)
    for node in sorted({move.node for move in topology.moves}):
        walk = [topology.nodes[node].position_m, *(move.position_m for move in topology.moves if move.node == node)]
        ax.plot(*zip(*walk, strict=True), ":", color="black", linewidth=2, label=f"walk of {topology.nodes[node].name}")
    _draw_ranges(topology, ax)
    ax.set(xlabel="x (m)", ylabel="y (m)")
    ax.set_title(topology.description, wrap=True)
    ax.set_aspect("equal", adjustable="datalim")
    ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)
    return ax


def _draw_links(topology: Topology, ax: Axes) -> None:
    for a in range(len(topology.nodes)):
        for b in topology.neighbours(a):
            if a < b and topology.decodes(a, b):
                ax.plot(*_line(topology, a, b), color="0.8", linewidth=0.8, zorder=1)
    for wire in topology.wired:
        ax.plot(*_line(topology, wire.a, wire.b), color="0.55", linewidth=4, zorder=1)


def _line(topology: Topology, a: int, b: int) -> tuple[list[float], list[float]]:
    (x1, y1), (x2, y2) = topology.nodes[a].position_m, topology.nodes[b].position_m
    return [x1, x2], [y1, y2]


def _draw_nodes(topology: Topology, ax: Axes) -> None:
    many = len(topology.nodes) > MOST_LABELS
    ends = {end for flow in topology.flows for end in (flow.src, flow.dst)} | set(topology.gateways)
    if len(ends) > MOST_LABELS:
        ends = set(topology.gateways)
    for marker, label, chosen in (
        ("o", "radio", [i for i, node in enumerate(topology.nodes) if node.wireless and i not in topology.gateways]),
        ("s", "gateway", list(topology.gateways)),
        ("^", "wired host", [i for i, node in enumerate(topology.nodes) if not node.wireless]),
    ):
        if chosen:
            x, y = zip(*(topology.nodes[i].position_m for i in chosen), strict=True)
            ax.plot(x, y, marker, color="black", markersize=3 if many and marker == "o" else 7, zorder=3, label=label)
    for number, node in enumerate(topology.nodes):
        if number in ends or not many:
            box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.5}
            ax.annotate(
                node.name,
                node.position_m,
                textcoords="offset points",
                xytext=(0, 8),
                ha="center",
                fontsize=7 if many else 9,
                bbox=box,
                zorder=4,
            )


def _draw_flow(topology: Topology, number: int, ax: Axes) -> None:
    """An arrow along the path, shifted a little to its right so that flows on one path stay apart."""
    flow = topology.flows[number]
    places = [topology.nodes[node].position_m for node in topology.path(flow) or (flow.src, flow.dst)]
    beside = sum(bool({other.src, other.dst} & {flow.src, flow.dst}) for other in topology.flows[:number])
    shift = _extent_m(topology) * 0.015 * (1 + beside % 5) if len(topology.nodes) <= MOST_LABELS else 0.0
    line = _shifted(places, shift)
    look = {"color": COLOURS[number % len(COLOURS)], "linestyle": LINES[number % len(LINES)], "linewidth": 1.6}
    x, y = zip(*line, strict=True)
    label = f"flow {number}: {topology.nodes[flow.src].name} to {topology.nodes[flow.dst].name}"
    ax.plot(x, y, zorder=2, label=label if number < 12 else f"_{label}", **look)  # type: ignore[arg-type]
    ax.annotate(
        "", xy=line[-1], xytext=line[-2], arrowprops={"arrowstyle": "-|>", "color": look["color"], "linewidth": 1.6}
    )
    first = 0 if topology.nodes[flow.src].wireless else len(line) - 2  # where its radio end is
    along = 0.3 + 0.1 * (number % 5)  # flows of one path show their numbers side by side
    middle = tuple(at[first] + along * (at[first + 1] - at[first]) for at in (x, y))
    box = {"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": look["color"]}
    ax.annotate(str(number), middle, ha="center", va="center", fontsize=7, bbox=box, zorder=5)


def _shifted(places: list[tuple[float, float]], by: float) -> list[tuple[float, float]]:
    """The polyline moved `by` to its right, corner by corner along the mean of the normals."""
    normals = []
    for (x1, y1), (x2, y2) in pairwise(places):
        length = math.hypot(x2 - x1, y2 - y1) or 1.0
        normals.append(((y2 - y1) / length, (x1 - x2) / length))
    moved = []
    for i, (x, y) in enumerate(places):
        around = normals[max(i - 1, 0) : i + 1]
        dx, dy = (sum(normal[k] for normal in around) / len(around) for k in (0, 1))
        moved.append((x + by * dx, y + by * dy))
    return moved


def _draw_ranges(topology: Topology, ax: Axes) -> None:
    from matplotlib.patches import Circle

    if not topology.flows:
        return
    first = topology.flows[0]
    path = topology.path(first) or (first.src, first.dst)
    centre = next(node for node in path if topology.nodes[node].wireless)
    for reach, style, label in ((topology.decode_m, "--", "decode"), (topology.sense_m, ":", "sense")):
        circle = Circle(topology.nodes[centre].position_m, reach, fill=False, linestyle=style, edgecolor="0.4")
        if reach > ZOOM * _extent_m(topology):
            ax.add_artist(circle)  # it does not count for the limits of the axes
            ax.plot([], [], style, color="0.4", label=f"{label} range {reach:g} m, beyond the figure")
        else:
            circle.set_label(f"{label} range of {topology.nodes[centre].name}: {reach:g} m")
            ax.add_patch(circle)
    ax.margins(0.15)
    ax.autoscale_view()


def _extent_m(topology: Topology) -> float:
    x, y = zip(*(node.position_m for node in topology.nodes), strict=True)
    return float(max(max(x) - min(x), max(y) - min(y)))


def is_tall(topology: Topology) -> bool:
    """Whether its figure should be higher than wide."""
    x, y = zip(*(node.position_m for node in topology.nodes), strict=True)
    return bool(max(y) - min(y) > 1.5 * (max(x) - min(x)) and _extent_m(topology) > topology.sense_m * 2)
