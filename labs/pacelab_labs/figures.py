"""Ready-made pictures of runs: bars per flow, time series, comparisons, calls beside TCP. Each comes with its text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pacelab.errors import ConfigError
from pacelab.figures.figures import add_legend, rise
from pacelab.figures.plots import caption, find_series, is_known, plot_goodput, plot_quantity, style_of, why_no_series
from pacelab.figures.tables import show_point
from pacelab.grid.comparison import Comparison
from pacelab.options import arguments
from pacelab.options.arguments import checked, coerce, instance_of, values_by_name
from pacelab.results.metrics import group_goodputs
from pacelab.results.quantities import Quantity, find_quantity
from pacelab.results.results import RunResult
from pacelab.schemes.scheme import OTHER
from pacelab_labs.picture import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes


KBPS = 1e-3
MOST_WITHIN, MOST_ABOVE = 4, 8
"""How many line names fit inside a panel, and how many above it. More names are placed beside the panel."""
LINES = ("-", "--", ":", "-.")
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7f7f7f", "#f0e442")
HATCHES = ("", "//", "..", "\\\\", "xx", "--", "oo", "++")
"""Okabe and Ito's palette, and a hatch for each colour."""


def runs_by_name(value: Any) -> dict[str, RunResult]:
    """Runs, each with its label."""
    if not isinstance(value, Mapping) or not value or not all(isinstance(one, RunResult) for one in value.values()):
        raise ValueError("runs by name, as {'newreno': run(...)}")
    return {str(name): result for name, result in value.items()}


def _run_or_runs(value: Any) -> Any:
    """A run, or several by name."""
    return value if isinstance(value, RunResult) else runs_by_name(value)


def _numbers_by_name(value: Any) -> dict[str, float]:
    """Finite numbers, each with its label."""
    if not isinstance(value, Mapping) or not value:
        raise ValueError("a number for each name, as {'newreno': 582.0}")
    return {str(name): arguments.number(one) for name, one in value.items()}


def _named_value(value: Any) -> tuple[str, float] | None:
    """A reference line: its label and value."""
    if value is None:
        return None
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise ValueError("a label and a number, as ('alone', 1681.0)")
    return str(value[0]), arguments.number(value[1])


@checked(values=_numbers_by_name, reference=_named_value)
def bars(
    values: Mapping[str, float], *, unit: str, reference: tuple[str, float] | None = None, looks: int = 8
) -> Picture:
    """A horizontal bar for each value; `reference` is a line to compare with, its label and value.

    Bar styles repeat after `looks` bars, so that the bars of one flow look alike.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 0.9 + 0.42 * len(values)), layout="constrained")
    draw_bars(figure.subplots(), values, unit=unit, reference=reference, looks=looks)
    listed = "; ".join(f"{name}: {show(value)}" for name, value in values.items())
    against = f" ({reference[0]}: {show(reference[1])})" if reference else ""
    return Picture(figure, f"{unit}: {listed}{against}")


_BACKING = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
"""Behind a number, so that the dashed line does not run through it."""


def draw_bars(
    ax: Axes,
    values: Mapping[str, float],
    *,
    unit: str,
    reference: tuple[str, float] | None = None,
    looks: int = 8,
) -> None:
    """Draw `bars` into the given axes."""
    numbers = list(values.values())
    low, top = min([*numbers, 0.0]), max([*numbers, reference[1] if reference else 0.0]) or 1.0
    step = 0.01 * (top - low)
    for place, (name, value) in enumerate(values.items()):
        number = place % looks % len(COLOURS)
        look: dict[str, Any] = {"color": COLOURS[number], "hatch": HATCHES[number]}
        ax.barh(place, value, height=0.7, edgecolor="black", linewidth=0.6, label=name, **look)
        aside, side = (step, "left") if value >= 0 else (-step, "right")
        ax.text(value + aside, place, show(value), ha=side, va="center", fontsize="small", bbox=_BACKING)
    ax.set_yticks(range(len(values)), list(values))
    ax.invert_yaxis()
    ax.set(xlabel=unit, xlim=(low - 12 * step if low else 0, top + 12 * step))
    if reference:
        ax.axvline(reference[1], color="black", linestyle="--", linewidth=1)
        ax.set_title(f"dashed: {reference[0]}", fontsize="small", loc="right")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def show(value: float) -> str:
    """A number as the text beside its bar: three digits, a whole number from 100 on."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


