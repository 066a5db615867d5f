"""ns-2 on the curve of active chains (`curve.ACTIVE`), as far as it gets in bounded time.

ns-2 has no fixed routes for radios, so its chains find theirs by AODV: once, a few packets each.
"""

from collections.abc import Sequence

import air
import child
import ns2
from curve import Point

SECONDS, LIMIT_S = 10, 240
NODES, LARGE = (64, 496), (1000, 2000)


def lines(points: Sequence[Point], *, large: bool) -> list[str]:
    """A line for each number of nodes: its CPU per delivered packet beside ours, its memory."""
    if reason := ns2.missing():
        return [f"    ns-2 beside it: skipped: {reason}"]
    mine = {point.size: point for point in points}
    return [_line(mine[nodes]) for nodes in (*NODES, *(LARGE if large else ()))]


def _line(point: Point) -> str:
    head = f"    {point.size:5} nodes  ns-2"
    layout = air.many_active_chains(point.size)
    try:
        long, short = (
            ns2.layout(layout, seed=1, seconds=seconds, rate_mbps=2, window_pkts=3, limit_s=LIMIT_S)
            for seconds in (1 + SECONDS, 1)
        )
    except child.ChildFailedError as error:
        return f"{head}: not within {LIMIT_S} s ({error})"
    per_packet_us = 1e6 * (long.cpu_s - short.cpu_s) / (sum(long.delivered_pkts) - sum(short.delivered_pkts))
    return (
        f"{head} {per_packet_us:9.2f} us per delivered packet, {per_packet_us / point.per_packet_us:.1f} times ours;"
        f" start-up {short.cpu_s:.1f} s of CPU; {long.peak_mb:.0f} MB"
    )
