"""Workers: single outcomes, in processes and here; dead or different workers; progress in a notebook."""

from __future__ import annotations

import io
import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from contextlib import chdir, closing
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pacelab import ConfigError, Experiment, HostError, console, run
from pacelab.running import workers
from pacelab.running.runner import each_run
from pacelab.running.workers import WorkerDied, Workers, _checked, each_finished
from pacelab.user_code.waiting import say

# Workers: single outcomes, in processes and here; the effect of a dead or a different worker.


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("jobs", [1, 2])
def test_every_outcome_comes_with_the_place_of_its_item(jobs: int) -> None:
    found = dict(each_finished(abs, [-3, 1, -2], workers=Workers(jobs=jobs)))
    assert found == {0: 3, 1: 1, 2: 2}
    assert list(each_finished(abs, [], workers=Workers(jobs=jobs))) == []


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_exceptions_of_the_work_pass_through(jobs: int) -> None:
    begun = each_finished(abs, ["a", 1], workers=Workers(jobs=jobs))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="abs"), closing(begun) as finished:
        list(finished)


class Unreadable:
    def __reduce__(self) -> tuple[object, ...]:
        return int, ("no number",)


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_an_item_that_a_worker_cannot_read_is_no_worker_that_died() -> None:
    begun = each_finished(abs, [1, Unreadable()], workers=Workers(jobs=2))  # type: ignore[list-item]
    with pytest.raises(ValueError, match="no number"), closing(begun) as finished:
        list(finished)


