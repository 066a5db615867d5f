"""The topologies of [fu] beside the chain: a cross of two chains, and a grid."""

from __future__ import annotations

from pacelab.topologies.domain import Whole
from pacelab.topologies.kind import (
    DECODE_M,
    SENSE_M,
    Kind,
    TopologyOption,
    flows_option,
    hops_option,
    radio,
    spacing_option,
)
from pacelab.topologies.model import Flow, Topology

CROSS_SOURCE = "[fu] Fig. 3a"


def cross(*, direction: str, hops: int, spacing: float) -> Topology:
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

    Cross of two chains of `hops` hops (an even number); `direction` is always "up", 0 to 6 and 7 to 12.
    """
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
        source=CROSS_SOURCE,
    )


CROSS = Kind(
    name="cross",
    summary="13 nodes: two 6-hop flows, n0->n6 and n7->n12, that cross in n3",
    build=cross,
    options=(hops_option(6), spacing_option()),
    source=CROSS_SOURCE,
)


GRID_SOURCE = "[fu] Fig. 3b"


def grid(*, direction: str, side: int, flows: int, spacing: float) -> Topology:
    """A square grid, half of the flows from left to right, half from bottom to top, spaced evenly.

        n156 .. n168       13 x 13 nodes 200 m apart; n0 is at (0, 0), n12 at (2400, 0)
         :        :        4 flows: rows 4 and 8 (of 0..12), then columns 4 and 8
        n0  ..  n12

    Source: [fu] Fig. 3b and Sec. 4.2 (13 x 13; 4, 8 and 12 flows, half horizontal, half vertical, spaced evenly).
    Deviates: which rows they are is in the lost figure; here k rows divide the grid into k + 1 strips, rounded.

    Grid of `side` x `side` nodes with `flows` flows (even); `direction` is always "up".
    """
    if flows % 2 or flows // 2 > side:
        raise ValueError(f"--flows {flows}: topology 'grid' with --side {side} allows even numbers up to {2 * side}")
    lines = evenly(flows // 2, side)
    across = [Flow(src=row * side, dst=row * side + side - 1) for row in lines]
    upwards = [Flow(src=column, dst=(side - 1) * side + column) for column in lines]
    return Topology(
        name="grid",
        description=f"a grid of {side} x {side} nodes with {flows} flows, half across, half upwards",
        nodes=tuple(radio(f"n{i}", (i % side) * spacing, (i // side) * spacing) for i in range(side * side)),
        flows=(*across, *upwards),
        decode_m=DECODE_M,
        sense_m=SENSE_M,
        source=GRID_SOURCE,
    )


def evenly(count: int, side: int) -> list[int]:
    """`count` of the lines 0 .. side - 1 that divide them evenly, rounded half up."""
    return [((2 * (i + 1) * (side + 1) + count + 1) // (2 * (count + 1))) - 1 for i in range(count)]


GRID = Kind(
    name="grid",
    summary="13 x 13 nodes 200 m apart, half of the flows across, half upwards",
    build=grid,
    options=(
        TopologyOption(name="side", domain=Whole(2, 30), default=13, help="nodes along an edge"),
        flows_option(4),
        spacing_option(),
    ),
    source=GRID_SOURCE,
)
