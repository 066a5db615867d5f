"""A submission stops no other: only its own checks fail, its verdict is complete, and its grading ends."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pacelab_grading.assignments import ASSIGNMENTS, find_assignment
from pacelab_grading.inside import wire
from pacelab_grading.judging import judge as judge_module
from pacelab_grading.judging import process as process_module
from pacelab_grading.judging.judge import judge
from pacelab_grading.judging.process import BatchSettings, JudgeProcess
from pacelab_grading.labs.rubrics import LABS
from pacelab_grading.receive.submission import Submission
from pacelab_grading.records.report import html_report, text_report
from pacelab_grading.rubric import context as context_module
from pacelab_grading.rubric.context import CheckContext
from pacelab_grading.rubric.verdict import NOT_GRADED, Verdict
from pacelab_grading.sandbox.box import Limits, Walls
from pacelab_grading.sandbox.failures import Malformed, Raised
from pacelab_grading.sandbox.session import LocalSession
from pacelab_grading.text.answers import InvalidAnswer, checked_answer
from pacelab_grading.text.printable import printable

Judge = Callable[..., Verdict]
SETTINGS = BatchSettings(assignment=3, weak_walls=True)
HEAD = 'PACELAB_ASSIGNMENT = "3/1"\nimport os, sys\n'
DELAY = HEAD + "def four_hop_delay_ns(rtt_ns, data_bytes, ack_bytes, rates_bps):\n"
NO_WALLS = Walls(bubblewrap=None, own_user=False, cgroup=None, none=True)

RESULTS = {
    "None because of a missing return": ("pass", "None, which is not a number"),
    "a number of 400 digits": ("return 10**400", "a whole number of 1329 bits"),
    "a number beyond floats": ("return 10**4000", "a whole number of|not JSON"),
    "half a surrogate pair": ("return '\\ud800'", r"\\ud800.*which is not a number"),
    "half a surrogate pair in an exception": ("raise ValueError('\\udcff')", r"raised ValueError: \\udcff"),
    "an exception whose text is none": (
        "class E(Exception):\n        def __str__(self): raise KeyError\n    raise E",
        "the process ended|raised",
    ),
    "lists in lists": ("return [[[[[[1]]]]]]", "which is not a number|where a plain value was asked for"),
    "escapes for a terminal": ("raise ValueError('\\x1b[2J\\x07')", r"\\x1b\[2J\\x07"),
    "a right-to-left override": ("raise ValueError('\\u202e')", r"\\u202e"),
    "a long text": ("return 'x' * 200_000", "which is not a number"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_an_unusual_answer_is_a_verdict(best: Walls, grade: Judge, name: str) -> None:
    body, says = RESULTS[name]
    verdict = grade(f"{DELAY}    {body}\n", best, only=("equal-rates",))
    text = text_report(verdict)
    assert verdict.status == "graded", text
    assert verdict.points == 0
    assert re.search(says, text), text
    assert "\x1b" not in text + html_report(verdict)
    (text + html_report(verdict) + json.dumps(verdict.problems)).encode()


STALLS = {
    "reads the question with tee, so that the pipe stays full": """
    import ctypes, fcntl
    libc = ctypes.CDLL(None)
    for fd in range(3, 64):
        try: fcntl.fcntl(fd, 1031, 4096)
        except OSError: pass
    fd = os.pipe() if False else None
    from pacelab_grading.inside import wire
    old = wire.read_exactly
    def read_exactly(descriptor, count):
        while True: libc.tee(descriptor, 1, 1, 0)
    wire.read_exactly = read_exactly
    return 24e6
""",
    "never reads another question": """
    from pacelab_grading.inside import wire
    import threading
    def read_exactly(descriptor, count):
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
    wire.read_exactly = read_exactly
    return 24e6
