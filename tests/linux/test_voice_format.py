from __future__ import annotations

import struct

import pytest

from pacelab.pacer.core.segment import UDP, FlowKey, Rtp, Segment, VoiceQuality
from pacelab.pacer.core.vagp import quality_evaluator
from pacelab.pacer.linux.packet import PacketReader
from pacelab.pacer.linux.voice_format import read_voice_packet, read_voice_report, voice_packet, voice_report
from pacelab.pacer.linux.write import build

CALL = FlowKey(0x0A010001, 0x0A020009, 16384, 16386)
REPORT = FlowKey(0x0A020009, 0x0A010001, 16387, 16385)
QUALITY = VoiceQuality(CALL, 100_000_000, 5, 1, 2, 61_234_567)


def test_voice_packet_is_rtp_of_60_bytes_on_the_wire() -> None:
    packet = voice_packet(sequence=65_537, sent_ns=2_000_000_000, stream=7)
    # RFC 3550 Sec. 5.1: version 2, payload type 18, sequence, timestamp of an 8 kHz clock, SSRC.
    assert packet[:12] == bytes.fromhex("80120001") + struct.pack("!II", 16_000, 7)
    assert len(packet) + 28 == 60
    assert read_voice_packet(packet) == Rtp(1, 2_000_000_000)


def test_voice_packet_of_others_is_not_ours() -> None:
    ours = voice_packet(sequence=1, sent_ns=2, stream=7)
    assert read_voice_packet(ours[:12] + bytes(20)) is None
    assert read_voice_packet(b"\x80\x00" + ours[2:]) is None
    assert read_voice_packet(ours[:20]) is None


def test_voice_report_comes_back_whole() -> None:
    report = voice_report(QUALITY, stream=9)
    assert read_voice_report(report, REPORT) == QUALITY


def test_voice_report_is_an_xr_packet_of_the_size_the_simulator_counts() -> None:
    report = voice_report(QUALITY, stream=9)
    # RFC 3611 Sec. 2: packet type 207, length in words less one, SSRC; a block's length likewise, its header included.
    assert report[:8] == bytes.fromhex("80cf") + struct.pack("!HI", 10, 9)
    assert report[8:16] == bytes.fromhex("fe000008") + struct.pack("!I", 9)
    assert report[16:] == struct.pack("!IIIQQ", 5, 1, 2, 100_000_000, 61_234_567)
    assert len(report) == quality_evaluator.REPORT_BYTES


@pytest.mark.parametrize("cut", [0, 7, 8, 11, 40, 43])
def test_voice_report_cut_short_is_none(cut: int) -> None:
    assert read_voice_report(voice_report(QUALITY, stream=9)[:cut], REPORT) is None


def test_voice_report_that_contradicts_itself_is_none() -> None:
    assert read_voice_report(voice_report(QUALITY._replace(lost=4), stream=9), REPORT) is None
    assert read_voice_report(voice_report(QUALITY, stream=9), REPORT._replace(dport=0)) is None


def test_voice_report_injected_is_read_by_the_next_node(make) -> None:
    segment = Segment(0, REPORT, UDP, 0, 0, 0, 44, 72, 0, None, quality=QUALITY)
    packet = build(segment)
    assert packet is not None
    make.check(packet)
    got = PacketReader().read(1, packet)
    assert isinstance(got, Segment)
    assert (got.flow, got.quality, got.packet_bytes) == (REPORT, QUALITY, 72)
