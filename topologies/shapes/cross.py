"""Two chains that cross in their middle node: 13 nodes and two 6-hop flows.

                  7
                  |
                  8
                  |
                  9
                  |
    0 -- 1 -- 2 --3-- 4 -- 5 -- 6        neighbours 200 m apart
                  |
                 10
                  |
                 11
                  |
                 12

Flows 0 -> 6 and 7 -> 12 share node 3. Source: [fu] Fig. 3a and Sec. 4.2.
Deviates: the paper numbers the nodes in its figure only; node 3 as the centre is what 13 nodes and its flows leave.
"""

from __future__ import annotations

from pacelab.topologies.common import DECODE_M, SENSE_M, hops_option, radio, spacing_option
from pacelab.topologies.kind import Kind
from pacelab.topologies.model import Flow, Topology

SOURCE = "[fu] Fig. 3a"


def build(*, direction: str, hops: int, spacing: float) -> Topology:
    """Cross of two chains of `hops` hops (an even number); `direction` is always "up", 0 to 6 and 7 to 12."""
    if hops % 2:
        raise ValueError(f"--hops {hops}: topology 'cross' allows even numbers only: its chains cross in their middle")
    arm = hops // 2
    across = [radio(f"n{i}", (i - arm) * spacing, 0) for i in range(hops + 1)]
    steps = [step for step in range(arm, -arm - 1, -1) if step]
    down = [radio(f"n{hops + 1 + i}", 0, step * spacing) for i, step in enumerate(steps)]
    return Topology(
        name="cross",
        description=f"a cross of two {hops}-hop chains that share their middle node",
        nodes=(*across, *down),
        flows=(Flow(src=0, dst=hops), Flow(src=hops + 1, dst=2 * hops)),
        decode_m=DECODE_M,
        sense_m=SENSE_M,
        source=SOURCE,
    )


KIND = Kind(
    name="cross",
    summary="13 nodes: two 6-hop flows, n0->n6 and n7->n12, that cross in n3",
    build=build,
    options=(hops_option(6), spacing_option()),
    source=SOURCE,
)
