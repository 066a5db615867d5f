"""Open vSwitch as a run has it: who ends too early is named."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pacelab.controller.switches import ovs
from pacelab.errors import HostError
from pacelab.hosts.lab import Lab

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="real hosts are Linux's")


def test_a_program_of_the_switches_that_ends_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ovs, "missing", lambda: None)
    monkeypatch.setattr(ovs.OpenVSwitch, "_run", lambda *_, **__: "")
    (tmp_path / "db.sock").touch()
    switch = ovs.OpenVSwitch(tmp_path, prefix=["/bin/sh", "-c", "exec sleep 60"])  # in the place of each program
    assert switch.ended() is None
    switch._processes["ovs-vswitchd"].kill()
    switch._processes["ovs-vswitchd"].wait()
    assert switch.ended() == ("ovs-vswitchd", "killed by SIGKILL")
    switch.close()


def test_a_run_does_not_outlive_its_switches() -> None:
    switched = SimpleNamespace(process=None, ended=lambda: ("ovs-vswitchd", "killed by SIGKILL"))
    lab: Any = SimpleNamespace(air=None, relay=None, routing=[], switched=switched)
    with pytest.raises(HostError, match="ovs-vswitchd ended in the middle of a run: killed by SIGKILL"):
        Lab.check_alive(lab)
