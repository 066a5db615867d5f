"""Packets of our own: what an algorithm's `Inject` becomes on the wire."""

from __future__ import annotations

from pacelab.pacer.core.segment import TCP, UDP, Segment
from pacelab.pacer.linux.checksum import checksum, words_sum
from pacelab.pacer.linux.packet import IP, IP_HEADER_BYTES, TCP_FIELDS, TCP_HEADER_BYTES, UDP_HEADER_BYTES
from pacelab.pacer.linux.rewrite import raw_window
from pacelab.pacer.linux.voice_format import voice_report

TTL = 64
_DONT_FRAGMENT = 0x4000
_CAPABLE = 2
"""ECT(0)."""


def build(segment: Segment, *, shift: int = 0) -> bytes | None:
    """The IP packet of a TCP segment without payload or of a voice report, `shift` being its window's scale.

    None for anything else: an algorithm has no bytes to put into a payload.
    """
    if segment.protocol == TCP and not segment.payload_bytes:
        return _tcp(segment, shift)
    if segment.protocol == UDP and segment.quality is not None:
        return _report(segment)
    return None


def _tcp(segment: Segment, shift: int) -> bytes:
    flow = segment.flow
    fields = (flow.sport, flow.dport, segment.seq, segment.ack, TCP_HEADER_BYTES // 4 << 4, segment.flags & 0xFF)
    window = raw_window(segment.window_bytes, shift)
    header = TCP_FIELDS.pack(*fields, window, 0, 0)
    carried = checksum(words_sum(header) + flow.src + flow.dst + TCP + len(header))
    return _ip(segment, TCP, TCP_FIELDS.pack(*fields, window, carried, 0))


def _report(segment: Segment) -> bytes:
    assert segment.quality is not None
    flow = segment.flow
    payload = voice_report(segment.quality, stream=flow.src & 0xFFFFFFFF)
    length = UDP_HEADER_BYTES + len(payload)
    ports = flow.sport.to_bytes(2, "big") + flow.dport.to_bytes(2, "big") + length.to_bytes(2, "big")
    # A sum of 0 would mean that there is none.
    carried = checksum(words_sum(ports + b"\0\0" + payload) + flow.src + flow.dst + UDP + length) or 0xFFFF
    return _ip(segment, UDP, ports + carried.to_bytes(2, "big") + payload)


def _ip(segment: Segment, protocol: int, content: bytes) -> bytes:
    service = _CAPABLE if segment.ecn_capable else 0
    total = IP_HEADER_BYTES + len(content)
    fields = (0x45, service, total, 0, _DONT_FRAGMENT, TTL, protocol)
    addresses = (segment.flow.src, segment.flow.dst)
    carried = checksum(words_sum(IP.pack(*fields, 0, *addresses)))
    return IP.pack(*fields, carried, *addresses) + content
