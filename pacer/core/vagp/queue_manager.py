"""The Queue Manager: the window to advertise so that a flow's queue at the gateway stays short. Algorithm 3.

`equations.window_pkts` says how large. The right edge never moves back (`pacing.window_edge`), so that a smaller window
takes a round trip to bite.

Source: [vagp] Sec. V-D Algorithm 3, with its q_min = 2 and q_max = 6.
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
