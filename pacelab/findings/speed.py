"""Finding 2: over AODV pacing is faster on longer chains. Link RED is shown under its own paper's conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pacelab.figures.plots import caption, plot_gain, plot_quantity
from pacelab.findings.wording import Finding, Row, faster, hops_of, rows_of, slower, spread
from pacelab.grid.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME, TITLE = "speed", "Speed: over AODV pacing is faster on longer chains"
AODV: dict[str, Any] = {"routing": "aodv"}


def find(chains: Comparison, link_red: Comparison) -> Finding:
    """Where the two schemes gain and lose, among significant differences only."""
    rows = rows_of(chains.rows, "tcp-gap", **AODV)
    first = f"With AODV routes, TCP-GAP {_where(rows)}."
    if gains := faster(rows):
        first += _reason(chains, [row["point"]["hops"] for row in gains])
    lred = f"Under its own paper's conditions, Link RED {_where(rows_of(link_red.rows, 'lred'))}."
    return Finding(name=NAME, title=TITLE, sentences=(first, f"{lred} {_delay(link_red)}"))


def _reason(chains: Comparison, hops: list[int]) -> str:
    """Why TCP-GAP gains, if AODV takes significantly fewer links for broken over one of these chains. No node moves, so
    each such link was lost to contention.
    """
    rows = rows_of(chains.with_quantity("link-failures").rows, "tcp-gap", **AODV)
    fewer = [row for row in rows if row["point"]["hops"] in hops and _falls(row["difference"])]
    if not fewer:
        return ""
    last = fewer[-1]
    paced, base = last["y"]["mean"], last["y"]["mean"] - last["difference"]["mean"]
    return (
        f" AODV takes contention losses for broken links and searches for a new route: over {hops_of(last)} "
        f"{base:.1f} times in a run with NewReno, and {paced:.1f} times with TCP-GAP. Pacing avoids these losses."
    )


def _falls(change: Mapping[str, Any] | None) -> bool:
    return change is not None and change["mean"] < -(change["half_width"] or 0.0)


def _delay(link_red: Comparison) -> str:
    """Link RED's round trip, at the largest number of hops."""
    rows = rows_of(link_red.with_quantity("rtt").rows, "lred")
    last, change = rows[-1], rows[-1]["difference"]
    if abs(change["mean"]) <= (change["half_width"] or 0.0):
        return f"Over {hops_of(last)} its round trip is not significantly different."
    verb = "shorter" if change["mean"] < 0 else "longer"
    told = f"{abs(change['mean']):.2f} ± {change['half_width']:.2f} s {verb} than NewReno's"
    return f"Over {hops_of(last)} its round trip is {told}."


def _where(rows: list[Row]) -> str:
    """`gains ... and loses ...`."""
    told = []
    if gains := faster(rows):
        told.append(spread(gains, "gains"))
    if losses := slower(rows):
        told.append(spread(losses, "loses"))
    rest = len(rows) - len(gains) - len(losses)
    if not told:
        return f"makes no significant difference on any of {len(rows)} chains"
    text = " and ".join(told)
    return text + (f"; on {rest} of {len(rows)} chains the difference is not significant" if rest else "")


def draw(chains: Comparison, link_red: Comparison) -> Figure:
    """Gain, and under it the round trip, against the number of hops: left TCP-GAP, right Link RED."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6.4), layout="constrained")
    panels = figure.subplots(2, 2, sharex="col")
    for column, (comparison, point, title) in enumerate(
        (
            (chains, AODV, "TCP-GAP: 11 Mbit/s, window 64, wired part, down"),
            (link_red, {}, "Link RED: 2 Mbit/s, window 32, not wired, radio of 2001"),
        )
    ):
        plot_gain(comparison, panels[0][column], point=point)
        _round_trip(comparison, panels[1][column], point)
        panels[0][column].set(xlabel="")
        panels[0][column].set_title(title, fontsize="medium")
    figure.suptitle(f"{TITLE}\nAODV routes; the gain over NewReno, and the price in round trip", fontsize="medium")
    figure.supxlabel(caption(chains), fontsize="small")
    return figure


def _round_trip(comparison: Comparison, ax: Axes, point: dict[str, Any]) -> None:
    plot_quantity(comparison.with_quantity("rtt"), ax, point=point)
    ax.set(title="", ylabel="mean round trip (ms)")
