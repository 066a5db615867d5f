"""What TCP-GAP's gateway knows of one connection: one half for each direction that carries data.

All of it is soft state, made when first needed: a gateway that starts in mid-connection has it back in a round trip.
"""

from __future__ import annotations

from pacelab.pacer.core.pacing.gateway_hook import GatewayFlow
from pacelab.pacer.core.pacing.outstanding import Outstanding
from pacelab.pacer.core.pacing.pace import Estimator
from pacelab.pacer.core.segment import FlowKey
from pacelab.pacer.core.tcp_gap.goodput_control import GoodputMeter


class DownHalf:
    """Wired to wireless: paced here."""

    __slots__ = ("estimator", "largest_payload_bytes", "meter")

    def __init__(self, meter: GoodputMeter | None, estimator: Estimator) -> None:
        self.meter = meter
        self.estimator = estimator
        self.largest_payload_bytes = 0
        """Stands for the segment size where a rate becomes a time between segments."""


class UpHalf:
    """Wireless to wired: measured here."""

    __slots__ = ("meter", "sent")

    def __init__(self, meter: GoodputMeter | None, first_seq: int) -> None:
        self.meter = meter
        self.sent = Outstanding()
        """Data on the wired side."""
        self.sent.begin(first_seq)


class TcpGapFlow(GatewayFlow):
    """One connection through the gateway."""

    __slots__ = ("down", "up")

    def __init__(self, key: FlowKey, now_ns: int) -> None:
        super().__init__(key, now_ns)
        self.down: DownHalf | None = None
        self.up: UpHalf | None = None

    @property
    def is_fresh(self) -> bool:
        """No data was seen, in neither direction."""
        return self.down is None and self.up is None
