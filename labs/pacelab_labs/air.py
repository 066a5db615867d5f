"""Pictures of the air: timelines of transmissions, the fate of a link's frames, and positions with ranges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pacelab.domains import Whole
from pacelab.experiment.experiment import Experiment
from pacelab.figures.chart import Arrow, Chart, Line, Mark, Panel, Scale, Text, around, linear
from pacelab.figures.network_map import map_chart
from pacelab.figures.timeline import choose_window, describe_window, record_air, timeline_chart
from pacelab.options.arguments import NUMBER, TEXT, checked, coerce, instance_of, list_of, optional, taken
from pacelab.results.results import RunResult
from pacelab_labs.figures import COLOURS, bars_panel, lost
from pacelab_labs.picture import Picture, Table
from pacelab_topologies.model import Topology


@checked(experiments=list_of(Experiment, 1), from_ms=optional(NUMBER), to_ms=optional(NUMBER))
def air(*experiments: Experiment, from_ms: float | None = None, to_ms: float | None = None) -> Picture:
    """A timeline per experiment of the nodes' transmissions. The default interval contains transmissions."""
    panels = []
    lines = []
    for experiment in experiments:
        records, window_ns = choose_window(experiment, from_ms=from_ms, to_ms=to_ms)
        panels.append((experiment, records, window_ns))
        seen = describe_window(experiment, records, window_ns)
        frames = ", ".join(f"{number} {kind}" for kind, number in seen["frames"].items() if number) or "no frame"
        marks = ", ".join(f"{number} × {kind}" for kind, number in seen["marks"].items() if number) or "none"
        lines.append(
            f"{experiment.topology}, RTS {'on' if experiment.rts else 'off'}, {seen['from_ms']:.1f} to "
            f"{seen['to_ms']:.1f} ms: {frames}; collisions: {seen['collisions']}; other: {marks}"
        )
    return Picture(timeline_chart(panels), "\n".join(lines))


@checked(topology=instance_of(Topology), text=TEXT)
def network_map(topology: Topology, text: str) -> Picture:
    """Nodes, links, wires and flows of a network, with a text that describes the map."""
    return Picture(map_chart(topology), text)


@checked(experiments=list_of(Experiment, 1))
def fates(*experiments: Experiment, sender: int, receiver: int) -> Table:
    """The fate of the first frames of each exchange from `sender` to `receiver`: RTSs with RTS/CTS, else data."""
    rows = []
    for experiment in experiments:
        a_node = Whole(0, len(experiment.network.nodes) - 1)
        sender, receiver = coerce("fates: sender", a_node, sender), coerce("fates: receiver", a_node, receiver)
        asks, answers = ("send-rts", "send-cts") if experiment.rts else ("send-data", "send-ack")
        sent = answered = refused = 0
        for _, node, what, peer, _ in record_air(experiment, until_s=experiment.duration_s):
            sent += node == sender and what == asks
            answered += node == receiver and what == answers and peer == sender
            refused += node == receiver and what == "refuse-cts" and peer == sender
        frame = "RTS" if experiment.rts else "data"
        rows.append((frame, sent, sent - answered - refused, refused, answered))
    names = [experiments[0].network.nodes[node].name for node in (sender, receiver)]
    header = ("frame", "sent", "not decoded", "decoded, not allowed to answer", "answered")
    return Table(header, rows, f"Frames from {names[0]} at {names[1]}, {experiments[0].duration_s:g} s.")


# Positions: two pairs of nodes with their ranges, and the nodes that disturb a link of a chain.

ROLES = {
    "sender": ("#0072b2", "s"),
    "receiver": ("#0072b2", "o"),
    "hidden": ("#d55e00", "X"),
    "exposed": ("#009e73", "D"),
    "both": ("#cc79a7", "P"),
    "neither": ("#bbbbbb", "."),
}
"""A node's role for a link -> colour and marker. "both": it senses the sender and would disturb the receiver."""


