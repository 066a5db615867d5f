r"""A STAND-IN for Lee's mesh on one floor: the links of his Fig. 4.4 are lost, so results here are not his.

    m0 --- m1 --- m2 --- m3 --- m4        three rows of 5, 4 and 5 nodes,
     \   /  \   /  \   /  \   /          200 m apart in a row,
      m5 --- m6 --- m7 --- m8             the rows 150 m apart, each shifted by half a step

What is kept: a connected mesh of a dozen or so nodes on one floor, sources and sinks drawn at random (`layout_seed`),
all flows starting together, shortest paths, 802.11a at 12 Mbit/s, RTS off, no MAC retries.
Source: [lee] Fig. 4.4, Sec. 4.1.4 and 5.7.1. Deviates: number, places and links of the nodes are ours.
"""

from __future__ import annotations

from random import Random

from pacelab.topologies.common import DECODE_M, SENSE_M, flows_option, radio
from pacelab.topologies.domain import Whole
from pacelab.topologies.kind import Kind, TopologyOption
from pacelab.topologies.model import Flow, Topology
from pacelab.topologies.shapes.lee import settings

SOURCE = "stand-in for [lee] Fig. 4.4"
RATE_BPS = 12_000_000
STEP_M, ROW_M = 200.0, 150.0
ROWS = (5, 4, 5)


def build(*, direction: str, flows: int, layout_seed: int) -> Topology:
    """The stand-in mesh with `flows` random flows; `direction` is always "up"."""
    places = [
        (column * STEP_M + (row % 2) * STEP_M / 2, -row * ROW_M) for row, n in enumerate(ROWS) for column in range(n)
    ]
    random = Random(layout_seed)
    ends = []
    for _ in range(flows):
        src, other = int(random.random() * len(places)), int(random.random() * (len(places) - 1))
        ends.append(Flow(src=src, dst=other + (other >= src)))
    return Topology(
        name="full-mesh",
        description=f"stand-in mesh of {len(places)} nodes on one floor, {flows} random flow(s) (seed {layout_seed})",
        nodes=tuple(radio(f"m{i}", x, y) for i, (x, y) in enumerate(places)),
        flows=tuple(ends),
        decode_m=DECODE_M,
        sense_m=SENSE_M,
        source=SOURCE,
        defaults=settings(rate_bps=RATE_BPS),
    )


KIND = Kind(
    name="full-mesh",
    summary="STAND-IN for an indoor mesh whose links are not known: 14 nodes, random flows; 802.11a, RTS off",
    build=build,
    options=(
        flows_option(8),
        TopologyOption(name="layout_seed", domain=Whole(0, 2**63 - 1), default=1, help="seed of the layout alone"),
    ),
    source=SOURCE,
)
