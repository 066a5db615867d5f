"""Distributions: how a quantity varies over the flows of all seeds, or over a flow's time, as cumulative curves.

The value at x is the share of flows (or of time) that have x or less. A curve to the right of another one has larger
values throughout. A curve that starts high at the left edge has starved flows, which a mean does not show.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from pacelab.errors import ConfigError
from pacelab.figures.figures import DPI, add_legend, images, share_legend, short
from pacelab.figures.plots import MARKS, find_series, styles_of, why_no_series
from pacelab.figures.tables import Compared, network, settings, show_point
from pacelab.results.quantities import QUANTITIES, Quantity, find_quantity
from pacelab.results.results import RunResult, scheme_label
from pacelab.schemes.style import Style, look_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_PANELS = 12
"""Maximum number of a comparison's points whose curves are legible in one figure."""
Curves = Mapping[str, tuple[Sequence[float], Style]]
WIDE = 2.6
"""Width of the first line. Later lines are thinner, so that equal curves are all visible."""


def find_distributed(given: str) -> Quantity:
    """The quantity of this name. Raises ConfigError if flows do not have it."""
    quantity = find_quantity(given)
    if quantity.flows is None:
        allowed = ", ".join(one.short for one in QUANTITIES if one.flows is not None)
        raise ConfigError(
            f"--cdf needs a quantity that each flow has; --y must be one of {allowed}, not {quantity.short}"
        )
    return quantity


def draw_curves(ax: Axes, curves: Curves, quantity: Quantity, *, beside: Sequence[Curves] = ()) -> None:
    """One cumulative curve per label, from its values and style; `beside`: values of the panels that share
    the x axis.
    """
    for place, (text, (values, style)) in enumerate(curves.items()):
        ordered = sorted(values)
        shares = [place / len(ordered) for place in range(len(ordered) + 1)]
        marks: dict[str, Any] = {"markersize": 4, "markevery": (1, max(1, len(ordered) // MARKS))}
        look = style._asdict() | marks
        ax.plot(
            [*ordered[:1], *ordered],
            shares,
            drawstyle="steps-post",
            label=short(text),
            linewidth=max(1.0, WIDE - 0.4 * place),
            **look,
        )
    shown = [value for panel in (curves, *beside) for values, _ in panel.values() for value in values]
    low, high = quantity.limits[0], max(shown, default=0.0)
    ax.set(xlabel=quantity.label_of_one, ylim=(0, 1.03))
    if high > low:
        ax.set_xlim(low, low + 1.05 * (high - low))
    ax.grid(alpha=0.3)
    if curves:
        add_legend(ax)


def plot_moments(result: RunResult, ax: Axes, *, quantity: str = "goodput") -> Axes:
    """For each flow of a run, the share of its intervals with at most a given value."""
    shown = find_series(quantity)
    curves = {}
    for number, flow in enumerate(result.series["flows"]):
        values = [value for value in shown.over_time(flow) if not math.isnan(value)]
        if values:
            curves[f"flow {flow['id']}"] = (values, look_of(number))
    if not curves:
        raise ConfigError(f"--y {quantity}: {why_no_series(result)}")
    draw_curves(ax, curves, shown)
    config = result.run["config"]
    ax.set_ylabel("share of time")
    ax.set_title(f"{result.run['topology']['description']}, {scheme_label(result.run)}", fontsize="medium", wrap=True)
    longest = max(len(values) for values, _ in curves.values())
    each = f"{longest} intervals of {result.series['interval_s']:g} s"
    ax.figure.supxlabel(f"{settings(config)}; {each}, seed {config['seed']}", fontsize="small")
    return ax


def check_panels(axes: Mapping[str, Sequence[Any]]) -> None:
    """Raise ConfigError if a comparison has more points than a figure of curves has panels."""
    count = len(list(product(*axes.values())))
    if count > MOST_PANELS:
        raise ConfigError(
            f"--cdf draws at most {MOST_PANELS} points, not {count}; `pacelab plot DIR --cdf --where A=B` draws one"
        )


def render_curves(comparison: Compared) -> dict[str, bytes]:
    """NAME-cdf.png and NAME-cdf.svg: one panel per point, one curve per scheme over the flows of all seeds."""
    from matplotlib.figure import Figure

    document = comparison.compare
    quantity = find_distributed(document.get("y") or "goodput")
    points = [dict(zip(comparison.axes, values, strict=True)) for values in product(*comparison.axes.values())]
    columns = min(len(list(comparison.axes.values())[-1]) if comparison.axes else 1, 4)
    rows = -(-len(points) // columns)
    figure = Figure(figsize=(1.5 + 4.0 * columns, 0.9 + 3.2 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    found = [_at(comparison, point, quantity) for point in points]
    for panel, point, curves in zip(panels.flat, points, found, strict=False):
        draw_curves(panel, curves, quantity, beside=found)
        panel.set(ylabel=f"share of {unit_of(quantity)}", title=show_point(point))
    counts = {len(values) for curves in found for values, _ in curves.values()} or {0}
    for panel in panels.flat[len(points) :]:
        panel.set_visible(False)
    for panel in panels.flat[max(0, len(points) - columns) : len(points)]:
        panel.tick_params(labelbottom=True)  # the panel below may be scrolled out of view
    share_legend(figure, list(panels.flat))
    config, axes = document["config"], tuple(comparison.axes)
    figure.suptitle(f"{network(config, without=axes)}: {settings(config, without=axes)}", fontsize="medium", wrap=True)
    figure.supxlabel(count_of(quantity, counts, document["seeds"]), fontsize="small")
    return images(figure, f"{quantity.short}-cdf", dpi=DPI)


def _at(comparison: Compared, point: Mapping[str, Any], quantity: Quantity) -> Curves:
    """The schemes' curves at one point."""
    runs = [run for run in comparison.compare["runs"] if run["point"] == point]
    values = {
        scheme: [
            value * quantity.scale
            for run in runs
            if run["scheme"] == scheme
            for value in run["flows"][quantity.name]
            if value is not None
        ]
        for scheme in comparison.compare["schemes"]
    }
    looks = styles_of(comparison.compare["schemes"])
    return {scheme: (known, looks[scheme]) for scheme, known in values.items() if known}


def unit_of(quantity: Quantity) -> str:
    """The unit that a curve counts."""
    return "calls" if quantity.of_calls else "flows"


def count_of(quantity: Quantity, counts: set[int], seeds: Sequence[int]) -> str:
    """The number of samples per curve, for a caption."""
    count = "-".join(map(str, sorted({min(counts), max(counts)})))
    span = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]}-{seeds[-1]}"
    return f"n = {count} {unit_of(quantity)} a curve, {span}"