@checked(results=runs_by_name, reference=_named_value)
def flow_bars(results: Mapping[str, RunResult], *, reference: tuple[str, float] | None = None) -> Picture:
    """Goodput of several runs (label -> run) in kbit/s, flow by flow. The text adds each run's sum and Jain's index."""
    flows = max(len(result.run["flows"]) for result in results.values())
    values = {
        f"{label}: {_ends(result, number)}": result.run["flows"][number]["goodput_bps"] * KBPS
        for number in range(flows)
        for label, result in results.items()
        if number < len(result.run["flows"])
    }
    looks = len(results) if len(results) > 1 else flows
    drawn = bars(values, unit="goodput (kbit/s)", reference=reference, looks=looks)
    shared = [f"{label}: {told}" for label, result in results.items() if (told := _in_all(result))]
    drawn.text = "\n".join([drawn.text, *shared])
    return drawn


def _in_all(result: RunResult) -> str:
    """What the flows of a run have in all, and how evenly, in words; of one flow, calls aside, nothing."""
    if len(group_goodputs(result.run)) < 2:
        return ""
    jain = result.run["totals"]["jain"]
    return f"{show(result.goodput_bps * KBPS)} kbit/s in all" + ("" if jain is None else f", Jain's index {jain:.3f}")


@checked(results=_run_or_runs)
def series(results: RunResult | Mapping[str, RunResult], *quantities: str) -> Picture:
    """Time series of a run, or of several (name -> run) in one picture.

    One panel for each quantity: "goodput", "cwnd", "rtt". Schemes have their own look.
    """
    from matplotlib.figure import Figure

    quantities = quantities or ("goodput", "cwnd")
    named = {"": results} if isinstance(results, RunResult) else results
    lines = [(name, result, number) for name, result in named.items() for number in range(len(result.run["flows"]))]
    figure = Figure(figsize=(8.5, 0.6 + 1.9 * len(quantities)), layout="constrained")
    panels = figure.subplots(len(quantities), 1, squeeze=False, sharex=True)[:, 0]
    for ax, quantity in zip(panels, quantities, strict=True):
        shown = find_series(quantity)
        for place, (name, result, number) in enumerate(lines):
            values = shown.over_time(result.series["flows"][number])
            look = _look_of(name if len(lines) == len(named) else "", place)
            if len(lines) > len(named) > 1:  # then a flow has its colour, a run its line
                look |= {
                    "color": COLOURS[number % len(COLOURS)],
                    "linestyle": LINES[list(named).index(name) % len(LINES)],
                }
            label = _line_name(name, result, number)
            ax.plot(result.series["t_s"], values, markersize=4, linewidth=1.3, label=label, **look)
        if not any(is_known(shown.over_time(result.series["flows"][number])) for _, result, number in lines):
            ax.set(xticks=[], yticks=[])
            said = why_no_series(lines[0][1]).partition(": allowed")[0]
            ax.text(0.5, 0.5, f"nothing to draw: {said}", ha="center", va="center", transform=ax.transAxes)
        ax.set_ylabel(shown.label_of_one)
        rise(ax, *shown.limits)
        ax.grid(alpha=0.3)
    panels[-1].set_xlabel("time (s)")
    if len(lines) > MOST_ABOVE:
        add_legend(panels[0])
    elif len(lines) > MOST_WITHIN:
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, height + 0.4)
        panels[0].legend(fontsize="small", ncols=4, loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False)
    elif len(lines) > 1:
        panels[0].legend(fontsize="small", ncols=len(lines))
    return Picture(figure, "\n\n".join(f"{name}\n{describe(result)}".strip() for name, result in named.items()))


def _look_of(name: str, place: int) -> dict[str, Any]:
    """A scheme's own look, the same in each figure; another line's look is that of its place."""
    own = style_of(name)
    other = {"color": COLOURS[place % 8], "marker": "os^vDPX*"[place % 8], "linestyle": "-"}
    return other if own == OTHER else own._asdict()


def _line_name(name: str, result: RunResult, number: int) -> str:
    ends = _ends(result, number)
    return f"{name}, {ends}" if name and len(result.run["flows"]) > 1 else name or ends


def _ends(result: RunResult, number: int) -> str:
    """What a flow is called: by its ends, and by its number where another one has the same."""
    ends = [f"{flow['src']}→{flow['dst']}" for flow in result.run["flows"]]
    alone = ends.count(ends[number]) == 1
    return ends[number] if alone else f"{ends[number]}, flow {result.run['flows'][number]['id']}"


def describe(result: RunResult) -> str:
    """Goodput, window and round trip of each flow, and what was lost, in words."""
    lines = []
    for number, flow in enumerate(result.run["flows"]):
        text = f"{_ends(result, number)}: {flow['goodput_bps'] * KBPS:.0f} kbit/s"
        if flow["cwnd_mean_pkts"] is not None:
            text += f", mean window {flow['cwnd_mean_pkts']:.1f} packets"
        if flow["rtt_mean_s"] is not None:
            text += f", round trip {flow['rtt_mean_s'] * 1000:.0f} ms"
        if flow["kind"] == "tcp":
            text += (
                f", {flow['retransmitted_pkts']} sent again, {flow['timeouts']} timeout{'s' * (flow['timeouts'] != 1)}"
            )
        lines.append(text)
    lines += filter(None, [_in_all(result)])
    lines.append(lost(result))
    return "\n".join(lines)


