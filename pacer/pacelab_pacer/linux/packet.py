"""Turns the bytes of an IP packet into the core's `Segment`, or into the reason why that is impossible.

Invariants
1. No bytes raise an exception, and none are changed here.
2. A packet with any header field that is not understood is not shown to an algorithm: it gets a `Reason`, and passes.
   An exception is TCP payload bound for an air whose rate the algorithm promises to keep (`unread_payload`).

Voice packets and reports, at the end, are read and written here.

`WindowScales` stores what a reader learns from SYNs. `words_sum` is the Internet checksum, fast enough in Python for
single packets: since 2^16 = 1 modulo 65535, the one's complement sum of 16-bit words is the bytes' big-endian number
modulo 65535. Python does that division in C: 1.5 us for 1500 bytes, where a loop takes 60.
"""

from __future__ import annotations

from collections import OrderedDict
from enum import StrEnum
from struct import Struct

from pacelab_pacer.core.segment import ACK, FIN, RST, SEQUENCE_SPACE, SYN, TCP, UDP, FlowKey, Rtp, Segment, VoiceQuality

Bytes = bytes | bytearray | memoryview


class Reason(StrEnum):
    """Why a packet bypasses the algorithm."""

    TRUNCATED = "truncated"
    """Shorter than its headers claim."""
    MALFORMED = "malformed"
    """Lengths, options or flags contradict each other."""
    FRAGMENT = "fragment"
    IPV6 = "ipv6"
    NOT_TCP_UDP = "not-tcp-udp"
    JUMBO = "jumbo"
    """Longer than the air's MTU."""
    CHECKSUM = "checksum"
    """Damaged on the way here: its destination will drop it."""


LARGEST_PACKET_BYTES = 2304
"""802.11's largest MSDU."""
IP_HEADER_BYTES = 20
TCP_HEADER_BYTES = 20
UDP_HEADER_BYTES = 8

IP = Struct("!BBHHHBBHII")
TCP_FIELDS = Struct("!HHIIBBHHH")
_UDP_FIELDS = Struct("!HHHH")
_MORE_OR_OFFSET = 0x3FFF
_OFFSET = 0x1FFF

END, NOP, MSS, WINDOW_SCALE, EXPERIMENT = 0, 1, 2, 3, 253
"""TCP option kinds; 253 is for experiments (RFC 4727)."""
RTT_WIRED_ID = 0x4750
"""Our experiment's identifier (RFC 6994): "GP"."""
RTT_WIRED = Struct("!BBHQ")
"""TCP-GAP's option: kind, length, identifier, RTT_wired in ns. 12 bytes, as in the simulator."""


class Options:
    """The options of a TCP header that are used here."""

    __slots__ = ("mss_at", "rtt_wired_at", "rtt_wired_ns", "well_formed", "window_shift")

    def __init__(self, packet: Bytes, at: int, end: int) -> None:
        """Read `packet[at:end]`; positions are those in the packet."""
        self.well_formed = True
        self.mss_at: int | None = None
        """Position of the 16-bit value."""
        self.window_shift: int | None = None
        self.rtt_wired_at: int | None = None
        """Position of the option."""
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
    """Reads packets; learns window scales from them."""

    def __init__(self, *, largest_bytes: int = LARGEST_PACKET_BYTES, whole: bool = True) -> None:
        """`whole`: packets arrive with all their bytes; otherwise with headers only, and checksums are not verified."""
        self.scales = WindowScales()
        self.largest_bytes = largest_bytes
        """A larger packet is no segment."""
        self._whole = whole

    def read(self, handle: int, packet: Bytes) -> Segment | Reason:
        """The segment in an IP packet, or why there is none."""
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


_IPV6_HEADER_BYTES = 40
_EXTENSIONS = frozenset({0, 43, 60, 135})
"""IPv6 extension headers that contain their own length: hop-by-hop, routing, destination, mobility (RFC 8200)."""
_IPV6_FRAGMENT = 44
_IPV6_FRAGMENT_BYTES = 8
_PORTLESS = 0
"""A port that no connection has."""


def unread_payload(handle: int, packet: Bytes, seq: int) -> Segment | None:
    """TCP payload that `PacketReader` does not understand, as a segment without a connection: a fragment, IPv6, bad
    options or a bad checksum. None if the packet is not TCP or has no payload.

    All such packets between two hosts look like one flow in one direction, with `seq` as the next number. So an
    algorithm can pace them without knowing more.
    """
    size = len(packet)
    if size >= IP_HEADER_BYTES and packet[0] >> 4 == 4:
        at, protocol = 4 * (packet[0] & 15), packet[9]
        offset = int.from_bytes(packet[6:8], "big") & _OFFSET
        src, dst = bytes(packet[12:16]), bytes(packet[16:20])
    elif size >= _IPV6_HEADER_BYTES and packet[0] >> 4 == 6:
        at, protocol, offset = _behind_extensions(packet)
        src, dst = bytes(packet[8:24]), bytes(packet[24:40])
    else:
        return None
    payload = size - at
    if offset == 0 and payload >= TCP_HEADER_BYTES:
        header = 4 * (packet[at + 12] >> 4)
        payload -= header if TCP_HEADER_BYTES <= header <= payload else 0
    if protocol != TCP or payload <= 0:
        return None
    flow = FlowKey(int.from_bytes(src, "big"), int.from_bytes(dst, "big"), _PORTLESS, _PORTLESS)
    return Segment(handle, flow, TCP, 0, seq % SEQUENCE_SPACE, 0, payload, size, 0, None)


