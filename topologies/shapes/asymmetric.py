"""Lee's asymmetric chains: a long and a short flow share the node mesh1, where TCP starves the long one.

    long (default):             mesh2                 --variant short:   mesh2
                                  |                                      |
       mesh4 -- relay1 ------ mesh1 ------ relay2 -- mesh11    mesh4 -- mesh1
                                  |                                      |
                                mesh14                                 mesh14

mesh2 -> mesh1 -> mesh14 has two hops in both; mesh4's flow has four hops to mesh11, or one to mesh1.
Defaults: 802.11a at 12 Mbit/s, RTS off, no MAC retries. Source: [lee] Fig. 4.3, Sec. 4.1 and 4.1.3.
Deviates: the thesis states neither distances nor ranges of its two floors. Neighbours stand 200 m apart with ns-2's
ranges, so that hops and who senses whom are as in the other papers; that mesh1 is the middle of the long path is ours.
"""

from __future__ import annotations

from pacelab.topologies.common import DECODE_M, SENSE_M, radio
from pacelab.topologies.domain import Choice
from pacelab.topologies.kind import Kind, TopologyOption
from pacelab.topologies.model import Flow, Topology
from pacelab.topologies.shapes.lee import settings

SOURCE = "[lee] Fig. 4.3"
RATE_BPS = 12_000_000
STEP_M = 200.0


def build(*, direction: str, variant: str) -> Topology:
    """The long or the short asymmetric chains; `direction` is always "up", away from mesh4 and mesh2."""
    middle = [radio("mesh2", 0, STEP_M), radio("mesh1", 0, 0), radio("mesh14", 0, -STEP_M)]
    if variant == "long":
        line = [("mesh4", -2), ("relay1", -1), ("relay2", 1), ("mesh11", 2)]
        nodes, far = [*middle, *(radio(name, place * STEP_M, 0) for name, place in line)], 6
    else:
        nodes, far = [*middle, radio("mesh4", -STEP_M, 0)], 1
    hops = "four hops and two" if variant == "long" else "one hop and two"
    return Topology(
        name="asymmetric",
        description=f"{variant} asymmetric chains: {hops}, sharing mesh1",
        nodes=tuple(nodes),
        flows=(Flow(src=3, dst=far), Flow(src=0, dst=2)),
        decode_m=DECODE_M,
        sense_m=SENSE_M,
        source=SOURCE,
        defaults=settings(rate_bps=RATE_BPS),
    )


KIND = Kind(
    name="asymmetric",
    summary="a flow of four hops (or one) and a flow of two that share a node; 802.11a, RTS off, no retries",
    build=build,
    options=(
        TopologyOption(name="variant", domain=Choice.of("long", "short"), default="long", help="four hops or one"),
    ),
    source=SOURCE,
)
