"""Timeline of the air: one lane per node, one block per frame, and the reasons why other nodes waited.

Colour, hatch and letters carry the same information, so the picture is legible in grey and in print.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pacelab.air.backend import run_scheme
from pacelab.documents import JsonObject
from pacelab.domains import Real, plain
from pacelab.errors import ConfigError
from pacelab.experiment.air_config import compile_air
from pacelab.experiment.air_types import AirConfig
from pacelab.experiment.experiment import Experiment
from pacelab.figures.airlog import FRAMES, AirLog, Frame, Hearing, Record, find_window, read_records
from pacelab.figures.airlog import Mark as Seen
from pacelab.figures.chart import Block, Chart, Key, Mark, Panel, Rule, Scale, Text, linear
from pacelab.figures.figures import LEAST_PT, short
from pacelab.figures.in_matplotlib import draw_panel, new_axes
from pacelab.options.arguments import axes, checked, instance_of, optional
from pacelab.options.high_throughput import AMENDMENTS
from pacelab.units import BPS_PER_MBPS, NS_PER_MS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SEARCH_S = 1.0
"""The part of a run that is searched for a window, in s."""
LONGEST_S = 10.0
"""A later window would require too many records, in s."""

RECORD_FIELDS = 5
"""Fields of a record: time, node, event, peer, value."""

Window = tuple[int, int]
"""Start and end, ns."""


BLACK, WHITE = "#000000", "#ffffff"


class Look(NamedTuple):
    """The style of a kind of block."""

    face: str
    hatch: str
    text: str


BLOCKS = {
    "RTS": Look("#f6e58d", "////", BLACK),
    "CTS": Look("#a8d8f0", "\\\\\\\\", BLACK),
    "DATA": Look("#1f5f99", "", WHITE),
    "ACK": Look("#9fd8b4", "....", BLACK),
}
AGGREGATE_BLOCKS = {
    "A-MPDU": Look("#12395c", "", WHITE),
    "BAR": Look("#f3c1d6", "////", BLACK),
    "BA": Look("#6fbf8f", "....", BLACK),
}
"""Styles that only 802.11n, ac, and ax use."""
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
"""Marks with a number after the sign."""
MEANINGS = {
    "retry": "retry, its number",
    "drop": "packet dropped",
    "queue drop": "queue full",
    "capture": "capture",
    "no CTS": "CTS refused",
    "no DATA": "data held back",
    "MPDUs lost": "MPDUs lost, how many",
}

# A lane is one unit high; these are its bands, bottom and height, from the lane's lower edge.
BAND_BLOCK = (0.40, 0.42)
BAND_BACKOFF = (0.40, 0.15)
BAND_BUSY = (0.29, 0.07)
BAND_HOLD = {"NAV": (0.15, 0.12), "EIFS": (0.02, 0.12)}
MARK_HEIGHT = 0.91

MOST_LANES = 16
WIDTH_IN = 12.0
LANE_IN, LEAST_LANE_IN = 0.92, 0.5
AROUND_LANES_IN = 0.75
"""Height of a panel's title and x axis, and height of the legend."""
SCREEN_IN = 6.2
"""Height that a page shows at once on a screen of 1280 x 720 pixels. Lanes are lower, if they else need more."""
LINE_HEIGHT = 1.2
"""Distance of the lines of a text, as a multiple of its font size."""
PT_PER_IN = 72
CHARACTER_IN = 0.08
"""Width of a character in the small font. A text that does not fit into its block is left out."""
SIGN_IN = 0.09
"""Width of a mark's sign in that font."""
HATCHED_IN = 1 / 60
"""A narrower block shows only its edge. Hatching such blocks takes most of the time of drawing a second of air."""


@checked(experiment=instance_of(Experiment), until_s=Real(0, 1_000_000, above=True))
def record_air(experiment: Experiment, *, until_s: float) -> list[Record]:
    """Run the first `until_s` seconds of an experiment; return the engine's records."""
    air: AirConfig = {**compile_air(experiment), "tap": True, "duration_s": until_s, "warmup_s": 0.0}
    return run_scheme(air, experiment, experiment.chosen_scheme).air["tap"] or []


