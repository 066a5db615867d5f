"""A self-check explains the error within its time limit, whatever a student's code does."""

from __future__ import annotations

import contextlib
import gc
import importlib
import math
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import count
from random import Random
from typing import Any, ClassVar

import numpy as np
import pytest

from pacelab import ConfigError, Experiment, LinkLayer, Pacer, Sample, lab, run_pacer
from pacelab.console import Interrupted
from pacelab.user_code import time_limit
from pacelab.user_code.messages import UserCodeError
from pacelab_labs import exercise
from pacelab_labs.check import EXERCISES, SelfCheck
from pacelab_labs.exercise import Case, Exercise, call_limited
from pacelab_labs.hints import HINTS

NAME = "test.goodput"
GOODPUT = Exercise(
    asks="the goodput in bit/s",
    cases=(
        Case(
            arguments={"delivered_pkts": 100, "payload_bytes": 1460, "seconds": 10.0},
            expected=116_800.0,
            source="100 packets of 11,680 bits in 10 s",
            mistakes={
                14_600.0: "that is the goodput in bytes per second; a byte has 8 bits.",
                120_000.0: "that includes the 40 bytes of headers; goodput counts only the payload.",
                1_168_000.0: "that is the number of bits; divide it by the number of seconds.",
            },
        ),
        Case(
            arguments={"delivered_pkts": 0, "payload_bytes": 1460, "seconds": 5.0},
            expected=0.0,
            source="nothing delivered",
        ),
    ),
)
"""An exercise only for this test."""
RIGHT = "expected 116800 (100 packets of 11,680 bits in 10 s)"


@pytest.fixture(autouse=True)
def goodput_exercise(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("pacelab_labs.check")
    monkeypatch.setattr(module, "EXERCISES", EXERCISES | {NAME: GOODPUT})


def complaint(work: Any, name: str = NAME) -> str:
    with pytest.raises(lab.CheckFailed) as caught:
        lab.check(name, work)
    return str(caught.value)


def test_check_passes_what_is_right(capsys: pytest.CaptureFixture[str]) -> None:
    lab.check(NAME, lambda delivered_pkts, payload_bytes, seconds: delivered_pkts * payload_bytes * 8 / seconds)
    assert capsys.readouterr().out.startswith("✓ test.goodput")


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (lambda **_: None, "got None: does every path return the result?"),
        (lambda **_: math.nan, "got NaN"),
        (lambda **_: math.inf, "got inf"),
        (lambda **_: "116800", "got str '116800'; it must be a number"),
        (lambda **_: [1, 2], "got list [1, 2]; it must be a number"),
        (lambda **_: True, "got bool True; it must be a number"),
        (lambda **_: 10**400, "it must be a single number (int too large to convert to float)"),
        (lambda **_: 10**5000, "got int of thousands of digits; it must be a single number"),
        (lambda **_: 1 / 0, "it raised ZeroDivisionError: division by zero"),
        (lambda **_: exit(3), "it raised SystemExit: 3"),
        (lambda **_: input("goodput? "), "it raised EOFError: input() does not work in a check"),
        (lambda **_: 5, "got 5, which is too small."),
        (lambda delivered_pkts, payload_bytes, seconds: delivered_pkts * payload_bytes / seconds, "a byte has 8 bits"),
    ],
)
def test_check_explains_a_wrong_result(work: Callable[..., Any], told: str) -> None:
    own = SelfCheck()
    for attempt in (1, 2, 3, 4):
        with pytest.raises(lab.CheckFailed) as caught:
            own.check(NAME, work)
        assert (RIGHT in str(caught.value)) is (attempt >= 3)
        assert told in str(caught.value)
        assert "It should return the goodput in bit/s" in str(caught.value)


def test_a_wrong_border_of_the_controller_is_named() -> None:
    """Each of its four borders belongs to one side."""

    def strict(mos: float, rate_kbps: float) -> float:
        return rate_kbps * (1.05 if mos > 3.9 else 1.03 if mos > 3.7 else 0.9 if mos > 3.6 else 0.5)

    def loose(mos: float, rate_kbps: float) -> float:
        return rate_kbps * (1.05 if mos >= 3.9 else 1.03 if mos >= 3.7 else 0.9 if mos >= 3.6 else 0.5)

    assert "3.7 itself belongs to the case from Q_fair on" in complaint(strict, "lab5.controller")
    assert "3.9 itself is not above Q_good" in complaint(loose, "lab5.controller")


