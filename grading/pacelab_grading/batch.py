"""Grades many submissions: in parallel, each verdict written as soon as it is there, so that a stopped run goes on.

A verdict is kept under the hash of all that decides it (the submission's text and problems, the assignment, the key,
this version of PaceLab, the text of what grades): what is found is not graded again, unless it says "rerun". And which
submissions resemble each other.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import io
import json
import re
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from pacelab import Workers, __version__, each_finished, usable_cores, write_file
from pacelab_grading.assignment import Assignment, Number
from pacelab_grading.assignments import find_assignment
from pacelab_grading.examiner import Examiner, Settings
from pacelab_grading.judge import Verdict
from pacelab_grading.labs.exercises import MASTERS
from pacelab_grading.plain import folded
from pacelab_grading.receive.submission import Submission
from pacelab_grading.records.report import from_json, to_json
from pacelab_grading.sandbox import walls

HERE = Path(__file__).parent


def grade_all(
    submissions: Sequence[Submission],
    settings: Settings,
    *,
    store: Path,
    jobs: int | None = None,
    scheduler: str | None = None,
    on_done: Callable[[int], None] | None = None,
) -> list[Verdict]:
    """Verdicts in the order of the submissions, one for each whatever it does; those in `store` are taken from there.

    `scheduler` is the address of a Dask scheduler whose workers have this version of PaceLab and a working sandbox.
    Raises HostError when the sandbox does not work here, or a worker there dies.
    """
    if scheduler is None:
        walls(weak=settings.weak_walls)  # refuses here rather than in every worker
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
        finished = each_finished(functools.partial(grade_one, settings=settings), work, workers=workers)
    else:
        finished = _here(work, settings, min(jobs or usable_cores(), max(1, len(work))))
    with closing(finished):
        for place, verdict in finished:
            number = todo[place]
            verdicts[number] = verdict
            document = json.dumps(to_json(verdict), indent=1).encode()
            write_file(store / f"{_digest(submissions[number], settings)}.json", document)
            if on_done is not None:
                on_done(len(verdicts))
    return [verdicts[number] for number in range(len(submissions))]


def others_kept(store: Path, wanted: Number) -> list[Number]:
    """Of which other assignments there are verdicts."""
    found = set()
    for path in store.glob("*.json"):
        try:
            found.add(from_json(path.read_text(encoding="utf-8")).assignment)
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return sorted(found - {wanted}, key=str)


def grade_one(submission: Submission, settings: Settings) -> Verdict:
    """One verdict."""
    with Examiner() as examiner:
        return examiner.judge(submission, settings)


def _here(submissions: Sequence[Submission], settings: Settings, jobs: int) -> Generator[tuple[int, Verdict]]:
    """Places and verdicts, by as many examiners as jobs; the threads only wait for them."""
    examiners = [Examiner() for _ in range(jobs)]
    free: SimpleQueue[Examiner] = SimpleQueue()
    for examiner in examiners:
        free.put(examiner)

    def work(submission: Submission) -> Verdict:
        examiner = free.get()
        try:
            return examiner.judge(submission, settings)
        finally:
            free.put(examiner)

    pool = ThreadPoolExecutor(jobs)
    try:
        futures = {pool.submit(work, submission): place for place, submission in enumerate(submissions)}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:  # left early or not
        for examiner in examiners:
            examiner.stop()
        pool.shutdown(cancel_futures=True)
        for examiner in examiners:
            examiner.close()


def slug(student: str) -> str:
    """A file name for a student, whatever the name holds; names that differ stay different, on any disk."""
    plain = re.sub(r"[^\w-]+", "_", student).strip("_")[:60] or "student"
    digest = hashlib.sha256(student.encode("utf-8", "surrogatepass")).hexdigest()
    # Letters of another size, and accents composed or not, are one name on some disks.
    return plain if plain == student == folded(student) else f"{plain}-{digest[:6]}"


def _digest(submission: Submission, settings: Settings) -> str:
    asked = asdict(settings)
    del asked["patience"]  # it decides whether there is a verdict, not which
    decided_by = [__version__, _code(HERE), find_assignment(settings.assignment).stamp, asdict(submission), asked]
    return hashlib.sha256(json.dumps(decided_by, sort_keys=True).encode()).hexdigest()[:32]


@functools.cache
def _code(folder: Path) -> str:
    """Of a clone that was brought up to date the version may be what it was: rubrics are known by their text."""
    texts = [path.read_bytes() for path in sorted([*folder.rglob("*.py"), *MASTERS.glob("lab*.py")])]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


def _kept(store: Path, submission: Submission, settings: Settings) -> Verdict | None:
    try:
        verdict = from_json((store / f"{_digest(submission, settings)}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return verdict if verdict.status == "graded" else None


# Which submissions resemble each other, as a hint and never a verdict: two students may have had the same idea.
#
# copydetect (MIT; winnowing after Schleimer, Wilkerson & Aiken, SIGMOD 2003, as MOSS has it) compares tokens, so that
# new names and comments hide nothing. What the template gives is left out, and the model solution counts as one more
# submission: the algorithms of PaceLab are public, and copying them is the likeliest copy.

NOISE_TOKENS, GUARANTEED_TOKENS = 25, 30
"""Matches shorter than the first are never reported, those longer than the second always."""
MOST_COMPARED = 1 << 17
"""Characters of a hand-in; the models have 5,000. A megabyte takes 12 s and much memory, and it may have 32."""
SHOWN_FROM = 0.8
MODEL = "the model solution"
MISSING = "similarity was not looked at: `pip install copydetect`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two files and how much of each (0..1) is in the other."""

    first: str
    second: str
    share_first: float
    share_second: float

    def describe(self) -> str:
        """One line."""
        return f"{self.first} ({self.share_first:.0%}) and {self.second} ({self.share_second:.0%} in common)"


