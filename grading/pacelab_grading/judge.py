"""Runs an assignment's checks on one submission. What decides a score happens here, in the trusted process.

A check fails alone: whatever it stumbles over, the others run and the verdict is whole.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pacelab import HostError, __version__
from pacelab_grading.assignment import Assignment, Check, Finding, Number, Wrong
from pacelab_grading.lab import Lab, stream_key
from pacelab_grading.plain import plain
from pacelab_grading.receive.submission import Submission
from pacelab_grading.sandbox import Box, Limits, Walls
from pacelab_grading.session import (
    ASLEEP_AGAIN_S,
    ASLEEP_S,
    AnySession,
    Asleep,
    Endless,
    GraderError,
    NeedsCount,
    NotGraded,
    Raised,
    StudentFailure,
)

PASSED, PARTIAL, FAILED, MISSING, NOT_GRADED = "passed", "partial", "failed", "missing", "not graded"
MAX_COUNTED = 2
"""Checks repeated with steps counted, per submission: five seconds each. Further suspects stay "not graded" unless an
endless or fatal call was proven in the same place."""
OUT_OF_MEMORY = ("MemoryError", "SystemError")
"""What Python raises, by chance, where it could as well have died."""
WALL_S = 120.0
"""For one submission; what is left then is not graded. The models take 1 to 4 s of processor time."""
UNREAD = "what was handed in cannot be read here (its report says what): make it readable and grade again"
SHOWN_STEPS = 14
SHOWN_CHARACTERS = 4000
"""Of what was expected, what came and what was printed: a page, not a book."""
PROCESSES_PER_SUBMISSION = 64
SLOTS = 1024
"""Tell apart what is graded in parallel on this machine; they decide no score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of one check."""

    id: str
    title: str
    points: float
    earned: float
    status: str
    expected: str = ""
    got: str = ""
    hint: str = ""
    steps: tuple[str, ...] = ()
    """The last things done before it failed."""
    printed: str = ""
    picture: str = ""
    reference: tuple[str, ...] = ()
    """Names that were the reference's in this check, since the student's are wrong."""
    public: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """All of one submission."""

    student: str
    assignment: Number
    version: int
    title: str
    points: float
    """Earned, before any deduction for lateness."""
    total: float
    status: str
    """Says "graded", or "rerun" when a check was not graded."""
    results: tuple[Result, ...]
    problems: tuple[str, ...]
    """What was odd about the files handed in, with what to do."""
    notes: tuple[str, ...] = ()
    """How it was graded: sandbox, lab version."""
    received: tuple[str, ...] = ()
    """Every file that was handed in, and what became of it."""
    answers: tuple[str, ...] = ()
    """What the student wrote in words: for the instructor to read, without points."""
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """By what a submission is graded."""

    key: str = ""
    """The instructor's: it decides seeds and parameters."""
    individual: bool = False
    """The student's name decides them, too."""
    public_only: bool = False
    patience: float = 1.0
    """Lengthens every limit of time."""


Listener = Callable[[str, Any], None]
"""Hears "check" with its id before a check runs, "result" with what came of it."""


def judge(
    submission: Submission,
    assignment: Assignment,
    *,
    walls: Walls,
    limits: Limits | None = None,
    terms: Terms | None = None,
    only: Collection[str] | None = None,
    failed: Collection[str] = (),
    tell: Listener = lambda _kind, _value: None,
) -> Verdict:
    """Grade one submission. `only` leaves checks out, of which those in `failed` have failed before."""
    terms = terms or Terms()
    version = submission.version or assignment.version
    checks = [check for check in assignment.checks_for(version) if check.public or not terms.public_only]
    checks = [check for check in checks if only is None or check.id in only]
    lab_key = stream_key(f"{assignment.number}/{version}", terms.key, submission.student if terms.individual else "")
    grading = _Grading(submission, assignment, lab_key, terms.patience)
    grading.failed |= set(failed)
    with Box(walls, limits or Limits()) as box, grading:
        if submission.source is not None:
            box.put(assignment.file, submission.source, submission.helpers)
            grading.load(box)
        results = []
        for check in checks:
            tell("check", check.id)
            results.append(grading.grade(box, check))
            tell("result", results[-1])
    notes = (
        f"pacelab {__version__}, {assignment.label}/{version}",
        f"sandbox: {walls.describe()}" + (f"; {', '.join(grading.guards)}" if grading.guards else ""),
        *walls.notes,
    )
    return verdict_of(submission, assignment, results, problems=(*submission.problems, *grading.problems), notes=notes)


