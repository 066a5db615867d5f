"""The content of a claim's figure as plain numbers: lines and bars with their intervals, in the form of the paper's.

A picture is computed once from the runs and stored beside the claim (data/PAPER/results.json), so figures can be drawn
again, for a page or for print, without a run.

Kinds: lines (a quantity against an axis, or the position of its maximum), bars (goodput per flow, or other quantities),
time (goodput per flow and MOS over time) and contention (Fu's model over the measurement). Whiskers are 95 % intervals
over seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Literal

from pydantic import Field

from pacelab.claims.measures import Measured, measure, sample_cell
from pacelab.claims.model import SCHEME, Claim, Figure, Measure, Point, Reduction, Scalar, Strict
from pacelab.claims.quantities import (
    KBPS,
    capacities,
    network_drop_probability,
    retry_drop_probability,
    sender_drop_probability,
    starters,
)
from pacelab.claims.traffic_quantities import Aspect
from pacelab.results.metrics import Estimate, estimate
from pacelab.results.results import RunResult
from pacelab.results.types import FlowResult

LABELS = {
    "goodput_kbps": "goodput (kbit/s)",
    "drop_probability": "contention drops per packet sent",
    "contention_drops": "contention drops",
    "link_drops": "packets lost on the link",
    "queue_drops": "queue drops",
    "queue_mean_pkts": "mean queue of the fullest node (packets)",
    "queue_max_pkts": "longest queue (packets)",
    "queue_deviation_pkts": "deviation of mean queues (packets)",
    "queue_sd_pkts": "deviation of a queue over time (packets)",
    "window_pkts": "mean window (packets)",
    "rtt_mean_s": "mean round-trip time (s)",
    "fairness": "fairness (Jain)",
    "transfer_kbps": "mean rate of a transfer (kbit/s)",
    "transfer_fairness": "fairness (Jain)",
    "transfer_fairness_per_hop": "fairness of rate over hops (Jain)",
    "mos_mean": "MOS of the calls",
    "voice_delay_ms": "network delay of voice (ms)",
    "data_kbps": "goodput of TCP (kbit/s)",
    "data_sent_kbps": "sent by TCP (kbit/s)",
    "data_fairness": "fairness of TCP (Jain)",
    "data_rtt_ms": "round-trip time of TCP (ms)",
    "protected_data_kbps": "goodput of TCP at a MOS of 3.6 (kbit/s)",
    "voice": "calls",
    "internet": "Internet delay (s)",
    "interference": "nodes two hops apart",
    "pace-hops": "n of the n-hop delay",
    "pace-rate": "pace of each flow (Mbit/s)",
    "few-alpha": "FeW's alpha",
    "window": "window (packets)",
    "hops": "wireless hops",
    "queue": "queue at each node (packets)",
    "flows": "flows",
    "cbr-rate": "offered load (Mbit/s)",
    "payload": "payload (B)",
}
UNIT_LABELS = {"pkts": "packets", "drops": "drops", "kbps": "kbit/s"}
"""Label of an axis that several quantities with one unit share."""
DIGITS = 6


class Series(Strict):
    """A line, or a set of bars of the same colour."""

    label: str = ""
    look: str | int
    """The scheme whose style this has in every figure, or the number of a style for a line that belongs to
    no scheme.
    """
    mark: Literal["both", "points", "line", "dots"] = "both"
    """Points joined by a line, only points, only a line, or a dotted line."""
    x: list[float]
    y: list[float]
    half: list[float] = Field(default=[])
    """Half widths of the 95 % intervals; empty if there are none."""


class Panel(Strict):
    """One pair of axes."""

    title: str = ""
    x_label: str = ""
    y_label: str
    ticks: list[str] = Field(default=[])
    """Names of the positions 0, 1, ... on the x axis, which are those of the bars."""
    top: float | None = None
    """Upper end of the y axis, if the data would choose a bad one."""
    least: float | None = None
    """The y axis is logarithmic above this value, and linear from it down to zero."""
    series: list[Series]


class Picture(Strict):
    """A claim's figure."""

    id: str
    seeds: int
    seconds: float
    mode: Literal["full", "quick"]
    panels: list[Panel]
    same_y: bool = False
    """All panels share the range of y."""


