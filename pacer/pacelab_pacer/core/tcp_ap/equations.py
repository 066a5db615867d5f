"""The equation of [lee] that is not [tcp-gap]'s too (`tcp_gap.equations`, there with any n).

OID = the n-hop delay with n = H_cs + 1                          (2.1)
"""

from __future__ import annotations


def out_of_interference_hops(sense_hops: int) -> int:
    """n, so that a packet is out of the interference of the next when that one leaves; `sense_hops` is H_cs."""
    return sense_hops + 1
