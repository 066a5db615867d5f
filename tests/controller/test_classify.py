"""What is taken for voice, and what is not."""

from __future__ import annotations

import pytest
from fabric import rtp, tcp_frame, udp_frame

from pacelab.controller.core.flows import MOST_LATE, Classifier, FlowClass
from pacelab.controller.core.frames import Frame, read_frame

MAC = 0x0200_0000_0901


def packet(payload: bytes = b"x" * 30, *, tos: int = 0) -> Frame:
    found = read_frame(udp_frame("10.9.0.1", "10.9.0.2", src_mac=MAC, payload=payload, tos=tos))
    assert isinstance(found, Frame)
    return found


def test_tcp_is_tcp_whatever_its_pace() -> None:
    frame = read_frame(tcp_frame("10.9.0.1", "10.9.0.2", src_mac=MAC))
    assert isinstance(frame, Frame)
    flow = Classifier(frame)
    assert flow.found is FlowClass.TCP
    assert not flow.wants_probes
    assert not any(flow.count(50, 50 * 74, 1.0) for _ in range(10))


@pytest.mark.parametrize(
    ("tos", "found"), [(0xB8, "voice"), (0xB0, "voice"), (0xC0, "voice"), (0xA0, "other"), (0, "other")]
)
def test_a_mark_decides_at_once(tos: int, found: str) -> None:
    assert Classifier(packet(tos=tos)).found == found


def test_four_rtp_headers_in_a_row_are_a_call() -> None:
    flow = Classifier(packet(rtp(100)))
    for number in (101, 102):
        assert flow.wants_probes
        assert not flow.probe(packet(rtp(number)))
    assert flow.probe(packet(rtp(103)))
    assert (flow.found, flow.reason) == (FlowClass.VOICE, "RTP, payload type 18")
    assert not flow.wants_probes


def test_the_first_packet_again_says_nothing() -> None:
    flow = Classifier(packet(rtp(100)))
    assert not flow.probe(packet(rtp(100)))
    assert flow.wants_probes


@pytest.mark.parametrize("numbers", [(100, 102, 101, 103, 104), (102, 101, 100, 103, 104), (101, 100, 101, 102, 103)])
def test_packets_that_were_overtaken_say_nothing(numbers: tuple[int, ...]) -> None:
    flow = Classifier(packet(rtp(100)))
    assert [flow.probe(packet(rtp(number))) for number in numbers] == [False] * 4 + [True]


def test_the_same_header_for_ever_is_not_looked_at_for_ever() -> None:
    flow = Classifier(packet(rtp(100)))
    for _ in range(MOST_LATE):
        flow.probe(packet(rtp(100)))
    assert flow.wants_probes
    flow.probe(packet(rtp(100)))
    assert not flow.wants_probes
    assert flow.found is FlowClass.OTHER


def test_sequence_numbers_wrap_and_two_may_be_lost() -> None:
    flow = Classifier(packet(rtp(65_534)))
    assert [flow.probe(packet(rtp(number))) for number in (65_535, 65_538, 65_539)] == [False, False, True]


@pytest.mark.parametrize(
    "second",
    [
        rtp(90),  # backwards
        rtp(105),  # four lost
        rtp(101, source=8),
        rtp(101, kind=34),  # H.263
        b"\x40" + rtp(101)[1:],  # version 1
        b"x" * 30,
        rtp(101) + bytes(600),  # more than speech
    ],
)
def test_what_does_not_go_on_is_not_voice(second: bytes) -> None:
    flow = Classifier(packet(rtp(100)))
    flow.probe(packet(second))
    assert not flow.wants_probes
    for number in range(102, 110):
        flow.probe(packet(rtp(number)))
    assert flow.found is FlowClass.OTHER


def test_small_packets_at_a_steady_pace_are_voice_after_four_seconds() -> None:
    flow = Classifier(packet())
    assert [flow.count(50, 50 * 100, 1.0) for _ in range(4)] == [False, False, False, True]
    assert flow.found is FlowClass.VOICE


@pytest.mark.parametrize(("packets", "size_bytes"), [(50, 1000), (5, 100), (500, 100)])
def test_other_paces_are_not_voice(packets: int, size_bytes: int) -> None:
    flow = Classifier(packet())
    assert not any(flow.count(packets, packets * size_bytes, 1.0) for _ in range(10))


def test_a_pause_begins_the_count_anew() -> None:
    flow = Classifier(packet())
    counts = [50, 50, 50, 0, 50, 50, 50, 50]
    assert [flow.count(count, count * 100, 1.0) for count in counts] == [False] * 7 + [True]


def test_what_follows_the_other_direction_is_voice_once() -> None:
    flow = Classifier(packet())
    assert flow.follow("as the other direction")
    assert not flow.follow("as the other direction")
    assert flow.found is FlowClass.VOICE
