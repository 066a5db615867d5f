"""The engine's result, version 1, which other back ends make as well (medium/README.md says what each key means)."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from pacelab.results.types import Aodv, LinkResult, NodeResult, PingResult, VoiceCounts, WireResult


class FlowReport(TypedDict):
    """One flow, over the measured interval."""

    id: int
    kind: Literal["tcp", "udp-saturated", "cbr", "voice"]
    src: str
    dst: str
    hops: int
    goodput_bps: float
    throughput_bps: float
    delivered_pkts: int
    sent_pkts: int
    retransmitted_pkts: int
    timeouts: int
    rtt_mean_s: float | None
    rtt_sd_s: float | None
    cwnd_mean_pkts: float | None
    batch_end_s: list[float]
    finished_s: NotRequired[float | None]
    rtt_quantiles_s: NotRequired[list[float] | None]
    cwnd_share: NotRequired[dict[str, float] | None]
    voice: NotRequired[VoiceCounts | None]


class VoiceSeries(TypedDict):
    """Of one direction of a call: packets that were sent in each interval."""

    due_pkts: list[int]
    lost_pkts: list[int]
    late_pkts: list[int]
    delay_s: list[float | None]


class FlowSeries(TypedDict):
    """The time series of one flow, a number for each interval; None where there is none."""

    id: int
    goodput_bps: list[float]
    cwnd_pkts: list[float | None]
    rtt_s: list[float | None]
    voice: NotRequired[VoiceSeries]
    due_pkts: NotRequired[list[int]]
    """As the keys below, in a result folder: the columns of `voice`, and the MOS."""
    lost_pkts: NotRequired[list[int]]
    late_pkts: NotRequired[list[int]]
    delay_s: NotRequired[list[float | None]]
    mos: NotRequired[list[float | None]]


class Series(TypedDict):
    """The time series of all flows. `t_s` is the end of each interval."""

    interval_s: float
    t_s: list[float]
    flows: list[FlowSeries]


class HookReport(TypedDict):
    """One hook."""

    node: int
    errors: int
    failed: str | None
    counters: dict[str, int]


class AirResult(TypedDict):
    """One run of the air."""

    version: Literal[1]
    end_s: float
    events: int
    flows: list[FlowReport]
    links: list[LinkResult] | None
    nodes: list[NodeResult]
    """Without `airtime_share`, which run.json adds."""
    wires: NotRequired[list[WireResult]]
    pings: NotRequired[list[PingResult]]
    drops: dict[str, int]
    aodv: Aodv | None
    hooks: list[HookReport]
    series: Series
    tap: list[Any] | None
    """Records of the air, if the configuration asks for them."""