def role(topology: Topology, node: int, sender: int, receiver: int, disturb_m: float) -> str:
    """The role of `node` for the link from `sender` to `receiver` (see `ROLES`), from distances only.

    `disturb_m` is the link's interference range.
    Source: [fu] Sec. 3, Fig. 1, which takes the sense range for it.
    """
    if node == sender:
        return "sender"
    if node == receiver:
        return "receiver"
    senses = topology.distance_m(node, sender) <= topology.sense_m
    disturbs = topology.distance_m(node, receiver) <= disturb_m
    return {(True, True): "both", (True, False): "exposed", (False, True): "hidden", (False, False): "neither"}[
        senses, disturbs
    ]


def link_roles(
    topology: Topology, sender: int, receiver: int, *, disturb_m: float | None = None, names: str = ""
) -> Picture:
    """The hidden and the exposed nodes of this link. `names` has a letter for each node.

    `disturb_m` is the interference range of the link in m; None: the sense range.
    """
    return _draw_link(topology, sender, receiver, disturb_m, names, tell=True)


def link_ranges(
    topology: Topology, sender: int, receiver: int, *, disturb_m: float | None = None, names: str = ""
) -> Picture:
    """Like `link_roles`, but without the roles, for the exercise that asks for them."""
    return _draw_link(topology, sender, receiver, disturb_m, names, tell=False)


def _draw_link(
    topology: Topology, sender: int, receiver: int, disturb_m: float | None, names: str, *, tell: bool
) -> Picture:
    sender = coerce("the link's sender", _radio(topology), sender)
    receiver = coerce("the link's receiver", _radio(topology, sender), receiver)
    reach_m = topology.sense_m if disturb_m is None else coerce("disturb_m", NUMBER, disturb_m)
    nodes = [i for i, node in enumerate(topology.nodes) if node.wireless]
    labels = {i: names[i] if i < len(names) else topology.nodes[i].name for i in nodes}
    ends = {sender: "sender", receiver: "receiver"}
    roles = {i: role(topology, i, sender, receiver, reach_m) if tell else ends.get(i, "neither") for i in nodes}
    marks: list[Mark] = []
    for name, (colour, marker) in ROLES.items():
        chosen = [i for i in nodes if roles[i] == name]
        if chosen:
            said = name if tell or name != "neither" else "others"
            labelled = tuple(labels[i] for i in chosen)
            told = tuple(f"{labels[i]} at x = {topology.nodes[i].position_m[0]:g} m" for i in chosen)
            x, y = zip(*(topology.nodes[i].position_m for i in chosen), strict=True)
            look: dict[str, Any] = {"color": colour, "marker": marker, "line": "", "size": 13, "told": told}
            marks.append(Line(x=x, y=y, name=said, labels=labelled, **look))
    (from_m, _), (to_m, _) = topology.nodes[sender].position_m, topology.nodes[receiver].position_m
    marks += _span(from_m, topology.sense_m, -0.45, f"sense range of {labels[sender]}")
    marks += _span(to_m, reach_m, -0.75, f"interference range at {labels[receiver]}")
    chart = Chart(panels=(_along_x(marks, -1.0, 0.6, legend="above"),), width=9.0, height=2.6)
    ranges = f"sense range {topology.sense_m:g} m, interference range {reach_m:.0f} m"
    listed = "; ".join(f"{labels[i]} {roles[i]}" if tell else labels[i] for i in nodes)
    return Picture(chart, f"Link {labels[sender]}→{labels[receiver]}, {ranges}: {listed}.")


def _radio(topology: Topology, but: int | None = None) -> Callable[[Any], int]:
    """The number of a node with a radio. `but` is not valid."""

    def take(value: Any) -> int:
        found: int = taken(Whole(0, len(topology.nodes) - 1), value)
        if found == but or not topology.nodes[found].wireless:
            raise ValueError("a wireless node" + ("" if but is None else f" other than {but}"))
        return found

    return take


def _two_pairs(value: Any) -> Topology:
    """A topology of two flows."""
    if not isinstance(value, Topology) or len(value.flows) != 2:
        raise ValueError("a topology of two pairs, as load_topology('pairs') gives it")
    return value


