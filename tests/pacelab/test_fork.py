"""A fork of this process as a child: what it inherits, how it ends, and what it must not touch."""

from __future__ import annotations

import errno
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pacelab.errors import ConfigError, HostError

if sys.platform != "linux":
    pytest.skip("real hosts are Linux's", allow_module_level=True)

from pacelab.emulation.processes import OWNER, Child, environment

# A child's output goes to files that are closed when the child is deleted.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")


def _forever() -> int:
    while True:
        time.sleep(1)


def _tell(document: Callable[[], object]) -> Callable[[], int]:
    def main() -> int:
        print(json.dumps(document()))
        return 0

    return main


def test_a_fork_reads_and_writes_like_a_program() -> None:
    def main() -> int:
        print(json.dumps({"ready": True}), flush=True)
        print(sys.stdin.read().upper())
        print("a last word", file=sys.stderr)
        return 7

    child = Child("a copy", main, stdin=b"given")
    assert child.wait_ready() == {"ready": True}
    assert child.finish().splitlines()[1] == b"GIVEN"
    assert child.process.returncode == 7
    assert child.last_words() == "a last word"


def test_a_forks_environment_is_that_of_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "ours")
    monkeypatch.setenv(OWNER, "1:2")
    child = Child("a copy", _tell(lambda: dict(os.environ)), variables={"ITS": "own"})
    assert json.loads(child.finish()) == environment() | {"ITS": "own", OWNER: "1:2"}


def test_a_fork_has_no_descriptor_of_its_parent() -> None:
    with tempfile.TemporaryFile():
        child = Child("a copy", _tell(lambda: os.listdir("/proc/self/fd")))
        assert sorted(json.loads(child.finish())) == ["0", "1", "2", "3"]  # 3: the folder that is listed


def test_a_copy_of_a_copy_has_its_own_streams() -> None:
    def main() -> int:
        inner = Child("an inner copy", lambda: print(sys.stdin.read()) or 0, stdin=b"for the inner one")
        print(inner.finish().decode(), sys.stdin.read())
        return 0

    child = Child("an outer copy", main, stdin=b"for the outer one")
    assert child.finish().split() == b"for the inner one for the outer one".split()


def test_a_parents_reference_cycle_is_not_collected_in_a_fork() -> None:
    """Its file would be closed, but the descriptor's number belongs to another file by then."""

    class Cycle:
        def __init__(self) -> None:
            self.fd = os.open(os.devnull, os.O_RDONLY)
            self.itself = self

        def __del__(self) -> None:
            os.close(self.fd)

    gc.disable()
    try:
        number = Cycle().fd

        def main() -> int:
            while (fd := os.open(os.devnull, os.O_RDONLY)) != number:
                assert fd < number
            gc.collect()
            os.fstat(number)
            return 0

        child = Child("a copy", main)
        child.finish()
    finally:
        gc.enable()
    assert child.process.returncode == 0, child.last_words()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_it_whatever_we_do_with_it(number: int) -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        child = Child("a copy", _forever)
        assert child.alive()
        until = time.monotonic() + 10
        while Path(f"/proc/{child.process.pid}/comm").read_text() != "a copy\n" and time.monotonic() < until:
            time.sleep(0.01)
        child.end(number)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert child.process.returncode == -number


def test_a_process_that_does_not_end_is_killed() -> None:
    child = Child("a copy", _forever)
    with pytest.raises(subprocess.TimeoutExpired):
        child.process.wait(0.05)
    child.finish(timeout_s=0.05)
    assert child.process.returncode == -signal.SIGKILL
    child.process.terminate()  # harmless


@pytest.mark.parametrize(
    ("error", "code", "word"),
    [
        (ConfigError("a bad\nvalue"), 2, "a bad value"),
        (HostError("nothing here"), 3, "nothing here"),
        (ValueError("a slip"), 1, "ValueError: a slip"),
    ],
)
def test_an_error_is_its_last_word_and_its_exit_code(error: Exception, code: int, word: str) -> None:
    def main() -> int:
        raise error

    child = Child("a copy", main)
    child.finish()
    assert (child.process.returncode, child.last_words()) == (code, word)


def test_a_child_that_has_not_started_reports_why() -> None:
    def main() -> int:
        raise HostError("no such interface")

    with pytest.raises(HostError, match="starting a copy: no such interface"):
        Child("a copy", main).wait_ready()


def test_no_room_for_one_more_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room() -> int:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(os, "fork", no_room)
    with pytest.raises(HostError, match="starting a copy: Resource temporarily unavailable"):
        Child("a copy", _forever)
