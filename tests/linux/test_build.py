from __future__ import annotations

from pacelab.pacer.core.segment import ACK, ECE, TCP, UDP, FlowKey, Segment
from pacelab.pacer.linux.build import build
from pacelab.pacer.linux.packet import PacketReader

FLOW = FlowKey(0x0A020009, 0x0A010001, 80, 5000)
MADE = Segment(0, FLOW, TCP, ACK | ECE, 4_294_967_295, 12, 0, 40, 64_000, None)


def test_build_ack_is_read_back_as_it_was_meant(make) -> None:
    packet = build(MADE, shift=7)
    assert packet is not None
    make.check(packet)
    reader = PacketReader()
    reader.scales.note_syn(FLOW, 7)
    reader.scales.note_syn(FLOW.reversed(), 7)
    assert reader.read(0, packet) == MADE


def test_build_has_no_bytes_for_a_payload() -> None:
    assert build(MADE._replace(payload_bytes=5)) is None
    assert build(MADE._replace(protocol=UDP)) is None
