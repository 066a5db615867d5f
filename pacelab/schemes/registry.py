"""All schemes by name, in the order of the papers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pacelab.errors import ConfigError
from pacelab.own_code import is_own
from pacelab.schemes import hooks
from pacelab.schemes.own import load_scheme
from pacelab.schemes.scheme import Scheme

_PACING = frozenset({"delayed", "copies_absorbed"})
_GAP = _PACING | {"rtt_wired_written", "local_retransmissions", "duplicates_absorbed", "throttled"}
_VAGP = _PACING | {"local_retransmissions", "duplicates_absorbed", "redundant_dropped", "windows_narrowed"}
_SUPPRESSION = frozenset({"acks_suppressed", "acks_generated", "link_retransmissions", "wired_retransmissions"})

SCHEMES: Mapping[str, Scheme] = MappingProxyType(
    {
        scheme.name: scheme
        for scheme in (
            Scheme(
                name="newreno",
                summary="the baseline: TCP NewReno alone, no hook",
                source="RFC 6582",
            ),
            Scheme(
                name="tcp-gap",
                summary="adaptive pacing at the gateway and at wireless senders, with Goodput Control",
                source="[tcp-gap] Sec. 4",
                gateway=hooks.gap_gateway,
                sender=hooks.gap_sender,
                traffic=("tcp",),
                acting=_GAP,
            ),
            Scheme(
                name="tcp-gap-nogc",
                summary="tcp-gap without Goodput Control",
                source="[tcp-gap] Sec. 4.1-4.3",
                gateway=hooks.gap_gateway_without_control,
                sender=hooks.gap_sender,
                traffic=("tcp",),
                acting=_GAP,
            ),
            Scheme(
                name="tcp-ap",
                summary="adaptive pacing at wireless senders alone, by the four-hop delay",
                source="[lee] Sec. 3.3",
                sender=hooks.ap_sender,
                traffic=("tcp",),
                acting=_PACING,
                takes=("pace_hops",),
            ),
            Scheme(
                name="tcp-gap-code",
                summary="tcp-gap with the pace that its authors' ns-2 code computes (docs/tcp-gap.md)",
                source="tcp-ap.cc, University of Dortmund, 2005",
                gateway=hooks.gap_gateway_by_code,
                sender=hooks.gap_sender_by_code,
                traffic=("tcp",),
                acting=_GAP,
            ),
            Scheme(
                name="tcp-ap-oid",
                summary="adaptive pacing at wireless senders, by the out-of-interference delay",
                source="[lee] Sec. 2 Eq. (2.1)",
                sender=hooks.ap_sender_out_of_interference,
                traffic=("tcp",),
                acting=_PACING,
            ),
            Scheme(
                name="delayed-ack",
                summary="dynamic delayed ACKs, of 1 to 4 segments, no hook",
                source="[lee] Sec. 3.6, after Altman & Jimenez",
                traffic=("tcp",),
                brings={"ack": "dynamic"},
            ),
            Scheme(
                name="tcp-ap+delayed-ack",
                summary="tcp-ap with dynamic delayed ACKs",
                source="[lee] Sec. 5.6",
                sender=hooks.ap_sender,
                traffic=("tcp",),
                brings={"ack": "dynamic"},
                acting=_PACING,
                takes=("pace_hops",),
            ),
            Scheme(
                name="tcp-expect",
                summary="pacelab's own: adaptive pacing, and ACKs that wait only for a segment that is due",
                source="pacelab, after [tcp-gap] and [lee] Sec. 6",
                gateway=hooks.expect_gateway,
                station=hooks.expect_station,
                traffic=("tcp",),
                brings={"ack": "every"},
                acting=_GAP | {"acks_suppressed"},
            ),
            Scheme(
                name="ack-suppression",
                summary="no TCP ACKs over one wireless hop: gateway and station make them of the link layer's",
                source="[le] Sec. 3",
                gateway=hooks.suppressing_gateway,
                station=hooks.suppressing_station,
                needs=("single-hop",),
                traffic=("tcp",),
                ecn_throttles=("ecn-echo",),
                acting=_SUPPRESSION,
                takes=("throttle",),
            ),
            Scheme(
                name="priority",
                summary="voice goes first in the interface queue of every node, no hook",
                source="[vagp] Sec. IV-B.1",
                traffic=("voice",),
                brings={"priority": True},
            ),
            Scheme(
                name="edca",
                summary="802.11e: four queues with contention parameters of their own, calls in AC_VO; no hook",
                source="[vagp] Sec. IV-B.1; IEEE 802.11-2016 Sec. 10.22.2",
                traffic=("voice",),
                brings={"edca": True},
            ),
            Scheme(
                name="fixed-rate",
                summary="pacing at --pace-rate, at the gateway and at wireless senders",
                source="[lee] Sec. 3.3",
                gateway=hooks.fixed_rate,
                sender=hooks.fixed_rate,
                traffic=("tcp",),
                settings=("pace_rate_bps",),
                acting=_PACING,
                takes=("pace_rate_bps",),
            ),
            Scheme(
                name="vagp",
                summary="TCP has what the calls leave over: a rate by their MOS, at the gateway; stations report",
                source="[vagp] Sec. V",
                gateway=hooks.vagp_gateway,
                station=hooks.voice_reporter,
                needs=("gateway",),
                traffic=("tcp", "voice"),
                acting=_VAGP,
            ),
            Scheme(
                name="vagp-choke",
                summary="vagp with Algorithm 1 in its other reading: 10 % cut below 3.6, half below 3.3",
                source="[vagp] Sec. V-E",
                gateway=hooks.vagp_gateway_choke,
                station=hooks.voice_reporter,
                needs=("gateway",),
                traffic=("tcp", "voice"),
                acting=_VAGP,
            ),
            Scheme(
                name="vagp-noqm",
                summary="vagp without the Queue Manager: windows are left alone",
                source="[vagp] Sec. V-D",
                gateway=hooks.vagp_gateway_without_queue_manager,
                station=hooks.voice_reporter,
                needs=("gateway",),
                traffic=("tcp", "voice"),
                acting=_VAGP,
            ),
            Scheme(
                name="window-control",
                summary="advertised windows of at most --gateway-window packets (2), written at the gateway",
                source="[vagp] Sec. IV-B.2",
                gateway=hooks.window_control,
                needs=("gateway",),
                traffic=("tcp",),
                acting=frozenset({"windows_narrowed"}),
                takes=("gateway_window_pkts",),
            ),
            Scheme(
                name="data-pacing",
                summary="all TCP data that a gateway sends into the air at --pace-rate (0.3) together",
                source="[vagp] Sec. IV-B.3",
                gateway=hooks.data_pacing,
                needs=("gateway",),
                traffic=("tcp",),
                acting=_PACING,
                takes=("pace_rate_bps",),
            ),
            Scheme(
                name="ack-pacing",
                summary="ACKs at the gateway as far apart as their data takes at --pace-rate (0.3)",
                source="[vagp] Sec. IV-B.3",
                gateway=hooks.ack_pacing,
                needs=("gateway",),
                traffic=("tcp",),
                acting=frozenset({"delayed"}),
                takes=("pace_rate_bps",),
            ),
            Scheme(
                name="lred",
                summary="Link RED: each node drops early by its average of retransmissions",
                source="[fu] Sec. 6.1",
                link=hooks.link_red,
                counts_suffice=True,
                acting=frozenset({"dropped"}),
            ),
            Scheme(
                name="lred-ecn",
                summary="Link RED that marks instead of dropping; TCP with ECN",
                source="[fu] Sec. 6.1",
                link=hooks.link_red_marking,
                counts_suffice=True,
                ecn=True,
                acting=frozenset({"dropped", "marked"}),
            ),
            Scheme(
                name="link-pacing",
                summary="adaptive pacing alone: after a frame a node waits as long as the next one needs for it",
                source="[fu] Sec. 6.2",
                link=hooks.link_pacing,
                acting=frozenset({"paced"}),
            ),
            Scheme(
                name="lred+pacing",
                summary="Link RED, and adaptive pacing where the average of retransmissions is above its threshold",
                source="[fu] Sec. 6",
                link=hooks.link_red_pacing,
                acting=frozenset({"dropped", "paced"}),
            ),
        )
    }
)
"""Name -> scheme."""


def find_scheme(name: str) -> Scheme:
    """The scheme called `name`, or one's own as FILE.py:NAME; ConfigError names the known ones."""
    if is_own(name):
        return load_scheme(name)
    if name not in SCHEMES:
        raise ConfigError(f"--scheme {name!r}: allowed is one of {', '.join(SCHEMES)}, or FILE.py:NAME")
    return SCHEMES[name]
