"""A topology as a map: nodes, links, wires, flows, moves, and the ranges of the first flow's radio."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pacelab.figures.chart import Arrow, Chart, Circle, Line, Mark, Panel, Text, linear
from pacelab.figures.in_matplotlib import draw_panel, new_axes
from pacelab_topologies.model import Topology

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LABELS = 40
"""With more nodes, only the ends of flows and the gateways have labels. If these are also more, only the gateways."""
MOST_FLOWS = 12
"""The legend names this many flows."""
ZOOM = 1.5
"""A range of more than this many times the network's size is not drawn in full, since the network would be a dot."""
MARGIN = 0.15
"""Margin at each side, as a fraction of the extent."""
FLATTEST = 0.3
"""Minimum height of a map, as a fraction of its width."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's palette. Flows also differ in their line style and have a number."""
LINES = ("-", "--", "-.", ":")
LINK, WIRE, RANGE = "#cccccc", "#8c8c8c", "#666666"

Place = tuple[float, float]


def plot_topology(topology: Topology, ax: Axes | None = None) -> Axes:
    """Draw nodes, links, wires, flows and moves.

    Circles are radios, squares gateways, triangles wired hosts; thin grey lines join nodes that decode each other,
    thick ones are wires; each flow is an arrow along its path, with its number. Large circles are the ranges of the
    first flow's radio. Axes are in metres. Wired hosts are drawn beside their gateway, not to scale.
    """
    panel = map_panel(topology)
    return draw_panel(ax or new_axes(9, 5), panel)


def map_chart(topology: Topology) -> Chart:
    """The content of `plot_topology` in a figure of suitable size."""
    width, height = (8.0, 9.0) if is_tall(topology) else (9.0, 5.0)
    return Chart(panels=(map_panel(topology),), width=width, height=height)


def map_panel(topology: Topology) -> Panel:
    """The content of `plot_topology` as a panel."""
    if not isinstance(topology, Topology):
        raise ValueError(f"topology must be a pacelab.Topology, for example from load_topology, not {topology!r:.60}")
    marks: list[Mark] = [*_links(topology)]
    for number in range(len(topology.flows)):
        marks += _flow(topology, number)
    for node in sorted({move.node for move in topology.moves}):
        walk = [topology.nodes[node].position_m, *(move.position_m for move in topology.moves if move.node == node)]
        name = f"walk of {topology.nodes[node].name}"
        marks.append(Line(**_along(walk), name=name, line=":", width=2.0, silent=True))
    marks += _nodes(topology)
    circles = _ranges(topology)
    marks += circles
    reached = [circle for circle in circles if circle.radius <= ZOOM * _extent_m(topology)]
    low, high = _limits(topology, marks, reached)
    return Panel(
        x=linear(low[0], high[0], "x (m)"),
        y=linear(low[1], high[1], "y (m)"),
        marks=tuple(marks),
        title=topology.description,
        legend="beside",
        equal=True,
    )


def _limits(topology: Topology, marks: Sequence[Mark], circles: Sequence[Circle]) -> tuple[Place, Place]:
    """The lower left and upper right corners: they include all lines, moves, and these circles."""
    places = [node.position_m for node in topology.nodes]
    for mark in marks:
        if isinstance(mark, Line):
            places += [(x, y) for x, y in zip(mark.x, mark.y, strict=True) if math.isfinite(y)]
    for circle in circles:
        for way in (1, -1):
            places.append((circle.x + way * circle.radius, circle.y + way * circle.radius))
    x, y = zip(*places, strict=True)
    wide, high = max(x) - min(x), max(y) - min(y)
    room = MARGIN * max(wide, high, 1.0)
    up = max(room, (FLATTEST * wide - high) / 2)
    return (min(x) - room, min(y) - up), (max(x) + room, max(y) + up)


def _along(places: Iterable[Place]) -> dict[str, Any]:
    x, y = zip(*places, strict=True)
    return {"x": tuple(map(float, x)), "y": tuple(map(float, y))}


def _links(topology: Topology) -> list[Line]:
    """One line for all links, with gaps, and one for all wires."""
    radio = [
        (a, b) for a in range(len(topology.nodes)) for b in topology.neighbours(a) if a < b and topology.decodes(a, b)
    ]
    wires = [(wire.a, wire.b) for wire in topology.wired]
    made = []
    for pairs, color, width in ((radio, LINK, 0.8), (wires, WIRE, 4.0)):
        places: list[Place] = []
        for a, b in pairs:
            places += [topology.nodes[a].position_m, topology.nodes[b].position_m, (math.nan, math.nan)]
        if places:
            made.append(Line(**_along(places), color=color, width=width, silent=True, above=1.0))
    return made


