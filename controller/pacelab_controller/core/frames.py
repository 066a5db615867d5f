"""Frames: bytes to fields, and the few frames that the controller sends itself.

A truncated or contradictory frame gives a `Malformed` reason, never an exception.
Source: IEEE 802.3 and 802.1AB, RFC 826, RFC 791, RFC 3550 Sec. 5.1.
"""

from __future__ import annotations

import struct
from enum import StrEnum
from ipaddress import IPv4Address
from typing import NamedTuple

from pacelab_controller.core.messages import FiveTuple

IPV4, ARP, LLDP = 0x0800, 0x0806, 0x88CC
TCP, UDP = 6, 17
BROADCAST = 0xFFFF_FFFF_FFFF
LLDP_GROUP = 0x0180_C200_000E
REQUEST, REPLY = 1, 2
VOICE_DSCPS = frozenset({44, 46, 48})
"""VOICE-ADMIT (RFC 5865), EF (RFC 3246), and CS6, which 802.11 maps to the access category voice."""

_ETHERNET_BYTES, _IPV4_BYTES, _ARP_BYTES, _RTP_BYTES = 14, 20, 28, 12
_LLDP_NAME = b"pacelab"
_LLDP_PORT = struct.Struct("!I")


class Malformed(StrEnum):
    """Why a frame was not read."""

    SHORT = "cut off"
    HEADER = "bad header"
    ADDRESS = "bad address"


class Arp(NamedTuple):
    """An ARP packet for Ethernet and IPv4."""

    operation: int
    sender_mac: int
    sender: int
    target: int


class Rtp(NamedTuple):
    """A possible RTP header: UDP does not state the kind of its payload."""

    payload_type: int
    sequence: int
    timestamp: int
    source: int
    payload_bytes: int


class Frame(NamedTuple):
    """The fields of a frame."""

    src_mac: int
    dst_mac: int
    kind: int
    """EtherType."""
    flow: FiveTuple | None = None
    dscp: int = 0
    size_bytes: int = 0
    """Of the IP packet."""
    rtp: Rtp | None = None
    arp: Arp | None = None

    @property
    def to_group(self) -> bool:
        """Broadcast or multicast."""
        return bool(self.dst_mac >> 40 & 1)


def read_frame(data: bytes) -> Frame | Malformed:
    """The fields of a frame."""
    if len(data) < _ETHERNET_BYTES:
        return Malformed.SHORT
    dst_mac, src_mac = int.from_bytes(data[:6], "big"), int.from_bytes(data[6:12], "big")
    if src_mac >> 40 & 1 or not src_mac:
        return Malformed.ADDRESS
    kind = int.from_bytes(data[12:14], "big")
    frame = Frame(src_mac, dst_mac, kind)
    if kind == IPV4:
        return _read_ip(frame, data)
    if kind == ARP:
        return _read_arp(frame, data)
    return frame


def _read_arp(frame: Frame, data: bytes) -> Frame | Malformed:
    if len(data) < _ETHERNET_BYTES + _ARP_BYTES:
        return Malformed.SHORT
    hardware, protocol, hardware_bytes, protocol_bytes, operation = struct.unpack_from("!HHBBH", data, 14)
    if (hardware, protocol, hardware_bytes, protocol_bytes) != (1, IPV4, 6, 4) or operation not in (REQUEST, REPLY):
        return Malformed.HEADER
    sender_mac = int.from_bytes(data[22:28], "big")
    sender, target = int.from_bytes(data[28:32], "big"), int.from_bytes(data[38:42], "big")
    if sender_mac != frame.src_mac or (sender and not is_host(sender)):
        return Malformed.ADDRESS  # it names another MAC; no host that we serve does that, proxies included
    return frame._replace(arp=Arp(operation, sender_mac, sender, target))


def _read_ip(frame: Frame, data: bytes) -> Frame | Malformed:
    if len(data) < _ETHERNET_BYTES + _IPV4_BYTES:
        return Malformed.SHORT
    header = 4 * (data[14] & 15)
    size = int.from_bytes(data[16:18], "big")
    if data[14] >> 4 != 4 or header < _IPV4_BYTES or size < header:
        return Malformed.HEADER
    if len(data) < _ETHERNET_BYTES + header:
        return Malformed.SHORT
    src, dst = int.from_bytes(data[26:30], "big"), int.from_bytes(data[30:34], "big")
    if not is_host(src):
        return Malformed.ADDRESS
    protocol, dscp = data[23], data[15] >> 2
    fragment = int.from_bytes(data[20:22], "big") & 0x3FFF
    start = _ETHERNET_BYTES + header
    if protocol not in (TCP, UDP) or fragment:
        return frame._replace(flow=FiveTuple(src, dst, protocol, 0, 0), dscp=dscp, size_bytes=size)
    if len(data) < start + 4 or size < header + 8:
        return Malformed.SHORT
    sport, dport = struct.unpack_from("!HH", data, start)
    rtp = _read_rtp(data[start + 8 : _ETHERNET_BYTES + size], size - header - 8) if protocol == UDP else None
    return frame._replace(flow=FiveTuple(src, dst, protocol, sport, dport), dscp=dscp, size_bytes=size, rtp=rtp)


