"""From the bytes of an IP packet to the core's `Segment`, or to the reason why not.

Invariants
1. No bytes raise an exception, and none are changed here.
2. What is not understood to the last header field is shown to no algorithm: it gets a `Reason`, and passes.
"""

from __future__ import annotations

from enum import StrEnum
from struct import Struct

from pacelab.pacer.core.segment import ACK, FIN, RST, SEQUENCE_SPACE, SYN, TCP, UDP, FlowKey, Segment
from pacelab.pacer.linux.checksum import words_sum
from pacelab.pacer.linux.voice_format import read_voice_packet, read_voice_report
from pacelab.pacer.linux.window_scales import WindowScales

Bytes = bytes | bytearray | memoryview


class Reason(StrEnum):
    """Why a packet passes unseen."""

    TRUNCATED = "truncated"
    """Shorter than its headers say."""
    MALFORMED = "malformed"
    """Lengths, options or flags that contradict themselves."""
    FRAGMENT = "fragment"
    IPV6 = "ipv6"
    NOT_TCP_UDP = "not-tcp-udp"
    JUMBO = "jumbo"
    """Longer than the air carries."""
    CHECKSUM = "checksum"
    """Damaged on the way here: its end host is going to drop it."""


LARGEST_PACKET_BYTES = 2304
"""802.11's largest MSDU."""
IP_HEADER_BYTES = 20
TCP_HEADER_BYTES = 20
UDP_HEADER_BYTES = 8

IP = Struct("!BBHHHBBHII")
TCP_FIELDS = Struct("!HHIIBBHHH")
_UDP_FIELDS = Struct("!HHHH")
_MORE_OR_OFFSET = 0x3FFF

END, NOP, MSS, WINDOW_SCALE, EXPERIMENT = 0, 1, 2, 3, 253
"""TCP option kinds; 253 is for experiments (RFC 4727)."""
RTT_WIRED_ID = 0x4750
"""Our experiment's identifier (RFC 6994): "GP"."""
RTT_WIRED = Struct("!BBHQ")
"""TCP-GAP's option: kind, length, identifier, RTT_wired in ns. 12 bytes, as in the simulator."""


class Options:
    """What a TCP header's options say, as far as anyone here wants to know."""

    __slots__ = ("mss_at", "rtt_wired_at", "rtt_wired_ns", "well_formed", "window_shift")

    def __init__(self, packet: Bytes, at: int, end: int) -> None:
        """Read `packet[at:end]`; positions are those in the packet."""
        self.well_formed = True
        self.mss_at: int | None = None
        """Of the 16-bit value."""
        self.window_shift: int | None = None
        self.rtt_wired_at: int | None = None
        """Of the option."""
        self.rtt_wired_ns: int | None = None
        while at < end and (kind := packet[at]) != END:
            if kind == NOP:
                at += 1
                continue
            length = packet[at + 1] if at + 1 < end else 0
            if length < 2 or at + length > end:
                self.well_formed = False
                return
            self._take(packet, kind, at, length)
            at += length

    def _take(self, packet: Bytes, kind: int, at: int, length: int) -> None:
        if kind == EXPERIMENT and length == RTT_WIRED.size:
            _kind, _length, experiment, rtt_wired_ns = RTT_WIRED.unpack_from(packet, at)
            if experiment == RTT_WIRED_ID:
                self.rtt_wired_at, self.rtt_wired_ns = at, rtt_wired_ns
        elif kind == MSS and length == 4:
            self.mss_at = at + 2
        elif kind == WINDOW_SCALE and length == 3:
            self.window_shift = packet[at + 2]


