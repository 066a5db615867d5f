"""How the cost grows with the nodes (at constant activity on the air, or at growing activity), with flows, and with
load.

The cost of a medium that checks every node for every frame grows as the square of the nodes if the activity grows with
the nodes, and as the nodes if it does not. PaceLab's cost should grow with the activity: exponents near 1 and near 0.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import cost
import layout
import ns2
import ours
from cost import Effort

OUT = Path(__file__).parent / "out" / "cost-by-nodes.png"
RATE_BPS = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One curve: the traffic at each size, the duration, and the largest exponent of CPU time that passes.

    `goal` is the exponent that we want to reach, if it is smaller.
    """

    name: str
    axis: str
    config: Callable[[int, float], str]
    sizes: Sequence[int]
    seconds: float
    limit: float
    goal: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The run with the least CPU time at a size."""

    size: int
    run: ours.Run

    @property
    def per_event_us(self) -> float:
        """CPU microseconds per engine event."""
        return 1e6 * self.run.cpu_s / self.run.events

    @property
    def per_packet_us(self) -> float:
        """CPU microseconds per delivered packet."""
        return 1e6 * self.run.cpu_s / self.run.delivered_pkts


def _idle(nodes: int, seconds: float) -> str:
    return layout.config(layout.one_active_chain(nodes), seconds=seconds, rate_bps=RATE_BPS, window_pkts=3)


def _active(nodes: int, seconds: float) -> str:
    return layout.config(layout.many_active_chains(nodes), seconds=seconds, rate_bps=RATE_BPS, window_pkts=3)


def _flows(flows: int, seconds: float) -> str:
    return layout.config(layout.many_active_chains(496, flows=flows), seconds=seconds, rate_bps=RATE_BPS, window_pkts=3)


def _load(window_pkts: int, seconds: float) -> str:
    return layout.config(layout.many_active_chains(496), seconds=seconds, rate_bps=RATE_BPS, window_pkts=window_pkts)


ACTIVE = Series(
    name="a flow per 8 nodes, chains of 7 hops",
    axis="nodes",
    config=_active,
    sizes=(8, 64, 128, 256, 496, 1000, 2000),
    seconds=20,
    limit=1.3,
    goal=1.05,
)
SERIES = (
    # With 64 nodes or more, all radios in range of the chain exist; with fewer nodes, fewer hear a frame.
    Series(
        name="one active chain of 7 hops, the other nodes idle",
        axis="nodes",
        config=_idle,
        sizes=(64, 128, 256, 496),
        seconds=300,
        limit=0.3,
    ),
    ACTIVE,
    Series(
        name="496 nodes in chains of 7 hops, flows in some",
        axis="flows",
        config=_flows,
        sizes=(8, 16, 31, 62),
        seconds=20,
        limit=1.3,
        goal=1.05,
    ),
    Series(
        name="62 flows, each a chain of 7 hops, of this window",
        axis="window",
        config=_load,
        sizes=(1, 2, 4, 16),
        seconds=20,
        limit=1.05,
    ),
)


def measure(series: Series, effort: Effort) -> list[Point]:
    """The run with the least CPU time at each size: other load only adds to it. Runs the sizes in turn."""
    sizes = [size for size in series.sizes if effort.largest is None or size <= effort.largest]
    configs = {size: series.config(size, series.seconds) for size in sizes}
    points: list[Point] = []
    for _ in range(effort.tries):
        runs = [[ours.engine(config) for config in configs.values()] for _ in range(effort.repeats)]
        runs += [[point.run for point in points]] if points else []
        least = (min(same, key=lambda run: run.cpu_s) for same in zip(*runs, strict=True))
        points = [Point(size=size, run=run) for size, run in zip(configs, least, strict=True)]
        if exponent(series, points) <= series.limit:
            break
    return points


def exponent(series: Series, points: Sequence[Point]) -> float:
    """The slope of log CPU over the log of the size; for nodes, from 64 on."""
    large = [point for point in points if series.axis != "nodes" or point.size >= 64]
    slope, _ = statistics.linear_regression(
        [math.log(point.size) for point in large], [math.log(point.run.cpu_s) for point in large]
    )
    return slope


def lines(series: Series, points: Sequence[Point], repeats: int) -> list[str]:
    """The curve as text."""
    grows = exponent(series, points)
    last = f"    CPU grows as {series.axis}^{grows:.2f}, target at most {series.limit:g}:"
    last += " met" if grows <= series.limit else " MISSED"
    if series.goal is not None:
        last += f"; goal at most {series.goal:g}: {'reached' if grows <= series.goal else 'not reached'}"
    head = f"{series.name}, {series.seconds:g} s, static routes, 2 Mbit/s (least of {repeats} or more)"
    table = [
        f"    {point.size:5} {series.axis}  CPU {point.run.cpu_s:7.3f} s  {point.run.events:10} events"
        f"  {point.per_event_us:6.3f} us per event  {point.per_packet_us:7.2f} us per delivered packet"
        f"  {point.run.peak_mb:4.0f} MB"
        for point in points
    ]
    return [head, *table, last]


def draw(curves: Sequence[tuple[Series, Sequence[Point]]], repeats: int) -> Path:
    """Draw CPU per engine event and CPU per run over the number of nodes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (per_event, per_run) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    by_nodes = [(series, points) for series, points in curves if series.axis == "nodes"]
    for (series, points), marker in zip(by_nodes, "os", strict=True):
        nodes = [point.size for point in points]
        per_event.plot(nodes, [point.per_event_us for point in points], marker=marker, label=series.name)
        per_run.plot(nodes, [1e3 * p.run.cpu_s / series.seconds for p in points], marker=marker, label=series.name)
    per_event.set(xlabel="nodes", ylabel="CPU per engine event in us", ylim=(0, None))
    per_run.set(xlabel="nodes", ylabel="CPU per simulated second in ms", xscale="log", yscale="log")
    per_event.legend()
    figure.suptitle(f"Static routes, 2 Mbit/s, W=3, seed 1; least of {repeats} runs or more")
    OUT.parent.mkdir(exist_ok=True)
    figure.savefig(OUT, dpi=120)
    return OUT


