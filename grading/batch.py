"""Grades many submissions: in parallel, each verdict written as soon as it is there, so that a stopped run goes on.

A verdict is kept under the hash of all that decides it (the submission's text and problems, the assignment, the key,
this version of PaceLab): what is found is not graded again, unless it says "rerun".
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from pacelab import __version__, each_finished, write_file
from pacelab.grading.assignments import find_assignment
from pacelab.grading.judge import Verdict, judge
from pacelab.grading.records.report import from_json, to_json
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
    with closing(
        each_finished(
            partial(grade_one, settings=settings), [submissions[n] for n in todo], jobs=jobs, scheduler=scheduler
        )
    ) as finished:
        for place, verdict in finished:
            number = todo[place]
            verdicts[number] = verdict
            document = json.dumps(to_json(verdict), indent=1).encode()
            write_file(store / f"{_digest(submissions[number], settings)}.json", document)
            if on_done is not None:
                on_done(len(verdicts))
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
