"""PaceLab's own scheme, `pacer.core.expect`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pacelab.schemes.hook_settings import HookSettings
from pacelab.schemes.scheme import GAP, Scheme
from pacelab.schemes.style import Style

if TYPE_CHECKING:
    from pacelab_pacer.core.contract import Hook


def expect_gateway(_settings: HookSettings) -> Hook:
    """PaceLab's own scheme at the gateway: TCP-GAP, and ACKs that wait for a data segment that is due."""
    from pacelab_pacer.core.expect.expected_ack import PACE, ExpectedAck
    from pacelab_pacer.core.tcp_gap.gateway import TcpGapGateway, TcpGapGatewayConfig

    return ExpectedAck(TcpGapGateway(TcpGapGatewayConfig(pace=PACE)))


def expect_station(_settings: HookSettings) -> Hook:
    """PaceLab's own scheme at a station: it paces the station's data, and its ACKs wait for a data segment
    that is due.
    """
    from pacelab_pacer.core.expect.expected_ack import PACE, ExpectedAck
    from pacelab_pacer.core.tcp_gap.sender import TcpGapSender, TcpGapSenderConfig

    return ExpectedAck(TcpGapSender(TcpGapSenderConfig(pace=PACE)))


SCHEMES = (
    Scheme(
        name="tcp-expect",
        summary="pacelab's own: adaptive pacing, and ACKs that wait only for a segment that is due",
        source="pacelab, after [tcp-gap] and [lee] Sec. 6",
        style=Style("#000000", ".", "-"),
        gateway=expect_gateway,
        station=expect_station,
        traffic=("tcp",),
        by_path=True,
        implied_options={"ack": "every"},
        effect_counters=GAP | {"acks_suppressed"},
    ),
)
