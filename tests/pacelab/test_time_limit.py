"""User code that does not return is interrupted, with threads and without them."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import pacelab
from pacelab.air import congestion
from pacelab.user_code import time_limit
from pacelab.user_code.messages import UserCodeError, user_traceback
from pacelab.user_code.time_limit import NeverEnds, StepLimit, ThreadLimit, TimeLimit, run_limited

LIMIT_S = 0.1
MONITORED = pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.11 removes a trace function that raises")


@pytest.fixture(params=[ThreadLimit, StepLimit])
def way(request: pytest.FixtureRequest) -> type[TimeLimit]:
    kind: type[TimeLimit] = request.param
    return kind


def limit_of(way: type[TimeLimit], limit_s: float = LIMIT_S, raises: type[BaseException] = NeverEnds) -> TimeLimit:
    return way(limit_s, raises=raises, again_s=limit_s)


def spin() -> None:
    while True:
        pass


def spin_with_calls() -> None:
    def one_more(number: int) -> int:
        return number + 1

    number = 0
    while number >= 0:
        number = one_more(number)


def spin_over_an_iterator() -> None:
    for _ in itertools.count():
        pass


def sum_an_endless_generator() -> int:
    def ones() -> Iterator[int]:
        while True:
            yield 1

    return sum(ones())


def recurse(number: int = 200) -> int:
    return recurse(number - 1) + recurse(number - 2) if number > 1 else number


def spin_in_a_library() -> None:
    """The endless loop is in code of Python's library."""
    import statistics

    statistics.mean(itertools.count())


@pytest.mark.parametrize(
    "endless",
    [spin, spin_with_calls, spin_over_an_iterator, sum_an_endless_generator, recurse, spin_in_a_library],
)
def test_a_call_that_does_not_return_is_interrupted(way: type[TimeLimit], endless: Callable[[], object]) -> None:
    began_s = time.monotonic()
    with pytest.raises(NeverEnds) as caught:
        run_limited(limit_of(way), endless)
    assert time.monotonic() - began_s >= LIMIT_S
    told = user_traceback(caught.value)
    assert f"in {endless.__name__}" in told
    assert time_limit.__file__ not in told


def test_a_calls_result_or_exception_is_passed_on(way: type[TimeLimit]) -> None:
    limit = limit_of(way)
    assert run_limited(limit, divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        run_limited(limit, divmod, 7, 0)


def test_each_call_has_the_whole_time_and_nothing_is_limited_between(way: type[TimeLimit]) -> None:
    def work(work_s: float) -> int:
        end_s, steps = time.monotonic() + work_s, 0
        while time.monotonic() < end_s:
            steps += 1
        return steps

    limit = limit_of(way, 0.5)
    assert all(run_limited(limit, work, 0.2) > 0 for _ in range(4))
    assert work(0.7) > 0


def test_the_outer_of_two_limits_ends_the_outer_call(way: type[TimeLimit]) -> None:
    class OuterLimit(BaseException):
        pass

    inner = limit_of(way, 60.0)

    def call() -> None:
        try:
            run_limited(inner, spin)
        except NeverEnds:
            pytest.fail("the inner call had time left")

    with pytest.raises(OuterLimit):
        run_limited(limit_of(way, raises=OuterLimit), call)
    assert run_limited(inner, int) == 0


@MONITORED
def test_without_threads_a_loop_that_catches_everything_is_ended() -> None:
    def stubborn() -> None:
        while True:
            try:  # noqa: SIM105 - a user would write this
                spin()
            except BaseException:
                pass

    with pytest.raises(NeverEnds):
        run_limited(limit_of(StepLimit), stubborn)


PACED = """\
import pacelab

class Mine(pacelab.Pacer):
    def measured(self, sample):
        self.interval_s = sample.rtt_s / 2

class Endless(pacelab.Pacer):
    def measured(self, sample):
        while True:
            pass
"""


def test_a_run_without_threads_has_the_same_result_and_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.py"
    file.write_text(PACED)
    chain = pacelab.Experiment(direction="down", duration_s=3, scheme=f"{file}:Mine")
    with_threads = pacelab.run(chain).run
    monkeypatch.setattr(time_limit, "HAS_THREADS", False)
    monkeypatch.setattr("pacelab.user_code.waiting.HAS_THREADS", False)
    monkeypatch.setattr(threading.Thread, "start", lambda _: pytest.fail("a thread"))
    assert pacelab.run(chain).run == with_threads
    monkeypatch.setattr(congestion, "TIME_LIMIT_S", LIMIT_S)
    with pytest.raises(UserCodeError, match=r"(?s)mine\.py.*in measured.*had not returned after 0\.1 s"):
        pacelab.run(chain.vary(scheme=f"{file}:Endless"))


AT_EXIT = """
import atexit, sys
atexit.register(lambda: print(sys.monitoring.get_events(4)))
from pacelab.user_code.time_limit import NeverEnds, StepLimit
limit = StepLimit(1.0, raises=NeverEnds, again_s=1.0)
limit.begin(print)
limit.end()
assert sys.monitoring.get_events(4)
"""


@MONITORED
def test_monitoring_stops_before_python_takes_its_modules_away() -> None:
    """Otherwise objects that end after them print errors of the callback."""
    ran = subprocess.run([sys.executable, "-c", AT_EXIT], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("0\n", "")
