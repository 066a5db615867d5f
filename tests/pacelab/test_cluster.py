"""Sweeps, claims and grading on a Dask cluster: a real scheduler and two workers, one of which is killed."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pacelab import HostError
from pacelab.cli.main import main

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.usefixtures("engine"),
    pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL"),
    pytest.mark.skipif(
        importlib.util.find_spec("distributed") is None, reason="Dask is not installed: pip install distributed"
    ),
]

DASK = [sys.executable, "-W", "ignore", "-m", "dask"]
SWEEP = [
    *("sweep", "chain", "--hops", "4,5", "--rate", "2", "--seconds", "300", "--schemes", "newreno,tcp-gap"),
    *("--seeds", "3", "--quiet"),
]
RUNS = 12


class Cluster:
    """A scheduler and two workers that another user started."""

    def __init__(self, folder: Path) -> None:
        """The scheduler runs in `folder`, without any user's files; the workers run in the test's folder."""
        file = folder / "scheduler.json"
        words = ("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))
        self.scheduler = self._start(*words, cwd=folder)
        self._children = [self.scheduler]
        wait_for(lambda: file.is_file() and file.stat().st_size > 0)  # it is empty when it appears
        self.address: str = json.loads(file.read_text())["address"]
        options = ("--nthreads", "1", "--no-nanny", "--local-directory", str(folder))
        self.workers = [self._start("worker", self.address, *options) for _ in range(2)]
        self._children += self.workers

    def stop(self) -> None:
        for child in self._children:
            child.kill()
            child.wait()

    def _start(self, *words: str, cwd: Path | None = None) -> subprocess.Popen[bytes]:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([*DASK, *words, "--no-dashboard"], cwd=cwd, **quiet)  # type: ignore[call-overload,no-any-return]


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "timed out"
        time.sleep(0.01)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "dask"
    folder.mkdir()
    started = Cluster(folder)
    yield started
    started.stop()


def contents(folder: Path) -> dict[str, bytes]:
    """All files that must be equal on every machine."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "host.json"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_a_sweep_loses_nothing_when_a_worker_is_killed(in_tmp: Path, cluster: Cluster) -> None:
    assert main([*SWEEP, "--jobs", "1", "--out", "here"]) == 0
    command = [sys.executable, "-m", "pacelab", *SWEEP, "--scheduler", cluster.address, "--out", "there"]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        kept = lambda: list(Path("there/runs").glob("[!.]*/run.json"))  # noqa: E731
        wait_for(lambda: len(kept()) >= 2 or child.poll() is not None)
        assert len(kept()) < RUNS, "too fast to be killed in the middle"
        os.kill(cluster.workers[0].pid, signal.SIGKILL)
        _, err = child.communicate(timeout=120)
        assert child.returncode == 0, err
    finally:
        child.kill()
    assert contents(Path("there")) == contents(Path("here"))
    assert len(kept()) == RUNS


def test_a_sweep_whose_scheduler_is_killed_ends_with_a_line(in_tmp: Path, cluster: Cluster) -> None:
    command = [sys.executable, "-m", "pacelab", *SWEEP, "--scheduler", cluster.address, "--out", "there"]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        kept = lambda: list(Path("there/runs").glob("[!.]*/run.json"))  # noqa: E731
        wait_for(lambda: len(kept()) >= 2 or child.poll() is not None)
        cluster.scheduler.kill()
        _, err = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 3
    [said] = err.splitlines()
    assert said.startswith(f"pacelab: --scheduler {cluster.address}: the connection was lost")
    assert len(kept()) >= 2


def test_a_users_control_runs_on_the_workers(in_tmp: Path, cluster: Cluster) -> None:
    assert main(["new", "cc", "Mine"]) == 0
    remove_leftovers = [
        "sweep",
        "chain",
        "--hops",
        "2",
        "--seconds",
        "2",
        "--schemes",
        "newreno,mine.py:Mine",
        "--quiet",
    ]
    assert main([*remove_leftovers, "--jobs", "1", "--out", "here"]) == 0
    assert main([*remove_leftovers, "--scheduler", cluster.address, "--out", "there"]) == 0
    assert contents(Path("there")) == contents(Path("here"))