def _read_rtp(head: bytes, size_bytes: int) -> Rtp | None:
    """`head` may be truncated; `size_bytes` is the size of the UDP payload."""
    if len(head) < _RTP_BYTES or head[0] >> 6 != 2:
        return None
    own = _RTP_BYTES + 4 * (head[0] & 15)
    if size_bytes < own:
        return None
    sequence, timestamp, source = struct.unpack_from("!HII", head, 2)
    return Rtp(head[1] & 0x7F, sequence, timestamp, source, size_bytes - own)


def is_host(address: int) -> bool:
    """Whether an IPv4 address can belong to one host."""
    found = IPv4Address(address)
    return not (found.is_multicast or found.is_unspecified or found.is_loopback or address == 0xFFFF_FFFF)


def arp_packet(*, operation: int, src_mac: int, dst_mac: int, sender: int, target_mac: int, target: int) -> bytes:
    """An ARP frame whose sender is `src_mac`."""
    ethernet = dst_mac.to_bytes(6, "big") + src_mac.to_bytes(6, "big") + ARP.to_bytes(2, "big")
    head = struct.pack("!HHBBH", 1, IPV4, 6, 4, operation)
    ends = src_mac.to_bytes(6, "big") + sender.to_bytes(4, "big") + target_mac.to_bytes(6, "big")
    return ethernet + head + ends + target.to_bytes(4, "big")


def lldp_packet(dpid: int, port: int, src_mac: int) -> bytes:
    """The frame that announces a switch's port to the switch at the other end of the link."""
    ethernet = LLDP_GROUP.to_bytes(6, "big") + src_mac.to_bytes(6, "big") + LLDP.to_bytes(2, "big")
    chassis = _tlv(1, b"\x07" + _LLDP_NAME + dpid.to_bytes(8, "big"))
    return ethernet + chassis + _tlv(2, b"\x07" + _LLDP_PORT.pack(port)) + _tlv(3, b"\0\4") + _tlv(0, b"")


def read_lldp(data: bytes) -> tuple[int, int] | None:
    """Switch and port of a frame of `lldp_packet`; None for any other frame."""
    chassis = _tlv(1, b"\x07" + _LLDP_NAME)
    start = _ETHERNET_BYTES + 2
    body = data[start : start + 1 + len(_LLDP_NAME) + 8]
    if body[: len(chassis) - 2] != chassis[2:] or len(body) < 1 + len(_LLDP_NAME) + 8:
        return None
    rest = data[start + len(body) :]
    if len(rest) < 7 or rest[:3] != _tlv(2, b"\x07" + b"\0" * 4)[:3]:
        return None
    return int.from_bytes(body[-8:], "big"), int(_LLDP_PORT.unpack_from(rest, 3)[0])


def _tlv(kind: int, value: bytes) -> bytes:
    return (kind << 9 | len(value)).to_bytes(2, "big") + value


def mac_text(mac: int) -> str:
    """A MAC as text."""
    return ":".join(f"{byte:02x}" for byte in mac.to_bytes(6, "big"))


def read_mac(text: str) -> int:
    """A MAC from text. Raises ValueError."""
    parts = text.split(":")
    if len(parts) != 6 or any(len(part) != 2 for part in parts):
        raise ValueError(f"{text!r} is not a MAC address; give one like 02:00:00:00:00:01")
    return int("".join(parts), 16)


def address_text(address: int) -> str:
    """An IPv4 address as text."""
    return str(IPv4Address(address))


def flow_text(flow: FiveTuple) -> str:
    """A flow as text, as in agents' reports and tables."""
    if flow.protocol in (TCP, UDP):
        return f"{address_text(flow.src)}:{flow.sport} > {address_text(flow.dst)}:{flow.dport}"
    return f"{address_text(flow.src)} > {address_text(flow.dst)}"