def test_a_check_that_passed_gives_hints_again(capsys: pytest.CaptureFixture[str]) -> None:
    own = SelfCheck()
    for _ in range(3):
        with pytest.raises(lab.CheckFailed):
            own.check(NAME, lambda **_: 5)
    own.check(NAME, lambda delivered_pkts, payload_bytes, seconds: delivered_pkts * payload_bytes * 8 / seconds)
    with pytest.raises(lab.CheckFailed) as caught:
        own.check(NAME, lambda **_: 5)
    assert RIGHT not in str(caught.value)
    assert "✓" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("got", "hint"),
    [
        (116_800_000, "1000 times too large: check the units"),
        (116.8, "1000 times too small: check the units"),
        (-116_800, "the sign is wrong"),
        (130_000, "which is too large."),
        (0, "which is too small."),
    ],
)
def test_hint_says_the_direction_or_the_unit(got: float, hint: str) -> None:
    assert hint in complaint(lambda **_: got)


def test_check_of_something_that_is_no_function() -> None:
    assert "expected a function that returns the goodput in bit/s; got int 3" in complaint(3)


@pytest.mark.parametrize(
    ("work", "found"),
    [(lambda d, p, s: d * p * 8 / s, "d, p, s"), (lambda: 1, "none"), (lambda seconds, *rest: 1, "seconds, rest")],
)
def test_check_of_a_function_with_renamed_parameters_names_the_parameters(work: Callable[..., Any], found: str) -> None:
    work.__name__ = "goodput_bps"
    assert complaint(work).split("\n")[0] == (
        f"✗ test.goodput: the parameters of goodput_bps must be delivered_pkts, payload_bytes, seconds, not {found}. "
        "Keep the parameters' names."
    )


def test_check_of_a_method_with_a_renamed_parameter_names_the_parameter() -> None:
    class Renamed(Pacer):
        def measured(self, new: Sample) -> None:  # type: ignore[override]
            self.interval_s = new.rtt_s

    told = complaint(Renamed, "lab4.pacer")
    assert "the parameters of measured must be sample, not new. Keep the parameters' names." in told


def test_check_names_the_students_own_line() -> None:
    def broken(delivered_pkts: int, payload_bytes: int, seconds: float) -> float:
        return undefined_name * 8  # type: ignore[name-defined, no-any-return]  # noqa: F821

    assert "NameError" in complaint(broken)
    assert "of broken, in the line `return undefined_name * 8" in complaint(broken)


def test_check_names_the_students_line_that_called_a_library() -> None:
    def deviation(**_: Any) -> float:
        return statistics.stdev([1.0])

    assert "of deviation, in the line `return statistics.stdev([1.0])`" in complaint(deviation)


def test_check_ends_an_endless_loop_in_time(within: Callable[..., None]) -> None:
    def endless(**_: Any) -> None:
        while True:
            pass

    def ended_s() -> float:
        started = time.monotonic()
        assert "it did not return within 3 s. Is there an endless loop?" in complaint(endless)
        return time.monotonic() - started

    within(5, ended_s)


