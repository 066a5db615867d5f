"""mediumd as wmediumd on the kernel's radios, in a guest with a counted clock: status, and radios that only listen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pacelab.emulation.where.features import missing_for_uml
from pacelab.emulation.wmediumd import sentence
from tests.uml.guest_script import blocks, run_script

pytestmark = pytest.mark.guest

GUEST = Path(__file__).with_name("drop_in_guest.py")
FRAMES, RADIOS = 40, 6
BEACONS = 19
"""In 2 s, one each 102.4 ms."""
INTERFACE, PACKET = 1, 6
"""Kinds of blocks in a pcapng file."""
ACK = 0xD4


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """The output of GUEST."""
    if any(missing_for_uml()):
        pytest.skip("no guest")
    answer = run_script(GUEST, RADIOS, files=("air.pcapng",))
    answer["capture"] = answer.pop("air.pcapng")
    return answer


def test_a_fresh_monitor_hears_unicast_frames_between_others(found: dict[str, Any]) -> None:
    assert found["pings"] == FRAMES
    assert found["fresh_monitor"] >= FRAMES


def test_a_monitor_hears_them_after_its_radio_scanned_another_channel(found: dict[str, Any]) -> None:
    assert found["monitor_after_scan"] >= FRAMES


def test_a_station_with_a_monitor_interface_hears_its_neighbours(found: dict[str, Any]) -> None:
    assert found["monitor_beside_station"] >= FRAMES


def test_a_passive_scan_finds_an_access_point_on_any_channel(found: dict[str, Any]) -> None:
    assert found["passive_scan_first"]
    assert not found["active_scan_elsewhere"]
    assert found["passive_scan_after_active"]


def test_a_radio_that_sent_on_another_channel_first_finds_it_by_a_passive_scan(found: dict[str, Any]) -> None:
    assert not found["other_channel_first"]
    assert found["passive_scan_second"]


def test_a_sniffer_hears_the_beacons_of_the_channel_that_it_listens_to(found: dict[str, Any]) -> None:
    first, elsewhere, again = found["beacons"]
    assert first in (BEACONS, BEACONS + 1)
    assert elsewhere == 0
    assert again in (BEACONS, BEACONS + 1)


def test_status_reports_the_running_program(found: dict[str, Any]) -> None:
    (status,) = found["status"]
    assert status["program"] == "PaceLab mediumd"
    assert status["file"] == "/tmp/net.cfg"
    assert status["fidelity"] == status["fidelity_since_start"] == "valid"
    assert status["lateness"]["p99_ns"] < 1_000_000
    assert [station["address"] for station in status["stations"]] == [f"02:00:00:00:0{i}:00" for i in range(RADIOS)]
    assert all(station["from_host"] > 0 for station in status["stations"])
    first, second, third, _ = found["status_says"]
    assert first.startswith(f"wmediumd of PaceLab (mediumd {status['release']}), pid {status['pid']}, up ")
    assert second == f"stations: {RADIOS}, of which {RADIOS} have sent"
    assert third.startswith("results of the last 10 s: valid; since the start: valid (seconds with frames: ")


def test_doctor_describes_a_running_program(found: dict[str, Any]) -> None:
    (status,) = found["status"]
    expected = (
        f"running: pid {status['pid']}, PaceLab's, stations: {RADIOS}, valid, 99 % of the frames at most 0.00 ms late"
    )
    assert sentence(status) == expected
    stock = {"program": None, "path": "/usr/bin/wmediumd", "pid": 7, "file": None, "stations": None}
    assert sentence(stock) == "running: pid 7, not PaceLab's, stations: unknown"


def test_status_without_a_program_reports_it(found: dict[str, Any]) -> None:
    assert found["none"] == []
    assert found["none_says"] == [1, "wmediumd: none is running"]


def test_the_capture_has_an_interface_for_each_station_and_acks(found: dict[str, Any]) -> None:
    names: list[str] = []
    acks: set[str] = set()
    for kind, body in blocks(found["capture"]):
        if kind == INTERFACE:
            length = int.from_bytes(body[10:12], "little")
            names.append(body[12 : 12 + length].decode())
        elif kind == PACKET:
            frame = body[20 + int.from_bytes(body[22:24], "little") :]
            if frame[0] == ACK:
                acks.add(names[int.from_bytes(body[:4], "little")])
    assert sorted(names) == [f"02:00:00:00:0{station}:00" for station in range(RADIOS)]
    assert {"02:00:00:00:00:00", "02:00:00:00:01:00"} <= acks


def test_wmediumd_ends_cleanly_and_logs_only_its_registration(found: dict[str, Any]) -> None:
    assert (found["ended"], found["log"]) == (0, ["REGISTER SENT!"])
