"""What an exercise is, and how a student's code is called with a time limit.

Such a call never hangs. It raises an exception only if the user interrupts it.
"""

from __future__ import annotations

import builtins
import contextlib
import inspect
import io
import math
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from types import CoroutineType, GeneratorType
from typing import Any, TextIO

from pacelab.console import Interrupted
from pacelab.user_code.time_limit import INTERRUPTS, TimeLimit, interrupt, run_limited, time_limit
from pacelab.user_code.waiting import HAS_THREADS
from pacelab_labs.design import Design
from pacelab_labs.errors import Todo

WAKE_S = 0.2
"""The time from one request to stop to the next, and how long we wait for the thread after the last one."""
LIBRARIES = ("<frozen", *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")))
"""If an exception comes from a library, the message names the student's line that called the library."""
MOST_YIELDED = 1000
"""The number of values taken from a generator; no exercise asks for so many."""
MOST_PRINTED = 100_000
"""The number of printed characters that are shown. A notebook that receives megabytes drops the verdict."""


class _Stop(BaseException):
    """Ends an endless loop; `except Exception` does not catch it."""


class Yielded(list[Any]):
    """The values of a generator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a call. Exactly one of `value`, `failure` and `todo` is set."""

    value: Any = None
    failure: str = ""
    """One or a few lines: the exception with the student's own line, or the time limit. Empty if the call returned."""
    todo: bool = False
    """The function is not written yet."""


def call_limited(function: Callable[..., Any], arguments: dict[str, Any], *, limit_s: float) -> Outcome:
    """Call `function(**arguments)` for at most `limit_s` seconds, in a thread of its own where there are threads.

    The first `MOST_YIELDED` values of a generator are taken within the limit, because a generator's body is also the
    student's code. They become a list.
    """
    if complaint := complain_about_parameters(function, arguments):
        return Outcome(failure=complaint)
    found: list[Outcome] = []
    limit = time_limit(limit_s, raises=_Stop, again_s=WAKE_S)
    with _nobody_answers():
        run = _run_in_thread if HAS_THREADS else _run
        run(function, arguments, limit, found)
    if not found or isinstance(found[0].value, _Stop):
        return Outcome(failure=f"it did not return within {limit_s:g} s. Is there an endless loop?")
    return found[0]


class _Cut(io.TextIOBase):
    """Passes on only the first characters of the output."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._left = out, MOST_PRINTED

    def write(self, text: str) -> int:
        if self._left > 0:
            self._out.write(
                text[: self._left] + ("" if len(text) < self._left else "\n... (further output is not shown)\n")
            )
            self._left -= len(text)
        return len(text)

    def flush(self) -> None:
        self._out.flush()


@contextlib.contextmanager
def cut_prints() -> Iterator[None]:
    """Show only the first `MOST_PRINTED` characters printed inside the block."""
    with contextlib.redirect_stdout(_Cut(sys.stdout)):
        yield


@contextlib.contextmanager
def _nobody_answers() -> Iterator[None]:
    """Make `input` an error: while a check waits for an answer, the notebook could run no other cell."""

    def refuse(*_: Any) -> str:
        raise EOFError("input() does not work in a check")

    before, builtins.input = builtins.input, refuse
    try:
        yield
    finally:
        builtins.input = before


def _run_in_thread(
    function: Callable[..., Any], arguments: dict[str, Any], limit: TimeLimit, found: list[Outcome]
) -> None:
    """Run in a separate thread, because the function may ignore every request to stop. In that case the thread is left
    alone.
    """
    thread = threading.Thread(target=_run, args=(function, arguments, limit, found), daemon=True, name="pacelab-check")
    thread.start()
    try:
        thread.join(limit.limit_s + (INTERRUPTS + 1) * WAKE_S)
    except KeyboardInterrupt:
        _stop(thread)  # otherwise its loop would run during every later cell
        raise Interrupted("the check") from None
    if thread.is_alive():
        advice = "The check cannot stop it: restart the kernel (Kernel > Restart)."
        found.insert(0, Outcome(failure=f"it did not return within {limit.limit_s:g} s. {advice}"))


def _run(function: Callable[..., Any], arguments: dict[str, Any], limit: TimeLimit, found: list[Outcome]) -> None:
    try:
        found.append(Outcome(value=run_limited(limit, _value_of, function, arguments)))
    except Todo:
        found.append(Outcome(todo=True))
    except _Stop as stop:
        found.append(Outcome(value=stop))
    except BaseException as error:  # also SystemExit: a check must not end the kernel
        if isinstance(error, KeyboardInterrupt) and not HAS_THREADS:
            raise Interrupted("the check") from None
        found.append(Outcome(failure=describe(error)))


def _value_of(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    value = function(**arguments)
    if isinstance(value, CoroutineType):
        value.close()  # otherwise Python warns and names this file
        raise TypeError("the check does not await it: write `def` instead of `async def`")
    if isinstance(value, Iterator):
        return (Yielded if isinstance(value, GeneratorType) else list)(islice(value, MOST_YIELDED))
    return value


def _stop(thread: threading.Thread) -> None:
    for _ in range(INTERRUPTS):
        if thread.ident is not None and thread.is_alive():
            interrupt(thread.ident, _Stop)
        thread.join(WAKE_S)


def describe(error: BaseException) -> str:
    """The exception with the student's own last line, without frames of our code."""
    callers = (__file__, run_limited.__code__.co_filename)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename not in callers]
    frames = [frame for frame in frames if not frame.filename.startswith(LIBRARIES)] or frames
    what = f"it raised {''.join(traceback.format_exception_only(error)).strip()}"
    if not frames:
        return what
    line = f", in the line `{frames[-1].line}`" if frames[-1].line else ""
    return f"{what} (line {frames[-1].lineno} of {frames[-1].name}{line})"


