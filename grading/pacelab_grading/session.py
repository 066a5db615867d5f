"""Talks to one sandboxed process, within limits, and says whose fault it is when that fails.

What ends a session, and what it means for the score
    Raised      the code raised an exception: the check fails, with the line of the student's file
    Ended       the process exited, was killed, or closed the pipe: the check fails
    Malformed   an answer that nobody asked for, or that is no answer: the check fails
    TooMuch     more output, memory or actions than allowed: the check fails
    Endless     a call made more steps (rounds of loops, calls) than `Limits.steps_per_call`: it fails
    Asleep      the process waited, without computing, instead of answering: the check fails
    NotGraded   a limit of time was reached and nothing of the above was proven: not graded, rerun

Time itself is no verdict, since machines differ. A call that used more than `CALL_CPU_S` of its process's own processor
time (waiting for the processor does not count) is only a suspect: `NeedsCount` asks for the check to be repeated with
steps counted. 50 million steps take no known Python less than a fifth of a second, so that what is endless here is
a suspect everywhere, and what is not endless gets its result here too, only later. A process counts as asleep by what
the kernel says of it, sampled, so that a busy machine is not taken for it.

No pipe ever blocks the grader: the other side may make it small, empty it behind our back or not read from it at all.
What waits for a pipe, to read or to write, waits under the same watch.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import time
from typing import TYPE_CHECKING, Any

from pacelab import PaceLabError
from pacelab_grading.inside import wire
from pacelab_grading.plain import Unfit, advice, checked, plain
from pacelab_grading.sandbox import Box, Started

if TYPE_CHECKING:
    from pacelab_grading.remote import Lender

SAMPLE_S = 0.1
CALL_CPU_S = 0.2
"""A call of a model solution takes 20 us."""
LOAD_CPU_S = 1.0
TOTAL_CPU_S = 20.0
"""For all calls of one process together; the model solutions' busiest takes 1 s."""
COUNTED_CPU_S = 20.0
"""With steps counted; 50 million take 4 s."""
ASLEEP_S = 3.0
ASLEEP_AGAIN_S = 0.5
"""Where the same submission was caught asleep before."""
WALL_S = 60.0
"""For one answer."""
MAX_ASKS = 20_000
"""Questions to the reference in one call. The busiest of a right solution, a schedule, has some hundred."""
CHECK_EVERY = 256
"""Requests between two looks at the processor time of a process that answers in time."""
KEPT_OUTPUT_BYTES = 4096
START_S = 30.0
IMPORTING = "importing your file"
"""What is being done, when it is no call."""


class StudentFailure(Exception):
    """The student's code did not answer as it should; the text is for the student."""

    retry = False


class Raised(StudentFailure):
    """An exception left the code."""

    def __init__(self, error: dict[str, str], doing: str) -> None:
        where = f" ({error['where']})" if error["where"] else ""
        todo = advice(error["type"], error["text"], called=doing != IMPORTING)
        super().__init__(f"{doing} raised {error['type']}: {error['text']}{where}" + (f": {todo}" if todo else ""))
        self.type = error["type"]
        self._kinds = error["kinds"].split()
        self.text = error["text"]

    def is_a(self, kind: str) -> bool:
        """Whether it is one of Python's own of this name, or extends it: `except` would catch it."""
        return kind in self._kinds


class Ended(StudentFailure):
    """The process is gone."""


class Malformed(StudentFailure):
    """Not the protocol."""


class TooMuch(StudentFailure):
    """More than allowed of something that can be counted."""


class Endless(StudentFailure):
    """More steps than allowed in one call."""


class Asleep(StudentFailure):
    """Waiting instead of answering."""


class NotGraded(StudentFailure):
    """Reached a limit of time that proves nothing."""


class NeedsCount(StudentFailure):
    """Suspect of being endless: repeat with steps counted."""


class GraderError(PaceLabError):
    """The sandbox did not start: nothing to do with the student."""


