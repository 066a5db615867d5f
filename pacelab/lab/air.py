"""The air of an experiment: a timeline of its first moments, and what becomes of a link's frames."""

from __future__ import annotations

from pacelab.experiment.experiment import Experiment
from pacelab.lab.picture import Picture
from pacelab.lab.table import Table
from pacelab.options.arguments import checked, number, optional, several, taken, whole
from pacelab.show.timeline import choose_window, describe_window, draw_timelines, record_air


@checked(experiments=several(Experiment, 1), from_ms=optional(number), to_ms=optional(number))
def air(*experiments: Experiment, from_ms: float | None = None, to_ms: float | None = None) -> Picture:
    """Who is on the air when, one timeline for each experiment; by default where something happens."""
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
    return Picture(draw_timelines(panels), "\n".join(lines))


@checked(experiments=several(Experiment, 1))
def fates(*experiments: Experiment, sender: int, receiver: int) -> Table:
    """What becomes of the frames by which `sender` reaches for `receiver`: RTSs where RTS/CTS is on, else data."""
    rows = []
    for experiment in experiments:
        a_node = whole(0, len(experiment.network.nodes) - 1)
        sender, receiver = taken("fates: sender", a_node, sender), taken("fates: receiver", a_node, receiver)
        asks, answers = ("send-rts", "send-cts") if experiment.rts else ("send-data", "send-ack")
        sent = answered = refused = 0
        for _, node, what, peer, _ in record_air(experiment, until_s=experiment.duration_s):
            sent += node == sender and what == asks
            answered += node == receiver and what == answers and peer == sender
            refused += node == receiver and what == "refuse-cts" and peer == sender
        frame = "RTS" if experiment.rts else "data"
        rows.append((frame, sent, sent - answered - refused, refused, answered))
    names = [experiments[0].network.nodes[node].name for node in (sender, receiver)]
    header = ("frame", "sent", "not read", "read, may not answer", "answered")
    return Table(header, rows, f"Frames from {names[0]} at {names[1]}, {experiments[0].duration_s:g} s.")
