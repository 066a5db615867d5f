"""Pictures of calls beside TCP: quality against goodput, and both over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pacelab.lab.figures import COLOURS, HATCHES, KBPS, draw_bars, runs_by_name
from pacelab.lab.picture import Picture
from pacelab.options.arguments import an, checked
from pacelab.results.results import RunResult
from pacelab.show.figures import rise

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


@checked(result=an(RunResult))
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
