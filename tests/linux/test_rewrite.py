from __future__ import annotations

import struct

import pytest

from pacelab.pacer.core.segment import Segment
from pacelab.pacer.linux.packet import PacketReader
from pacelab.pacer.linux.rewrite import clamp_mss, mark_congestion, raw_window, set_rtt_wired, set_window


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
