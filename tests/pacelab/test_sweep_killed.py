"""Sweeps that are interrupted, or killed, or lose a worker: finished runs stay, and the same command goes on."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.usefixtures("engine"),
    pytest.mark.thorough,
    pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals and process groups"),
    pytest.mark.skipif(shutil.which("ps") is None, reason="no ps here: apt install procps"),
]

RUNS = 6
COMMAND = [
    *(sys.executable, "-m", "pacelab", "sweep", "chain", "--hops", "4", "--rate", "2", "--seconds", "1500"),
    *("--seeds", str(RUNS), "--jobs", "2", "--out", "s"),
]


def contents(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "host.json"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files if ".pacelab-" not in str(path)}


def finished(folder: Path) -> dict[str, bytes]:
    """host.json, which has the times of a run, of each finished run."""
    return {path.parent.name: path.read_bytes() for path in folder.glob("s/runs/[!.]*/host.json")}


def start(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        COMMAND, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def processes(group: int) -> dict[int, str]:
    """Processes of a group that live, with their commands."""
    ran = subprocess.run(["ps", "-ewwo", "pid=,pgid=,stat=,args="], capture_output=True, text=True, check=True)
    rows = [line.split(None, 3) for line in ran.stdout.splitlines()]
    return {int(row[0]): row[3] for row in rows if row[1] == str(group) and not row[2].startswith("Z")}


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.005)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a sweep that nobody disturbs gives."""
    folder = tmp_path_factory.mktemp("reference")
    child = start(folder)
    assert child.wait(timeout=120) == 0, child.communicate()
    child.communicate()
    found = contents(folder / "s")
    assert len({name.split("/")[1] for name in found if name.startswith("runs/")}) == RUNS
    return found


def disturb(folder: Path, child: subprocess.Popen[str], send: Callable[[], None]) -> dict[str, bytes]:
    """Waits for the first finished run, sends the signal, and returns what was finished when all was over."""
    try:
        wait_for(lambda: len(finished(folder)) >= 1 or child.poll() is not None)
        assert child.poll() is None, child.communicate()
        send()
        child.communicate(timeout=60)
    finally:
        child.kill()
    wait_for(lambda: processes(child.pid) == {}, 30.0)
    return finished(folder)


def go_on(folder: Path, before: dict[str, bytes], reference: dict[str, bytes]) -> None:
    """The same command again ends well, with the same bytes, and without running again what was finished."""
    child = start(folder)
    _, err = child.communicate(timeout=120)
    assert child.returncode == 0, err
    assert f"{RUNS} runs, {len(before)} of them finished before" in err
    assert before.items() <= finished(folder).items()
    assert contents(folder / "s") == reference


def test_sweep_goes_on_after_ctrl_c(tmp_path: Path, reference: dict[str, bytes]) -> None:
    child = start(tmp_path)
    before = disturb(tmp_path, child, lambda: os.killpg(child.pid, signal.SIGINT))
    assert child.returncode == 130
    assert 1 <= len(before) < RUNS
    go_on(tmp_path, before, reference)


def test_sweep_goes_on_after_it_was_killed_and_leaves_no_worker(tmp_path: Path, reference: dict[str, bytes]) -> None:
    child = start(tmp_path)
    before = disturb(tmp_path, child, child.kill)
    assert child.returncode == -signal.SIGKILL
    assert 1 <= len(before) < RUNS
    go_on(tmp_path, before, reference)


def test_sweep_replaces_a_worker_that_was_killed(tmp_path: Path, reference: dict[str, bytes]) -> None:
    child = start(tmp_path)
    at_the_kill: dict[str, bytes] = {}

    def kill_a_worker() -> None:
        at_the_kill.update(finished(tmp_path))
        workers = [pid for pid, command in processes(child.pid).items() if "spawn_main" in command]
        os.kill(workers[0], signal.SIGKILL)

    after = disturb(tmp_path, child, kill_a_worker)
    assert child.returncode == 0
    assert at_the_kill.items() <= after.items()
    assert contents(tmp_path / "s") == reference
