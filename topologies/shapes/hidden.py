"""Two hidden senders and one receiver between them.

    n0 --200 m--> n1 <--200 m-- n2

The senders are 400 m apart. This topology has its own ranges: sense = decode = 250 m, so that neither sender hears
anything of the other and only the receiver's CTS keeps them apart.
"""

from __future__ import annotations

from pacelab.topologies.kind import Kind
from pacelab.topologies.model import Flow, Node, Topology

RANGE_M = 250.0


def build(*, direction: str) -> Topology:
    """The hidden pair; `direction` is always "up", towards the receiver."""
    return Topology(
        name="hidden",
        description="two senders that cannot sense each other, one receiver between them",
        nodes=tuple(Node(name=f"n{i}", wireless=True, position_m=(200.0 * i, 0.0)) for i in range(3)),
        flows=(Flow(src=0, dst=1), Flow(src=2, dst=1)),
        decode_m=RANGE_M,
        sense_m=RANGE_M,
    )


KIND = Kind(
    name="hidden",
    summary="two senders that cannot sense each other, 0->1 and 2->1 (decode 250 m, sense 250 m)",
    build=build,
    traffic="udp-saturated",
)
