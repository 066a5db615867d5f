"""What sets the pace of a flow, as the pacing hooks see it: an estimator for each flow, and what makes one.

`pace_estimator` is the papers' own; a student's stands in its place without the hooks' knowing.
"""

from __future__ import annotations

from typing import Protocol


class Estimator(Protocol):
    """Turns the wireless round trips of one flow into its pace."""

    interval_ns: int
    """T, the time from one release to the next; 0: unpaced."""
    rtt_wireless_ns: int | None
    """The newest sample; None before the first one."""
    n_hop_delay_ns: float | None
    """Its delay over n hops, where it estimates one; counted for the result alone."""

    def expect(self, *, data_bytes: int, path_rates_bps: tuple[int, ...]) -> None:
        """A packet is about to go, and there is no sample yet."""

    def sample(
        self, now_ns: int, rtt_wireless_ns: int, *, data_bytes: int, ack_bytes: int, path_rates_bps: tuple[int, ...]
    ) -> bool:
        """Take in one round trip that ended now; False if it is of no use."""


class Pace(Protocol):
    """Makes the estimator of a new flow."""

    def estimator(self) -> Estimator:
        """A fresh one."""
