"""Voice packets and voice reports on the wire: the one place that knows their bytes.

A voice packet is RTP (RFC 3550 Sec. 5.1) of payload type 18, G.729: 12 bytes of header and the codec's frames. Ours
come from a sender without a codec: in place of frames they carry what the measurement needs, in as many bytes:

    "PLv1" | moment of sending, 64 bits, ns of CLOCK_MONOTONIC | zeros up to the codec's 20 bytes

A voice report is an RTCP XR packet (RFC 3611 Sec. 2) of the receiver, from its RTP port + 1 to the sender's: a header
of 8 octets and one block, as large as the VoIP metrics block (Sec. 4.7) that the simulator counts:

    type 254 (not assigned), 0, length 8 | SSRC | expected, lost, late (32 bits each) | window, mean delay (64 bits, ns)

That block itself tells loss in 1/256 and delay in ms: too coarse for a window of five packets. Bytes that are not of
this form are no error: they are somebody else's, and pass as plain UDP.
"""

from __future__ import annotations

from struct import Struct

from pacelab.pacer.core.segment import FlowKey, Rtp, VoiceQuality

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
    """What an RTP packet of ours says; None for anything else."""
    if len(payload) < _RTP.size:
        return None
    version, kind, sequence, _timestamp, _stream, magic, sent_ns = _RTP.unpack_from(payload)
    # The marker bit, the top one of `kind`, opens a talk spurt.
    if version != _VERSION or kind & 0x7F != G729_PAYLOAD_TYPE or magic != _MAGIC:
        return None
    return Rtp(sequence, sent_ns)


def voice_report(quality: VoiceQuality, *, stream: int) -> bytes:
    """The RTCP XR packet that tells the sender of `quality.call` how it was heard; `stream` is the reporter's SSRC."""
    counts = (quality.expected, quality.lost, quality.late, quality.window_ns, quality.delay_ns)
    block = _BLOCK.pack(_BLOCK_TYPE, 0, _BLOCK.size // _WORD - 1, stream, *counts)
    return _XR.pack(_VERSION, XR_PACKET_TYPE, REPORT_BYTES // _WORD - 1, stream) + block


def read_voice_report(payload: bytes | memoryview, flow: FlowKey) -> VoiceQuality | None:
    """The measurement in a report that travels in `flow`; None for anything else."""
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
