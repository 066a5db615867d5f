"""The n-hop delay of a wireless path: eqs. (3) and (4) for links of different rates.

A data packet of s_data crosses the h links of rates b_1 .. b_h (nearest first), its ACK of s_ACK crosses them back, and
each waits t_q at every node. With B(k) = 1/b_1 + ... + 1/b_k

    RTT_wireless = 2 h t_q + (s_data + s_ACK) B(h)                 (the paper's RTT, link by link)
    t_q          = (RTT_wireless - (s_data + s_ACK) B(h)) / 2h     (3)
    delay(n)     = n t_q + s_data B(n)                             (4), n <= h

With equal rates B(k) = k/b, and n = 4 gives the paper's 2 (RTT_wireless/h + (s_data - s_ACK)/b). These are the
"appropriate summations" that Sec. 4.2 leaves to the reader: RTT sums over all links, the delay over the first n.
For n > h (TCP-AP in Lee's study: a four-hop delay on a one-hop path) the missing hops are taken to be like the mean of
the known ones, so that delay(n) = n/h delay(h).
"""

from __future__ import annotations

from pacelab.units import BITS_PER_BYTE, NS_PER_S


class WirelessPath:
    """Sums over the links of one path, computed once per route.

    Source: [tcp-gap] Sec. 4.2 Eq. (3), (4) and the paragraph on different bandwidths; Sec. 5.2 (h < 4: h-hop delay).
    Deviates: t_q is not let below 0, which a path rate that is too low would give.
    """

    __slots__ = ("_ahead_ns_per_byte", "_delay_hops", "_total_ns_per_byte", "rates_bps")

    def __init__(self, rates_bps: tuple[int, ...], *, hops: int, limit_to_path: bool) -> None:
        """`hops` is n; with `limit_to_path` a shorter path uses its own length. Rates must be positive."""
        per_byte = [BITS_PER_BYTE * NS_PER_S / rate for rate in rates_bps]
        length = len(rates_bps)
        total = ahead = 0.0
        for index, cost in enumerate(per_byte):
            total += cost
            if index < hops:
                ahead += cost
        self.rates_bps = rates_bps
        self._total_ns_per_byte = total
        self._delay_hops = min(hops, length) if limit_to_path else hops
        self._ahead_ns_per_byte = ahead * max(1.0, self._delay_hops / length)

    def queueing_ns(self, rtt_ns: int, *, data_bytes: int, ack_bytes: int) -> float:
        """t_q, the mean queueing delay per node, from one wireless round trip; at least 0."""
        waiting = rtt_ns - (data_bytes + ack_bytes) * self._total_ns_per_byte
        return max(0.0, waiting / (2 * len(self.rates_bps)))

    def delay_ns(self, queueing_ns: float, *, data_bytes: int) -> float:
        """n-hop delay of a data packet whose queueing delay per node is `queueing_ns`."""
        return self._delay_hops * queueing_ns + data_bytes * self._ahead_ns_per_byte


def usable_path(rates_bps: tuple[int, ...]) -> bool:
    """Whether routing knows a path and every rate on it is a rate."""
    return bool(rates_bps) and min(rates_bps) > 0
