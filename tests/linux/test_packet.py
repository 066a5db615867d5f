from __future__ import annotations

import struct

import pytest

from pacelab.pacer.core.segment import ACK, SYN, TCP, UDP, FlowKey, Segment
from pacelab.pacer.linux.packet import PacketReader, Reason

FLOW = FlowKey(0x0A010001, 0x0A020009, 5000, 80)
RTT_OPTION = bytes.fromhex("fd0c4750") + struct.pack("!Q", 40_000_000)


def read(packet: bytes, reader: PacketReader | None = None) -> Segment | Reason:
    return (reader or PacketReader()).read(9, packet)


def test_packet_tcp_data_becomes_a_segment(make) -> None:
    assert read(make.tcp(b"x" * 100)) == Segment(9, FLOW, TCP, ACK, 1000, 2000, 100, 140, 500, None, False)


def test_packet_ip_options_are_skipped(make) -> None:
    segment = read(make.tcp(b"x" * 7, options=b"", **{"tos": 2, "frag": 0}))
    assert isinstance(segment, Segment)
    assert segment.ecn_capable
    ip_options = make.tcp(b"abc")
    ip_options = make.ip(ip_options[20:], options=b"\x94\x04\0\0")
    assert isinstance(read(ip_options), Segment)


def test_packet_rtt_wired_option_is_read_among_others(make) -> None:
    options = b"\x01\x01\x08\x0a" + bytes(8) + RTT_OPTION
    segment = read(make.tcp(options=options))
    assert isinstance(segment, Segment)
    assert segment.rtt_wired_ns == 40_000_000
    assert segment.packet_bytes == 40 + 24


def test_packet_someone_elses_experiment_is_not_ours(make) -> None:
    # TCP Fast Open's early experiments had kind 254 and identifier f989 (RFC 7413).
    segment = read(make.tcp(options=bytes.fromhex("fd0cf989") + bytes(8)))
    assert isinstance(segment, Segment)
    assert segment.rtt_wired_ns is None


def test_packet_options_behind_the_end_of_the_list_do_not_count(make) -> None:
    segment = read(make.tcp(options=b"\0\0\0\0" + RTT_OPTION))
    assert isinstance(segment, Segment)
    assert segment.rtt_wired_ns is None


def test_packet_window_scale_counts_when_both_syns_offer_one(make) -> None:
    reader = PacketReader()
    scale = b"\x03\x03\x07\x01"
    back = FLOW.reversed()
    syn = read(make.tcp(flags=SYN, options=scale, window=64240), reader)
    assert isinstance(syn, Segment)
    assert syn.window_bytes == 64240  # never scaled in a SYN itself
    reader.scales.note_syn(back, 2)
    segment = read(make.tcp(window=500), reader)
    assert isinstance(segment, Segment)
    assert segment.window_bytes == 500 << 7
    reader.scales.note_syn(back, None)
    segment = read(make.tcp(window=500), reader)
    assert isinstance(segment, Segment)
    assert segment.window_bytes == 500


def test_packet_udp_without_a_checksum_is_fine(make) -> None:
    segment = read(make.udp(b"hello", summed=False))
    assert isinstance(segment, Segment)
    assert (segment.protocol, segment.payload_bytes, segment.packet_bytes) == (UDP, 5, 33)
    assert segment.flow == FlowKey(0x0A010001, 0x0A020009, 16384, 16384)


def damaged(packet: bytes, at: int, byte: int) -> bytes:
    return packet[:at] + bytes([byte]) + packet[at + 1 :]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("empty", Reason.TRUNCATED),
        ("ipv6", Reason.IPV6),
        ("version", Reason.MALFORMED),
        ("short ip header", Reason.MALFORMED),
        ("cut ip header", Reason.TRUNCATED),
        ("cut payload", Reason.TRUNCATED),
        ("trailing bytes", Reason.MALFORMED),
        ("first fragment", Reason.FRAGMENT),
        ("last fragment", Reason.FRAGMENT),
        ("icmp", Reason.NOT_TCP_UDP),
        ("jumbo", Reason.JUMBO),
        ("ip checksum", Reason.CHECKSUM),
        ("tcp checksum", Reason.CHECKSUM),
        ("udp checksum", Reason.CHECKSUM),
        ("cut tcp header", Reason.TRUNCATED),
        ("cut udp header", Reason.TRUNCATED),
        ("tcp offset below 5", Reason.MALFORMED),
        ("tcp offset beyond the end", Reason.TRUNCATED),
        ("syn and fin", Reason.MALFORMED),
        ("option length 0", Reason.MALFORMED),
        ("option beyond the header", Reason.MALFORMED),
        ("udp length too small", Reason.MALFORMED),
        ("udp length too large", Reason.TRUNCATED),
    ],
)
def test_packet_what_is_no_segment_gets_a_reason(make, name: str, reason: Reason) -> None:
    data = make.tcp(b"x" * 100)
    tcp_header = data[20:40]
    packets = {
        "empty": b"",
        "ipv6": b"\x60" + bytes(60),
        "version": damaged(data, 0, 0x55),
        "short ip header": damaged(data, 0, 0x44),
        "cut ip header": data[:19],
        "cut payload": data[:-1],
        "trailing bytes": data + b"\0",
        "first fragment": make.tcp(b"x" * 100, frag=0x2000),
        "last fragment": make.ip(b"x" * 8, frag=0x00B9),
        "icmp": make.ip(b"\x08\0" + bytes(6), protocol=1),
        "jumbo": make.tcp(b"x" * 8960),
        "ip checksum": damaged(data, 10, data[10] ^ 1),
        "tcp checksum": damaged(data, 60, 0),
        "udp checksum": damaged(make.udp(b"hello"), 30, 0),
        "cut tcp header": make.ip(tcp_header[:19]),
        "cut udp header": make.ip(bytes(7), protocol=17),
        "tcp offset below 5": make.ip(damaged(tcp_header, 12, 0x40)),
        "tcp offset beyond the end": make.ip(damaged(tcp_header, 12, 0x60)),
        "syn and fin": make.tcp(flags=0x03),
        "option length 0": make.tcp(options=b"\x08\0\0\0"),
        "option beyond the header": make.tcp(options=b"\x01\x01\x08\x0a"),
        "udp length too small": make.ip(struct.pack("!HHHH", 1, 2, 8, 0) + b"x", protocol=17),
        "udp length too large": make.ip(struct.pack("!HHHH", 1, 2, 80, 0), protocol=17),
    }
    assert read(packets[name]) == reason
