"""The child processes of a run: started in a host's namespace, watched, ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pacelab
from pacelab.errors import HostError
from pacelab.hosts.fork import Fork
from pacelab.hosts.network.namespaces import command_in, enter

READY_S = 60.0
"""An agent starts within 1 s; under software emulation of a busy machine it took 25."""
END_S = 5.0
SAFE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LOOK_S = 0.01


OWNER = "PACELAB_OWNER"
"""In the environment of all processes of a run: who started it, for `pacelab cleanup`."""


def python(module: str, *arguments: str) -> list[str]:
    """The command line of one of our own modules, from the same place as this one, whatever the working folder."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """What children of a run inherit: nothing that decides what they do."""
    owner = {OWNER: os.environ[OWNER]} if OWNER in os.environ else {}
    return owner | {
        "PATH": SAFE_PATH,
        "PYTHONPATH": str(Path(pacelab.__file__).resolve().parents[1]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LC_ALL": "C.UTF-8",
    }


class Child:
    """One process. What it prints goes to files in memory: it never waits for us to read."""

    process: subprocess.Popen[bytes] | Fork

    def __init__(
        self,
        name: str,
        command: Sequence[str] | Callable[[], int],
        *,
        netns: str | None = None,
        stdin: bytes = b"",
        variables: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
        at_terminal: bool = False,
    ) -> None:
        """`command`: a command line, or the `main` of a module of ours. `variables`: added to the environment.
        `at_terminal`: it reads and writes there, and hears a Ctrl-C.
        """
        self.name = name
        self._output = _scratch()
        self._errors = _scratch()
        variables = environment() | dict(variables or {})
        if callable(command):
            self.process = self._fork(command, netns, stdin, variables)
            return
        line = command_in(netns, command) if netns else list(command)
        try:
            self.process = subprocess.Popen(
                line,
                stdin=None if at_terminal else subprocess.PIPE,
                stdout=None if at_terminal else self._output,
                stderr=None if at_terminal else self._errors,
                env=variables,
                pass_fds=pass_fds,
                start_new_session=not at_terminal,  # a Ctrl-C at the shell is not for the air
            )
        except OSError as error:
            raise HostError(f"starting {name}: {line[0]}: {error.strerror}") from None
        if self.process.stdin is None:
            return
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(stdin)
            self.process.stdin.close()

    def _fork(self, main: Callable[[], int], netns: str | None, stdin: bytes, variables: Mapping[str, str]) -> Fork:
        with _scratch() as given:
            given.write(stdin)
            given.seek(0)
            try:
                return Fork(
                    main,
                    name=self.name.removeprefix("the ").replace(" agent at", ""),
                    files=(given, self._output, self._errors),
                    variables=variables,
                    enter=lambda: None if netns is None else enter(netns),
                )
            except OSError as error:
                raise HostError(f"starting {self.name}: {error.strerror}") from None

    def wait_ready(self) -> dict[str, Any]:
        """The one line that it prints when it is up."""
        until = time.monotonic() + READY_S
        while b"\n" not in (text := self.output()) and self.alive() and time.monotonic() < until:
            time.sleep(_LOOK_S)
        try:
            found: dict[str, Any] = json.loads(text.splitlines()[0])
        except (IndexError, ValueError):
            raise HostError(f"starting {self.name}: {self.last_words() or 'it said nothing'}") from None
        return found

    def alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def stopped(self) -> bool:
        """Whether a signal or a debugger has it stand still."""
        try:
            state = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False  # it has ended
        return state in ("T", "t")

    def end(self, number: int = signal.SIGTERM, timeout_s: float = END_S) -> bytes:
        """Signal it, if it still runs, and return all that it printed. What does not end is killed."""
        if self.alive():
            self.process.send_signal(number)
        return self.finish(timeout_s)

    def finish(self, timeout_s: float = END_S) -> bytes:
        """All that it printed, once it has ended by itself; killed when it does not in time."""
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return self.output()

    def output(self) -> bytes:
        """What it has printed so far."""
        return _content(self._output)

    def how_it_ended(self) -> str:
        """The signal that killed it, else its last words: for the message about one that has ended too early."""
        code = self.process.poll()
        if code is not None and code < 0:
            return f"killed by {signal.Signals(-code).name}"
        return self.last_words() or "without a word"

    def last_words(self) -> str:
        """The last line that it wrote to stderr."""
        lines = _content(self._errors).decode(errors="replace").strip().splitlines()
        return lines[-1].removeprefix("pacelab: ") if lines else ""


def documents(text: bytes) -> list[dict[str, Any]]:
    """The JSON objects in its whole lines."""
    found = []
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            one = json.loads(line)
            if isinstance(one, dict):
                found.append(one)
    return found


def last_document(text: bytes) -> dict[str, Any]:
    """The last of them; empty when there is none."""
    return documents(text)[-1] if documents(text) else {}


def _scratch() -> IO[bytes]:
    """A file in memory: a full disk is no reason that a run fails."""
    return os.fdopen(os.memfd_create("pacelab"), "w+b")


def _content(file: IO[bytes]) -> bytes:
    """Without moving the place where the child writes next, which it shares with us."""
    found = bytearray()
    while part := os.pread(file.fileno(), 1 << 20, len(found)):
        found += part
    return bytes(found)
