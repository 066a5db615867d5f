"""A demonstration as a GIF for slides. matplotlib draws the static parts once, then the moving parts for each frame.

If the engine runs the demonstration, the GIF shows the air in slow motion. If a Python scheme runs it, the GIF shows
the goodput of the flows over time and the result. The parts of `Demo.slides` follow one another, so that one slide
compares several settings.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacelab.demo.model import WATCH_S, Demo, Value
from pacelab.demo.runs import Outcome, initial_change, run_change
from pacelab.figures.airlog import Record, read_records
from pacelab.figures.timeline import BLOCKS, COLLISION, plot_timeline, record_air
from pacelab.results.folder import write_file
from pacelab.units import NS_PER_MS, NS_PER_S
from pacelab_topologies.model import Topology

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from PIL import Image

SIZE_IN, DPI = (12.8, 7.2), 100
"""1280 x 720 pixels."""
FRAMES, FRAME_MS = 60, 120
"""Number of frames in each part, and the duration of a frame."""
LAST_FRAME_MS = 2500
"""Duration of the last frame of a part."""
COLOURS = 64
STARVED_SHARE = 0.04
"""A flow with a smaller share of the full width has a broken arrow."""
MAX_WIDTH_PT = 22.0
FLOW_COLOURS = ("#1f5f99", "#c46a00", "#1d7044", "#6a3d9a")
FLOW_LINES = ("-", "--", ":", "-.")


def export_gif(demo: Demo, path: Path) -> None:
    """Write the animation."""
    from PIL import Image

    images: list[Image.Image] = []
    durations: list[int] = []
    for caption, changes in demo.slides:
        part = list(_curves_over_time(demo, caption, changes) if demo.python else _slow_motion(demo, caption, changes))
        images += part
        durations += [FRAME_MS] * (len(part) - 1) + [LAST_FRAME_MS]
    # All frames share one palette, so that the file stores only the pixels that change between frames.
    palette = images[len(images) // 2].quantize(COLOURS)
    images = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    out = io.BytesIO()
    images[0].save(out, "GIF", save_all=True, append_images=images[1:], duration=durations, loop=0, optimize=False)
    write_file(path, out.getvalue())


def _slow_motion(demo: Demo, caption: str, changes: Mapping[str, Value]) -> Iterator[Image.Image]:
    experiment = demo.experiment(changes)
    topology = experiment.network
    records = record_air(experiment, until_s=demo.watch_from_s + WATCH_S)
    figure = _figure(demo, caption)
    upper, lower = figure.subplots(2, 1, height_ratios=(4, 5))
    scene = _Scene(upper, demo, topology)
    names = dict(enumerate(demo.labels_of(topology)))
    from_ns = round(demo.watch_from_s * NS_PER_S)
    plot_timeline(records, lower, names=names, window_ns=(from_ns, from_ns + round(WATCH_S * NS_PER_S)))
    playhead = lower.axvline(from_ns / NS_PER_MS, color="#b00000", linewidth=2, animated=True)

    def show(step: int) -> list[Artist]:
        at_ns = from_ns + WATCH_S * NS_PER_S * step / FRAMES
        playhead.set_xdata([at_ns / NS_PER_MS] * 2)
        return [playhead, *scene.artists_at(records, at_ns)]

    yield from _draw(figure, show)


def _curves_over_time(demo: Demo, caption: str, changes: Mapping[str, Value]) -> Iterator[Image.Image]:
    begin = initial_change(demo)
    outcome = run_change(demo, replace(begin, values={**begin.values, **changes}))
    topology = demo.experiment().network
    figure = _figure(demo, caption)
    grid = figure.add_gridspec(2, 2, height_ratios=(5, 4))
    scene = _Scene(figure.add_subplot(grid[:, 0]), demo, topology)
    _bars(figure.add_subplot(grid[0, 1]), outcome, demo)
    curves = _Curves(figure.add_subplot(grid[1, 1]), outcome["curves"])
    full_bps = demo.full_bps or 1.0
    for index, flow in enumerate(outcome["flows"] if not outcome["calls"] else outcome["flows"][:1]):
        scene.flow(flow, flow["goodput_bps"] / full_bps, index)
    yield from _draw(figure, lambda step: curves.until(step / FRAMES))


def _figure(demo: Demo, caption: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE_IN, dpi=DPI, layout="constrained")
    figure.suptitle(f"{demo.title}: {caption}" if caption else demo.title, fontsize=24, fontweight="bold")
    return figure


def _draw(figure: Figure, show: Callable[[int], list[Artist]]) -> Iterator[Image.Image]:
    """Draw all frames. `show` moves the animated artists to a step and returns them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    canvas: Any = FigureCanvasAgg(figure)  # its methods for blitting have no type information
    canvas.draw()
    background = canvas.copy_from_bbox(figure.bbox)
    for step in range(FRAMES + 1):
        canvas.restore_region(background)
        for artist in show(step):
            figure.draw_artist(artist)
        yield Image.frombytes("RGBA", canvas.get_width_height(), bytes(canvas.buffer_rgba())).convert("RGB")


