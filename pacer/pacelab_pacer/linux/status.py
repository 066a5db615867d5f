"""What an agent writes to standard output with --json, one document per line (docs/agent-status.schema.json).

`FlowMonitor` makes the lines on flows.
"""

from __future__ import annotations

from socket import inet_ntoa
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from pacelab.units import BITS_PER_BYTE, NS_PER_S
from pacelab_pacer.core.segment import ACK, TCP, FlowKey, Segment, VoiceQuality, seq_diff
from pacelab_pacer.core.vagp.e_model import MOS_MIN, mos

STATUS_VERSION: Literal[1] = 1
MAX_FLOWS = 4096
IDLE_NS = 30 * NS_PER_S
SHOWN = 50
_NEW = 1 / 8


class Head(TypedDict):
    """The head of every document."""

    version: Literal[1]
    agent: str
    """Its role: gateway, sender, station..."""
    scheme: str


class Ready(Head):
    """The agent is in place: packets reach it from now on."""

    event: Literal["ready"]
    pid: int
    sched_fifo: bool
    queues: NotRequired[list[int]]
    """Numbers of the kernel's queues where packets wait; absent with `--datapath tc`."""
    datapath: NotRequired[Literal["tc"]]


class Stalled(Head):
    """The watchdog lets packets pass: the agent with this process id hangs."""

    event: Literal["released"]
    pid: int


class Released(TypedDict):
    """How often and for how long packets passed because the agent hung."""

    times: int
    seconds: float


class Queue(TypedDict):
    """What happened to packets in the kernel's queue."""

    lost: int
    overruns: int
    refused: int


class Lateness(TypedDict):
    """Lateness of releases, us; None before the first release."""

    p50: int | None
    p99: int | None
    max: int | None


class FlowStatus(TypedDict):
    """A flow with traffic since the last status."""

    flow: str
    protocol: Literal["tcp", "udp"]
    rate_bps: int
    packets_per_s: float
    rtt_s: float | None
    """Round trip beyond this host, smoothed."""
    mos: float | None


class Status(Head):
    """Written each second and at the end."""

    event: Literal["status", "end"]
    uptime_s: float
    packets: dict[str, int]
    """Packets by their fate."""
    held_pkts: int
    kept_pkts: int
    """Copies for local retransmission."""
    passed_unseen: dict[str, int]
    """Packets that bypassed the algorithm, by reason."""
    drops: dict[str, int]
    """The algorithm's drops, by reason."""
    hook: dict[str, int]
    """The algorithm's counters."""
    failed: str | None
    """Why the algorithm is bypassed; None if it is not."""
    released: Released
    errors: int
    release_lateness_us: Lateness
    flows: list[FlowStatus]
    queue: NotRequired[Queue]
    datapath: NotRequired[Literal["tc"]]
    sampled_octets: NotRequired[int]
    """`--datapath tc`: one packet per this many octets is examined; 0: all packets."""
    not_carried_out: NotRequired[dict[str, int]]
    """`--datapath tc`: actions that this data path cannot carry out."""


Line = Ready | Status | Stalled


class _Watched:
    __slots__ = ("bytes", "highest_end", "last_ns", "mos", "packets", "probe_end", "probe_ns", "protocol", "rtt_ns")

    def __init__(self, protocol: int) -> None:
        self.protocol = protocol
        self.bytes = 0
        self.packets = 0
        self.last_ns = 0
        self.highest_end: int | None = None
        self.probe_end: int | None = None
        self.probe_ns = 0
        self.rtt_ns: float | None = None
        self.mos: float | None = None


class FlowMonitor:
    """What an observer of packets can measure of each flow: rate, round trip, MOS. For display, not for pacing.

    `report` covers the time since the last report.

    Invariants
    1. At most `MAX_FLOWS` flows; further ones are not watched. A flow that is silent for `IDLE_NS` is forgotten.
    2. A round trip starts when a data segment leaves and ends with the ACK that covers it: one at a time per flow, and
       none of a segment that was sent twice (Karn).
    """

    def __init__(self) -> None:
        self._flows: dict[FlowKey, _Watched] = {}
        self._since_ns: int | None = None

    def passed(self, now_ns: int, segment: Segment) -> None:
        """A segment has left."""
        flow = self._flows.get(segment.flow)
        if flow is None:
            if len(self._flows) >= MAX_FLOWS:
                return
            flow = self._flows[segment.flow] = _Watched(segment.protocol)
        flow.bytes += segment.packet_bytes
        flow.packets += 1
        flow.last_ns = now_ns
        if segment.protocol == TCP:
            if segment.payload_bytes:
                self._start(now_ns, flow, segment)
            if segment.flags & ACK:
                self._finish(now_ns, segment)
        elif segment.quality is not None:
            self._judge(now_ns, segment.quality)

    def report(self, now_ns: int) -> list[FlowStatus]:
        """Flows with traffic since the last report, fastest first; forgets the idle ones."""
        span_ns = 0 if self._since_ns is None else now_ns - self._since_ns
        self._since_ns = now_ns
        busy = []
        for key, flow in list(self._flows.items()):
            if flow.packets and span_ns:
                busy.append((flow.bytes * BITS_PER_BYTE * NS_PER_S / span_ns, key, flow))
            elif now_ns - flow.last_ns > IDLE_NS:
                del self._flows[key]
        busy.sort(key=lambda one: -one[0])
        rows = [_row(key, flow, rate, span_ns) for rate, key, flow in busy[:SHOWN]]
        for _rate, _key, flow in busy:
            flow.bytes = flow.packets = 0
        return rows

    def _start(self, now_ns: int, flow: _Watched, segment: Segment) -> None:
        end = segment.end_seq
        if flow.highest_end is not None and seq_diff(end, flow.highest_end) <= 0:
            flow.probe_end = None  # sent again: the ACK may belong to either copy
            return
        flow.highest_end = end
        if flow.probe_end is None:
            flow.probe_end, flow.probe_ns = end, now_ns

    def _finish(self, now_ns: int, segment: Segment) -> None:
        flow = self._flows.get(segment.flow.reversed())
        if flow is not None and flow.probe_end is not None and seq_diff(segment.ack, flow.probe_end) >= 0:
            sample = now_ns - flow.probe_ns
            flow.rtt_ns = sample if flow.rtt_ns is None else flow.rtt_ns + _NEW * (sample - flow.rtt_ns)
            flow.probe_end = None

    def _judge(self, now_ns: int, quality: VoiceQuality) -> None:
        flow = self._flows.get(quality.call)
        if flow is not None:
            heard = quality.expected - quality.lost - quality.late
            loss = 1 - heard / quality.expected if quality.expected else 1.0
            flow.mos = mos(network_delay_ns=quality.delay_ns, loss=loss) if heard else MOS_MIN


def _row(key: FlowKey, flow: _Watched, rate_bps: float, span_ns: int) -> FlowStatus:
    return {
        "flow": f"{_text(key.src)}:{key.sport} > {_text(key.dst)}:{key.dport}",
        "protocol": "tcp" if flow.protocol == TCP else "udp",
        "rate_bps": round(rate_bps),
        "packets_per_s": round(flow.packets * NS_PER_S / span_ns, 1),
        "rtt_s": None if flow.rtt_ns is None else round(flow.rtt_ns / NS_PER_S, 6),
        "mos": None if flow.mos is None else round(flow.mos, 2),
    }


def _text(address: int) -> str:
    return inet_ntoa(address.to_bytes(4, "big"))
