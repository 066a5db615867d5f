"""Backlogged senders in a random network, each with a receiver in range: the setting of Fu's contention model.

The senders are the first nodes in one random order of a connected layout, so a larger set contains the smaller ones.
With `even`, the nodes are a regular grid, and each further sender is the node farthest from the senders before: the
model assumes that senders are spread evenly.
Source: [fu] Sec. 5.3.2. Deviates: a sender's receiver is its nearest neighbour that is not a sender.
"""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

from pacelab_topologies.model import Flow, Topology
from pacelab_topologies.registry import load_topology

SIDE_M, LENGTH_M = 1000, 2500


def topology(*, senders: int = 10, nodes: int = 200, layout_seed: int = 1, even: bool = False) -> Topology:
    """`senders` one-hop flows among `nodes` nodes in 1000 x 2500 m."""
    layout = load_topology("random", nodes=nodes, flows=1, layout_seed=layout_seed)
    if even:
        places = _grid(nodes)
        layout = replace(
            layout,
            nodes=tuple(replace(node, position_m=place) for node, place in zip(layout.nodes, places, strict=True)),
        )
        order = _farthest_first(layout, Random(layout_seed).randrange(nodes))
    else:
        order = list(range(nodes))
        Random(layout_seed).shuffle(order)
    sending, rest = order[:senders], order[senders:]
    flows = tuple(Flow(src=node, dst=_nearest(layout, node, rest)) for node in sending)
    return replace(layout, flows=flows, description=f"{senders} backlogged senders among {nodes} random nodes")


def _nearest(layout: Topology, node: int, others: list[int]) -> int:
    return min(others, key=lambda other: (_distance_m(layout, node, other), other))


def _distance_m(layout: Topology, one: int, other: int) -> float:
    return math.dist(*(layout.nodes[i].position_m for i in (one, other)))


def _grid(nodes: int) -> list[tuple[float, float]]:
    """`nodes` places in rows across the area, as nearly square as possible."""
    columns = max(1, round(math.sqrt(nodes * SIDE_M / LENGTH_M)))
    rows = math.ceil(nodes / columns)
    return [((i % columns + 0.5) * SIDE_M / columns, (i // columns + 0.5) * LENGTH_M / rows) for i in range(nodes)]


def _farthest_first(layout: Topology, first: int) -> list[int]:
    order, left = [first], set(range(len(layout.nodes))) - {first}
    gap_m = {node: _distance_m(layout, first, node) for node in left}
    while left:
        chosen = max(sorted(left), key=lambda node: gap_m[node])
        order.append(chosen)
        left.remove(chosen)
        gap_m = {node: min(gap_m[node], _distance_m(layout, chosen, node)) for node in left}
    return order
