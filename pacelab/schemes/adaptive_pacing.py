"""Adaptive pacing: TCP-GAP, TCP-AP with dynamic delayed ACKs, and PaceLab's own scheme, which is built on these.

`pacer.core.tcp_gap`: ElRakabawy, Klemm and Lindemann 2006. `pacer.core.tcp_ap`: Lee 2012. `pacer.core.expect`: ours.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pacelab.schemes.scheme import GAP, PACING, HookSettings, Scheme, Style

if TYPE_CHECKING:
    from pacelab.pacer.core.contract import Hook


def gap_gateway(_settings: HookSettings, *, reading: str = "printed", control: bool = True) -> Hook:
    """TCP-GAP at the gateway, with Goodput Control or without, at the pace of a reading (`pace_estimator.READINGS`)."""
    from pacelab.pacer.core.tcp_gap.gateway import TcpGapGateway, TcpGapGatewayConfig
    from pacelab.pacer.core.tcp_gap.pace_estimator import READINGS

    whole = TcpGapGatewayConfig(pace=READINGS[reading])
    return TcpGapGateway(whole if control else replace(whole, goodput_control=None))


def gap_sender(_settings: HookSettings, *, reading: str = "printed") -> Hook:
    """TCP-GAP at a wireless sender, at the same pace."""
    from pacelab.pacer.core.tcp_gap.pace_estimator import READINGS
    from pacelab.pacer.core.tcp_gap.sender import TcpGapSender, TcpGapSenderConfig

    return TcpGapSender(TcpGapSenderConfig(pace=READINGS[reading]))


TCP_GAP = (
    Scheme(
        name="tcp-gap",
        summary="adaptive pacing at the gateway and at wireless senders, with Goodput Control",
        source="[tcp-gap] Sec. 4",
        style=Style("#0072b2", "s", "-"),
        gateway=gap_gateway,
        sender=gap_sender,
        traffic=("tcp",),
        by_path=True,
        acting=GAP,
    ),
    Scheme(
        name="tcp-gap-nogc",
        summary="tcp-gap without Goodput Control",
        source="[tcp-gap] Sec. 4.1-4.3",
        style=Style("#56b4e9", "^", "-."),
        gateway=partial(gap_gateway, control=False),
        sender=gap_sender,
        traffic=("tcp",),
        by_path=True,
        acting=GAP,
    ),
    Scheme(
        name="tcp-gap-code",
        summary="tcp-gap with the pace that its authors' ns-2 code computes (docs/tcp-gap.md)",
        source="tcp-ap.cc, University of Dortmund, 2005",
        style=Style("#0072b2", "8", ":"),
        gateway=partial(gap_gateway, reading="code"),
        sender=partial(gap_sender, reading="code"),
        traffic=("tcp",),
        by_path=True,
        acting=GAP,
    ),
    Scheme(
        name="tcp-gap-eval",
        summary="tcp-gap with the spread of its authors' code, and wireless senders without RTO backoff, as there",
        source="[tcp-gap] Sec. 4; tcp-ap.cc, University of Dortmund, 2005 (hdelay, adev_, no backoff)",
        style=Style("#009e73", "$E$", "--"),
        gateway=partial(gap_gateway, reading="evaluated"),
        sender=partial(gap_sender, reading="evaluated"),
        traffic=("tcp",),
        by_path=True,
        acting=GAP,
        brings={"rto_backoff": "wired"},
    ),
    Scheme(
        name="tcp-gap-eval-nogc",
        summary="tcp-gap-eval without Goodput Control",
        source="as tcp-gap-eval",
        style=Style("#117733", "$e$", "-."),
        gateway=partial(gap_gateway, reading="evaluated", control=False),
        sender=partial(gap_sender, reading="evaluated"),
        traffic=("tcp",),
        by_path=True,
        acting=GAP,
        brings={"rto_backoff": "wired"},
    ),
)


# TCP-AP: at wireless senders alone.


def ap_sender(settings: HookSettings) -> Hook:
    """TCP-AP by the n-hop delay."""
    from pacelab.pacer.core.tcp_ap.sender import TcpApSender

    return TcpApSender(hops=settings.pace_hops)


def ap_sender_out_of_interference(settings: HookSettings) -> Hook:
    """TCP-AP by the out-of-interference delay: one hop more than carrier sense reaches."""
    from pacelab.pacer.core.tcp_ap.equations import out_of_interference_hops
    from pacelab.pacer.core.tcp_ap.sender import TcpApSender

    return TcpApSender(hops=out_of_interference_hops(settings.sense_hops))


TCP_AP = (
    Scheme(
        name="tcp-ap",
        takes=("pace_hops",),
        summary="adaptive pacing at wireless senders alone, by the four-hop delay",
        source="[lee] Sec. 3.3",
        style=Style("#d55e00", "D", "-"),
        sender=ap_sender,
        traffic=("tcp",),
        by_path=True,
        whole_rtt=True,
        acting=PACING,
    ),
    Scheme(
        name="tcp-ap-oid",
        summary="adaptive pacing at wireless senders, by the out-of-interference delay",
        source="[lee] Sec. 2 Eq. (2.1)",
        style=Style("#d55e00", "P", "-."),
        sender=ap_sender_out_of_interference,
        traffic=("tcp",),
        by_path=True,
        whole_rtt=True,
        acting=PACING,
    ),
    Scheme(
        name="delayed-ack",
        summary="dynamic delayed ACKs, of 1 to 4 segments, no hook",
        source="[lee] Sec. 3.6, after Altman & Jimenez",
        style=Style("#e69f00", ">", "-"),
        traffic=("tcp",),
        brings={"ack": "dynamic"},
    ),
    Scheme(
        name="tcp-ap+delayed-ack",
        takes=("pace_hops",),
        summary="tcp-ap with dynamic delayed ACKs",
        source="[lee] Sec. 5.6",
        style=Style("#d55e00", "<", ":"),
        sender=ap_sender,
        traffic=("tcp",),
        by_path=True,
        whole_rtt=True,
        brings={"ack": "dynamic"},
        acting=PACING,
    ),
)


# PaceLab's own.


def expect_gateway(_settings: HookSettings) -> Hook:
    """Pacelab's own scheme at the gateway: TCP-GAP behind ACKs that wait for a segment that is due."""
    from pacelab.pacer.core.expect.expected_ack import PACE, ExpectedAck
    from pacelab.pacer.core.tcp_gap.gateway import TcpGapGateway, TcpGapGatewayConfig

    return ExpectedAck(TcpGapGateway(TcpGapGatewayConfig(pace=PACE)))


def expect_station(_settings: HookSettings) -> Hook:
    """The same at a station: it paces its data, and its ACKs wait for a segment that is due."""
    from pacelab.pacer.core.expect.expected_ack import PACE, ExpectedAck
    from pacelab.pacer.core.tcp_gap.sender import TcpGapSender, TcpGapSenderConfig

    return ExpectedAck(TcpGapSender(TcpGapSenderConfig(pace=PACE)))


TCP_EXPECT = (
    Scheme(
        name="tcp-expect",
        summary="pacelab's own: adaptive pacing, and ACKs that wait only for a segment that is due",
        source="pacelab, after [tcp-gap] and [lee] Sec. 6",
        style=Style("#000000", ".", "-"),
        gateway=expect_gateway,
        station=expect_station,
        traffic=("tcp",),
        by_path=True,
        brings={"ack": "every"},
        acting=GAP | {"acks_suppressed"},
    ),
)