def _nodes(topology: Topology) -> list[Line]:
    many = len(topology.nodes) > MOST_LABELS
    ends = {end for flow in topology.flows for end in (flow.src, flow.dst)} | set(topology.gateways)
    if len(ends) > MOST_LABELS:
        ends = set(topology.gateways)
    made = []
    for marker, name, chosen in (
        ("o", "radio", [i for i, node in enumerate(topology.nodes) if node.wireless and i not in topology.gateways]),
        ("s", "gateway", list(topology.gateways)),
        ("^", "wired host", [i for i, node in enumerate(topology.nodes) if not node.wireless]),
    ):
        if not chosen:
            continue
        nodes = [(i, topology.nodes[i]) for i in chosen]
        made.append(
            Line(
                **_along(node.position_m for _, node in nodes),
                name=name,
                marker=marker,
                line="",
                size=3.0 if many and marker == "o" else 7.0,
                labels=tuple(node.name if i in ends or not many else "" for i, node in nodes),
                label_size=7.0 if many else 9.0,
                told=tuple(_description(topology, i) for i in chosen),
                above=3.0,
            )
        )
    return made


def _description(topology: Topology, number: int) -> str:
    node = topology.nodes[number]
    where = f" at x = {node.position_m[0]:g} m, y = {node.position_m[1]:g} m" if node.wireless else ""
    return f"{node.name}{where}"


def _flow(topology: Topology, number: int) -> list[Mark]:
    """An arrow along the path, shifted a little to its right so that flows on one path are separate."""
    flow = topology.flows[number]
    places = [topology.nodes[node].position_m for node in topology.path(flow) or (flow.src, flow.dst)]
    beside = sum(bool({other.src, other.dst} & {flow.src, flow.dst}) for other in topology.flows[:number])
    shift = _extent_m(topology) * 0.015 * (1 + beside % 5) if len(topology.nodes) <= MOST_LABELS else 0.0
    line = _shifted(places, shift)
    color, dash = COLOURS[number % len(COLOURS)], LINES[number % len(LINES)]
    name = f"flow {number}: {topology.nodes[flow.src].name} to {topology.nodes[flow.dst].name}"
    (x1, y1), (x2, y2) = line[-2:]
    first = 0 if topology.nodes[flow.src].wireless else len(line) - 2  # index of its wireless end
    along = 0.3 + 0.1 * (number % 5)  # flows on one path have their numbers side by side
    x, y = (at[first] + along * (at[first + 1] - at[first]) for at in zip(*line, strict=True))
    name = name if number < MOST_FLOWS else ""
    return [
        Line(**_along(line), name=name, color=color, line=dash, width=1.6, silent=True, above=2.0),
        Arrow(x1=x1, y1=y1, x2=x2, y2=y2, color=color),
        Text(x=x, y=y, text=str(number), size=7.0, box=color, above=5.0),
    ]


def _shifted(places: list[Place], by: float) -> list[Place]:
    """The polyline, moved `by` to its right: each corner along the mean of the normals."""
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


def _ranges(topology: Topology) -> list[Circle]:
    if not topology.flows:
        return []
    first = topology.flows[0]
    path = topology.path(first) or (first.src, first.dst)
    node = topology.nodes[next(each for each in path if topology.nodes[each].wireless)]
    made = []
    for reach, line, label in ((topology.decode_m, "--", "decode"), (topology.sense_m, ":", "sense")):
        beyond = reach > ZOOM * _extent_m(topology)
        of = f" {reach:g} m, beyond the figure" if beyond else f" of {node.name}: {reach:g} m"
        x, y = node.position_m
        made.append(Circle(x=x, y=y, radius=reach, name=f"{label} range{of}", color=RANGE, line=line))
    return made


def _extent_m(topology: Topology) -> float:
    x, y = zip(*(node.position_m for node in topology.nodes), strict=True)
    return float(max(max(x) - min(x), max(y) - min(y)))


def is_tall(topology: Topology) -> bool:
    """Whether the figure should be taller than wide."""
    x, y = zip(*(node.position_m for node in topology.nodes), strict=True)
    return bool(max(y) - min(y) > 1.5 * (max(x) - min(x)) and _extent_m(topology) > topology.sense_m * 2)
