"""Starts a student's processes by fork, so that Python and our modules are loaded once for each hand-in (a zygote).

1. The server never runs a student's code. A forked process gives up all rights and then loads the file.
2. It never sees what a check asks or gets: a forked process and the grader talk over pipes that nobody else holds.
3. What a forked process changes, it changes in its own copy of the memory. It keeps no descriptor of the server's.

Messages on the socket, JSON, one answer each
    start    ["start", file, user or null, count]   with three descriptors: requests, answers, output. The forked
                                                    process answers "forked", so that the kernel tells the grader its
                                                    number, and then waits for one byte on its pipe for requests
    wait     ["wait", number, seconds]              the wait status of the process that was started as this number,
                                                    from 0 on; null if it still runs after that time

Arguments: descriptor of the socket, the folder of the files, limits as JSON (see `box.Limits`), paths to read and to
list as JSON, and "namespaces" if each process gets its own.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import json
import linecache
import os
import signal
import socket
import sys
import time
import traceback
from importlib import import_module
from typing import Any

from pacelab_grading.inside import worker

READY, FORKED = b"ready", b"forked"
MESSAGE_BYTES = 4096
USED = (ast, linecache, traceback)
"""Modules that a process needs after its fork."""
COMMON = ("bisect", "copy", "dataclasses", "functools", "heapq", "math", "operator", "statistics", "typing")
"""Modules that students often import."""


def main() -> None:
    """Serve until the grader closes the socket."""
    control, folder, limits, readable, mode = sys.argv[1:]
    for name in COMMON:
        import_module(name)
    for stream in (sys.stdout, sys.stderr):  # so that the last output is shown, however a process ends
        stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
    worker.make_random_reproducible()
    gc.freeze()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    _die_with_parent()
    server = _Server(int(control), folder, json.loads(limits), json.loads(readable), isolated=mode == "namespaces")
    with contextlib.suppress(OSError):  # the grader has ended
        server.serve()
    os._exit(0)


def _die_with_parent() -> None:
    if (guards := worker.guards_module()) is not None:
        guards.die_with_parent()


class _Server:
    def __init__(
        self, control: int, folder: str, limits: dict[str, int], readable: list[list[str]], *, isolated: bool
    ) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, fileno=control)
        self._folder = folder
        self._limits = limits
        guards = worker.guards_module()
        self._file_rules = None if guards is None else guards.file_rules(*readable)
        self._spaces = None
        if isolated:
            from pacelab_grading.inside import namespaces  # needs ctypes

            self._spaces, self._enter = namespaces.PidNamespaces(), namespaces.enter
            _die_with_parent()  # with the process before
        self._started: list[int] = []
        """Process numbers, in the order of the starts."""

    def serve(self) -> None:
        """Answer messages."""
        self._socket.send(READY)
        while True:
            message, descriptors, _, _ = socket.recv_fds(self._socket, MESSAGE_BYTES, 3)
            if not message:
                return
            operation, *arguments = json.loads(message)
            if operation == "start":
                self._start(*arguments, *descriptors)
                for descriptor in descriptors:
                    os.close(descriptor)
            else:
                self._socket.send(json.dumps(self._wait(*arguments)).encode())

    def _start(self, file: str, user: int | None, count: bool, requests: int, answers: int, output: int) -> None:
        try:
            if self._spaces is not None:
                self._spaces.prepare()
            pid = os.fork()
        except OSError as error:
            self._socket.send(f"no process can be forked: {error}".encode())
            return
        if pid == 0:
            try:
                self._become(file, user, count, requests, answers, output)
            finally:
                os._exit(1)
        if self._spaces is not None:
            self._spaces.reset()
        self._started.append(pid)

    def _become(self, file: str, user: int | None, count: bool, requests: int, answers: int, output: int) -> None:
        """Run as a student's process."""
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        os.setsid()
        try:
            if self._spaces is not None:
                self._enter()
        except OSError as error:
            self._socket.send(f"no namespaces can be made: {error}".encode())
            os._exit(1)
        self._socket.send(FORKED)
        self._socket.detach()
        os.dup2(output, 1)
        os.dup2(output, 2)
        first = 3
        for kept in sorted({requests, answers, *(() if self._file_rules is None else (self._file_rules,))}):
            os.closerange(first, kept)
            first = kept + 1
        os.closerange(first, os.sysconf("SC_OPEN_MAX"))
        if os.read(requests, 1):  # the grader has put this process into its control group
            worker.serve(
                f"{self._folder}/{file}",
                requests,
                answers,
                limits=self._limits,
                user=user,
                file_rules=self._file_rules,
                count_steps=count,
            )

    def _wait(self, number: int, seconds: float) -> Any:
        until = time.monotonic() + seconds
        while True:
            try:
                pid, status = os.waitpid(self._started[number], os.WNOHANG)
            except ChildProcessError:  # its status was asked for before
                return None
            left_s = until - time.monotonic()
            if pid:
                return status
            if left_s <= 0:
                return None
            signal.sigtimedwait({signal.SIGCHLD}, left_s)
