"""A separate process that reads and judges submissions, watched from outside.

    JudgeProcess  in the grader: starts the process, follows what it does, kills it at its deadline
    main          in the process: reads jobs, one line of JSON each, and answers in lines of JSON

The sandbox separates a student's code from the process that judges it. The judge itself can still run into trouble: a
file on which the parser hangs, an answer that no check expects, an endless simulation. All of that ends at the latest
with this process: at its deadline, which no read, write or child process can outlive, or at its memory limit. The check
in which it happens is not graded; the other checks run in a new process.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pacelab import HostError, PaceLabError
from pacelab_grading.assignments import find_assignment
from pacelab_grading.judging.judge import WALL_S, GradingTerms, judge, verdict_of
from pacelab_grading.receive.submission import Submission, read_submission, submission_from_json
from pacelab_grading.rubric.assignment import Assignment, Number
from pacelab_grading.rubric.verdict import PASSED, Result, Verdict, from_json, not_graded, result_from_json, to_json
from pacelab_grading.sandbox.box import walls
from pacelab_grading.sandbox.watch import ProcessWatch
from pacelab_grading.text.printable import printable

GRACE_S = 60.0
"""After the judge's own limit of wall time, before it is killed."""
JUDGE_CPU_S = 300.0
"""Processor time of the judge itself for one submission. The models need 1 s, a simulation that never ends more."""
READ_S, READ_WALL_S = 20.0, 600.0
"""To parse what one student handed in, in processor time, of which a MiB takes a second; and in all, on a machine that
has other work."""
CHECK_S = 1.0
"""Between two looks at the processor time."""
MAX_LINE_BYTES = 16 << 20
MEMORY_BYTES = 3 << 30
"""Of address space; judging uses 0.1 GiB of memory."""
MAX_CRASHES = 3
"""Crashes of the judge that are tolerated per submission."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings(GradingTerms):
    """The conditions under which all submissions of a batch are graded."""

    assignment: Number
    weak_walls: bool = False


class JudgeDied(Exception):
    """The process ended or was killed; the text says why."""

    out_of_time = False
    """It used the processor time that it had for reading."""


class JudgeTimeout(JudgeDied):
    """The process was killed at its deadline."""


class HostLacks(JudgeDied):
    """The process could not judge, because this machine lacks something. The text says what, and what to do."""


@dataclass(slots=True)
class JudgeProcess:
    """One process, started when it is needed and again after it died. Close it.

    It is killed if it uses more processor time than one submission can need. It is also killed at a limit of wall time,
    which it reaches only if it sleeps or if the machine is far too busy. `time_factor` multiplies both for reading.
    """

    time_factor: float = 1.0

    _process: subprocess.Popen[bytes] | None = None
    _buffer: bytearray = field(default_factory=bytearray)
    _stopped: bool = False
    _watch: ProcessWatch | None = None
    _cpu_s: float = 0.0

    def __enter__(self) -> JudgeProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stop(self) -> None:
        """End all work, from another thread. The thread that uses this object gets JudgeDied and closes it."""
        self._stopped = True
        self._kill()

    def _kill(self) -> None:
        process = self._process
        if process is not None and process.returncode is None:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)  # sandboxes are separate groups and end with their parent

    def close(self) -> None:
        """End the process and everything that it started."""
        self._kill()
        process, self._process = self._process, None
        self._buffer.clear()
        if process is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def read(
        self,
        student: str,
        files: Mapping[str, bytes],
        assignment: Assignment,
        problems: Sequence[str] = (),
        others: Sequence[str] = (),
    ) -> Submission:
        """`read_submission`, safe against whatever the files do to the parser."""
        job = {
            "read": student,
            "assignment": assignment.number,
            "files": {name: base64.b64encode(content).decode() for name, content in files.items()},
            "problems": list(problems),
            "others": list(others),
            "seconds": READ_S * self.time_factor,
        }
        try:
            messages = list(self._do(job, READ_WALL_S * self.time_factor, JUDGE_CPU_S * self.time_factor))
            if [kind for kind, _ in messages] != ["submission"]:
                raise JudgeDied(str(messages[0][1]) if messages else "the reader gave no answer")
            return submission_from_json(messages[0][1])
        except JudgeTimeout:
            self.close()
            seconds = READ_WALL_S * self.time_factor
            problem = f"what was handed in could not be read within {seconds:g} s: not graded, rerun"
            return Submission(student=student, source=None, unread=True, problems=(*problems, problem))
        except JudgeDied as death:
            self.close()
            why = f"it takes more than {job['seconds']:g} s of processor time" if death.out_of_time else str(death)
            problem = f"what was handed in cannot be read ({why}): hand in {assignment.file} as plain text"
            return Submission(student=student, source=None, problems=(*problems, problem))

    def judge(self, submission: Submission, settings: BatchSettings) -> Verdict:
        """A complete verdict, whatever happens."""
        assignment = find_assignment(settings.assignment)
        checks = assignment.checks_for(submission.version or assignment.version)
        results: dict[str, Result] = {}
        verdict: Verdict | None = None
        until = time.monotonic() + WALL_S * settings.time_factor + GRACE_S
        cpu_s = JUDGE_CPU_S * settings.time_factor
        crashes = 0
        while verdict is None and len(results) < len(checks) and crashes < MAX_CRASHES:
            running = ""
            left = [check.id for check in checks if check.id not in results]
            failed = [result.id for result in results.values() if result.status != PASSED]
            job = {"judge": asdict(submission), "settings": asdict(settings), "only": left, "failed": failed}
            try:
                for kind, value in self._do(job, max(1.0, until - time.monotonic()), cpu_s):
                    if kind == "check":
                        running = value
                    elif kind == "result":
                        result = result_from_json(value)
                        results[result.id] = result
                    elif kind == "verdict":
                        verdict = from_json(json.dumps(value))
                    else:
                        raise HostLacks(str(value)) if kind == "host" else JudgeDied(str(value))
            except JudgeDied as death:
                self.close()
                crashes += 1
                died_in = running if running not in results else ""  # empty: while the file was imported
                why = f"the grader's own process died ({death}): not graded; please report it"
                if isinstance(death, HostLacks):
                    why = f"not graded: {death}"
                if self._stopped or time.monotonic() > until:
                    crashes = MAX_CRASHES
                for check in checks:
                    if check.id == died_in or (crashes == MAX_CRASHES and check.id not in results):
                        results[check.id] = not_graded(check, why)
        ordered = [results[check.id] for check in checks if check.id in results]
        return verdict_of(
            submission,
            assignment,
            ordered,
            problems=submission.problems if verdict is None else verdict.problems,
            notes=() if verdict is None else verdict.notes,
            unreadable=verdict is not None and verdict.unreadable,
        )

    def _do(self, job: Mapping[str, Any], wall_s: float, cpu_s: float) -> Iterator[tuple[str, Any]]:
        """The messages of the process about a job, until the job is done, within these limits. Raises JudgeDied."""
        until = time.monotonic() + wall_s
        process = self._started()
        self._watch, self._cpu_s = ProcessWatch(process.pid), cpu_s
        assert process.stdin is not None
        self._send_job(process, json.dumps(job).encode() + b"\n", until)
        while True:
            line = self._line(process, until)
            try:
                kind, value = json.loads(line)
            except (ValueError, TypeError):
                raise JudgeDied("it sent an invalid answer") from None
            if kind == "done":
                return
            yield kind, value

    def _started(self) -> subprocess.Popen[bytes]:
        if self._stopped:
            raise JudgeDied("grading was stopped")
        if self._process is None or self._process.poll() is not None:
            self.close()
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", "from pacelab_grading.judging.process import main; main()"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    start_new_session=True,
                )
            except OSError as error:
                raise JudgeDied(f"a process for grading cannot be started: {error.strerror or error}") from None
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            os.set_blocking(self._process.stdin.fileno(), False)
            os.set_blocking(self._process.stdout.fileno(), False)
        return self._process

    def _send_job(self, process: subprocess.Popen[bytes], line: bytes, until: float) -> None:
        assert process.stdin is not None
        rest = memoryview(line)
        while rest:
            try:
                rest = rest[os.write(process.stdin.fileno(), rest) :]
            except BlockingIOError:
                self._wait(process.stdin.fileno(), select.POLLOUT, until)
            except BrokenPipeError:
                raise self._cause_of_death(process) from None

    def _line(self, process: subprocess.Popen[bytes], until: float) -> bytes:
        assert process.stdout is not None
        while (end := self._buffer.find(b"\n")) < 0:
            self._wait(process.stdout.fileno(), select.POLLIN, until)
            try:
                part = os.read(process.stdout.fileno(), 1 << 16)
            except BlockingIOError:
                continue
            if not part:
                raise self._cause_of_death(process)
            self._buffer += part
            if len(self._buffer) > MAX_LINE_BYTES:
                raise JudgeDied(f"it sent more than {MAX_LINE_BYTES >> 20} MiB at once")
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def _wait(self, descriptor: int, event: int, until: float) -> None:
        poll = select.poll()
        poll.register(descriptor, event)
        while True:
            left_s = until - time.monotonic()
            if left_s <= 0 or (self._watch is not None and self._watch.cpu_s() > self._cpu_s):
                raise JudgeTimeout("its time was used up")
            if poll.poll(min(left_s, CHECK_S) * 1000):
                return

    def _cause_of_death(self, process: subprocess.Popen[bytes]) -> JudgeDied:
        try:
            code = process.wait(5.0)
        except subprocess.TimeoutExpired:
            return JudgeDied("it closed its pipe")
        death = JudgeDied(f"signal {-code}" if code < 0 else f"exit code {code}")
        death.out_of_time = code == -signal.SIGPROF
        return death


def main() -> None:
    """Answer jobs until the grader has ended."""
    jobs, answers = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # anything printed here must not look like an answer
    _bound_memory()
    buffer = bytearray()
    while (line := _next_line(jobs, buffer)) is not None:
        lifeline = _Lifeline(jobs)
        try:
            _answer(json.loads(line), answers)
        finally:
            lifeline.cut()
        _send(answers, "done", None)
    os._exit(0)


def _answer(job: Mapping[str, Any], answers: int) -> None:
    try:
        if "read" in job:
            files = {name: base64.b64decode(content) for name, content in job["files"].items()}
            assignment = find_assignment(job["assignment"])
            known = {"problems": job["problems"], "others": job["others"]}
            signal.setitimer(signal.ITIMER_PROF, job["seconds"])  # its signal ends this process, whatever it does
            submission = read_submission(job["read"], files, assignment, **known)
            signal.setitimer(signal.ITIMER_PROF, 0)
            _send(answers, "submission", asdict(submission))
            return
        settings = BatchSettings(**job["settings"])
        submission = submission_from_json(job["judge"])
        verdict = grade_here(submission, settings, only=job["only"], failed=job["failed"], answers=answers)
        _send(answers, "verdict", to_json(verdict))
    except PaceLabError as error:
        _send(answers, "host" if isinstance(error, HostError) else "error", printable(str(error), 500))
    except Exception as error:
        _send(answers, "error", printable(f"{type(error).__name__}: {error}", 500))


def grade_here(
    submission: Submission,
    settings: BatchSettings,
    *,
    only: Collection[str] | None = None,
    failed: Collection[str] = (),
    answers: int | None = None,
) -> Verdict:
    """One verdict, in this process."""

    def listener(kind: str, value: Any) -> None:
        if answers is not None:
            _send(answers, kind, asdict(value) if isinstance(value, Result) else value)

    return judge(
        submission,
        find_assignment(settings.assignment),
        walls=walls(weak=settings.weak_walls),
        terms=settings,
        only=only,
        failed=failed,
        listener=listener,
    )


def _send(answers: int, kind: str, value: Any) -> None:
    rest = memoryview(json.dumps([kind, value]).encode() + b"\n")
    while rest:
        rest = rest[os.write(answers, rest) :]


def _next_line(jobs: int, buffer: bytearray) -> bytes | None:
    seen = 0
    while (end := buffer.find(b"\n", seen)) < 0:
        seen = len(buffer)
        part = os.read(jobs, 1 << 16)
        if not part:
            return None
        buffer += part
    line = bytes(buffer[:end])
    del buffer[: end + 1]
    return line


class _Lifeline:
    """Ends this process if the grader ends during a job: nobody would read the answer."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._woken, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def cut(self) -> None:
        """The job is done: stop watching."""
        os.write(self._wake, b"x")
        self._thread.join()
        os.close(self._wake)
        os.close(self._woken)

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._jobs, 0)  # poll always reports the end of a pipe
        poll.register(self._woken, select.POLLIN)
        if any(descriptor == self._jobs for descriptor, _ in poll.poll()):
            os.killpg(0, signal.SIGKILL)


def _bound_memory() -> None:
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = MEMORY_BYTES if most == resource.RLIM_INFINITY else min(most, MEMORY_BYTES)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
