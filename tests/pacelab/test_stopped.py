"""What ends a command from outside: Ctrl-C from the first moment on, SIGTERM, SIGHUP; messages that nobody can read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and shells")

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


@pytest.mark.parametrize("module", ["typer", "pacelab.cli.main", "pacelab.cli.commands"])
def test_ctrl_c_while_the_command_line_is_loaded_is_one_line(module: str) -> None:
    found = ran(PRESSED_WHEN_LOADED.format(module=module) + DOOR, "schemes")
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "pacelab: interrupted\n")


HEARS = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
"""Also where these tests are run under nohup."""
IN_A_SCRIPTS_BACKGROUND = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("where", ["", IN_A_SCRIPTS_BACKGROUND], ids=["in front", "in the background"])
def test_a_comparison_that_is_told_to_end_keeps_what_is_finished(where: str, name: str, in_tmp: Path) -> None:
    command = "compare chain --hops 1 --seconds 1 --schemes newreno --seeds 3 --jobs 1"
    found = ran(HEARS + where + STOPPED_AFTER_A_RUN.format(signal=name) + DOOR, *command.split())
    kept = "pacelab: 1 of 3 runs are kept in runs/unfinished; the same command goes on\n"
    assert (found.returncode, found.stderr) == (130, kept + "pacelab: interrupted\n")
    assert len(list((in_tmp / "runs" / "unfinished").iterdir())) == 1


def test_a_window_system_that_is_not_there_keeps_no_figure_from_being_written(in_tmp: Path) -> None:
    command = [sys.executable, "-m", "pacelab", "topologies", "cell", "--plot", "--out", "cell.svg"]
    environment = {**os.environ, "MPLBACKEND": "nowhere"}
    assert subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0
    assert (in_tmp / "cell.svg").exists()


@pytest.mark.parametrize(("said", "taken"), [("", "1"), ("4", "4")])
def test_numpy_starts_no_threads_unless_it_is_told_to(said: str, taken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    if said:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", said)
    tells = "import atexit, os; atexit.register(lambda: print(os.environ['OPENBLAS_NUM_THREADS']))\n"
    assert ran(tells + DOOR, "schemes", "--help").stdout.endswith(f"{taken}\n")


def test_what_nohup_made_deaf_stays_so() -> None:
    code = "import signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + DOOR.replace(
        "sys.exit(main())", "main(); sys.exit(signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN)"
    )
    assert ran(code, "--version").returncode == 0


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc here")
def test_what_helps_the_workers_outlives_the_terminal_as_long_as_they_are_told_to_end() -> None:
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


@pytest.mark.parametrize(("words", "code"), [("topologies cell --plot", 0), ("topologies nowhere", 2)])
@pytest.mark.parametrize("place", ["2>&-", "2>/dev/full"])
def test_messages_that_cannot_be_written_change_nothing(words: str, code: int, place: str, in_tmp: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    command = f'"{sys.executable}" -m pacelab {words} {place}'
    found = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, text=True, check=False)
    assert found.returncode == code
    assert "pacelab: " not in found.stdout
    assert os.listdir(in_tmp) == (["figures"] if code == 0 else [])


@pytest.mark.usefixtures("engine")
def test_ctrl_c_while_workers_are_started_and_again_while_they_end_leaves_none(in_tmp: Path) -> None:
    pressed = """
import signal, threading
from multiprocessing.process import BaseProcess
def pressed(real):
    def press(*given):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
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
