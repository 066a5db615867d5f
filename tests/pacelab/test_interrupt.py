"""External ends of a command: Ctrl-C from the first moment on, SIGTERM, SIGHUP; and the points at which a
run can stop.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pacelab import Experiment, run
from pacelab.emulation.where.cpu import cpu_seconds
from pacelab.interrupts import deferred_alarms, deferred_interrupts

# Ctrl-C as a terminal sends it: to the whole process group, including workers.

needs_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells how far a process is")
needs_ps = pytest.mark.skipif(shutil.which("ps") is None, reason="no ps here: apt install procps")

WELL_UNDER_WAY_S = 0.7
"""Processor time of each computing process, which shows the progress even on a busy machine. Imports take 0.2 s."""
ENDLESS = ["--seconds", "100000", "--out", "out"]


def alive_in_group(group: int) -> list[str]:
    """Commands of the group's processes, without zombies."""
    ran = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True)
    rows = [line.split(None, 2) for line in ran.stdout.splitlines()]
    return [row[2] for row in rows if row[0] == str(group) and not row[1].startswith("Z")]


@needs_ps
@needs_linux
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("command", "computing"),
    [
        (["run", "chain", *ENDLESS], 1),
        pytest.param(["run", "chain", "--scheme", "tcp-gap", *ENDLESS], 1, marks=pytest.mark.thorough),
        (["compare", "chain", "--hops", "2,3,4", "--jobs", "2", *ENDLESS], 2),
        pytest.param(["compare", "chain", "--hops", "2", "--jobs", "1", *ENDLESS], 1, marks=pytest.mark.thorough),
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


# Ctrl-C is recorded at once and raised at a point at which the run can stop.


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_interrupt_waits_for_the_next_check() -> None:
    steps = []

    def work() -> None:
        with deferred_interrupts() as check:
            check()
            press()
            steps.append("the packet is finished")
            check()
            steps.append("never")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["the packet is finished"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_signal_that_ends_a_command_without_ctrl_c_also_waits() -> None:
    steps = []

    def work() -> None:
        with deferred_interrupts() as check:
            os.kill(os.getpid(), signal.SIGTERM)
            steps.append("the packet is finished")
            check()
            steps.append("never")

    before = signal.signal(signal.SIGINT, signal.SIG_IGN), signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGTERM, before[1])
    assert steps == ["the packet is finished"]


def test_interrupt_after_the_last_check_is_not_lost() -> None:
    with pytest.raises(KeyboardInterrupt), deferred_interrupts():
        press()


def test_second_interrupt_raises_at_once() -> None:
    steps = []

    def work() -> None:
        with deferred_interrupts():
            press()
            press()
            steps.append("never")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == []


def test_other_threads_leave_interrupts_alone() -> None:
    found = []

    def work() -> None:
        with deferred_interrupts() as check:
            check()
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


class TimeIsUp(Exception):
    """The exception of a caller's alarm."""


@pytest.fixture
def alarm() -> Iterator[None]:
    if not hasattr(signal, "SIGALRM"):
        pytest.skip("no alarms here")

    def ring(number: int, frame: object) -> None:
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("alarm")
def test_an_alarm_waits_for_the_next_check() -> None:
    steps, handler = [], signal.getsignal(signal.SIGALRM)

    def work() -> None:
        with deferred_alarms() as check:
            check()
            signal.raise_signal(signal.SIGALRM)
            steps.append("the packet is finished")
            check()
            steps.append("never")

    with pytest.raises(TimeIsUp):
        work()
    assert steps == ["the packet is finished"]
    assert signal.getsignal(signal.SIGALRM) is handler


@pytest.mark.usefixtures("alarm")
def test_an_alarm_after_the_last_check_is_not_lost() -> None:
    with pytest.raises(TimeIsUp), deferred_alarms():
        signal.raise_signal(signal.SIGALRM)


@pytest.mark.usefixtures("alarm")
def test_a_second_alarm_rings_at_once() -> None:
    steps = []

    def work() -> None:
        with deferred_alarms():
            signal.raise_signal(signal.SIGALRM)
            signal.raise_signal(signal.SIGALRM)
            steps.append("never")

    with pytest.raises(TimeIsUp):
        work()
    assert steps == []


def test_an_alarm_without_a_handler_is_left_alone() -> None:
    if not hasattr(signal, "SIGALRM"):
        pytest.skip("no alarms here")
    with deferred_alarms():
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


@pytest.mark.usefixtures("alarm", "engine")
def test_an_alarm_ends_a_run_with_the_callers_own_exception() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(TimeIsUp):
        run(Experiment(scheme="tcp-gap", duration_s=1e6))


# External ends of a command: Ctrl-C from the first moment on, SIGTERM, SIGHUP; closed outputs.

needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and shells")

DOOR = "import sys; from pacelab.__main__ import main; sys.exit(main())"
PRESSED_WHEN_LOADED = """
import os, signal, sys
class Pressed:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Pressed())
"""
STOPPED_AFTER_A_RUN = """
import os, signal, pacelab.running.cached as cached
real = cached.run_in_worker
def run(experiment):
    result = real(experiment)
    if experiment.seed == 2:
        os.kill(os.getpid(), signal.{signal})
    return result
cached.run_in_worker = run
"""


def ran(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)


@needs_posix
@pytest.mark.parametrize("module", ["click", "pacelab.cli.main", "pacelab.cli.commands"])
def test_ctrl_c_while_the_command_line_is_loaded_is_one_line(module: str) -> None:
    found = ran(PRESSED_WHEN_LOADED.format(module=module) + DOOR, "schemes")
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "pacelab: interrupted\n")


