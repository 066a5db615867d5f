"""Draws pictures as PNG for pages and SVG for print, the same bytes each time.

Colour alone carries no meaning: lines also differ in marker and dashes, bars in hatching.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from pacelab.claims.picture import Panel, Picture, Series
from pacelab.figures.figures import LEAST_PT, image, images
from pacelab.figures.plots import style_of
from pacelab.results.metrics import LEVEL
from pacelab.schemes.style import Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

TITLE_COLUMNS = 80
PANEL_WIDTH_IN = {1: 7.0, 2: 5.0, 3: 4.0}
"""Width of a panel by the number of panels side by side."""
HEIGHT_IN = 4.2
DPI = 110
LEGEND_INSIDE = 4
"""A legend with at most this many entries fits into a corner; a longer one is beside the axes."""
LOG_SPREAD = 30.0
"""The x axis is logarithmic if the ratio of its largest to its smallest value is at least this."""
LOOKS = [
    *(Style("#000000", "o", "--"), Style("#0072b2", "s", "-"), Style("#56b4e9", "^", "-."), Style("#d55e00", "D", "-")),
    *(Style("#cc79a7", "v", ":"), Style("#009e73", "x", "--"), Style("#e69f00", "P", "-."), Style("#999999", "*", "-")),
]
"""Styles of lines that belong to no scheme; a figure can have no more of them."""
PLAIN = Style("#666666", "", "-")
HATCHES = ("", "//", "..", "xx", "--", "\\\\", "++", "oo")


def render(picture: Picture, title: str = "") -> dict[str, bytes]:
    """ID.png and ID.svg, with the title if there is one."""
    return images(_draw(picture, title), picture.id, dpi=DPI)


def render_png(picture: Picture, title: str = "") -> bytes:
    """PNG for a page, with the title if there is one."""
    return image(_draw(picture, title), "png", dpi=DPI)


def render_svg(picture: Picture, title: str = "", *, captioned: bool = True) -> bytes:
    """SVG for print, without the caption if the page has it."""
    return image(_draw(picture, title, captioned=captioned), "svg", dpi=DPI)


def caption(picture: Picture) -> str:
    """The caption: seeds, durations and set-up behind the figure."""
    interval = f"; bars: {LEVEL:.0%} t intervals" if any(s.half for p in picture.panels for s in p.series) else ""
    seeds = f"{picture.seeds} seeds" if picture.seeds > 1 else "1 seed"
    return f"n = {seeds} of {picture.seconds:g} s, {picture.mode} mode{interval or '; no interval'}"


def _draw(picture: Picture, title: str, *, captioned: bool = True) -> Canvas:
    from matplotlib.figure import Figure as Canvas

    count = len(picture.panels)
    canvas = Canvas(figsize=(PANEL_WIDTH_IN[min(count, 3)] * count, HEIGHT_IN), layout="constrained")
    for ax, panel in zip(
        canvas.subplots(1, count, squeeze=False, sharey=picture.same_y)[0], picture.panels, strict=True
    ):
        _bars(ax, panel) if panel.ticks else _lines(ax, panel)
        ax.set(xlabel=panel.x_label, ylabel=panel.y_label, title=panel.title)
        if panel.least is not None:
            ax.set_yscale("symlog", linthresh=panel.least)
        ax.set_ylim(0, panel.top)
        ax.grid(alpha=0.3)
        if picture.same_y:
            ax.label_outer()
    _legends(canvas)
    if title:
        canvas.suptitle(textwrap.fill(title, TITLE_COLUMNS), fontsize="medium")
    if captioned:
        canvas.supxlabel(caption(picture), fontsize="small")
    return canvas


def _lines(ax: Axes, panel: Panel) -> None:
    from matplotlib.ticker import MaxNLocator

    for series in panel.series:
        look = _look(series)
        ax.errorbar(
            series.x,
            series.y,
            yerr=series.half or None,
            label=series.label or None,
            color=look.color,
            marker="" if series.mark in ("line", "dots") else look.marker,
            linestyle={"points": "", "dots": ":", "line": look.linestyle, "both": look.linestyle}[series.mark],
            capsize=3,
            markersize=4,
            linewidth=1.2,
        )
    if all(place.is_integer() for series in panel.series for place in series.x):
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    elif _spread([place for series in panel.series for place in series.x]) > LOG_SPREAD:
        ax.set_xscale("log")


def _spread(places: list[float]) -> float:
    """Ratio of the largest to the smallest value; 1 if a value is not above zero."""
    return max(places) / min(places) if min(places) > 0 else 1.0


def _bars(ax: Axes, panel: Panel) -> None:
    width = 0.8 / len(panel.series)
    for number, series in enumerate(panel.series):
        shift = (number - (len(panel.series) - 1) / 2) * width
        ax.bar(
            [place + shift for place in series.x],
            series.y,
            width,
            yerr=series.half or None,
            color=_look(series).color,
            hatch=HATCHES[number % len(HATCHES)],
            edgecolor="white",
            capsize=3,
            label=series.label or None,
        )
    ax.set_xticks(range(len(panel.ticks)), panel.ticks)
    ax.set_xlim(-0.8, len(panel.ticks) - 0.2)


def _look(series: Series) -> Style:
    if isinstance(series.look, int):
        return LOOKS[series.look % len(LOOKS)]
    return style_of(series.look) if series.look else PLAIN


def _legends(canvas: Canvas) -> None:
    """One legend for all panels if their legends are equal; beside the axes if many entries would hide the lines."""
    said = [ax.get_legend_handles_labels() for ax in canvas.axes]
    if len(said) > 1 and said[0][1] and all(labels == said[0][1] for _, labels in said):
        canvas.legend(*said[0], loc="outside right center", fontsize="small")
        return
    for ax, (_, labels) in zip(canvas.axes, said, strict=True):
        if len(labels) > LEGEND_INSIDE:
            ax.legend(fontsize=LEAST_PT, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        elif labels:
            ax.legend(fontsize="small")