def verdict_of(
    submission: Submission,
    assignment: Assignment,
    results: Sequence[Result],
    *,
    problems: tuple[str, ...],
    notes: tuple[str, ...] = (),
) -> Verdict:
    """The sum of what the checks gave."""
    unsure = any(result.status == NOT_GRADED for result in results)
    return Verdict(
        student=submission.student,
        assignment=assignment.number,
        version=submission.version or assignment.version,
        title=assignment.title,
        points=round(sum(result.earned for result in results), 2),
        total=sum(result.points for result in results),
        status="rerun" if unsure else "graded",
        results=tuple(results),
        problems=problems,
        notes=notes,
        received=submission.received,
        answers=submission.answers,
    )


class _Grading:
    """The state of one submission while its checks run."""

    def __init__(self, submission: Submission, assignment: Assignment, key: bytes, patience: float) -> None:
        self._submission = submission
        self._assignment = assignment
        self._key = key
        self._patience = patience
        self._names: frozenset[str] = frozenset()
        self._ready: AnySession | None = None
        nothing = UNREAD if submission.unread else "nothing that can be graded was handed in"
        self._broken: str | None = None if submission.source is not None else nothing
        self._broken_status = NOT_GRADED if submission.unread else MISSING
        self._proven: dict[str, str] = {}
        """Of calls that computed for long, by their names: what was found when their steps were counted."""
        self._unproven: dict[str, str] = {}
        """The same where nothing was found in time: tried again, it would take the time of all other checks."""
        self._asleep_s = ASLEEP_S
        self._counted = 0
        self._until = time.monotonic() + WALL_S * patience
        self._memory: dict[str, dict[str, Any]] = {}
        self._boxes = ExitStack()
        self._model_box: Box | None = None
        self.failed: set[str] = set()
        """Checks that did not give all their points."""
        self.problems: list[str] = []
        self.guards: tuple[str, ...] = ()

    def __enter__(self) -> _Grading:
        return self

    def __exit__(self, *_: object) -> None:
        if self._ready is not None:
            self._ready.close()
        self._boxes.close()

    def load(self, box: Box) -> None:
        """Import the file once, to see what it defines. The process is kept for the first check that wants the same."""
        for counted in (False, True):
            with self._lab(box, counted=counted) as lab:
                try:
                    self._names, process = lab.load()
                    self.guards = lab.guards
                    if counted:
                        process.close()
                    else:
                        self._ready = process
                except NeedsCount:
                    self._counted += 1
                    continue
                except (NotGraded, GraderError, HostError) as failure:
                    self._broken, self._broken_status = str(failure), NOT_GRADED
                except StudentFailure as failure:
                    self._broken, self._broken_status = str(failure), FAILED
            break
        if self._broken is not None:
            self.problems.append(f"{self._assignment.file} cannot be imported: {self._broken}")
            return
        missing = [name for name in self._assignment.names if name not in self._names]
        if missing:
            found = ", ".join(sorted(self._names)[:20]) or "nothing"
            self.problems.append(
                f"{self._assignment.file} does not define {', '.join(missing)} (it defines {found}): "
                "points for these are missing; check the spelling against the template"
            )

    def grade(self, box: Box, check: Check) -> Result:
        """Run one check, again with steps counted if need be."""
        result = self._graded(box, check)
        if result.status != PASSED:
            self.failed.add(check.id)
        return result

    def _reference(self, check: Check) -> tuple[str, ...]:
        """What the check is built on, and is wrong."""
        version = self._submission.version or self._assignment.version
        wrong = tuple(
            name for name in check.above if self.failed & set(self._assignment.judged_by(name, version)) - {check.id}
        )
        if set(check.needs) <= set(wrong):  # some of what it is about stays the student's
            return tuple(name for name in wrong if name not in check.needs)
        return wrong

    def _graded(self, box: Box, check: Check) -> Result:
        if self._broken is not None:
            return _result(check, self._broken_status, _nothing(got=self._broken))
        missing = [name for name in check.needs if name not in self._names]
        if missing:
            return _result(check, MISSING, _nothing(f"{', '.join(missing)} in your file", "not there"))
        if time.monotonic() > self._until:
            return _result(check, NOT_GRADED, _nothing(got="the time for this submission was over: not graded, rerun"))
        reference = self._reference(check)
        best = self._tried(box, check, reference)
        if reference and best.earned < check.points:  # what the student's own parts have more than was asked for
            own = self._tried(box, check, ())
            best = own if own.earned > best.earned else best
        return best

    def _tried(self, box: Box, check: Check, reference: tuple[str, ...]) -> Result:
        result = self._run(box, check, reference, counted=False)
        return result if result is not None else self._suspect(box, check, reference)

    def _suspect(self, box: Box, check: Check, reference: tuple[str, ...]) -> Result:
        """A call computed for long: endless, or only slow?"""
        if proven := self._proven.get(self._last_doing):
            return _result(check, FAILED, _nothing("an answer", proven))
        if unproven := self._unproven.get(self._last_doing):
            return _result(check, NOT_GRADED, _nothing("an answer", unproven))
        if self._counted >= MAX_COUNTED:
            return _result(check, NOT_GRADED, _nothing(got="too slow, again: not graded, rerun with --patience"))
        self._counted += 1
        result = self._run(box, check, reference, counted=True)
        assert result is not None  # only an uncounted call asks for counting
        return result

    _last_doing = ""

    def _run(self, box: Box, check: Check, reference: tuple[str, ...], *, counted: bool) -> Result | None:
        started = time.monotonic()
        with self._lab(box, counted=counted, reference=reference) as lab:
            status, finding = FAILED, _nothing()
            try:
                finding = check.run(lab) or Finding(share=1.0, expected="", got="")
                status = PASSED if finding.share >= 1 else PARTIAL if finding.share > 0 else FAILED
            except NeedsCount as suspect:
                self._last_doing = str(suspect).partition("(")[0]
                return None
            except Wrong as wrong:
                finding = wrong.finding
            except (NotGraded, GraderError, HostError) as failure:
                status, finding = NOT_GRADED, _nothing("an answer", str(failure))
                if counted and isinstance(failure, NotGraded):
                    self._unproven[str(failure).partition("(")[0]] = f"as above: {failure}"
            except StudentFailure as failure:
                doing = str(failure).partition("(")[0]
                if isinstance(failure, Endless):
                    self._proven[doing] = f"{doing}() computes on and on, as was proven above: an endless loop?"
                elif isinstance(failure, Asleep):
                    self._asleep_s = ASLEEP_AGAIN_S
                # The process is gone, and would be again.
                elif counted and (not isinstance(failure, Raised) or failure.type in OUT_OF_MEMORY):
                    self._proven[doing] = f"as above: {failure}"
                finding = _nothing("an answer", str(failure))
            except Exception as error:  # of ours: a check that was not ready for this code
                status, finding = NOT_GRADED, _stumbled(error, lab)
            steps = lab.steps
        return _result(
            check,
            status,
            finding,
            reference=reference,
            steps=() if status == PASSED else tuple(steps[-SHOWN_STEPS:]),
            printed="\n".join(lab.printed),
            seconds=time.monotonic() - started,
        )

    def _lab(self, box: Box, *, counted: bool, reference: tuple[str, ...] = ()) -> Lab:
        ready, self._ready = self._ready, None
        if ready is not None and (counted or reference):  # it was started without: two at once would be one user
            ready.close()
            ready = None
        return Lab(
            box=box,
            ready=ready,
            file=self._assignment.file,
            key=self._key,
            first_number=os.getpid() % SLOTS * PROCESSES_PER_SUBMISSION,
            counted=counted,
            patience=self._patience,
            asleep_s=self._asleep_s,
            memory=self._memory,
            reference=reference,
            model=partial(self._model, box),
        )

    def _model(self, like: Box) -> tuple[Box, str]:
        """A box with the model solution, where nothing of the student's runs, and its text."""
        if self._model_box is None:
            self._model_box = self._boxes.enter_context(Box(like.walls, like.limits))
            self._model_box.put(self._assignment.file, self._assignment.model)
        return self._model_box, self._assignment.model


