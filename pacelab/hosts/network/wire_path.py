"""One direction of a wired link: a drop-tail queue, a rate, a delay. The simulator's rules (network/src/wire.rs)."""

from __future__ import annotations

from collections import deque

from pacelab.units import transmission_ns

ETHERNET_HEADER_BYTES = 14


class WirePath:
    """Says when a packet arrives at the far end, or that the queue is full."""

    def __init__(self, *, rate_bps: int, delay_ns: int, queue_pkts: int) -> None:
        self._rate_bps, self._delay_ns, self._queue_pkts = rate_bps, delay_ns, queue_pkts
        self._free_ns = 0
        self._waiting: deque[int] = deque()
        """When the transmission of each queued packet begins."""

    def take(self, now_ns: int, packet_bytes: int) -> int | None:
        """When a packet of so many bytes (IP, without Ethernet's header) arrives; None: dropped."""
        while self._waiting and self._waiting[0] <= now_ns:
            self._waiting.popleft()
        if len(self._waiting) >= self._queue_pkts:
            return None
        begins_ns = max(self._free_ns, now_ns)
        if begins_ns > now_ns:
            self._waiting.append(begins_ns)
        self._free_ns = begins_ns + transmission_ns(packet_bytes, self._rate_bps)
        return self._free_ns + self._delay_ns
