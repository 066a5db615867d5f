"""What an observer of the packets can say of each flow: rate, round trip, loss of voice. For people, not for pacing.

Invariants
1. At most `MAX_FLOWS` flows; further ones are not watched. A flow that is silent for `IDLE_NS` is forgotten.
2. A round trip starts when a data segment is let go and ends with the ACK that covers it; one at a time per flow, and
   none of what was sent twice (Karn).
"""

from __future__ import annotations

from socket import inet_ntoa

from pacelab.pacer.core.segment import ACK, TCP, FlowKey, Segment, VoiceQuality, seq_diff
from pacelab.pacer.core.vagp.e_model import MOS_MIN, mos
from pacelab.pacer.linux.status import FlowStatus
from pacelab.units import BITS_PER_BYTE, NS_PER_S

MAX_FLOWS = 4096
IDLE_NS = 30 * NS_PER_S
SHOWN = 50
_NEW = 1 / 8


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
    """Watches what passes; `report` sums up the time since the last one."""

    def __init__(self) -> None:
        self._flows: dict[FlowKey, _Watched] = {}
        self._since_ns: int | None = None

    def passed(self, now_ns: int, segment: Segment) -> None:
        """A segment was let go."""
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
            flow.probe_end = None  # sent again: what comes back may belong to either
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