""",
    "answers in drips": """
    from pacelab_grading.inside import wire
    old = wire.write_all
    def drip(descriptor, frame):
        import time
        for index in range(len(frame) - 1):
            until = time.monotonic() + 0.05
            while time.monotonic() < until: pass
            old(descriptor, frame[index:index + 1])
        while True: pass
    wire.write_all = drip
    return 24e6
""",
    "takes its answer back out of the pipe": """
    readers = []
    for fd in range(3, 64):
        try: readers.append(os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_NONBLOCK))
        except OSError: pass
    from pacelab_grading.inside import wire
    old = wire.write_all
    def again(descriptor, frame):
        while True:
            old(descriptor, frame[:1])
            for reader in readers:
                try: os.read(reader, 9)
                except OSError: pass
    wire.write_all = again
    return 24e6
""",
}


@pytest.mark.parametrize("name", STALLS)
def test_no_pipe_blocks_the_grader(best: Walls, grade: Judge, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_module, "SECOND_CPU_S", 1.0)
    began = time.monotonic()
    verdict = grade(DELAY + STALLS[name].strip("\n") + "\n", best, only=("equal-rates",))
    assert verdict.points == 0, text_report(verdict)
    assert verdict.results[0].got
    assert time.monotonic() - began < 60


def test_a_process_that_does_not_read_questions_times_out(best: Walls, grade: Judge) -> None:
    """The question is longer than the pipe's buffer, so a blocking write would never return."""
    from pacelab_grading.sandbox.box import Box
    from pacelab_grading.sandbox.failures import IdleTimeout
    from pacelab_grading.sandbox.session import Session

    source = (
        "def f(x):\n    import threading\n    from pacelab_grading.inside import wire\n"
        "    def stop(*_):\n        lock = threading.Lock()\n        lock.acquire()\n        lock.acquire()\n"
        "    wire.read_exactly = stop\n    return 1\n"
    )
    with Box(best) as box:
        box.put("f.py", source)
        with Session(box, "f.py", number=7, idle_s=0.5) as session:
            session.request("load")
            assert session.request("call", None, "f", [1], {}) == 1
            with pytest.raises(IdleTimeout):
                session.request("call", None, "f", ["x" * 500_000], {}, doing="f()")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "body",
    [
        "    sys.setrecursionlimit(10**9)\n    def f(): return f()\n    return f()\n",
        # That process may end by chance in this way:
        "    sum(range(5 * 10**7))\n    raise SystemError('error return without exception set')\n",
    ],
)
def test_a_process_that_dies_in_its_second_attempt_fails_each_time(best: Walls, grade: Judge, body: str) -> None:
    only = ("equal-rates", "unequal-rates")
    verdict = grade(f"import sys\n{DELAY}{body}", best, only=only, limits=Limits(memory_bytes=200 << 20))
    assert verdict.status == "graded", text_report(verdict)
    assert verdict.points == 0


def test_prints_are_shown_and_bounded(best: Walls, grade: Judge) -> None:
    verdict = grade(f"{DELAY}    print('\\x1b[31mhello', 'x' * 9000)\n    return 1\n", best, only=("equal-rates",))
    printed = verdict.results[0].printed
    assert printed.startswith(r"\x1b[31mhello xxx")
    assert 4000 <= len(printed) < 4200
    assert "hello" in text_report(verdict)
    crashed = grade(f"{DELAY}    print('last words')\n    os._exit(1)\n", best, only=("equal-rates",))
    assert "last words" in crashed.results[0].printed


