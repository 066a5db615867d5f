"""Linux's rate control and TCP over mediumd as wmediumd, with and without 802.11n, in a guest with a counted clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pacelab.emulation.where.features import missing_for_uml
from tests.uml.guest_script import FREE_CHANNELS, VIRTUAL_TIME, blocks, run_script

pytestmark = pytest.mark.guest

GUEST = Path(__file__).with_name("modes_guest.py")
SECONDS = 3
SCENES = [
    {"network": "ibss", "channel": "2412", "seconds": SECONDS},
    {"network": "ibss", "channel": "2412 HT20", "seconds": SECONDS},
    {"network": "ibss", "channel": "5180 HT20", "seconds": SECONDS, "rate": "ht-mcs-5 7"},
    {"network": "mesh", "channel": "5180 HT40+", "seconds": SECONDS},
]
NS3_MCS_7_MBPS = 52.7
"""ns-3.37: CUBIC over one hop at MCS 7 with the long guard interval, 65 Mbit/s, with aggregates."""
PACKET = 6
"""Kind of a block in a pcapng file."""
HAS_MCS, HAS_AMPDU_STATUS = 1 << 19, 1 << 20
"""Bits of the fields that a radiotap header has."""
BLOCK_ACK = 0x94
MCS_7_SHORT_MBPS, LONG_MBPS = 72.2, 65.0


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """The findings of GUEST."""
    if any(missing_for_uml()):
        pytest.skip("no guest")
    return run_script(GUEST, 2, settings={"scenes": SCENES}, kernel=FREE_CHANNELS + VIRTUAL_TIME)


def test_rate_control_finds_the_fastest_rate_of_two_streams(found: dict[str, Any]) -> None:
    _, n, _, wide = found["scenes"]
    assert n["bitrate"] == "144.4 MBit/s MCS 15 short GI"
    assert wide["bitrate"] == "300.0 MBit/s MCS 15 40MHz short GI"


def test_tcp_is_faster_with_80211n_than_with_80211g(found: dict[str, Any]) -> None:
    g, n, _, wide = (scene["mbps"] for scene in found["scenes"])
    # 802.11g has at most 54 Mbit/s and no aggregates; a frame of 1500 bytes every 480 us is 24 Mbit/s.
    assert 15 < g < 24
    assert 144.4 * 0.6 < n < 144.4
    assert 300 * 0.6 < wide < 300


def test_tcp_at_a_fixed_mcs_has_most_of_what_it_has_in_ns3(found: dict[str, Any]) -> None:
    fixed = found["scenes"][2]
    assert fixed["bitrate"].startswith("72.2 MBit/s MCS 7")
    expected = NS3_MCS_7_MBPS * MCS_7_SHORT_MBPS / LONG_MBPS
    assert 0.6 * expected < fixed["mbps"] < MCS_7_SHORT_MBPS


def test_every_frame_was_acknowledged_and_the_kernel_counts_it(found: dict[str, Any]) -> None:
    for scene in found["scenes"]:
        assert scene["tx failed"] == 0
        assert scene["tx packets"] > 1000
        # Minstrel's own count of frames: the kernel reports to it no frame of a Block Ack session.
        counted = int(scene["rates"].split("ideal ")[1].split()[0])
        assert counted > 0.95 * scene["tx packets"] - 100


def test_the_medium_ends_cleanly(found: dict[str, Any]) -> None:
    assert found["ended"] == 0


def test_a_capture_has_the_mcs_and_the_aggregates_of_frames_and_their_block_acks() -> None:
    if any(missing_for_uml()):
        pytest.skip("no guest")
    scene = {"network": "ibss", "channel": "2412 HT20", "bytes": 1_000_000}
    found = run_script(GUEST, 2, settings={"scenes": [scene], "capture": True}, files=("air.pcapng",))
    mcs, references, block_acks = set(), set(), 0
    for kind, body in blocks(found["air.pcapng"]):
        if kind != PACKET:
            continue
        header = body[20 : 20 + int.from_bytes(body[22:24], "little")]
        frame = body[20 + len(header) :]
        present = int.from_bytes(header[4:8], "little")
        block_acks += frame[0] == BLOCK_ACK
        if present & HAS_MCS:
            mcs.add(header[24])
        if present & HAS_AMPDU_STATUS:
            references.add(header[28:32])
    assert mcs <= set(range(16))
    assert max(mcs) > 7  # two streams
    assert len(references) > 20
    assert block_acks > 20
