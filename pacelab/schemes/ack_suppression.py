"""ACK suppression, `pacer.core.ack_suppression`: Le et al."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pacelab.schemes.hook_settings import HookSettings
from pacelab.schemes.scheme import Scheme
from pacelab.schemes.style import Style

if TYPE_CHECKING:
    from pacelab_pacer.core.contract import Hook

_EFFECTS = frozenset({"acks_suppressed", "acks_generated", "link_retransmissions", "wired_retransmissions"})


def suppressing_gateway(_settings: HookSettings) -> Hook:
    """The gateway of ACK suppression: generates TCP ACKs from MAC ACKs."""
    from pacelab_pacer.core.ack_suppression.gateway import AckSuppressionGateway

    return AckSuppressionGateway()


def suppressing_station(settings: HookSettings) -> Hook:
    """The station of ACK suppression: suppresses its TCP ACKs, and throttles its own TCP according to the settings."""
    from pacelab_pacer.core.ack_suppression.station import AckSuppressionStation, AckSuppressionStationConfig, Throttle

    return AckSuppressionStation(AckSuppressionStationConfig(throttle=Throttle(settings.throttle)))


SCHEMES = (
    Scheme(
        name="ack-suppression",
        options=("throttle",),
        summary="no TCP ACKs over one wireless hop: gateway and station make them from the link layer's ACKs",
        source="[le] Sec. 3",
        style=Style("#e69f00", "X", "--"),
        gateway=suppressing_gateway,
        station=suppressing_station,
        needs=("single-hop",),
        static_nodes_only=True,
        traffic=("tcp",),
        ecn_throttles=("ecn-echo",),
        effect_counters=_EFFECTS,
    ),
)
