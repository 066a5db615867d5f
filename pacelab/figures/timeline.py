"""Who is on the air when: a lane per node, a block per frame, and what kept the others waiting.

Colour, hatch and letters say the same thing, so that the picture can be read in grey and in print.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pacelab.air.backend import run_scheme
from pacelab.errors import ConfigError
from pacelab.experiment.air_config import compile_air
from pacelab.experiment.experiment import Experiment
from pacelab.figures.airlog import FRAMES, AirLog, Frame, Hearing, Mark, Record, find_window, read_records
from pacelab.figures.figures import LEAST_PT, short
from pacelab.options.arguments import above_zero, axes, checked, instance_of, optional
from pacelab.options.values import HIGH_THROUGHPUT
from pacelab.units import BPS_PER_MBPS, NS_PER_MS
from pacelab_topologies.domain import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SEARCH_S = 1.0
"""How much of a run is looked through for a window, s."""
LONGEST_S = 10.0
"""A window further on than this would need more records than a picture is worth, s."""

RECORD_FIELDS = 5
"""When, at which node, what, with which peer, a value."""

Window = tuple[int, int]
"""From and to, ns."""


class Look(NamedTuple):
    """How a kind of block looks."""

    face: str
    hatch: str
    text: str


BLOCKS = {
    "RTS": Look("#f6e58d", "////", "black"),
    "CTS": Look("#a8d8f0", "\\\\\\\\", "black"),
    "DATA": Look("#1f5f99", "", "white"),
    "ACK": Look("#9fd8b4", "....", "black"),
}
AGGREGATE_BLOCKS = {
    "A-MPDU": Look("#12395c", "", "white"),
    "BAR": Look("#f3c1d6", "////", "black"),
    "BA": Look("#6fbf8f", "....", "black"),
}
"""Of 802.11n alone."""
ALL_BLOCKS = BLOCKS | AGGREGATE_BLOCKS
LETTERS = {"RTS": "R", "CTS": "C", "DATA": "D", "ACK": "A", "A-MPDU": "M", "BAR": "Q", "BA": "B"}
COLLISION = Look("#f4b7a3", "xxxx", "#7a1f00")
BUSY = "#c9c9c9"
HOLDS = {"NAV": Look("#d9d2e9", "////", "#4b3b78"), "EIFS": Look("#ffe0b8", "||||", "#8a5200")}
MARKS = {
    "retry": ("↻", "#7a1f00"),
    "drop": ("✖", "#b00000"),
    "queue drop": ("▼", "#b00000"),
    "capture": ("△", "#00582f"),
    "no CTS": ("∅C", "#4b3b78"),
    "no DATA": ("∅D", "#1f5f99"),
}
"""Kind of mark -> sign and colour."""
AGGREGATE_MARKS = {"MPDUs lost": ("−", "#7a1f00")}
ALL_MARKS = MARKS | AGGREGATE_MARKS
COUNTED = frozenset({"retry", "MPDUs lost"})
"""Marks whose sign is followed by a number."""

# A lane is one unit high; these are its bands, bottom and height, from the lane's lower edge.
BAND_BLOCK = (0.40, 0.42)
BAND_BACKOFF = (0.40, 0.15)
BAND_BUSY = (0.29, 0.07)
BAND_HOLD = {"NAV": (0.15, 0.12), "EIFS": (0.02, 0.12)}
MARK_HEIGHT = 0.91

MOST_LANES = 16
WIDTH_IN = 12.0
LANE_IN = 0.92
CHARACTER_IN = 0.08
"""Width of a character of the small font: what does not fit into a block is left out."""
SIGN_IN = 0.09
"""Width of a mark's sign, in that font."""
HATCHED_IN = 1 / 60
"""A narrower block is all edge; to hatch it is most of the time that a picture of a second of the air takes."""


@checked(experiment=instance_of(Experiment), until_s=above_zero(1_000_000))
def record_air(experiment: Experiment, *, until_s: float) -> list[Record]:
    """Run the first `until_s` seconds of an experiment; returns the engine's records."""
    air = compile_air(experiment) | {"tap": True, "duration_s": until_s, "warmup_s": 0.0}
    records: list[Record] = run_scheme(air, experiment, experiment.chosen_scheme).air["tap"]
    return records


