"""The back end tap on this kernel: real hosts, real TCP, and nothing remains."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from network import (
    PACELAB,
    ROOT,
    assert_gone,
    children_of,
    goodputs_kbps,
    host_state,
    names_of,
    run,
    start,
    wait_for_children,
    why_not,
)

import pacelab

pytestmark = [pytest.mark.kernel, pytest.mark.skipif(why_not() is not None, reason=why_not() or "")]

HIDDEN = ("hidden", "--rate", "2", "--traffic", "udp-saturated", "--warmup", "1", "--seconds", "6")


def test_hidden_terminals_collapse_without_rts_and_recover_with_it(tmp_path: Path) -> None:
    # ns-2: 275 and 1512 kbit/s (tests/data/ns2-cells.csv). Here only the effect counts; conformance tests check the
    # numbers.
    off = run(*HIDDEN, "--rts", "off", "--out", str(tmp_path / "off"))
    on = run(*HIDDEN, "--rts", "on", "--out", str(tmp_path / "on"))
    assert sum(goodputs_kbps(on)) > 3 * sum(goodputs_kbps(off)) > 0
    assert off["run"]["drops"]["mac-data"] > 0


def test_run_folder_is_that_of_any_back_end(tmp_path: Path) -> None:
    document = run(
        "chain", "--hops", "2", "--wired-hops", "1", "--seconds", "5", "--warmup", "1", "--out", str(tmp_path / "run")
    )
    flow = document["run"]["flows"][0]
    assert (flow["kind"], flow["traffic"], flow["hops"]) == ("tcp", "tcp", 2)
    assert flow["goodput_bps"] > 300_000
    assert 0.08 < flow["rtt_mean_s"] < 1.0  # twice 40 ms of wire
    assert flow["delivered_pkts"] <= flow["sent_pkts"]
    assert {node["name"] for node in document["run"]["nodes"]} == {"n0", "n1", "n2", "host"}
    assert document["run"]["nodes"][0]["data_sent"] > 0
    host = document["host"]
    assert host["kernel"] == os.uname().release
    assert host["iperf3"]
    assert host["wires"] in ("netem", "relay")
    assert host["missing_sysctls"] == []
    result = pacelab.load_result(tmp_path / "run")
    assert len(result.series["t_s"]) == 5
    rates_bps = result.series["flows"][0]["goodput_bps"][1:]
    assert sum(rates_bps) / len(rates_bps) == pytest.approx(flow["goodput_bps"])


NARROW = """
version: 1
name: narrow
ranges: {decode: 250 m, sense: 550 m}
nodes:
  - {name: near, at: [0 m, 0 m]}
  - {name: gateway, at: [200 m, 0 m]}
  - {name: host, at: [600 m, 0 m], wired: true}