def test_check_outlasts_a_loop_that_catches_everything() -> None:
    running = True

    def stubborn() -> None:
        while running:
            with contextlib.suppress(BaseException):  # what a student should not write
                time.sleep(0.01)

    outcome = call_limited(stubborn, {}, limit_s=0.1)
    running = False
    assert "restart the kernel" in outcome.failure


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads are not available, as in a browser."""
    for module in (exercise, time_limit):
        monkeypatch.setattr(module, "HAS_THREADS", False)
    monkeypatch.setattr(threading.Thread, "start", lambda _: pytest.fail("a thread"))


@pytest.mark.usefixtures("no_threads")
def test_check_ends_an_endless_loop_without_threads() -> None:
    def endless() -> None:
        while True:
            pass

    assert call_limited(lambda: 7, {}, limit_s=0.1).value == 7
    outcome = call_limited(endless, {}, limit_s=0.1)
    assert outcome.failure == "it did not return within 0.1 s. Is there an endless loop?"


@pytest.mark.usefixtures("no_threads")
def test_a_check_without_threads_can_be_interrupted() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="the check"):
        call_limited(interrupted, {}, limit_s=60)


def test_check_is_the_same_after_work_that_changed_its_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    def careless(arrivals_ms: list[float], frame_ms: float) -> float:
        arrivals_ms.clear()
        return frame_ms

    def right(arrivals_ms: list[float], frame_ms: float) -> float:
        free_ms = 0.0
        for at_ms in arrivals_ms:
            free_ms = max(at_ms, free_ms) + frame_ms
        return free_ms

    assert "arrivals_ms=[0.0, 0.0, 0.0, 0.0]" in complaint(careless, "lab1.one_queue")
    lab.check("lab1.one_queue", right)
    assert "✓" in capsys.readouterr().out


def test_check_of_an_exercise_not_yet_written() -> None:
    def untouched(**_: Any) -> None:
        raise lab.Todo

    with pytest.raises(lab.Todo, match="write the function; it should return the goodput"):
        lab.check(NAME, untouched)


def test_a_check_that_is_stopped_stops_the_student_s_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop must not continue during later cells, and no traceback of our code may be shown."""
    began, ended, waited = threading.Event(), threading.Event(), threading.Thread.join
    presses = iter([KeyboardInterrupt])

    def endless() -> None:
        try:
            began.set()
            while True:
                pass
        finally:
            ended.set()

    def join(thread: threading.Thread, limit_s: float | None = None) -> None:
        for press in presses:
            assert began.wait(60)
            raise press
        waited(thread, limit_s)

    monkeypatch.setattr(threading.Thread, "join", join)
    with pytest.raises(Interrupted, match="the check"):
        call_limited(endless, {}, limit_s=60)
    assert ended.wait(60)


def test_stops_show_as_one_text_in_a_notebook() -> None:
    assert lab.CheckFailed("a\nb")._render_traceback_() == ["a\nb"]
    assert lab.Todo()._render_traceback_() == ["TODO: write this cell, then run it again."]
    with pytest.raises(lab.Todo) as caught:
        exec("raise lab.Todo", {"lab": lab})
    assert str(caught.value) == "TODO: write this cell, then run it again."


def test_long_lines_break_between_words_in_a_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    """JupyterLab breaks them inside words."""
    words = "word " * 30
    (told,) = lab.CheckFailed(f"short\n  {words}")._render_traceback_()
    assert told == "short\n  " + ("word " * 19).strip() + "\n  " + ("word " * 11).strip()
    (told,) = ConfigError(words)._render_traceback_()
    assert told == "ConfigError: " + ("word " * 17).strip() + "\n" + ("word " * 13).strip()
    SelfCheck().hint("lab1.reuse")
    shown = capsys.readouterr().out
    assert max(map(len, shown.split("\n"))) <= 100
    assert " ".join(shown.split()).endswith(" ".join(HINTS["lab1.reuse"][0].split()))


def test_a_cell_that_calls_what_is_not_written_yet_names_it() -> None:
    """The cell that calls it belongs to the lab, so "write this cell" would be wrong."""
    with pytest.raises(lab.Todo) as caught:
        Unwritten().measured(None)  # type: ignore[arg-type]
    assert str(caught.value) == f"TODO: {UNWRITTEN}"


UNWRITTEN = "measured is not written yet: replace its `raise lab.Todo`, run that cell, then run this cell again."


CLASSES = ("link_red", "pacer", "delay_window")
"""These exercises ask for a class. All others ask for a function."""
STRANGE = (None, "x", [1], {"a": 1}, (1, 2), ([[1]], [2]), 10**400, 10**5000, [10**400], math.nan, np.zeros(3), print)


@pytest.mark.parametrize("name", [name for name in EXERCISES if name.split(".")[1] not in CLASSES])
@pytest.mark.parametrize("given", STRANGE, ids=lambda given: f"{type(given).__name__}")
def test_the_check_answers_any_return_value_with_a_sentence(name: str, given: Any) -> None:
    with pytest.raises(lab.CheckFailed) as caught:
        SelfCheck().check(name, lambda **_: given)
    assert max(map(len, str(caught.value).split("\n"))) < 300


