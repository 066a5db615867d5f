"""Standard figures of runs: bars per flow, time series, comparisons, calls beside TCP. Each has a text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from pacelab.errors import ConfigError
from pacelab.figures.chart import (
    Bar,
    Chart,
    Line,
    Mark,
    Panel,
    Rule,
    Scale,
    Text,
    around,
    from_zero,
    linear,
    names_along,
)
from pacelab.figures.plots import (
    caption,
    check_point,
    find_series,
    goodput_panel,
    is_known,
    quantity_panel,
    style_of,
    why_no_series,
)
from pacelab.figures.tables import show_point
from pacelab.grid.comparison import Comparison
from pacelab.options import arguments
from pacelab.options.arguments import NUMBER, checked, coerce, instance_of, taken, values_by_name
from pacelab.results.metrics import group_goodputs
from pacelab.results.quantities import Quantity, find_quantity
from pacelab.results.results import RunResult
from pacelab.schemes.style import OTHER
from pacelab_labs.picture import Picture

KBPS = 1e-3
MOST_WITHIN, MOST_ABOVE = 4, 8
"""How many line names fit inside a panel, and how many above it. More names are placed beside the panel."""
ROW_IN = 0.4
"""Height of the names above a panel, inches."""
MARKERS = "os^vDPX*"
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
    """Finite numbers, each with a label."""
    if not isinstance(value, Mapping) or not value:
        raise ValueError("a number for each name, as {'newreno': 582.0}")
    return {str(name): taken(NUMBER, one) for name, one in value.items()}


def _named_value(value: Any) -> tuple[str, float] | None:
    """A reference line: its label and value."""
    if value is None:
        return None
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise ValueError("a label and a number, as ('alone', 1681.0)")
    return str(value[0]), taken(NUMBER, value[1])


@checked(values=_numbers_by_name, reference=_named_value)
def bars(
    values: Mapping[str, float], *, unit: str, reference: tuple[str, float] | None = None, looks: int = 8
) -> Picture:
    """A horizontal bar for each value; `reference` is the label and value of a line to compare with.

    Bar styles repeat after `looks` bars.
    """
    return _bars(bars_panel(values, unit=unit, reference=reference, looks=looks), values, unit, reference)


def _bars(panel: Panel, values: Mapping[str, float], unit: str, reference: tuple[str, float] | None) -> Picture:
    """The picture of a panel of bars."""
    chart = Chart(panels=(panel,), width=7.5, height=0.9 + min(BAR_IN * len(values), MOST_BARS_IN))
    listed = "; ".join(f"{name}: {show(value)}" for name, value in values.items())
    against = f" ({reference[0]}: {show(reference[1])})" if reference else ""
    return Picture(chart, f"{unit}: {listed}{against}")


BAR_IN, MOST_BARS_IN = 0.42, 4.0
"""Height for a bar, and for all bars: a figure and its controls fit a screen of 1280 x 720 pixels."""
GROUP_GAP = 0.4
"""Distance of the groups of bars, as a multiple of a bar's."""