def _behind_extensions(packet: Bytes) -> tuple[int, int, int]:
    """Where an IPv6 packet's payload begins, its protocol, and its fragment offset."""
    at, protocol, offset = _IPV6_HEADER_BYTES, packet[6], 0
    while at + _IPV6_FRAGMENT_BYTES <= len(packet):
        if protocol == _IPV6_FRAGMENT:
            protocol, offset = packet[at], int.from_bytes(packet[at + 2 : at + 4], "big") >> 3
            at += _IPV6_FRAGMENT_BYTES
        elif protocol in _EXTENSIONS:
            protocol, at = packet[at], at + 8 * (1 + packet[at + 1])
        else:
            break
    return at, protocol, offset


MAX_SHIFT = 14
"""RFC 7323 Sec. 2.3."""
MAX_FLOWS = 32_768
_HALF = SEQUENCE_SPACE // 2


class _Direction:
    __slots__ = ("highest_end", "inferred", "offered", "syn_seen")

    def __init__(self) -> None:
        self.syn_seen = False
        self.offered: int | None = None
        self.highest_end: int | None = None
        self.inferred = 0


class WindowScales:
    """Window scales by direction: a TCP header gives its window in a unit that only the SYNs contain.

    Invariants
    1. A scale counts only when both SYNs offered one (RFC 7323 Sec. 2.2), and never in a SYN itself.
    2. A connection whose SYNs were not seen (this process started later) gets the smallest scale under which its sender
       has kept to the window so far: a lower bound of the window, and never less than the data in flight. Such a scale
       is good for reading, not for writing.
    3. At most `MAX_FLOWS` directions are remembered; the most silent one is forgotten first.
    """

    def __init__(self, max_flows: int = MAX_FLOWS) -> None:
        self._max = max_flows
        self._known: OrderedDict[FlowKey, _Direction] = OrderedDict()

    def note_syn(self, flow: FlowKey, shift: int | None) -> None:
        """A SYN or SYN-ACK of `flow` offered this shift, or none."""
        direction = self._direction(flow)
        direction.syn_seen = True
        direction.offered = None if shift is None else min(shift, MAX_SHIFT)
        direction.highest_end = None
        direction.inferred = 0

    def shift(self, flow: FlowKey) -> int | None:
        """Shift of the windows that `flow`'s segments advertise; None unless both SYNs were seen."""
        own = self._known.get(flow)
        other = self._known.get(flow.reversed())
        if own is None or other is None or not (own.syn_seen and other.syn_seen):
            return None
        return 0 if own.offered is None or other.offered is None else own.offered

    def unit(self, flow: FlowKey) -> int:
        """The shift that `window_bytes` uses; for segments that an algorithm has made."""
        shift = self.shift(flow)
        known = self._known.get(flow)
        return shift if shift is not None else 0 if known is None else known.inferred

    def window_bytes(self, flow: FlowKey, raw: int, *, ack: int | None, end_seq: int | None) -> int:
        """The window of a segment that is no SYN; give `end_seq` for data and `ack` for an acknowledgement."""
        shift = self.shift(flow)
        if shift is not None:
            return raw << shift
        own = self._direction(flow)
        if end_seq is not None and (
            own.highest_end is None or 0 < (end_seq - own.highest_end) % SEQUENCE_SPACE < _HALF
        ):
            own.highest_end = end_seq
        other = self._known.get(flow.reversed())
        if ack is not None and raw and other is not None and other.highest_end is not None:
            under_way = (other.highest_end - ack) % SEQUENCE_SPACE
            while own.inferred < MAX_SHIFT and raw << own.inferred < under_way < _HALF:
                own.inferred += 1
        return raw << own.inferred

    def _direction(self, flow: FlowKey) -> _Direction:
        found = self._known.get(flow)
        if found is None:
            found = self._known[flow] = _Direction()
            if len(self._known) > self._max:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(flow)
        return found

    def __len__(self) -> int:
        """Directions remembered."""
        return len(self._known)


_MODULUS = 0xFFFF


def words_sum(data: bytes | bytearray | memoryview) -> int:
    """One's complement sum of big-endian 16-bit words, an odd last byte padded with zero; 0..65534 (65535 is 0)."""
    value = int.from_bytes(data, "big")
    return (value << 8 if len(data) & 1 else value) % _MODULUS


