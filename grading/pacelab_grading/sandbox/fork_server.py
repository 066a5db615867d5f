"""The grader's side of the fork server in the sandbox: starts it, asks it for processes, ends it.

`inside.fork_server` describes the messages. Only the grader's code runs in the server, so its answers are trusted. A
forked process waits until it is in its control group before it loads the student's file.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pacelab_grading.inside.fork_server import FORKED, MESSAGE_BYTES, READY
from pacelab_grading.sandbox.cgroup import Cgroup
from pacelab_grading.sandbox.failures import GraderError
from pacelab_grading.text.printable import printable

START_S = 30.0
STOP_S = 10.0
GO = b"\0"
CREDENTIALS = struct.Struct("iii")
"""Process, user and group of who sent a message, as the kernel states them."""


@dataclass(slots=True, kw_only=True)
class Started:
    """A running process with its pipes: write requests, read answers and output."""

    server: ForkServer
    number: int
    """Of the process, among those that this server started."""
    pid: int
    requests: int
    answers: int
    output: int
    cgroup: Cgroup | None
    single: bool = False
    """The server was started for this process only."""

    def wait(self, seconds: float) -> int | None:
        """Exit code, or minus the number of the signal that ended the process; None if it runs after that time."""
        status = self.server.wait(self.number, seconds)
        return None if status is None else os.waitstatus_to_exitcode(status)

    def stop(self) -> None:
        """Kill it with everything that it started, and free its resources."""
        if self.server.is_alive():  # it has not been waited for, so that no other process can have its number
            with contextlib.suppress(OSError):
                os.kill(self.pid, signal.SIGKILL)
            with contextlib.suppress(GraderError):
                self.wait(STOP_S)
        for descriptor in (self.requests, self.answers, self.output):
            os.close(descriptor)
        if self.cgroup is not None:
            self.cgroup.remove()
        if self.single:
            self.server.close()


class ForkServer:
    """A sandbox with a process that forks a student's processes. Close it.

    `command` gets the descriptor of the socket in place of `SOCKET`. `cgroup` is the version of the control groups, or
    None. Raises GraderError if the server does not start.
    """

    SOCKET = "{socket}"

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], *, cgroup: str | None, memory_bytes: int
    ) -> None:
        self._cgroup = cgroup
        self._memory_bytes = memory_bytes
        self._count = 0
        self._ready = False
        self._group = self._made_group()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.settimeout(START_S)
        self._printed, printed = os.pipe()
        os.set_blocking(self._printed, False)
        try:
            self._process = subprocess.Popen(
                [part.replace(self.SOCKET, str(theirs.fileno())) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                pass_fds=(theirs.fileno(),),
                env=dict(environment),
                cwd="/",
                start_new_session=True,
            )
            if self._group is not None:
                self._group.add(self._process.pid)
        except OSError as error:
            self._free()
            raise GraderError(f"the sandbox cannot be started: {error.strerror or error}") from None
        finally:
            theirs.close()
            os.close(printed)
        try:
            self._expect(READY)
            self._ready = True
        except GraderError:
            self.close()
            raise

    def start(self, file: str, *, user: int | None, count_steps: bool) -> Started:
        """A process for this file."""
        to_child, requests = os.pipe()
        answers, from_child = os.pipe()
        output, printed = os.pipe()
        group = None
        try:
            message = json.dumps(["start", file, user, count_steps]).encode()
            self._send(message, (to_child, from_child, printed))
            pid = self._expect(FORKED)
            group = self._made_group()
            if group is not None:
                group.add(pid)
            os.write(requests, GO)
        except (OSError, GraderError) as error:
            for descriptor in (requests, answers, output):
                os.close(descriptor)
            if group is not None:
                group.remove()
            self.close()  # it is no longer clear what the next message would be
            raise GraderError(f"the sandbox cannot be started: {error}") from None
        finally:
            for descriptor in (to_child, from_child, printed):
                os.close(descriptor)
        number, self._count = self._count, self._count + 1
        return Started(
            server=self, number=number, pid=pid, requests=requests, answers=answers, output=output, cgroup=group
        )

    def wait(self, number: int, seconds: float) -> int | None:
        """The wait status of a process, or None if it still runs after that time or was waited for before."""
        self._send(json.dumps(["wait", number, seconds]).encode())
        status: int | None = json.loads(self._receive()[0])
        return status

    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self._socket.fileno() >= 0 and self._process.poll() is None

    def close(self) -> None:
        """End it and everything that it started."""
        if self._socket.fileno() < 0:
            return
        self._socket.close()
        try:
            self._process.wait(STOP_S)  # an end by itself counts the processor time of all its processes
        except subprocess.TimeoutExpired:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_S)
        self._free()

    def _made_group(self) -> Cgroup | None:
        return Cgroup.make(self._cgroup, self._memory_bytes) if self._cgroup else None

    def _free(self) -> None:
        self._socket.close()
        os.close(self._printed)
        if self._group is not None:
            self._group.remove()

    def _send(self, message: bytes, descriptors: Sequence[int] = ()) -> None:
        try:
            socket.send_fds(self._socket, [message], list(descriptors))
        except OSError as error:
            raise GraderError(self._dead(str(error))) from None

    def _expect(self, wanted: bytes) -> int:
        """The process that sent this message."""
        message, pid = self._receive()
        if message != wanted:
            raise GraderError(printable(message.decode("utf-8", "replace"), 500))
        return pid

    def _receive(self) -> tuple[bytes, int]:
        try:
            message, ancillary, _, _ = self._socket.recvmsg(MESSAGE_BYTES, socket.CMSG_SPACE(CREDENTIALS.size))
        except OSError as error:
            raise GraderError(self._dead(str(error))) from None
        if not message:
            raise GraderError(self._dead("it ended"))
        return message, _sender(ancillary)

    def _dead(self, why: str) -> str:
        with contextlib.suppress(OSError):
            why += f"; printed: {printable(os.read(self._printed, 1 << 12).decode('utf-8', 'replace')[-500:], 500)}"
        return f"the sandbox has ended: {why}" if self._ready else f"the sandbox did not start: {why}"


def _sender(ancillary: Sequence[tuple[int, int, Any]]) -> int:
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
            return int(CREDENTIALS.unpack(data[: CREDENTIALS.size])[0])
    raise GraderError("the kernel does not state who sent a message")
