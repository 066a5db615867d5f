"""Backlogged senders in a random network, each with a receiver in range: the setting of Fu's contention model.

The senders are the first nodes in one random order of a connected layout, so a larger set contains the smaller ones.
Source: [fu] Sec. 5.3.2. Deviates: a sender's receiver is its nearest neighbour that is not a sender.
"""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

from pacelab_topologies.model import Flow, Topology
from pacelab_topologies.registry import load_topology


def topology(*, senders: int = 10, nodes: int = 200, layout_seed: int = 1) -> Topology:
    """`senders` one-hop flows among `nodes` nodes in 1000 x 2500 m."""
    layout = load_topology("random", nodes=nodes, flows=1, layout_seed=layout_seed)
    order = list(range(nodes))
    Random(layout_seed).shuffle(order)
    sending, rest = order[:senders], order[senders:]
    flows = tuple(Flow(src=node, dst=_nearest(layout, node, rest)) for node in sending)
    return replace(layout, flows=flows, description=f"{senders} backlogged senders among {nodes} random nodes")


def _nearest(layout: Topology, node: int, others: list[int]) -> int:
    return min(others, key=lambda other: (math.dist(*(layout.nodes[i].position_m for i in (node, other))), other))
