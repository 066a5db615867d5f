"""Shows one agent, in a process of its own: reads its documents from stdin, one JSON object a line, until it ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pacelab.pacer.linux.status import Line


def documents() -> Iterator[Line]:
    """What the agent says."""
    for line in sys.stdin:
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def run(mode: str, metrics: socket.socket | None, token: str) -> int:
    """Run until the agent ends; the exit code. `mode`, `metrics`, `token`: see `Feed`."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # told to the whole group, as by systemd; the agent's end ends us
    latest: dict[str, Any] = {}
    if metrics is not None:
        from pacelab.hosts.agents.metrics import serve

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
        from pacelab.hosts.agents.live_view import show

        yield from show(documents())
    else:
        yield from documents()
