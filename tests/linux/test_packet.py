"""Packets and segments: read, built, checked, rewritten, and damaged on purpose."""

from __future__ import annotations

import importlib.util
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacelab_pacer.core.segment import ACK, ECE, SYN, TCP, UDP, FlowKey, Segment
from pacelab_pacer.linux.packet import PacketReader, Reason, WindowScales, checksum, updated, words_sum
from pacelab_pacer.linux.write import build, clamp_mss, mark_congestion, raw_window, set_rtt_wired, set_window

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
def test_packet_that_is_no_segment_gets_a_reason(make, name: str, reason: Reason) -> None:
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


# Arbitrary bytes: read and rewritten without an exception. A million cases: `python tests/linux/fuzz.py 1000000`.


CASES = 4_000


@pytest.fixture(scope="module")
def fuzz():
    spec = importlib.util.spec_from_file_location("fuzz", Path(__file__).with_name("fuzz.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_packet_fuzz_damaged_real_packets(fuzz) -> None:
    counts = fuzz.run(CASES, seed=1)
    assert sum(counts.values()) == CASES
    # Every reason occurred, and segments as well; otherwise the fuzzer would test nothing.
    assert set(counts) >= {"segment", *fuzz.REASONS}, counts


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.binary(max_size=120))
def test_packet_fuzz_arbitrary_bytes(data: bytes) -> None:
    reader = PacketReader()
    got = reader.read(1, data)
    assert not isinstance(got, Segment) or got.packet_bytes == len(data)


def test_words_sum_rfc_1071_example() -> None:
    # RFC 1071 Sec. 3: 00 01 f2 03 f4 f5 f6 f7 sums to ddf2.
    assert words_sum(bytes.fromhex("0001f203f4f5f6f7")) == 0xDDF2
    assert checksum(0xDDF2) == 0x220D


def test_words_sum_pads_an_odd_byte_behind() -> None:
    assert words_sum(b"\x12\x34\x56") == 0x1234 + 0x5600


def test_updated_rfc_1624_example() -> None:
    # RFC 1624 Sec. 4: a header with checksum dd2f, word 5555 becomes 3285: the new checksum is 0000, not ffff.
    assert updated(0xDD2F, 0x5555, 0x3285) == 0x0000


@given(
    st.binary(min_size=2, max_size=60).filter(lambda data: len(data) % 2 == 0),
    st.integers(0, 29),
    st.binary(min_size=2, max_size=2),
)
def test_updated_checksum_agrees_with_a_new_sum(data: bytes, word: int, new: bytes) -> None:
    at = 2 * (word % (len(data) // 2))
    changed = data[:at] + new + data[at + 2 :]
    old = checksum(words_sum(data))
    after = updated(old, words_sum(data[at : at + 2]), words_sum(new))
    # 0000 and ffff are the same number; a verifier accepts both.
    assert after % 0xFFFF == checksum(words_sum(changed)) % 0xFFFF


DOWN = FlowKey(0x0A020009, 0x0A010001, 80, 5000)
MADE = Segment(0, DOWN, TCP, ACK | ECE, 4_294_967_295, 12, 0, 40, 64_000, None)


def test_build_ack_is_read_back_as_it_was_meant(make) -> None:
    packet = build(MADE, shift=7)
    assert packet is not None
    make.check(packet)
    reader = PacketReader()
    reader.scales.note_syn(DOWN, 7)
    reader.scales.note_syn(DOWN.reversed(), 7)
    assert reader.read(0, packet) == MADE


def test_build_has_no_bytes_for_a_payload() -> None:
    assert build(MADE._replace(payload_bytes=5)) is None
    assert build(MADE._replace(protocol=UDP)) is None


def test_rewrite_window_keeps_the_checksum(make) -> None:
    packet = bytearray(make.tcp(b"abc", window=500))
    set_window(packet, 77)
    make.check(packet)
    assert packet == make.tcp(b"abc", window=77)


def test_rewrite_raw_window_never_exceeds_what_was_asked_and_keeps_an_open_window_open() -> None:
    assert raw_window(1000, 7) == 7  # 896 bytes
    assert raw_window(100, 7) == 1
    assert raw_window(0, 7) == 0
    assert raw_window(1 << 20, 0) == 0xFFFF


def test_rewrite_mark_sets_ce_alone(make) -> None:
    packet = bytearray(make.tcp(b"abc", tos=0xBA))
    mark_congestion(packet)
    assert packet == make.tcp(b"abc", tos=0xBB)


def test_rewrite_option_goes_in_front_of_the_others(make) -> None:
    packet = bytearray(make.tcp(b"abc", options=b"\0\0\0\0"))
    assert set_rtt_wired(packet, 40_000_000, largest_bytes=1500)
    option = bytes.fromhex("fd0c4750") + struct.pack("!Q", 40_000_000)
    assert packet == make.tcp(b"abc", options=option + b"\0\0\0\0")
    segment = PacketReader().read(1, packet)
    assert isinstance(segment, Segment)
    assert segment.rtt_wired_ns == 40_000_000


def test_rewrite_option_that_is_there_is_overwritten(make) -> None:
    packet = bytearray(make.tcp())
    assert set_rtt_wired(packet, 1, largest_bytes=1500)
    assert set_rtt_wired(packet, 2, largest_bytes=1500)
    assert packet == make.tcp(options=bytes.fromhex("fd0c4750") + struct.pack("!Q", 2))


@pytest.mark.parametrize(
    ("options", "payload", "largest"),
    [(b"\x01" * 32, 0, 1500), (b"", 1460, 1500), (b"\x01" * 40, 0, 1500)],
    ids=["8 bytes left", "full segment", "options full"],
)
def test_rewrite_option_without_room_changes_nothing(make, options: bytes, payload: int, largest: int) -> None:
    packet = bytearray(make.tcp(b"x" * payload, options=options))
    before = bytes(packet)
    assert not set_rtt_wired(packet, 1, largest_bytes=largest)
    assert packet == before


@pytest.mark.parametrize("padding", [b"", b"\x01"], ids=["even place", "odd place"])
def test_rewrite_mss_is_lowered_and_never_raised(make, padding: bytes) -> None:
    def options(mss: int) -> bytes:
        return (padding + b"\x02\x04" + struct.pack("!H", mss)).ljust(8, b"\0")

    packet = bytearray(make.tcp(flags=2, options=options(1460)))
    assert clamp_mss(packet, 1448)
    assert packet == make.tcp(flags=2, options=options(1448))
    make.check(packet)
    assert not clamp_mss(packet, 1460)
    assert clamp_mss(packet, 100)
    assert packet == make.tcp(flags=2, options=options(536))


def test_rewrite_a_wrong_checksum_stays_wrong(make) -> None:
    packet = bytearray(make.tcp(b"abc"))
    packet[-1] ^= 0x40
    set_window(packet, 1)
    assert set_rtt_wired(packet, 5, largest_bytes=1500)
    with pytest.raises(AssertionError):
        make.check(packet)


FORTH = FlowKey(1, 2, 3, 4)
BACK = FORTH.reversed()


def test_window_scales_one_side_without_means_none() -> None:
    scales = WindowScales()
    scales.note_syn(FORTH, 7)
    assert scales.shift(FORTH) is None
    scales.note_syn(BACK, None)
    assert (scales.shift(FORTH), scales.shift(BACK)) == (0, 0)


def test_window_scales_beyond_14_are_14() -> None:
    scales = WindowScales()
    scales.note_syn(FORTH, 200)
    scales.note_syn(BACK, 0)
    assert scales.shift(FORTH) == 14


def test_window_scales_in_mid_connection_a_window_is_at_least_what_is_under_way() -> None:
    scales = WindowScales()
    scales.window_bytes(FORTH, 400, ack=None, end_seq=90_000)
    # 80,000 octets in flight with a window field of 1,000: the unit is at least 2^7, since 1000 << 6 is 64,000.
    assert scales.window_bytes(BACK, 1_000, ack=10_000, end_seq=None) == 128_000
    assert scales.shift(BACK) is None
    assert scales.unit(BACK) == 7
    # A smaller window later does not shrink the unit.
    assert scales.window_bytes(BACK, 10, ack=90_000, end_seq=None) == 1_280


def test_window_scales_old_acks_and_wrapped_numbers_teach_nothing_wrong() -> None:
    scales = WindowScales()
    scales.window_bytes(FORTH, 400, ack=None, end_seq=100)
    assert scales.window_bytes(BACK, 50, ack=200, end_seq=None) == 50  # ahead of all data
    assert scales.window_bytes(BACK, 50, ack=4_294_967_290, end_seq=None) == 200  # 106 in flight


def test_window_scales_a_syn_starts_again() -> None:
    scales = WindowScales()
    scales.window_bytes(FORTH, 400, ack=None, end_seq=90_000)
    scales.window_bytes(BACK, 1_000, ack=10_000, end_seq=None)
    scales.note_syn(BACK, 3)
    scales.note_syn(FORTH, 3)
    assert scales.window_bytes(BACK, 1_000, ack=10_000, end_seq=None) == 8_000


def test_window_scales_memory_is_bounded() -> None:
    scales = WindowScales(max_flows=100)
    for port in range(10_000):
        scales.note_syn(FlowKey(1, 2, port, 80), 7)
    assert len(scales) == 100
