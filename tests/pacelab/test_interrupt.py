"""Ctrl-C in a real terminal's way: to the whole process group, workers included."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.usefixtures("engine"),
    pytest.mark.skipif(sys.platform == "win32", reason="process groups get SIGINT on POSIX only"),
]

ENDLESS = ["--seconds", "10000000", "--out", "out"]


@pytest.mark.parametrize(
    "command",
    [
        ["run", "chain", *ENDLESS],
        ["run", "chain", "--scheme", "tcp-gap", *ENDLESS],
        ["compare", "chain", "--hops", "2,3,4", "--jobs", "2", *ENDLESS],
        ["compare", "chain", "--hops", "2", "--jobs", "1", *ENDLESS],
    ],
    ids=["run", "run with hooks", "compare, two workers", "compare, no worker"],
)
def test_ctrl_c_ends_everything_with_one_line_and_nothing_written(command: list[str], in_tmp: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "pacelab", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(2.0)
    assert child.poll() is None, child.communicate()
    os.killpg(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=10)
    assert child.returncode == 130
    assert (out, err) == ("", "pacelab: interrupted\n")
    assert list(in_tmp.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.killpg(child.pid, 0)
