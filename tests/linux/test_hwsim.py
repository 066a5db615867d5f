"""The back end hwsim: the real Wi-Fi stack, the message on a kernel without it, and stock wmediumd."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyroute2", reason="needs Linux")

from network import (
    PACELAB,
    ROOT,
    assert_gone,
    children_of,
    goodputs_kbps,
    host_state,
    names_of,
    start,
    wait_for_children,
    why_not,
)
from network import run as run_real

from pacelab.doctor import examine
from pacelab.emulation import probes
from pacelab.emulation.compile import compile_plan
from pacelab.emulation.network import stock
from pacelab.emulation.network.medium import Medium
from pacelab.emulation.network.radios import Hwsim, _attribute
from pacelab.emulation.plan import Plan
from pacelab.emulation.programs import find_mediumd
from pacelab.errors import HostError
from pacelab.experiment.experiment import Experiment

# The back end hwsim if the kernel has mac80211_hwsim (in the VM, in User-Mode Linux): the real Wi-Fi stack.

NO_HWSIM = why_not("hwsim")
needs_hwsim = pytest.mark.skipif(NO_HWSIM is not None, reason=NO_HWSIM or "")

RADIOS = Path("/sys/devices/virtual/mac80211_hwsim")
# ns-2's radio, RTS off, 1460 bytes: DIFS 50, 15 slots of 20, preamble 192 + 1526 * 8 / 2 (28 of UDP and IP, 8 of LLC,
# 26 of MAC, 4 of FCS), SIFS 10, ACK 304 (us), 2 x 0.67 of propagation.
LONE_KBPS = 1460 * 8 / 6961.3e-6 / 1e3
SATURATED = ("--rate", "2", "--traffic", "udp-saturated", "--warmup", "1")


def run(*arguments: str, timeout: float = 300) -> dict[str, Any]:
    return run_real(*arguments, timeout=timeout, back_end="hwsim")


def radios() -> set[str]:
    """The radios of all network namespaces, when their number no longer falls: a kernel thread deletes them after a
    run's end.
    """
    now, before = _radios(), None
    while now != before:
        time.sleep(2)
        now, before = _radios(), now
    return now


def _radios() -> set[str]:
    return {radio.name for radio in RADIOS.glob("hwsim*")}


@needs_hwsim
@pytest.mark.kernel
def test_lone_link_reaches_the_closed_form(tmp_path: Path) -> None:
    document = run(
        *("chain", "--hops", "1", "--no-wired", *SATURATED, "--rts", "off", "--seconds", "6"),
        *("--out", str(tmp_path / "run")),
    )
    print(f"of the closed form: {goodputs_kbps(document)[0] / LONE_KBPS:.3f}, {document['run']['fidelity']}")
    assert goodputs_kbps(document)[0] == pytest.approx(LONE_KBPS, rel=0.03)


@needs_hwsim
@pytest.mark.kernel
def test_tcp_crosses_three_hops_and_a_wire_under_tcp_gap(tmp_path: Path) -> None:
    document = run("chain", "--hops", "3", "--scheme", "tcp-gap", "--seconds", "6", "--out", str(tmp_path / "run"))
    points = document["run"]["hooks"]["points"]
    assert [(point["point"], point["node"]) for point in points] == [("gateway", 3), ("sender", 0)]
    assert points[1]["counters"]["delayed"] > 50
    assert goodputs_kbps(document)[0] > 100
    assert document["run"]["config"]["backend_options"]["builder"] == "plain"


@needs_hwsim
@pytest.mark.kernel
def test_link_red_learns_from_the_kernels_retries(tmp_path: Path) -> None:
    process = start(
        *("run", "chain", "--hops", "4", "--no-wired", "--rate", "2", "--scheme", "lred", "--backend", "hwsim"),
        *("--seconds", "15", "--json", "--out", str(tmp_path / "run")),
        stdout=subprocess.PIPE,
    )
    wait_for_children(process, least=12)
    names = [names_of(pid) for pid in children_of(process.pid)]
    said, _ = process.communicate(timeout=120)
    assert sum("relay n" in name for name in names) == 5
    hooks = json.loads(said)["run"]["hooks"]
    assert hooks["failed"] == 0
    assert sum(point["counters"]["dropped"] for point in hooks["points"]) > 0


@needs_hwsim
@pytest.mark.kernel
def test_exposed_sender_defers_in_the_event_stream(tmp_path: Path) -> None:
    """A frame takes 6.7 ms with its ACK. So the ends of frames of senders that defer to each other are at least that
    far apart.
    """
    together = _least_gap_s(tmp_path / "exposed", "exposed")
    apart = _least_gap_s(tmp_path / "reuse", "reuse")
    print(f"shortest time between frames of the two senders: exposed {together * 1e3:.2f} ms, apart {apart * 1e3:.2f}")
    assert together > 6.5e-3
    assert apart < 1e-3


def _least_gap_s(folder: Path, topology: str) -> float:
    """The least time between the ends of two senders' frames."""
    process = start(
        *("run", topology, *SATURATED, "--rts", "off", "--seconds", "5", "--backend", "hwsim", "--out", str(folder)),
    )
    ends = sorted(_transmissions(process))
    assert process.wait(60) == 0
    gaps = [after - before for (before, one), (after, other) in pairwise(ends) if one != other]
    assert len(gaps) > 50
    return min(gaps) / 1e9


