"""Code in a style that cannot be graded: its report says what to do."""

from __future__ import annotations

import gc
import random
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from pacelab import Drop, Forward
from pacelab_grading.assignments import find_assignment
from pacelab_grading.handout import NO_WALLS
from pacelab_grading.inside import wire
from pacelab_grading.inside.worker import MOST_YIELDED, Worker, describe, drain, json_value, make_random_reproducible
from pacelab_grading.judging.judge import GradingTerms, judge
from pacelab_grading.receive.submission import Submission
from pacelab_grading.rubric.context import MAX_STEPS, CheckContext, call_text
from pacelab_grading.rubric.expect import exactly, near
from pacelab_grading.rubric.findings import WrongAnswer
from pacelab_grading.rubric.verdict import Verdict
from pacelab_grading.sandbox.box import Walls
from pacelab_grading.sandbox.failures import Raised
from pacelab_grading.text.source_file import READER
from pacelab_labs import exercise

ASSIGNMENT = find_assignment(3)
MAIN = 'remove it, or put it under `if __name__ == "__main__":`'


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("import numpy as np", "only Python's standard library and your own files are available"),
        ("from pacelab import run", "the sandbox has only the parts of pacelab"),
        ("import pacelab; pacelab.run('chain')", MAIN),
        ("import pacelab.air", "the sandbox has only the parts of pacelab"),
        ("import time; time.sleep(0.01)", "no files, programs, threads, network, sleep"),
        ("import threading; threading.Thread(target=print).start()", "no files, programs, threads"),
        ("import logging; logging.basicConfig(filename='my.log')", "no files, programs"),
        ("import tempfile; tempfile.mkdtemp()", "no files, programs"),
        ("open('data.csv')", "write the data into one of them, as Python"),
        ("input('name? ')", "there is no keyboard input while it is graded"),
        ("from .helpers import dist", "remove the dot"),
        ("raise SystemExit(0)", f"it exits instead of answering: {MAIN}"),
        ("quit()", f"only Python's prompt has it: {MAIN}"),
        ("get_ipython().run_line_magic('matplotlib', 'inline')", "remove the line, or hand in the notebook"),
    ],
)
def test_impossible_actions_get_advice(
    line: str, says: str, best: Walls, grade: Callable[..., Verdict], model: str
) -> None:
    verdict = grade(f"{line}\n{model}", best, only=("equal-rates",))
    assert verdict.points == verdict.total
    assert says in verdict.problems[0]


@pytest.mark.parametrize(
    ("kind", "text"),
    [("SystemExit", "0"), ("EOFError", "EOF when reading a line"), ("PermissionError", "[Errno 1]")],
)
def test_advice_for_a_called_function_is_to_remove_the_code(kind: str, text: str) -> None:
    raised = str(Raised({"type": kind, "kinds": "", "text": text, "where": ""}, "GatewayPacer.handle()"))
    assert raised.endswith(": remove it")


def test_a_number_that_is_not_finite_is_described_without_a_sandbox(model: str) -> None:
    text = model.replace("return sqrt(", "return float('nan') * sqrt(")
    checks = tuple(check for check in ASSIGNMENT.checks if check.id == "variation")
    assignment = replace(ASSIGNMENT)
    object.__setattr__(assignment, "checks", checks)
    (result,) = judge(Submission(student="s", source=text), assignment, walls=NO_WALLS, terms=GradingTerms()).results
    assert result.status == "failed"
    assert result.got.endswith("a number that is not finite (nan, inf) was returned")


def test_a_deadline_of_another_form_is_described() -> None:
    hook = SimpleNamespace(poll_action=lambda: None, deadline=lambda: 7)
    with pytest.raises(TypeError, match=re.escape("deadline() returned 7, not (at_ns, reason) or None")):
        drain(hook)


@pytest.mark.parametrize("returned", [Forward(1), [Drop(1, "full")]])
def test_a_returned_action_is_reported_with_the_right_method(returned: object) -> None:
    given: list[Forward | None] = [None, Forward(2)]
    hook = SimpleNamespace(poll_action=lambda: given.pop(), deadline=lambda: None)
    assert drain(hook, returned) == [[["Forward", 2, False]], None]
    given[:] = [None]
    with pytest.raises(TypeError, match=r"was returned: let poll_action\(\) return it"):
        drain(hook, returned)


def test_missing_newer_names_are_reported_without_paths_of_this_machine() -> None:
    with pytest.raises(ImportError) as caught:
        exec("from typing import of_a_newer_python")
    raised = str(Raised(describe(caught.value), "f()"))
    assert (
        raised == f"f() raised ImportError: cannot import name 'of_a_newer_python' from 'typing': is it newer? {READER}"
    )


def test_advice_for_a_number_of_another_type() -> None:
    text = "a Fraction was returned where a plain value was asked for"
    error = {"type": "TypeError", "kinds": "TypeError", "text": text, "where": ""}
    assert str(Raised(error, "f()")).endswith("return numbers, texts or lists of them: float(...), list(...)")