def available() -> bool:
    """Whether copydetect is installed."""
    return importlib.util.find_spec("copydetect") is not None


def similar(
    submissions: Sequence[Submission], assignment: Assignment, on_done: Callable[[float], None] = lambda _share: None
) -> list[Pair]:
    """Pairs that share at least `SHOWN_FROM` of the smaller file, most alike first. Needs `available()`.

    `on_done` hears how much of all pairs was compared, 0..1.
    """
    template = _fingerprint("template", assignment.template, None)
    texts = [(submission.student, whole(submission)[:MOST_COMPARED]) for submission in submissions if submission.source]
    prints = {
        name: _fingerprint(name, text, list(template.hashes)) for name, text in [*texts, (MODEL, assignment.model)]
    }
    import copydetect  # type: ignore[import-untyped,unused-ignore]

    found = []
    pairs = list(combinations(prints, 2))
    for done, (first, second) in enumerate(pairs):
        on_done(done / len(pairs))
        if min(len(prints[first].hashes), len(prints[second].hashes)) == 0:
            continue
        _, (share_first, share_second), _ = copydetect.compare_files(prints[first], prints[second])
        if max(share_first, share_second) >= SHOWN_FROM:
            pair = Pair(first=first, second=second, share_first=float(share_first), share_second=float(share_second))
            found.append(pair)
    return sorted(found, key=lambda pair: (-max(pair.share_first, pair.share_second), pair.first, pair.second))


def whole(submission: Submission) -> str:
    """The graded file with what it imports."""
    return "\n".join([submission.source or "", *(text for _, text in submission.helpers)])


def _fingerprint(name: str, text: str, template: Any) -> Any:
    import copydetect

    return copydetect.CodeFingerprint(
        f"{name}.py",
        NOISE_TOKENS,
        GUARANTEED_TOKENS - NOISE_TOKENS + 1,
        boilerplate=[] if template is None else template,
        language="python",
        fp=io.StringIO(text),
    )
