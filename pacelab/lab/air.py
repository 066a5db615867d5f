"""A picture of the air: the timeline of an experiment's first moments, with its events as text."""

from __future__ import annotations

from pacelab.experiment.experiment import Experiment
from pacelab.lab.picture import Picture
from pacelab.show.timeline import choose_window, describe_window, draw_timelines


def air(*experiments: Experiment, from_ms: float | None = None, to_ms: float | None = None) -> Picture:
    """Who is on the air when, one timeline for each experiment; by default where something happens."""
    panels = []
    lines = []
    for experiment in experiments:
        records, window_ns = choose_window(experiment, from_ms=from_ms, to_ms=to_ms)
        panels.append((experiment, records, window_ns))
        seen = describe_window(experiment, records, window_ns)
        frames = ", ".join(f"{number} {kind}" for kind, number in seen["frames"].items() if number)
        marks = ", ".join(f"{number} × {kind}" for kind, number in seen["marks"].items() if number) or "none"
        lines.append(
            f"{experiment.topology}, RTS {'on' if experiment.rts else 'off'}, {seen['from_ms']:.1f} to "
            f"{seen['to_ms']:.1f} ms: {frames}; collisions: {seen['collisions']}; other: {marks}"
        )
    return Picture(draw_timelines(panels), "\n".join(lines))