def _transmissions(process: subprocess.Popen[str]) -> Iterator[tuple[int, str]]:
    """Time and sender of the frames in the 3 s after the flows have started."""
    wait_for_children(process)
    medium = None
    while medium is None:
        assert process.poll() is None
        for pid in children_of(process.pid):
            path = Path(f"/proc/{pid}/root/run/pacelab/mediumd.sock")
            if path.exists():
                medium = Medium(str(path))
                break
        time.sleep(0.05)
    medium.call("subscribe", kinds=["transmit"])
    began = None
    for event in medium.events():
        if event.get("event") != "transmit" or not (event["frame"] or {}).get("payload_bytes", 0) >= 1460:
            continue
        began = began or event["t_ns"]
        if event["t_ns"] > began + 3_000_000_000:
            break
        if event["delivered"]:
            yield event["t_ns"], event["station"]
    medium.close()


@needs_hwsim
@pytest.mark.kernel
def test_twenty_stations_come_up(tmp_path: Path) -> None:
    document = run(
        *("cell", "--stations", "20", *SATURATED, "--seconds", "6", "--out", str(tmp_path / "run")), timeout=400
    )
    print(f"20 stations: {sum(goodputs_kbps(document)):.0f} kbit/s, built in {document['host']['built_s']:.1f} s")
    assert min(goodputs_kbps(document)) > 0
    assert len(document["run"]["nodes"]) == 21


@needs_hwsim
@pytest.mark.kernel
def test_run_beside_a_medium_that_has_the_hosts_radios(tmp_path: Path) -> None:
    """A run's radios are a separate group: the host's medium and the run do not affect each other."""
    air = {
        "version": 1,
        "seed": 1,
        "radio": {
            "preset": "ns2", "basic_rate_bps": 1_000_000, "data_rate_bps": 2_000_000, "rts_threshold_bytes": 0,
            "short_retry_limit": 7, "long_retry_limit": 4, "queue_pkts": 50, "mac_ack_rate": "basic",
            "propagation": {"kind": "two-ray", "capture_db": 10.0},
        },
        "stations": [
            {"name": "x", "position_m": [0, 0], "mac": "42:00:00:00:00:01", "hwsim": {"mac": "42:00:00:00:00:01"}}
        ],
    }  # fmt: skip
    config = tmp_path / "air.json"
    config.write_text(json.dumps(air))
    command = [str(find_mediumd()), "--config", str(config)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert json.loads(other.stdout.readline())["ready"]
        refused = subprocess.run(command, capture_output=True, text=True, check=False)
        document = run("chain", "--hops", "1", *SATURATED, "--seconds", "3", "--out", str(tmp_path / "run"))
        assert other.poll() is None
        other.terminate()
    assert (refused.returncode, refused.stderr.count("\n")) == (3, 1)
    assert "another medium" in refused.stderr
    assert goodputs_kbps(document)[0] > 1000


@needs_hwsim
@pytest.mark.kernel
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_of_a_run_that_was_ended(number: int, tmp_path: Path) -> None:
    before, then = host_state(), radios()
    process = start(
        *("run", "chain", "--hops", "2", "--seconds", "60", "--backend", "hwsim", "--out", str(tmp_path / "run")),
        stderr=subprocess.PIPE,
    )
    wait_for_children(process, least=6)
    assert len(_radios() - then) == 3
    process.send_signal(number)
    _out, errors = process.communicate(timeout=60)
    assert process.returncode == {signal.SIGINT: 130}.get(number, -number)
    assert "Traceback" not in errors
    assert_gone(process.pid)
    assert host_state() == before
    assert radios() == then


# Back end hwsim if something is missing: one line with the remedy.

needs_linux = pytest.mark.skipif(why_not("tap") == "needs Linux", reason="needs Linux")


@needs_linux
def test_kernel_without_the_module_is_reported_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacelab.emulation.network.radios.FAMILY", "NO_SUCH_FAMILY")
    monkeypatch.setattr("pacelab.emulation.network.radios.load_module", lambda: None)
    with pytest.raises(HostError, match=r"this kernel has no mac80211_hwsim; run `sudo modprobe mac80211_hwsim`"):
        Hwsim()


@needs_linux
@pytest.mark.parametrize(
    ("code", "said"), [(-1, "Operation not permitted; run as root"), (-12, "Cannot allocate memory; see the kernel's")]
)
def test_radio_that_cannot_be_made_gives_the_reason(code: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hwsim, "_ask", _answering(code))
    with Hwsim() as hwsim, pytest.raises(HostError, match=said):
        hwsim.new_radio("42:50:4c:00:00:01")


@needs_linux
def test_number_of_a_new_radio_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hwsim, "_ask", _answering(7))
    with Hwsim() as hwsim:
        hwsim.new_radio("42:50:4c:00:00:01")


