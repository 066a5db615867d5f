"""Nodes scattered uniformly over a rectangle, every one of them connected with every other at 250 m.

`layout_seed` decides places, gateway and flows, and nothing else does: the seed of the run is another. A layout that
is not connected is drawn anew from the same stream; the description says how many were.

    Fu, Sec. 4.2:       random                                                     200 nodes, 1000 x 2500 m, 20 flows
    TCP-GAP, Sec. 5.5:  random --nodes 120 --width 2500 --height 1000 --flows 8 --gateway --direction mixed

With a gateway (a node drawn at random, wired links to the host B behind it) every flow runs between a wireless
node drawn at random and B; "mixed" sends the first half down and the other half up. Without one, both ends of a flow
are wireless and drawn at random.
Source: [fu] Sec. 4.2; [tcp-gap] Sec. 5.5.
Deviates: the papers' own layouts are not known, nor whether Fu's were connected; ours are others of the same kind.
"""

from __future__ import annotations

from itertools import pairwise
from random import Random

from pacelab.topologies.domain import ON_OFF, Real, Whole
from pacelab.topologies.kind import (
    DECODE_M,
    SENSE_M,
    THREE_WIRES,
    Kind,
    TopologyOption,
    directed,
    flows_option,
    host,
    radio,
    routers,
    wire,
    wired_hops_option,
)
from pacelab.topologies.model import Flow, Node, Topology

SOURCE = "[fu] Sec. 4.2, [tcp-gap] Sec. 5.5"
MOST_DRAWS = 500
"""Layouts drawn before giving up."""
PER_M = 1000
"""Places are whole millimetres."""


def build(
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
    """Random layout; ValueError when none of `MOST_DRAWS` is connected."""
    if direction != "up" and not gateway:
        raise ValueError(f"--direction {direction}: topology 'random' allows up only, unless it has a --gateway")
    if wired_hops != THREE_WIRES and not gateway:
        raise ValueError(f"--wired-hops {wired_hops} without --gateway: it has no effect: allowed is --gateway")
    random = Random(layout_seed)  # only its random(), whose sequence Python guarantees
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
    """A connected layout, and how many were drawn for it."""
    for draws in range(1, MOST_DRAWS + 1):
        places = [(_scatter(random, width), _scatter(random, height)) for _ in range(nodes)]
        scattered = tuple(radio(f"n{i}", x, y) for i, (x, y) in enumerate(places))
        if _connected(scattered):
            return scattered, draws
    raise ValueError(
        f"topology 'random': none of {MOST_DRAWS} layouts of --nodes {nodes} on {width:g} x {height:g} m is "
        f"connected at {DECODE_M:g} m: allowed are more --nodes or a smaller --width and --height"
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
        source=SOURCE,
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


KIND = Kind(
    name="random",
    summary="nodes scattered over a rectangle and connected at 250 m; with or without a gateway",
    build=build,
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
    source=SOURCE,
)