class PacketReader:
    """Reads packets; learns window scales on the way."""

    def __init__(self, *, largest_bytes: int = LARGEST_PACKET_BYTES, whole: bool = True) -> None:
        """`whole`: packets come with all their bytes, else with their headers only, and no checksum is looked at."""
        self.scales = WindowScales()
        self.largest_bytes = largest_bytes
        """Larger ones are no segments."""
        self._whole = whole

    def read(self, handle: int, packet: Bytes) -> Segment | Reason:
        """The segment that an IP packet holds, or why it is none."""
        size = len(packet)
        if size and packet[0] >> 4 == 6:
            return Reason.IPV6
        if size < IP_HEADER_BYTES:
            return Reason.TRUNCATED
        first, service, total, _id, fragment, _ttl, protocol, _sum, src, dst = IP.unpack_from(packet)
        header = 4 * (first & 15)
        if first >> 4 != 4 or header < IP_HEADER_BYTES or total < header:
            return Reason.MALFORMED
        if header > size or (total > size and self._whole):
            return Reason.TRUNCATED
        if total < size:
            return Reason.MALFORMED
        if fragment & _MORE_OR_OFFSET:
            return Reason.FRAGMENT
        if protocol != TCP and protocol != UDP:
            return Reason.NOT_TCP_UDP
        if total > self.largest_bytes:
            return Reason.JUMBO
        view = memoryview(packet)
        if self._whole and words_sum(view[:header]):
            return Reason.CHECKSUM
        pseudo = src + dst + protocol + total - header
        capable = service & 3 != 0
        if protocol == TCP:
            return self._tcp(handle, view, header, src, dst, pseudo, capable)
        return self._udp(handle, view, header, src, dst, pseudo, capable)

    def _tcp(
        self, handle: int, packet: memoryview, at: int, src: int, dst: int, pseudo: int, capable: bool
    ) -> Segment | Reason:
        size = len(packet)
        if size < at + TCP_HEADER_BYTES:
            return Reason.TRUNCATED
        sport, dport, seq, ack, offset, flags, raw_window, _sum, _urgent = TCP_FIELDS.unpack_from(packet, at)
        header = 4 * (offset >> 4)
        if header < TCP_HEADER_BYTES or (flags & SYN and flags & (FIN | RST)):
            return Reason.MALFORMED
        payload_at = at + header
        if payload_at > size:
            return Reason.TRUNCATED
        if self._whole and (pseudo + words_sum(packet[at:])) % 0xFFFF:
            return Reason.CHECKSUM
        flow = FlowKey(src, dst, sport, dport)
        rtt_wired_ns = shift = None
        if header > TCP_HEADER_BYTES:
            options = Options(packet, at + TCP_HEADER_BYTES, payload_at)
            if not options.well_formed:
                return Reason.MALFORMED
            rtt_wired_ns, shift = options.rtt_wired_ns, options.window_shift
        total = int.from_bytes(packet[2:4], "big")
        if payload_at > total:
            return Reason.MALFORMED
        payload = total - payload_at
        if flags & SYN:
            self.scales.note_syn(flow, shift)
            window = raw_window
        else:
            window = self.scales.window_bytes(
                flow,
                raw_window,
                ack=ack if flags & ACK else None,
                end_seq=(seq + payload) % SEQUENCE_SPACE if payload else None,
            )
        return Segment(handle, flow, TCP, flags, seq, ack, payload, total, window, rtt_wired_ns, capable)

    def _udp(
        self, handle: int, packet: memoryview, at: int, src: int, dst: int, pseudo: int, capable: bool
    ) -> Segment | Reason:
        size = len(packet)
        if size < at + UDP_HEADER_BYTES:
            return Reason.TRUNCATED
        sport, dport, length, carried = _UDP_FIELDS.unpack_from(packet, at)
        total = int.from_bytes(packet[2:4], "big")
        if length != total - at:
            return Reason.MALFORMED if length < total - at else Reason.TRUNCATED
        if carried and self._whole and (pseudo + words_sum(packet[at:])) % 0xFFFF:
            return Reason.CHECKSUM
        flow = FlowKey(src, dst, sport, dport)
        payload = packet[at + UDP_HEADER_BYTES :]
        rtp = read_voice_packet(payload)
        quality = None if rtp else read_voice_report(payload, flow)
        return Segment(handle, flow, UDP, 0, 0, 0, length - UDP_HEADER_BYTES, total, 0, None, capable, rtp, quality)
