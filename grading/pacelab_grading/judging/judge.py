"""Runs the checks of an assignment on one submission. Everything that decides a score happens here, in the trusted
process.

Each check fails alone: whatever happens in it, the other checks run and the verdict is complete.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pacelab import HostError, PaceLabError, __version__
from pacelab_grading.receive.submission import Submission
from pacelab_grading.rubric.assignment import Assignment, Check
from pacelab_grading.rubric.context import CheckContext, RunJson, stream_key
from pacelab_grading.rubric.findings import Finding, WrongAnswer
from pacelab_grading.rubric.verdict import (
    FAILED,
    MISSING,
    NOT_GRADED,
    PARTIAL,
    PASSED,
    Result,
    Verdict,
    no_points,
    result_of,
)
from pacelab_grading.sandbox.box import Box, Limits, Walls
from pacelab_grading.sandbox.failures import (
    CpuLimit,
    GraderError,
    IdleTimeout,
    NeedsCount,
    NotGraded,
    OutputLimit,
    Raised,
    StepLimit,
    StudentFailure,
)
from pacelab_grading.sandbox.session import IDLE_AGAIN_S, IDLE_S, AnySession

REFERENCE_TIMES = 50
"""In a second attempt, a process may use so many times the processor time of the model solution's busiest process."""
SECOND_CPU_S = 20.0
"""... but at least this; 50 million counted steps take 4 s."""
LATER_CPU_S = 2.0
"""... or this, if second attempts that failed have used `FAILED_CPU_S`: a hand-in with many endless functions."""
FAILED_CPU_S = 50.0
SUBMISSION_CPU_S = 300.0
"""For all attempts of one submission; the model solutions need 1 s. The checks left after it fail."""
OUT_OF_MEMORY = ("MemoryError", "SystemError")
"""Exceptions that Python raises by chance in a situation in which the process may also die."""
WALL_S = 1800.0
"""For one submission; the checks left after it are not graded. Reached only on a machine that gives the submission
almost no processor time."""
UNREAD = "this machine cannot read what was handed in (the report says why): make it readable and grade again"
PROCESSES_PER_SUBMISSION = 64
MOST_RAISED = 5
"""Exceptions of top-level statements that a report shows."""
SLOTS = 1024
"""Distinguish the processes that grade in parallel on this machine; they do not influence any score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradingTerms:
    """The conditions under which a submission is graded."""

    key: str = ""
    """The instructor's secret: it determines the hidden seeds and parameters. Empty: they are the public ones."""
    individual: bool = False
    """The student's name also determines the hidden ones."""
    public_only: bool = False
    time_factor: float = 1.0
    """Multiplies every time limit."""


_reference_cpu_s: dict[tuple[str, str, bytes], float] = {}
"""Assignment, check and key -> processor time of the model solution."""

Listener = Callable[[str, Any], None]
"""Called with "check" and its id before a check runs, and with "result" and its result after it."""


def judge(
    submission: Submission,
    assignment: Assignment,
    *,
    walls: Walls,
    limits: Limits | None = None,
    terms: GradingTerms | None = None,
    only: Collection[str] | None = None,
    failed: Collection[str] = (),
    listener: Listener = lambda _kind, _value: None,
) -> Verdict:
    """Grade one submission. `only` selects checks; those in `failed` have failed in an earlier process."""
    terms = terms or GradingTerms()
    version = submission.version or assignment.version
    checks = [check for check in assignment.checks_for(version) if check.public or not terms.public_only]
    checks = [check for check in checks if only is None or check.id in only]
    stamp = f"{assignment.number}/{version}"
    hidden = stream_key(stamp, terms.key, submission.student if terms.individual else "")
    grading = _SubmissionRun(submission, assignment, keys=(stream_key(stamp, ""), hidden), terms=terms)
    grading.failed |= set(failed)
    with Box(walls, limits or Limits()) as box, grading:
        if submission.source is not None:
            box.put(assignment.file, submission.source, submission.helpers)
            grading.load(box)
        results = []
        for check in checks:
            listener("check", check.id)
            results.append(grading.grade(box, check))
            listener("result", results[-1])
    notes = (
        f"pacelab {__version__}, {assignment.label}/{version}",
        f"sandbox: {walls.describe()}" + (f"; {', '.join(grading.guards)}" if grading.guards else ""),
        *walls.notes,
    )
    return verdict_of(
        submission,
        assignment,
        results,
        problems=(*submission.problems, *grading.problems),
        notes=notes,
        unreadable=grading.unreadable,
    )


