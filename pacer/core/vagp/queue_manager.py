"""The Queue Manager: the window to advertise so that a flow's queue at the gateway stays short. Algorithm 3.

    q < q_min              awnd = q_max + M
    q > q_max, R > 0       awnd = q_min + M
    q > q_max, R = 0       awnd = 0
    else                   awnd = (q_max + q_min) / 2 + M

in packets: q of the flow in the Rate Shaper's queue, M between gateway and receiver.

Source: [vagp] Sec. V-D Algorithm 3, with its q_min = 2 and q_max = 6.
Deviates: the paper takes the wired part's delay for negligible. What R carries in a wired round trip is under way
before the gateway sees it, so it is added to every window that is not 0; else one hop next to a slow Internet starves.
The right edge never moves back (`window_edge`), so a smaller window takes a round trip to bite.
"""

from __future__ import annotations

from dataclasses import dataclass

from pacelab.pacer.core.checks import require


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueConfig:
    """Bounds of a flow's queue, packets. Raises ValueError on a value out of range."""

    min_pkts: int = 2
    max_pkts: int = 6

    def __post_init__(self) -> None:
        require(self.min_pkts >= 1, "min_pkts", self.min_pkts, "an integer of at least 1")
        require(self.max_pkts > self.min_pkts, "max_pkts", self.max_pkts, f"more than min_pkts, {self.min_pkts}")


def window_pkts(config: QueueConfig, *, queued_pkts: int, in_air_pkts: int, in_wire_pkts: int, is_frozen: bool) -> int:
    """awnd: what the sender may have outstanding, in packets."""
    if queued_pkts < config.min_pkts:
        target = config.max_pkts
    elif queued_pkts <= config.max_pkts:
        target = (config.max_pkts + config.min_pkts) // 2
    elif is_frozen:
        return 0
    else:
        target = config.min_pkts
    return target + in_air_pkts + in_wire_pkts