@pytest.mark.parametrize("number", [Fraction, Decimal])
def test_a_number_that_costs_points_when_it_is_graded_is_not_called_right(number: Callable[[float], Any]) -> None:
    def goodput_bps(delivered_pkts: int, payload_bytes: int, seconds: float) -> Any:
        return number(delivered_pkts * payload_bytes * 8 / seconds)

    with pytest.raises(lab.CheckFailed, match=r"it must be an int or a float\. Return float\(\.\.\.\)"):
        SelfCheck().check("test.goodput", goodput_bps)


def test_an_async_def_is_reported_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    async def goodput_bps(**_: Any) -> float:
        return 1.0

    with pytest.raises(lab.CheckFailed, match="the check does not await it: write `def` instead of `async def`"):
        SelfCheck().check("test.goodput", goodput_bps)
    gc.collect()
    assert not recwarn.list


class Unshown:
    """An object whose repr raises an exception."""

    def __repr__(self) -> str:
        return self.name  # type: ignore[attr-defined, no-any-return]

    def __float__(self) -> float:
        raise RuntimeError("no number yet")


@pytest.mark.parametrize("name", [name for name in EXERCISES if name.split(".")[1] not in CLASSES])
def test_an_object_that_cannot_be_shown_is_answered_in_words(name: str) -> None:
    with pytest.raises(lab.CheckFailed, match="Unshown whose repr raises AttributeError"):
        SelfCheck().check(name, lambda **_: Unshown())


def leave_ms(arrivals_ms: list[float], interval_ms: float) -> Iterator[float]:
    """Yields the times, as lab4.release requires."""
    last_ms = -math.inf
    for at_ms in arrivals_ms:
        last_ms = max(at_ms, last_ms + interval_ms)
        yield last_ms


def test_a_generator_is_the_student_s_code_too(capsys: pytest.CaptureFixture[str]) -> None:
    def fails(arrivals_ms: list[float], interval_ms: float) -> Iterator[float]:
        yield arrivals_ms[9] + interval_ms

    def unwritten(**_: Any) -> Iterator[float]:
        raise lab.Todo
        yield

    SelfCheck().check("lab4.release", leave_ms)
    assert capsys.readouterr().out.startswith("✓ lab4.release")
    told = complaint(fails, "lab4.release")
    assert "it raised IndexError: list index out of range" in told
    assert "yield arrivals_ms[9] + interval_ms" in told
    assert "got 1000 times" in complaint(lambda **_: count(), "lab4.release")
    shown = complaint(lambda **given: [str(at_ms) for at_ms in leave_ms(**given)], "lab4.release")
    assert "in the list got str '0.0'; it must be a number" in shown
    assert "not a list of numbers" in complaint(lambda **given: dict.fromkeys(leave_ms(**given)), "lab4.release")
    with pytest.raises(lab.Todo, match="write the function"):
        SelfCheck().check("lab4.release", unwritten)
    told = "got [0, 10.0] by `yield`; it must be a number. Write `return` instead."
    assert told in complaint(lambda **_: leave_ms([0, 0], 10.0), "test.goodput")
    assert "got generator [0, 10.0]" in complaint(lambda **_: leave_ms([0, 0], 10.0), "lab6.verdict")


def prints(count: int) -> None:
    for number in range(count):
        print("step", number)


def test_a_loop_that_prints_leaves_room_for_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    def goodput(**_: Any) -> float:
        prints(20_000)
        return 1.0

    class Chatty(Pacer):
        def measured(self, sample: Sample) -> None:
            prints(20_000)
            raise IndexError

    for name, work in (("test.goodput", goodput), ("lab7.pacer", Chatty)):
        complaint(work, name)
        printed = capsys.readouterr().out
        assert printed.startswith("step 0\nstep 1\n")
        assert printed.endswith("\n... (further output is not shown)\n")
        assert len(printed) < 101_000
    with pytest.raises(UserCodeError):
        lab.score(Chatty)
    assert len(capsys.readouterr().out) < 101_000
    print("and the next cell prints")
    assert capsys.readouterr().out == "and the next cell prints\n"


@pytest.mark.usefixtures("engine")
def test_a_pacer_that_needs_arguments_is_refused_with_the_reason() -> None:
    class Weighted(Pacer):
        def __init__(self, weight: float) -> None:
            self.weight = weight

        def measured(self, sample: Sample) -> None:
            self.interval_s = self.weight * sample.rtt_s

    assert "Each flow has its own pacer, which is made without arguments." in complaint(Weighted, "lab7.pacer")


