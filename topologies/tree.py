r"""VAGP's tree, two hops deep: the gateway G at the root, two branches, four leaves.

           MP6              MP7
          /                    \
       m1 ------- G ------- m2         G === server
          \                    /
           MAP3            MAP8

Flows run down, from the wired server to each leaf, `--tcp` of them per leaf. The two branches sense each other's inner
nodes only: their leaves are hidden from one another. Defaults: 802.11a at 12 Mbit/s.
Source: [vagp] Fig. 9 and Sec. IV-E (seven nodes, two hops deep, G at the root; Internet delay 30 ms, Fig. 8).
Deviates: places, ranges and the wired rate are not given: 200 m between neighbours, ns-2's ranges, 100 Mbit/s.
"""

from __future__ import annotations

from pacelab.topologies.common import DECODE_M, SENSE_M, directed, host, radio, wire
from pacelab.topologies.domain import Whole
from pacelab.topologies.kind import Kind, TopologyOption
from pacelab.topologies.model import Topology

SOURCE = "[vagp] Fig. 9"
RATE_BPS = 12_000_000
INTERNET_RATE_BPS, INTERNET_DELAY_S = 100_000_000, 0.03
STEP_M, SIDE_M = 200.0, 160.0
"""Leaves stand 120 m further out and 160 m to the side: 200 m from their parent, 320 m from each other."""


def build(*, direction: str, tcp: int) -> Topology:
    """Tree of seven wireless nodes with `tcp` flows per leaf."""
    out = STEP_M + 120.0
    nodes = [
        radio("G", 0, 0),
        radio("m1", -STEP_M, 0),
        radio("m2", STEP_M, 0),
        radio("MP6", -out, SIDE_M),
        radio("MAP3", -out, -SIDE_M),
        radio("MP7", out, SIDE_M),
        radio("MAP8", out, -SIDE_M),
        host("server", 0, 1.5 * STEP_M),
    ]
    ends = [(leaf, 7) for leaf in range(3, 7) for _ in range(tcp)]
    down = {"down": [True] * len(ends), "up": [False] * len(ends), "mixed": [i % 2 == 0 for i in range(len(ends))]}
    return Topology(
        name="tree",
        description=f"a tree two hops deep with four leaves, {tcp} flow(s) per leaf",
        nodes=tuple(nodes),
        flows=directed(ends, down[direction]),
        decode_m=DECODE_M,
        sense_m=SENSE_M,
        wired=(wire(0, 7, rate_bps=INTERNET_RATE_BPS, delay_s=INTERNET_DELAY_S),),
        source=SOURCE,
        defaults={"phy": "802.11a", "rate_bps": RATE_BPS},
    )


KIND = Kind(
    name="tree",
    summary="seven nodes two hops deep, the gateway at the root, flows from a wired server to the leaves; 802.11a",
    build=build,
    options=(TopologyOption(name="tcp", domain=Whole(1, 50), default=3, help="TCP flows per leaf or destination"),),
    directions=("down", "up", "mixed"),
    source=SOURCE,
)
