"""The amount of data that a pacer may hold: a bound on the packets it holds now, not on those that could arrive.

    queued   packets that wait for their turn, of all flows
    kept     copies of packets that are in the air

A packet is refused if its flow would then have more waiting than was free. So n flows that all want more than their
share get 1/(n + 1) of the store each, and a flow with nothing waiting finds room as long as a packet's worth is free.
Copies take what the queues leave, and give way to them.

Source: the rule for a flow's share is the dynamic threshold of Choudhury and Hahne, IEEE/ACM ToN 6(2), 1998, with
alpha = 1.
"""

from __future__ import annotations

from typing import Final

DEFAULT_BYTES: Final = 4 << 20
"""Payload: 2872 segments of 1460 bytes, more than a minute at 0.5 Mbit/s."""


class PacketStore:
    """Counts what is queued and kept, and says whether a further packet may wait.

    Invariants
    1. What waits never exceeds `cap_bytes` of payload, nor `cap_pkts` packets.
    2. A store of `cap_pkts` packets has fewer flows with something waiting than a table of twice as many flows holds: a
       full table always has a flow that can be forgotten without a loss.
    """

    __slots__ = ("cap_bytes", "cap_pkts", "kept_bytes", "queued_bytes", "queued_pkts")

    def __init__(self, cap_bytes: int, max_flows: int) -> None:
        self.cap_bytes = cap_bytes
        self.cap_pkts = max(1, max_flows // 2)
        """Small packets count as well: each costs its host memory and a place in the kernel's queue."""
        self.queued_bytes = 0
        """Payload that waits."""
        self.queued_pkts = 0
        self.kept_bytes = 0
        """Payload of copies."""

    def admits(self, payload_bytes: int, *, flow_bytes: int, flow_pkts: int) -> bool:
        """Whether one packet more may wait, of a flow of which so much waits already."""
        free_bytes, free_pkts = self.cap_bytes - self.queued_bytes, self.cap_pkts - self.queued_pkts
        return flow_bytes + payload_bytes <= free_bytes and flow_pkts < free_pkts

    def lacks_bytes(self, payload_bytes: int) -> bool:
        """Whether queues and copies together leave less than this."""
        return self.queued_bytes + self.kept_bytes + payload_bytes > self.cap_bytes

    def queue(self, payload_bytes: int) -> None:
        """A packet begins to wait."""
        self.queued_bytes += payload_bytes
        self.queued_pkts += 1

    def unqueue(self, payload_bytes: int) -> None:
        """A packet no longer waits."""
        self.queued_bytes -= payload_bytes
        self.queued_pkts -= 1