def not_graded(check: Check, why: str) -> Result:
    """What stands for a check that nothing came of."""
    return _result(check, NOT_GRADED, _nothing("an answer", why))


def _nothing(expected: str = "", got: str = "") -> Finding:
    return Finding(share=0.0, expected=expected, got=got)


def _stumbled(error: Exception, lab: Lab) -> Finding:
    """What to say of an exception in a check. It is no verdict on the code that brought it about."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = "" if place is None else f" in {place.tb_frame.f_code.co_name}, line {place.tb_lineno}"
    last = f" after {lab.steps[-1]}" if lab.steps else ""
    failed = f"the check itself failed{last}: {type(error).__name__}: {error}{where}: not graded; please report it"
    return _nothing("a check that is ready for every answer", failed)


def _result(
    check: Check,
    status: str,
    finding: Finding,
    *,
    steps: Sequence[str] = (),
    printed: str = "",
    reference: tuple[str, ...] = (),
    seconds: float = 0.0,
) -> Result:
    return Result(
        id=check.id,
        title=check.title,
        points=check.points,
        earned=round(check.points * min(1.0, max(0.0, finding.share)), 2),
        status=status,
        expected=plain(finding.expected, SHOWN_CHARACTERS),
        got=plain(finding.got, SHOWN_CHARACTERS),
        hint="" if status == PASSED else check.hint,
        steps=tuple(plain(step, SHOWN_CHARACTERS) for step in steps),
        printed=plain(printed, SHOWN_CHARACTERS, lines=True),
        picture=finding.picture,
        reference=reference,
        public=check.public,
        seconds=round(seconds, 3),
    )
