"""Grades many submissions in parallel. Each verdict is written at once, so a run that was stopped can be resumed.

A verdict is kept under the hash of everything that decides it: the submission's text and problems, the assignment, the
key, the version of PaceLab and the text of the graders. A kept verdict is not graded again, unless it says "rerun".
"""

from __future__ import annotations

import functools
import hashlib
import json
import platform
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from queue import Empty, SimpleQueue

from pacelab import HostError, Workers, __version__, each_finished, usable_cores, write_file
from pacelab_grading.assignments import find_assignment
from pacelab_grading.judging.process import BatchSettings, JudgeProcess
from pacelab_grading.labs.exercises import MASTERS
from pacelab_grading.receive.submission import Submission
from pacelab_grading.rubric.assignment import Number
from pacelab_grading.rubric.verdict import Verdict, from_json, to_json
from pacelab_grading.sandbox.box import walls

PACKAGE = Path(__file__).parents[1]


def grade_all(
    submissions: Sequence[Submission],
    settings: BatchSettings,
    *,
    store: Path,
    jobs: int | None = None,
    scheduler: str | None = None,
    on_done: Callable[[int], None] | None = None,
) -> list[Verdict]:
    """A verdict for each submission, in their order. Verdicts in `store` are used again.

    `scheduler` is the address of a Dask scheduler whose workers have this version of PaceLab and a working sandbox.
    Another worker grades what a killed worker had not finished. `on_done` is called with the number of verdicts so far.
    Raises HostError if the sandbox does not work where the submissions are graded, or if the cluster cannot be used.
    """
    if scheduler is None:
        walls(weak=settings.weak_walls)  # refuses here once, not in each worker
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
    work = [submissions[number] for number in todo]
    if scheduler is not None:
        workers = Workers(jobs=jobs, scheduler=scheduler)
        grade = functools.partial(grade_on_worker, settings=settings, code=_code(PACKAGE))
        finished = each_finished(grade, work, workers=workers)
    else:
        finished = _on_this_machine(work, settings, min(jobs or usable_cores(), max(1, len(work))))
    with closing(finished):
        for place, verdict in finished:
            number = todo[place]
            verdicts[number] = verdict
            document = json.dumps(to_json(verdict), indent=1).encode()
            write_file(store / f"{_digest(submissions[number], settings)}.json", document)
            if on_done is not None:
                on_done(len(verdicts))
    return [verdicts[number] for number in range(len(submissions))]


def other_assignments(store: Path, wanted: Number) -> list[Number]:
    """The other assignments that have verdicts in `store`."""
    found = set()
    for path in store.glob("*.json"):
        try:
            found.add(from_json(path.read_text(encoding="utf-8")).assignment)
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return sorted(found - {wanted}, key=str)


def grade_one(submission: Submission, settings: BatchSettings) -> Verdict:
    """One verdict."""
    with JudgeProcess() as process:
        return process.judge(submission, settings)


_idle: SimpleQueue[JudgeProcess] = SimpleQueue()
"""Judge processes of a Dask worker between two submissions. They end with the worker."""


def grade_on_worker(submission: Submission, settings: BatchSettings, code: str) -> Verdict:
    """One verdict, on a Dask worker. Raises HostError if it has other graders than `code`, or no sandbox."""
    if _code(PACKAGE) != code:
        raise HostError(
            f"a worker, on {platform.node()}, has other graders: its verdicts could differ; install the same PaceLab "
            "everywhere"
        )
    try:
        walls(weak=settings.weak_walls)
    except HostError as error:
        raise HostError(f"a worker, on {platform.node()}: {error}") from None
    try:
        process = _idle.get_nowait()
    except Empty:
        process = JudgeProcess()
    try:
        return process.judge(submission, settings)
    finally:
        _idle.put(process)


def _on_this_machine(
    submissions: Sequence[Submission], settings: BatchSettings, jobs: int
) -> Generator[tuple[int, Verdict]]:
    """Positions and verdicts, by `jobs` judge processes. The threads only wait for the processes."""
    processes = [JudgeProcess() for _ in range(jobs)]
    free: SimpleQueue[JudgeProcess] = SimpleQueue()
    for process in processes:
        free.put(process)

    def work(submission: Submission) -> Verdict:
        process = free.get()
        try:
            return process.judge(submission, settings)
        finally:
            free.put(process)

    pool = ThreadPoolExecutor(jobs)
    try:
        futures = {pool.submit(work, submission): place for place, submission in enumerate(submissions)}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:  # also when the caller stops early
        for process in processes:
            process.stop()
        pool.shutdown(cancel_futures=True)
        for process in processes:
            process.close()


def _digest(submission: Submission, settings: BatchSettings) -> str:
    terms = asdict(settings)
    del terms["time_factor"]  # it decides whether there is a verdict, not which one
    decided_by = [__version__, _code(PACKAGE), find_assignment(settings.assignment).stamp, asdict(submission), terms]
    return hashlib.sha256(json.dumps(decided_by, sort_keys=True).encode()).hexdigest()[:32]


@functools.cache
def _code(folder: Path) -> str:
    """The hash of the graders' text. A clone that was updated may have the same version number as before."""
    texts = [path.read_bytes() for path in sorted([*folder.rglob("*.py"), *MASTERS.glob("lab*.py")])]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


def _kept(store: Path, submission: Submission, settings: BatchSettings) -> Verdict | None:
    try:
        verdict = from_json((store / f"{_digest(submission, settings)}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return verdict if verdict.status == "graded" else None
