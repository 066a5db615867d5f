r"""TCP-GAP's cross: the gateway in its centre, four wireless arms, seven wired nodes.

                 A1
                 :                              B1
                 RL                           //
    A4 .. RL -- IG -- RL .. A2      IG === R1 === R2 == B2
                 RL                        \\
                 :                            R3 == B3
                 A3                            \\
                                                B4

IG is one node; the wired tree beside it hangs on IG. Arm i ends at A_i, whose peer is B_i, three wired links away.
Source: [tcp-gap] Fig. 14 and Sec. 5.4 (seven wired hosts, flows A1-B1 .. A4-B4).
Deviates: the figure is lost. Seven wired nodes with paths as long as those of Fig. 4 (three links) make this tree; the
text gives no length of the arms: 4 hops, the shortest with a hidden terminal on the way.
"""

from __future__ import annotations

from pacelab.topologies.common import DECODE_M, SENSE_M, directed, hops_option, host, radio, spacing_option, wire
from pacelab.topologies.kind import Kind
from pacelab.topologies.model import Topology

SOURCE = "[tcp-gap] Fig. 14"
ARMS = ((0, 1), (1, 0), (0, -1), (-1, 0))
"""Directions of the arms of A1 to A4: up, right, down, left."""


def build(*, direction: str, hops: int, spacing: float) -> Topology:
    """Four arms of `hops` wireless hops; "mixed" sends A1 and A3 up, B2 and B4 down."""
    nodes = []
    for arm, (dx, dy) in enumerate(ARMS):
        names = [f"A{arm + 1}", *(f"RL{arm * (hops - 1) + i}" for i in range(1, hops))]
        nodes += [radio(name, dx * spacing * (hops - i), dy * spacing * (hops - i)) for i, name in enumerate(names)]
    ig = len(nodes)
    x, y = (hops + 1) * spacing, (hops + 0.5) * spacing
    nodes += [radio("IG", 0, 0), host("R1", x / 2, y / 2), host("R2", x * 0.7, y), host("R3", x, y * 0.7)]
    nodes += [host("B1", x * 0.7, y * 1.25), host("B2", x, y * 1.25)]
    nodes += [host("B3", x * 1.25, y * 0.95), host("B4", x * 1.25, y * 0.65)]
    r1, r2, r3, b1 = ig + 1, ig + 2, ig + 3, ig + 4
    down = {"up": (False,) * 4, "down": (True,) * 4, "mixed": (False, True, False, True)}[direction]
    return Topology(
        name="cross-gateway",
        description=f"a cross of four {hops}-hop arms around one gateway, and seven wired nodes",
        nodes=tuple(nodes),
        flows=directed([(arm * hops, b1 + arm) for arm in range(4)], down),
        decode_m=DECODE_M,
        sense_m=SENSE_M,
        wired=tuple(
            wire(a, b) for a, b in [(ig, r1), (r1, r2), (r1, r3), (r2, b1), (r2, b1 + 1), (r3, b1 + 2), (r3, b1 + 3)]
        ),
        source=SOURCE,
    )


KIND = Kind(
    name="cross-gateway",
    summary="four arms around one gateway; seven wired nodes, four of them peers of the arms' ends",
    build=build,
    options=(hops_option(4), spacing_option()),
    directions=("up", "down", "mixed"),
    source=SOURCE,
)
