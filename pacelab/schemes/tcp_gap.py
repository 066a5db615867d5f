"""TCP-GAP, `pacer.core.tcp_gap`: ElRakabawy, Klemm and Lindemann 2006."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pacelab.schemes.acting import GAP
from pacelab.schemes.scheme import HookSettings, Scheme
from pacelab.schemes.style import Style

if TYPE_CHECKING:
    from pacelab.pacer.core.contract import Hook


def gap_gateway(_settings: HookSettings) -> Hook:
    """TCP-GAP at the gateway, whole."""
    from pacelab.pacer.core.tcp_gap.gateway import TcpGapGateway

    return TcpGapGateway()


def gap_sender(_settings: HookSettings) -> Hook:
    """TCP-GAP at a wireless sender."""
    from pacelab.pacer.core.tcp_gap.sender import TcpGapSender

    return TcpGapSender()


def gap_gateway_without_control(_settings: HookSettings) -> Hook:
    """TCP-GAP at the gateway, without Goodput Control."""
    from pacelab.pacer.core.tcp_gap.gateway import TcpGapGateway, TcpGapGatewayConfig

    return TcpGapGateway(TcpGapGatewayConfig(goodput_control=None))


def gap_gateway_by_code(_settings: HookSettings) -> Hook:
    """TCP-GAP at the gateway, at the pace of its authors' ns-2 code."""
    from pacelab.pacer.core.tcp_gap.gateway import TcpGapGateway, TcpGapGatewayConfig
    from pacelab.pacer.core.tcp_gap.pace_estimator import NS2_CODE

    return TcpGapGateway(TcpGapGatewayConfig(pace=NS2_CODE))


def gap_sender_by_code(_settings: HookSettings) -> Hook:
    """TCP-GAP at a wireless sender, at the pace of its authors' ns-2 code."""
    from pacelab.pacer.core.tcp_gap.pace_estimator import NS2_CODE
    from pacelab.pacer.core.tcp_gap.sender import TcpGapSender, TcpGapSenderConfig

    return TcpGapSender(TcpGapSenderConfig(pace=NS2_CODE))


def gap_gateway_as_evaluated(_settings: HookSettings) -> Hook:
    """TCP-GAP at the gateway, at the pace that fits the paper's figures."""
    from pacelab.pacer.core.tcp_gap.gateway import TcpGapGateway, TcpGapGatewayConfig
    from pacelab.pacer.core.tcp_gap.pace_estimator import AS_EVALUATED

    return TcpGapGateway(TcpGapGatewayConfig(pace=AS_EVALUATED))


def gap_sender_as_evaluated(_settings: HookSettings) -> Hook:
    """TCP-GAP at a wireless sender, at the pace that fits the paper's figures."""
    from pacelab.pacer.core.tcp_gap.pace_estimator import AS_EVALUATED
    from pacelab.pacer.core.tcp_gap.sender import TcpGapSender, TcpGapSenderConfig

    return TcpGapSender(TcpGapSenderConfig(pace=AS_EVALUATED))


SCHEMES = (
    Scheme(
        name="tcp-gap",
        summary="adaptive pacing at the gateway and at wireless senders, with Goodput Control",
        source="[tcp-gap] Sec. 4",
        style=Style("#0072b2", "s", "-"),
        gateway=gap_gateway,
        sender=gap_sender,
        traffic=("tcp",),
        acting=GAP,
    ),
    Scheme(
        name="tcp-gap-nogc",
        summary="tcp-gap without Goodput Control",
        source="[tcp-gap] Sec. 4.1-4.3",
        style=Style("#56b4e9", "^", "-."),
        gateway=gap_gateway_without_control,
        sender=gap_sender,
        traffic=("tcp",),
        acting=GAP,
    ),
    Scheme(
        name="tcp-gap-code",
        summary="tcp-gap with the pace that its authors' ns-2 code computes (docs/tcp-gap.md)",
        source="tcp-ap.cc, University of Dortmund, 2005",
        style=Style("#0072b2", "8", ":"),
        gateway=gap_gateway_by_code,
        sender=gap_sender_by_code,
        traffic=("tcp",),
        acting=GAP,
    ),
    Scheme(
        name="tcp-gap-eval",
        summary="tcp-gap with the spread of its authors' code, and wireless senders without RTO backoff, as there",
        source="[tcp-gap] Sec. 4; tcp-ap.cc, University of Dortmund, 2005 (hdelay, adev_, no backoff)",
        style=Style("#009e73", "$E$", "--"),
        gateway=gap_gateway_as_evaluated,
        sender=gap_sender_as_evaluated,
        traffic=("tcp",),
        acting=GAP,
        brings={"rto_backoff": "wired"},
    ),
)
