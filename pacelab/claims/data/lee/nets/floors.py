"""Lee's parallel chains: one chain of four hops on each of two floors. Nodes above each other interfere.

    floor2   b0 --- b1 --- b2 --- b3 --- b4          y = 400 m: out of decoding, a node senses the one below it and
                                                     that one's neighbours
    floor1   a0 --- a1 --- a2 --- a3 --- a4          y = 0

Source: [lee] Fig. 4.2, Sec. 4.1.2. Deviates: distances are those of the other papers' parallel chains; only the lost
figure showed the testbed's floors.
"""

from __future__ import annotations

from pacelab_topologies.kind import DECODE_M, SENSE_M, radio
from pacelab_topologies.model import Flow, Topology
from pacelab_topologies.shapes.lee import settings

STEP_M, FLOORS_M = 200.0, 400.0
HOPS = 4


def topology() -> Topology:
    """Two chains without common nodes, with one flow from end to end on each."""
    nodes = [radio(f"{name}{i}", i * STEP_M, y) for name, y in (("a", 0.0), ("b", FLOORS_M)) for i in range(HOPS + 1)]
    return Topology(
        name="floors",
        description="two parallel chains of four hops that share no node, 400 m apart",
        nodes=tuple(nodes),
        flows=(Flow(src=0, dst=HOPS), Flow(src=HOPS + 1, dst=2 * HOPS + 1)),
        decode_m=DECODE_M,
        sense_m=SENSE_M,
        source="[lee] Fig. 4.2",
        defaults=settings(rate_bps=12_000_000),
    )