def test_a_claim_comes_out_the_same(in_tmp: Path, cluster: Cluster) -> None:
    claim = ["reproduce", "tcp-gap-buffer", "--quick", "--seeds", "2", "--quiet"]
    assert main([*claim, "--jobs", "1", "--out", "here"]) == 0
    assert main([*claim, "--scheduler", cluster.address, "--out", "there"]) == 0
    assert contents(Path("there")) == contents(Path("here"))


def test_submissions_get_the_same_verdicts(in_tmp: Path, cluster: Cluster) -> None:
    from pacelab_grading.assignments import find_assignment
    from pacelab_grading.grade.batch import grade_all
    from pacelab_grading.judging.process import BatchSettings
    from pacelab_grading.receive.submission import Submission
    from pacelab_grading.rubric.verdict import to_json

    template = find_assignment(2).template
    submissions = [Submission(student=f"s{number}", source=f"{template}# {number}\n") for number in range(3)]
    here = grade_all(submissions, BatchSettings(assignment=2, weak_walls=True), store=in_tmp / "here", jobs=1)
    there = grade_all(
        submissions, BatchSettings(assignment=2, weak_walls=True), store=in_tmp / "there", scheduler=cluster.address
    )
    assert [to_json(verdict) for verdict in there] == [to_json(verdict) for verdict in here]


def test_grading_loses_nothing_when_a_worker_is_killed(in_tmp: Path, cluster: Cluster) -> None:
    """Some submissions contain hostile code. The sandboxes of the killed worker end with it."""
    from pacelab_grading.assignments import find_assignment
    from pacelab_grading.grade.batch import grade_all
    from pacelab_grading.judging.process import BatchSettings
    from pacelab_grading.receive.submission import Submission
    from pacelab_grading.rubric.verdict import to_json

    model = find_assignment(2).model
    sources = [model, model.replace("return", "import os; os._exit(0)", 1), "1 / 0\n"] * 3
    submissions = [Submission(student=f"s{number}", source=f"{text}# {number}") for number, text in enumerate(sources)]
    settings = BatchSettings(assignment=2, weak_walls=True, key="c" * 64)
    here = grade_all(submissions, settings, store=in_tmp / "here", jobs=2)
    victim, left = cluster.workers[0], list[int]()

    def kill(done: int) -> None:
        if done >= 2 and not left:
            wait_for(lambda: bool(descendants(victim.pid)))
            left.extend(descendants(victim.pid))
            victim.kill()
            victim.wait()

    there = grade_all(submissions, settings, store=in_tmp / "there", scheduler=cluster.address, on_done=kill)
    assert [to_json(verdict) for verdict in there] == [to_json(verdict) for verdict in here]
    assert {verdict.status for verdict in there} == {"graded"}
    assert left  # the worker was killed
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in left))


def descendants(pid: int) -> list[int]:
    """All processes below this one."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found, todo = list[int](), [pid]
    while todo:
        below = [child for child, parent in parents.items() if parent == todo[-1]]
        todo.pop()
        found += below
        todo += below
    return found


def test_a_worker_with_other_graders_refuses(in_tmp: Path) -> None:
    from pacelab_grading.grade.batch import grade_on_worker
    from pacelab_grading.judging.process import BatchSettings
    from pacelab_grading.receive.submission import Submission

    settings = BatchSettings(assignment=2, weak_walls=True)
    with pytest.raises(HostError, match="has other graders: its verdicts could differ"):
        grade_on_worker(Submission(student="s", source=""), settings, "other")


def test_exceptions_of_a_run_are_passed_on(in_tmp: Path, cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SWEEP, "--scheduler", cluster.address, "--jobs", "2", "--out", "there"]) == 2
    assert "--jobs 2 and --scheduler" in capsys.readouterr().err
