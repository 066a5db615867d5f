"""Two exposed senders, back to back.

    n0 <--200 m-- n1   200 m   n2 --200 m--> n3

Each sender could send without harm to the other's receiver, but senses the other and waits.
Ranges: decode 250 m, sense 550 m.
"""

from __future__ import annotations

from pacelab.topologies.kind import Kind
from pacelab.topologies.model import Flow, Node, Topology

DECODE_M, SENSE_M = 250.0, 550.0


def build(*, direction: str) -> Topology:
    """The exposed pair; `direction` is always "up", towards the receivers."""
    return Topology(
        name="exposed",
        description="two senders back to back that sense each other and wait without need",
        nodes=tuple(Node(name=f"n{i}", wireless=True, position_m=(200.0 * i, 0.0)) for i in range(4)),
        flows=(Flow(src=1, dst=0), Flow(src=2, dst=3)),
        decode_m=DECODE_M,
        sense_m=SENSE_M,
    )


KIND = Kind(
    name="exposed",
    summary="two senders back to back that sense each other, 1->0 and 2->3 (decode 250 m, sense 550 m)",
    build=build,
    traffic="udp-saturated",
)
