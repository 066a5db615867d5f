"""The equation that [lee] adds to those of [tcp-gap] (`tcp_gap.equations`, which take any n).

OID = the n-hop delay with n = H_cs + 1                          (2.1)
"""

from __future__ import annotations


def out_of_interference_hops(sense_hops: int) -> int:
    """n: after so many hops a packet no longer interferes with the next one; `sense_hops` is H_cs."""
    return sense_hops + 1
