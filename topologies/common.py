"""What several kinds share: the ranges of the papers' simulator, options of one meaning, flows by direction."""

from __future__ import annotations

from collections.abc import Sequence

from pacelab.topologies.domain import Real, Whole
from pacelab.topologies.kind import TopologyOption
from pacelab.topologies.model import Flow, Node, WiredLink

DECODE_M, SENSE_M = 250.0, 550.0
"""ns-2's two-ray ground at 914 MHz, and every paper's setting."""
WIRED_RATE_BPS, WIRED_DELAY_S = 10_000_000, 0.04
"""Of each wired link. Source: [tcp-gap] Sec. 5.1."""
HOPS, SPACING, FLOWS, STATIONS = Whole(1, 200), Real(1, 10_000), Whole(1, 200), Whole(1, 100)


def hops_option(default: int, help: str = "wireless hops") -> TopologyOption:
    """Length of the chain or chains."""
    return TopologyOption(name="hops", domain=HOPS, default=default, help=help)


def spacing_option(default: float = 200.0) -> TopologyOption:
    """Distance of neighbours."""
    return TopologyOption(name="spacing", domain=SPACING, default=default, help="metres between neighbours")


def flows_option(default: int) -> TopologyOption:
    """Number of flows."""
    return TopologyOption(name="flows", domain=FLOWS, default=default, help="number of flows")


def radio(name: str, x_m: float, y_m: float) -> Node:
    """A wireless node."""
    return Node(name=name, wireless=True, position_m=(float(x_m), float(y_m)))


def host(name: str, x_m: float, y_m: float) -> Node:
    """A wired host or router; its place is for drawings."""
    return Node(name=name, wireless=False, position_m=(float(x_m), float(y_m)))


def wire(a: int, b: int, *, rate_bps: int = WIRED_RATE_BPS, delay_s: float = WIRED_DELAY_S) -> WiredLink:
    """A wired link, the papers' unless said otherwise."""
    return WiredLink(a=a, b=b, rate_bps=rate_bps, delay_s=delay_s)


def directed(ups: Sequence[tuple[int, int]], downward: Sequence[bool]) -> tuple[Flow, ...]:
    """Flows between (wireless, wired) pairs of nodes: pair i from wired to wireless where `downward[i]`."""
    return tuple(
        Flow(src=wired, dst=wireless) if down else Flow(src=wireless, dst=wired)
        for (wireless, wired), down in zip(ups, downward, strict=True)
    )
