"""A square grid, half of the flows from left to right, half from bottom to top, spaced evenly.

    n156 .. n168       13 x 13 nodes 200 m apart; n0 is at (0, 0), n12 at (2400, 0)
     :        :        4 flows: rows 4 and 8 (of 0..12), then columns 4 and 8
    n0  ..  n12

Source: [fu] Fig. 3b and Sec. 4.2 (13 x 13; 4, 8 and 12 flows, half horizontal, half vertical, spaced evenly).
Deviates: which rows they are is in the lost figure; here k rows divide the grid into k + 1 strips, rounded.
"""

from __future__ import annotations

from pacelab.topologies.common import DECODE_M, SENSE_M, flows_option, radio, spacing_option
from pacelab.topologies.domain import Whole
from pacelab.topologies.kind import Kind, TopologyOption
from pacelab.topologies.model import Flow, Topology

SOURCE = "[fu] Fig. 3b"


def build(*, direction: str, side: int, flows: int, spacing: float) -> Topology:
    """Grid of `side` x `side` nodes with `flows` flows (even); `direction` is always "up"."""
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
        source=SOURCE,
    )


def evenly(count: int, side: int) -> list[int]:
    """`count` of the lines 0 .. side - 1 that divide them evenly, rounded half up."""
    return [((2 * (i + 1) * (side + 1) + count + 1) // (2 * (count + 1))) - 1 for i in range(count)]


KIND = Kind(
    name="grid",
    summary="13 x 13 nodes 200 m apart, half of the flows across, half upwards",
    build=build,
    options=(
        TopologyOption(name="side", domain=Whole(2, 30), default=13, help="nodes along an edge"),
        flows_option(4),
        spacing_option(),
    ),
    source=SOURCE,
)