def picture_of(claim: Claim, measured: Measured, *, quick: bool) -> Picture:
    """The content of the claim's figure for these runs."""
    assert claim.figure is not None
    figure = claim.figure
    shapes: Mapping[str, Callable[[Figure, Measured], list[Panel]]] = {
        "lines": _lines,
        "bars": _bars,
        "time": _time,
        "contention": _contention,
    }
    effort = claim.scenario.quick if quick else claim.scenario.full
    panels = shapes[figure.shape](figure, measured)
    return Picture(
        id=claim.id,
        seeds=len(measured.plan.seeds),
        seconds=effort.seconds,
        mode="quick" if quick else "full",
        panels=panels,
        same_y=figure.shape == "time" and all(panel.top is None for panel in panels),
    )


def _lines(figure: Figure, measured: Measured) -> list[Panel]:
    """A panel for each unit, side by side."""
    units = dict.fromkeys(_unit(quantity) for quantity in figure.y)
    return [_panel(figure, measured, [one for one in figure.y if _unit(one) == unit], unit) for unit in units]


def _unit(quantity: str) -> str:
    """Groups quantities that can share an axis: those with one unit."""
    return next((unit for unit in UNIT_LABELS if quantity.endswith(f"_{unit}")), quantity)


def _panel(figure: Figure, measured: Measured, quantities: list[str], unit: str) -> Panel:
    assert figure.x is not None
    x = measured.plan.grid[figure.x]
    series = []
    for number, (group, quantity) in enumerate(product(_groups(figure, measured), quantities)):
        found = [_value(figure, measured, group | {figure.x: value}, quantity) for value in x]
        words = [_show(name, group[name]) for name in figure.by]
        words += [LABELS.get(quantity, quantity).partition(" (")[0]] if len(quantities) > 1 else []
        look = str(group[SCHEME]) if figure.by == [SCHEME] and len(quantities) == 1 else number
        series.append(_series(", ".join(words), look, [float(place) for place in x], found))
    if figure.flat == "h/4":
        hops = [float(h) for h in x]
        series.append(Series(label="h/4", look="", mark="dots", x=hops, y=[h / 4 for h in hops]))
    label = f"{LABELS.get(figure.peak, figure.peak)} with the largest goodput" if figure.peak else quantities[0]
    return Panel(
        x_label=LABELS.get(figure.x, figure.x),
        y_label=UNIT_LABELS[unit] if len(quantities) > 1 else LABELS.get(label, label),
        # one seed's unusual peak has a whisker that would hide the curve
        top=None if figure.peak is None else max(float(value) for value in measured.plan.grid[figure.peak]),
        series=series,
    )


def _value(figure: Figure, measured: Measured, point: Point, quantity: str) -> Estimate | None:
    if figure.peak is None:
        return sample_cell(measured, point, quantity)
    at = {name: value for name, value in point.items() if name != figure.peak}
    return measure(measured, Measure(of=quantity, at=at, reduce=[Reduction(how="peak_at", over=figure.peak)]))


PER_FLOW = ("goodput_kbps", "transfer_kbps")
"""Quantities with a bar for each flow (except calls) and one for all flows; other quantities have only the latter."""
NAMED_FLOWS = 8
"""With more flows, names do not fit side by side, and bars have numbers."""
WHOLE = {"goodput_kbps": ("data_kbps", "aggregate"), "transfer_kbps": ("transfer_kbps", "mean")}
"""The bar for all flows: a quantity and its name."""


def _bars(figure: Figure, measured: Measured) -> list[Panel]:
    return [_bar_panel(figure, measured, quantity) for quantity in figure.y or ["goodput_kbps"]]


