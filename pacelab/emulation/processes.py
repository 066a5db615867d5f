"""The child processes of a run, programs and forks of this process: started in a host's namespace, watched, ended."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from subprocess import TimeoutExpired
from typing import IO, NoReturn, TextIO, cast

from pacelab.console import log
from pacelab.documents import JsonObject
from pacelab.emulation.namespaces import command_in, enter
from pacelab.errors import HostError, PaceLabError
from pacelab.packages import import_path

READY_S = 60.0
"""An agent starts within 1 s. Under software emulation on a busy machine it took 25 s."""
END_S = 5.0
SAFE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LOOK_S = 0.01


OWNER = "PACELAB_OWNER"
"""Environment variable of all processes of a run. It names the process that started the run, for `pacelab cleanup`."""


def python(module: str, *arguments: str) -> list[str]:
    """The command line of one of our modules, loaded from the same place as this one in any working folder."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """The environment of a run's child processes, without variables that change their behaviour."""
    owner = {OWNER: os.environ[OWNER]} if OWNER in os.environ else {}
    return owner | {
        "PATH": SAFE_PATH,
        "PYTHONPATH": import_path(),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LC_ALL": "C.UTF-8",
    }


class Child:
    """One process. Its output goes to files in memory, so it never blocks until we read."""

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
        """`command`: a command line, or the `main` of one of our modules. `variables`: added to the environment.

        `at_terminal`: the process reads and writes at the terminal and receives Ctrl-C.
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
                start_new_session=not at_terminal,  # Ctrl-C at the shell must not stop the air
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

    def wait_ready(self) -> JsonObject:
        """The one line that the process prints when it is ready."""
        until = time.monotonic() + READY_S
        while b"\n" not in (text := self.output()) and self.alive() and time.monotonic() < until:
            time.sleep(_LOOK_S)
        try:
            found: JsonObject = json.loads(text.splitlines()[0])
        except (IndexError, ValueError):
            raise HostError(f"starting {self.name}: {self.last_words() or 'it printed no message'}") from None
        return found

    def alive(self) -> bool:
        """Whether the process is running."""
        return self.process.poll() is None

    def stopped(self) -> bool:
        """Whether a signal or a debugger has stopped the process."""
        try:
            state = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False  # the process has ended
        return state in ("T", "t")

    def end(self, number: int = signal.SIGTERM, timeout_s: float = END_S) -> bytes:
        """Send a signal to the process if it is running; return its whole output. Kill the process if it
        does not end.
        """
        if self.alive():
            self.process.send_signal(number)
        return self.finish(timeout_s)

    def finish(self, timeout_s: float = END_S) -> bytes:
        """The whole output of a process that ends by itself. Kill the process if it does not end in time."""
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return self.output()

    def output(self) -> bytes:
        """The output so far."""
        return _content(self._output)

    def how_it_ended(self) -> str:
        """The signal that killed the process, or else its last line, for messages about a process that
        ended too early.
        """
        code = self.process.poll()
        if code is not None and code < 0:
            return f"killed by {signal.Signals(-code).name}"
        return self.last_words() or "it printed no message"

    def last_words(self) -> str:
        """The last line that the process wrote to stderr."""
        lines = _content(self._errors).decode(errors="replace").strip().splitlines()
        return lines[-1].removeprefix("pacelab: ") if lines else ""


def documents(text: bytes) -> list[JsonObject]:
    """The JSON objects in the complete lines of the output."""
    found = []
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            one = json.loads(line)
            if isinstance(one, dict):
                found.append(one)
    return found


def last_document(text: bytes) -> JsonObject:
    """The last JSON object of the output; empty if there is none."""
    return documents(text)[-1] if documents(text) else {}


def _scratch() -> IO[bytes]:
    """A file in memory, so that a full disk does not break a run."""
    return os.fdopen(os.memfd_create("pacelab"), "w+b")


def _content(file: IO[bytes]) -> bytes:
    """Read a file from its start without moving its offset: the child shares the offset and continues to
    write there.
    """
    found = bytearray()
    while part := os.pread(file.fileno(), 1 << 20, len(found)):
        found += part
    return bytes(found)


# Forks of this process that run one of our modules: modules that both import are loaded only once.
#
# A new interpreter takes 0.2 s of processor time, 1 s under User-Mode Linux, and a run may have a hundred agents.

_NAME_BYTES = 15
"""The kernel stores this many bytes of a process's name."""


class Fork:
    """The part of subprocess.Popen that `Child` uses, for a fork.

    Invariants
    1. The fork has only those of our descriptors that it is given, and none of our signal handlers.
    2. The fork never returns into our code: it exits when its `main` returns, and runs none of our clean-up code.
    """

    stdin = None

    def __init__(
        self,
        main: Callable[[], int],
        *,
        name: str,
        files: tuple[IO[bytes] | int, IO[bytes] | int, IO[bytes] | int] = (0, 1, 2),
        keep: tuple[int, ...] = (),
        variables: Mapping[str, str] | None = None,
        session: bool = True,
        enter: Callable[[], None] = lambda: None,
    ) -> None:
        """Run `main` in the fork. Its return value is the exit code. Raises OSError if the system has no room for a
        process.

        `name`: the process's name for `ps`. `files`: its stdin, stdout and stderr. `keep`: other descriptors that it
        keeps. `variables`: its environment (None: ours). `session`: start a new session. `enter`: called before `main`.
        """
        self.args = [name]
        self.returncode: int | None = None
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # None: the stream was closed when we started
                stream.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _run_fork(main, name, files, keep, variables, session, enter)

    def poll(self) -> int | None:
        """The exit code, or None while the process runs; a negative signal number if a signal ended it."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the process has ended. Raises TimeoutExpired if it has not."""
        if self.returncode is None:
            descriptor = os.pidfd_open(self.pid)
            try:
                ended = select.select([descriptor], [], [], timeout)[0]
            finally:
                os.close(descriptor)
            if not ended:
                raise TimeoutExpired(self.args, timeout or 0.0)
            self.poll()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal if the process is running."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


def _run_fork(
    main: Callable[[], int],
    name: str,
    files: tuple[IO[bytes] | int, ...],
    keep: tuple[int, ...],
    variables: Mapping[str, str] | None,
    session: bool,
    enter: Callable[[], None],
) -> NoReturn:
    code = 1
    try:
        gc.freeze()  # never collect the parent's objects: their finalizers would close descriptors that are now ours
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        if session:
            os.setsid()
        Path("/proc/self/comm").write_text(name[:_NAME_BYTES])
        for place, file in enumerate(files):
            os.dup2(file if isinstance(file, int) else file.fileno(), place)
        _close_all_but(keep)
        if variables is not None:
            os.environ.clear()
            os.environ.update(variables)
        sys.stdin, sys.stdout, sys.stderr = _stream(0, "r"), _stream(1, "w"), _stream(2, "w")
        enter()
        code = main()
    except PaceLabError as error:
        log(" ".join(str(error).split()))
        code = error.exit_code
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _stream(number: int, mode: str) -> TextIO:
    """A stream that does not close its descriptor when it is deleted: forks of this fork use the descriptor."""
    return cast("TextIO", os.fdopen(number, mode, 1 if number == 2 else -1, closefd=False))


def _close_all_but(keep: tuple[int, ...]) -> None:
    first = 3
    for number in sorted(keep):
        os.closerange(first, number)
        first = number + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))
