"""A process of one of our own modules, as a copy of this one: what both import is loaded once.

A new interpreter takes 0.2 s of a processor, 1 s under User-Mode Linux, and a run may have a hundred agents.

Invariants
1. The copy has none of our descriptors but those that it is given, and none of our signal handlers.
2. It never returns into our code: it ends where its `main` does, and nothing of ours is taken apart there.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import TimeoutExpired
from typing import IO, NoReturn, TextIO, cast

from pacelab.console import log
from pacelab.errors import PaceLabError

_NAME_BYTES = 15
"""The kernel keeps so much of a process's name."""


class Fork:
    """What a `Child` needs of subprocess.Popen, of a copy."""

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
        """Run `main` in the copy; what it returns is the exit code.

        OSError when there is no room for one more.

        `name`: of the process, for `ps`. `files`: what stdin, stdout and stderr are. `keep`: other descriptors that it
        has. `variables`: its environment (None: ours). `session`: one of its own. `enter`: called before `main`.
        """
        self.args = [name]
        self.returncode: int | None = None
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # it was closed when we began
                stream.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _be(main, name, files, keep, variables, session, enter)

    def poll(self) -> int | None:
        """The exit code, or None while it runs; minus the number of the signal that ended it."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Until it has ended; TimeoutExpired when it has not."""
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
        """If it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


def _be(
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
        gc.freeze()  # what is our parent's is not collected here: it would close descriptors that are ours by then
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
    """Whoever drops it does not close the descriptor: a copy of a copy does."""
    return cast("TextIO", os.fdopen(number, mode, 1 if number == 2 else -1, closefd=False))


def _close_all_but(keep: tuple[int, ...]) -> None:
    first = 3
    for number in sorted(keep):
        os.closerange(first, number)
        first = number + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))
