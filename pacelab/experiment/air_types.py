"""The air configuration, version 1, as the engine and mediumd take it (medium/README.md says what each key means)."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict


class NodeConfig(TypedDict):
    """A node; flows and wires name it by its place."""

    name: str
    wireless: bool
    position_m: list[float]


class WireConfig(TypedDict):
    """A full-duplex wire."""

    a: int
    b: int
    rate_bps: int
    delay_s: float
    queue_pkts: int


class HighThroughputConfig(TypedDict):
    """Of 802.11n, ac, and ax: what data frames have in common, and the limits of an aggregate."""

    width_mhz: NotRequired[int]
    streams: NotRequired[int]
    guard_interval: str
    band_ghz: NotRequired[str]
    ampdu_frames: int
    ampdu_bytes: int
    ampdu_spacing_ns: int


class RangeConfig(TypedDict):
    """Two-ray ground with these ranges."""

    kind: Literal["range"]
    decode_m: float
    sense_m: float
    capture_db: float


class LogDistanceConfig(TypedDict):
    """Log-distance loss with shadowing."""

    kind: Literal["log-distance"]
    exponent: float
    reference_loss_db: float
    tx_power_dbm: float
    shadowing_db: float
    decode_dbm: float
    sense_dbm: float
    capture_db: float


class RadioConfig(TypedDict):
    """The radios, all alike."""

    preset: str
    phy: NotRequired[str]
    ht: NotRequired[HighThroughputConfig]
    edca: NotRequired[bool]
    voice_first: NotRequired[bool]
    basic_rate_bps: int
    data_rate_bps: int
    rts_threshold_bytes: int
    short_retry_limit: int
    long_retry_limit: int
    queue_pkts: int
    mac_ack_rate: str
    propagation: RangeConfig | LogDistanceConfig


class FixedDelay(TypedDict):
    """The same for each packet."""

    kind: Literal["fixed"]
    s: float


class ExponentialDelay(TypedDict):
    """Drawn for each packet."""

    kind: Literal["exponential"]
    mean_s: float


class QdiscConfig(TypedDict):
    """The queue discipline of radios and wires."""

    kind: str


class PingConfig(TypedDict):
    """Echo requests beside the flows."""

    interval_s: float
    pairs: list[list[int]]


class FewConfig(TypedDict):
    """Of the congestion control `few`."""

    alpha: float
    min_window_pkts: int


class CaptureConfig(TypedDict):
    """What a capture file has of each frame."""

    snap_bytes: int
    garbled: bool


class FlowHead(TypedDict):
    """What each flow has."""

    id: int
    src: int
    dst: int
    start_s: float
    stop_s: NotRequired[float]
    category: NotRequired[str]


class TcpFlow(FlowHead):
    """A TCP flow."""

    kind: Literal["tcp"]
    segment_bytes: int
    window_pkts: int
    cc: str
    initial_window: int
    min_rto_s: float
    rto_backoff: NotRequired[bool]
    ack_every: int
    ack_schedule: NotRequired[list[tuple[int, int]]]
    defaults: NotRequired[str]
    ecn: NotRequired[bool]
    sack: NotRequired[bool]
    few: NotRequired[FewConfig]
    size_bytes: NotRequired[int]


class SaturatedFlow(FlowHead):
    """UDP, as much as goes through."""

    kind: Literal["udp-saturated"]
    payload_bytes: int


class CbrFlow(FlowHead):
    """UDP at a rate."""

    kind: Literal["cbr"]
    payload_bytes: int
    rate_bps: int
    burst_pkts: int


class VoiceFlow(FlowHead):
    """One direction of a call."""

    kind: Literal["voice"]
    call: int
    payload_bytes: int
    header_bytes: int
    interval_s: float
    playout_s: float


FlowConfig: TypeAlias = TcpFlow | SaturatedFlow | CbrFlow | VoiceFlow


class AirConfig(TypedDict):
    """One run of the air."""

    version: Literal[1]
    seed: int
    duration_s: float
    warmup_s: float
    series_interval_s: float
    tap: bool
    capture: NotRequired[CaptureConfig]
    radio: RadioConfig
    headers: str
    nodes: list[NodeConfig]
    wired: list[WireConfig]
    routing: str
    flows: list[FlowConfig]
    link_rates_bps: NotRequired[list[list[float]]]
    rate_changes: NotRequired[list[list[float]]]
    moves: NotRequired[list[list[float]]]
    host_delay: NotRequired[FixedDelay | ExponentialDelay]
    qdisc: NotRequired[QdiscConfig]
    pings: NotRequired[PingConfig]
    stop_after_pkts: NotRequired[int]
    batch_pkts: NotRequired[int]