def _bar_panel(figure: Figure, measured: Measured, quantity: str) -> Panel:
    flows = _data_flows(measured.results[0][0]) if quantity in PER_FLOW else []
    whole, name = WHOLE.get(quantity, (quantity, ""))
    series = []
    for number, group in enumerate(_groups(figure, measured)):
        found = [sample_cell(measured, group, quantity, Aspect(flow=flow["id"])) for flow in flows]
        found.append(sample_cell(measured, group, whole))
        text = ", ".join(_show(axis, group[axis]) for axis in figure.by)
        look = str(group[SCHEME]) if figure.by == [SCHEME] else number
        series.append(_series(text, look, [float(place) for place in range(len(found))], found))
    many = len(flows) > NAMED_FLOWS
    names = [str(number) if many else f"FTP {number}" for number in range(1, len(flows) + 1)]
    x_label = "TCP flow" if many else ""
    return Panel(x_label=x_label, y_label=LABELS.get(quantity, quantity), ticks=[*names, name], series=series)


def _data_flows(result: RunResult) -> list[FlowResult]:
    """The flows except calls."""
    return [flow for flow in result.run["flows"] if flow["kind"] != "voice"]


def _time(figure: Figure, measured: Measured) -> list[Panel]:
    """Goodput of each flow, one panel per group; if there are calls, one panel with the mean MOS of all groups."""
    panels: list[Panel] = []
    calls: list[Series] = []
    for group in _groups(figure, measured):
        results = measured.at(group)
        title = ", ".join(_show(name, group[name]) for name in figure.by)
        ends: dict[tuple[str, str], list[int]] = {}  # a flow with pauses is several flows of the run
        for flow in _data_flows(results[0]):
            ends.setdefault((flow["src"], flow["dst"]), []).append(flow["id"])
        series = []
        for number, members in enumerate(ends.values()):
            rates = [_sums([result.series["flows"][one]["goodput_bps"] for one in members]) for result in results]
            means = [_digits(estimate(values).mean * KBPS) for values in zip(*rates, strict=True)]
            series.append(_over_time(results[0], f"FTP {number + 1}", number, means))
        panels.append(Panel(title=title, x_label="time (s)", y_label=LABELS["goodput_kbps"], series=series))
        scores = [flow["mos"] for result in results for flow in result.series["flows"] if "mos" in flow]
        if scores:
            known = [[score for score in values if score is not None] for values in zip(*scores, strict=True)]
            means = [_digits(estimate(values).mean) if values else math.nan for values in known]
            calls.append(_over_time(results[0], title or "calls", len(calls), means))
    above = [Panel(x_label="time (s)", y_label=LABELS["mos_mean"], top=BEST_MOS, series=calls)] if calls else []
    return above + panels


BEST_MOS = 4.5


def _sums(parts: Sequence[Sequence[float | None]]) -> list[float]:
    return [math.fsum(rate or 0.0 for rate in rates) for rates in zip(*parts, strict=True)]


def _over_time(result: RunResult, label: str, look: int, values: list[float]) -> Series:
    known = [(float(t), value) for t, value in zip(result.series["t_s"], values, strict=True) if math.isfinite(value)]
    return Series(label=label, look=look, mark="line", x=[t for t, _ in known], y=[value for _, value in known])


LEAST_PROBABILITY = 1e-6


