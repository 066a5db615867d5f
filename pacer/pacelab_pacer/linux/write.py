"""Packets that leave with other bytes: changed in place, made from an algorithm's `Inject`, and sent from here.

Changes are to window, ECN mark, RTT_wired option and MSS. They work on packets that `PacketReader.read` has taken for a
segment: their headers are sound. Checksums are updated incrementally, so that a wrong one stays wrong by as much: a
change never makes a damaged packet look whole (RFC 1624).
"""

from __future__ import annotations

import socket

from pacelab_pacer.core.segment import TCP, UDP, Segment
from pacelab_pacer.linux.host import AgentError
from pacelab_pacer.linux.packet import (
    EXPERIMENT,
    IP,
    IP_HEADER_BYTES,
    RTT_WIRED,
    RTT_WIRED_ID,
    TCP_FIELDS,
    TCP_HEADER_BYTES,
    UDP_HEADER_BYTES,
    Bytes,
    Options,
    checksum,
    updated,
    voice_report,
    words_sum,
)

OPTION_BYTES = RTT_WIRED.size
_LARGEST_TCP_HEADER = 60
_IP_SUM, _TCP_SUM = 10, 16
_TOTAL, _OFFSET, _WINDOW = 2, 12, 14
LEAST_MSS_BYTES = 536
"""The size that every host accepts (RFC 9293 Sec. 3.7.1); the MSS is never clamped below it."""
MAX_RAW_WINDOW = 0xFFFF


def raw_window(window_bytes: int, shift: int) -> int:
    """Header field for a window: never more than requested, but an open window stays open."""
    return min(max(window_bytes >> shift, 1 if window_bytes > 0 else 0), MAX_RAW_WINDOW)


def set_window(packet: bytearray, raw: int) -> None:
    """Write the window field of a TCP packet."""
    at = _ip_header(packet)
    _patch(packet, at + _WINDOW, raw.to_bytes(2, "big"), at + _TCP_SUM)


def mark_congestion(packet: bytearray) -> None:
    """Set Congestion Experienced (RFC 3168)."""
    _patch(packet, 1, bytes([packet[1] | 3]), _IP_SUM)


def set_rtt_wired(packet: bytearray, rtt_wired_ns: int, *, largest_bytes: int) -> bool:
    """Write TCP-GAP's option, over an older one or as a new one; False if there is no room for it.

    A new option is written before the others: after an End of Option List, receivers would ignore it.
    """
    at = _ip_header(packet)
    header = 4 * (packet[at + _OFFSET] >> 4)
    option = RTT_WIRED.pack(EXPERIMENT, OPTION_BYTES, RTT_WIRED_ID, min(rtt_wired_ns, (1 << 64) - 1))
    present = Options(packet, at + TCP_HEADER_BYTES, at + header).rtt_wired_at
    if present is not None:
        _patch(packet, present, option, at + _TCP_SUM)
        return True
    if header + OPTION_BYTES > _LARGEST_TCP_HEADER or len(packet) + OPTION_BYTES > largest_bytes:
        return False
    place = at + TCP_HEADER_BYTES
    packet[place:place] = bytes(OPTION_BYTES)
    # The TCP length of the pseudo header grows, and the zeros just inserted change no sum.
    _add_to_sum(packet, at + _TCP_SUM, OPTION_BYTES)
    _patch(packet, place, option, at + _TCP_SUM)
    offset = packet[at + _OFFSET] + (OPTION_BYTES // 4 << 4)
    _patch(packet, at + _OFFSET, bytes([offset]), at + _TCP_SUM)
    _patch(packet, _TOTAL, len(packet).to_bytes(2, "big"), _IP_SUM)
    return True


def clamp_mss(packet: bytearray, mss_bytes: int) -> bool:
    """Lower the MSS in a SYN to this value; True if that changed it."""
    at = _ip_header(packet)
    place = Options(packet, at + TCP_HEADER_BYTES, at + 4 * (packet[at + _OFFSET] >> 4)).mss_at
    wanted = max(mss_bytes, LEAST_MSS_BYTES)
    if place is None or int.from_bytes(packet[place : place + 2], "big") <= wanted:
        return False
    _patch(packet, place, wanted.to_bytes(2, "big"), at + _TCP_SUM)
    return True


def _ip_header(packet: Bytes) -> int:
    return 4 * (packet[0] & 15)


def _patch(packet: bytearray, at: int, new: bytes, sum_at: int) -> None:
    """Overwrite bytes and update the checksum at `sum_at`, which covers the 16-bit words that contain them."""
    start, end = at & ~1, (at + len(new) + 1) & ~1
    old_sum = words_sum(packet[start:end])
    packet[at : at + len(new)] = new
    field = int.from_bytes(packet[sum_at : sum_at + 2], "big")
    packet[sum_at : sum_at + 2] = updated(field, old_sum, words_sum(packet[start:end])).to_bytes(2, "big")


def _add_to_sum(packet: bytearray, sum_at: int, amount: int) -> None:
    field = int.from_bytes(packet[sum_at : sum_at + 2], "big")
    packet[sum_at : sum_at + 2] = updated(field, 0, amount).to_bytes(2, "big")


# Packets of our own.

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


class RawSender:
    """Sends whole IPv4 packets with any source address: local retransmissions, generated ACKs, reports.

    Raises AgentError if that is not permitted.

    The packets leave through the host's own output, by its routes, so hooks on forwarded packets never see them. The
    mark keeps the packets out of the queues of the agent that sent them. A packet to an address of this host goes to
    its own transport.
    """

    def __init__(self, mark: int) -> None:
        try:
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.IPPROTO_RAW)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)
        except OSError as error:
            raise AgentError(f"raw socket: {error.strerror}; run the agent as root (it needs CAP_NET_RAW)") from None
        self._socket.setblocking(False)

    def send(self, packet: bytes | bytearray) -> bool:
        """Send a packet; return whether the kernel took it (it may have no route, no room, or rules against it)."""
        destination = socket.inet_ntoa(bytes(packet[16:20]))
        try:
            self._socket.sendto(packet, (destination, 0))
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
