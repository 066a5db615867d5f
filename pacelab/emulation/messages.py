"""Messages between the processes of a run on real hosts, as JSON."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from pacelab.documents import JsonObject
from pacelab.results.air_types import AirResult, VoiceSeries
from pacelab.results.types import Fidelity, PingResult, VoiceCounts


class RunReport(TypedDict):
    """The results of a run, from its supervisor."""

    air: AirResult
    fidelity: Fidelity
    notes: list[str]
    guest: NotRequired[JsonObject]
    """Kernel and files of a guest."""
    host: JsonObject
    """Fields of host.json beyond the usual ones."""


class Frames(TypedDict):
    """Frames that mediumd received from hosts and delivered to them."""

    from_hosts: int
    to_hosts: int


class MediumStatistics(TypedDict):
    """mediumd's answer to `stats`, as far as runs read it."""

    fidelity: Fidelity
    fidelity_since_start: Fidelity
    lost: int
    lateness: JsonObject | None
    process: JsonObject | None
    frames: Frames
    drops: dict[str, int]
    stations: list[JsonObject]
    """A station's name, position, counters (`network.counters`), and queue discipline."""


class WireReport(TypedDict, total=False):
    """Counters of the wires; empty without wires."""

    counters: dict[str, int]
    lateness_s: dict[str, float]
    """Absent from wires that the kernel carries."""


class DatagramEnds(TypedDict):
    """The settings of a flow of datagrams for its process: the fields that all kinds have."""

    number: int
    src: str
    dst: str
    src_address: str
    dst_address: str
    port: int
    payload_bytes: int
    start_ns: int
    stop_ns: int
    tos: int


class CbrDatagrams(DatagramEnds):
    """At a constant rate, in bursts."""

    kind: Literal["udp"]
    rate_bps: int
    burst_pkts: int


class VoiceDatagrams(DatagramEnds):
    """One direction of a call."""

    kind: Literal["voice"]
    call: int
    interval_s: float
    playout_s: float


class PingFlow(TypedDict):
    """The settings of pings from one host to another, for their process."""

    number: int
    src: str
    dst: str
    dst_address: str
    interval_s: float
    start_ns: int
    stop_ns: int


class Moments(TypedDict):
    """The fields of `traffic.meter.Window`."""

    start_ns: int
    measured_ns: int
    end_ns: int
    interval_ns: int


class DatagramTask(TypedDict):
    """All settings of the datagrams' process."""

    window: Moments
    until_ns: int
    flows: list[CbrDatagrams | VoiceDatagrams]
    pings: list[PingFlow]


class DatagramCounts(TypedDict):
    """One flow of datagrams, over the measured part, and its series over the whole run."""

    sent_pkts: int
    delivered_pkts: int
    repeats: int
    goodput_bps: float
    series_bps: list[float]
    delay_mean_s: NotRequired[float | None]
    """As `delay_sd_s`, of flows other than calls."""
    delay_sd_s: NotRequired[float | None]
    voice: NotRequired[VoiceCounts]
    series_voice: NotRequired[VoiceSeries]


class PlayedCounts(TypedDict):
    """One direction of a call over the measured part, from its receiver."""

    playout_s: float
    due_pkts: int
    lost_pkts: int
    late_pkts: int
    delay_mean_s: float | None
    delay_quantiles_s: list[float] | None


class VoiceReport(TypedDict):
    """The same, with its series over the whole run."""

    voice: PlayedCounts
    delivered_pkts: int
    played_pkts: int
    series_bps: list[float]
    series_voice: VoiceSeries


class NumberedCounts(TypedDict):
    """The counts of one flow, by its number."""

    number: int
    counts: DatagramCounts


class DatagramReport(TypedDict):
    """The measurements of the datagrams' process."""

    flows: list[NumberedCounts]
    pings: list[PingResult]
    lateness_s: dict[str, float]
