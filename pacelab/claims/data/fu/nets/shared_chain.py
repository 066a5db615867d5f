"""Fu's chain with several flows from its first to its last node. Source: [fu] Sec. 7, Fig. 10c."""

from __future__ import annotations

from dataclasses import replace

from pacelab_topologies.model import Topology
from pacelab_topologies.registry import load_topology


def topology(*, hops: int = 8, flows: int = 20) -> Topology:
    """Chain of `hops` hops, with `flows` flows between its two ends."""
    chain = load_topology("chain", hops=hops, wired=False)
    return replace(chain, flows=chain.flows * flows, description=f"{chain.description}, {flows} flows over all of it")