def _window(value: Any) -> Window:
    """Start and end, in whole ns."""
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
    """Draw the engine's records (`[at_ns, node, what, peer, value]`, see `record_air`), one lane per node.

    `names`: names of the nodes by number (default: the nodes that occur). `lanes`: numbers of the nodes to draw, from
    top to bottom (default: all). `window_ns`: start and end (default: see `airlog.find_window`).
    """
    log = read_records(records)
    names, lanes = _shown(log, names, lanes)
    lane_in = _lane_in(1, len(lanes))
    ax = ax or new_axes(WIDTH_IN, 1.2 + lane_in * len(lanes))
    figure = ax.get_figure(root=True)
    assert figure is not None
    drawn = _Lanes(names, lanes, window_ns or find_window(log), width_in=figure.get_figwidth(), lane_in=lane_in)
    return draw_panel(ax, drawn.panel(log))


def _lane_in(panels: int, lanes: int) -> float:
    """The height of a lane, if a figure has so many panels, and so many lanes in all."""
    fits = (SCREEN_IN - AROUND_LANES_IN * (panels + 1)) / max(lanes, 1)
    return min(max(fits, LEAST_LANE_IN), LANE_IN)


def _shown(
    log: AirLog, names: Mapping[int, str] | None, lanes: Sequence[int] | None
) -> tuple[Mapping[int, str], Sequence[int]]:
    """The names of the nodes, and the nodes with a lane."""
    names = names or {node: f"n{node}" for node in log.nodes}
    lanes = list(names) if lanes is None else lanes
    if not isinstance(lanes, Iterable) or not set(lanes) <= set(names):
        raise ConfigError(f"lanes must be a list of nodes ({', '.join(map(str, names))}), not {lanes!r:.60}")
    return names, list(lanes)


