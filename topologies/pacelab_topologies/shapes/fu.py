"""The topologies of [fu] beside the chain: a cross of two chains, a grid, and random nodes (also of [tcp-gap])."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from pacelab.domains import ON_OFF, Real, Whole
from pacelab_topologies.kind import (
    DECODE_M,
    SENSE_M,
    THREE_WIRES,
    Kind,
    TopologyOption,
    directed,
    flows_option,
    hops_option,
    host,
    radio,
    routers,
    spacing_option,
    wire,
    wired_hops_option,
)
from pacelab_topologies.model import Flow, Node, Topology

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
    Deviates: the paper numbers the nodes in its figure only. With 13 nodes and its flows, only node 3 can be the
    centre.

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
    Deviates: only the lost figure shows which rows they are. Here k rows divide the grid into k + 1 strips, rounded.

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
    """Choose `count` of the lines 0 .. side - 1 that divide them evenly, rounded half up."""
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


RANDOM_LAYOUT_SOURCE = "[fu] Sec. 4.2, [tcp-gap] Sec. 5.5"
MOST_DRAWS = 500
"""Maximum number of layouts that are drawn."""
PER_M = 1000
"""Positions are whole millimetres."""


def random_layout(
    *,
    direction: str,
    nodes: int,
    width: float,
    height: float,
    flows: int,
    gateway: bool,
    wired_hops: int,
    layout_seed: int,
) -> Topology:
    """Nodes distributed uniformly over a rectangle, all connected with each other at a range of 250 m.

    Only `layout_seed` decides positions, gateway and flows. The seed of the run is another one. A layout that is not
    connected is drawn again from the same stream; the description reports how often.

        Fu, Sec. 4.2:       random                                                   200 nodes, 1000 x 2500 m, 20 flows
        TCP-GAP, Sec. 5.5:  random --nodes 120 --width 2500 --height 1000 --flows 8 --gateway --direction mixed

    With a gateway (a node drawn at random, wired links to the host B behind it) every flow runs between a wireless node
    drawn at random and B; "mixed" sends the first half down and the other half up. Without one, both ends of a flow are
    wireless and drawn at random.
    Source: [fu] Sec. 4.2; [tcp-gap] Sec. 5.5.
    Deviates: the papers' own layouts are not known, nor whether Fu's were connected. Ours are similar.

    Raises ValueError if none of `MOST_DRAWS` layouts is connected.
    """
    if direction != "up" and not gateway:
        raise ValueError(f"--direction must be up for topology 'random' without --gateway, not {direction}")
    if wired_hops != THREE_WIRES and not gateway:
        raise ValueError(f"--wired-hops {wired_hops} has no effect without --gateway; add --gateway")
    random = Random(layout_seed)  # only random(), whose sequence Python guarantees
    scattered, draws = _draw(random, nodes, width, height)
    redrawn = f", drawn {draws} times until connected" if draws > 1 else ""
    about = f"{nodes} nodes at random on {width:g} x {height:g} m (layout seed {layout_seed}{redrawn})"
    if not gateway:
        return _topology(about, scattered, tuple(_pair(random, nodes) for _ in range(flows)))
    ig = _pick(random, nodes)
    x, y = scattered[ig].position_m
    names = [*routers(wired_hops), "B"]
    wired = tuple(host(name, x, y - height * 0.15 * step) for step, name in enumerate(names, start=1))
    b = nodes + wired_hops - 1
    peers = [_pick(random, nodes, but=ig) for _ in range(flows)]
    half = flows // 2
    down = {"up": [False] * flows, "down": [True] * flows, "mixed": [i < half for i in range(flows)]}[direction]
    return _topology(
        f"{about}, gateway {scattered[ig].name}",
        (*scattered, *wired),
        directed([(peer, b) for peer in peers], down),
        wired=list(pairwise([ig, *range(nodes, b + 1)])),
    )


def _draw(random: Random, nodes: int, width: float, height: float) -> tuple[tuple[Node, ...], int]:
    """A connected layout, and the number of layouts drawn for it."""
    for draws in range(1, MOST_DRAWS + 1):
        places = [(_scatter(random, width), _scatter(random, height)) for _ in range(nodes)]
        scattered = tuple(radio(f"n{i}", x, y) for i, (x, y) in enumerate(places))
        if _connected(scattered):
            return scattered, draws
    raise ValueError(
        f"topology 'random': none of {MOST_DRAWS} layouts of --nodes {nodes} on {width:g} x {height:g} m is "
        f"connected at {DECODE_M:g} m: use more --nodes, or a smaller --width and --height"
    )


def _topology(
    about: str, nodes: tuple[Node, ...], flows: tuple[Flow, ...], wired: list[tuple[int, int]] | None = None
) -> Topology:
    return Topology(
        name="random",
        description=about,
        nodes=nodes,
        flows=flows,
        decode_m=DECODE_M,
        sense_m=SENSE_M,
        wired=tuple(wire(a, b) for a, b in wired or ()),
        source=RANDOM_LAYOUT_SOURCE,
    )


def _connected(nodes: tuple[Node, ...]) -> bool:
    if len({node.position_m for node in nodes}) < len(nodes):
        return False
    bare = Topology(name="random", description="", nodes=nodes, flows=(), decode_m=DECODE_M, sense_m=SENSE_M)
    return len(bare.reached(0)) == len(nodes)


def _scatter(random: Random, length_m: float) -> float:
    return round(random.random() * length_m * PER_M) / PER_M


def _pick(random: Random, count: int, but: int | None = None) -> int:
    found = int(random.random() * (count if but is None else count - 1))
    return found + (but is not None and found >= but)


def _pair(random: Random, count: int) -> Flow:
    src = _pick(random, count)
    return Flow(src=src, dst=_pick(random, count, but=src))


RANDOM = Kind(
    name="random",
    summary="nodes scattered over a rectangle and connected at 250 m; with or without a gateway",
    build=random_layout,
    options=(
        TopologyOption(name="nodes", domain=Whole(2, 500), default=200, help="wireless nodes"),
        TopologyOption(name="width", domain=Real(1, 100_000), default=1000.0, help="metres from left to right"),
        TopologyOption(name="height", domain=Real(1, 100_000), default=2500.0, help="metres from bottom to top"),
        flows_option(20),
        TopologyOption(name="gateway", domain=ON_OFF, default=False, help="a gateway and wired links behind it"),
        wired_hops_option(),
        TopologyOption(name="layout_seed", domain=Whole(0, 2**63 - 1), default=1, help="seed of the layout alone"),
    ),
    directions=("up", "down", "mixed"),
    source=RANDOM_LAYOUT_SOURCE,
)