def test_check_of_an_unknown_name() -> None:
    with pytest.raises(ConfigError, match=r"no such check: 'lab0\.nothing'; must be one of lab0"):
        lab.check("lab0.nothing", max)


def within(place_m: float, others_m: dict[str, float], reach_m: float) -> set[str]:
    return {name for name, at in others_m.items() if abs(at - place_m) <= reach_m}


def test_roles_check_explains_misconceptions() -> None:
    def swapped(
        sender_m: float, receiver_m: float, others_m: dict[str, float], sense_m: float, disturb_m: float
    ) -> Any:
        senses, near = within(sender_m, others_m, sense_m), within(receiver_m, others_m, disturb_m)
        return senses - near, near - senses

    def careless(receiver_m: float, others_m: dict[str, float], disturb_m: float, **_: Any) -> Any:
        return within(receiver_m, others_m, disturb_m), {"C"}

    def one_range(
        sender_m: float, receiver_m: float, others_m: dict[str, float], sense_m: float, disturb_m: float
    ) -> Any:
        senses, near = within(sender_m, others_m, sense_m), within(receiver_m, others_m, sense_m)
        return near - senses, senses - near

    assert "the two sets in the wrong order" in complaint(swapped, "lab1.roles")
    assert "that the sender senses is not hidden" in complaint(careless, "lab1.roles")
    assert "This case has two ranges" in complaint(one_range, "lab1.roles")
    assert "expected hidden {H} and exposed {C}" in complaint(lambda **_: 7, "lab1.roles")
    assert "which is not a pair of sets" in complaint(lambda **_: 7, "lab1.roles")
    assert "endless loop" not in complaint(lambda **_: ({"E"}, set()), "lab1.roles")


class Inverted(LinkLayer):
    """Drops the packets that should pass."""

    average = 0.0

    def sent(self, attempts: int, delivered: bool) -> None:
        self.average = 7 / 8 * self.average + (attempts - 1) / 8

    def passes(self) -> bool:
        return self.random.random() < min(max(0, self.average - 0.4) / 19.6, 0.05)


class Silent(Inverted):
    """passes() has no return statement."""

    def passes(self) -> bool:
        return None  # type: ignore[return-value]


def all_that_sense(sender_m: float, receiver_m: float, others_m: dict[str, float], sense_m: float, **_: Any) -> Any:
    return {"H"}, within(sender_m, others_m, sense_m)


@pytest.mark.parametrize(
    ("name", "work", "hint"),
    [
        ("lab1.roles", all_that_sense, "look at D, 200 m from E (the sender) and 400 m from F (the receiver)"),
        ("lab3.link_red", Inverted, "drops the packet: drop a packet if the draw is below the probability"),
        ("lab3.link_red", Silent, "True lets the packet pass, False drops it"),
        ("lab4.release", lambda **_: [0.0, 10.0, 10.0, 50.0], "leave less than one interval apart"),
        ("lab4.release", lambda **_: [0.0, 10.0, 20.0, 60.0], "a packet waits longer than it must"),
        ("lab6.verdict", lambda **_: "depends", "got str 'depends': 3 of 3 are above 0"),
        ("lab6.verdict", lambda **_: True, 'return "holds", "fails" or "depends"'),
        ("lab6.verdict", lambda **_: "Holds", "in small letters"),
    ],
)
def test_the_first_try_gets_a_hint_without_the_expected_value(name: str, work: Any, hint: str) -> None:
    with pytest.raises(lab.CheckFailed) as caught:
        SelfCheck().check(name, work)
    assert hint in str(caught.value)
    assert "expected" not in str(caught.value)


def best_from(share: float) -> Callable[[dict[int, float]], int]:
    return lambda goodput_kbps: min(
        window for window, found in goodput_kbps.items() if found >= share * max(goodput_kbps.values())
    )


def from_good_on(mos: float, rate_kbps: float) -> float:
    up = 1.05 if mos >= 3.9 else 1.03
    return rate_kbps * (up if mos >= 3.7 else 0.9 if mos > 3.6 else 0.5)


