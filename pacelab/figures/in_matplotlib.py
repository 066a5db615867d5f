"""Draws charts with matplotlib: panels in given axes, and whole charts as figures for files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pacelab.figures.chart import Arrow, Bar, Block, Chart, Circle, Key, Line, Mark, Panel, Rule, Scale, Text
from pacelab.figures.figures import add_legend, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KEY_COLUMNS = 8
MOST_IN_A_ROW = 50
"""Maximum number of characters of all names in a legend row above a panel."""
LETTER = 1.6
"""Size of a letter relative to another marker, so that it can be read."""


def new_axes(width: float, height: float) -> Axes:
    """The axes of a new figure of this size, in inches. HostError without matplotlib."""
    require_matplotlib()
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def draw_chart(chart: Chart) -> Figure:
    """A figure of the chart. Raises HostError without matplotlib."""
    require_matplotlib()
    from matplotlib.figure import Figure

    rows = -(-len(chart.panels) // chart.columns)
    figure = Figure(figsize=(chart.width, chart.height), layout="constrained")
    heights = chart.heights or (1.0,) * rows
    axes = figure.subplots(rows, chart.columns, squeeze=False, height_ratios=heights)
    for ax, panel in zip(axes.flat, chart.panels, strict=True):
        draw_panel(ax, panel)
    if chart.keys:
        handles = [_handle(key) for key in chart.keys]
        figure.legend(handles=handles, loc="outside lower center", ncols=KEY_COLUMNS, fontsize="small", frameon=False)
    if chart.caption:
        figure.supxlabel(chart.caption, fontsize="small")
    return figure


def draw_panel(ax: Axes, panel: Panel) -> Axes:
    """Draw the panel in these axes."""
    _scale(ax, "x", panel.x, fixed=not panel.equal)
    _scale(ax, "y", panel.y, fixed=not panel.equal)
    ax.set_axisbelow(True)
    named: set[str] = set()
    for mark in panel.marks:
        if isinstance(mark, Line | Circle):
            mark = replace(mark, name="") if mark.name in named else mark  # the legend has each name once
            named.add(mark.name)
        _DRAWN[type(mark)](ax, mark)
    # Marks must not move the limits, and a rule must not be cut at them.
    # With equal scales they grow below: matplotlib warns of that unless `auto` says that they may.
    ax.set_xlim(panel.x.low, panel.x.high, auto=panel.equal)
    ax.set_ylim(panel.y.low, panel.y.high, auto=panel.equal)
    if panel.equal:
        ax.set_aspect("equal", adjustable="datalim")  # limits grow, and the layout keeps its space for the legend
    if panel.title:
        look: dict[str, Any] = {"loc": "left", "fontweight": "bold"} if panel.bold else {}
        ax.set_title(panel.title, fontsize="medium", wrap=True, **look)
    if panel.note:
        ax.set_title(panel.note, fontsize="small", loc="right")
    if any(isinstance(mark, Bar | Block) for mark in panel.marks):
        ax.spines[["top", "right"]].set_visible(False)
    _legend(ax, panel)
    return ax


def _scale(ax: Axes, which: str, scale: Scale, *, fixed: bool) -> None:
    """Set labels and ticks. If the limits are not `fixed`, matplotlib chooses the ticks."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    axis = ax.xaxis if which == "x" else ax.yaxis
    if scale.log:
        getattr(ax, f"set_{which}scale")("log")
    if fixed:
        axis.set_major_locator(FixedLocator([value for value, _ in scale.ticks]))
        axis.set_major_formatter(FixedFormatter([text for _, text in scale.ticks]))
    axis.set_minor_locator(NullLocator())
    axis.set_label_text(scale.label)
    axis.set_visible(scale.shown)
    ax.tick_params(axis=which, labelsize=scale.size)  # type: ignore[arg-type]
    if scale.slope:
        place = "top" if scale.slope < 90 else "center"
        ax.tick_params(axis=which, rotation=scale.slope)  # type: ignore[arg-type]
        for tick in axis.get_ticklabels():
            tick.set(rotation=scale.slope, ha="right", va=place, rotation_mode="anchor")
    if which == "y" and any(isinstance(text, str) and text and not _is_number(text) for _, text in scale.ticks):
        ax.tick_params(axis="y", length=0)
    if scale.grid:
        ax.grid(axis=which, alpha=0.3)  # type: ignore[arg-type]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _legend(ax: Axes, panel: Panel) -> None:
    """Add the names of the panel's lines in a suitable place."""
    names = ax.get_legend_handles_labels()[1]
    if not names or panel.legend == "none":
        return
    if panel.legend == "above":
        look: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "frameon": False}
        columns = 4 if sum(map(len, names)) > MOST_IN_A_ROW else len(names)
        ax.legend(fontsize="small", ncols=min(columns, len(names)), **look)
    elif panel.legend == "beside":
        ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)
    else:
        add_legend(ax)


def _look(mark: Line) -> dict[str, Any]:
    look: dict[str, Any] = {"color": mark.color, "linestyle": mark.line or "none", "linewidth": mark.width}
    if mark.marker.startswith("$"):  # a white edge separates the letter from its line and its error bar
        letter = mark.marker.strip("$")
        edge = {"markeredgecolor": "white", "markeredgewidth": 0.8}
        return look | {"marker": rf"$\mathbf{{{letter}}}$", "markersize": LETTER * mark.size} | edge
    return look | {"marker": mark.marker or "none", "markersize": mark.size}