class _Scene:
    """The network from above."""

    def __init__(self, ax: Axes, demo: Demo, topology: Topology) -> None:
        from matplotlib.patches import Circle

        self.ax, self.labels, self.topology = ax, demo.labels_of(topology), topology
        radios = [number for number, node in enumerate(topology.nodes) if node.wireless]
        self.places = {number: topology.nodes[number].position_m for number in radios}
        xs, ys = zip(*self.places.values(), strict=True)
        width = max(max(xs) - min(xs), max(ys) - min(ys)) + 200
        ax.set_aspect("equal")
        ax.set_axis_off()
        ax.set_xlim((min(xs) + max(xs) - width) / 2, (min(xs) + max(xs) + width) / 2)
        tall = max(max(ys) - min(ys) + 200, 0.3 * width)
        ax.set_ylim((min(ys) + max(ys) - tall) / 2, (min(ys) + max(ys) + tall) / 2)
        ax.invert_yaxis()  # as on the page
        self.radius = 0.028 * width
        self.shown: list[Artist] = []
        for number in radios:
            size = self.radius * (1 if self.labels[number] else 0.55)
            ax.add_patch(Circle(self.places[number], size, facecolor="white", edgecolor="black", linewidth=2, zorder=3))
            text = self.labels[number]
            ax.text(*self.places[number], text, ha="center", va="center", fontsize=17, fontweight="bold", zorder=4)

    def flow(self, flow: Mapping[str, Any], share: float, index: int) -> None:
        """Draw an arrow whose width shows the flow's share. The arrow is broken if the flow starves."""
        gateway = self.topology.gateways[0]
        src, dst = (end if end in self.places else gateway for end in (flow["src"], flow["dst"]))
        starved = share < STARVED_SHARE
        self._arrow(src, dst, FLOW_COLOURS[index], max(2.0, MAX_WIDTH_PT * min(share, 1)), ":" if starved else "-")

    def artists_at(self, records: list[Record], at_ns: float) -> list[Artist]:
        """Draw the transmissions and collisions at a time."""
        for artist in self.shown:
            artist.remove()
        log = read_records(records)
        shown: list[Artist] = []
        for frame in log.frames:
            if frame.start_ns <= at_ns < frame.end_ns:
                look = BLOCKS[frame.kind]
                if frame.peer is not None:
                    shown.append(self._arrow(frame.node, frame.peer, "#1f5f99", 5.0, "-", animated=True))
                shown += self._state(frame.node, look.face, look.text, frame.kind)
        for hearing in log.hearings:
            collided_ns = hearing.collided_ns
            if collided_ns is not None and not hearing.decoded and collided_ns <= at_ns < hearing.end_ns:
                shown += self._state(hearing.node, COLLISION.face, COLLISION.text, "✖ collision")
        self.shown = shown
        return shown

    def _state(self, node: int, face: str, ink: str, text: str) -> list[Artist]:
        from matplotlib.patches import Circle

        x, y = self.places[node]
        middle: dict[str, Any] = {"ha": "center", "va": "center", "fontweight": "bold"}
        body = Circle((x, y), self.radius, facecolor=face, edgecolor="black", linewidth=2, animated=True)
        self.ax.add_patch(body)
        name = self.ax.text(x, y, self.labels[node], color=ink, fontsize=17, animated=True, **middle)
        colour = ink if ink != "white" else "black"
        state = self.ax.text(x, y - 1.7 * self.radius, text, color=colour, fontsize=15, animated=True, **middle)
        return [body, name, state]

    def _arrow(self, src: int, dst: int, colour: str, width: float, line: str, *, animated: bool = False) -> Artist:
        arrow = self.ax.annotate(
            "",
            self.places[dst],
            self.places[src],
            arrowprops={
                "arrowstyle": "-|>,head_width=0.5,head_length=0.9"
                if width < 12
                else "-|>,head_width=0.8,head_length=1",
                "color": colour,
                "linewidth": width,
                "linestyle": line,
                "shrinkA": 18,
                "shrinkB": 18,
                "mutation_scale": 14,
            },
            zorder=2,
            animated=animated,
        )
        return arrow


