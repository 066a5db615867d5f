"""The gateway's packet buffer, promised window by window."""

from __future__ import annotations


class BufferBudget:
    """A cap on the sum of what the paced flows may buffer.

    Source: [tcp-gap] Sec. 4.3: sum of awnd_i; pacing is disabled for new flows while the buffer is occupied.
    Deviates: counted in bytes of payload, as windows are (the paper's "187 Kbytes" for 64 packets of 1460 are 93 kB).
    """

    __slots__ = ("cap_bytes", "reserved_bytes")

    def __init__(self, cap_bytes: int) -> None:
        self.cap_bytes = cap_bytes
        self.reserved_bytes = 0

    def reserve(self, wanted_bytes: int) -> bool:
        """Promise this much if the cap allows it; all or nothing."""
        if self.reserved_bytes + wanted_bytes > self.cap_bytes:
            return False
        self.reserved_bytes += wanted_bytes
        return True

    def free(self, reserved_bytes: int) -> None:
        """Take a promise back."""
        self.reserved_bytes -= reserved_bytes
