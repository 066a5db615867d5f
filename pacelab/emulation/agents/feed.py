"""Pipes from an agent to processes beside it: they never block, and drop what finds no room. And the one that shows it.

The display is a process of its own: it reads the agent's documents from stdin, one JSON object a line, until it ends.
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

from pacelab.documents import JsonObject
from pacelab.emulation.processes import Fork

if TYPE_CHECKING:
    from pacelab_pacer.linux.status import Line

_PATIENCE_S = 3.0


class LinePipe:
    """Documents into a process's stdin, one JSON object a line."""

    def __init__(self, pipe: int) -> None:
        """`pipe`: the end to write to."""
        self._pipe = pipe
        os.set_blocking(self._pipe, False)
        self._rest = b""

    def send(self, document: Mapping[str, Any], *, patience_s: float = 0.0) -> None:
        """Send a document, or drop it while an earlier one is still under way."""
        if self._drain(patience_s):
            self._rest = json.dumps(document, separators=(",", ":")).encode() + b"\n"
            self._drain(patience_s)

    def _drain(self, patience_s: float) -> bool:
        """Write what is left; whether nothing is."""
        end_s = time.monotonic() + patience_s
        while self._rest:
            try:
                self._rest = self._rest[os.write(self._pipe, self._rest) :]
            except BlockingIOError:
                if not select.select([], [self._pipe], [], max(0.0, end_s - time.monotonic()))[1]:
                    return False
            except OSError:
                self._rest = b""  # nobody reads any more
        return True


class Feed:
    """Starts the display and sends it documents.

    A terminal that was stopped, or a reader that has gone, must not hold up packets: so the display is a process of its
    own, and the agent's end of the pipe does not block.
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
        """Show a document, or drop it while an earlier one is still under way; the last one is waited for a while."""
        self._pipe.send(document, patience_s=_PATIENCE_S if document["event"] == "end" else 0.0)

    def close(self) -> None:
        """Wait for the display to finish."""
        os.close(self._ours)
        try:
            self._child.wait(_PATIENCE_S)
        except TimeoutExpired:
            self._child.kill()
            self._child.wait()


# The display's side.


def documents() -> Iterator[Line]:
    """What the agent says."""
    for line in sys.stdin:
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def run(mode: str, metrics: socket.socket | None, token: str) -> int:
    """Run until the agent ends; the exit code. `mode`, `metrics`, `token`: see `Feed`."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # told to the whole group, as by systemd; the agent's end ends us
    latest: JsonObject = {}
    if metrics is not None:
        from pacelab.emulation.agents.views import serve

        serve(metrics, token, latest)
    try:
        for document in _shown(mode):
            if document["event"] != "released":
                latest.clear()
                latest.update(document)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
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
