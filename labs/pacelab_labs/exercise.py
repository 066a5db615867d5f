"""What an exercise is, and a student's code run for a limited time: what became of it, what is wrong with it.

Such a run never hangs, and raises only when it is stopped.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
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
from pacelab_labs.errors import Todo

WAKE_S = 0.2
"""How long a thread that is told to stop has for it, each time."""
WAKES = 3
LIBRARIES = ("<frozen", *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")))
"""An exception from in there is told by the student's line that called it."""
MOST_YIELDED = 1000
"""So many values of a generator are taken: no exercise asks for as many."""
MOST_PRINTED = 100_000
"""So many characters of what a student's code prints are shown: a notebook that is sent megabytes drops the verdict."""


class _Stop(BaseException):
    """Ends a loop that does not end; no `except Exception` catches it."""


class Yielded(list[Any]):
    """The values of a generator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a call. Exactly one of `value`, `failure` and `todo` says so."""

    value: Any = None
    failure: str = ""
    """One or a few lines: the exception with the student's own line, or that time was up. Empty: it returned."""
    todo: bool = False
    """It is not written yet."""


def call_limited(function: Callable[..., Any], arguments: dict[str, Any], *, limit_s: float) -> Outcome:
    """Call `function(**arguments)` for at most `limit_s` seconds, in a thread of its own.

    What a generator yields comes as a list, its first `MOST_YIELDED` values: they are the student's code, too.
    """
    found: list[Outcome] = []
    thread = threading.Thread(target=_run, args=(function, arguments, found), daemon=True, name="pacelab-check")
    with _nobody_answers():
        thread.start()
        try:
            thread.join(limit_s)
        except KeyboardInterrupt:
            _stop(thread)  # else its loop goes on beside all that comes after
            raise Interrupted("the check") from None
        stuck = thread.is_alive() and not _stop(thread)
    if stuck:
        advice = "It cannot be stopped: restart the kernel (Kernel > Restart)."
        return Outcome(failure=f"it had not returned after {limit_s:g} s. {advice}")
    if not found or isinstance(found[0].value, _Stop):
        return Outcome(failure=f"it had not returned after {limit_s:g} s: does a loop never end?")
    return found[0]


class _Cut(io.TextIOBase):
    """Passes on the beginning of what is printed."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._left = out, MOST_PRINTED

    def write(self, text: str) -> int:
        if self._left > 0:
            self._out.write(
                text[: self._left] + ("" if len(text) < self._left else "\n... (what more is printed is not shown)\n")
            )
            self._left -= len(text)
        return len(text)

    def flush(self) -> None:
        self._out.flush()


@contextlib.contextmanager
def cut_prints() -> Iterator[None]:
    """Of what is printed meanwhile the first `MOST_PRINTED` characters are shown."""
    with contextlib.redirect_stdout(_Cut(sys.stdout)):
        yield


@contextlib.contextmanager
def _nobody_answers() -> Iterator[None]:
    """Makes `input` an error: a notebook that waits for an answer in a check takes no other cell."""

    def refuse(*_: Any) -> str:
        raise EOFError("input() in a check: nobody is there to answer")

    before, builtins.input = builtins.input, refuse
    try:
        yield
    finally:
        builtins.input = before


def _run(function: Callable[..., Any], arguments: dict[str, Any], found: list[Outcome]) -> None:
    try:
        value = function(**arguments)
        if isinstance(value, CoroutineType):
            value.close()  # else Python warns, with a place in here
            raise TypeError("nobody awaits it: write `def` in the place of `async def`")
        if isinstance(value, Iterator):
            value = (Yielded if isinstance(value, GeneratorType) else list)(islice(value, MOST_YIELDED))
        found.append(Outcome(value=value))
    except Todo:
        found.append(Outcome(todo=True))
    except _Stop as stop:
        found.append(Outcome(value=stop))
    except BaseException as error:  # also SystemExit: a check must not end the kernel
        found.append(Outcome(failure=describe(error)))


def _stop(thread: threading.Thread) -> bool:
    for _ in range(WAKES):
        if thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_Stop))
        thread.join(WAKE_S)
        if not thread.is_alive():
            return True
    return False


def describe(error: BaseException) -> str:
    """The exception and the student's own last line, without our frames."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    frames = [frame for frame in frames if not frame.filename.startswith(LIBRARIES)] or frames
    what = f"it raised {''.join(traceback.format_exception_only(error)).strip()}"
    if not frames:
        return what
    line = f", in the line `{frames[-1].line}`" if frames[-1].line else ""
    return f"{what} (line {frames[-1].lineno} of {frames[-1].name}{line})"


LIMIT_S = 3.0
"""For a function of a few lines. Simulations of an exercise take far less."""
VALUE = "  expected "
"""So begins the line of a complaint that tells the value expected: a hint comes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One call with its known result."""

    arguments: Mapping[str, Any]
    expected: float
    source: str
    """How the result was found without the formula asked for: by hand, from a paper."""
    mistakes: Mapping[float, str] = field(default_factory=dict)
    """Wrong result -> the misconception that gives it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise:
    """What an exercise asks for, and how it is checked."""

    asks: str
    """In words, with unit: "the four-hop delay in seconds"."""
    cases: tuple[Case, ...] = ()
    tolerance: float = 1e-4
    """Relative, of the cases: what the labs are graded by."""
    trial: Callable[[Any], str] | None = None
    """In place of cases: tries the work, returns a complaint or nothing. A line of it that begins with VALUE is told
    at the third try."""
    praise: str = ""


def complain_about_number(value: Any, *, none: str = "does it return its result, on every path?") -> str:
    """What is wrong with a value that should be a finite number, or nothing; `none` is asked of one that is None."""
    if value is None:
        return f"came None: {none}"
    if isinstance(value, Yielded):
        return f"came {list(value)!r:.60} by `yield`: a number is asked for, so write `return` in its place."
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        return f"came {show(value)}, which is no number."
    try:
        number = float(value)
    except Exception as error:  # a class of the student's own may raise anything
        return f"came {show(value)}, which is no single number ({error})."
    if not isinstance(value, int | float) and not hasattr(value, "item"):  # NumPy's have one; a grader takes no others
        return f"came {show(value)}: return a number of Python's own, float(...)"
    if math.isnan(number):
        return "came NaN: a 0/0 or inf - inf on the way?"
    if math.isinf(number):
        return f"came {number}: a division by something that became 0?"
    return ""


def show(value: Any) -> str:
    """Type and value, in a few words."""
    try:
        text = repr(value)
    except ValueError:
        text = "of thousands of digits"
    except Exception as error:  # a class of the student's own
        text = f"whose repr raises {type(error).__name__}"
    kind = "generator" if isinstance(value, Yielded) else type(value).__name__
    return f"{kind} {text if len(text) <= 60 else text[:57] + '...'}"
