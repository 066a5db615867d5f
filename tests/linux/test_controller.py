"""The controller with a real Open vSwitch: `pacelab controller --check`, one test per check; programs that end too
early.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from network import LATE_S, Sleeper, run
from network import why_not as tap_why_not

import pacelab
from pacelab.emulation.network.plain import PlainNetwork
from pacelab.errors import HostError
from pacelab_controller.switches import ovs
from pacelab_controller.switches.ovs import missing

# The controller with a real Open vSwitch: `pacelab controller --check`, one test per check.

ROOT = Path(__file__).parents[2]
CHECKS = (
    *("switches and links", "no loops", "hosts reach each other", "first packet of a flow", "classes and queues"),
    *("statistics", "a link goes down", "handover", "controller killed", "token"),
)


def why_not() -> str | None:
    if sys.platform != "linux" or os.geteuid() != 0:
        return "not root on Linux: run `sudo make test-linux`"
    try:
        import os_ken  # noqa: F401
    except ImportError:
        return "no os-ken: pip install 'pacelab[controller]'"
    return missing() or tap_why_not()


needs_switches = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")


@pytest.fixture(scope="module")
def checks() -> dict[str, dict[str, Any]]:
    """The output of one run about all checks; on a late machine, the last of three runs, or one without a failure."""
    command = [sys.executable, "-m", "pacelab_controller", "--check", "--json"]
    sleeper = Sleeper()
    for _ in range(3):
        sleeper.worst_s()
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=150, check=False)
        assert ran.stdout, ran.stderr
        found = {row["check"]: row for row in json.loads(ran.stdout)["checks"]}
        if sleeper.worst_s() < LATE_S or all(row["passed"] for row in found.values()):
            break
    return found


@needs_switches
@pytest.mark.kernel
@pytest.mark.parametrize("name", CHECKS)
def test_check(name: str, checks: dict[str, dict[str, Any]]) -> None:
    assert checks[name]["passed"], checks[name]["said"]


@needs_switches
@pytest.mark.kernel
def test_these_are_all_checks(checks: dict[str, dict[str, Any]]) -> None:
    assert tuple(checks) == CHECKS


@needs_switches
@pytest.mark.kernel
def test_a_station_walks_over_and_its_flow_continues(tmp_path: Path) -> None:
    options = ("--speed", "40", "--rate", "2", "--scheme", "tcp-gap", "--controller", "ryu", "--seconds", "25")
    document = run("two-gateways", *options, "--out", str(tmp_path / "run"))
    (handover,) = document["host"]["controller"]["handovers"]
    assert (handover["station"], handover["from"], handover["to"]) == ("s", "GA", "GB")
    assert 15.2 < handover["at_s"] < 16.5  # 212.6 m at 40 m/s, after 10 s; reported each 0.1 s
    series = pacelab.load_result(tmp_path / "run").series["flows"][0]["goodput_bps"]
    assert min(series[3:]) > 0  # no second without data
    before, after = series[8:13], series[20:25]
    assert sum(after) == pytest.approx(sum(before), rel=0.1)
    written = [point["counters"]["rtt_wired_written"] for point in document["run"]["hooks"]["points"][:2]]
    assert min(written) > 100  # TCP-GAP was active at both gateways, one after the other
    assert document["run"]["flows"][0]["timeouts"] == 0


# Open vSwitch of a run: the message names a program that ended too early.

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="real hosts are Linux's")


@needs_linux
def test_a_program_of_the_switches_that_ends_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ovs, "missing", lambda: None)
    monkeypatch.setattr(ovs.OpenVSwitch, "_run", lambda *_, **__: "")
    (tmp_path / "db.sock").touch()
    switch = ovs.OpenVSwitch(tmp_path, prefix=["/bin/sh", "-c", "exec sleep 60"])  # replaces each program
    assert switch.ended() is None
    switch._processes["ovs-vswitchd"].kill()
    switch._processes["ovs-vswitchd"].wait()
    assert switch.ended() == ("ovs-vswitchd", "killed by SIGKILL")
    switch.close()


@needs_linux
def test_a_run_does_not_outlive_its_switches() -> None:
    switched = SimpleNamespace(process=None, ended=lambda: ("ovs-vswitchd", "killed by SIGKILL"))
    lab: Any = SimpleNamespace(air=None, relay=None, routing=[], switched=switched)
    with pytest.raises(HostError, match="ovs-vswitchd ended in the middle of a run: killed by SIGKILL"):
        PlainNetwork.check_alive(lab)
