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
    """ACK suppression's gateway: acknowledges from the link layer's ACKs."""
    from pacelab_pacer.core.ack_suppression.gateway import AckSuppressionGateway

    return AckSuppressionGateway()


def suppressing_station(settings: HookSettings) -> Hook:
    """ACK suppression's station: keeps its ACKs back, throttles as the settings say."""
    from pacelab_pacer.core.ack_suppression.station import AckSuppressionStation, AckSuppressionStationConfig, Throttle

    return AckSuppressionStation(AckSuppressionStationConfig(throttle=Throttle(settings.throttle)))


SCHEMES = (
    Scheme(
        name="ack-suppression",
        options=("throttle",),
        summary="no TCP ACKs over one wireless hop: gateway and station make them of the link layer's",
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