def _line(ax: Axes, mark: Line) -> None:
    look = _look(mark) | ({"label": mark.name} if mark.name else {}) | ({"zorder": mark.above} if mark.above else {})
    if mark.every != 1:
        look["markevery"] = mark.every
    if mark.halves:
        ax.errorbar(mark.x, mark.y, yerr=mark.halves, capsize=3, capthick=1.0, **look)
        return
    ax.plot(mark.x, mark.y, drawstyle="steps-post" if mark.steps else "default", **look)
    for x, y, text in zip(mark.x, mark.y, mark.labels, strict=False):
        if text:
            _annotate(ax, Text(x=x, y=y, text=text, rise=4 + mark.size / 2, size=mark.label_size, box="none"))


def _bar(ax: Axes, mark: Bar) -> None:
    look: dict[str, Any] = {"color": mark.color, "hatch": mark.hatch, "edgecolor": "black", "linewidth": 0.6}
    ax.barh(mark.at, mark.high - mark.low, left=mark.low, height=mark.height, label="_" + mark.name, **look)
    if not mark.text:
        return
    aside, place = (4, "left") if mark.high >= mark.low else (-4, "right")
    backing = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}  # the dashed line must not cross the text
    ax.annotate(
        mark.text,
        (mark.high, mark.at),
        xytext=(aside, 0),
        textcoords="offset points",
        ha=place,
        va="center",
        fontsize="small",
        bbox=backing,
    )


def _rule(ax: Axes, mark: Rule) -> None:
    draw = ax.axvline if mark.vertical else ax.axhline
    draw(mark.at, color=mark.color, linestyle=mark.line, linewidth=mark.width)


_PLACES = {"start": "left", "middle": "center", "end": "right"}


def _annotate(ax: Axes, mark: Text) -> None:
    box: dict[str, Any] | None = None
    if mark.box == "none":
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.5}
    elif mark.box:
        box = {"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": mark.box}
    look: dict[str, Any] = {"color": mark.color, "fontsize": mark.size, "bbox": box, "zorder": mark.above}
    look |= {"ha": _PLACES[mark.place], "va": "bottom" if mark.rise else "center"}
    if mark.rise:
        ax.annotate(mark.text, (mark.x, mark.y), xytext=(0, mark.rise), textcoords="offset points", **look)
    else:
        ax.text(mark.x, mark.y, mark.text, clip_on=True, **look)


def _arrow(ax: Axes, mark: Arrow) -> None:
    style = "|-|,widthA=0.3,widthB=0.3" if mark.span else "-|>"
    look: dict[str, Any] = {"arrowstyle": style, "color": mark.color, "linewidth": mark.width}
    ax.annotate("", xy=(mark.x2, mark.y2), xytext=(mark.x1, mark.y1), arrowprops=look)


def _circle(ax: Axes, mark: Circle) -> None:
    from matplotlib.patches import Circle as Patch

    circle = Patch((mark.x, mark.y), mark.radius, fill=False, linestyle=mark.line, edgecolor=mark.color)
    ax.add_artist(circle)  # add_patch would move the limits
    if mark.name:
        ax.plot([], [], mark.line, color=mark.color, label=mark.name)


def _block(ax: Axes, mark: Block) -> None:
    from matplotlib.patches import Rectangle
    from matplotlib.patheffects import withStroke

    look = _block_look(mark)
    block = Rectangle((mark.x1, mark.y1), mark.x2 - mark.x1, mark.y2 - mark.y1, zorder=mark.above, **look)
    block.set_hatch_linewidth(0.35)
    ax.add_artist(block)  # add_patch would recompute the limits, which are set
    if mark.text:
        ax.text(
            (mark.x1 + mark.x2) / 2,
            (mark.y1 + mark.y2) / 2,
            mark.text,
            color=mark.ink,
            ha="center",
            va="center",
            fontsize=mark.size,
            fontweight="bold" if mark.bold else "normal",
            linespacing=1.0,
            zorder=mark.above + 0.5,
            clip_on=True,
            path_effects=[withStroke(linewidth=2.2, foreground=mark.face or "white")],
        )


def _block_look(mark: Block) -> dict[str, Any]:
    if not mark.face:
        return {"fill": False, "linestyle": ":", "linewidth": 0.8}
    return {"facecolor": mark.face, "hatch": mark.hatch, "edgecolor": mark.edge or "none", "linewidth": 0.6}


def _handle(key: Key) -> Any:
    """A sample of a mark for the legend."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if isinstance(key.sign, Block):
        look = _block_look(key.sign)
        return Patch(**look, label=key.text)
    size = 7 * len(key.sign.text) ** 0.5
    sign: dict[str, Any] = {"marker": f"${key.sign.text}$", "color": key.sign.color, "markersize": size}
    return Line2D([], [], linestyle="", label=key.text, **sign)


_DRAWN: dict[type[Mark], Any] = {
    Line: _line,
    Bar: _bar,
    Rule: _rule,
    Text: _annotate,
    Arrow: _arrow,
    Circle: _circle,
    Block: _block,
}