class Session:
    """One process with one file of a student's. Use `request`; close when done."""

    def __init__(
        self,
        box: Box,
        file: str,
        *,
        number: int,
        counted: bool = False,
        patience: float = 1.0,
        asleep_s: float = ASLEEP_S,
    ) -> None:
        self._limits = box.limits
        self._asleep_s = asleep_s
        self._counted = counted
        self._patience = patience
        self._started: Started | None = box.start(file, number=number, count_steps=counted)
        for descriptor in (self._started.requests, self._started.answers, self._started.output):
            os.set_blocking(descriptor, False)
        self._buffer = bytearray()
        self._printed = bytearray()
        self._printed_bytes = 0
        self._clock: int | None = None
        self.failure: StudentFailure | None = None
        """What ended the session."""
        self.requests = 0
        self._lender: Lender | None = None
        try:
            hello = self._answer(wire.HELLO, "starting Python", START_S, start=True)
        except StudentFailure as failure:
            self.close()
            raise GraderError(f"the sandbox did not start: {failure}; printed: {self.printed[-500:]!r}") from None
        if hello[0] != wire.VERSION:
            raise GraderError(f"the sandbox speaks version {hello[0]} of the pipe, not {wire.VERSION}")
        self.guards: tuple[str, ...] = tuple(hello[1])

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def printed(self) -> str:
        """The first of what the code printed, with what a terminal would obey made visible."""
        return plain(self._printed.decode("utf-8", "replace"), KEPT_OUTPUT_BYTES, lines=True)

    def request(self, operation: str, *arguments: Any, doing: str = "") -> Any:
        """Ask and wait for the answer. `doing` names the call in messages. Raises a StudentFailure, and ever after."""
        if self.failure is not None:
            raise self.failure
        assert self._started is not None
        nonce = secrets.token_hex(8)
        self.requests += 1
        try:
            if self.requests % CHECK_EVERY == 0:
                self._check_total(_Watch(self._pid()), doing or operation)
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

    def lend(self, lender: Lender) -> None:
        """From now on these parts of the module are the reference's."""
        self._lender = lender
        self.request("borrow", lender.parts, doing=IMPORTING)

    def close(self) -> None:
        """End the process."""
        if self._started is not None:
            self._drain_output()
            self._started.stop()
            self._started = None

    def _send(self, frame: bytes, doing: str, cpu_s: float) -> None:
        assert self._started is not None
        if self._unread():
            raise Malformed(f"{doing}: an answer came before the question: the code writes to the grader's pipe")
        rest = memoryview(frame)
        watch: _Watch | None = None
        while rest:
            try:
                rest = rest[os.write(self._started.requests, rest) :]
                continue
            except BlockingIOError:
                pass
            except BrokenPipeError:
                raise self._ended(doing) from None
            printed = self._wait_to_write(doing)
            watch = watch or _Watch(self._pid())
            self._judge(watch, doing, cpu_s, silent=not printed)

    def _wait_to_write(self, doing: str) -> bool:
        """A moment; returns whether the time went into printing. An answer is too early."""
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

    def _unread(self) -> bool:
        assert self._started is not None
        return bool(self._buffer) or bool(_ready([self._started.answers], 0.0))

    def _answer(self, nonce: str, doing: str, cpu_s: float, *, start: bool = False) -> Any:
        outcome, value = self._said(nonce, doing, cpu_s, start=start)
        watch: _Watch | None = None
        asks = 0
        while outcome == "asks" and self._lender is not None:
            asks += 1
            if asks > MAX_ASKS:
                raise TooMuch(f"{doing} asked the reference {MAX_ASKS:,} times without returning: an endless loop?")
            watch = watch or _Watch(self._pid())
            self._judge(watch, doing, cpu_s, silent=False)
            self._send(wire.encode(self._lender.answer(value, doing), wire.MAX_REQUEST_BYTES), doing, cpu_s)
            outcome, value = self._said(nonce, doing, cpu_s)
        if outcome == "ok":
            try:
                return checked(value)
            except Unfit as error:
                raise Malformed(f"{doing}: the answer has {error}") from None
        if outcome == "steps":
            raise Endless(
                f"{doing} made {self._limits.steps_per_call:,} steps without returning (in {plain(str(value), 100)}): "
                "an endless loop?"
            )
        if outcome == "raised" and isinstance(value, dict) and value.keys() == {"type", "kinds", "text", "where"}:
            told = {key: plain(str(item), 600) for key, item in value.items()}
            if told["type"] == "MemoryError":
                raise TooMuch(f"{doing} needed more than {self._limits.memory_bytes >> 20} MiB of memory")
            raise Raised(told, doing)
        raise Malformed(f"{doing}: an answer of no known kind")

    def _said(self, nonce: str, doing: str, cpu_s: float, *, start: bool = False) -> tuple[Any, Any]:
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
        watch: _Watch | None = None
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
                    return body  # what comes in drips is watched like what does not come
            if start:
                watch = watch or _Watch(None)
                if watch.wall_s() > START_S:
                    raise NotGraded(f"{doing} took {START_S:g} s")
            else:
                watch = watch or _Watch(self._pid())
                self._judge(watch, doing, cpu_s, silent=not ready)
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

    def _judge(self, watch: _Watch, doing: str, cpu_s: float, *, silent: bool) -> None:
        """The answer is late: why? Who prints sleeps while the pipe is full: that is no waiting."""
        if silent:
            watch.sample()
        patience = self._patience
        if self._counted:
            if watch.cpu_s() > COUNTED_CPU_S * patience:
                raise NotGraded(f"{doing} computed {COUNTED_CPU_S * patience:g} s in a few steps: not graded, rerun")
        elif watch.cpu_s() > cpu_s * patience:
            raise NeedsCount(f"{doing} computed {watch.cpu_s():.2f} s")
        self._check_total(watch, doing)
        if watch.asleep_s > self._asleep_s:
            raise Asleep(f"{doing} waits (sleep, input, a lock) instead of returning")
        if watch.wall_s() > WALL_S * patience:
            raise NotGraded(f"{doing} took {WALL_S * patience:g} s on a busy machine: not graded, rerun")

    def _check_total(self, watch: _Watch, doing: str) -> None:
        limit_s = (COUNTED_CPU_S if self._counted else TOTAL_CPU_S) * self._patience
        if watch.total_cpu_s() > limit_s:
            raise NotGraded(f"{doing}: all calls so far computed {limit_s:g} s: not graded, rerun")

    def _read_output(self, doing: str) -> None:
        assert self._started is not None
        part = _read(self._started.output) or b""
        self._printed_bytes += len(part)
        if len(self._printed) < KEPT_OUTPUT_BYTES:
            self._printed += part[: KEPT_OUTPUT_BYTES - len(self._printed)]
        if self._printed_bytes > self._limits.output_bytes:
            raise TooMuch(f"{doing}: more than {self._limits.output_bytes >> 20} MiB were printed")

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
        try:
            code = self._started.process.wait(5.0)
        except Exception:
            return Ended(f"{doing}: the code closed the grader's pipe")
        signal = -code if code < 0 else code - 128 if code > 128 else 0  # of its own, or as bubblewrap passes it on
        if signal == 9:
            return TooMuch(f"{doing}: the process was killed: more memory or time than allowed")
        shown = f"signal {signal}" if signal else f"code {code}"
        return Ended(f"{doing}: the process ended ({shown}) instead of answering")

    def _pid(self) -> int:
        """The process that runs the student's code: below bubblewrap the last of its line."""
        if self._clock is None:
            assert self._started is not None
            pid = self._started.process.pid
            while children := _children(pid):
                pid = children[-1]
            self._clock = pid
        return self._clock