def _window(value: Any) -> Window:
    """From and to, in whole ns."""
    found = tuple(map(plain, value)) if isinstance(value, Iterable) and not isinstance(value, str) else ()
    if len(found) != 2 or not all(isinstance(edge, int | float) for edge in found) or not found[0] < found[1]:
        raise ValueError("two numbers of ns, from and a later to")
    return cast("Window", found)


def _records(value: Any) -> list[Any]:
    """The engine's records."""
    found = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    if not all(isinstance(record, list | tuple) and len(record) == RECORD_FIELDS for record in found):
        raise ValueError("what pacelab.record_air gives")
    return found


@checked(records=_records, ax=optional(axes), window_ns=optional(_window))
def plot_timeline(
    records: Sequence[Record],
    ax: Axes | None = None,
    *,
    names: Mapping[int, str] | None = None,
    lanes: Sequence[int] | None = None,
    window_ns: Window | None = None,
) -> Axes:
    """Draw the engine's records (`[at_ns, node, what, peer, value]`, see `record_air`), a lane per node.

    `names` are the nodes, number -> name (default: those that occur); `lanes` are the numbers of those drawn, top to
    bottom (default: all); `window_ns` is from and to (default: where something happens, see `airlog.find_window`).
    """
    log = read_records(records)
    window_ns = window_ns or find_window(log)
    names = names or {node: f"n{node}" for node in log.nodes}
    lanes = list(names) if lanes is None else lanes
    if not isinstance(lanes, Iterable) or not set(lanes) <= set(names):
        raise ConfigError(f"lanes must be a list of nodes ({', '.join(map(str, names))}), not {lanes!r:.60}")
    if ax is None:
        from matplotlib import pyplot

        size = (WIDTH_IN, 1.2 + LANE_IN * len(lanes))
        ax = pyplot.subplots(figsize=size, layout="constrained")[1]
    canvas = _Canvas(ax, names, lanes, window_ns)
    canvas.draw(log)
    return ax


def choose_window(experiment: Experiment, *, from_ms: float | None, to_ms: float | None) -> tuple[list[Record], Window]:
    """Records that cover the asked-for window, and the window; without one, a window in which something happens.

    Raises ConfigError when the window is empty, or further on than a picture is worth.
    """
    if from_ms is None and to_ms is None:
        records = record_air(experiment, until_s=min(SEARCH_S, experiment.duration_s))
        return records, find_window(read_records(records))
    start_ms = from_ms or 0.0
    if to_ms is None:
        records = record_air(experiment, until_s=_until_s(start_ms + 200.0))
        low_ns, high_ns = find_window(read_records(records))
        to_ms = start_ms + (high_ns - low_ns) / NS_PER_MS
    elif to_ms <= start_ms:
        raise ConfigError(f"--to must be more than --from, {start_ms:g} ms, not {to_ms:g}")
    else:
        records = record_air(experiment, until_s=_until_s(to_ms))
    return records, (round(start_ms * NS_PER_MS), round(to_ms * NS_PER_MS))


def describe_window(experiment: Experiment, records: Sequence[Record], window_ns: Window) -> dict[str, Any]:
    """What a picture shows, in numbers: JSON values, times in ms."""
    low_ns, high_ns = window_ns
    log = read_records([record for record in records if low_ns <= record[0] <= high_ns])
    aggregates = experiment.phy == HIGH_THROUGHPUT
    return {
        "config": experiment.config(),
        "from_ms": low_ns / NS_PER_MS,
        "to_ms": high_ns / NS_PER_MS,
        "frames": {
            kind: sum(frame.kind == kind for frame in log.frames) for kind in (ALL_BLOCKS if aggregates else BLOCKS)
        },
        "collisions": sum(hearing.collided_ns is not None for hearing in log.hearings),
        "marks": {kind: sum(mark.kind == kind for mark in log.marks) for kind in (ALL_MARKS if aggregates else MARKS)},
    }


def title_of(experiment: Experiment) -> str:
    """What a picture shows: topology, RTS, preset, rate, seed."""
    scheme = "" if experiment.scheme == "newreno" else f", {experiment.scheme}"
    return (
        f"{experiment.topology}: RTS/CTS {'on' if experiment.rts else 'off'}, radio {experiment.radio}, "
        f"{experiment.rate_bps / BPS_PER_MBPS:g} Mbit/s{scheme}, seed {experiment.seed}"
    )