def verdict_of(
    submission: Submission,
    assignment: Assignment,
    results: Sequence[Result],
    *,
    problems: tuple[str, ...],
    notes: tuple[str, ...] = (),
    unreadable: bool = False,
) -> Verdict:
    """The verdict with these results."""
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
        unreadable=unreadable and not unsure,
    )


class _SubmissionRun:
    """The state of one submission while its checks run."""

    def __init__(
        self, submission: Submission, assignment: Assignment, *, keys: tuple[bytes, bytes], terms: GradingTerms
    ) -> None:
        self._submission = submission
        self._assignment = assignment
        self._public_key, self._hidden_key = keys
        self._key = self._hidden_key
        """Of the check that runs."""
        self._time_factor = terms.time_factor
        self._names: frozenset[str] = frozenset()
        self._ready: AnySession | None = None
        reason = UNREAD if submission.unread else "nothing that can be graded was handed in"
        self._broken: str | None = None if submission.source is not None else reason
        self._broken_status = NOT_GRADED if submission.unread else MISSING
        self._proven: dict[str, str] = {}
        """Name of a call that computed for long -> what the second attempt proved."""
        self._idle_s = IDLE_S
        self._cpu_s = self._failed_cpu_s = 0.0
        """Processor time of all attempts, and of second attempts that failed."""
        self._until = time.monotonic() + WALL_S * terms.time_factor
        self._memory: dict[str, RunJson] = {}
        self._boxes = ExitStack()
        self._model_box: Box | None = None
        self.failed: set[str] = set()
        """Checks that did not give all of their points."""
        self.problems: list[str] = []
        self.guards: tuple[str, ...] = ()

    @property
    def unreadable(self) -> bool:
        """Whether no check could run: the file cannot be imported, or defines nothing that is asked for."""
        return self._broken is not None or self._names.isdisjoint(self._assignment.names)

    def __enter__(self) -> _SubmissionRun:
        return self

    def __exit__(self, *_: object) -> None:
        if self._ready is not None:
            self._ready.close()
        self._boxes.close()

    def load(self, box: Box) -> None:
        """Import the file once to see what it defines. The first check that can use the process gets it."""
        raised: list[Raised] = []
        for cpu_limit_s in (None, SECOND_CPU_S):
            with self._context(box, cpu_limit_s=cpu_limit_s) as context:
                try:
                    self._names, process = context.load()
                    self.guards, raised = context.guards, context.raised
                    if cpu_limit_s is None:
                        self._ready = process
                    else:
                        process.close()
                except NeedsCount:
                    continue
                except (NotGraded, GraderError, HostError) as failure:
                    self._broken, self._broken_status = str(failure), NOT_GRADED
                except StudentFailure as failure:
                    self._broken, self._broken_status = str(failure), FAILED
            break
        if self._broken is None and raised and not self._names.intersection(self._assignment.names):
            self._broken, self._broken_status = str(raised[0]), FAILED
        if self._broken is not None:
            self.problems.append(f"{self._assignment.file} cannot be imported: {self._broken}")
            return
        self.problems += [f"{error}; the other statements were read" for error in raised[:MOST_RAISED]]
        if len(raised) > MOST_RAISED:
            self.problems.append(f"importing your file raised {len(raised) - MOST_RAISED} more exceptions")
        missing = [name for name in self._assignment.names if name not in self._names]
        if missing:
            found = ", ".join(sorted(self._names)[:20]) or "nothing"
            self.problems.append(
                f"{self._assignment.file} does not define {', '.join(missing)} (it defines {found}): "
                "these earn no points; compare the spelling with the template"
            )
            self._report_inner_definitions(missing)

    def _report_inner_definitions(self, missing: Sequence[str]) -> None:
        source = self._submission.source or ""
        inner = [
            name for name in missing if re.search(rf"^[ \t]+(?:async )?(?:def|class) {name}\b", source, re.MULTILINE)
        ]
        if inner:
            self.problems.append(
                f"{', '.join(inner)}: defined only inside a class or function; define each at the start of a line"
            )

    def grade(self, box: Box, check: Check) -> Result:
        """Run one check, if necessary a second time with steps counted."""
        self._key = self._public_key if check.public else self._hidden_key
        result = self._best_result(box, check)
        repeats = check.public and not check.simulates  # no table can answer a simulator
        if repeats and result.earned and self._hidden_key != self._public_key:
            self._key = self._hidden_key
            result = _lower(result, self._best_result(box, check))
        if result.status != PASSED:
            self.failed.add(check.id)
        return result

    def _reference(self, check: Check) -> tuple[str, ...]:
        """The names that the check builds on and that fail their own checks."""
        version = self._submission.version or self._assignment.version
        wrong = tuple(
            name
            for name in check.builds_on
            if self.failed & set(self._assignment.judged_by(name, version)) - {check.id}
        )
        if set(check.needs) <= set(wrong):  # the code that the check judges stays the student's
            return tuple(name for name in wrong if name not in check.needs)
        return wrong

    def _best_result(self, box: Box, check: Check) -> Result:
        if self._broken is not None:
            return result_of(check, self._broken_status, no_points(got=self._broken))
        missing = [name for name in check.needs if name not in self._names]
        if missing:
            return result_of(check, MISSING, no_points(f"{', '.join(missing)} in your file", "it is not defined"))
        if time.monotonic() > self._until:
            return result_of(check, NOT_GRADED, no_points(got="this machine is too busy: not graded, rerun"))
        if self._cpu_s > SUBMISSION_CPU_S * self._time_factor:
            used = f"the checks before this one used {self._cpu_s:.0f} s of processor time: far more than is needed"
            return result_of(check, FAILED, no_points("an answer", used))
        reference = self._reference(check)
        best = self._result(box, check, reference)
        if reference and best.earned < check.points:  # the code may use more of its own parts than was asked for
            own = self._result(box, check, ())
            best = own if own.earned > best.earned else best
        return best

    def _result(self, box: Box, check: Check, reference: tuple[str, ...]) -> Result:
        result = self._run(box, check, reference)
        return result if result is not None else self._second_result(box, check, reference)

    def _second_result(self, box: Box, check: Check, reference: tuple[str, ...]) -> Result:
        """A call computed for long: find out whether it is endless or only slow."""
        if proven := self._proven.get(self._last_doing):
            return result_of(check, FAILED, no_points("an answer", proven))
        result = self._run(box, check, reference, cpu_limit_s=self._cpu_limit_s(box, check))
        assert result is not None  # only a first attempt asks for a second one
        return result

    def _cpu_limit_s(self, box: Box, check: Check) -> float:
        """The limit of processor time for a second attempt, before the time factor."""
        least_s = SECOND_CPU_S if self._failed_cpu_s < FAILED_CPU_S * self._time_factor else LATER_CPU_S
        return max(least_s, REFERENCE_TIMES * self._reference_cpu_s(box, check))

    def _reference_cpu_s(self, box: Box, check: Check) -> float:
        """Processor time of the model solution's busiest process in this check, measured once for each key."""
        known = (str(self._assignment.number), check.id, self._key)
        if known not in _reference_cpu_s:
            model, _ = self._model(box)
            context = replace(self._context(model), memory={})
            with context, contextlib.suppress(PaceLabError, StudentFailure, WrongAnswer):
                check.run(context)
            _reference_cpu_s[known] = context.busiest_cpu_s
        return _reference_cpu_s[known]

    _last_doing = ""

    def _run(
        self, box: Box, check: Check, reference: tuple[str, ...], *, cpu_limit_s: float | None = None
    ) -> Result | None:
        """The result of one attempt; None if a second attempt is needed."""
        context = self._context(box, cpu_limit_s=cpu_limit_s, reference=reference)
        try:
            return self._attempt(context, check)
        finally:
            self._cpu_s += context.cpu_s

    def _attempt(self, context: CheckContext, check: Check) -> Result | None:
        started = time.monotonic()
        second = context.cpu_limit_s is not None
        exhausted = False
        with context:
            status, finding = FAILED, no_points()
            try:
                finding = check.run(context) or Finding(share=1.0, expected="", got="")
                status = PASSED if finding.share >= 1 else PARTIAL if finding.share > 0 else FAILED
            except NeedsCount as suspect:
                self._last_doing = str(suspect).partition("(")[0]
                return None
            except WrongAnswer as wrong:
                finding = wrong.finding
            except (NotGraded, GraderError, HostError) as failure:
                status, finding = NOT_GRADED, no_points("an answer", str(failure))
            except StudentFailure as failure:
                doing = str(failure).partition("(")[0]
                exhausted = second and isinstance(failure, StepLimit | CpuLimit)
                if isinstance(failure, StepLimit):
                    self._proven[doing] = f"{doing}() does not end, as was proven above: an endless loop?"
                elif isinstance(failure, IdleTimeout):
                    self._idle_s = IDLE_AGAIN_S
                # The process died; it would die again.
                elif second and (not isinstance(failure, Raised) or failure.type in OUT_OF_MEMORY):
                    self._proven[doing] = f"{doing}() fails as above, where it {_ended_how(failure)}"
                finding = no_points("an answer", str(failure))
            except Exception as error:  # a bug in our check, which did not expect this code
                status, finding = NOT_GRADED, _check_crashed(error, context)
            steps = context.steps
        if exhausted:
            self._failed_cpu_s += context.cpu_s
        return result_of(
            check,
            status,
            finding,
            reference=context.reference,
            steps=() if status == PASSED else tuple(steps),
            printed="\n".join(context.printed),
            seconds=time.monotonic() - started,
        )

    def _context(self, box: Box, *, cpu_limit_s: float | None = None, reference: tuple[str, ...] = ()) -> CheckContext:
        ready, self._ready = self._ready, None
        if ready is not None and (cpu_limit_s is not None or reference):
            ready.close()  # it started without; two processes at once would share a user
            ready = None
        return CheckContext(
            box=box,
            ready=ready,
            file=self._assignment.file,
            key=self._key,
            first_number=os.getpid() % SLOTS * PROCESSES_PER_SUBMISSION,
            cpu_limit_s=cpu_limit_s,
            time_factor=self._time_factor,
            idle_s=self._idle_s,
            memory=self._memory,
            reference=reference,
            model=partial(self._model, box),
        )

    def _model(self, like: Box) -> tuple[Box, str]:
        """A separate box with the model solution, and its text."""
        if self._model_box is None:
            self._model_box = self._boxes.enter_context(Box(like.walls, like.limits))
            self._model_box.put(self._assignment.file, self._assignment.model)
        return self._model_box, self._assignment.model


