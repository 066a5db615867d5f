"""Fu's model of link-layer contention: from hidden terminals to dropped packets.

    H_f = 1 - B_f / CS_f                               (1) a start of a transmission that fails
    p_r = (1 - H) H^r / (1 - H^(r+1))                  (2) the packet is dropped after r failures
    c(m) = floor(m / ceil(m / C*)),  b(m) = floor(c(m) / ceil(c(m) / B*))
    L_f(m) = p_r(1 - b/c) * c/m                        (3) drop probability of one of m backlogged senders, per slot
    L(m) = 1 - (1 - L_f(m))^c(m)                       (4)

C* is the most senders that can start at once (no two sense each other), B* the most that can succeed at once.
Properties 5.1-5.3: L_f is 0 up to B*, grows up to C*, and stays there beyond it.
Source: [fu] Sec. 5.3.
Deviates: Eq. (3) prints b(m)/m where (2) with CS_f = c(m)/m and 1 - H_f = b/c gives (b/c)(c/m), the same number.
Deviates: the chain counts state r as one more start; a packet that fails r times starts r times, which would give
(1 - H) H^r / (1 - H^r). `retry_drop_probability` follows the paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pacelab.topologies.model import Topology

RETRY_LIMIT = 7
"""r: attempts of an RTS."""


def retry_drop_probability(hidden: float, retry_limit: int = RETRY_LIMIT) -> float:
    """p_r for the probability `hidden`, 0..1, that an RTS fails. Source: [fu] Eq. (2)."""
    if not 0 <= hidden <= 1:
        raise ValueError(f"hidden {hidden}: allowed is 0..1")
    if hidden == 1:
        return 1 / (retry_limit + 1)  # the limit
    return (1 - hidden) * hidden**retry_limit / (1 - hidden ** (retry_limit + 1))


def starters(backlogged: int, most_starters: int) -> int:
    """c(m): senders that start at once of `backlogged` ones."""
    return backlogged // math.ceil(backlogged / most_starters)


def winners(started: int, most_winners: int) -> int:
    """b(m): transmissions that succeed of `started` ones."""
    return started // math.ceil(started / most_winners)


def sender_drop_probability(backlogged: int, *, most_starters: int, most_winners: int) -> float:
    """L_f(m), per slot. Source: [fu] Eq. (3)."""
    started = starters(backlogged, most_starters)
    hidden = 1 - winners(started, most_winners) / started
    return retry_drop_probability(hidden) * started / backlogged


def network_drop_probability(backlogged: int, *, most_starters: int, most_winners: int) -> float:
    """L(m), per slot. Source: [fu] Eq. (4)."""
    single = sender_drop_probability(backlogged, most_starters=most_starters, most_winners=most_winners)
    return 1 - (1 - single) ** starters(backlogged, most_starters)


def capacities(topology: Topology) -> tuple[int, int]:
    """C* and B* of a topology whose flows have one hop: senders that can start, and pairs that can succeed, at once."""

    def sense(a: int, b: int) -> bool:
        return topology.distance_m(a, b) <= topology.sense_m

    flows = topology.flows
    starts = [[f is not g and sense(f.src, g.src) for g in flows] for f in flows]
    wins = [
        [f is not g and any(sense(a, b) for a in (f.src, f.dst) for b in (g.src, g.dst)) for g in flows] for f in flows
    ]
    most_winners = most_independent(wins)
    return max(most_independent(starts), most_winners), most_winners  # who succeed at once have started at once


def most_independent(conflicts: Sequence[Sequence[bool]]) -> int:
    """Most members of which no two conflict, found greedily by fewest conflicts: a lower bound."""
    left = set(range(len(conflicts)))
    chosen = 0
    while left:
        best = min(left, key=lambda i: (sum(conflicts[i][j] for j in left), i))
        left -= {j for j in left if conflicts[best][j]} | {best}
        chosen += 1
    return chosen