class LocalSession:
    """The same without a process, a limit or a wall: for a student's own code on a student's own machine."""

    def __init__(self, box: Box, file: str) -> None:
        from pacelab_grading.inside.worker import Worker

        self._worker = Worker(str(box.folder / file), answers=-1, requests=-1)
        self.guards: tuple[str, ...] = ()
        self.printed = ""

    def request(self, operation: str, *arguments: Any, doing: str = "") -> Any:
        """Ask and get the answer. Raises Raised."""
        message = wire.decode(wire.encode(["", operation, *arguments], wire.MAX_REQUEST_BYTES)[wire.HEADER_BYTES :])
        _, outcome, value = wire.decode(self._worker.frame(message)[wire.HEADER_BYTES :])
        if outcome != "ok":
            raise Raised({key: plain(str(item), 600) for key, item in value.items()}, doing or operation)
        try:
            return checked(value)
        except Unfit as error:
            raise Malformed(f"{doing or operation}: the answer has {error}") from None

    def lend(self, lender: Lender) -> None:
        """See `Session.lend`."""
        self._worker.ask = lambda question: lender.answer(question, "the code")
        self.request("borrow", lender.parts)

    def close(self) -> None:
        """Nothing runs."""


class _Watch:
    """Processor time and sleep of one process since now."""

    def __init__(self, pid: int | None) -> None:
        self._pid = pid
        self._wall = time.monotonic()
        self._cpu = self.total_cpu_s()
        self.asleep_s = 0.0

    def sample(self) -> None:
        """Ask the kernel what the process does; to be called after each `SAMPLE_S` of silence."""
        try:
            with open(f"/proc/{self._pid}/stat", encoding="utf-8") as file:
                state = file.read().rpartition(")")[2].split()[0]
        except OSError:
            return
        self.asleep_s = self.asleep_s + SAMPLE_S if state in "STt" else 0.0

    def total_cpu_s(self) -> float:
        """Processor time of the process since it began; 0 when it is gone."""
        if self._pid is None:
            return 0.0
        try:
            return time.clock_gettime((~self._pid << 3) | 2)  # the clock of another process, clock_getcpuclockid(3)
        except OSError:
            return 0.0

    def cpu_s(self) -> float:
        """Processor time since this watch began."""
        return self.total_cpu_s() - self._cpu

    def wall_s(self) -> float:
        """Seconds since this watch began."""
        return time.monotonic() - self._wall


def _read(descriptor: int) -> bytes | None:
    """What is there now; empty at the end, None where another reader was quicker: the code may have opened the pipe."""
    try:
        return os.read(descriptor, 1 << 16)
    except BlockingIOError:
        return None


def _ready(descriptors: list[int], timeout_s: float) -> list[int]:
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return [descriptor for descriptor, _ in poll.poll(timeout_s * 1000)]


def _children(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
            return [int(part) for part in file.read().split()]
    except OSError:
        return []


AnySession = Session | LocalSession