def checksum(total: int) -> int:
    """The checksum field for a sum of words."""
    return -total % _MODULUS


def updated(old: int, old_sum: int, new_sum: int) -> int:
    """The checksum field after words with `old_sum` became words with `new_sum`.

    Source: RFC 1624 Eq. (3): HC' = ~(~HC + ~m + m').
    """
    total = (~old & 0xFFFF) + (~old_sum & 0xFFFF) + new_sum
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


# Voice packets and voice reports on the wire: the one place that knows their bytes.
#
# A voice packet is RTP (RFC 3550 Sec. 5.1) of payload type 18, G.729: 12 bytes of header and the codec's frames. Ours
# come from a sender without a codec: in place of frames they carry what the measurement needs, in as many bytes:
#
#     "PLv1" | moment of sending, 64 bits, ns of CLOCK_MONOTONIC | zeros up to the codec's 20 bytes
#
# A voice report is an RTCP XR packet (RFC 3611 Sec. 2) of the receiver, from its RTP port + 1 to the sender's: a header
# of 8 octets and one block, as large as the VoIP metrics block (Sec. 4.7) that the simulator counts:
#
#     type 254 (not assigned), 0, length 8 | SSRC | expected, lost, late (32 bits each) |
#     window, mean delay (64 bits, ns)
#
# The standard block reports loss in 1/256 and delay in ms, which is too coarse for a window of five packets. Bytes that
# do not have this form are no error: they belong to other programs, and pass as plain UDP.

G729_PAYLOAD_TYPE = 18
FRAME_BYTES = 20
"""Two G.729a frames of 10 ms."""
RTP_HEADER_BYTES = 12
_RTP = Struct("!BBHII4sQ")
_MAGIC = b"PLv1"
_VERSION = 0x80
"""RTP version 2; no padding, extension or further sources."""
_CLOCK_HZ = 8000
_NS_PER_S = 1_000_000_000

XR_PACKET_TYPE = 207
_XR = Struct("!BBHI")
_BLOCK = Struct("!BBH I III QQ")
_BLOCK_TYPE = 254
REPORT_BYTES = _XR.size + _BLOCK.size
_WORD = 4


def voice_packet(*, sequence: int, sent_ns: int, stream: int, payload_bytes: int = FRAME_BYTES) -> bytes:
    """An RTP packet; `stream` is its SSRC, `payload_bytes` at least 12."""
    timestamp = sent_ns * _CLOCK_HZ // _NS_PER_S & 0xFFFFFFFF
    head = _RTP.pack(_VERSION, G729_PAYLOAD_TYPE, sequence & 0xFFFF, timestamp, stream, _MAGIC, sent_ns)
    return head.ljust(RTP_HEADER_BYTES + payload_bytes, b"\0")


def read_voice_packet(payload: bytes | memoryview) -> Rtp | None:
    """The header of one of our RTP packets; None for any other packet."""
    if len(payload) < _RTP.size:
        return None
    version, kind, sequence, _timestamp, _stream, magic, sent_ns = _RTP.unpack_from(payload)
    # The marker bit, the top one of `kind`, opens a talk spurt.
    if version != _VERSION or kind & 0x7F != G729_PAYLOAD_TYPE or magic != _MAGIC:
        return None
    return Rtp(sequence, sent_ns)


def voice_report(quality: VoiceQuality, *, stream: int) -> bytes:
    """The RTCP XR packet that reports `quality` to the sender of the call; `stream` is the reporter's SSRC."""
    counts = (quality.expected, quality.lost, quality.late, quality.window_ns, quality.delay_ns)
    block = _BLOCK.pack(_BLOCK_TYPE, 0, _BLOCK.size // _WORD - 1, stream, *counts)
    return _XR.pack(_VERSION, XR_PACKET_TYPE, REPORT_BYTES // _WORD - 1, stream) + block


def read_voice_report(payload: bytes | memoryview, flow: FlowKey) -> VoiceQuality | None:
    """The measurement in a report in `flow`; None for any other packet."""
    if len(payload) < _XR.size or payload[0] & 0xC0 != _VERSION or payload[1] != XR_PACKET_TYPE:
        return None
    at = _XR.size
    while at + _WORD <= len(payload):
        size = _WORD * (1 + int.from_bytes(payload[at + 2 : at + 4], "big"))
        if payload[at] == _BLOCK_TYPE and size == _BLOCK.size and at + size <= len(payload):
            *_head, expected, lost, late, window_ns, delay_ns = _BLOCK.unpack_from(payload, at)
            if flow.sport == 0 or flow.dport == 0 or lost + late > expected:
                return None
            call = FlowKey(flow.dst, flow.src, flow.dport - 1, flow.sport - 1)
            return VoiceQuality(call, window_ns, expected, lost, late, delay_ns)
        at += size
    return None