LIMIT_S = 3.0
"""Enough for a function of a few lines. The simulations of an exercise take far less."""
VALUE = "  expected "
"""The prefix of the line with the expected value, which is hidden in the first tries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One call with its known result."""

    arguments: Mapping[str, Any]
    expected: float
    source: str
    """How the result was found without the exercise's formula: by hand or from a paper."""
    mistakes: Mapping[float, str] = field(default_factory=dict)
    """Wrong result -> the misconception that leads to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise:
    """What an exercise asks for, and how it is checked."""

    asks: str
    """The result in words, with its unit: "the four-hop delay in seconds"."""
    cases: tuple[Case, ...] = ()
    tolerance: float = 1e-4
    """Relative tolerance of the cases. Grading uses the same."""
    design: Design | None = None
    """Replaces the cases: the work is a function that returns a design, which the simulator judges."""
    trial: Callable[[Any], str] | None = None
    """Replaces the cases: tries the work, returns an error message or an empty text. A line that begins with VALUE is
    shown from the third try on."""
    praise: str = ""


def complain_about_parameters(function: Callable[..., Any], arguments: Mapping[str, Any]) -> str:
    """What is wrong with the names of a function's parameters; empty if nothing is.

    Labs and grading call a student's function by keyword.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a built-in function may have none
        return ""
    try:
        signature.bind(**arguments)
    except TypeError:
        name = getattr(function, "__name__", "your function")
        right, wrong = (", ".join(names) or "none" for names in (arguments, signature.parameters))
        return f"the parameters of {name} must be {right}, not {wrong}. Keep the parameters' names."
    return ""


def complain_about_number(value: Any, *, none: str = "does every path return the result?") -> str:
    """What is wrong with a value that must be a finite number; empty if nothing is. `none` explains a None."""
    if value is None:
        return f"got None: {none}"
    if isinstance(value, Yielded):
        return f"got {list(value)!r:.60} by `yield`; it must be a number. Write `return` instead."
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        return f"got {show(value)}; it must be a number."
    try:
        number = float(value)
    except Exception as error:  # a student's class may raise anything
        return f"got {show(value)}; it must be a single number ({error})."
    if not isinstance(value, int | float) and not hasattr(
        value, "item"
    ):  # NumPy numbers have it; the grader takes no other types
        return f"got {show(value)}; it must be an int or a float. Return float(...)."
    if math.isnan(number):
        return "got NaN. Is there a 0/0 or inf - inf in the calculation?"
    if math.isinf(number):
        return f"got {number}. Is there a division by a value that became 0?"
    return ""


def show(value: Any) -> str:
    """Type and value, in a few words."""
    kind = "generator" if isinstance(value, Yielded) else type(value).__name__
    return f"{kind} {show_value(value)}"


def show_value(value: Any) -> str:
    """The value, in a few words."""
    try:
        text = f"{value:.6g}" if type(value) is float else repr(value)
    except ValueError:
        text = "of thousands of digits"
    except Exception as error:  # a student's class
        text = f"whose repr raises {type(error).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
