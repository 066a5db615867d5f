"""Frames: what is read, what is refused, what is sent."""

from __future__ import annotations

import struct

import pytest
from fabric import ask_arp, ip, rtp, tcp_frame, udp_frame
from hypothesis import given
from hypothesis import strategies as st

from pacelab.controller.core import frames
from pacelab.controller.core.frames import Arp, Frame, Malformed, Rtp, read_frame, read_lldp
from pacelab.controller.core.messages import FiveTuple

MAC = 0x0200_0000_0901


def test_udp_is_read_to_its_ports() -> None:
    found = read_frame(udp_frame("10.9.0.1", "10.9.0.2", src_mac=MAC, tos=0xB8))
    assert isinstance(found, Frame)
    assert found.flow == FiveTuple(0x0A090001, 0x0A090002, 17, 5000, 6000)
    assert (found.src_mac, found.dscp, found.size_bytes, found.rtp) == (MAC, 46, 58, None)


def test_rtp_is_read_behind_udp() -> None:
    found = read_frame(udp_frame("10.9.0.1", "10.9.0.2", src_mac=MAC, payload=rtp(3)))
    assert isinstance(found, Frame)
    assert found.rtp == Rtp(payload_type=18, sequence=3, timestamp=480, source=7, payload_bytes=20)


def test_a_frame_cut_off_by_the_switch_still_shows_rtp() -> None:
    # 14 + 20 + 8 + 12 bytes of headers are enough; 20 of the payload are known from UDP's length
    found = read_frame(udp_frame("10.9.0.1", "10.9.0.2", src_mac=MAC, payload=rtp(3))[:54])
    assert isinstance(found, Frame)
    assert found.rtp is not None
    assert found.rtp.payload_bytes == 20


def test_arp_is_read() -> None:
    found = read_frame(ask_arp("10.9.0.1", MAC, "10.9.0.2"))
    assert isinstance(found, Frame)
    assert found.arp == Arp(operation=1, sender_mac=MAC, sender=ip("10.9.0.1"), target=ip("10.9.0.2"))
    assert found.to_group


def test_an_arp_reply_is_as_rfc_826_has_it() -> None:
    one, other = 0x0200_0000_0001, 0x0200_0000_0002
    made = frames.arp_packet(
        operation=2, src_mac=one, dst_mac=other, sender=0x0A000001, target_mac=other, target=0x0A000002
    )
    assert made[:22].hex() == "02000000000202000000000108060001080006040002"
    assert made[22:].hex() == "0200000000010a0000010200000000020a000002"


def test_fragments_have_no_ports() -> None:
    whole = bytearray(udp_frame("10.9.0.1", "10.9.0.2", src_mac=MAC))
    whole[20:22] = b"\x20\x00"  # more to come
    found = read_frame(bytes(whole))
    assert isinstance(found, Frame)
    assert found.flow == FiveTuple(0x0A090001, 0x0A090002, 17, 0, 0)


def edited(frame: bytes, at: int, value: bytes) -> bytes:
    return frame[:at] + value + frame[at + len(value) :]


UDP = udp_frame("10.9.0.1", "10.9.0.2", src_mac=MAC)
ARP = ask_arp("10.9.0.1", MAC, "10.9.0.2")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", Malformed.SHORT),
        (UDP[:13], Malformed.SHORT),
        (UDP[:33], Malformed.SHORT),
        (UDP[:37], Malformed.SHORT),
        (ARP[:41], Malformed.SHORT),
        (edited(UDP, 6, b"\x01"), Malformed.ADDRESS),  # from a group
        (edited(UDP, 6, bytes(6)), Malformed.ADDRESS),
        (edited(UDP, 14, b"\x65"), Malformed.HEADER),  # version 6 in a frame of version 4
        (edited(UDP, 14, b"\x44"), Malformed.HEADER),  # a header of 16 bytes
        (edited(UDP, 14, b"\x4f"), Malformed.HEADER),  # one of 60, in a packet of 58
        (edited(edited(UDP, 14, b"\x4f"), 16, b"\x01\x00"), Malformed.SHORT),  # and of 256
        (edited(UDP, 16, b"\x00\x10"), Malformed.HEADER),  # a packet of 16 bytes
        (edited(UDP, 26, b"\xe0"), Malformed.ADDRESS),  # from a group
        (edited(ARP, 14, b"\x00\x06"), Malformed.HEADER),  # not Ethernet's
        (edited(ARP, 20, b"\x00\x03"), Malformed.HEADER),  # RARP
        (edited(ARP, 27, b"\x77"), Malformed.ADDRESS),  # another's MAC
        (edited(ARP, 28, b"\xff\xff\xff\xff"), Malformed.ADDRESS),  # the broadcast address is nobody's
    ],
)
def test_malformed_frames_have_a_reason(data: bytes, reason: Malformed) -> None:
    assert read_frame(data) is reason


def test_lldp_comes_back_as_it_was_made() -> None:
    made = frames.lldp_packet(0x1234, 7, MAC)
    assert made[:14].hex() == "0180c200000e02000000090188cc"
    assert read_lldp(made) == (0x1234, 7)


@pytest.mark.parametrize("size", range(0, 41))
def test_lldp_cut_off_is_nobodys(size: int) -> None:
    whole = frames.lldp_packet(0x1234, 7, MAC)
    if size < len(whole) - 6:  # time to live and end follow the port
        assert read_lldp(whole[:size]) is None


def test_lldp_of_others_is_not_ours() -> None:
    chassis = struct.pack("!HB6s", 1 << 9 | 7, 4, bytes(6))
    assert read_lldp(bytes(12) + b"\x88\xcc" + chassis + bytes(30)) is None


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    assert isinstance(read_frame(data), Frame | Malformed)
    read_lldp(data)


@given(st.binary(max_size=60), st.integers(0, 60))
def test_a_damaged_packet_is_read_or_refused(noise: bytes, at: int) -> None:
    assert isinstance(read_frame(edited(tcp_frame("10.9.0.1", "10.9.0.2", src_mac=MAC), at, noise)), Frame | Malformed)


def test_texts_are_those_that_people_write() -> None:
    assert frames.mac_text(MAC) == "02:00:00:00:09:01"
    assert frames.read_mac("02:00:00:00:09:01") == MAC
    assert frames.flow_text(FiveTuple(0x0A090001, 0x0A090002, 6, 5000, 80)) == "10.9.0.1:5000 > 10.9.0.2:80"
    assert frames.flow_text(FiveTuple(0x0A090001, 0x0A090002, 1, 0, 0)) == "10.9.0.1 > 10.9.0.2"
    with pytest.raises(ValueError, match="no MAC address"):
        frames.read_mac("2:0:0")
