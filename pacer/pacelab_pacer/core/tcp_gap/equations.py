"""The equations of [tcp-gap] Sec. 4.1 and 4.2, by their numbers. `pace_estimator` keeps their state between ACKs.

A data packet of s_data crosses the h links of rates b_1 .. b_h (nearest first), its ACK of s_ACK crosses them back, and
each waits t_q at every node. With B(k) = 1/b_1 + ... + 1/b_k

    R = 1 / (FHD_hat (1 + 2 COV_RTT))                                (1)   packets/s; T = 1/R is what a pacer needs
    FHD_hat = alpha FHD_hat_old + (1 - alpha) FHD                    (2)   alpha = 0.7
    t_q = (RTT_wireless - (s_data + s_ACK) B(h)) / 2h                (3)   RTT_wireless link by link
    FHD = n t_q + s_data B(n)                                        (4)   n = 4, at most h
    COV_RTT = sqrt(sum (RTT_i - RTT_mean)^2 / (N - 1)) / RTT_mean    (5)   of the last N round trips

With equal rates B(k) = k/b, and n = 4 gives the paper's 2 (RTT_wireless/h + (s_data - s_ACK)/b). These are the
"appropriate summations" that Sec. 4.2 leaves to the reader: RTT sums over all links, the delay over the first n.
For n > h (TCP-AP in Lee's study: a four-hop delay on a one-hop path) each missing hop counts as the mean of the known
ones, so that delay(n) = n/h delay(h).
"""

from __future__ import annotations

from collections.abc import Collection
from math import sqrt

from pacelab.units import BITS_PER_BYTE, NS_PER_S

COV_WEIGHT = 2.0
"""The factor of COV_RTT in eq. (1), as printed."""


def interval_ns(n_hop_delay_ns: float, cov: float, weight: float = COV_WEIGHT) -> float:
    """T = 1/R: eq. (1)."""
    return n_hop_delay_ns * (1 + weight * cov)


def smoothed_ns(old_ns: float | None, new_ns: float, alpha: float) -> float:
    """FHD_hat: eq. (2). Deviates: the first sample starts the average."""
    return new_ns if old_ns is None else alpha * old_ns + (1 - alpha) * new_ns


class Path:
    """The sums over the links of one route."""

    __slots__ = ("ahead_hops", "ahead_ns_per_byte", "hops", "total_ns_per_byte")

    def __init__(self, hops: int, ahead_hops: int, total_ns_per_byte: float, ahead_ns_per_byte: float) -> None:
        self.hops = hops
        """h."""
        self.ahead_hops = ahead_hops
        """n."""
        self.total_ns_per_byte = total_ns_per_byte
        """B(h)."""
        self.ahead_ns_per_byte = ahead_ns_per_byte
        """B(n)."""


def path_of(rates_bps: tuple[int, ...], *, ahead_hops: int, limit_to_path: bool) -> Path:
    """The sums for positive rates; with `limit_to_path` a path shorter than n uses its own length (Sec. 5.2)."""
    total = ahead = 0.0
    for index, rate in enumerate(rates_bps):
        cost = BITS_PER_BYTE * NS_PER_S / rate
        total += cost
        if index < ahead_hops:
            ahead += cost
    hops = len(rates_bps)
    ahead_hops = min(ahead_hops, hops) if limit_to_path else ahead_hops
    return Path(hops, ahead_hops, total, ahead * max(1.0, ahead_hops / hops))


def queueing_ns(path: Path, rtt_ns: int, data_bytes: int, ack_bytes: int) -> float:
    """t_q, the mean wait at a node: eq. (3). Deviates: at least 0; a path rate that is too low would give less."""
    waiting_ns = rtt_ns - (data_bytes + ack_bytes) * path.total_ns_per_byte
    return max(0.0, waiting_ns / (2 * path.hops))


def n_hop_delay_ns(path: Path, queueing_ns: float, data_bytes: int) -> float:
    """FHD for n = 4: eq. (4)."""
    return path.ahead_hops * queueing_ns + data_bytes * path.ahead_ns_per_byte


def variation(count: int, total: int, total_squares: int) -> float:
    """COV_RTT of so many samples, from their sum and the sum of their squares: eq. (5); 0 below two samples."""
    if count < 2 or total <= 0:
        return 0.0
    # sum of squared deviations = (n S2 - S1^2) / n; standard deviation / mean = sqrt(that / (n-1)) / (S1 / n)
    scatter = count * total_squares - total * total
    return sqrt(scatter * count / (count - 1)) / total


def mean_deviation(samples: Collection[int]) -> float:
    """In place of eq. (5) in the authors' ns-2 code (`adev_`, there of FHD): mean absolute deviation over mean.

    About 0.8 of the coefficient for normal samples; "to avoid computing the sqrt".
    """
    count, total = len(samples), sum(samples)
    if count < 2 or total <= 0:
        return 0.0
    # In exact integers. Above and below the mean the deviations have the same sum, so those above it are half of all.
    mean = total // count
    above = [sample for sample in samples if sample > mean]
    return 2 * (count * sum(above) - len(above) * total) / (count * total)
