"""Figures: `plot_x(result, ax=None) -> Axes`. Each scheme has one colour, marker and line style in every figure.

Colour alone carries no meaning: markers and line styles differ as well. Axes have units. Captions give n, seeds and
interval. Figures of one result have the same bytes each time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, cast

from pacelab.errors import ConfigError
from pacelab.figures.chart import Line, Mark, Panel, Rule, Scale, Text, around, from_zero, linear, names_along, powers
from pacelab.figures.figures import DPI, MOST_SLOPING, SLOPING, UPRIGHT, apart, images, share_legend, short, spread
from pacelab.figures.in_matplotlib import draw_panel, new_axes
from pacelab.figures.tables import Compared, baseline_of, network, settings, show_name, show_point, show_value
from pacelab.options.arguments import axes, checked, instance_of, optional, values_by_name
from pacelab.options.settings import BY_FIELD
from pacelab.options.voice import ACCEPTABLE_MOS
from pacelab.results.grid_types import CompareRow, Estimated, Point
from pacelab.results.quantities import QUANTITIES, Quantity, find_quantity
from pacelab.results.results import RunResult, scheme_label
from pacelab.results.types import Walked
from pacelab.schemes import SCHEMES
from pacelab.schemes.style import OTHER, OTHERS, Style, look_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


NO_HANDOVERS: Walked = {"handovers": []}
LOG_RATIO = 5.0
"""Goodput has a logarithmic axis if the ratio of the largest to the smallest mean is at least this."""

LEAST_GAIN = 1.0
"""Minimum range of an axis of gains in per cent, either way: equal schemes look equal despite rounding errors."""
MARKS = 10
"""Number of markers along a line: enough to distinguish it from another line of the same colour."""
LETTERS = 40
"""How many digits fit along the axis of one panel."""
UNITS = {
    "_bps": "Mbit/s",
    "_bytes": "bytes",
    "_pkts": "packets",
    "_ns": "us",
    "_s": "s",
    "_mhz": "MHz",
    "_ghz": "GHz",
}
"""End of an option's field -> the unit on the command line, in which axes show the option's values."""
KBPS = 1e-3
GREY = "#7f7f7f"


def _compared(value: Any) -> Compared:
    """Cast to a comparison. This layer cannot import the class itself (see `tables.Compared`)."""
    if not hasattr(value, "compare"):
        raise ValueError("what pacelab.compare gives")
    return cast("Compared", value)


def style_of(scheme: str) -> Style:
    """The fixed style of a scheme."""
    return SCHEMES[scheme].style if scheme in SCHEMES else OTHER


def styles_of(names: Sequence[str]) -> dict[str, Style]:
    """Styles of the schemes in one figure. Congestion controls and others without a fixed style get distinct ones."""
    without = [name for name in names if style_of(name) == OTHER]
    return {name: look_of(without.index(name), OTHERS) if name in without else style_of(name) for name in names}


def find_series(given: str) -> Quantity:
    """The quantity of this name. Raises ConfigError if it has no series."""
    quantity = find_quantity(given)
    if quantity.series is None:
        allowed = ", ".join(one.short for one in QUANTITIES if one.series)
        raise ConfigError(f"--y {given} has no time series; use one of {allowed}")
    return quantity


def why_no_series(result: RunResult) -> str:
    """Why no flow of a run has the requested time series."""
    series = result.series
    if not series["t_s"]:
        return f"this run is shorter than one interval of its time series, {series['interval_s']:g} s"
    known = [one.short for one in QUANTITIES if one.series and any(is_known(one.over_time(f)) for f in series["flows"])]
    return f"no flow of this run has it; use one of {', '.join(known)}"


def is_known(values: Iterable[float]) -> bool:
    """Whether at least one value is known."""
    return not all(map(math.isnan, values))


@checked(result=instance_of(RunResult), ax=optional(axes))
def plot_series(result: RunResult, ax: Axes | None = None, *, quantity: str = "goodput") -> Axes:
    """Plot a run's time series, one line per flow: goodput, cwnd or rtt, or for calls mos or delay."""
    panel = series_panel(result, quantity)
    ax = draw_panel(ax or new_axes(7, 4), panel)
    config = result.run["config"]
    grey = f"; grey: {ACCEPTABLE_MOS}, acceptable" if find_series(quantity).series == "mos" else ""
    _caption(ax, f"{settings(config)}; n = 1, seed {config['seed']}, no interval{grey}")
    return ax


