"""From what tcpdump wrote at each host of a guest to one capture file, an interface per host, ordered by time.

Source: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng, Sec. 4; both little-endian, times in nanoseconds.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from pacelab.errors import ProtocolError
from pacelab.units import NS_PER_S

_NANO = 0xA1B23C4D
_FILE, _RECORD = struct.Struct("<IHHiIII"), struct.Struct("<IIII")
_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_NAME, _RESOLUTION, _END = 2, 9, 0
_ORDER, _UNKNOWN_LENGTH = 0x1A2B3C4D, -1

Packet = tuple[int, int, int, bytes]
"""Time in ns, number of the interface, length on the air, the bytes kept."""


def join(files: Sequence[Path]) -> bytes:
    """A pcapng file of these pcap files: each is an interface, named as its file."""
    blocks = [_block(_SECTION, struct.pack("<IHHq", _ORDER, 1, 0, _UNKNOWN_LENGTH))]
    packets: list[Packet] = []
    for number, file in enumerate(files):
        content = file.read_bytes()
        magic, *_, snap, link = _FILE.unpack_from(content)
        if magic != _NANO:
            raise ProtocolError(f"{file.name}: tcpdump in the guest wrote no pcap of nanoseconds")
        options = _option(_NAME, file.stem.encode()) + _option(_RESOLUTION, b"\x09") + _option(_END, b"")
        blocks.append(_block(_INTERFACE, struct.pack("<HHI", link, 0, snap) + options))
        packets += _packets(content, number)
    packets.sort(key=lambda packet: packet[:2])
    for at_ns, number, length, kept in packets:
        head = struct.pack("<IIIII", number, at_ns >> 32, at_ns & 0xFFFFFFFF, len(kept), length)
        blocks.append(_block(_PACKET, head + _padded(kept)))
    return b"".join(blocks)


def _packets(content: bytes, number: int) -> Iterator[Packet]:
    """A record that was cut off at the end is left out."""
    place = _FILE.size
    while place + _RECORD.size <= len(content):
        seconds, ns, kept, length = _RECORD.unpack_from(content, place)
        place += _RECORD.size + kept
        if place <= len(content):
            yield seconds * NS_PER_S + ns, number, length, content[place - kept : place]


def _block(kind: int, body: bytes) -> bytes:
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _padded(value: bytes) -> bytes:
    return value + bytes(-len(value) % 4)