def _answering(code: int) -> Any:
    def ask(_self: Hwsim, kind: int, _command: int, _attributes: list[tuple[int, bytes]]) -> tuple[int, bytes]:
        return (0, b"\x06\x00\x01\x00\x1c\x00\x00\x00") if kind == 16 else (code, b"")  # family 28

    return ask


@needs_linux
def test_rates_are_sent_as_nl80211_nests_them() -> None:
    # linux/nl80211.h: band 0 { NL80211_TXRATE_LEGACY (1): 2 Mbit/s in units of 500 kbit/s, padded to 4 bytes }
    legacy = _attribute(1, bytes([4]))
    assert _attribute(0, legacy) == bytes.fromhex("0c0000000500010004000000")


@needs_linux
@pytest.mark.parametrize(("loaded", "exit_code", "present"), [(True, 1, True), (False, 0, True), (False, 1, False)])
def test_doctor_knows_radios_that_are_loaded_or_can_be(
    loaded: bool, exit_code: int, present: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = tmp_path / "mac80211_hwsim"
    if loaded:
        place.mkdir()
    monkeypatch.setattr(probes, "LOADED", place)
    monkeypatch.setattr(probes.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, exit_code))
    assert probes.has_hwsim() is present


@needs_linux
@pytest.mark.skipif(probes.has_hwsim(), reason="this kernel has mac80211_hwsim")
def test_doctor_and_run_agree_that_there_are_no_radios(tmp_path: Path) -> None:
    feature = next(feature for feature in examine() if feature.name == "back end hwsim")
    assert not feature.present
    assert "mac80211_hwsim" in feature.detail
    assert "sudo modprobe mac80211_hwsim" in feature.remedy


@needs_linux
@pytest.mark.kernel
@pytest.mark.skipif(why_not("tap") is not None or probes.has_hwsim(), reason="needs root, and no mac80211_hwsim")
def test_run_without_the_module_fails_with_one_line_and_no_folder(tmp_path: Path) -> None:
    command = [*PACELAB, "run", "chain", "--hops", "1", "--backend", "hwsim", "--out", str(tmp_path / "run")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert "sudo modprobe mac80211_hwsim" in done.stderr
    assert not (tmp_path / "run").exists()


# `--medium stock`: the configuration of the machine's wmediumd, and programs that are not the stock one.


def chain() -> Plan:
    options = {"hops": 2, "wired": False}
    experiment = Experiment(topology="chain", topology_options=options, backend="hwsim", medium="stock", rts=False)
    return compile_plan(experiment)


def test_file_names_each_station_and_lets_neighbours_alone_hear_each_other() -> None:
    # config.c: links are (from, to, dB over noise), mirrored; 400 m apart is out of 250 m
    assert stock.configuration(chain()) == (
        'ifaces: { ids = [ "42:50:4c:00:00:00", "42:50:4c:00:00:01", "42:50:4c:00:00:02" ]; };\n'
        'model: { type = "snr"; links = ( (0, 1, 30), (0, 2, -30), (1, 2, 30) ); };\n'
    )


def test_medium_that_is_not_there_or_is_our_own_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(stock, "SAFE_PATH", str(tmp_path))
    with pytest.raises(HostError, match=r"no program wmediumd in .*: install wmediumd"):
        stock.find_program()
    program = tmp_path / "wmediumd"
    program.write_text("#!/bin/sh\necho 'wmediumd v0.5 - a wireless medium simulator (PaceLab mediumd 0.1.0)'\n")
    program.chmod(0o755)
    with pytest.raises(HostError, match=r"is PaceLab's mediumd"):
        stock.find_program()
    program.write_text("#!/bin/sh\necho Version: 0.3.1\n")
    assert stock.find_program() == program


def test_stock_medium_refuses_to_move_a_station() -> None:
    with pytest.raises(HostError, match=r"cannot do 'set_position'; use --medium pacelab"):
        stock.StockMedium(chain()).call("set_position")