def test_a_check_that_crashes_fails_alone(best: Walls, monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(lab: CheckContext) -> None:
        lab.step("ask for the moon")
        raise KeyError("moon")

    first, second, *_ = find_assignment(3).checks
    assignment = replace(find_assignment(3))
    object.__setattr__(assignment, "checks", (replace(first, run=stumble), second))
    model = (assignment.path / "model.py").read_text(encoding="utf-8")
    verdict = judge(Submission(student="s", source=model), assignment, walls=best)
    assert [result.status for result in verdict.results] == [NOT_GRADED, "passed"]
    assert "the check itself failed after ask for the moon: KeyError" in verdict.results[0].got
    assert verdict.status == "rerun"


def test_a_judge_that_is_killed_costs_one_check(engine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The effect is that of a crash of the engine: the other checks are graded in another process."""
    lab = LABS["lab3"]
    # From the second check on, the file is loaded again. The judge is killed during that, and the grader may notice it
    # late.
    slow = lab.model + "\nsum(range(3 * 10**6))\n"
    ids = [check.id for check in lab.checks]
    heard: list[str] = []
    do = JudgeProcess._do

    def killing(self: JudgeProcess, job: Mapping[str, Any], *limits_s: float) -> Iterator[tuple[str, Any]]:
        for kind, value in do(self, job, *limits_s):
            heard.append(kind)
            yield kind, value
            if heard.count("check") == 2 and kind == "check":
                assert self._process is not None
                os.kill(self._process.pid, signal.SIGKILL)

    monkeypatch.setattr(JudgeProcess, "_do", killing)
    with JudgeProcess() as judge_process:
        verdict = judge_process.judge(
            Submission(student="s", source=slow), BatchSettings(assignment="lab3", weak_walls=True)
        )
    lost = [result for result in verdict.results if result.status == NOT_GRADED]
    assert [result.id for result in lost] in [[name] for name in ids[1:]]
    assert "the grader's own process died (signal 9)" in lost[0].got
    assert [result.id for result in verdict.results] == ids
    assert verdict.points == 100 - lost[0].points


def test_a_machine_that_lacks_something_is_no_crash_of_the_grader(
    engine: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import errno, tempfile\n"
        "def full(*_, **__): raise OSError(errno.ENOSPC, 'No space left on device')\n"
        "tempfile.mkdtemp = full\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with JudgeProcess() as judge_process:
        verdict = judge_process.judge(Submission(student="s", source="1\n"), SETTINGS)
    assert verdict.status == "rerun"
    reason = f"not graded: the sandbox cannot be made in {tempfile.gettempdir()} (No space left on device); make room"
    assert {result.got.startswith(reason) for result in verdict.results} == {True}


def test_the_outer_deadline_holds_whatever_the_judge_does(engine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_module, "WALL_S", 0.5)
    monkeypatch.setattr(process_module, "GRACE_S", 1.0)
    began = time.monotonic()
    with JudgeProcess() as judge_process:
        verdict = judge_process.judge(Submission(student="s", source="while True: pass\n"), SETTINGS)
        assert "its time was used up" in verdict.results[-1].got
        assert {result.status for result in verdict.results} == {NOT_GRADED}
        assert time.monotonic() - began < 30
        monkeypatch.undo()  # and the next one is graded
        again = judge_process.judge(Submission(student="t", source="1 / 0\n"), SETTINGS)
    assert again.status == "graded"
    assert "ZeroDivisionError" in again.problems[0]


def test_the_death_of_the_reader_is_reported() -> None:
    with JudgeProcess() as judge_process:
        judge_process._started().kill()
        found = judge_process.read("s", {"gateway_pacer.py": b"x = 1\n"}, find_assignment(3))
        if found.source is None:  # the process was killed before it read
            assert "what was handed in cannot be read" in found.problems[-1]
        assert judge_process.read("s", {"gateway_pacer.py": b"x = 1\n"}, find_assignment(3)).source == "x = 1\n"


@pytest.mark.parametrize(
    "value", [10**400, -(10**19), float("inf"), float("nan"), {"a": 1}, [[[[[[[[[[[[[[1]]]]]]]]]]]]]], [0] * 60_000]
)
def test_answers_out_of_bounds_are_invalid(value: Any) -> None:
    with pytest.raises(InvalidAnswer):
        checked_answer(value)


def test_an_exponent_cannot_make_infinity() -> None:
    with pytest.raises(InvalidAnswer, match="not finite"):
        checked_answer(wire.decode(b"[1e999]"))


def test_printable_text_shows_hidden_characters() -> None:
    assert printable("a\x1b\u202e\ud800\nü✓") == r"a\x1b\u202e\ud800\nü✓"
    assert printable("a\nb", lines=True) == "a\nb"
    assert printable("abcdef", 3) == "abc..."


# Arbitrary answers to every question of every check. `make fuzz` does this for an hour.


class Fuzzed:
    """Replaces a session and gives unexpected answers."""

    guards: tuple[str, ...] = ()
    printed = ""

    def __init__(self, names: list[str], draw: random.Random) -> None:
        self._names = names
        self._draw = draw
        self.requests = 0

    def request(self, operation: str, *_arguments: Any, doing: str = "") -> Any:
        self.requests += 1
        if operation == "load":
            return self._names
        if self._draw.random() < 0.03:
            kind = self._draw.choice(["ValueError", "X"])
            raise Raised({"type": kind, "kinds": kind, "text": "t", "where": ""}, doing)
        value = hook_answer(self._draw) if operation in ("seen", "sent", "timeout") else anything(self._draw)
        try:
            return checked_answer(value)
        except InvalidAnswer as error:
            raise Malformed(str(error)) from None

    def close(self) -> None:
        """Does nothing: no process runs."""


ODD = (None, True, False, 0, 1, -1, 2**61, -(2**61), 0.0, -0.0, 1e-308, 1e308, 0.5, "", "share", "x", [], [None], [[]])


def anything(draw: random.Random, depth: int = 3) -> Any:
    """A JSON value, often an unusual one."""
    kind = draw.randrange(6)
    if kind < 3 or not depth:
        return draw.choice(ODD)
    if kind == 3:
        return draw.randrange(-20, 20)
    if kind == 4:
        return draw.uniform(-1e9, 1e9)
    return [anything(draw, depth - 1) for _ in range(draw.randrange(4))]


def hook_answer(draw: random.Random) -> Any:
    """Often a valid shape, otherwise any value."""
    if draw.random() < 0.2:
        return anything(draw)
    names = ("Forward", "Drop", "Resend", "Release", "Rewrite", "SetExtraBackoff", "Inject", "x")
    actions = [
        [draw.choice(names), draw.randrange(-1, 12), *([draw.choice(ODD)] * draw.randrange(3))]
        for _ in range(draw.randrange(3))
    ]
    at_ns = draw.choice((draw.randrange(10**10), -1, 0, 1.0, None, "soon"))
    return [actions, draw.choice((None, [at_ns, "r"], [at_ns], at_ns))]


def fuzz(number: int | str, seed: int, monkeypatch: pytest.MonkeyPatch, *, simulated: bool = False) -> int:
    """Judge a session with such answers. Returns the number of answers."""
    assignment = replace(find_assignment(number))
    kept = tuple(check for check in assignment.checks if simulated or not check.simulates)
    object.__setattr__(assignment, "checks", kept)
    draw = random.Random(seed)
    made: list[Fuzzed] = []

    def session(self: CheckContext) -> Fuzzed:
        made.append(Fuzzed(list(assignment.names), draw))
        self._names = frozenset(assignment.names)
        return made[-1]

    monkeypatch.setattr(CheckContext, "session", session)
    verdict = judge(Submission(student="s", source="x = 1\n"), assignment, walls=NO_WALLS)
    stumbled = [(result.id, result.got) for result in verdict.results if "the check itself failed" in result.got]
    assert not stumbled, (seed, stumbled)
    html_report(verdict).encode()
    return sum(item.requests for item in made)


@pytest.mark.parametrize("number", [*ASSIGNMENTS, *(name for name in LABS if name != "lab7")])
def test_checks_are_ready_for_any_answer(number: int | str, monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = number in ("lab0", "lab4")
    asked = sum(fuzz(number, seed, monkeypatch, simulated=simulated) for seed in range(30))
    assert asked > (300 if isinstance(number, int) else 50)


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_the_capstone_is_ready_for_any_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(fuzz("lab7", seed, monkeypatch, simulated=True) for seed in range(5)) > 15


def test_the_students_own_modules_are_imported_and_counted(best: Walls) -> None:
    model = find_assignment(3).model
    head, tail = model.split("class PaceEstimator:")
    main = "from parts.delay import *\nfrom parts.delay import four_hop_delay_ns\n\nclass PaceEstimator:" + tail
    assignment = replace(find_assignment(3))
    asked = ("equal-rates", "short-path", "spacing", "per-flow")
    object.__setattr__(assignment, "checks", tuple(check for check in assignment.checks if check.id in asked))

    def points(delay: str, limits: Limits | None = None) -> Verdict:
        source = 'PACELAB_ASSIGNMENT = "3/1"\n' + main
        submission = Submission(student="s", source=source, helpers=(("parts/delay.py", delay),))
        return judge(submission, assignment, walls=best, limits=limits)

    right = points(head)
    assert right.points == right.total, text_report(right)
    assert "is next" not in text_report(right)
    few = Limits(steps_per_call=2_000_000)
    endless = points(head.replace("    ahead = per_byte[:4]\n", "    while True: pass\n"), few)
    assert endless.status == "graded"
    assert "an endless loop?" in text_report(endless)
    assert f"next: stage 1 of {len(assignment.checks)}, " in text_report(endless)
    assert "run with the model solution's four_hop_delay_ns" in text_report(endless)


@pytest.mark.parametrize(
    "number", [pytest.param(number, marks=[pytest.mark.thorough] if number > 2 else []) for number in ASSIGNMENTS]
)
def test_no_two_checks_share_a_process(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that read the file serves one check at most, so a check's side effects reach no other."""
    asked: list[set[str]] = []
    now = "load"

    class Noted(LocalSession):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.number = len(asked)
            asked.append(set())

        def request(self, *arguments: Any, **keywords: Any) -> Any:
            asked[self.number].add(now)
            return super().request(*arguments, **keywords)

    def tell(kind: str, value: Any) -> None:
        nonlocal now
        now = str(value) if kind == "check" else now

    monkeypatch.setattr(context_module, "LocalSession", Noted)
    assignment = find_assignment(number)
    verdict = judge(Submission(student="s", source=assignment.model), assignment, walls=NO_WALLS, listener=tell)
    assert verdict.points == verdict.total
    assert all(len(checks - {"load"}) <= 1 for checks in asked), asked
    assert [checks for checks in asked if "load" in checks] == [asked[0]]
    assert len(asked) > 1


def test_a_machine_that_is_too_slow_to_read_a_file_gives_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_module, "READ_WALL_S", 0.0)
    with JudgeProcess() as process:
        found = process.read("s", {"gateway_pacer.py": b"x = 1\n"}, find_assignment(3))
    assert (found.source, found.unread) == (None, True)
    assert found.problems == ("what was handed in could not be read within 0 s: not graded, rerun",)


def test_a_file_that_takes_much_processor_time_to_read_is_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The load of the machine does not count. A new process reads the next file."""
    monkeypatch.setattr(process_module, "READ_S", 0.05)
    slow = b"".join(b"def f%d(a): return [a, {a: (a, a)}]\n" % number for number in range(20_000))
    with JudgeProcess() as process:
        found = process.read("s", {"gateway_pacer.py": slow}, find_assignment(3))
        assert (found.source, found.unread) == (None, False)
        said = "what was handed in cannot be read (it takes more than 0.05 s of processor time)"
        assert found.problems == (f"{said}: hand in gateway_pacer.py as plain text",)
        verdict = judge(found, find_assignment(3), walls=NO_WALLS)
        assert (verdict.unreadable, verdict.status) == (True, "graded")
        assert process.read("t", {"gateway_pacer.py": b"x = 1\n"}, find_assignment(3)).source == "x = 1\n"
