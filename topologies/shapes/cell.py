"""One cell: n saturated senders, all within range of each other, and one receiver.

    n0 <- n1, n2, ... nn        receiver at x = 0, senders at 10, 20, ... 10 n metres

The setting of Bianchi's model of the DCF. Ranges: decode 250 m, sense 550 m.
"""

from __future__ import annotations

from pacelab.topologies.domain import Whole
from pacelab.topologies.kind import Kind, TopologyOption
from pacelab.topologies.model import Flow, Node, Topology

DECODE_M, SENSE_M = 250.0, 550.0
STEP_M = 10.0
MOST_STATIONS = 25
"""The 25th sender stands at 250 m, the last place from which the receiver decodes it."""


def build(*, direction: str, stations: int) -> Topology:
    """Cell of `stations` senders; `direction` is always "up", towards the receiver."""
    nodes = tuple(Node(name=f"n{i}", wireless=True, position_m=(i * STEP_M, 0.0)) for i in range(stations + 1))
    return Topology(
        name="cell",
        description=f"{stations} senders around one receiver, all in range of each other",
        nodes=nodes,
        flows=tuple(Flow(src=i, dst=0) for i in range(1, stations + 1)),
        decode_m=DECODE_M,
        sense_m=SENSE_M,
    )


KIND = Kind(
    name="cell",
    summary="n senders and one receiver, all in range of each other (decode 250 m, sense 550 m)",
    build=build,
    options=(TopologyOption(name="stations", domain=Whole(1, MOST_STATIONS), default=5, help="senders, every 10 m"),),
    traffic="udp-saturated",
)