def _bars(ax: Axes, outcome: Outcome, demo: Demo) -> None:
    """Draw the result of a run as bars."""
    sum_bps = sum(flow["goodput_bps"] for flow in outcome["flows"])
    full_bps = demo.full_bps or 1.0
    if outcome["calls"]:
        mark = outcome["acceptable_mos"]
        rows = [
            (
                call["label"],
                (call["mos"] - 1) / 3.5,
                f"MOS {call['mos']:.2f} {'✔' if call['mos'] >= mark else '✖'}",
                "#1d7044" if call["mos"] >= mark else "#c8663f",
            )
            for call in outcome["calls"]
        ]
        rows.append(("TCP", sum_bps / full_bps, f"{sum_bps / 1e3:.0f} kbit/s", "#444444"))
        ax.axvline((mark - 1) / 3.5, 1 / len(rows), color="black", linewidth=2)
    else:
        rows = [
            (flow["label"], flow["goodput_bps"] / full_bps, f"{flow['goodput_bps'] / 1e3:.0f} kbit/s", colour)
            for flow, colour in zip(outcome["flows"], FLOW_COLOURS, strict=True)
        ]
        rows.append(("sum", sum_bps / full_bps, f"{sum_bps / 1e3:.0f} kbit/s", "#444444"))
    for place, (name, part, text, colour) in enumerate(rows):
        ax.barh(place, min(part, 1.0), color=colour)
        ax.text(1.03, place, text, va="center", fontsize=15)
        ax.text(-0.03, place, name, va="center", ha="right", fontsize=15)
    ax.set_xlim(0, 1)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_axis_off()


class _Curves:
    """Lines over time, drawn up to the current frame."""

    def __init__(self, ax: Axes, curves: Mapping[str, Any]) -> None:
        self.times, self.lines = curves["t_s"], curves["lines"]
        known = [value for line in self.lines for value in line["values"] if value is not None]
        ax.set_xlim(0, self.times[-1])
        ax.set_ylim(curves["low"], curves.get("high", 1.05 * max(known)))
        ax.set_title(f"{curves['what']} ({curves['unit']})", fontsize=15, loc="left")
        ax.set_xlabel("time (s)", fontsize=14)
        ax.tick_params(labelsize=13)
        ax.grid(alpha=0.3)
        if "mark" in curves:
            ax.axhline(curves["mark"], color="#7a1f00", linestyle=(0, (1, 2)))
        self.drawn = [
            ax.plot([], [], colour, linestyle=style, linewidth=3, animated=True, label=line["label"])[0]
            for line, colour, style in zip(self.lines, FLOW_COLOURS, FLOW_LINES, strict=False)
        ]
        if len(self.lines) < len(FLOW_COLOURS):
            ax.legend(fontsize=13, loc="lower right")

    def until(self, part: float) -> list[Artist]:
        """The lines up to this part of the time."""
        count = round(part * len(self.times))
        for drawn, line in zip(self.drawn, self.lines, strict=True):
            values = [float("nan") if value is None else value for value in line["values"][:count]]
            drawn.set_data(self.times[:count], values)
        return list(self.drawn)
