"""Finding 1: with pacing at the gateway, crossing flows share the air fairly, at the cost of delay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pacelab.figures.figures import add_legend
from pacelab.figures.plots import caption, styles_of
from pacelab.findings.wording import Finding, difference, in_words, is_significant, percent, rows_of, seconds
from pacelab.grid.comparison import Comparison
from pacelab.results.metrics import Estimate, estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME, TITLE = "fairness", "Fairness: pacing lets every flow have its share"
KBPS = 1e-3
FLOWS = ("A1 to B1 (up)", "B2 to A2 (down)", "A3 to B3 (up)", "B4 to A4 (down)")
"""The flows of the study's topology, cross-gateway with mixed directions: A are wireless hosts, B are wired hosts."""
DOWNWARD = (1, 3)
BASELINE, PACED = "newreno", "tcp-gap"
NEARLY_OPEN = 0.75
"""A share of the advertised window."""


def find(comparison: Comparison) -> Finding:
    """Compare goodput per flow, Jain's index, the sum, and the round trip."""
    base, paced = (rows_of(comparison.rows, scheme)[0] for scheme in (BASELINE, PACED))
    shares = {
        scheme: in_words([f"{flow.mean * KBPS:.0f}" for flow in _flows(comparison, scheme, "goodput_bps")])
        for scheme in (BASELINE, PACED)
    }
    jain = {row["scheme"]: row["jain"] for row in (base, paced)}
    fairer = is_significant(difference(jain[PACED]["samples"], jain[BASELINE]["samples"]))
    total = f"{percent(paced)} {'more' if paced['gain'] > 0 else 'less'} in total"
    if abs(paced["gain"]) <= paced["gain_half_width"]:
        total = f"no significantly different total ({percent(paced)})"
    first = (
        f"Four flows cross at a gateway. NewReno gives them {shares[BASELINE]} kbit/s (Jain's index "
        f"{jain[BASELINE]['mean']:.2f}). TCP-GAP gives them {shares[PACED]} kbit/s ({jain[PACED]['mean']:.2f}), and "
        f"{total}."
    )
    if not fairer:
        first += " The two indices do not differ significantly."
    return Finding(name=NAME, title=TITLE, sentences=(first, _delay(comparison)))


def _delay(comparison: Comparison) -> str:
    """The round trip of the downward flows, whose data waits in the gateway's queue."""
    before, after = (_mean_of_downward(comparison, scheme) for scheme in (BASELINE, PACED))
    told = f"from {seconds(estimate(before))} to {seconds(estimate(after))}"
    if not is_significant(difference(after, before)):
        return f"The round trip of the downward flows does not change significantly ({told})."
    if sum(after) < sum(before):
        return f"The round trip of the downward flows falls {told}."
    return f"The price is delay: the round trip of the downward flows rises {told}{_cause(comparison)}."


def _cause(comparison: Comparison) -> str:
    """The reason for the delay, if the flows' windows are nearly open and the pacer delays packets."""
    window_pkts = comparison.compare["config"]["window_pkts"]
    open_pkts = estimate([sum(run[flow] for flow in DOWNWARD) / len(DOWNWARD) for run in _windows(comparison)]).mean
    delayed = [run["hook_actions"] for run in comparison.compare["runs"] if run["scheme"] == PACED]
    if open_pkts < NEARLY_OPEN * window_pkts or not all(delayed):
        return ""
    return (
        f", because the pacing queue holds the window of each of them: {open_pkts:.0f} of {window_pkts} packets are on "
        "their way on average"
    )


def _windows(comparison: Comparison) -> list[list[float]]:
    return _samples(comparison, PACED, "cwnd_mean_pkts")


def _mean_of_downward(comparison: Comparison, scheme: str) -> list[float]:
    runs = _samples(comparison, scheme, "rtt_mean_s")
    return [estimate([run[flow] for flow in DOWNWARD]).mean for run in runs]


def _samples(comparison: Comparison, scheme: str, quantity: str) -> list[list[float]]:
    """For each run, the quantity of each flow."""
    return [run["flows"][quantity] for run in comparison.compare["runs"] if run["scheme"] == scheme]


def _flows(comparison: Comparison, scheme: str, quantity: str) -> list[Estimate]:
    """For each flow, mean and interval over the runs."""
    return [estimate(samples) for samples in zip(*_samples(comparison, scheme, quantity), strict=True)]


def draw(comparison: Comparison) -> Figure:
    """Goodput and round trip of each flow, a bar for each scheme."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    _bars(left, comparison, "goodput_bps", KBPS)
    left.set_ylabel("goodput (kbit/s)")
    _bars(right, comparison, "rtt_mean_s", 1.0)
    right.set_ylabel("mean round trip (s)")
    add_legend(left)
    jain = ", ".join(f"{row['scheme']} {row['jain']['mean']:.2f}" for row in comparison.rows if row["jain"])
    figure.suptitle(
        f"{TITLE}\ncross-gateway, two flows up and two down, static routes; Jain's index: {jain}", fontsize="medium"
    )
    figure.supxlabel(caption(comparison), fontsize="small")
    return figure


def _bars(ax: Axes, comparison: Comparison, quantity: str, scale: float) -> None:
    """Bars grouped by flow."""
    looks = styles_of(comparison.compare["schemes"])
    width = 0.8 / len(looks)
    for place, (scheme, look) in enumerate(looks.items()):
        flows = _flows(comparison, scheme, quantity)
        spots = [number + (place - (len(looks) - 1) / 2) * width for number in range(len(flows))]
        bars: dict[str, Any] = {"color": look.color, "hatch": "//" * place, "edgecolor": "white", "capsize": 3}
        halves = [(flow.half_width or 0.0) * scale for flow in flows]
        ax.bar(spots, [flow.mean * scale for flow in flows], width, yerr=halves, label=scheme, **bars)
    ax.set_xticks(range(len(FLOWS)), [name.replace(" (", "\n(") for name in FLOWS])
    ax.grid(axis="y", alpha=0.3)
