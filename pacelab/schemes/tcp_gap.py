"""TCP-GAP, `pacer.core.tcp_gap`: ElRakabawy, Klemm and Lindemann 2006."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pacelab.options.high_throughput import AMENDMENTS
from pacelab.schemes.hook_settings import HookSettings
from pacelab.schemes.scheme import GAP, Scheme
from pacelab.schemes.style import Style

if TYPE_CHECKING:
    from pacelab_pacer.core.contract import Hook
    from pacelab_pacer.core.tcp_gap.aggregate import AggregatePace


def gap_gateway(_settings: HookSettings, *, reading: str = "printed", control: bool = True) -> Hook:
    """TCP-GAP at the gateway, with Goodput Control or without, at the pace of a reading (`pace_estimator.READINGS`)."""
    from pacelab_pacer.core.tcp_gap.gateway import TcpGapGateway, TcpGapGatewayConfig
    from pacelab_pacer.core.tcp_gap.pace_estimator import READINGS

    whole = TcpGapGatewayConfig(pace=READINGS[reading])
    return TcpGapGateway(whole if control else replace(whole, goodput_control=None))


def gap_codel_gateway(_settings: HookSettings, *, reading: str = "printed") -> Hook:
    """TCP-GAP at the gateway with CoDel on its pacing queues."""
    from pacelab_pacer.core.tcp_gap.codel_gateway import TcpGapCodelGateway
    from pacelab_pacer.core.tcp_gap.gateway import TcpGapGatewayConfig
    from pacelab_pacer.core.tcp_gap.pace_estimator import READINGS

    return TcpGapCodelGateway(TcpGapGatewayConfig(pace=READINGS[reading]))


def aggregate_gateway(settings: HookSettings, *, reading: str = "printed") -> Hook:
    """TCP-GAP at the gateway, which releases one aggregate of the radio at a time."""
    from pacelab_pacer.core.tcp_gap.aggregate import AggregateGateway
    from pacelab_pacer.core.tcp_gap.gateway import TcpGapGatewayConfig

    return AggregateGateway(TcpGapGatewayConfig(pace=_aggregate_pace(settings, reading)))


def aggregate_sender(settings: HookSettings, *, reading: str = "printed") -> Hook:
    """The same at a wireless sender."""
    from pacelab_pacer.core.tcp_gap.aggregate import AggregateSender
    from pacelab_pacer.core.tcp_gap.sender import TcpGapSenderConfig

    return AggregateSender(TcpGapSenderConfig(pace=_aggregate_pace(settings, reading)))


def _aggregate_pace(settings: HookSettings, reading: str) -> AggregatePace:
    from pacelab_pacer.core.tcp_gap.aggregate import Aggregate, AggregatePace
    from pacelab_pacer.core.tcp_gap.pace_estimator import READINGS

    frames = settings.ampdu_frames if settings.phy in AMENDMENTS else 1
    return AggregatePace(pace=READINGS[reading], aggregate=Aggregate(frames=frames, octets=settings.ampdu_bytes))


def gap_sender(_settings: HookSettings, *, reading: str = "printed") -> Hook:
    """TCP-GAP at a wireless sender, at the same pace."""
    from pacelab_pacer.core.tcp_gap.pace_estimator import READINGS
    from pacelab_pacer.core.tcp_gap.sender import TcpGapSender, TcpGapSenderConfig

    return TcpGapSender(TcpGapSenderConfig(pace=READINGS[reading]))


SCHEMES = (
    Scheme(
        name="tcp-gap",
        summary="adaptive pacing at the gateway and at wireless senders, with Goodput Control",
        source="[tcp-gap] Sec. 4",
        style=Style("#0072b2", "s", "-"),
        gateway=gap_gateway,
        sender=gap_sender,
        traffic=("tcp",),
        by_path=True,
        effect_counters=GAP,
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
        effect_counters=GAP,
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
        effect_counters=GAP,
    ),
    Scheme(
        name="tcp-gap-eval",
        summary="tcp-gap with the measure of variation of its authors' code; wireless senders have no RTO backoff",
        source="[tcp-gap] Sec. 4; tcp-ap.cc, University of Dortmund, 2005 (hdelay, adev_, no backoff)",
        style=Style("#882255", "$E$", "-"),
        gateway=partial(gap_gateway, reading="evaluated"),
        sender=partial(gap_sender, reading="evaluated"),
        traffic=("tcp",),
        by_path=True,
        effect_counters=GAP,
        implied_options={"rto_backoff": "wired"},
    ),
    Scheme(
        name="tcp-gap-eval-nogc",
        summary="tcp-gap-eval without Goodput Control",
        source="as tcp-gap-eval",
        style=Style("#882255", "$e$", "-."),
        gateway=partial(gap_gateway, reading="evaluated", control=False),
        sender=partial(gap_sender, reading="evaluated"),
        traffic=("tcp",),
        by_path=True,
        effect_counters=GAP,
        implied_options={"rto_backoff": "wired"},
    ),
    Scheme(
        name="tcp-gap+codel",
        summary="tcp-gap with CoDel on the gateway's pacing queues, which keeps their delay short",
        source="[tcp-gap] Sec. 4; RFC 8289",
        style=Style("#117733", "$g$", ":"),
        gateway=gap_codel_gateway,
        sender=gap_sender,
        traffic=("tcp",),
        by_path=True,
        effect_counters=GAP | {"codel_drops", "codel_marks"},
    ),
    Scheme(
        name="tcp-gap-eval+codel",
        summary="tcp-gap-eval with CoDel on the gateway's pacing queues",
        source="as tcp-gap-eval; RFC 8289",
        style=Style("#882255", "$G$", "--"),
        gateway=partial(gap_codel_gateway, reading="evaluated"),
        sender=partial(gap_sender, reading="evaluated"),
        traffic=("tcp",),
        by_path=True,
        effect_counters=GAP | {"codel_drops", "codel_marks"},
        implied_options={"rto_backoff": "wired"},
    ),
    Scheme(
        name="tcp-gap+aggregate",
        summary="tcp-gap that releases as many packets together as an aggregate of 802.11n, ac, or ax holds",
        source="[tcp-gap] Sec. 4, with aggregates for packets",
        style=Style("#117733", "$n$", "--"),
        gateway=aggregate_gateway,
        sender=aggregate_sender,
        traffic=("tcp",),
        by_path=True,
        effect_counters=GAP,
    ),
    Scheme(
        name="tcp-gap-eval+aggregate",
        summary="tcp-gap-eval that releases as many packets together as an aggregate of 802.11n, ac, or ax holds",
        source="as tcp-gap-eval, with aggregates for packets",
        style=Style("#882255", "$N$", ":"),
        gateway=partial(aggregate_gateway, reading="evaluated"),
        sender=partial(aggregate_sender, reading="evaluated"),
        traffic=("tcp",),
        by_path=True,
        effect_counters=GAP,
        implied_options={"rto_backoff": "wired"},
    ),
)