def _ended_how(failure: StudentFailure) -> str:
    """In words, without the arguments of the call: a public check may show it, and a hidden one may have found it."""
    if isinstance(failure, CpuLimit):
        return "used too much processor time"
    if isinstance(failure, Raised):
        return f"raised {failure.type}"
    return "used too much memory, output or time" if isinstance(failure, OutputLimit) else "ended its process"


def _lower(public: Result, hidden: Result) -> Result:
    """The result of a public check, which students see at once: the same check with hidden numbers may only lower it.

    Nothing of the hidden numbers is shown. Without them, a table of the public answers would earn the points.
    """
    if hidden.status != NOT_GRADED and hidden.earned >= public.earned:
        return public
    got = "this machine is too busy: not graded, rerun" if hidden.status == NOT_GRADED else "a wrong answer for others"
    return replace(
        public,
        earned=hidden.earned,
        status=hidden.status,
        expected="right answers for other numbers than those of `pacelab check` as well",
        got=got,
        hint=hidden.hint,
        reference=hidden.reference,
        seconds=round(public.seconds + hidden.seconds, 3),
    )


def _check_crashed(error: Exception, context: CheckContext) -> Finding:
    """Describes an exception in a check. It is no verdict on the code that caused it."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = "" if place is None else f" in {place.tb_frame.f_code.co_name}, line {place.tb_lineno}"
    last = f" after {context.steps[-1]}" if context.steps else ""
    failed = f"the check itself failed{last}: {type(error).__name__}: {error}{where}: not graded; please report it"
    return no_points("a check that handles every answer", failed)