def lost(result: RunResult) -> str:
    """Packets lost, by cause. What the MAC gives up AODV repairs or drops: its drops have them."""
    drops = result.run["drops"]
    if result.run["aodv"] is not None:
        drops = {name: number for name, number in drops.items() if name not in ("mac-rts", "mac-data")}
    causes = {
        "mac-rts": "no CTS after all attempts",
        "mac-data": "no ACK after all attempts",
        "queue": "queue full",
        "link-failure": "dropped by AODV",
    }
    told = {name: causes.get(name, name.replace("hook:", "dropped by the scheme: ")) for name in drops}
    found = [f"{number} {told[name]}" for name, number in drops.items() if number]
    return "Packets lost: " + (", ".join(found) if found else "none")


def comparison(result: Comparison, *points: Mapping[str, Any], y: str | None = None) -> Picture:
    """A comparison, one panel for each of `points` (values of the options that do not run along the x axis).

    Of goodput, or of the quantity `y`.
    """
    from matplotlib.figure import Figure

    chosen = [coerce("comparison: point", arguments.values_by_name, point) for point in points] or [{}]
    figure = Figure(figsize=(0.8 + 5.2 * len(chosen), 4.0), layout="constrained")
    panels = figure.subplots(1, len(chosen), squeeze=False, sharey=True)[0]
    shown, plot, key, quantity = result, plot_goodput, "goodput_bps", find_quantity(y or "goodput")
    if y is not None:
        shown, plot, key = result.with_quantity(y), plot_quantity, "y"
    for ax, point in zip(panels, chosen, strict=True):
        plot(shown, ax, point=point)
    figure.supxlabel(caption(shown), fontsize="small")
    lines = [f"{show_point(row['point'])} {row['scheme']}: {_told(row[key], quantity)}" for row in shown.rows]
    unit = f" in {quantity.unit}" if quantity.unit else ""
    return Picture(figure, f"{quantity.title[0].upper()}{quantity.title[1:]}{unit}. {'; '.join(lines)}")


def _told(found: Mapping[str, Any] | None, quantity: Quantity) -> str:
    """Mean and half width, as shown."""
    if found is None:
        return "none"
    mean, half = show(found["mean"] * quantity.scale), found["half_width"]
    return mean if half is None else f"{mean} ± {show(half * quantity.scale)}"


def _line(value: Any) -> list[float]:
    """Numbers in a row, in which one may be missing: NaN."""
    found = _marks(value)
    if not found:
        raise ValueError(_NUMBERS)
    return found


def _marks(value: Any) -> list[float]:
    """Numbers, or none."""
    found = arguments.held(value)
    if found is None or not all(isinstance(one, int | float) for one in found):
        raise ValueError(_NUMBERS)
    return list(found)


_NUMBERS = "a list of numbers, as [1, 2, 4]"


@checked(x=_line, lines=values_by_name, marks=_marks)
def curves(
    x: Sequence[float], lines: Mapping[str, Sequence[float]], *, xlabel: str, ylabel: str, marks: Sequence[float] = ()
) -> Picture:
    """Lines over common x values, each with its marker; `marks` are dotted verticals. Schemes have their own look."""
    from matplotlib.figure import Figure

    lines = {name: coerce(f"curves: line {name!r}", _line, values) for name, values in lines.items()}
    for name, values in lines.items():
        if len(values) != len(x):
            raise ConfigError(
                f"curves: line {name!r} must have one value for each of the {len(x)} x values, not {len(values)}"
            )
    figure = Figure(figsize=(7.5, 4.0), layout="constrained")
    ax = figure.subplots()
    for place, (name, values) in enumerate(lines.items()):
        ax.plot(x, values, label=name, markersize=5, linewidth=1.4, **_look_of(name, place))
    for mark in marks:
        ax.axvline(mark, color="black", linestyle=":", linewidth=1)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    if not any(value < 0 for values in lines.values() for value in values):
        rise(ax)
    _scale_x(ax, x)
    ax.grid(alpha=0.3)
    ax.legend(fontsize="small")
    top = max((abs(value) for values in lines.values() for value in values if not math.isnan(value)), default=0.0)
    listed = "; ".join(
        f"{name}: "
        + ", ".join(
            f"{'unknown' if math.isnan(value) else show(0.0 if abs(value) < top * NOTHING else value)} at {at:g}"
            for at, value in zip(x, values, strict=True)
        )
        for name, values in lines.items()
    )
    return Picture(figure, f"{ylabel} against {xlabel}. {listed}", folded=True)


