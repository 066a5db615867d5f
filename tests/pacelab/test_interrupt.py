"""Ctrl-C in a real terminal's way: to the whole process group, workers included."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pacelab.hosts.where.confine import cpu_seconds

pytestmark = [
    pytest.mark.usefixtures("engine"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells how far a process is"),
    pytest.mark.skipif(shutil.which("ps") is None, reason="no ps here: apt install procps"),
]

WELL_UNDER_WAY_S = 0.7
"""Of processor time, of each process that computes: it tells how far on a busy machine, too. Imports take 0.2."""
ENDLESS = ["--seconds", "100000", "--out", "out"]


def alive_in_group(group: int) -> list[str]:
    """Commands of the group's processes, without those that only wait for a parent to take note of their end."""
    ran = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True)
    rows = [line.split(None, 2) for line in ran.stdout.splitlines()]
    return [row[2] for row in rows if row[0] == str(group) and not row[1].startswith("Z")]


@pytest.mark.parametrize(
    ("command", "computing"),
    [
        (["run", "chain", *ENDLESS], 1),
        (["run", "chain", "--scheme", "tcp-gap", *ENDLESS], 1),
        (["compare", "chain", "--hops", "2,3,4", "--jobs", "2", *ENDLESS], 2),
        (["compare", "chain", "--hops", "2", "--jobs", "1", *ENDLESS], 1),
    ],
    ids=["run", "run with hooks", "compare, two workers", "compare, no worker"],
)
def test_ctrl_c_ends_everything_with_one_line_and_nothing_written(
    command: list[str], computing: int, in_tmp: Path
) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "pacelab", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    until = time.monotonic() + 120
    while cpu_seconds(child.pid) < computing * WELL_UNDER_WAY_S and time.monotonic() < until:
        assert child.poll() is None, child.communicate()
        time.sleep(0.1)
    os.killpg(child.pid, signal.SIGINT)
    try:
        out, err = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 130
    assert (out, err) == ("", "pacelab: interrupted\n")
    assert list(in_tmp.iterdir()) == []
    until = time.monotonic() + 30
    while time.monotonic() < until and alive_in_group(child.pid):
        time.sleep(0.05)
    assert alive_in_group(child.pid) == []
