"""Grades many submissions: in parallel, each verdict written as soon as it is there, so that a stopped run goes on.

A verdict is kept under the hash of all that decides it (the submission's text and problems, the assignment, the key,
this version of PaceLab): what is found is not graded again, unless it says "rerun".
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import os
import re
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from pacelab import HostError, __version__, usable_cores, write_file
from pacelab.grading.assignments import find_assignment
from pacelab.grading.judge import Verdict, judge
from pacelab.grading.report import from_json, to_json
from pacelab.grading.sandbox import walls
from pacelab.grading.submission import Submission

SLOTS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a batch is graded by."""

    assignment: int
    key: str = ""
    individual: bool = False
    patience: float = 1.0
    allow_bubblewrap: bool = True


def grade_all(
    submissions: Sequence[Submission],
    settings: Settings,
    *,
    store: Path,
    jobs: int | None = None,
    scheduler: str | None = None,
    on_done: Callable[[int], None] | None = None,
) -> list[Verdict]:
    """Verdicts in the order of the submissions; those in `store` are taken from there.

    `scheduler` is the address of a Dask scheduler whose workers have this version of PaceLab and a working sandbox.
    Raises HostError when a worker dies, or the sandbox does not work.
    """
    walls(allow_bubblewrap=settings.allow_bubblewrap)  # refuses here rather than in every worker
    verdicts: dict[int, Verdict] = {}
    todo: list[int] = []
    for number, submission in enumerate(submissions):
        kept = _kept(store, submission, settings)
        if kept is not None:
            verdicts[number] = replace(kept, student=submission.student)
        else:
            todo.append(number)
    if on_done is not None:
        on_done(len(verdicts))
    with _pool(scheduler, min(jobs or usable_cores(), max(1, len(todo)))) as submit:
        tasks = {submit(grade_one, submissions[number], settings): number for number in todo}
        try:
            for task in submit.completed(tasks):
                number = tasks[task]
                verdicts[number] = task.result()
                place = store / f"{_digest(submissions[number], settings)}.json"
                write_file(place, json.dumps(to_json(verdicts[number]), indent=1).encode())
                if on_done is not None:
                    on_done(len(verdicts))
        except BrokenProcessPool:
            raise HostError(
                "grading in worker processes: one died, out of memory perhaps; run again to go on"
            ) from None
        finally:
            for task in tasks:
                task.cancel()
    return [verdicts[number] for number in range(len(submissions))]


def grade_one(submission: Submission, settings: Settings) -> Verdict:
    """One verdict, in a worker or here."""
    return judge(
        submission,
        find_assignment(settings.assignment),
        walls=walls(allow_bubblewrap=settings.allow_bubblewrap),
        key=settings.key,
        individual=settings.individual,
        patience=settings.patience,
        slot=os.getpid() % SLOTS,
    )


def slug(student: str) -> str:
    """A file name for a student, whatever the name holds; names that differ stay different."""
    plain = re.sub(r"[^\w-]+", "_", student).strip("_")[:60] or "student"
    return plain if plain == student else f"{plain}-{hashlib.sha256(student.encode()).hexdigest()[:6]}"


def _digest(submission: Submission, settings: Settings) -> str:
    decided_by = [__version__, find_assignment(settings.assignment).stamp, asdict(submission), asdict(settings)]
    return hashlib.sha256(json.dumps(decided_by, sort_keys=True).encode()).hexdigest()[:32]


def _kept(store: Path, submission: Submission, settings: Settings) -> Verdict | None:
    try:
        verdict = from_json((store / f"{_digest(submission, settings)}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return verdict if verdict.status == "graded" else None


class _Here:
    """One process: nothing to start, Ctrl-C stops it."""

    def __call__(self, work: Callable[..., Verdict], *arguments: Any) -> _Later:
        return _Later(work, arguments)

    def completed(self, tasks: Iterable[Any]) -> Iterable[Any]:
        return tasks


class _Later:
    """Work that is done when its result is asked for."""

    def __init__(self, work: Callable[..., Verdict], arguments: tuple[Any, ...]) -> None:
        self._work = work
        self._arguments = arguments

    def result(self) -> Verdict:
        return self._work(*self._arguments)

    def cancel(self) -> None: ...


class _Processes:
    """Worker processes of this machine."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def __call__(self, work: Callable[..., Verdict], *arguments: Any) -> Future[Verdict]:
        return self._pool.submit(work, *arguments)

    def completed(self, tasks: Iterable[Any]) -> Iterable[Any]:
        return as_completed(tasks)


class _Cluster:
    """Dask's workers."""

    def __init__(self, address: str) -> None:
        try:
            self._distributed: Any = import_module("distributed")
        except ImportError:
            raise HostError("--scheduler: Dask is not installed here: `pip install distributed`") from None
        try:
            self._client = self._distributed.Client(address, timeout=10)
        except (OSError, ValueError) as error:
            raise HostError(f"--scheduler {address}: cannot be reached ({error})") from None

    def __call__(self, work: Callable[..., Verdict], *arguments: Any) -> Any:
        return self._client.submit(work, *arguments, pure=False)

    def completed(self, tasks: Iterable[Any]) -> Iterable[Any]:
        done: Iterable[Any] = self._distributed.as_completed(tasks)
        return done

    def close(self) -> None:
        self._client.close()


@contextlib.contextmanager
def _pool(scheduler: str | None, jobs: int) -> Iterator[_Here | _Processes | _Cluster]:
    if scheduler is not None:
        cluster = _Cluster(scheduler)
        try:
            yield cluster
        finally:
            cluster.close()
    elif jobs <= 1:
        yield _Here()
    else:
        pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_ignore_interrupt)
        try:
            yield _Processes(pool)
        finally:
            pool.shutdown(cancel_futures=True)


def _ignore_interrupt() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