def test_advice_for_an_answer_that_is_too_large(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def interval(): return 'x' * 10**6\n")
    worker = Worker(str(tmp_path / "mine.py"), answers=-1, requests=-1)
    assert worker.reply(["", "load"])[1] == "ok"
    frame = worker.frame(["", "call", None, "interval", [], {}])
    error = wire.decode(frame[wire.HEADER_BYTES :])[2]
    assert str(Raised(error, "f()")).endswith("this is far more than a check asks for: return the answer only")


def test_numbers_that_differ_are_shown_with_enough_digits() -> None:
    with pytest.raises(WrongAnswer) as caught:
        near(1_440_000 / 7, 205_714, what="bound")
    assert (caught.value.finding.expected, caught.value.finding.got) == ("bound = 205,714.286", "205,714")


def test_random_numbers_without_a_seed_are_reproducible(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn() -> list[float]:
        with monkeypatch.context() as patch:
            for name, value in list(vars(random).items()):
                patch.setattr(random, name, value)
            make_random_reproducible()
            first = [random.random(), random.Random().random(), random.Random().random(), random.choice([0.1, 0.2])]
            random.seed()
            return [*first, random.random(), random.Random(5).random()]

    first = drawn()
    assert first == drawn()
    assert len(set(first)) == 6
    assert first[-1] == random.Random(5).random()


def test_async_def_is_reported_without_a_python_warning(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    (tmp_path / "mine.py").write_text(
        "async def interval(): return 1\nclass Hook:\n    async def handle_timeout(self, now_ns): pass\n"
        "class Yields:\n    def handle_timeout(self, now_ns): yield\n"
    )
    worker = Worker(str(tmp_path / "mine.py"), answers=-1, requests=-1)
    assert worker.reply(["", "load"])[1] == "ok"
    assert worker.reply(["", "new", "Hook", {}])[2] == 0
    for question in (["call", None, "interval", [], {}], ["timeout", 0, 5]):
        _, outcome, error = worker.reply(["", *question])
        assert outcome == "raised"
        assert str(Raised(error, "f()")).endswith("nothing awaits it: write `def` instead of `async def`")
    assert worker.reply(["", "new", "Yields", {}])[2] == 1
    _, _, error = worker.reply(["", "timeout", 1, 5])
    assert str(Raised(error, "f()")).endswith("remove `yield`")
    gc.collect()
    assert not recwarn.list


def test_an_iterator_counts_as_its_values() -> None:
    assert json_value(number for number in (1.5, 2.5)) == [1.5, 2.5]
    assert json_value([map(str, (1, 2)), 3]) == [["1", "2"], 3]
    assert len(json_value(count())) == MOST_YIELDED == exercise.MOST_YIELDED


@pytest.mark.parametrize("kind", ["ValueError", "ZeroDivisionError", "NameError", "ImportError", "TypeError"])
def test_an_exception_of_the_code_gets_no_advice(kind: str) -> None:
    error = {"type": kind, "kinds": kind, "text": "of my own: PermissionError: no", "where": "line 3"}
    raised = Raised(error, "f()")
    assert str(raised) == f"f() raised {kind}: of my own: PermissionError: no (line 3)"


def test_steps_end_with_the_last_one_and_show_random_numbers() -> None:
    lab = CheckContext(box=None, file="", key=b"")  # type: ignore[arg-type]
    for number in range(MAX_STEPS + 5):
        lab.step(str(number))
    assert lab.steps[:2] == ["(6 earlier steps)", "6"]
    assert (len(lab.steps), lab.steps[-1]) == (MAX_STEPS, str(MAX_STEPS + 4))
    assert call_text((1,), {"uniform": {"$draws": [0.25]}}) == "1, uniform=<draws [0.25]>"
    assert call_text(({"$random": 0.5},), {}) == "<draws 0.5>"
    sample = {"$sample": [0.1, 0.00911836218123566, 6, 11_000_000.0, 1023, 40]}
    assert call_text((sample,), {}).endswith(", data_bytes=1023, ack_bytes=40)")


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ("__import__('fractions').Fraction(1, 4)", 0.25),
        ("__import__('decimal').Decimal('0.5')", 0.5),
        ("{1: 2}.values()", [2]),
        ("range(3)", [0, 1, 2]),
        ("__import__('collections').deque([1])", [1]),
        ("__import__('numpy').int64(3)", 3),
        ("__import__('numpy').float64(0.25)", 0.25),
        ("__import__('numpy').bool_(True)", True),
        ("__import__('numpy').array(2)", 2),
        ("__import__('numpy').array([1, 2])", [1, 2]),
        ("__import__('numpy').array([[1.5], [2.5]])", [[1.5], [2.5]]),
        ("{'a': __import__('numpy').float32(0.5)}", [["a", 0.5]]),
        ("[__import__('fractions').Fraction(1, 2), __import__('decimal').Decimal(3)]", [0.5, 3.0]),
    ],
)
def test_values_that_mean_a_plain_value_are_accepted(returned: str, expected: object) -> None:
    assert json_value(eval(returned)) == expected


def test_1_and_0_count_as_truth_values() -> None:
    exactly(True, 1, what="x")
    exactly(False, 0, what="x")
    for expected, got in ((1, True), (True, 2), (True, "yes")):
        with pytest.raises(WrongAnswer):
            exactly(expected, got, what="x")
