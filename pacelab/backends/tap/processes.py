"""The child processes of a run: started in a host's namespace, watched, ended."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import pacelab
from pacelab.backends.tap.namespaces import command_in
from pacelab.errors import HostError

READY_S = 20.0
END_S = 5.0
SAFE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


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
    """One process. What it says on stderr is kept, for the message when it fails."""

    def __init__(self, name: str, command: Sequence[str], *, netns: str | None = None, stdin: bytes = b"") -> None:
        self.name = name
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (as long-lived as the child)
        line = command_in(netns, command) if netns else list(command)
        try:
            self.process = subprocess.Popen(
                line,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=environment(),
                start_new_session=True,  # a Ctrl-C at the shell is not for the air
            )
        except OSError as error:
            raise HostError(f"starting {name}: {line[0]}: {error.strerror}") from None
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(stdin)
            self.process.stdin.close()
        self.process.stdin = None  # communicate() would flush it

    def wait_ready(self) -> dict[str, Any]:
        """The one line that it prints when it is up."""
        line = self.read_line(READY_S)
        try:
            found: dict[str, Any] = json.loads(line)
        except ValueError:
            raise HostError(f"{self.name}: {self.last_words() or 'it did not start'}") from None
        return found

    def read_line(self, timeout_s: float) -> bytes:
        """The next line of stdout, without buffering; what there is when it ends or time is up."""
        assert self.process.stdout is not None
        fd, line, until = self.process.stdout.fileno(), b"", time.monotonic() + timeout_s
        while not line.endswith(b"\n") and select.select([fd], [], [], max(0.0, until - time.monotonic()))[0]:
            byte = os.read(fd, 1)
            if not byte:
                break
            line += byte
        return line

    def alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def end(self, number: int = signal.SIGTERM, timeout_s: float = END_S) -> bytes:
        """Signal it, if it still runs, and return the rest of its stdout. What does not end is killed."""
        if self.alive():
            self.process.send_signal(number)
        return self.finish(timeout_s)

    def finish(self, timeout_s: float = END_S) -> bytes:
        """The rest of its stdout once it has ended by itself; killed when it does not in time."""
        try:
            return self.process.communicate(timeout=timeout_s)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.communicate()[0]

    def last_words(self) -> str:
        """The last line that it wrote to stderr."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""
