"""Talks to one sandboxed process, within limits, and says whose fault it is when that fails (see `failures`).

Wall-clock time is no evidence, because machines and their load differ. The processor time that the process itself used
is evidence: waiting for a processor does not count. A call that used more than `CALL_CPU_S` of it, or a process that
used more than `TOTAL_CPU_S`, is only suspect: `NeedsCount` asks for the check to be repeated. 50 million steps take at
least a fifth of a second in any known Python, so an endless call is suspect on every machine. The second attempt gives
a verdict. It counts steps, and has a limit of processor time, which the judge sets to a multiple of what the model
solution used for the check. A call that ends within these limits gets its result on every machine, only later. A
process counts as idle by its state in the kernel, sampled, so that a busy machine is not mistaken for a sleeping
process.

No pipe ever blocks the grader: the other side may make a pipe small, empty it itself or not read from it at all.
Whatever waits for a pipe, to read or to write, waits under the same watch.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
from collections.abc import Callable, Mapping
from typing import Any

from pacelab_grading.inside import wire
from pacelab_grading.sandbox.box import Box
from pacelab_grading.sandbox.failures import (
    IMPORTING,
    CpuLimit,
    Ended,
    GraderError,
    IdleTimeout,
    Malformed,
    NeedsCount,
    NotGraded,
    OutputLimit,
    Raised,
    StepLimit,
    StudentFailure,
)
from pacelab_grading.sandbox.fork_server import Started
from pacelab_grading.sandbox.watch import SAMPLE_S, ProcessWatch
from pacelab_grading.text.answers import InvalidAnswer, checked_answer
from pacelab_grading.text.printable import printable

Parts = Mapping[str, tuple[str, ...] | None]
"""Names that are lent: a class with its methods, a function with None."""
Answerer = Callable[[Any, str], list[Any]]
"""Answers a question about a lent part; see `reference.Lender.answer`."""

CALL_CPU_S = 0.2
"""A call of a model solution takes 20 us."""
LOAD_CPU_S = 1.0
TOTAL_CPU_S = 20.0
"""For all calls of one process together. The busiest process of a model solution takes 1 s."""
COUNTING_SLOWS = 3.0
"""Counting steps makes code so much slower. In a second attempt, all calls together may use so many times the limit."""
IDLE_S = 3.0
IDLE_AGAIN_S = 0.5
"""If a process of the same submission was idle before."""
WALL_S = 900.0
"""For one answer. Reached only on a machine that gives the process almost no processor time."""
MAX_ASKS = 20_000
"""Questions to the reference in one call. A correct solution asks some hundred at most, for a schedule."""
CHECK_EVERY = 256
"""Requests between two checks of the processor time of a process that answers in time."""
KEPT_OUTPUT_BYTES = 4096
START_S = 30.0
END_S = 5.0
"""For a process that closed its pipe to end."""


class Session:
    """One process with one file of a student. Call `request`; close it when done.

    `cpu_limit_s` is the limit of processor time for a call in a second attempt, in which steps are counted. None is the
    first attempt.
    """

    def __init__(
        self,
        box: Box,
        file: str,
        *,
        number: int,
        cpu_limit_s: float | None = None,
        time_factor: float = 1.0,
        idle_s: float = IDLE_S,
    ) -> None:
        self._limits = box.limits
        self._idle_s = idle_s
        self._cpu_limit_s = cpu_limit_s
        self._time_factor = time_factor
        self._started: Started | None = box.start(file, number=number, count_steps=cpu_limit_s is not None)
        for descriptor in (self._started.requests, self._started.answers, self._started.output):
            os.set_blocking(descriptor, False)
        self._buffer = bytearray()
        self._printed = bytearray()
        self._printed_bytes = 0
        self.failure: StudentFailure | None = None
        """What ended the session."""
        self.requests = 0
        self.cpu_s = 0.0
        """Processor time of the process, once it is closed."""
        self._answerer: Answerer | None = None
        try:
            hello = self._answer(wire.HELLO, "starting Python", START_S, start=True)
        except StudentFailure as failure:
            self.close()
            raise GraderError(f"the sandbox did not start: {failure}; printed: {self.printed[-500:]!r}") from None
        if hello[0] != wire.VERSION:
            raise GraderError(
                f"the sandbox uses version {hello[0]} of the protocol, not {wire.VERSION}; install PaceLab again"
            )
        self.guards: tuple[str, ...] = tuple(hello[1])

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def printed(self) -> str:
        """The start of what the code printed, with control characters made visible."""
        return printable(self._printed.decode("utf-8", "replace"), KEPT_OUTPUT_BYTES, lines=True)

    def request(self, operation: str, *arguments: Any, doing: str = "") -> Any:
        """Ask and wait for the answer. `doing` names the call in messages.

        Raises a StudentFailure. After a failure that ends the process, every further request raises it again.
        """
        if self.failure is not None:
            raise self.failure
        assert self._started is not None
        nonce = secrets.token_hex(8)
        self.requests += 1
        try:
            if self.requests % CHECK_EVERY == 0:
                self._check_total(ProcessWatch(self._pid()), doing or operation)
            frame = wire.encode([nonce, operation, *arguments], wire.MAX_REQUEST_BYTES)
            cpu_s = LOAD_CPU_S if operation == "load" else CALL_CPU_S
            self._send(frame, doing or operation, cpu_s)
            return self._answer(nonce, doing or operation, cpu_s)
        except Raised:
            raise
        except StudentFailure as failure:
            self.failure = failure
            self.close()
            raise

    def lend(self, parts: Parts, answerer: Answerer) -> None:
        """Replace these parts of the module by the reference's; `answerer` answers what the code asks of them."""
        self._answerer = answerer
        self.request("borrow", parts, doing=IMPORTING)

    def close(self) -> None:
        """End the process."""
        if self._started is not None:
            self._drain_output()
            self.cpu_s = ProcessWatch(self._pid()).total_cpu_s()
            self._started.stop()
            self._started = None

    def _send(self, frame: bytes, doing: str, cpu_s: float) -> None:
        assert self._started is not None
        if self._has_unread(doing):
            raise Malformed(f"{doing}: an answer arrived before the question: the code writes to the grader's pipe")
        rest = memoryview(frame)
        watch: ProcessWatch | None = None
        while rest:
            try:
                rest = rest[os.write(self._started.requests, rest) :]
                continue
            except BlockingIOError:
                pass
            except BrokenPipeError:
                raise self._ended(doing) from None
            printed = self._wait_to_write(doing)
            watch = watch or ProcessWatch(self._pid())
            self._check_limits(watch, doing, cpu_s, silent=not printed)

    def _wait_to_write(self, doing: str) -> bool:
        """Wait a moment; returns whether the code printed meanwhile. An answer would be too early."""
        assert self._started is not None
        poll = select.poll()
        poll.register(self._started.requests, select.POLLOUT)
        poll.register(self._started.output, select.POLLIN)
        poll.register(self._started.answers, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll(SAMPLE_S * 1000)}
        if self._started.answers in ready:
            if _read(self._started.answers) == b"":
                raise self._ended(doing)
            raise Malformed(
                f"{doing}: an answer came before the question was read: the code writes to the grader's pipe"
            )
        if self._started.output in ready:
            self._read_output(doing)
        return bool(ready)

    def _has_unread(self, doing: str) -> bool:
        """Whether the code sent bytes that nobody asked for. A pipe whose other end is gone is readable, but empty."""
        assert self._started is not None
        if self._buffer:
            return True
        if not _ready([self._started.answers], 0.0):
            return False
        if _read(self._started.answers) == b"":
            raise self._ended(doing)
        return True

    def _answer(self, nonce: str, doing: str, cpu_s: float, *, start: bool = False) -> Any:
        outcome, value = self._message(nonce, doing, cpu_s, start=start)
        watch: ProcessWatch | None = None
        asks = 0
        while outcome == "asks" and self._answerer is not None:
            asks += 1
            if asks > MAX_ASKS:
                raise OutputLimit(f"{doing} asked the reference {MAX_ASKS:,} times without returning: an endless loop?")
            watch = watch or ProcessWatch(self._pid())
            self._check_limits(watch, doing, cpu_s, silent=False)
            self._send(wire.encode(self._answerer(value, doing), wire.MAX_REQUEST_BYTES), doing, cpu_s)
            outcome, value = self._message(nonce, doing, cpu_s)
        if outcome == "ok":
            try:
                return checked_answer(value)
            except InvalidAnswer as error:
                raise Malformed(f"{doing}: the answer contains {error}") from None
        if outcome == "steps":
            raise StepLimit(
                f"{doing} made {self._limits.steps_per_call:,} steps without returning "
                f"(in {printable(str(value), 100)}): an endless loop?"
            )
        if outcome == "raised" and isinstance(value, dict) and value.keys() == {"type", "kinds", "text", "where"}:
            told = {key: printable(str(item), 600) for key, item in value.items()}
            if told["type"] == "MemoryError":
                raise OutputLimit(f"{doing} needed more than {self._limits.memory_bytes >> 20} MiB of memory")
            raise Raised(told, doing)
        raise Malformed(f"{doing}: the sandbox sent a message of an unknown type")

    def _message(self, nonce: str, doing: str, cpu_s: float, *, start: bool = False) -> tuple[Any, Any]:
        """The outcome and the value of the next message."""
        body = self._receive(doing, cpu_s, start=start)
        try:
            answer = wire.decode(body)
        except wire.MalformedError as error:
            raise Malformed(f"{doing}: the code sent {error}") from None
        if not (isinstance(answer, list) and len(answer) == 3 and answer[0] == nonce):
            raise Malformed(f"{doing}: an answer that was not asked for: the code writes to the grader's pipe")
        return answer[1], answer[2]

    def _receive(self, doing: str, cpu_s: float, *, start: bool) -> bytes:
        """The body of the next frame, under watch."""
        watch: ProcessWatch | None = None
        while (body := self._frame(doing)) is None:
            assert self._started is not None
            ready = _ready([self._started.answers, self._started.output], SAMPLE_S)
            if self._started.output in ready:
                self._read_output(doing)
            if self._started.answers in ready:
                part = _read(self._started.answers)
                if part == b"":
                    raise self._ended(doing)
                self._buffer += part or b""
                if (body := self._frame(doing)) is not None:
                    return body  # an answer that arrives in drips stays under watch, like one that does not arrive
            if start:
                watch = watch or ProcessWatch(None)
                if watch.wall_s() > START_S * self._time_factor:
                    raise NotGraded(f"{doing} took {START_S * self._time_factor:g} s")
            else:
                watch = watch or ProcessWatch(self._pid())
                self._check_limits(watch, doing, cpu_s, silent=not ready)
        return body

    def _frame(self, doing: str) -> bytes | None:
        if len(self._buffer) < wire.HEADER_BYTES:
            return None
        try:
            length = wire.body_bytes(bytes(self._buffer[: wire.HEADER_BYTES]), wire.MAX_ANSWER_BYTES)
        except wire.MalformedError as error:
            raise Malformed(f"{doing}: {error}") from None
        end = wire.HEADER_BYTES + length
        if len(self._buffer) < end:
            return None
        body = bytes(self._buffer[wire.HEADER_BYTES : end])
        del self._buffer[:end]
        return body

    def _check_limits(self, watch: ProcessWatch, doing: str, cpu_s: float, *, silent: bool) -> None:
        """The answer is late: find out why. A process that prints sleeps while the pipe is full; that is not idling."""
        if silent:
            watch.sample()
        factor = self._time_factor
        if self._cpu_limit_s is not None:
            if watch.cpu_s() > self._cpu_limit_s * factor:
                raise StepLimit(
                    f"{doing} computed for {self._cpu_limit_s * factor:.3g} s of processor time without returning: "
                    "an endless loop, or numbers that grow without bound?"
                )
        elif watch.cpu_s() > cpu_s * factor:
            raise NeedsCount(f"{doing} computed {watch.cpu_s():.2f} s")
        self._check_total(watch, doing)
        if watch.asleep_s > self._idle_s:
            raise IdleTimeout(f"{doing} waits (sleep, input, a lock) instead of returning")
        if watch.wall_s() > WALL_S * factor:
            raise NotGraded(f"{doing} took {WALL_S * factor:g} s on a busy machine: not graded, rerun")

    def _check_total(self, watch: ProcessWatch, doing: str) -> None:
        limit_s = TOTAL_CPU_S if self._cpu_limit_s is None else COUNTING_SLOWS * self._cpu_limit_s
        limit_s *= self._time_factor
        if watch.total_cpu_s() - watch.cpu_s() <= limit_s:
            return
        if self._cpu_limit_s is None:
            raise NeedsCount(f"{doing}: all calls before it computed {limit_s:g} s")
        raise CpuLimit(
            f"{doing}: all calls before it used {limit_s:.3g} s of processor time: far more work than is needed"
        )

    def _read_output(self, doing: str) -> None:
        assert self._started is not None
        part = _read(self._started.output) or b""
        self._printed_bytes += len(part)
        if len(self._printed) < KEPT_OUTPUT_BYTES:
            self._printed += part[: KEPT_OUTPUT_BYTES - len(self._printed)]
        if self._printed_bytes > self._limits.output_bytes:
            raise OutputLimit(f"{doing}: more than {self._limits.output_bytes >> 20} MiB were printed")

    def _drain_output(self) -> None:
        with contextlib.suppress(OSError, StudentFailure):
            while self._started is not None and _ready([self._started.output], 0.0):
                before = self._printed_bytes
                self._read_output("at the end")
                if self._printed_bytes == before:
                    break

    def _ended(self, doing: str) -> StudentFailure:
        self._drain_output()
        assert self._started is not None
        code = self._started.wait(END_S)
        if code is None:
            return Ended(f"{doing}: the code closed the grader's pipe")
        if code == -signal.SIGKILL:
            return OutputLimit(f"{doing}: the process was killed: it used more memory or time than permitted")
        shown = f"signal {-code}" if code < 0 else f"code {code}"
        return Ended(f"{doing}: the process ended ({shown}) instead of answering")

    def _pid(self) -> int:
        """The process that runs the student's code."""
        assert self._started is not None
        return self._started.pid


