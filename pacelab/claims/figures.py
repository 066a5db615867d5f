"""Figures in the shape of the paper's: one per claim that has one, as PNG and SVG.

Shapes: lines (a quantity against an axis, or where it peaks), bars (goodput per flow), time (goodput per flow over
time) and contention (Fu's model over the measurement). Bars and whiskers are 95 % intervals over seeds.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from io import BytesIO
from itertools import product
from typing import TYPE_CHECKING, Any

from pacelab.claims.aspect import Aspect
from pacelab.claims.contention import (
    capacities,
    network_drop_probability,
    retry_drop_probability,
    sender_drop_probability,
    starters,
)
from pacelab.claims.evaluate import Measured, measure, sample_cell
from pacelab.claims.model import SCHEME, Claim, Figure, Measure, Point, Reduction, Scalar
from pacelab.claims.outcome import Outcome
from pacelab.claims.quantities import KBPS
from pacelab.metrics import LEVEL, Estimate, estimate
from pacelab.plots import Style, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

TITLE_COLUMNS = 80
PANEL_WIDTH_IN = {1: 7.0, 2: 5.0, 3: 4.0}
"""Width of a panel where there are so many side by side."""
LEAST_PROBABILITY = 1e-6
LOOKS = [
    *(Style("#000000", "o", "--"), Style("#0072b2", "s", "-"), Style("#56b4e9", "^", "-."), Style("#d55e00", "D", "-")),
    *(Style("#cc79a7", "v", ":"), Style("#009e73", "x", "--"), Style("#e69f00", "P", "-."), Style("#999999", "*", "-")),
]
"""Lines that are no scheme's; as many as a figure can bear."""
LABELS = {
    "goodput_kbps": "goodput (kbit/s)",
    "drop_probability": "contention drops per packet sent",
    "contention_drops": "contention drops",
    "queue_drops": "queue drops",
    "queue_mean_pkts": "mean queue of the fullest node (packets)",
    "queue_max_pkts": "longest queue (packets)",
    "queue_deviation_pkts": "deviation of mean queues (packets)",
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


def render_claim(claim: Claim, measured: Measured, outcome: Outcome) -> dict[str, bytes]:
    """ID.png and ID.svg."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Canvas

    assert claim.figure is not None
    draw: Callable[[Canvas, Figure, Measured], None] = {
        "lines": _lines,
        "bars": _bars,
        "time": _time,
        "contention": _contention,
    }[claim.figure.shape]
    with rc_context({"svg.hashsalt": "pacelab", "svg.fonttype": "path"}):
        canvas = Canvas(figsize=(7, 4.2), layout="constrained")
        draw(canvas, claim.figure, measured)
        title = textwrap.fill(f"{claim.where}: {claim.title}".removeprefix(": "), TITLE_COLUMNS)
        canvas.suptitle(f"{title}\n({outcome['verdict']})", fontsize="medium")
        seeds = measured.plan.seeds
        interval = f"; bars: {LEVEL:.0%} t intervals" if len(seeds) > 1 else "; no interval"
        text = f"n = {len(seeds)} seeds of {outcome['seconds']:g} s, {outcome['mode']} mode{interval}"
        canvas.supxlabel(text, fontsize="small")
        return {f"{claim.id}.png": _bytes(canvas, "png"), f"{claim.id}.svg": _bytes(canvas, "svg")}


def _lines(canvas: Canvas, figure: Figure, measured: Measured) -> None:
    """A panel for each unit, side by side."""
    units = list(dict.fromkeys(_unit(quantity) for quantity in figure.y))
    canvas.set_figwidth(PANEL_WIDTH_IN[min(len(units), 3)] * len(units))
    panels = canvas.subplots(1, len(units), squeeze=False)[0]
    for ax, unit in zip(panels, units, strict=True):
        _panel(ax, figure, measured, [quantity for quantity in figure.y if _unit(quantity) == unit])


def _unit(quantity: str) -> str:
    """What may share an axis with it: quantities of one unit."""
    return next((unit for unit in ("pkts", "drops", "kbps") if quantity.endswith(f"_{unit}")), quantity)


def _panel(ax: Axes, figure: Figure, measured: Measured, quantities: list[str]) -> None:
    assert figure.x is not None
    x = measured.plan.grid[figure.x]
    groups = _groups(figure, measured)
    for number, (group, quantity) in enumerate(product(groups, quantities)):
        found = [_value(figure, measured, group | {figure.x: value}, quantity) for value in x]
        known = [(place, one) for place, one in zip(x, found, strict=True) if one is not None]
        names = [_show(name, group[name]) for name in figure.by]
        text = ", ".join([*names, quantity] if len(quantities) > 1 else names)
        look = style_of(str(group[SCHEME])) if figure.by == [SCHEME] else LOOKS[number % len(LOOKS)]
        ax.errorbar(
            [float(place) for place, _ in known],
            [one.mean for _, one in known],
            yerr=[one.half_width or 0.0 for _, one in known],
            label=text or "measured",
            capsize=3,
            markersize=4,
            linewidth=1.2,
            **look._asdict(),
        )
    if figure.flat == "h/4":
        ax.plot([float(h) for h in x], [float(h) / 4 for h in x], color="0.5", linestyle=":", label="h/4")
    label = f"{LABELS.get(figure.peak, figure.peak)} with the largest goodput" if figure.peak else quantities[0]
    ax.set(xlabel=LABELS.get(figure.x, figure.x), ylabel=LABELS.get(label, label))
    if len(quantities) > 1:
        ax.set_ylabel("packets")
    _finish(ax)
    if figure.peak is not None:  # one seed's odd peak makes a whisker that would hide the curve
        ax.set_ylim(0, max(float(value) for value in measured.plan.grid[figure.peak]))


def _value(figure: Figure, measured: Measured, point: Point, quantity: str) -> Any:
    if figure.peak is None:
        return sample_cell(measured, point, quantity)
    at = {name: value for name, value in point.items() if name != figure.peak}
    return measure(measured, Measure(of=quantity, at=at, reduce=[Reduction(how="peak_at", over=figure.peak)]))


def _bars(canvas: Canvas, figure: Figure, measured: Measured) -> None:
    ax = canvas.subplots()
    groups = _groups(figure, measured)
    flows = [flow["id"] for flow in measured.results[0][0].run["flows"]]
    width = 0.8 / len(groups)
    for number, group in enumerate(groups):
        found = [sample_cell(measured, group, "goodput_kbps", Aspect(flow=flow)) for flow in flows]
        found.append(sample_cell(measured, group, "goodput_kbps"))
        places = [place + (number - (len(groups) - 1) / 2) * width for place in range(len(found))]
        known = [(place, one) for place, one in zip(places, found, strict=True) if one is not None]
        text = ", ".join(_show(name, group[name]) for name in figure.by)
        ax.bar(
            [place for place, _ in known],
            [one.mean for _, one in known],
            width,
            yerr=[one.half_width or 0.0 for _, one in known],
            color=style_of(str(group[SCHEME])).color,
            hatch=["", "//", "..", "xx", "--"][number % 5],
            edgecolor="white",
            capsize=3,
            label=text,
        )
    ax.set_xticks(range(len(flows) + 1), [*(f"FTP {flow + 1}" for flow in flows), "aggregate"])
    ax.set_ylabel(LABELS["goodput_kbps"])
    _finish(ax)


def _time(canvas: Canvas, figure: Figure, measured: Measured) -> None:
    groups = _groups(figure, measured)
    panels = canvas.subplots(1, len(groups), squeeze=False, sharey=True)
    for ax, group in zip(panels.flat, groups, strict=True):
        results = measured.at(group)
        ends: dict[tuple[str, str], list[int]] = {}  # a flow that pauses is several of the run
        for flow in results[0].run["flows"]:
            ends.setdefault((flow["src"], flow["dst"]), []).append(flow["id"])
        for number, members in enumerate(ends.values()):
            series = [[result.series["flows"][one]["goodput_bps"] for one in members] for result in results]
            runs = [[sum(rate or 0.0 for rate in rates) for rates in zip(*parts, strict=True)] for parts in series]
            means = [estimate(rates).mean * KBPS for rates in zip(*runs, strict=True)]
            ax.plot(results[0].series["t_s"], means, ["-", "--", ":", "-."][number % 4], label=f"FTP {number + 1}")
        ax.set(xlabel="time (s)", title=", ".join(_show(name, group[name]) for name in figure.by))
        _finish(ax)
    panels[0][0].set_ylabel(LABELS["goodput_kbps"])


def _contention(canvas: Canvas, figure: Figure, measured: Measured) -> None:
    """Drops per RTS against failed RTS with Eq. (2), and against the load; for one-hop senders Eqs. (3), (4) too."""
    assert figure.x is not None
    groups = _groups(figure, measured)
    one_hop = measured.results[0][0].run["flows"][0]["hops"] == 1
    panels = list(canvas.subplots(1, 3 if one_hop else 2))
    if one_hop:
        canvas.set_size_inches(10.5, 4.2)
    for number, group in enumerate(groups):
        text = ", ".join(_show(name, group[name]) for name in figure.by) or "measured"
        points = [group | {figure.x: value} for value in measured.plan.grid[figure.x]]
        hidden, drops, model = (
            [_mean(sample_cell(measured, point, name)) for point in points]
            for name in ("hidden_probability", "drops_per_rts", "model_drops_per_rts")
        )
        look = LOOKS[number % len(LOOKS)]
        x = [float(point[figure.x]) for point in points]
        panels[0].plot(hidden, drops, look.marker, color=look.color, label=text)
        panels[1].plot(x, drops, look.marker, color=look.color, label=text)
        panels[1].plot(x, model, color=look.color, linestyle=look.linestyle, label=f"{text}, Eq. (2)")
        if one_hop:
            cell = next(cell for cell in measured.plan.cells if cell.point == points[-1])
            limits = capacities(cell.experiments[0].build_topology())
            _capacity_model(panels[2], look, text, limits, [int(one) for one in x], drops)
    share = [i / 100 for i in range(91)]
    panels[0].plot(share, [retry_drop_probability(one) for one in share], color="0.4", label="Eq. (2)")
    panels[0].set(xlabel="H: failed RTS over RTS sent", ylabel="packets dropped per RTS")
    panels[1].set(xlabel=LABELS.get(figure.x, figure.x), ylabel="packets dropped per RTS")
    for ax in panels:
        ax.set_yscale("symlog", linthresh=LEAST_PROBABILITY)  # the model spans orders of magnitude, and zero
        _finish(ax)


def _capacity_model(
    ax: Axes, look: Style, text: str, limits: tuple[int, int], senders: list[int], drops: list[float]
) -> None:
    """L_f(m) and L(m) from C* and B* of all the senders; the measurement times the model's CS_f."""
    most_starters, most_winners = limits
    every = range(1, senders[-1] + 1)
    limit = {"most_starters": most_starters, "most_winners": most_winners}
    own = [sender_drop_probability(m, **limit) for m in every]
    network = [network_drop_probability(m, **limit) for m in every]
    shares = [starters(m, most_starters) / m for m in senders]
    label = f"{text}: C* {most_starters}, B* {most_winners}"
    ax.plot(senders, [p * share for p, share in zip(drops, shares, strict=True)], look.marker, color=look.color)
    ax.plot(every, own, color=look.color, linestyle="-", label=f"{label}, L_f (3)")
    ax.plot(every, network, color=look.color, linestyle=":", label=f"{label}, L (4)")
    ax.set(xlabel="senders m", ylabel="drop probability per slot")


def _mean(found: Estimate | None) -> float:
    return found.mean if found else float("nan")


def _groups(figure: Figure, measured: Measured) -> list[Point]:
    """One point per line: the axes in `by` vary, the others are fixed."""
    grid = measured.plan.grid
    by = {name: grid[name] for name in figure.by}
    fixed = {name: figure.at.get(name, values[0]) for name, values in grid.items() if name != figure.x}
    return [fixed | dict(zip(by, values, strict=True)) for values in product(*by.values())]


def _show(name: str, value: Scalar) -> str:
    return str(value) if name == SCHEME else f"{name} {value}"


def _finish(ax: Axes) -> None:
    ax.set_ylim(bottom=0)
    ax.grid(alpha=0.3)
    ax.legend(fontsize="small")


def _bytes(canvas: Canvas, form: str) -> bytes:
    buffer = BytesIO()
    canvas.savefig(buffer, format=form, dpi=110, metadata={"Date": None} if form == "svg" else {"Software": None})
    return buffer.getvalue()
