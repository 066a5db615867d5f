"""Damages real packets in many ways and checks the reader and the rewriters.

    python tests/linux/fuzz.py 1000000 [SEED]

Checks: no exception; the input packet is not changed; a rewriter's result for a valid packet is valid by an independent
checksum, has the requested change, and no other.
"""

from __future__ import annotations

import random
import struct
import sys
import time
from collections import Counter

from pacelab_pacer.core.segment import SYN, TCP, FlowKey, Segment, VoiceQuality
from pacelab_pacer.linux.packet import PacketReader, Reason, voice_packet, voice_report
from pacelab_pacer.linux.write import clamp_mss, mark_congestion, set_rtt_wired, set_window

REASONS = tuple(reason.value for reason in Reason)


def checksum(data: bytes) -> int:
    """Word by word."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ip(content: bytes, protocol: int, tos: int = 0, frag: int = 0) -> bytes:
    head = struct.pack("!BBHHHBBHII", 0x45, tos, 20 + len(content), 1, frag, 64, protocol, 0, 0x0A000001, 0x0A000102)
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + content


def fix_checksums(packet: bytes) -> bytes:
    """Correct the checksums of the present packet, as far as possible."""
    if len(packet) < 20:
        return packet
    header = 4 * (packet[0] & 15)
    packet = packet[:10] + b"\0\0" + packet[12:]
    packet = packet[:10] + struct.pack("!H", checksum(packet[:header])) + packet[12:]
    text = packet[header:]
    at = {6: 16, 17: 6}.get(packet[9])
    if at is None or len(text) < at + 2:
        return packet
    text = text[:at] + b"\0\0" + text[at + 2 :]
    pseudo = packet[12:20] + struct.pack("!BBH", 0, packet[9], len(text) & 0xFFFF)
    return packet[:header] + text[:at] + struct.pack("!H", checksum(pseudo + text)) + text[at + 2 :]


def is_sound(packet: bytes) -> bool:
    header = 4 * (packet[0] & 15)
    text = packet[header:]
    pseudo = packet[12:20] + struct.pack("!BBH", 0, packet[9], len(text))
    return (
        checksum(packet[:header]) == 0
        and checksum(pseudo + text) == 0
        and int.from_bytes(packet[2:4], "big") == len(packet)
    )


def seeds(rng: random.Random) -> bytes:
    """A realistic packet."""
    kind = rng.randrange(7)
    if kind == 0:
        return fix_checksums(ip(struct.pack("!HHHH", 5, 6, 8 + 40, 0) + rng.randbytes(40), 17))
    if kind == 1:
        rtp = voice_packet(sequence=rng.randrange(1 << 16), sent_ns=rng.randrange(1 << 60), stream=1)
        return fix_checksums(ip(struct.pack("!HHHH", 16384, 16384, 8 + len(rtp), 0) + rtp, 17))
    if kind == 2:
        report = voice_report(VoiceQuality(FlowKey(1, 2, 3, 4), 10**8, 5, 1, 0, 10**7), stream=1)
        return fix_checksums(ip(struct.pack("!HHHH", 16385, 16385, 8 + len(report), 0) + report, 17))
    if kind == 3 and rng.random() < 0.1:
        return rng.choice((b"\x60" + rng.randbytes(59), ip(rng.randbytes(8), 1), ip(rng.randbytes(40), 6, frag=0x2000)))
    options = rng.choice(
        (b"", b"\x02\x04\x05\xb4\x01\x03\x03\x07", b"\x01\x01\x08\x0a" + bytes(8), b"\xfd\x0c\x47\x50" + bytes(8))
    )
    options += b"\x01" * (4 * rng.randrange((40 - len(options)) // 4 + 1)) if rng.random() < 0.3 else b""
    flags = rng.choice((0x10, 0x18, 0x02, 0x12, 0x11, 0x04))
    header = struct.pack(
        "!HHIIBBHHH",
        1,
        2,
        rng.getrandbits(32),
        rng.getrandbits(32),
        (20 + len(options)) // 4 << 4,
        flags,
        rng.getrandbits(16),
        0,
        0,
    )
    payload = rng.randbytes(rng.choice((0, 0, 1, 7, 100, 1460, 8960 if rng.random() < 0.05 else 3)))
    return fix_checksums(ip(header + options + payload, 6, tos=rng.randrange(4)))


def damage(rng: random.Random, packet: bytes) -> bytes:
    """Apply one kind of damage: none, cut, extended, changed bits; with or without corrected checksums."""
    data = bytearray(packet)
    for _ in range(rng.choice((0, 0, 1, 1, 2, 5))):
        way = rng.randrange(4)
        if way == 0:
            del data[rng.randrange(len(data) + 1) :]
        elif way == 1:
            data += rng.randbytes(rng.randrange(5))
        elif data:
            at = rng.randrange(min(len(data), 64))
            data[at] = rng.getrandbits(8) if way == 2 else data[at] ^ (1 << rng.randrange(8))
    if rng.random() < 0.6 and len(data) >= 20:
        if rng.random() < 0.5:
            data[2:4] = struct.pack("!H", len(data) & 0xFFFF)
        return fix_checksums(bytes(data))
    return bytes(data)


def check_rewrites(rng: random.Random, packet: bytes, segment: Segment) -> None:
    data = bytearray(packet)
    reader = PacketReader(largest_bytes=1 << 16)
    has_sum = segment.protocol == TCP or packet[4 * (packet[0] & 15) + 6 : 4 * (packet[0] & 15) + 8] != b"\0\0"
    mark_congestion(data)
    expected = segment._replace(ecn_capable=True)
    if segment.protocol == TCP:
        raw, rtt_ns = rng.getrandbits(16), rng.getrandbits(64)
        set_window(data, raw)
        room = set_rtt_wired(data, rtt_ns, largest_bytes=2304)
        if segment.flags & SYN:
            clamp_mss(data, rng.randrange(1600))
        expected = expected._replace(window_bytes=raw)
        if room:
            expected = expected._replace(rtt_wired_ns=rtt_ns, packet_bytes=len(data))
        assert len(data) - len(packet) == (12 if room and segment.rtt_wired_ns is None else 0)
    assert is_sound(bytes(data)) or not has_sum, packet.hex()
    assert reader.read(segment.handle, data) == expected, packet.hex()
    payload = segment.payload_bytes
    assert not payload or data[-payload:] == packet[-payload:]


def run(cases: int, seed: int) -> Counter[str]:
    """Count the outcomes of this many cases."""
    rng = random.Random(seed)
    reader = PacketReader()
    counts: Counter[str] = Counter()
    for _ in range(cases):
        packet = damage(rng, seeds(rng))
        before = bytes(packet)
        got = reader.read(1, packet)
        assert packet == before
        if isinstance(got, Segment):
            counts["segment"] += 1
            check_rewrites(rng, packet, got._replace(window_bytes=0) if got.protocol != TCP else got)
        else:
            counts[got.value] += 1
    return counts


if __name__ == "__main__":
    total, chosen = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    started = time.monotonic()
    for outcome, count in run(total, chosen).most_common():
        print(f"{outcome:12} {count}")
    print(f"{total} cases, {time.monotonic() - started:.0f} s")
