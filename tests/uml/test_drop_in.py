"""mediumd as wmediumd on the kernel's radios, in a guest with a counted clock: status, and radios that only listen."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pacelab.emulation.programs import find_mediumd
from pacelab.emulation.where.confine import NOBODY, confine, may_be_nobody
from pacelab.emulation.where.cpu import Core
from pacelab.emulation.where.features import missing_for_uml
from pacelab.emulation.where.files import find_files
from pacelab.emulation.where.memory import exec_folder
from pacelab.emulation.where.uml import EPOCH_NS
from pacelab.emulation.where.work_folder import KERNEL, work_folder
from pacelab.emulation.wmediumd import sentence

pytestmark = pytest.mark.guest

MEMORY_BYTES = 256 << 20
LIMIT_S = 300
GUEST = Path(__file__).with_name("drop_in_guest.py")
FRAMES, RADIOS = 40, 6
BEACONS = 19
"""In 2 s, one each 102.4 ms."""
INTERFACE, PACKET = 1, 6
"""Kinds of blocks in a pcapng file."""
ACK = 0xD4


def command_line() -> list[str]:
    return [
        *("root=/dev/root", "rootfstype=hostfs", "rootflags=/proc/self/cwd/root/.", "ro", "init=/usr/sbin/init"),
        *(f"mem={MEMORY_BYTES >> 20}M", "con=null", "con0=null,fd:1", "quiet", "norandmaps"),
        *(f"mac80211_hwsim.radios={RADIOS}", "time-travel=inf-cpu", f"time-travel-start={EPOCH_NS}"),
        *("random.trust_cpu=on", "um_seed=1", "PYTHONHASHSEED=1"),
    ]


def lay_out(work: Path) -> None:
    """The kernel's working folder: like that of a run, but the guest's first process calls GUEST."""
    files = find_files()
    (work / "root").symlink_to(files.tree)
    shutil.copyfile(files.kernel, work / KERNEL)
    (work / KERNEL).chmod(0o755)
    place = work / "code" / "pacelab" / "emulation" / "where"
    place.mkdir(parents=True)
    for folder in (place, *list(place.parents)[:2]):
        (folder / "__init__.py").touch()
    shutil.copyfile(GUEST, place / "guest.py")
    shutil.copyfile(find_mediumd(), work / "code" / "mediumd")
    (work / "code" / "mediumd").chmod(0o755)
    (work / "job").mkdir()
    if may_be_nobody():
        for path in (work, *work.rglob("*")):
            if not path.is_symlink():
                os.chown(path, NOBODY, NOBODY)


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """The output of GUEST."""
    if any(missing_for_uml()):
        pytest.skip("no guest")
    with work_folder() as work, Core() as core:
        lay_out(work)
        with (work / "console").open("wb") as console:
            subprocess.run(
                [str(work / KERNEL), *command_line()],
                cwd=work,
                env={"PATH": "/usr/bin:/bin", "HOME": "/proc/self/cwd", "TMPDIR": exec_folder(MEMORY_BYTES)},
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=lambda: confine(core.number, {}),
                timeout=LIMIT_S,
                check=False,
            )
        result = work / "job" / "found.json"
        assert result.exists(), (work / "console").read_text(errors="replace")[-2000:]
        answer: dict[str, Any] = json.loads(result.read_text())
        answer["capture"] = (work / "job" / "air.pcapng").read_bytes()
    assert "error" not in answer, answer["error"]
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


def test_status_without_a_program_says_so(found: dict[str, Any]) -> None:
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


def blocks(file: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and body of each block of a pcapng file."""
    while file:
        kind, length = (int.from_bytes(file[at : at + 4], "little") for at in (0, 4))
        yield kind, file[8 : length - 4]
        file = file[length:]


def test_wmediumd_ends_cleanly_and_logs_only_its_registration(found: dict[str, Any]) -> None:
    assert (found["ended"], found["log"]) == (0, ["REGISTER SENT!"])