wires: [{between: [gateway, host], rate: 100 kbit/s, delay: 10 ms, queue: 1}]
flows: [{from: near, to: host, stop: 500 ms}]
"""


def test_drops_of_a_wire_count_from_the_end_of_the_warmup_on(tmp_path: Path) -> None:
    (tmp_path / "narrow.yaml").write_text(NARROW)
    options = ("--traffic", "cbr", "--cbr-rate", "0.4", "--seconds", "1", "--warmup", "0.7")
    document = run(str(tmp_path / "narrow.yaml"), *options, "--out", str(tmp_path / "run"))
    assert document["run"]["drops"]["wired-queue"] == 0  # nothing is sent any more


def test_the_receivers_window_bounds_what_is_under_way(tmp_path: Path) -> None:
    # 3 segments of 1460 bytes per round trip of at least 80 ms
    document = run(
        "chain", "--hops", "1", "--wired-hops", "1", "--window", "3", "--seconds", "6", "--out", str(tmp_path / "run")
    )
    flow = document["run"]["flows"][0]
    assert flow["goodput_bps"] < 3 * 1460 * 8 / 0.080
    assert flow["goodput_bps"] > 0.8 * 3 * 1460 * 8 / 0.090


def test_agents_of_a_scheme_act(tmp_path: Path) -> None:
    options = ("chain", "--hops", "3", "--scheme", "tcp-gap", "--seconds", "6")
    document = run(*options, "--out", str(tmp_path / "run"))
    points = document["run"]["hooks"]["points"]
    assert [(point["point"], point["node"]) for point in points] == [("gateway", 3), ("sender", 0)]
    assert points[0]["counters"]["rtt_wired_written"] > 50
    assert points[1]["counters"]["delayed"] > 50
    assert document["run"]["hooks"]["failed"] == 0
    assert goodputs_kbps(document)[0] > 100


def test_a_run_whose_pacer_was_stopped_continues_and_is_degraded(tmp_path: Path) -> None:
    document = _disturbed(tmp_path, "the gateway agent", signal.SIGSTOP, r"gateway n\d")
    assert document["fidelity"] == "degraded"
    # 8 s of 12 are left; a cut flow would have had 4 at most
    rates_bps = pacelab.load_result(tmp_path / "run").series["flows"][0]["goodput_bps"]
    assert sum(rate > 0 for rate in rates_bps) >= 9, rates_bps


def test_a_run_whose_iperf3_was_killed_is_invalid(tmp_path: Path) -> None:
    assert _disturbed(tmp_path, "flow 0: iperf3: ", signal.SIGKILL, "iperf3\x00-4\x00-c")["fidelity"] == "invalid"


def _disturbed(tmp_path: Path, said: str, number: int, victim: str) -> dict[str, Any]:
    """run.json of a run over 12 s in which one process gets a signal in the fourth second."""
    what = "chain --hops 2 --wired-hops 1 --direction down --scheme tcp-gap --seconds 12 --backend tap --json --quiet"
    command = ("run", *what.split(), "--out", str(tmp_path / "run"))
    process = start(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while not (pids := [pid for pid in children_of(process.pid) if re.search(victim, names_of(pid))]):
        assert time.monotonic() < until
        time.sleep(0.05)
    while not any("iperf3\0-4\0-c" in names_of(pid) for pid in children_of(process.pid)):
        time.sleep(0.05)
    time.sleep(4)
    os.kill(min(pids), number)
    printed, _errors = process.communicate(timeout=90)
    assert process.returncode == 0
    document = json.loads(printed)
    found: dict[str, Any] = document["run"]
    assert any(said in note for note in found["notes"]), found["notes"]
    return found


def test_nothing_is_left_of_a_run(tmp_path: Path) -> None:
    before = host_state()
    process = start("run", "chain", "--hops", "2", "--seconds", "2", "--backend", "tap", "--out", str(tmp_path / "run"))
    assert process.wait(60) == 0
    assert_gone(process.pid)
    assert host_state() == before


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_nothing_is_left_of_a_run_that_was_ended(number: int, tmp_path: Path) -> None:
    before = host_state()
    out = ("--out", str(tmp_path / "run"))
    process = start("run", "chain", "--hops", "2", "--seconds", "60", "--backend", "tap", *out, stderr=subprocess.PIPE)
    wait_for_children(process)
    process.send_signal(number)
    _out, errors = process.communicate(timeout=120)
    assert process.returncode == (-number if number == signal.SIGKILL else 130)
    assert "Traceback" not in errors
    assert_gone(process.pid)
    assert host_state() == before
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("victim", "said"), [("mediumd", "mediumd ended"), ("wires' relay", "relay ended")])
def test_a_run_whose_part_dies_reports_it_and_ends(victim: str, said: str, tmp_path: Path) -> None:
    out = ("--out", str(tmp_path / "run"))
    process = start("run", "chain", "--hops", "1", "--seconds", "60", "--backend", "tap", *out, stderr=subprocess.PIPE)
    wait_for_children(process, least=6)
    if not (pids := [pid for pid in children_of(process.pid) if victim in names_of(pid)]):
        process.kill()
        process.communicate()
        pytest.skip("the kernel has netem: no relay of ours")
    os.kill(pids[-1], signal.SIGKILL)
    _out, errors = process.communicate(timeout=120)
    assert process.returncode == 3
    assert f"{said} in the middle of a run: killed by SIGKILL" in errors
    assert len(errors.strip().splitlines()) == 1
    assert_gone(process.pid)


@pytest.mark.parametrize("command", ["run chain --backend tap --seconds 1", "shell chain --backend tap", "doctor"])
def test_root_of_a_container_gets_the_names_of_missing_capabilities(command: str, tmp_path: Path) -> None:
    without = ("setpriv", "--bounding-set", "-all", "--inh-caps", "-all", *PACELAB, *command.split())
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "300"}
    done = subprocess.run(without, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    said = done.stdout if command == "doctor" else done.stderr
    assert "CAP_NET_ADMIN and CAP_SYS_ADMIN" in said
    assert "--cap-add NET_ADMIN --cap-add SYS_ADMIN" in said
    if command != "doctor":
        assert (done.returncode, said.count("\n")) == (3, 1), said


@pytest.mark.parametrize("command", ["run chain --backend tap --seconds 1", "shell chain --backend tap", "doctor"])
def test_root_of_a_user_namespace_is_refused_with_the_reason(command: str, tmp_path: Path) -> None:
    inside = ("unshare", "--user", "--map-root-user", *PACELAB, *command.split())
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "300"}
    done = subprocess.run(inside, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    if "unshare failed" in done.stderr:
        pytest.skip("no user namespaces here")
    assert "run as the root of the machine itself, or with --where uml" in done.stdout + done.stderr
    if command != "doctor":
        assert (done.returncode, done.stderr.count("\n")) == (3, 1), done.stderr


@pytest.mark.parametrize(("command", "lacks"), [("cleanup", "NET_ADMIN"), ("controller --check", "SYS_ADMIN")])
def test_root_without_a_capability_is_refused_before_anything_is_done(command: str, lacks: str, tmp_path: Path) -> None:
    name = lacks.lower()
    without = ("setpriv", "--bounding-set", f"-{name}", "--inh-caps", f"-{name}", *PACELAB, *command.split())
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(without, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert done.stderr.startswith(f"pacelab: {command.split()[-1]}: ")
    assert f"CAP_{lacks}" in done.stderr
    assert f"start the container with --cap-add {lacks}" in done.stderr


def test_cleanup_touches_no_run_that_is_alive(tmp_path: Path) -> None:
    out = ("--out", str(tmp_path / "run"))
    running = start("run", "chain", "--hops", "1", "--seconds", "5", "--backend", "tap", *out)
    wait_for_children(running)
    assert start("cleanup").wait(30) == 0
    assert running.wait(60) == 0


def test_cleanup_ends_what_a_killed_run_left() -> None:
    # a process with the mark of a dead owner
    left = subprocess.Popen(["sleep", "1000"], env={"PACELAB_OWNER": "4194304:1"})
    assert start("cleanup").wait(30) == 0
    assert left.wait(10) == -signal.SIGKILL


def test_shell_runs_commands_at_hosts() -> None:
    from pacelab.emulation.probes import mininet

    if mininet() is not None:
        pytest.skip(f"no Mininet: {mininet()}")
    command = [*("shell", "chain", "--hops", "2", "--wired-hops", "1", "--backend", "tap")]
    process = start(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said, _ = process.communicate("nodes\nn0 ping -c 3 -i 0.2 host\niperf n0 n1\nexit\n", timeout=120)
    assert process.returncode == 0, said
    assert "host n0 n1 n2" in said
    assert "3 packets transmitted, 3 received" in said
    # two wires of 40 ms, four hops of about 2 ms
    assert 80 < float(re.search(r"rtt min/avg/max/mdev = ([\d.]+)", said)[1]) < 95  # type: ignore[index]
    assert re.search(r"\*\*\* Results: \['[\d.]+ Mbits/sec', '[\d.]+ Mbits/sec'\]", said)
    assert_gone(process.pid)


def test_shell_without_mininet_prints_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from pacelab.emulation import probes

    monkeypatch.setattr(probes, "SYSTEM_PACKAGES", tmp_path)
    with pytest.raises(pacelab.HostError, match=r"apt-get install --no-install-recommends mininet"):
        probes.check_mininet()
