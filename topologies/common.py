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
WIRED_HOPS, THREE_WIRES = Whole(1, 16), 3


def hops_option(default: int, help: str = "wireless hops") -> TopologyOption:
    """Length of the chain or chains."""
    return TopologyOption(name="hops", domain=HOPS, default=default, help=help)


def spacing_option(default: float = 200.0) -> TopologyOption:
    """Distance of neighbours."""
    return TopologyOption(name="spacing", domain=SPACING, default=default, help="metres between neighbours")


def wired_hops_option() -> TopologyOption:
    """Length of the wired part. Source: [tcp-gap] Fig. 4, Sec. 5.3 ("three wired nodes")."""
    return TopologyOption(
        name="wired_hops",
        domain=WIRED_HOPS,
        default=THREE_WIRES,
        help="wired links to the host (10 Mbit/s, 40 ms)",
    )


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


def wires(gateway: int, hops: int) -> tuple[WiredLink, ...]:
    """A line of `hops` wired links from the gateway on; the nodes behind it follow it in number."""
    return tuple(wire(gateway + i, gateway + i + 1) for i in range(hops))


def routers(hops: int) -> list[str]:
    """Names of the wired nodes between the gateway and the last host."""
    return [f"RT{i}" for i in range(1, hops)]


def directed(ups: Sequence[tuple[int, int]], downward: Sequence[bool]) -> tuple[Flow, ...]:
    """Flows between (wireless, wired) pairs of nodes: pair i from wired to wireless where `downward[i]`."""
    return tuple(
        Flow(src=wired, dst=wireless) if down else Flow(src=wireless, dst=wired)
        for (wireless, wired), down in zip(ups, downward, strict=True)
    )