# ns-2 on the curve of active chains (`ACTIVE`), as far as it gets in bounded time. It has no static routes for radios,
# so its chains find their routes by AODV: once, with a few packets each.

SECONDS, LIMIT_S = 10, 240
NODES, LARGE = (64, 496), (1000, 2000)


def ns2_lines(points: Sequence[Point], *, large: bool) -> list[str]:
    """A line for each number of nodes: its CPU time per delivered packet beside ours, and its memory."""
    if reason := ns2.missing():
        return [f"    ns-2 on the same chains: skipped: {reason}"]
    mine = {point.size: point for point in points}
    return [_line(mine[nodes]) for nodes in (*NODES, *(LARGE if large else ())) if nodes in mine]


def _line(point: Point) -> str:
    head = f"    {point.size:5} nodes  ns-2"
    chains = layout.many_active_chains(point.size)
    try:
        long, short = (
            ns2.layout(chains, seed=1, seconds=seconds, rate_mbps=2, window_pkts=3, limit_s=LIMIT_S)
            for seconds in (1 + SECONDS, 1)
        )
    except cost.ChildFailedError as error:
        return f"{head}: not within {LIMIT_S} s ({error})"
    per_packet_us = 1e6 * (long.cpu_s - short.cpu_s) / (sum(long.delivered_pkts) - sum(short.delivered_pkts))
    return (
        f"{head} {per_packet_us:9.2f} us per delivered packet, {per_packet_us / point.per_packet_us:.1f} times ours;"
        f" start-up {short.cpu_s:.1f} s of CPU; {long.peak_mb:.0f} MB"
    )
