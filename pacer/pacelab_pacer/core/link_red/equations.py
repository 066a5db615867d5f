"""Algorithms 1 and 2 of [fu] Sec. 6 as formulas; the paper numbers none.

avg_retry <- 7/8 avg_retry + 1/8 retry                                       Algorithm 1, line 11; after each packet
mark_prob = 0 while avg_retry < min_th, from there on
min((avg_retry - min_th) / (max_th - min_th), max_P)             Algorithm 1
extra_Backoff = TX_Time(DATA) + overhead                                     Algorithm 2
"""

from __future__ import annotations

NEW_WEIGHT = 1 / 8
"""Share of the newest packet in the average. Source: [fu] Algorithm 1, line 11."""


def average_retries(average: float, retries: int) -> float:
    """avg_retry after a packet that took so many retransmissions."""
    return average + NEW_WEIGHT * (retries - average)


def drop_probability(average: float, *, min_retries: float, max_retries: float, max_probability: float) -> float:
    """mark_prob: the share of packets to drop or mark at this average."""
    if average < min_retries:
        return 0.0
    return min((average - min_retries) / (max_retries - min_retries), max_probability)


def extra_backoff_slots(exchange_ns: int, slot_ns: int) -> int:
    """extra_Backoff: the exchange of the frame with RTS, CTS, ACK and the gaps between, in slots, rounded up."""
    return -(-exchange_ns // slot_ns)