def series_panel(result: RunResult, quantity: str) -> Panel:
    """A run's time series as a panel, one line per flow that has it."""
    shown = find_series(quantity)
    flows = [flow for flow in result.series["flows"] if is_known(shown.over_time(flow))]
    if not flows:
        raise ConfigError(f"--y {quantity}: {why_no_series(result)}")
    times = tuple(result.series["t_s"])
    marks: list[Mark] = []
    for number, flow in enumerate(flows):
        values = tuple(shown.over_time(flow))
        look = look_of(number)._asdict()
        every = max(1, len(values) // MARKS)
        name = f"flow {flow['id']}" if len(flows) > 1 else ""
        marks.append(
            Line(
                x=times,
                y=values,
                name=name,
                color=look["color"],
                marker=look["marker"],
                line=look["linestyle"],
                size=4,
                width=1.5,
                every=every,
            )
        )
    low, high = from_zero((value for mark in marks if isinstance(mark, Line) for value in mark.y), *shown.limits)
    if shown.series == "mos":
        marks.append(Rule(at=ACCEPTABLE_MOS, vertical=False, color=GREY, line="-", width=0.8, about="acceptable"))
    for handover in result.host.get("controller", NO_HANDOVERS)["handovers"]:
        text = f" {handover['station']}: {handover['from']} to {handover['to']}"
        at = handover["at_s"]
        marks.append(Rule(at=at, color=GREY, line=":"))
        marks.append(Text(x=at, y=low + 0.04 * (high - low), text=text, place="start", size=8.3))
    return Panel(
        x=linear(*around(times), "time (s)"),
        y=linear(low, high, shown.label_of_one),
        marks=tuple(marks),
        title=f"{result.run['topology']['description']}, {scheme_label(result.run)}",
    )


@checked(comparison=_compared, ax=optional(axes), point=optional(values_by_name))
def plot_goodput(comparison: Compared, ax: Axes | None = None, *, point: Point | None = None) -> Axes:
    """Plot mean goodput with its interval against the first numeric option that varies (hops, if it does).

    `point` selects values of the other varying options, for example `{"direction": "up"}`; the default is their first.
    """
    return _plot(goodput_panel, comparison, ax, point)


def plot_gain(comparison: Compared, ax: Axes | None = None, *, point: Point | None = None) -> Axes:
    """Plot the gain over the baseline in per cent, with its interval, in the form of `plot_goodput`."""
    return _plot(gain_panel, comparison, ax, point)


def plot_quantity(comparison: Compared, ax: Axes | None = None, *, point: Point | None = None) -> Axes:
    """Plot means of the quantity that the comparison was asked for (`Comparison.with_quantity`)."""
    return _plot(quantity_panel, comparison, ax, point)


def plot_difference(comparison: Compared, ax: Axes | None = None, *, point: Point | None = None) -> Axes:
    """Plot that quantity of each scheme minus the first scheme's, seed by seed, with the interval of the difference."""
    return _plot(difference_panel, comparison, ax, point)


def _plot(
    make: Callable[[Compared, Mapping[str, Any] | None], Panel],
    comparison: Compared,
    given: Axes | None,
    point: Mapping[str, Any] | None,
) -> Axes:
    """Draw the panel in the given axes. A new figure has a caption."""
    check_point(comparison, point or {})
    panel = make(comparison, point)
    ax = draw_panel(given or new_axes(7, 4), panel)
    if given is None:
        ax.figure.supxlabel(caption(comparison), fontsize="small")
    return ax


Estimate = tuple[float, float]
"""Mean and half width, in the displayed unit."""


def goodput_panel(comparison: Compared, point: Mapping[str, Any] | None = None) -> Panel:
    """The content of `plot_goodput`: from zero, or logarithmic if one hop would flatten all others."""
    found = [_scaled(row["goodput_bps"], KBPS) for row in comparison.rows]
    means, top, label = [mean for mean, _ in found], _top(found), "goodput (kbit/s)"
    if min(means) <= 0 or max(means) < LOG_RATIO * min(means):
        y = linear(0.0, top or 1.0, label)
    else:
        y = powers(min(means) / 1.5, max(max(means) * 1.3, top or 0.0), label)
    return _panel(comparison, point, lambda row: _scaled(row["goodput_bps"], KBPS), y)


def gain_panel(comparison: Compared, point: Mapping[str, Any] | None = None) -> Panel:
    """The content of `plot_gain`."""
    baseline = baseline_of(comparison.compare["schemes"])
    found = [_gain(row) for row in comparison.rows if row["scheme"] != baseline]
    label = f"gain over {baseline} (%)"
    if all(abs(part) < LEAST_GAIN / 2 for both in found for part in both if not math.isnan(part)):
        y = linear(-LEAST_GAIN, LEAST_GAIN, label)
    else:
        y = linear(*_both_ways(found), label)
    return _panel(comparison, point, _gain, y, without=baseline)


def quantity_panel(comparison: Compared, point: Mapping[str, Any] | None = None) -> Panel:
    """The content of `plot_quantity`."""
    quantity = find_quantity(comparison.compare["y"])
    low, high = quantity.limits
    top = _top(_scaled(row["y"], quantity.scale) for row in comparison.rows)
    y = linear(low, max(high or 0.0, top or 0.0) or low + 1.0, quantity.label)
    return _panel(comparison, point, lambda row: _scaled(row["y"], quantity.scale), y)


def difference_panel(comparison: Compared, point: Mapping[str, Any] | None = None) -> Panel:
    """The content of `plot_difference`."""
    quantity, first = find_quantity(comparison.compare["y"]), comparison.compare["schemes"][0]
    found = [_scaled(row["difference"], quantity.scale) for row in comparison.rows if row["scheme"] != first]
    label = f"{quantity.short} minus {first}'s" + (f" ({quantity.unit})" if quantity.unit else "")
    y = linear(*_both_ways(found), label)
    return _panel(comparison, point, lambda row: _scaled(row["difference"], quantity.scale), y, without=first)


def _both_ways(found: Iterable[Estimate]) -> tuple[float, float]:
    """Limits of all panels of a comparison that contain zero and the intervals."""
    return around([0.0, *(mean + way * half for mean, half in found for way in (1, -1))])


def _line(
    comparison: Compared, scheme: str, place: tuple[int, int], point: Mapping[str, Any] | None
) -> tuple[list[float], list[CompareRow]]:
    """A scheme's rows at this point, with their x values. `place`: the scheme's index and the number of schemes."""
    axis, fixed = x_axis(comparison), _fixed(comparison, point)
    rows = [row for row in comparison.rows if row["scheme"] == scheme and _matches(row["point"], fixed)]
    if axis is None:
        return [place[0]] * len(rows), rows
    values = comparison.axes[axis]
    spots = dict(zip(values, spread(values, *place), strict=True))
    return [spots[row["point"][axis]] for row in rows], rows


def _panel(
    comparison: Compared,
    point: Mapping[str, Any] | None,
    read: Callable[[CompareRow], Estimate],
    y: Scale,
    *,
    without: str | None = None,
) -> Panel:
    """One line for each scheme except one. `read` gives mean and half width of a row."""
    axis = x_axis(comparison)
    looks = styles_of(comparison.compare["schemes"])
    schemes = [scheme for scheme in looks if scheme != without]
    marks: list[Mark] = [] if without is None else [Rule(at=0.0, vertical=False, color=GREY, line="-", width=0.8)]
    known = not schemes
    for place, scheme in enumerate(schemes):
        spots, rows = _line(comparison, scheme, (place, len(schemes)), point)
        means, halves = zip(*map(read, rows), strict=True)
        known |= is_known(means)
        color, marker, line = looks[scheme]
        told = tuple(f"{axis_label(axis)} {show_value(axis, row['point'][axis])}" for row in rows) if axis else ()
        marks.append(
            Line(
                x=tuple(spots),
                y=means,
                halves=halves,
                name=short(scheme),
                color=color,
                marker=marker,
                line=line,
                told=told,
            )
        )
    if not known:
        said = "no run has a value"
        # Above the middle, where differences and gains have the line of zero.
        height = math.sqrt(y.low * y.high) if y.log else y.low + 0.6 * (y.high - y.low)
        marks.append(
            Text(x=(len(schemes) - 1) / 2 if axis is None else _middle(comparison.axes[axis]), y=height, text=said)
        )
    return Panel(
        x=_x_scale(comparison, schemes),
        y=replace(y, grid=True),
        marks=tuple(marks),
        title=show_point(_fixed(comparison, point)),
        legend="none" if axis is None else "inside",
    )


def _middle(values: Sequence[float]) -> float:
    return (min(values) + max(values)) / 2


def _x_scale(comparison: Compared, schemes: Sequence[str]) -> Scale:
    """The option along the x axis, or the names of the schemes."""
    axis = x_axis(comparison)
    if axis is None:
        slope = SLOPING if len(schemes) <= MOST_SLOPING else UPRIGHT
        return Scale(label=axis_label(axis), slope=slope, **names_along([short(scheme) for scheme in schemes]))
    values = comparison.axes[axis]
    places = [spot for place in (0, len(schemes) - 1) for spot in spread(values, place, len(schemes))]
    found = linear(*around(places), axis_label(axis), grid=True)
    if all(isinstance(value, int) for value in values):
        texts = [show_value(axis, value) for value in values]
        return replace(found, ticks=tuple(apart(values, texts, letters=LETTERS)))
    return found


def check_point(comparison: Compared, point: Mapping[str, Any]) -> None:
    """Raise ConfigError for a point that no row has."""
    for name, value in point.items():
        if name not in comparison.axes:
            varying = ", ".join(comparison.axes) or "none does"
            raise ConfigError(f"point must be an option that varies ({varying}), not {name!r}")
        if value not in comparison.axes[name]:
            known = ", ".join(map(repr, comparison.axes[name]))
            raise ConfigError(f"point {name!r} must be one of {known}, not {value!r}")


def _scaled(value: Estimated | None, scale: float) -> Estimate:
    """Mean and half width of an estimate in the displayed unit; NaN without an estimate."""
    return (math.nan, 0.0) if value is None else (value["mean"] * scale, (value["half_width"] or 0.0) * scale)


def _gain(row: CompareRow) -> Estimate:
    return math.nan if row["gain"] is None else row["gain"] * 100, (row["gain_half_width"] or 0.0) * 100


def _fixed(comparison: Compared, point: Mapping[str, Any] | None) -> Point:
    axis = x_axis(comparison)
    return {name: values[0] for name, values in comparison.axes.items() if name != axis} | dict(point or {})


def _top(found: Iterable[tuple[float, float]]) -> float | None:
    """Upper end of the y axis of all panels, from means and half widths; None if no value is above zero."""
    return 1.05 * max((mean + half for mean, half in found if not math.isnan(mean)), default=0.0) or None


def x_axis(comparison: Compared) -> str | None:
    """The option on the x axis: hops if it varies, else the first numeric one, else None."""
    numeric = [
        name
        for name, values in comparison.axes.items()
        if len(values) > 1 and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    ]
    return "hops" if "hops" in numeric else numeric[0] if numeric else None


def render_comparison(comparison: Compared) -> dict[str, bytes]:
    """NAME.png and NAME.svg: one panel for each combination of the other varying options.

    NAME is goodput, with panels of the schemes' gains over the baseline; or the quantity that the comparison was asked
    for (`Comparison.with_quantity`), with panels of the schemes' differences from the first one.
    """
    from matplotlib.figure import Figure

    axis, schemes = x_axis(comparison), comparison.compare["schemes"]
    others = {name: values for name, values in comparison.axes.items() if name != axis}
    points = [dict(zip(others, values, strict=True)) for values in product(*others.values())]
    columns = len(list(others.values())[-1]) if others else 1
    rows = -(-len(points) // columns)
    asked = comparison.compare.get("y")
    name = find_quantity(asked).short if asked else "goodput"
    plots = [plot_quantity, plot_difference] if asked else [plot_goodput, plot_gain]
    if len(schemes) < 2:
        del plots[1]
    width = 3.3 * 2 * columns if len(plots) > 1 else 4.5 * columns
    figure = Figure(figsize=(1.5 + width, 0.7 + 3.2 * rows), layout="constrained")
    drawn: list[Axes] = []
    for part, plot in zip(figure.subfigures(1, len(plots), squeeze=False)[0], plots, strict=True):
        panels = part.subplots(rows, columns, squeeze=False, sharey=True)
        for panel, point in zip(panels.flat, points, strict=True):
            drawn.append(plot(comparison, panel, point=point))
    if axis is not None:
        share_legend(figure, drawn)
    config, axes = comparison.compare["config"], tuple(comparison.axes)
    figure.suptitle(f"{network(config, without=axes)}: {settings(config, without=axes)}", fontsize="medium", wrap=True)
    figure.supxlabel(caption(comparison), fontsize="small")
    return images(figure, name, dpi=DPI)


def caption(comparison: Compared) -> str:
    """The caption for intervals: n, seeds, level."""
    document = comparison.compare
    estimates = [row["y" if document.get("y") else "goodput_bps"] for row in comparison.rows]
    samples = sorted({len(one["samples"]) if one else 0 for one in estimates})
    counts = "-".join(map(str, sorted({samples[0], samples[-1]})))
    seeds = document["seeds"]
    span = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]}-{seeds[-1]}"
    length = "" if document["config"]["stop_after_pkts"] else f" of {document['config']['duration_s']:g} s"
    interval = document["interval"]
    over = "seeds" if document.get("y") else interval["over"]
    text = f"n = {counts} {'seed' if (counts, over) == ('1', 'seeds') else over}{length}, {span}"
    return text + (f"; bars: {interval['level']:.0%} t intervals" if samples[-1] > 1 else "; no interval")


def _matches(point: Point, fixed: Point) -> bool:
    return all(point[name] == value for name, value in fixed.items())


def axis_label(name: str | None) -> str:
    """The label of an option's axis, with its unit."""
    labels = {
        None: "scheme",
        "hops": "wireless hops",
        "stations": "senders",
        "spacing": "spacing (m)",
        "rate_bps": "802.11 data rate (Mbit/s)",
        "window_pkts": "window (packets)",
        "payload_bytes": "payload (bytes)",
        "min_rto_s": "least RTO (s)",
    }
    if name in labels or name not in BY_FIELD:
        return labels.get(name, name or "")
    unit = next((unit for end, unit in UNITS.items() if name.endswith(end)), None)
    return show_name(name) + (f" ({unit})" if unit else "")


def _caption(ax: Axes, text: str) -> None:
    ax.annotate(text, (0.0, -0.22), xycoords="axes fraction", fontsize="small", annotation_clip=False)