@checked(result=instance_of(RunResult), topology=_two_pairs, alone_kbps=NUMBER)
def pairs_picture(result: RunResult, topology: Topology, *, alone_kbps: float) -> Picture:
    """The nodes of a `pairs` run, which nodes sense each other, and each pair's goodput against a lone sender."""
    goodput = {f"{flow['src']}→{flow['dst']}": flow["goodput_bps"] / 1000 for flow in result.run["flows"]}
    below = bars_panel(goodput, unit="goodput (kbit/s)", reference=("one pair alone", alone_kbps))
    chart = Chart(panels=(_pairs(topology), below), heights=(1.25, 1.0), width=9.5, height=3.6)
    senders = [flow.src for flow in topology.flows]
    apart = topology.distance_m(*senders)
    sensed = "sense each other" if apart <= topology.sense_m else "do not sense each other"
    listed = ", ".join(f"{name} {value:.0f}" for name, value in goodput.items())
    text = (
        f"Senders {apart:.0f} m apart {sensed}. {_disturbers(topology)} "
        f"Goodput in kbit/s: {listed} (alone {alone_kbps:.0f}). {lost(result)}"
    )
    return Picture(chart, text)


def _disturbers(topology: Topology) -> str:
    """The distance of the other pair's sender from each receiver, as text."""
    first, second = topology.flows
    told = []
    for flow, other in ((first, second), (second, first)):
        far_m, link_m = topology.distance_m(other.src, flow.dst), topology.distance_m(flow.src, flow.dst)
        sensed = "" if far_m <= topology.sense_m else ", not sensed there"
        link = f"{topology.nodes[flow.src].name}→{topology.nodes[flow.dst].name}"
        told.append(
            f"{link}: {link_m:.0f} m, {topology.nodes[other.src].name} is {far_m:.0f} m from the receiver{sensed}"
        )
    return "; ".join(told) + "."


def _pairs(topology: Topology) -> Panel:
    """The two pairs on a line, each with the range in which its sender is sensed."""
    marks: list[Mark] = []
    for place, flow in enumerate(topology.flows):
        y = 0.45 if place and flow.dst != topology.flows[0].dst else 0.0  # a shared receiver is drawn once
        for end, marker in ((flow.src, "s"), (flow.dst, "o")):
            node = topology.nodes[end]
            told = (f"{node.name} at x = {node.position_m[0]:g} m",)
            look: dict[str, Any] = {"color": COLOURS[place], "marker": marker, "line": "", "size": 11}
            marks.append(Line(x=(node.position_m[0],), y=(y,), labels=(node.name,), told=told, **look))
        (from_m, _), (to_m, _) = topology.nodes[flow.src].position_m, topology.nodes[flow.dst].position_m
        marks.append(Arrow(x1=from_m, y1=y, x2=to_m, y2=y, color=COLOURS[place]))
        marks += _span(from_m, topology.sense_m, -0.35 - 0.25 * place, f"{topology.nodes[flow.src].name} is sensed")
    return replace(_along_x(marks, -0.85, 0.95), note="squares send, circles receive")


def _span(middle: float, reach: float, height: float, text: str) -> list[Mark]:
    """The positions within range, with a text."""
    look: dict[str, Any] = {"text": f"{text} within {reach:.0f} m", "size": 8.3, "rise": 2.0}
    return [
        Arrow(x1=middle - reach, y1=height, x2=middle + reach, y2=height, color="#666666", width=1.0, span=True),
        Text(x=middle, y=height, **look),
    ]


def _along_x(marks: Sequence[Mark], low: float, high: float, legend: str = "none") -> Panel:
    """A panel of positions on a line, wide enough for all spans."""
    places = [x for mark in marks if isinstance(mark, Line) for x in mark.x]
    places += [x for mark in marks if isinstance(mark, Arrow) for x in (mark.x1, mark.x2)]
    x, y = linear(*around(places), "x (m)"), Scale(low=low, high=high, shown=False)
    return Panel(x=x, y=y, marks=tuple(marks), legend=legend)
