"""Cost against the number of nodes, up to 500: once with constant activity on the air, once with activity that grows.

A medium that looks at every node for every frame costs as nodes squared when activity grows with the nodes (exponent
2), and as nodes when it does not (exponent 1). Ours should cost as the activity: exponents near 1 and near 0.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import air
import ours
from layout import Layout

OUT = Path(__file__).parent / "out" / "cost-by-nodes.png"


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One curve: what is on the air, for how long, and the largest exponent of CPU in nodes that passes."""

    name: str
    layout: Callable[[int], Layout]
    nodes: Sequence[int]
    seconds: float
    limit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A median run at a number of nodes."""

    nodes: int
    run: ours.Run


SERIES = (
    # From 64 on, every radio in range of the chain is there; fewer nodes mean fewer that hear a frame.
    Series(
        name="one active chain of 7 hops, the other nodes idle",
        layout=air.one_active_chain,
        nodes=(64, 128, 256, 496),
        seconds=300,
        limit=0.3,
    ),
    Series(
        name="a flow per 8 nodes, chains of 7 hops",
        layout=air.many_active_chains,
        nodes=(8, 64, 128, 256, 496),
        seconds=60,
        limit=1.3,
    ),
)


def measure(series: Series, repeats: int) -> list[Point]:
    """The run of median CPU at each number of nodes."""
    points = []
    for nodes in series.nodes:
        config = air.config(series.layout(nodes), seconds=series.seconds, rate_bps=2_000_000, window_pkts=3)
        runs = sorted((ours.engine(config) for _ in range(repeats)), key=lambda run: run.cpu_s)
        points.append(Point(nodes=nodes, run=runs[repeats // 2]))
    return points


def exponent(points: Sequence[Point]) -> float:
    """The slope of log CPU over log nodes, from 64 nodes on."""
    large = [point for point in points if point.nodes >= 64]
    slope, _ = statistics.linear_regression(
        [math.log(point.nodes) for point in large], [math.log(point.run.cpu_s) for point in large]
    )
    return slope


def lines(series: Series, points: Sequence[Point], repeats: int) -> list[str]:
    """The curve as text."""
    grows = exponent(points)
    verdict = "met" if grows <= series.limit else "MISSED"
    head = f"{series.name}, {series.seconds:g} s, static routes, 2 Mbit/s, W=3 (median of {repeats})"
    table = [
        f"    {point.nodes:5} nodes  CPU {point.run.cpu_s:7.3f} s  {point.run.events:10} events"
        f"  {1e6 * point.run.cpu_s / point.run.events:6.3f} us per event"
        f"  {1e6 * point.run.cpu_s / point.run.delivered_pkts:7.2f} us per delivered packet"
        for point in points
    ]
    return [head, *table, f"    CPU grows as nodes^{grows:.2f}, target at most {series.limit:g}: {verdict}"]


def draw(curves: Sequence[tuple[Series, Sequence[Point]]], repeats: int) -> Path:
    """Draw CPU per engine event and CPU per run over the number of nodes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (per_event, per_run) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for (series, points), marker in zip(curves, "os", strict=True):
        nodes = [point.nodes for point in points]
        per_event.plot(nodes, [1e6 * p.run.cpu_s / p.run.events for p in points], marker=marker, label=series.name)
        per_run.plot(nodes, [1e3 * p.run.cpu_s / series.seconds for p in points], marker=marker, label=series.name)
    per_event.set(xlabel="nodes", ylabel="CPU per engine event in us", ylim=(0, None))
    per_run.set(xlabel="nodes", ylabel="CPU per simulated second in ms", xscale="log", yscale="log")
    per_event.legend()
    figure.suptitle(f"Static routes, 2 Mbit/s, W=3, seed 1; median of {repeats} runs")
    OUT.parent.mkdir(exist_ok=True)
    figure.savefig(OUT, dpi=120)
    return OUT
