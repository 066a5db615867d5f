"""TCP-GAP's chain with several users at its far end, which load pages from the wired host.

Source: [tcp-gap] Sec. 1 (HTTP-like traffic). Deviates: the study is not in the paper; topology and users are ours.
"""

from __future__ import annotations

from dataclasses import replace

from pacelab_topologies.model import Topology
from pacelab_topologies.registry import load_topology


def topology(*, hops: int = 7, flows: int = 8) -> Topology:
    """Chain of `hops` hops and a wired host, `flows` flows from the host to the last node."""
    chain = load_topology("chain", hops=hops, direction="down")
    return replace(chain, flows=chain.flows * flows, description=f"{chain.description}, {flows} users")