def lane_names(experiment: Experiment) -> dict[int, str]:
    """The wireless nodes, number -> name as it fits."""
    return {number: short(node.name) for number, node in enumerate(experiment.network.nodes) if node.wireless}


def choose_lanes(names: Mapping[int, str], records: Sequence[Record], window_ns: Window) -> list[int]:
    """All nodes, or of more than `MOST_LANES` those that send most in the window."""
    low_ns, high_ns = window_ns
    sends = Counter(record[1] for record in records if record[2] in FRAMES and low_ns <= record[0] <= high_ns)
    return sorted(sorted(names, key=lambda node: (-sends[node], node))[:MOST_LANES])


def draw_timelines(panels: Sequence[tuple[Experiment, Sequence[Record], Window]]) -> Figure:
    """One picture of several experiments, one above the other, with one legend."""
    from matplotlib.figure import Figure

    names = [lane_names(experiment) for experiment, _, _ in panels]
    lanes = [choose_lanes(known, *panel[1:]) for known, panel in zip(names, panels, strict=True)]
    heights = [0.75 + LANE_IN * len(nodes) for nodes in lanes]
    figure = Figure(figsize=(WIDTH_IN, sum(heights) + 0.75), layout="constrained")
    axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    for ax, known, nodes, (experiment, records, window_ns) in zip(axes, names, lanes, panels, strict=True):
        plot_timeline(records, ax, names=known, lanes=nodes, window_ns=window_ns)
        shown = f" (the {len(nodes)} busiest of {len(known)} nodes)" if len(nodes) < len(known) else ""
        ax.set_title(title_of(experiment) + shown, loc="left", fontsize="medium", fontweight="bold")
    add_legend(figure, aggregates=any(experiment.phy == HIGH_THROUGHPUT for experiment, _, _ in panels))
    return figure