def take_long(_item: int) -> None:
    say("loading 'slow.py'")


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_a_wait_of_several_workers_is_reported_once(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pacelab.user_code.waiting._said", set())
    assert len(list(each_finished(take_long, range(4), workers=Workers(jobs=2)))) == 4
    assert capfd.readouterr().err.splitlines() == [
        "pacelab: loading 'slow.py' has not returned for 5 s; PaceLab waits for it; press Ctrl-C to stop it"
    ]


SCRIPT = """
from pacelab import Experiment, compare
print("once")
made = compare(Experiment(topology_options={"hops": 2}, duration_s=1), schemes=["newreno"], seeds=2, jobs=2)
print(len(made.compare["rows"]))
"""


@pytest.mark.usefixtures("engine")
def test_a_script_without_a_main_guard_compares_once(tmp_path: Path) -> None:
    (tmp_path / "study.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "study.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[:1] == ["once"], done.stderr
    assert (done.returncode, done.stdout.count("once"), done.stderr) == (0, 1, "")


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_work_of_the_script_itself_finds_it_in_the_workers(tmp_path: Path) -> None:
    (tmp_path / "study.py").write_text(
        "from pacelab import Workers, each_finished\n"
        "def double(number): return 2 * number\n"
        "if __name__ == '__main__': print(sorted(each_finished(double, [1, 2], workers=Workers(jobs=2))))\n"
    )
    done = subprocess.run([sys.executable, "study.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "[(0, 2), (1, 4)]\n", done.stderr


def sleep_of(file: str) -> str:
    if file:
        time.sleep(60)
        Path(file).touch()
    return file


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_a_worker_that_does_not_hear_of_the_end_is_ended(tmp_path: Path) -> None:
    slept = tmp_path / "slept"
    with closing(each_finished(sleep_of, [str(slept), ""], workers=Workers(jobs=2))) as finished:
        assert next(finished) == (1, "")
    assert not slept.exists()


def die_of_zero(number: int) -> int:
    if number == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.usefixtures("engine")
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_outcomes_finished_before_a_worker_died_come_before_the_error() -> None:
    found: list[tuple[int, int]] = []
    with pytest.raises(WorkerDied, match="one died"):
        found.extend(each_finished(die_of_zero, [6, 4, 2, 0], workers=Workers(jobs=2)))
    assert found == [(place, 6 - 2 * place) for place, _ in found], "each with its own place"


def die_half_given(number: int) -> int:
    def half(line: Connection, message: bytes) -> None:
        os.write(line.fileno(), bytes(message)[: len(message) // 2])
        os.kill(os.getpid(), signal.SIGKILL)

    if number == 0:
        Connection._send = half  # type: ignore[attr-defined]
    return number


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_worker_that_dies_while_returning_its_result_delays_no_other_worker() -> None:
    found: list[tuple[int, int]] = []
    with pytest.raises(WorkerDied, match="one died"):
        found.extend(each_finished(die_half_given, [0, 1, 2, 3], workers=Workers(jobs=2)))
    assert sorted(found) == [(1, 1), (2, 2), (3, 3)]


class OnlyThere(Exception):
    """A class of a user's file that only the worker has loaded."""

    def __reduce__(self) -> tuple[object, ...]:
        return getattr, (os, f"of_process_{os.getpid()}")


def raise_what_only_the_worker_has(_number: int) -> None:
    setattr(os, f"of_process_{os.getpid()}", OnlyThere())
    raise OnlyThere("the user's own words")


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_an_error_that_cannot_be_read_here_is_reported_in_words() -> None:
    begun = each_finished(raise_what_only_the_worker_has, [1, 2], workers=Workers(jobs=2))
    with pytest.raises(RuntimeError, match="OnlyThere: the user's own words"), closing(begun) as finished:
        list(finished)


@pytest.mark.usefixtures("engine")
def test_a_worker_with_other_code_refuses_before_it_reads_the_item() -> None:
    with pytest.raises(HostError, match=r"the worker on .* runs another version of PaceLab"):
        _checked("0" * 64, abs, pickle.dumps(Unreadable()))


class OwnFile:
    """Like an experiment with a user's file, this is read again wherever it is sent."""

    def __reduce__(self) -> tuple[object, ...]:
        return Path.read_text, (Path("own.txt"),)


class Cluster:
    """The names of Dask that we use: the scheduler reads each task, then the worker does."""

    KilledWorker = CancelledError = CommClosedError = type("Never", (Exception,), {})

    def __init__(self, address: str, **_options: object) -> None:
        self.comm, self.loop = self, None

    def scheduler_info(self) -> dict[str, object]:
        return {"workers": {}}

    def submit(self, *task: object, pure: bool) -> Future[object]:
        with chdir("scheduler"):
            work, item = pickle.loads(pickle.dumps(task))
        done: Future[object] = Future()
        with chdir("worker"):
            done.set_result(work(item))
        return done

    def cancel(self, _futures: object) -> None: ...

    def close(self) -> None: ...


@pytest.mark.usefixtures("engine")
def test_a_clusters_workers_need_a_users_file_and_its_scheduler_does_not(
    in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("scheduler", "worker"):
        Path(name).mkdir()
    Path("worker/own.txt").write_text("own")
    Cluster.Client, Cluster.as_completed = Cluster, staticmethod(lambda futures, loop: futures)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "distributed", Cluster)  # type: ignore[arg-type]
    begun = each_finished(len, [OwnFile()], workers=Workers(scheduler="tcp://x:1"))  # type: ignore[list-item]
    with closing(begun) as finished:
        assert list(finished) == [(0, 3)]
    assert capsys.readouterr().err == "pacelab: --scheduler tcp://x:1: it has no worker yet: waiting for one\n"


@pytest.mark.usefixtures("engine")
def test_if_a_worker_lacks_a_users_file_the_error_names_the_searched_path(in_tmp: Path) -> None:
    Path("here").mkdir()
    Path("there").mkdir()
    Path("here/flows.yaml").write_text("version: 1\nflows: [{flow: 0}]\n")
    with chdir("here"):
        sent = pickle.dumps(Experiment(traffic="flows.yaml"))
    with (
        chdir("there"),
        pytest.raises(
            ConfigError,
            match=r"cannot read --traffic 'flows\.yaml' \(No such file or directory\); give the path",
        ),
    ):
        pickle.loads(sent)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("address", ["nowhere", "tcp://", "tcp://x", "http://x:1", "tcp://x:one"])
def test_an_invalid_scheduler_address_is_refused_at_once(address: str) -> None:
    with pytest.raises(ConfigError, match="--scheduler must be tcp://HOST:PORT"):
        Workers(scheduler=address)


@pytest.mark.usefixtures("engine")
def test_jobs_and_scheduler_exclude_each_other() -> None:
    with pytest.raises(ConfigError, match="--jobs 2 and --scheduler tcp://x:1 cannot be combined; leave one out"):
        Workers(jobs=2, scheduler="tcp://x:1")


@pytest.mark.usefixtures("engine")
def test_a_scheduler_that_cannot_be_reached_is_a_host_error(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="Dask is not installed: pip install distributed")
    monkeypatch.setattr(workers, "CONNECT_S", 0.3)
    with pytest.raises(HostError, match="cannot be reached"):
        list(each_finished(abs, [1], workers=Workers(scheduler="tcp://127.0.0.1:9")))


@pytest.mark.usefixtures("engine")
def test_the_longest_runs_come_first_each_with_its_place() -> None:
    short, long, crowded = (
        Experiment(topology_options={"hops": hops}, duration_s=seconds) for hops, seconds in ((1, 5), (1, 20), (8, 19))
    )
    begun: list[Experiment] = []
    found = dict(each_run(lambda one: begun.append(one) or one, [short, long, crowded], workers=Workers(jobs=1)))
    assert begun == [crowded, long, short]
    assert found == {0: short, 1: long, 2: crowded}


# In a notebook a line shows the progress after a while; elsewhere nothing is shown (in a real kernel: labs/tests).


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The successive contents of the line, from a mock of IPython with its own clock."""
    texts: list[str] = []
    shell = SimpleNamespace(kernel=object())
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")

    class Handle:
        def update(self, text: str) -> None:
            texts.append(text)

    def show(text: str, *, display_id: bool) -> Handle:
        texts.append(text)
        return Handle()

    vars(ipython).update(get_ipython=lambda: shell, display=display)
    vars(display).update(HTML=str, display=show)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return texts


class Clock:
    now_s = 100.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(console, "time", SimpleNamespace(monotonic=lambda: made.now_s))
    return made


def tell(clock: Clock, *done: tuple[float, Any]) -> None:
    with console.progress_line("run", None) as hear:
        for after_s, much in done:
            clock.now_s = 100 + after_s
            hear(*much)


def test_short_work_shows_no_progress(shown: list[str], clock: Clock) -> None:
    tell(clock, (0.5, (0.25,)), (1.9, (0.9,)), (2.5, (1.0,)))
    assert shown == []


@pytest.mark.parametrize(
    ("after_s", "done", "said"),
    [
        (3, (0.25,), "run: 25 %, about 9 s left"),
        (60, (1, 4), "run: 25 %, about 3 min left"),
        (3600, (1, 4), "run: 25 %, about 3 h left"),
    ],
)
def test_a_long_one_reports_its_length(
    shown: list[str], clock: Clock, after_s: float, done: tuple[float, ...], said: str
) -> None:
    tell(clock, (after_s, done), (after_s + 0.1, (0.9,)))  # not so often
    assert shown == [said, ""]


def test_setup_time_does_not_count_for_the_time_left(shown: list[str], clock: Clock) -> None:
    tell(clock, (1, (0.0,)), (5, (0.0004,)), (6, (0.1,)))  # real hosts: before, it showed "0 %, about 4 h left" of 6 s
    assert shown == ["run: 0 %", "run: 10 %, about 9 s left", ""]


def test_the_line_goes_where_it_was_stopped(shown: list[str], clock: Clock) -> None:
    def stop() -> None:
        with console.progress_line("run", None) as hear:
            clock.now_s += 10
            hear(0.5)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        stop()
    assert shown == ["run: 50 %, about 10 s left", ""]
    assert isinstance(caught.value, console.Interrupted)  # otherwise Jupyter shows 49 lines of traceback in our code
    (line,) = caught.value._render_traceback_()
    assert line.startswith("Interrupted: run was stopped before its end")


@pytest.mark.usefixtures("engine")
def test_a_callers_on_progress_replaces_the_progress_line(shown: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "QUIET_S", 0)
    monkeypatch.setattr(console, "UPDATE_S", 0)
    heard: list[float] = []
    run(Experiment(duration_s=2), on_progress=heard.append)
    assert (heard[-1], shown) == (1.0, [])
    run(Experiment(duration_s=2))
    assert shown[-1] == ""


def test_without_a_notebook_no_progress_is_shown(capsys: pytest.CaptureFixture[str], clock: Clock) -> None:
    tell(clock, (60, (0.5,)))
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("columns", [24, 80])
@pytest.mark.parametrize("text", ["{x}[red].yaml, newreno", "chain: newreno, " + "tcp-gap, " * 9])
def test_every_kind_of_bar_has_its_numbers_at_any_width(
    columns: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = io.StringIO()
    vars(terminal).update(isatty=lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    with console.progress_bar(text, quiet=False) as show:
        show(0.4)
    assert " 40%" in terminal.getvalue()
    assert (text in terminal.getvalue()) == (columns == 80 and text.startswith("{x}"))
