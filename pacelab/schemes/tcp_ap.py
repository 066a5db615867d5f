"""TCP-AP and dynamic delayed ACKs, `pacer.core.tcp_ap`: Lee 2012."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pacelab.schemes.hook_settings import HookSettings
from pacelab.schemes.scheme import PACING, Scheme
from pacelab.schemes.style import Style

if TYPE_CHECKING:
    from pacelab_pacer.core.contract import Hook


def ap_sender(settings: HookSettings) -> Hook:
    """TCP-AP with the n-hop delay."""
    from pacelab_pacer.core.tcp_ap.hooks import TcpApSender

    return TcpApSender(hops=settings.pace_hops)


def ap_sender_out_of_interference(settings: HookSettings) -> Hook:
    """TCP-AP with the out-of-interference delay: one hop more than the carrier sense range."""
    from pacelab_pacer.core.tcp_ap.equations import out_of_interference_hops
    from pacelab_pacer.core.tcp_ap.hooks import TcpApSender

    return TcpApSender(hops=out_of_interference_hops(settings.sense_hops))


SCHEMES = (
    Scheme(
        name="tcp-ap",
        options=("pace_hops",),
        summary="adaptive pacing at wireless senders alone, by the four-hop delay",
        source="[lee] Sec. 3.3",
        style=Style("#b82820", "D", "-"),
        sender=ap_sender,
        traffic=("tcp",),
        by_path=True,
        rtt_includes_wire=True,
        effect_counters=PACING,
    ),
    Scheme(
        name="tcp-ap-oid",
        summary="adaptive pacing at wireless senders, by the out-of-interference delay",
        source="[lee] Sec. 2 Eq. (2.1)",
        style=Style("#b82820", "P", "-."),
        sender=ap_sender_out_of_interference,
        traffic=("tcp",),
        by_path=True,
        rtt_includes_wire=True,
        effect_counters=PACING,
    ),
    Scheme(
        name="delayed-ack",
        summary="dynamic delayed ACKs, of 1 to 4 segments, no hook",
        source="[lee] Sec. 3.6, after Altman & Jimenez",
        style=Style("#e69f00", ">", "-"),
        traffic=("tcp",),
        implied_options={"ack": "dynamic"},
    ),
    Scheme(
        name="tcp-ap+delayed-ack",
        options=("pace_hops",),
        summary="tcp-ap with dynamic delayed ACKs",
        source="[lee] Sec. 5.6",
        style=Style("#b82820", "<", ":"),
        sender=ap_sender,
        traffic=("tcp",),
        by_path=True,
        rtt_includes_wire=True,
        implied_options={"ack": "dynamic"},
        effect_counters=PACING,
    ),
)