HEARS = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
"""The process reacts to SIGHUP even if these tests run under nohup."""
IN_A_SCRIPTS_BACKGROUND = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"


@needs_posix
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("where", "name"),
    [
        pytest.param("", "SIGHUP", id="in front-SIGHUP"),
        pytest.param(IN_A_SCRIPTS_BACKGROUND, "SIGTERM", id="in the background-SIGTERM"),
        pytest.param("", "SIGTERM", id="in front-SIGTERM", marks=pytest.mark.thorough),
        pytest.param(IN_A_SCRIPTS_BACKGROUND, "SIGHUP", id="in the background-SIGHUP", marks=pytest.mark.thorough),
    ],
)
def test_a_comparison_that_is_terminated_keeps_finished_runs(where: str, name: str, in_tmp: Path) -> None:
    command = "compare chain --hops 1 --seconds 1 --schemes newreno --seeds 3 --jobs 1"
    found = ran(HEARS + where + STOPPED_AFTER_A_RUN.format(signal=name) + DOOR, *command.split())
    kept = "pacelab: 1 of 3 runs are kept in runs/unfinished; repeat the command to continue\n"
    assert (found.returncode, found.stderr) == (130, kept + "pacelab: interrupted\n")
    assert len(list((in_tmp / "runs" / "unfinished").iterdir())) == 1


@pytest.mark.thorough
@needs_posix
def test_a_window_system_that_is_not_there_keeps_no_figure_from_being_written(in_tmp: Path) -> None:
    command = [sys.executable, "-m", "pacelab", "topologies", "cell", "--plot", "--out", "cell.svg"]
    environment = {**os.environ, "MPLBACKEND": "nowhere"}
    assert subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0
    assert (in_tmp / "cell.svg").exists()


@needs_posix
@pytest.mark.parametrize(("said", "taken"), [("", "1"), ("4", "4")])
def test_numpy_starts_no_threads_unless_the_environment_requests_them(
    said: str, taken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    if said:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", said)
    tells = "import atexit, os; atexit.register(lambda: print(os.environ['OPENBLAS_NUM_THREADS']))\n"
    assert ran(tells + DOOR, "schemes", "--help").stdout.endswith(f"{taken}\n")


@needs_posix
def test_an_ignored_sighup_stays_ignored() -> None:
    code = "import signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + DOOR.replace(
        "sys.exit(main())", "main(); sys.exit(signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN)"
    )
    assert ran(code, "--version").returncode == 0


@pytest.mark.thorough
@needs_posix
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc here")
def test_helpers_of_workers_outlive_the_terminal_until_the_workers_end() -> None:
    code = """
import multiprocessing.resource_tracker as tracker
from pathlib import Path
from pacelab.running.workers import Workers, each_finished
if __name__ == "__main__":
    list(each_finished(abs, [1, 2], workers=Workers(jobs=2)))
    print(Path(f"/proc/{tracker._resource_tracker._pid}/status").read_text())
"""
    status = dict(line.split(":", 1) for line in ran(code).stdout.splitlines() if ":" in line)
    assert int(status["SigBlk"], 16) & 1 << (signal.SIGHUP - 1)


@needs_posix
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc here")
def test_workers_leave_ctrl_c_to_the_parent_from_their_first_instruction_on() -> None:
    code = """
from pathlib import Path
from pacelab.running.workers import Workers, each_finished
if __name__ == "__main__":
    for _, status in each_finished(Path.read_text, [Path("/proc/self/status")] * 4, workers=Workers(jobs=2)):
        print(status)
"""
    blocked = [int(line.split()[1], 16) for line in ran(code).stdout.splitlines() if line.startswith("SigBlk")]
    assert len(blocked) == 4
    assert all(mask & 1 << (signal.SIGINT - 1) for mask in blocked)


@needs_posix
@pytest.mark.parametrize(("words", "code"), [("run cell --seconds 0.1", 0), ("topologies nowhere", 2)])
@pytest.mark.parametrize("place", ["2>&-", "2>/dev/full"])
@pytest.mark.usefixtures("engine")
def test_messages_that_cannot_be_written_change_nothing(words: str, code: int, place: str, in_tmp: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    command = f'"{sys.executable}" -m pacelab {words} {place}'
    found = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, text=True, check=False)
    assert found.returncode == code
    assert "pacelab: " not in found.stdout
    assert os.listdir(in_tmp) == (["runs"] if code == 0 else [])


@needs_posix
@pytest.mark.usefixtures("engine")
def test_ctrl_c_while_workers_are_started_and_again_while_they_end_leaves_none(in_tmp: Path) -> None:
    pressed = """
import signal, threading
from multiprocessing.process import BaseProcess
def pressed(real):
    once = [signal.SIGINT]
    def press(*given):
        if once:
            signal.pthread_kill(threading.main_thread().ident, once.pop())
        return real(*given)
    return press
BaseProcess.start, BaseProcess.join = pressed(BaseProcess.start), pressed(BaseProcess.join)
"""
    command = "compare chain --hops 7 --seconds 100000 --schemes newreno --seeds 4 --jobs 2"
    found = subprocess.run(
        [sys.executable, "-c", pressed + DOOR, *command.split()],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert (found.returncode, found.stderr) == (130, "pacelab: interrupted\n")
