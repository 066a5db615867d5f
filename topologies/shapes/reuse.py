"""Two pairs too far apart to disturb each other: spatial reuse.

    n0 --200 m--> n1            1000 m            n2 --200 m--> n3

Each pair must reach what a lone sender reaches. Ranges: decode 250 m, sense 550 m.
"""

from __future__ import annotations

from pacelab.topologies.kind import Kind
from pacelab.topologies.model import Flow, Node, Topology

DECODE_M, SENSE_M = 250.0, 550.0
PLACES_M = (0.0, 200.0, 1200.0, 1400.0)


def build(*, direction: str) -> Topology:
    """The two far pairs; `direction` is always "up", towards the receivers."""
    return Topology(
        name="reuse",
        description="two pairs 1000 m apart that share the channel in space",
        nodes=tuple(Node(name=f"n{i}", wireless=True, position_m=(x, 0.0)) for i, x in enumerate(PLACES_M)),
        flows=(Flow(src=0, dst=1), Flow(src=2, dst=3)),
        decode_m=DECODE_M,
        sense_m=SENSE_M,
    )


KIND = Kind(
    name="reuse",
    summary="two pairs too far apart to disturb each other, 0->1 and 2->3 (decode 250 m, sense 550 m)",
    build=build,
    traffic="udp-saturated",
)
