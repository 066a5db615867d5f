"""What a gateway knows of one connection: one half for each direction that carries data.

All of it is soft state, made when first needed: a gateway that starts in mid-connection has it back in a round trip.
"""

from __future__ import annotations

from pacelab.pacer.core.pacing.ack_progress import AckProgress
from pacelab.pacer.core.pacing.pace import Pace
from pacelab.pacer.core.pacing.paced_flow import PacedFlow
from pacelab.pacer.core.pacing.retransmission_store import RetransmissionStore
from pacelab.pacer.core.pacing.rtt_matcher import RttMatcher
from pacelab.pacer.core.pacing.teardown import Teardown
from pacelab.pacer.core.segment import FlowKey
from pacelab.pacer.core.tcp_gap.goodput_control import GoodputMeter


class Half:
    """One direction of a connection that carries data: its round trips, its ACKs, its goodput."""

    __slots__ = ("matcher", "meter", "progress")

    def __init__(self, meter: GoodputMeter | None, first_seq: int) -> None:
        self.matcher = RttMatcher()
        self.progress = AckProgress(first_seq)
        self.meter = meter


class DownHalf(Half):
    """Wired to wireless: paced here."""

    __slots__ = ("estimator", "largest_payload_bytes", "store")

    def __init__(self, meter: GoodputMeter | None, first_seq: int, pace: Pace) -> None:
        super().__init__(meter, first_seq)
        self.estimator = pace.estimator()
        self.store = RetransmissionStore()
        self.largest_payload_bytes = 0
        """Stands for the segment size where a rate becomes a time between segments."""


class GatewayFlow(PacedFlow):
    """One connection through the gateway, keyed by its wired-to-wireless direction."""

    __slots__ = ("admitted", "down", "refused", "teardown", "up", "window_bytes")

    def __init__(self, key: FlowKey, now_ns: int) -> None:
        super().__init__(key, now_ns, queue_limit_bytes=0)
        self.down: DownHalf | None = None
        self.up: Half | None = None
        self.teardown = Teardown()
        self.window_bytes = 0
        """awnd: the largest window that the wireless end has advertised; 0 while unknown."""
        self.admitted = False
        """Whether `queue_limit_bytes` are reserved for it in the gateway's buffer: only then is it paced."""
        self.refused = False
        """Whether it was counted as unpaced."""
