from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Lock
from types import FrameType
from typing import Any

import pytest

from pacelab import HostError
from pacelab_grading.assignments import find_assignment
from pacelab_grading.judging.judge import GradingTerms, Listener, judge
from pacelab_grading.judging.process import BatchSettings, JudgeProcess
from pacelab_grading.receive.submission import Submission
from pacelab_grading.rubric.verdict import Verdict
from pacelab_grading.sandbox.box import Limits, Walls, walls

Judge = Callable[..., Verdict]
Graded = Callable[[Listener], Verdict]
TIMEOUT_S, AGAIN_S = 2.0, 0.05


@pytest.fixture(autouse=True)
def linux() -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("the sandbox needs Linux: run this in WSL2, a VM or a container")


@pytest.fixture(params=["bubblewrap", "fallback"])
def around(request: pytest.FixtureRequest) -> Walls:
    """Both kinds of walls."""
    try:
        found = walls(weak=True, bubblewrap=request.param == "bubblewrap")
    except HostError as error:
        pytest.skip(str(error))
    if request.param == "bubblewrap" and found.bubblewrap is None:
        pytest.skip(f"no bubblewrap: {found.notes[0]}")
    return found


@pytest.fixture
def best() -> Walls:
    """The best walls that this machine has."""
    return walls(weak=True)


@pytest.fixture
def model() -> str:
    return (find_assignment(3).path / "model.py").read_text(encoding="utf-8")


@pytest.fixture
def grade(engine: None) -> Judge:
    """Grade a source text as a submission of an assignment."""

    def run(
        source: str,
        around: Walls,
        *,
        number: int = 3,
        only: tuple[str, ...] = (),
        limits: Limits | None = None,
        **terms: object,
    ) -> Verdict:
        assignment = replace(find_assignment(number))
        if only:
            kept = tuple(check for check in assignment.checks if check.id in only)
            object.__setattr__(assignment, "checks", kept)  # bypasses the rule that points sum to 100
        return judge(
            Submission(student="s", source=source), assignment, walls=around, limits=limits, terms=GradingTerms(**terms)
        )  # type: ignore[arg-type]

    return run


class _Caught(Exception):
    """A check has found a fault."""


def _stops(kind: str, value: Any) -> None:
    """Observes the results of checks and stops at the first that takes points."""
    if kind == "result" and value.earned < value.points:
        raise _Caught


@pytest.fixture
def earns_all() -> Iterator[Callable[[Graded], bool]]:
    """Whether a source earns all points. The first check that takes points is the last one to run. An endless loop in
    this process ends by an exception after `TIMEOUT_S` of processor time. The exception is raised again and again.
    """

    def late(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError

    def call(graded: Graded) -> bool:
        signal.setitimer(signal.ITIMER_PROF, TIMEOUT_S, AGAIN_S)
        try:
            verdict = graded(_stops)
        except (TimeoutError, _Caught):
            return False
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        return verdict.points == verdict.total

    before = signal.signal(signal.SIGPROF, late)
    yield call
    signal.signal(signal.SIGPROF, before)


@pytest.fixture(scope="session")
def judge_process() -> Iterator[JudgeProcess]:
    """One process that reads hand-ins."""
    with JudgeProcess() as made:
        yield made


@pytest.fixture
def one_judge_process(judge_process: JudgeProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """`pacelab grade` uses this process for all hand-ins: starting one takes most of the time of a test."""
    one_at_a_time = Lock()

    class Shared:
        def judge(self, submission: Submission, settings: BatchSettings) -> Verdict:
            with one_at_a_time:
                return judge_process.judge(submission, settings)

        def stop(self) -> None: ...

        def close(self) -> None: ...

    process = lambda _time_factor: contextlib.nullcontext(judge_process)  # noqa: E731
    monkeypatch.setattr("pacelab_grading.grade.received.JudgeProcess", process)
    monkeypatch.setattr("pacelab_grading.grade.batch.JudgeProcess", Shared)


@pytest.fixture
def in_home(tmp_path: Path) -> Path:
    return tmp_path