def bars_panel(
    values: Mapping[str, float],
    *,
    unit: str,
    reference: tuple[str, float] | None = None,
    looks: int = 8,
    grouped: bool = False,
) -> Panel:
    """The panel of `bars`. `grouped`: a gap after each `looks` bars."""
    numbers = list(values.values())
    low, top = min([*numbers, 0.0]), max([*numbers, reference[1] if reference else 0.0]) or 1.0
    step = 0.01 * (top - low)
    marks: list[Mark] = []
    if reference:
        marks.append(Rule(at=reference[1], about=f"{reference[0]}: {show(reference[1])}"))
    places = [place + (GROUP_GAP * (place // looks) if grouped else 0.0) for place in range(len(values))]
    for number, (name, value) in enumerate(values.items()):
        look = number % looks % len(COLOURS)
        marks.append(
            Bar(
                at=places[number],
                low=0.0,
                high=value,
                name=name,
                text=show(value),
                color=COLOURS[look],
                hatch=HATCHES[look],
            )
        )
    return Panel(
        x=linear(low - 12 * step if low else 0.0, top + 12 * step, unit),
        y=Scale(low=places[-1] + 0.5, high=-0.5, ticks=tuple(zip(places, values, strict=True))),
        marks=tuple(marks),
        note=f"dashed: {reference[0]}" if reference else "",
    )


def show(value: float) -> str:
    """A number as shown beside its bar: three digits, or a whole number from 100 on."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


@checked(results=runs_by_name, reference=_named_value)
def flow_bars(results: Mapping[str, RunResult], *, reference: tuple[str, float] | None = None) -> Picture:
    """Goodput of several runs (label -> run) in kbit/s, per flow. The text adds each run's sum and Jain's index."""
    flows = max(len(result.run["flows"]) for result in results.values())
    values = {
        f"{label}: {_ends(result, number)}": result.run["flows"][number]["goodput_bps"] * KBPS
        for number in range(flows)
        for label, result in results.items()
        if number < len(result.run["flows"])
    }
    unit = "goodput (kbit/s)"
    looks = len(results) if len(results) > 1 else flows
    grouped = len(results) > 1 and len(values) == flows * looks
    panel = bars_panel(values, unit=unit, reference=reference, looks=looks, grouped=grouped)
    drawn = _bars(panel, values, unit, reference)
    shared = [f"{label}: {told}" for label, result in results.items() if (told := _in_all(result))]
    drawn.text = "\n".join([drawn.text, *shared])
    return drawn


def _in_all(result: RunResult) -> str:
    """The total of a run's flows and Jain's index, as text; empty for a single flow (calls do not count)."""
    if len(group_goodputs(result.run)) < 2:
        return ""
    jain = result.run["totals"]["jain"]
    return f"{show(result.goodput_bps * KBPS)} kbit/s in all" + ("" if jain is None else f", Jain's index {jain:.3f}")


@checked(results=_run_or_runs)
def series(results: RunResult | Mapping[str, RunResult], *quantities: str) -> Picture:
    """Time series of a run, or of several (name -> run) in one picture.

    One panel for each quantity: "goodput", "cwnd", "rtt". Schemes have a fixed style.
    """
    quantities = quantities or ("goodput", "cwnd")
    named = {"": results} if isinstance(results, RunResult) else results
    count = sum(len(result.run["flows"]) for result in named.values())
    panels = [_series_panel(named, find_series(quantity)) for quantity in quantities]
    for place, panel in enumerate(panels):
        within = "inside" if count <= MOST_WITHIN or count > MOST_ABOVE else "above"
        panels[place] = replace(panel, legend="none" if place else within)
    panels[-1] = replace(panels[-1], x=replace(panels[-1].x, label="time (s)"))
    above = ROW_IN if MOST_WITHIN < count <= MOST_ABOVE else 0.0
    chart = Chart(panels=tuple(panels), width=8.5, height=0.6 + 1.9 * len(quantities) + above)
    return Picture(chart, "\n\n".join(f"{name}\n{describe(result)}".strip() for name, result in named.items()))


def _series_panel(named: Mapping[str, RunResult], shown: Quantity) -> Panel:
    """One quantity, for all flows of all runs."""
    lines = [(name, result, number) for name, result in named.items() for number in range(len(result.run["flows"]))]
    marks: list[Mark] = []
    for place, (name, result, number) in enumerate(lines):
        look = _look_of(name if len(lines) == len(named) else "", place)
        if len(lines) > len(named) > 1:  # the colour shows the flow, the line style the run
            line = LINES[list(named).index(name) % len(LINES)]
            look |= {"color": COLOURS[number % len(COLOURS)], "line": line}
        values = tuple(shown.over_time(result.series["flows"][number]))
        label = _line_name(name, result, number) if len(lines) > 1 else ""
        marks.append(Line(x=tuple(result.series["t_s"]), y=values, name=label, size=4, width=1.3, **look))
    drawn = [mark for mark in marks if isinstance(mark, Line)]
    times = linear(*around(time for mark in drawn for time in mark.x), grid=True)
    limits = from_zero((value for mark in drawn for value in mark.y), *shown.limits)
    height = linear(*limits, shown.label_of_one, grid=True)
    if not any(is_known(mark.y) for mark in drawn):
        said = why_no_series(lines[0][1]).partition(": allowed")[0]
        times, height = replace(times, ticks=()), replace(height, ticks=())
        middle: dict[str, Any] = {"x": (times.low + times.high) / 2, "y": (height.low + height.high) / 2}
        marks.append(Text(**middle, text=f"nothing to draw: {said}"))
    return Panel(x=times, y=height, marks=tuple(marks))


def _look_of(name: str, place: int) -> dict[str, Any]:
    """A scheme's style, which is the same in each figure; other lines get a style by their position."""
    own = style_of(name)
    if own != OTHER:
        return {"color": own.color, "marker": own.marker, "line": own.linestyle}
    return {"color": COLOURS[place % 8], "marker": MARKERS[place % 8], "line": "-"}


def _line_name(name: str, result: RunResult, number: int) -> str:
    ends = _ends(result, number)
    return f"{name}, {ends}" if name and len(result.run["flows"]) > 1 else name or ends


def _ends(result: RunResult, number: int) -> str:
    """The name of a flow: its ends, and its number if another flow has the same ends."""
    ends = [f"{flow['src']}→{flow['dst']}" for flow in result.run["flows"]]
    alone = ends.count(ends[number]) == 1
    return ends[number] if alone else f"{ends[number]}, flow {result.run['flows'][number]['id']}"


def describe(result: RunResult) -> str:
    """Goodput, window, round trip and losses of each flow, as text."""
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
    """Packets lost, by cause. Frames that the MAC gives up are not added, since AODV repairs the route or drops the
    packet.
    """
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


@checked(result=instance_of(Comparison))
def comparison(result: Comparison, *points: Mapping[str, Any], y: str | None = None) -> Picture:
    """A comparison, with one panel for each of `points` (values of the options that are not on the x axis).

    Shows goodput or the quantity `y`.
    """
    chosen = [coerce("comparison: point", arguments.values_by_name, point) for point in points] or [{}]
    shown, draw, quantity = result, goodput_panel, find_quantity(y or "goodput")
    if y is not None:
        shown, draw = result.with_quantity(y), quantity_panel
    for point in chosen:
        check_point(result, point)
    chart = Chart(
        panels=tuple(draw(shown, point) for point in chosen),
        columns=len(chosen),
        width=0.8 + 5.2 * len(chosen),
        height=4.0,
        caption=caption(shown),
    )
    estimates = [row["goodput_bps"] if y is None else row["y"] for row in shown.rows]
    lines = [
        f"{show_point(row['point'])} {row['scheme']}: {_told(found, quantity)}"
        for row, found in zip(shown.rows, estimates, strict=True)
    ]
    unit = f" in {quantity.unit}" if quantity.unit else ""
    return Picture(chart, f"{quantity.title[0].upper()}{quantity.title[1:]}{unit}. {'; '.join(lines)}")


def _told(found: Mapping[str, Any] | None, quantity: Quantity) -> str:
    """Mean and half width of the interval, as shown."""
    if found is None:
        return "none"
    mean, half = show(found["mean"] * quantity.scale), found["half_width"]
    return mean if half is None else f"{mean} ± {show(half * quantity.scale)}"


def _line(value: Any) -> list[float]:
    """A row of numbers. NaN stands for a missing one."""
    found = _marks(value)
    if not found:
        raise ValueError(_NUMBERS)
    return found


def _marks(value: Any) -> list[float]:
    """Numbers, or None."""
    found = arguments.held(value)
    if found is None or not all(isinstance(one, int | float) for one in found):
        raise ValueError(_NUMBERS)
    return list(found)


_NUMBERS = "a list of numbers, as [1, 2, 4]"


@checked(x=_line, lines=values_by_name, marks=_marks, halves=values_by_name)
def curves(
    x: Sequence[float],
    lines: Mapping[str, Sequence[float]],
    *,
    xlabel: str,
    ylabel: str,
    marks: Sequence[float] = (),
    halves: Mapping[str, Sequence[float]] = MappingProxyType({}),
) -> Picture:
    """Lines over common x values, each with a marker; `marks` are dotted vertical lines; those outside the x values are
    left out. Schemes have a fixed style.

    `halves` gives lines an error bar at each point: half the width of its interval, by the line's name.
    """
    if unknown := sorted(halves.keys() - lines.keys()):
        raise ConfigError(f"curves: halves for {unknown[0]!r}, which is not among the lines")
    lines = {name: coerce(f"curves: line {name!r}", _line, values) for name, values in lines.items()}
    halves = {name: coerce(f"curves: halves of {name!r}", _line, values) for name, values in halves.items()}
    for what, given in (("line", lines), ("halves of", halves)):
        for name, values in given.items():
            if len(values) != len(x):
                raise ConfigError(
                    f"curves: {what} {name!r} must have one value for each of the {len(x)} x values, not {len(values)}"
                )
    drawn: list[Mark] = [Rule(at=mark, line=":") for mark in marks if min(x) <= mark <= max(x)]
    numbers: list[float] = []
    for place, (name, values) in enumerate(lines.items()):
        bars = tuple(halves.get(name, ()))
        drawn.append(Line(x=tuple(x), y=tuple(values), halves=bars, name=name, **_look_of(name, place)))
        for value, half in zip(values, bars or [0.0] * len(x), strict=True):
            numbers += value - half, value + half
    below = any(value < 0 for value in numbers)
    y_scale = linear(*(around(numbers) if below else from_zero(numbers)), ylabel, grid=True)
    panel = Panel(x=_x_scale(x, xlabel), y=y_scale, marks=tuple(drawn))
    top = max((abs(value) for values in lines.values() for value in values if not math.isnan(value)), default=0.0)
    listed = "; ".join(
        f"{name}: "
        + ", ".join(
            f"{'unknown' if math.isnan(value) else show(0.0 if abs(value) < top * NOTHING else value)}"
            f"{f' ± {show(halves[name][index])}' if name in halves else ''} at {at:g}"
            for index, (at, value) in enumerate(zip(x, values, strict=True))
        )
        for name, values in lines.items()
    )
    chart = Chart(panels=(panel,), width=7.5, height=4.0)
    return Picture(chart, f"{ylabel} against {xlabel}. {listed}", folded=True)


NOTHING = 1e-3
"""The text shows values below this share of the figure's largest value as 0. They are also invisible in the picture."""
WIDE = 16
"""The x axis is logarithmic if its largest value is at least this many times the smallest and the steps grow."""
MOST_LETTERS = 72
"""The maximum number of characters under an x axis, with a space after each value."""


def _x_scale(x: Sequence[float], label: str) -> Scale:
    """A tick at each point if there is room, otherwise whole numbers. Windows of 1 to 32 packets have a logarithmic
    axis.
    """
    ticks = tuple((float(value), f"{value:g}") for value in x)
    letters = 1 + max(len(text) for _, text in ticks)
    whole = all(float(value).is_integer() for value in x)
    scale = replace(linear(*around(x), label, whole=whole), grid=True)
    if min(x) > 0 and max(x) >= WIDE * min(x) and x[-1] - x[-2] > x[1] - x[0]:
        room = (max(x) / min(x)) ** 0.05
        return replace(scale, log=True, low=min(x) / room, high=max(x) * room, ticks=ticks)
    if all(after - before >= (max(x) - min(x)) * letters / MOST_LETTERS for before, after in pairwise(x)):
        return replace(scale, ticks=ticks)
    return scale


# Calls beside TCP: call quality against goodput, and both over time.

GOOD_MOS = 3.6
LEAST_MOS, MOST_MOS = 1.0, 4.5


@checked(results=runs_by_name)
def call_picture(results: Mapping[str, RunResult]) -> Picture:
    """MOS of each call and TCP's goodput, for several runs: label -> run."""
    marks: list[Mark] = [Rule(at=GOOD_MOS, about=f"MOS {GOOD_MOS}: good")]
    texts = []
    for place, (label, result) in enumerate(results.items()):
        found = _mos(result)
        look: dict[str, Any] = {"color": COLOURS[place % 8], "hatch": HATCHES[place % 8], "height": 0.6}
        marks.append(
            Bar(at=place, low=LEAST_MOS, high=max(LEAST_MOS, min(found, default=LEAST_MOS)), name=label, **look)
        )
        told = tuple(f"a call with MOS {mos:.2f}" for mos in found)
        line: dict[str, Any] = {"marker": "|", "line": "", "size": 11, "told": told}
        marks.append(Line(x=tuple(found), y=(float(place),) * len(found), **line))
        texts.append(f"{label}: {_quality(found)}, TCP {_tcp_kbps(result):.0f} kbit/s")
    calls = Panel(
        x=linear(LEAST_MOS, MOST_MOS, "MOS (bar: worst call, ticks: all calls)"),
        y=Scale(**names_along(list(results), down=True)),
        marks=tuple(marks),
        note="dashed: 3.6, good",
    )
    tcp = bars_panel({label: _tcp_kbps(result) for label, result in results.items()}, unit="TCP goodput (kbit/s)")
    tcp = replace(tcp, y=replace(tcp.y, ticks=()))
    chart = Chart(panels=(calls, tcp), columns=2, width=9.5, height=1.3 + 0.5 * len(results))
    return Picture(chart, "\n".join(texts))


@checked(result=instance_of(RunResult))
def call_series(result: RunResult) -> Picture:
    """The mean MOS of the calls, and TCP's total goodput, over time."""
    times = tuple(result.series["t_s"])
    kinds = {flow["id"]: flow["kind"] for flow in result.run["flows"]}
    calls = [flow for flow in result.series["flows"] if kinds[flow["id"]] == "voice"]
    tcp = [flow for flow in result.series["flows"] if kinds[flow["id"]] != "voice"]
    marks: list[Mark] = [Rule(at=GOOD_MOS, vertical=False, about=f"MOS {GOOD_MOS}: good")]
    for flow in calls:
        values = tuple(math.nan if mos is None else mos for mos in flow["mos"])
        marks.append(Line(x=times, y=values, color="#999999", width=0.7, name="each direction of a call"))
    means = tuple(_mean([mos for flow in calls if (mos := flow["mos"][i]) is not None]) for i in range(len(times)))
    marks.append(Line(x=times, y=means, color=COLOURS[0], marker="o", size=3, name="mean"))
    total = tuple(sum(flow["goodput_bps"][i] or 0 for flow in tcp) * KBPS for i in range(len(times)))
    above = Panel(
        x=linear(*around(times), grid=True),
        y=linear(LEAST_MOS, MOST_MOS, "MOS (dashed: 3.6)", grid=True),
        marks=tuple(marks),
        legend="above",
    )
    below = Panel(
        x=linear(*around(times), "time (s)", grid=True),
        y=linear(*from_zero(total), "TCP goodput, all (kbit/s)", grid=True),
        marks=(Line(x=times, y=total, color=COLOURS[1], marker="s", size=3),),
    )
    chart = Chart(panels=(above, below), width=8.5, height=4.2)
    return Picture(chart, f"{_quality(_mos(result), 'good (3.6)')}; TCP {_tcp_kbps(result):.0f} kbit/s in all")


def _quality(found: list[float], good: str = "good") -> str:
    """The number of good calls and the worst MOS, as text."""
    if not found:
        return "no calls"
    return f"{len([mos for mos in found if mos >= GOOD_MOS])} of {len(found)} calls {good}, worst {min(found):.2f}"


def _mos(result: RunResult) -> list[float]:
    return [call["mos"] for call in result.run.get("calls") or [] if call["mos"] is not None]


def _tcp_kbps(result: RunResult) -> float:
    return result.goodput_bps * KBPS


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else float("nan")
