"""Finding 3: pacing costs goodput on short chains, and delay everywhere: its queue is the advertised window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pacelab.figures.plots import caption, plot_gain, plot_quantity
from pacelab.findings.wording import Finding, faster, hops_of, in_words, percent, rows_of, slower, spread
from pacelab.grid.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME, TITLE = "limits", "Limits: pacing costs goodput on short chains, and its queue is the advertised window"
STATIC: dict[str, Any] = {"routing": "static"}


def find(chains: Comparison, window: Comparison) -> Finding:
    """The largest significant loss with static routes, and the round trip at each window."""
    rows = rows_of(chains.rows, "tcp-gap", **STATIC)
    losses = sorted(slower(rows), key=lambda row: row["gain"])
    if losses:
        first = f"With static routes, TCP-GAP is slower than NewReno on {len(losses)} of {len(rows)} chains, "
        first += f"by {percent(losses[0])} over {hops_of(losses[0])}"
    else:
        first = f"With static routes, TCP-GAP is not significantly slower than NewReno on any of {len(rows)} chains"
    if gains := faster(rows):
        first += f"; it {spread(gains, 'gains')}"
    return Finding(name=NAME, title=TITLE, sentences=(f"{first}.", _law(window)))


def _law(window: Comparison) -> str:
    """The round trip as a function of the window."""
    paced, base = (rows_of(window.rows, scheme) for scheme in ("tcp-gap", "newreno"))
    windows = in_words([str(row["point"]["window_pkts"]) for row in paced])
    trips = in_words([f"{row['rtt_mean_s']:.2f}" for row in paced])
    others = [row["rtt_mean_s"] for row in base]
    rates, base_rates = (_range([row["goodput_bps"]["mean"] / 1e3 for row in rows]) for rows in (paced, base))
    return (
        f"The pacing queue holds the advertised window: over 4 hops with windows of {windows} packets, the round trip "
        f"of TCP-GAP is {trips} s. NewReno's is {min(others):.2f} to {max(others):.2f} s. At each of "
        f"these windows, TCP-GAP carries {rates} kbit/s, and NewReno {base_rates} kbit/s."
    )


def _range(values: list[float]) -> str:
    """`543 to 565`, or `544` if all are the same."""
    low, high = f"{min(values):.0f}", f"{max(values):.0f}"
    return low if low == high else f"{low} to {high}"


def draw(chains: Comparison, window: Comparison) -> Figure:
    """Gain and round trip against hops with static routes; goodput and round trip against the window."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6.4), layout="constrained")
    (gain, goodput), (trip, law) = figure.subplots(2, 2, sharex="col")
    # With all rows, the scale would also have room for the gains with AODV.
    static = [row for row in chains.rows if row["point"]["routing"] == "static"]
    plot_gain(Comparison(compare=chains.compare | {"rows": static}, host=chains.host), gain, point=STATIC)
    gain.set(title="static routes: gain over NewReno", xlabel="")
    plot_quantity(chains.with_quantity("rtt"), trip, point=STATIC)
    trip.set(title="", ylabel="mean round trip (ms)")
    plot_quantity(window.with_quantity("goodput"), goodput)
    goodput.set(title="4 hops, static routes: goodput", xlabel="")
    plot_quantity(window.with_quantity("rtt"), law)
    law.set(title="", ylabel="mean round trip (ms)")
    figure.suptitle(TITLE, fontsize="medium")
    figure.supxlabel(caption(chains), fontsize="small")
    return figure