@pytest.mark.parametrize(
    ("name", "work", "told"),
    [
        ("lab2.best_window", best_from(0.95), "it must be within 1 % of the best"),
        ("lab5.controller", from_good_on, "mos=3.9"),
    ],
)
def test_a_nearly_right_class_is_reported_with_what_it_lacks(name: str, work: Callable[..., Any], told: str) -> None:
    assert told in complaint(work, name)


class Marking(LinkLayer):
    """Uses the parameters for marking."""

    average = 0.0

    def sent(self, attempts: int, delivered: bool) -> None:
        self.average = 7 / 8 * self.average + 1 / 8 * (attempts - 1)

    def passes(self) -> bool:
        return self.random.random() >= min(max(self.average - 0.4, 0.0) / 1.6, 0.1)


class Delivered(Marking):
    def sent(self, attempts: int, delivered: bool) -> None:
        if delivered:
            super().sent(attempts, delivered)


class Shared(Pacer):
    """One list with the round trips of all flows."""

    rtts_s: ClassVar[list[float]] = []

    def __init__(self) -> None:
        self.average_s = 0.0

    def measured(self, sample: Sample) -> None:
        per_hop_s, data_s = sample.rtt_s / sample.hops, 8 * sample.data_bytes / sample.rate_bps
        wait_s = (per_hop_s - data_s - 8 * sample.ack_bytes / sample.rate_bps) / 2
        new_s = min(sample.hops, 4) * (wait_s + data_s)
        self.average_s = 0.7 * (self.average_s or new_s) + 0.3 * new_s
        self.rtts_s.append(sample.rtt_s)
        several = len(self.rtts_s) > 1
        cov = statistics.stdev(self.rtts_s) / statistics.mean(self.rtts_s) if several else 0
        self.interval_s = self.average_s * (1 + 2 * cov)


class Forgetful(Shared):
    """Keeps eight round trips instead of fifty."""

    def __init__(self) -> None:
        super().__init__()
        self.rtts_s.clear()

    def measured(self, sample: Sample) -> None:
        del self.rtts_s[:-7]
        super().measured(sample)


@pytest.mark.parametrize(
    ("name", "work", "told"),
    [
        ("lab3.link_red", Marking, "draw 0.07"),
        ("lab3.link_red", Delivered, "its retransmissions also count"),
        ("lab4.pacer", Shared, "Does __init__ set every attribute of the pacer?"),
        ("lab4.pacer", Forgetful, "COV uses exactly the last 50 round trips"),
    ],
)
def test_a_class_that_is_nearly_right_is_reported_with_what_it_lacks(name: str, work: type, told: str) -> None:
    assert told in complaint(work, name)


def test_a_notebook_shows_errors_without_our_frames() -> None:
    """IPython asks an exception for its own text. The text of an unwritten pacer ends with TODO."""
    with pytest.raises(UserCodeError) as caught:
        run_pacer(Experiment(direction="down", duration_s=2), Unwritten)
    shown = "\n".join(caught.value._render_traceback_())
    assert shown.startswith("UserCodeError: ")
    assert "own_hooks.py" not in shown
    assert " ".join(shown.split()).endswith(f"TODO: {UNWRITTEN}")


class Unwritten(Pacer):
    def measured(self, sample: Sample) -> None:
        raise lab.Todo


class NoRandom(LinkLayer):
    def __init__(self) -> None:
        self.average = 0.0


class Unbegun(LinkLayer):
    def __init__(self, random: Random) -> None:
        raise lab.Todo


class ByNumpy(LinkLayer):
    average = 0.0

    def sent(self, attempts: int, delivered: bool) -> None:
        self.average = 7 / 8 * self.average + 1 / 8 * (attempts - 1)

    def passes(self) -> Any:
        share = np.clip((self.average - 0.4) / 19.6, 0.0, 0.05)
        return np.float64(self.random.random()) >= share


def test_a_link_layer_that_cannot_be_made_is_reported_with_the_reason() -> None:
    told = complaint(NoRandom, "lab3.link_red")
    assert "making NoRandom(random): it raised TypeError" in told
    assert "A link layer needs no __init__" in told
    with pytest.raises(lab.Todo):
        lab.check("lab3.link_red", Unbegun)


def test_a_link_layer_may_answer_in_numpy_s_words(capsys: pytest.CaptureFixture[str]) -> None:
    lab.check("lab3.link_red", ByNumpy)
    assert "✓" in capsys.readouterr().out