NOTHING = 1e-3
"""The text shows values below this share of the figure's largest value as 0. They are also invisible in the picture."""
WIDE = 16
"""The x axis is logarithmic if its largest value is at least this many times the smallest and the steps grow."""
MOST_LETTERS = 72
"""Beneath an x axis, with a space after each value."""


def _scale_x(ax: Axes, x: Sequence[float]) -> None:
    """A tick at each point where there is room, else whole numbers; windows of 1 to 32 packets logarithmic."""
    from matplotlib.ticker import MaxNLocator, NullLocator

    names = [f"{value:g}" for value in x]
    letters = 1 + max(map(len, names))
    if min(x) > 0 and max(x) >= WIDE * min(x) and x[-1] - x[-2] > x[1] - x[0]:
        ax.set_xscale("log", base=2)
        ax.set_xticks(x, names)
        ax.xaxis.set_minor_locator(NullLocator())
    elif all(after - before >= (max(x) - min(x)) * letters / MOST_LETTERS for before, after in pairwise(x)):
        ax.set_xticks(x, names)
    elif all(float(value).is_integer() for value in x):
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))


# Calls beside TCP: quality against goodput, and both over time.

GOOD_MOS = 3.6
MARKERS = "os^vDPX*"


@checked(results=runs_by_name)
def call_picture(results: Mapping[str, RunResult]) -> Picture:
    """MOS of each call and TCP's goodput, for several runs: label -> run."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 1.3 + 0.5 * len(results)), layout="constrained")
    left, right = figure.subplots(1, 2)
    texts = []
    for place, (label, result) in enumerate(results.items()):
        found = _mos(result)
        look: dict[str, Any] = {"color": COLOURS[place % 8], "hatch": HATCHES[place % 8]}
        left.barh(place, max(0.0, min(found, default=1.0) - 1), left=1, height=0.6, edgecolor="black", **look)
        left.plot(found, [place] * len(found), "k|", markersize=11)
        texts.append(f"{label}: {_quality(found)}, TCP {_tcp_kbps(result):.0f} kbit/s")
    left.axvline(GOOD_MOS, color="black", linestyle="--", linewidth=1)
    left.set_yticks(range(len(results)), list(results))
    left.invert_yaxis()
    left.set(xlabel="MOS: bar worst call, ticks each call", xlim=(1, 4.5))
    left.set_title("dashed: 3.6, good", fontsize="small", loc="right")
    draw_bars(right, {label: _tcp_kbps(result) for label, result in results.items()}, unit="TCP goodput (kbit/s)")
    right.set_yticks([])
    return Picture(figure, "\n".join(texts))


@checked(result=instance_of(RunResult))
def call_series(result: RunResult) -> Picture:
    """Over time: the mean MOS of the calls, and TCP's goodput in all."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.5, 4.2), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    times = result.series["t_s"]
    kinds = {flow["id"]: flow["kind"] for flow in result.run["flows"]}
    calls = [flow for flow in result.series["flows"] if kinds[flow["id"]] == "voice"]
    tcp = [flow for flow in result.series["flows"] if kinds[flow["id"]] != "voice"]
    for number, flow in enumerate(calls):
        values = [float("nan") if mos is None else mos for mos in flow["mos"]]
        above.plot(times, values, color="0.6", linewidth=0.7, label="each direction of a call" if not number else None)
    means = [_mean([flow["mos"][i] for flow in calls if flow["mos"][i] is not None]) for i in range(len(times))]
    above.plot(times, means, color=COLOURS[0], marker="o", markersize=3, label="mean")
    above.axhline(GOOD_MOS, color="black", linestyle="--", linewidth=1)
    above.set(ylabel="MOS (dashed: 3.6)", ylim=(1, 4.5))
    above.legend(fontsize="small", loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False)
    total = [sum(flow["goodput_bps"][i] or 0 for flow in tcp) * KBPS for i in range(len(times))]
    below.plot(times, total, color=COLOURS[1], marker="s", markersize=3)
    below.set(xlabel="time (s)", ylabel="TCP goodput, all (kbit/s)")
    rise(below)
    for ax in (above, below):
        ax.grid(alpha=0.3)
    return Picture(figure, f"{_quality(_mos(result), 'good (3.6)')}; TCP {_tcp_kbps(result):.0f} kbit/s in all")


def _quality(found: list[float], good: str = "good") -> str:
    """How many of these calls are good, and the worst, in words."""
    if not found:
        return "no calls"
    return f"{len([mos for mos in found if mos >= GOOD_MOS])} of {len(found)} calls {good}, worst {min(found):.2f}"


def _mos(result: RunResult) -> list[float]:
    return [call["mos"] for call in result.run.get("calls") or [] if call["mos"] is not None]


def _tcp_kbps(result: RunResult) -> float:
    return result.goodput_bps * KBPS


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else float("nan")