def _contention(figure: Figure, measured: Measured) -> list[Panel]:
    """Drops per RTS against failed RTS with Eq. (2), and against the load; for one-hop senders also Eqs.
    (3) and (4).
    """
    assert figure.x is not None
    one_hop = measured.results[0][0].run["flows"][0]["hops"] == 1
    share = [i / 100 for i in range(91)]
    by_failure: list[Series] = []
    by_load: list[Series] = []
    by_slot: list[Series] = []
    for number, group in enumerate(_groups(figure, measured)):
        text = ", ".join(_show(name, group[name]) for name in figure.by) or "measured"
        points = [group | {figure.x: value} for value in measured.plan.grid[figure.x]]
        hidden, drops, model = (
            [_mean(sample_cell(measured, point, name)) for point in points]
            for name in ("hidden_probability", "drops_per_rts", "model_drops_per_rts")
        )
        x = [float(point[figure.x]) for point in points]
        by_failure.append(_marked(text, number, "points", hidden, drops))
        by_load.append(_marked(text, number, "points", x, drops))
        by_load.append(_marked(f"{text}, Eq. (2)", number, "line", x, model))
        if one_hop:
            cell = next(cell for cell in measured.plan.cells if cell.point == points[-1])
            limits = capacities(cell.experiments[0].network)
            by_slot += _capacity_model(number, text, limits, [int(one) for one in x], drops)
    by_failure.append(_marked("Eq. (2)", "", "line", share, [retry_drop_probability(one) for one in share]))
    load = LABELS.get(figure.x, figure.x)
    y_label, least = "packets dropped per RTS", LEAST_PROBABILITY  # the model spans orders of magnitude, and zero
    panels = [
        Panel(x_label="H: failed RTS over RTS sent", y_label=y_label, least=least, series=by_failure),
        Panel(x_label=load, y_label=y_label, least=least, series=by_load),
    ]
    if one_hop:
        panels.append(Panel(x_label="senders m", y_label="drop probability per slot", least=least, series=by_slot))
    return panels


def _capacity_model(
    number: int, text: str, limits: tuple[int, int], senders: list[int], drops: list[float]
) -> list[Series]:
    """L_f(m) and L(m) from C* and B* of all senders; the measured drops times the model's CS_f."""
    most_starters, most_winners = limits
    every = range(1, senders[-1] + 1)
    limit = {"most_starters": most_starters, "most_winners": most_winners}
    x = [float(m) for m in every]
    shares = [starters(m, most_starters) / m for m in senders]
    measured = [p * share for p, share in zip(drops, shares, strict=True)]
    label = f"{text}: C* {most_starters}, B* {most_winners}"
    return [
        _marked(text, number, "points", [float(m) for m in senders], measured),
        _marked(f"{label}, L_f (3)", number, "line", x, [sender_drop_probability(m, **limit) for m in every]),
        _marked(f"{label}, L (4)", number, "dots", x, [network_drop_probability(m, **limit) for m in every]),
    ]


def _marked(
    label: str, look: str | int, mark: Literal["points", "line", "dots"], x: Sequence[float], y: Sequence[float]
) -> Series:
    known = [(a, b) for a, b in zip(x, y, strict=True) if math.isfinite(a) and math.isfinite(b)]
    return Series(label=label, look=look, mark=mark, x=[_digits(a) for a, _ in known], y=[_digits(b) for _, b in known])


def _series(label: str, look: str | int, x: Sequence[float], found: Sequence[Estimate | None]) -> Series:
    known = [(place, one) for place, one in zip(x, found, strict=True) if one is not None]
    halves = [one.half_width for _, one in known if one.half_width is not None]
    return Series(
        label=label,
        look=look,
        x=[place for place, _ in known],
        y=[_digits(one.mean) for _, one in known],
        half=[_digits(half) for half in halves] if len(halves) == len(known) else [],
    )


def _mean(found: Estimate | None) -> float:
    return found.mean if found else math.nan


def _groups(figure: Figure, measured: Measured) -> list[Point]:
    """One point per line: the axes in `by` vary, and the others are fixed."""
    grid = measured.plan.grid
    by = {name: grid[name] for name in figure.by}
    fixed = {name: figure.at.get(name, values[0]) for name, values in grid.items() if name != figure.x}
    return [fixed | dict(zip(by, values, strict=True)) for values in product(*by.values())]


def _show(name: str, value: Scalar) -> str:
    return str(value) if name == SCHEME else f"{name} {value}"


def _digits(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