class LocalSession:
    """The same without a process, a limit or a sandbox: for a student's own code on the student's own machine."""

    def __init__(self, box: Box, file: str) -> None:
        from pacelab_grading.inside.worker import Worker

        self._worker = Worker(str(box.folder / file), answers=-1, requests=-1)
        self.guards: tuple[str, ...] = ()
        self.printed = ""
        self.cpu_s = 0.0

    def request(self, operation: str, *arguments: Any, doing: str = "") -> Any:
        """Ask and get the answer. Raises Raised."""
        message = wire.decode(wire.encode(["", operation, *arguments], wire.MAX_REQUEST_BYTES)[wire.HEADER_BYTES :])
        _, outcome, value = wire.decode(self._worker.frame(message)[wire.HEADER_BYTES :])
        if outcome != "ok":
            raise Raised({key: printable(str(item), 600) for key, item in value.items()}, doing or operation)
        try:
            return checked_answer(value)
        except InvalidAnswer as error:
            raise Malformed(f"{doing or operation}: the answer contains {error}") from None

    def lend(self, parts: Parts, answerer: Answerer) -> None:
        """See `Session.lend`."""
        self._worker.ask = lambda question: answerer(question, "the code")
        self.request("borrow", parts)

    def close(self) -> None:
        """There is no process to end."""


def _read(descriptor: int) -> bytes | None:
    """What can be read now. Empty at the end; None if another reader was quicker: the code may have opened the pipe."""
    try:
        return os.read(descriptor, 1 << 16)
    except BlockingIOError:
        return None


def _ready(descriptors: list[int], timeout_s: float) -> list[int]:
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return [descriptor for descriptor, _ in poll.poll(timeout_s * 1000)]


AnySession = Session | LocalSession
