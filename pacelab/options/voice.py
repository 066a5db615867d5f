"""Voice calls: the codecs, and the quality (MOS) of a call from the engine's counters.

A flow is one direction of a call. Its MOS is the E-model's (`pacelab_pacer.core.vagp.e_model`) for the mean network
delay of the packets that arrived and for the share that was not played: lost, or late (medium/network/src/voice.rs has
the rule of playout). A direction without packets due has no MOS. A direction without arrived packets has MOS 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pacelab.units import NS_PER_S

HEADER_BYTES = 40
"""IP, UDP and RTP headers."""
ACCEPTABLE_MOS = 3.6
"""Source: [vagp] Sec. III-A ("roughly similar to GSM")."""
SERIES = ("due_pkts", "lost_pkts", "late_pkts", "delay_s", "mos")
"""Additional time series of voice flows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec:
    """The packets that a codec sends in each direction."""

    payload_bytes: int
    interval_s: float


CODECS: Mapping[str, Codec] = MappingProxyType({"g729a": Codec(payload_bytes=20, interval_s=0.02)})
"""Name -> codec. The E-model's constants are G.729a's. Source: [vagp] Sec. IV-E (50 packets of 20 bytes a second)."""


def flow_mos(
    *, due_pkts: float, lost_pkts: float, late_pkts: float, delay_s: float | None, playout_s: float
) -> float | None:
    """MOS of a flow, or of an interval of it, 1 to 4.5. None if no packet was due. `delay_s` is None if no packet
    arrived.
    """
    from pacelab_pacer.core.vagp.e_model import MOS_MIN, mos

    if not due_pkts:
        return None
    if delay_s is None:
        return MOS_MIN
    loss = (lost_pkts + late_pkts) / due_pkts
    return mos(network_delay_ns=round(delay_s * NS_PER_S), loss=loss, playout_ns=round(playout_s * NS_PER_S))


def mos_of(voice: Mapping[str, Any] | None) -> float | None:
    """MOS of a flow over the measured interval, from the engine's counters. None for a flow that is not voice."""
    if voice is None:
        return None
    return flow_mos(
        due_pkts=voice["due_pkts"],
        lost_pkts=voice["lost_pkts"],
        late_pkts=voice["late_pkts"],
        delay_s=voice["delay_mean_s"],
        playout_s=voice["playout_s"],
    )


def mos_series(series: Mapping[str, Any], *, playout_s: float) -> list[float | None]:
    """MOS of each interval of a flow's series, of the packets sent in it."""
    columns = zip(*(series[name] for name in SERIES[:-1]), strict=True)
    return [
        flow_mos(due_pkts=due, lost_pkts=lost, late_pkts=late, delay_s=delay_s, playout_s=playout_s)
        for due, lost, late, delay_s in columns
    ]


def calls_of(flows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The calls of a run by number, both directions together. `flows` is from run.json.

    `mos` is the worse direction's, `mos_mean` the mean of both, `delay_mean_s` the mean of both. `loss` and `late` are
    the shares of packets that did not arrive, and that arrived too late for playout.
    """
    ends: dict[int, list[Mapping[str, Any]]] = {}
    for flow in flows:
        if flow["voice"] is not None:
            ends.setdefault(flow["voice"]["call"], []).append(flow)
    return [_call(number, ends[number]) for number in sorted(ends)]


def _call(number: int, flows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    scores = [flow["mos"] for flow in flows if flow["mos"] is not None]
    delays = [flow["voice"]["delay_mean_s"] for flow in flows if flow["voice"]["delay_mean_s"] is not None]
    due = sum(flow["voice"]["due_pkts"] for flow in flows)
    return {
        "call": number,
        "flows": [flow["id"] for flow in flows],
        "between": [flows[0]["src"], flows[0]["dst"]],
        "hops": flows[0]["hops"],
        "mos": min(scores, default=None),
        "mos_mean": _mean(scores),
        "delay_mean_s": _mean(delays),
        "loss": sum(flow["voice"]["lost_pkts"] for flow in flows) / due if due else None,
        "late": sum(flow["voice"]["late_pkts"] for flow in flows) / due if due else None,
        "reports_sent": _sum_known([flow["voice"]["reports_sent"] for flow in flows]),
        "reports_received": sum(flow["voice"]["reports_received"] for flow in flows),
    }


def _sum_known(counts: Sequence[int | None]) -> int | None:
    """The sum; None if one of the counts is not known."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def totals_of(calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Totals over all calls of a run: their number, how many are acceptable, the worst and the mean MOS."""
    scores = [call["mos"] for call in calls if call["mos"] is not None]
    means = [call["mos_mean"] for call in calls if call["mos_mean"] is not None]
    return {
        "calls": len(calls),
        "calls_acceptable": sum(score >= ACCEPTABLE_MOS for score in scores),
        "mos_worst": min(scores, default=None),
        "mos_mean": _mean(means),
    }


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