def add_legend(figure: Figure, *, aggregates: bool = False) -> None:
    """What the signs mean, below the picture. `aggregates`: also those of 802.11n."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[Any] = [
        Patch(
            facecolor=look.face, hatch=look.hatch, edgecolor="black", linewidth=0.6, label=f"{LETTERS[kind]} = {kind}"
        )
        for kind, look in (ALL_BLOCKS if aggregates else BLOCKS).items()
    ]
    entries.append(
        Patch(facecolor=COLLISION.face, hatch=COLLISION.hatch, edgecolor=COLLISION.text, label="collision, as received")
    )
    entries.append(Patch(facecolor=BUSY, label="hears a frame"))
    entries.append(Patch(facecolor="white", edgecolor="black", linestyle=":", label="backoff, slots drawn"))
    entries += [
        Patch(facecolor=look.face, hatch=look.hatch, edgecolor=look.text, linewidth=0.4, label=kind)
        for kind, look in HOLDS.items()
    ]
    texts = {
        "retry": "retry, its number",
        "drop": "packet dropped",
        "queue drop": "queue full",
        "capture": "capture",
        "no CTS": "CTS refused",
        "no DATA": "data held back",
    }
    if aggregates:
        texts["MPDUs lost"] = "MPDUs lost, how many"
    entries += [
        Line2D(
            [],
            [],
            linestyle="",
            marker=f"${ALL_MARKS[kind][0]}$",
            color=ALL_MARKS[kind][1],
            markersize=7 * len(ALL_MARKS[kind][0]) ** 0.5,
            label=text,
        )
        for kind, text in texts.items()
    ]
    figure.legend(handles=entries, loc="outside lower center", ncols=8, fontsize="small", frameon=False)


class _Canvas:
    """Draws into one pair of axes; the x unit is ms."""

    def __init__(self, ax: Axes, names: Mapping[int, str], lanes: Sequence[int], window_ns: Window) -> None:
        self.ax = ax
        self.names = names
        self.window_ns = window_ns
        self.low = {node: float(len(lanes) - 1 - place) for place, node in enumerate(lanes)}
        low_ms, high_ms = (edge / NS_PER_MS for edge in window_ns)
        figure = ax.get_figure(root=True)
        assert figure is not None
        # The layout is not known before all is drawn; lane names and margins take about 6 % of the width.
        self.inches_per_ms = 0.94 * figure.get_figwidth() / (high_ms - low_ms)
        ax.set_xlim(low_ms, high_ms)
        ax.set_ylim(0, len(lanes))
        ax.set_yticks([self.low[node] + 0.5 for node in lanes], [names[node] for node in lanes])
        ax.tick_params(axis="y", length=0, labelsize="large")
        ax.set_xlabel("time (ms)")
        ax.ticklabel_format(axis="x", useOffset=False)
        for place in range(1, len(lanes)):
            ax.axhline(place, color="#888888", linewidth=0.5)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        ax.grid(axis="x", alpha=0.25, linewidth=0.5)
        ax.set_axisbelow(True)

    def draw(self, log: AirLog) -> None:
        for hearing in log.hearings:
            self.hearing(hearing)
        for hold in log.holds:
            look = HOLDS[hold.kind]
            self.bar(hold.node, (hold.start_ns, hold.end_ns), BAND_HOLD[hold.kind], look, hold.kind)
        blocks: dict[int, list[Window]] = {}
        for frame in log.frames:
            blocks.setdefault(frame.node, []).append((frame.start_ns, frame.end_ns))
        for hearing in log.hearings:
            if hearing.collided_ns is not None and not hearing.decoded:
                blocks.setdefault(hearing.node, []).append((hearing.collided_ns, hearing.end_ns))
        for backoff in log.backoffs:
            span_ns = (backoff.start_ns, backoff.end_ns)
            covers = [one for one in blocks.get(backoff.node, ()) if one[0] < span_ns[1] and span_ns[0] < one[1]]
            self.backoff(backoff.node, span_ns, backoff.slots, covers)
        for frame in log.frames:
            self.frame(frame)
        ends_ms: dict[int, float] = {}
        for mark in sorted(log.marks, key=lambda mark: mark.at_ns):
            ends_ms[mark.node] = self.mark(mark, ends_ms.get(mark.node, -math.inf))

    def frame(self, frame: Frame) -> None:
        to = "all" if frame.peer is None else self.names.get(frame.peer, str(frame.peer))
        room = self.characters(frame.start_ns, frame.end_ns)
        longer = (f"{frame.kind} → {to}", f"{frame.kind}\n→{to}", f"{LETTERS[frame.kind]}\n→{to}", LETTERS[frame.kind])
        text = next((text for text in longer if max(map(len, text.split("\n"))) <= room), "")
        self.bar(frame.node, (frame.start_ns, frame.end_ns), BAND_BLOCK, ALL_BLOCKS[frame.kind], text, above=5)

    def hearing(self, hearing: Hearing) -> None:
        whole = (hearing.start_ns, hearing.end_ns)
        self.bar(hearing.node, whole, BAND_BUSY, Look(BUSY, "", "black"), "")
        if hearing.collided_ns is not None and not hearing.decoded:
            spoiled = (hearing.collided_ns, hearing.end_ns)
            names = " × ".join(self.names.get(peer, str(peer)) for peer in hearing.peers)
            room = self.characters(*spoiled)
            text = next((text for text in (names, "×") if len(text) <= room), "")
            self.bar(hearing.node, spoiled, BAND_BLOCK, COLLISION, text, size=8.5, above=3)

    def backoff(self, node: int, span_ns: Window, slots: int, covers: Sequence[Window]) -> None:
        """A box with its number where no block `covers` it."""
        box = self.box(node, span_ns, BAND_BACKOFF)
        if box is None:
            return
        left, bottom, width, height = box
        from matplotlib.patches import Rectangle

        self.ax.add_artist(Rectangle((left, bottom), width, height, fill=False, linestyle=":", linewidth=0.8, zorder=2))
        free_ns = _longest_gap((max(span_ns[0], self.window_ns[0]), min(span_ns[1], self.window_ns[1])), covers)
        if self.characters(*free_ns) >= len(str(slots)):
            self.ax.text(
                sum(free_ns) / 2 / NS_PER_MS,
                bottom + height / 2,
                str(slots),
                ha="center",
                va="center_baseline",
                fontsize=LEAST_PT,
                zorder=2.5,
                clip_on=True,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
            )

    def mark(self, mark: Mark, free_ms: float) -> float:
        """A sign where it happened, or beside the one before, which ends at `free_ms`; returns where this one ends."""
        low_ns, high_ns = self.window_ns
        if mark.node not in self.low or not low_ns <= mark.at_ns <= high_ns:
            return free_ms
        sign, color = ALL_MARKS[mark.kind]
        text = f"{sign}{mark.count}" if mark.kind in COUNTED else sign
        size = 11 if mark.kind == "drop" else 8.5
        width_ms = len(text) * SIGN_IN * size / LEAST_PT / self.inches_per_ms
        at_ms = mark.at_ns / NS_PER_MS
        at_ms = min(max(at_ms, free_ms + width_ms / 2), at_ms + width_ms)
        place = (at_ms, self.low[mark.node] + MARK_HEIGHT)
        self.ax.text(*place, text, color=color, ha="center", va="center", fontsize=size, zorder=6, clip_on=True)
        return at_ms + width_ms / 2

    def bar(
        self,
        node: int,
        span_ns: Window,
        band: tuple[float, float],
        look: Look,
        text: str,
        *,
        size: float = LEAST_PT,
        above: float = 1.0,
    ) -> None:
        """A block with its text, where it fits; nothing outside the window or for a node without a lane."""
        from matplotlib.patches import Rectangle
        from matplotlib.patheffects import withStroke

        box = self.box(node, span_ns, band)
        if box is None:
            return
        left, bottom, width, height = box
        edge = "none" if look.face == BUSY else look.text if look.text not in ("white",) else "black"
        block = Rectangle(
            (left, bottom),
            width,
            height,
            facecolor=look.face,
            hatch=look.hatch if width * self.inches_per_ms >= HATCHED_IN else "",
            edgecolor=edge,
            linewidth=0.6,
            zorder=above,
        )
        block.set_hatch_linewidth(0.35)
        self.ax.add_artist(block)  # add_patch would look for limits, which are set
        longest = max(map(len, text.split("\n")))
        if text and width * self.inches_per_ms >= longest * CHARACTER_IN * size / LEAST_PT:
            outline = withStroke(linewidth=2.2, foreground=look.face)
            self.ax.text(
                left + width / 2,
                bottom + height / 2,
                text,
                color=look.text,
                ha="center",
                va="center",
                fontsize=size,
                fontweight="bold" if look is COLLISION else "normal",
                linespacing=1.0,
                zorder=above + 0.5,
                clip_on=True,
                path_effects=[outline],
            )

    def box(self, node: int, span_ns: Window, band: tuple[float, float]) -> tuple[float, float, float, float] | None:
        """Left, bottom, width, height of the part of a span inside the window."""
        start_ns, end_ns = max(span_ns[0], self.window_ns[0]), min(span_ns[1], self.window_ns[1])
        if node not in self.low or end_ns <= start_ns:
            return None
        bottom, height = band
        return start_ns / NS_PER_MS, self.low[node] + bottom, (end_ns - start_ns) / NS_PER_MS, height

    def characters(self, start_ns: int, end_ns: int) -> int:
        """How many characters fit into the visible part of a span."""
        low_ns, high_ns = self.window_ns
        visible_ms = (min(end_ns, high_ns) - max(start_ns, low_ns)) / NS_PER_MS
        return int(visible_ms * self.inches_per_ms / CHARACTER_IN)


def _longest_gap(span_ns: Window, covers: Sequence[Window]) -> Window:
    """The longest part of a span that none of the others covers."""
    gaps, at_ns = [], span_ns[0]
    for start_ns, end_ns in sorted(covers):
        gaps.append((at_ns, min(start_ns, span_ns[1])))
        at_ns = max(at_ns, end_ns)
    gaps.append((at_ns, span_ns[1]))
    return max(gaps, key=lambda gap: gap[1] - gap[0])


def _until_s(ms: float) -> float:
    if ms > LONGEST_S * 1e3:
        raise ConfigError(f"--from and --to must be at most {LONGEST_S * 1e3:g} ms, not {ms:g}")
    return ms / 1e3