def choose_window(experiment: Experiment, *, from_ms: float | None, to_ms: float | None) -> tuple[list[Record], Window]:
    """Records that cover the requested window, and the window; by default, a window in which something happens.

    Raises ConfigError if the window is empty or too late.
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


def describe_window(experiment: Experiment, records: Sequence[Record], window_ns: Window) -> JsonObject:
    """The content of a picture in numbers: JSON values, times in ms."""
    low_ns, high_ns = window_ns
    log = read_records([record for record in records if low_ns <= record[0] <= high_ns])
    aggregates = experiment.phy in AMENDMENTS
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
    """The title of a picture: topology, RTS, preset, rate, seed."""
    scheme = "" if experiment.scheme == "newreno" else f", {experiment.scheme}"
    return (
        f"{experiment.topology}: RTS/CTS {'on' if experiment.rts else 'off'}, radio {experiment.radio}, "
        f"{experiment.data_rate_bps / BPS_PER_MBPS:g} Mbit/s{scheme}, seed {experiment.seed}"
    )


def lane_names(experiment: Experiment) -> dict[int, str]:
    """Names of the wireless nodes by number, shortened to fit."""
    return {number: short(node.name) for number, node in enumerate(experiment.network.nodes) if node.wireless}


def choose_lanes(names: Mapping[int, str], records: Sequence[Record], window_ns: Window) -> list[int]:
    """All nodes, or if there are more than `MOST_LANES`, those that send most in the window."""
    low_ns, high_ns = window_ns
    sends = Counter(record[1] for record in records if record[2] in FRAMES and low_ns <= record[0] <= high_ns)
    return sorted(sorted(names, key=lambda node: (-sends[node], node))[:MOST_LANES])


def timeline_chart(panels: Sequence[tuple[Experiment, Sequence[Record], Window]]) -> Chart:
    """One figure of several experiments, one above the other, with one legend."""
    made, heights = [], []
    known = [lane_names(experiment) for experiment, _, _ in panels]
    lanes = [choose_lanes(names, *panel[1:]) for names, panel in zip(known, panels, strict=True)]
    lane_in = _lane_in(len(panels), sum(map(len, lanes)))
    for names, nodes, (experiment, records, window_ns) in zip(known, lanes, panels, strict=True):
        shown = f" (the {len(nodes)} busiest of {len(names)} nodes)" if len(nodes) < len(names) else ""
        drawn = _Lanes(names, nodes, window_ns, width_in=WIDTH_IN, lane_in=lane_in)
        made.append(drawn.panel(read_records(records), title_of(experiment) + shown))
        heights.append(AROUND_LANES_IN + lane_in * len(nodes))
    aggregates = any(experiment.phy in AMENDMENTS for experiment, _, _ in panels)
    return Chart(
        panels=tuple(made),
        width=WIDTH_IN,
        height=sum(heights) + AROUND_LANES_IN,
        heights=tuple(heights),
        keys=keys(aggregates),
    )


def _key(name: str, look: Look, text: str, edge: str) -> Key:
    block = Block(x1=0, x2=1, y1=0, y2=1, face=look.face, hatch=look.hatch, edge=edge, ink=look.text, name=name)
    return Key(sign=block, text=text)


def keys(aggregates: bool) -> tuple[Key, ...]:
    """The signs of the legend. `aggregates`: include those of 802.11n, ac, and ax."""
    blocks, marks = (ALL_BLOCKS, ALL_MARKS) if aggregates else (BLOCKS, MARKS)
    return (
        *(_key(kind, look, f"{LETTERS[kind]} = {kind}", BLACK) for kind, look in blocks.items()),
        _key("collision", COLLISION, "collision, as received", COLLISION.text),
        _key("busy", Look(BUSY, "", BLACK), "hears a frame", ""),
        _key("backoff", Look("", "", BLACK), "backoff, slots drawn", ""),
        *(_key(kind, look, kind, look.text) for kind, look in HOLDS.items()),
        *(
            Key(sign=Text(x=0, y=0, text=sign, color=color, name=kind), text=MEANINGS[kind])
            for kind, (sign, color) in marks.items()
        ),
    )


class _Lanes:
    """Collects the marks of one panel; the x unit is ms."""

    def __init__(
        self, names: Mapping[int, str], lanes: Sequence[int], window_ns: Window, *, width_in: float, lane_in: float
    ) -> None:
        self.names = names
        self.lanes = lanes
        self.window_ns = window_ns
        self.low = {node: float(len(lanes) - 1 - place) for place, node in enumerate(lanes)}
        low_ms, high_ms = (edge / NS_PER_MS for edge in window_ns)
        # The layout is unknown until everything is drawn. Lane names and margins take about 6 % of the width.
        self.inches_per_ms = 0.94 * width_in / (high_ms - low_ms)
        self.lane_pt = PT_PER_IN * lane_in
        self.marks: list[Mark] = []

    def panel(self, log: AirLog, title: str = "") -> Panel:
        """The panel with the lanes' marks."""
        self.collect(log)
        low_ms, high_ms = (edge / NS_PER_MS for edge in self.window_ns)
        ticks = tuple((self.low[node] + 0.5, self.names[node]) for node in self.lanes)
        return Panel(
            x=linear(low_ms, high_ms, "time (ms)", grid=True),
            y=Scale(low=0, high=len(self.lanes), ticks=ticks, size=12),
            marks=tuple(self.marks),
            title=title,
            bold=True,
        )

    def collect(self, log: AirLog) -> None:
        for place in range(1, len(self.lanes)):
            self.marks.append(Rule(at=place, vertical=False, color="#888888", line="-", width=0.5))
        for hearing in log.hearings:
            self.hearing(hearing)
        for hold in log.holds:
            look, span_ns = HOLDS[hold.kind], (hold.start_ns, hold.end_ns)
            about = f"{self.name(hold.node)} waits, {hold.kind}, {_during(span_ns)}"
            self.bar(hold.node, span_ns, BAND_HOLD[hold.kind], look, hold.kind, name=hold.kind, about=about)
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

    def name(self, node: int | None) -> str:
        return "all" if node is None else self.names.get(node, str(node))

    def frame(self, frame: Frame) -> None:
        to = self.name(frame.peer)
        span_ns = (frame.start_ns, frame.end_ns)
        room = self.characters(*span_ns)
        longer = (f"{frame.kind} → {to}", f"{frame.kind}\n→{to}", f"{LETTERS[frame.kind]}\n→{to}", LETTERS[frame.kind])
        fitting = (text for text in longer if self.is_low_enough(text, LEAST_PT, BAND_BLOCK))
        text = next((text for text in fitting if max(map(len, text.split("\n"))) <= room), "")
        about = f"{frame.kind} from {self.name(frame.node)} to {to}, {_during(span_ns)}"
        self.bar(frame.node, span_ns, BAND_BLOCK, ALL_BLOCKS[frame.kind], text, name=frame.kind, about=about, above=5)

    def hearing(self, hearing: Hearing) -> None:
        whole = (hearing.start_ns, hearing.end_ns)
        senders = " and ".join(map(self.name, hearing.peers))
        about = f"{self.name(hearing.node)} hears {senders}, {_during(whole)}"
        self.bar(hearing.node, whole, BAND_BUSY, Look(BUSY, "", BLACK), "", name="busy", about=about)
        if hearing.collided_ns is not None and not hearing.decoded:
            spoiled = (hearing.collided_ns, hearing.end_ns)
            names = " × ".join(map(self.name, hearing.peers))
            room = self.characters(*spoiled)
            text = next((text for text in (names, "×") if len(text) <= room), "")
            about = f"frames of {senders} collide at {self.name(hearing.node)}, {_during(spoiled)}"
            look: dict[str, Any] = {"name": "collision", "about": about, "size": 8.5, "above": 3}
            self.bar(hearing.node, spoiled, BAND_BLOCK, COLLISION, text, **look)

    def backoff(self, node: int, span_ns: Window, slots: int, covers: Sequence[Window]) -> None:
        """A box with its number, placed where no block `covers` it."""
        box = self.box(node, span_ns, BAND_BACKOFF)
        if box is None:
            return
        about = f"{self.name(node)} counts down {slots} slots, {_during(span_ns)}"
        self.marks.append(Block(**box, name="backoff", about=about, above=2))
        free_ns = _longest_gap((max(span_ns[0], self.window_ns[0]), min(span_ns[1], self.window_ns[1])), covers)
        if self.characters(*free_ns) >= len(str(slots)):
            place: dict[str, Any] = {"x": sum(free_ns) / 2 / NS_PER_MS, "y": (box["y1"] + box["y2"]) / 2}
            text: dict[str, Any] = {"text": str(slots), "size": LEAST_PT, "box": "none", "above": 2.5}
            self.marks.append(Text(**place, **text, name="backoff"))

    def mark(self, mark: Seen, free_ms: float) -> float:
        """A sign at its time, or to the right of the previous one, which ends at `free_ms`; return where
        this one ends.
        """
        low_ns, high_ns = self.window_ns
        if mark.node not in self.low or not low_ns <= mark.at_ns <= high_ns:
            return free_ms
        sign, color = ALL_MARKS[mark.kind]
        text = f"{sign}{mark.count}" if mark.kind in COUNTED else sign
        size = 11 if mark.kind == "drop" else 8.5
        width_ms = len(text) * SIGN_IN * size / LEAST_PT / self.inches_per_ms
        at_ms = mark.at_ns / NS_PER_MS
        told = f"{MEANINGS[mark.kind].partition(',')[0]}{f' {mark.count}' if mark.kind in COUNTED else ''}"
        about = f"{self.name(mark.node)}: {told}, {at_ms:.3f} ms"
        at_ms = min(max(at_ms, free_ms + width_ms / 2), at_ms + width_ms)
        y = self.low[mark.node] + MARK_HEIGHT
        self.marks.append(Text(x=at_ms, y=y, text=text, color=color, size=size, name=mark.kind, about=about))
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
        **more: Any,
    ) -> None:
        """A block with its text if that fits; nothing outside the window or for a node without a lane."""
        box = self.box(node, span_ns, band)
        if box is None:
            return
        width_in = (box["x2"] - box["x1"]) * self.inches_per_ms
        fits = width_in >= max(map(len, text.split("\n"))) * CHARACTER_IN * size / LEAST_PT
        fits = fits and self.is_low_enough(text, size, band)
        self.marks.append(
            Block(
                **box,
                face=look.face,
                hatch=look.hatch if width_in >= HATCHED_IN else "",
                edge="" if look.face == BUSY else BLACK if look.text == WHITE else look.text,
                ink=look.text,
                text=text if fits else "",
                size=size,
                bold=look is COLLISION,
                **more,
            )
        )

    def box(self, node: int, span_ns: Window, band: tuple[float, float]) -> dict[str, Any] | None:
        """The part of a span inside the window."""
        start_ns, end_ns = max(span_ns[0], self.window_ns[0]), min(span_ns[1], self.window_ns[1])
        if node not in self.low or end_ns <= start_ns:
            return None
        bottom = self.low[node] + band[0]
        return {"x1": start_ns / NS_PER_MS, "x2": end_ns / NS_PER_MS, "y1": bottom, "y2": bottom + band[1]}

    def is_low_enough(self, text: str, size: float, band: tuple[float, float]) -> bool:
        """Whether the lines of a text fit into a band. The letters of one line are lower than its font size."""
        return size * (0.9 + LINE_HEIGHT * text.count("\n")) <= band[1] * self.lane_pt

    def characters(self, start_ns: int, end_ns: int) -> int:
        """Number of characters that fit into the visible part of a span."""
        low_ns, high_ns = self.window_ns
        visible_ms = (min(end_ns, high_ns) - max(start_ns, low_ns)) / NS_PER_MS
        return int(visible_ms * self.inches_per_ms / CHARACTER_IN)


def _during(span_ns: Window) -> str:
    return f"{span_ns[0] / NS_PER_MS:.3f} to {span_ns[1] / NS_PER_MS:.3f} ms"


def _longest_gap(span_ns: Window, covers: Sequence[Window]) -> Window:
    """The longest part of a span that no other span covers."""
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
