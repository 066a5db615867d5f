"""Non-blocking pipes from an agent to its helper processes, and the process that displays an agent's status.

A pipe drops a document if the previous one is still being written. The display process reads the agent's documents from
stdin, one JSON object per line, until the agent ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING, Any

from pacelab.console import log
from pacelab.documents import JsonObject
from pacelab.emulation.processes import Fork

if TYPE_CHECKING:
    from pacelab_pacer.linux.status import Line

_TIMEOUT_S = 3.0


class LinePipe:
    """Writes documents to a process's stdin, one JSON object per line."""

    def __init__(self, pipe: int) -> None:
        """`pipe`: the write end of the pipe."""
        self._pipe = pipe
        os.set_blocking(self._pipe, False)
        self._rest = b""

    def send(self, document: Mapping[str, Any], *, timeout_s: float = 0.0) -> None:
        """Send a document, or drop it if the previous document is still being written."""
        if self._drain(timeout_s):
            self._rest = json.dumps(document, separators=(",", ":")).encode() + b"\n"
            self._drain(timeout_s)

    def _drain(self, timeout_s: float) -> bool:
        """Write the remaining bytes. Return whether all bytes are written."""
        end_s = time.monotonic() + timeout_s
        while self._rest:
            try:
                self._rest = self._rest[os.write(self._pipe, self._rest) :]
            except BlockingIOError:
                if not select.select([], [self._pipe], [], max(0.0, end_s - time.monotonic()))[1]:
                    return False
            except OSError:
                self._rest = b""  # the reader is gone
        return True


class Feed:
    """Starts the display process and sends documents to it.

    A stopped terminal or a closed reader must not delay packets. So the display is a separate process, and the agent's
    end of the pipe does not block.
    """

    def __init__(self, *, mode: str, metrics: socket.socket | None = None, token: str = "") -> None:
        """`mode`: json, table or none. `metrics`: a listening socket for Prometheus, or None."""
        theirs, self._ours = os.pipe()
        self._child = Fork(
            lambda: run(mode, metrics, token),
            name="display",
            files=(theirs, 1, 2),
            keep=() if metrics is None else (metrics.fileno(),),
            session=False,
        )
        os.close(theirs)
        self._pipe = LinePipe(self._ours)

    def send(self, document: Line) -> None:
        """Show a document, or drop it if the previous one is still being written. Wait briefly until the last one is
        written.
        """
        self._pipe.send(document, timeout_s=_TIMEOUT_S if document["event"] == "end" else 0.0)

    def close(self) -> None:
        """Wait for the display to finish."""
        os.close(self._ours)
        try:
            self._child.wait(_TIMEOUT_S)
        except TimeoutExpired:
            self._child.kill()
            self._child.wait()


# The display process.


def documents() -> Iterator[Line]:
    """The agent's documents."""
    for line in sys.stdin:
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def run(mode: str, metrics: socket.socket | None, token: str) -> int:
    """Run until the agent ends; return the exit code. `Feed` describes `mode`, `metrics` and `token`."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # systemd signals the whole group; this process ends when the agent does
    latest: JsonObject = {}
    if metrics is not None:
        from pacelab.emulation.agents.views import serve

        serve(metrics, token, latest)

    def keep(document: Line) -> None:
        if document["event"] != "released":
            latest.clear()
            latest.update(document)

    try:
        for document in _shown(mode):
            keep(document)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if not isinstance(error, BrokenPipeError):
            log(f"no more status on stdout: {error.strerror}; the agent continues")
        for document in documents():
            keep(document)
    return 0


def _shown(mode: str) -> Iterator[Line]:
    if mode == "json":
        for document in documents():
            print(json.dumps(document), flush=True)
            yield document
    elif mode == "table":
        from pacelab.emulation.agents.views import show

        yield from show(documents())
    else:
        yield from documents()
