"""A limit on the time that a call of user code may take.

`run_limited` ends a call that takes longer. The way depends on the platform:

- With threads: another thread checks the clock and raises an exception in the thread of the call.
- Without threads, as in a browser: `sys.monitoring` checks the clock at each call and each jump of Python code.
- Without threads, on Python 3.11: a trace function checks the clock at each line. It can interrupt a call only once,
  because Python removes a trace function that raises.

None of these interrupts code that is not Python, such as `time.sleep`, before that code returns.
"""

from __future__ import annotations

import atexit
import math
import sys
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, TypeVar

from pacelab.user_code.messages import is_ours
from pacelab.user_code.waiting import HAS_THREADS

Result = TypeVar("Result")

INTERRUPTS = 3
"""The number of interrupts that a call may ignore, because its own `except` catches them or because it sleeps. After
that, a call is left alone if there are threads; without threads, each further step of the call is interrupted.
"""


class NeverEnds(BaseException):
    """Interrupts a call that does not return. `except Exception` does not catch it."""


def _nothing() -> None:
    """Leave a call alone that ignores every interrupt."""


def run_limited(
    limit: TimeLimit, function: Callable[..., Result], *arguments: Any, give_up: Callable[[], None] = _nothing
) -> Result:
    """Call the function. A call that takes longer than the limit raises `limit.raises`.

    `give_up` is called from another thread if the call ignores `INTERRUPTS` interrupts.
    """
    limit.begin(give_up)
    try:
        return function(*arguments)
    finally:
        limit.end()


def time_limit(limit_s: float, *, raises: type[BaseException] = NeverEnds, again_s: float | None = None) -> TimeLimit:
    """A limit for any number of calls, one at a time, by this platform's method.

    A call that ignores an interrupt is interrupted again after `again_s`; None means after `limit_s`.
    """
    way = ThreadLimit if HAS_THREADS else StepLimit
    return way(limit_s, raises=raises, again_s=limit_s if again_s is None else again_s)


class TimeLimit(ABC):
    """A limit on the time of each call."""

    def __init__(self, limit_s: float, *, raises: type[BaseException], again_s: float) -> None:
        self.limit_s = limit_s
        self.raises = raises
        self.again_s = again_s

    @abstractmethod
    def begin(self, give_up: Callable[[], None]) -> None:
        """A call begins in this thread."""

    @abstractmethod
    def end(self) -> None:
        """The call has ended."""


class ThreadLimit(TimeLimit):
    """A limit with a second thread. The thread starts with the first call and ends when nothing refers to the limit."""

    def __init__(self, limit_s: float, *, raises: type[BaseException], again_s: float) -> None:
        super().__init__(limit_s, raises=raises, again_s=again_s)
        self._began_s: float | None = None
        self._caller = 0
        self._give_up: Callable[[], None] = _nothing
        self._thread: threading.Thread | None = None
        self._looked_at_s, self._interrupts = 0.0, 0

    def begin(self, give_up: Callable[[], None]) -> None:
        """See `TimeLimit`."""
        if self._thread is None:
            every_s = min(self.limit_s, self.again_s) / 10
            arguments = weakref.ref(self), every_s
            self._thread = threading.Thread(target=_watch, args=arguments, daemon=True, name="pacelab-time-limit")
            self._thread.start()
        self._give_up = give_up
        self._caller = threading.get_ident()
        self._began_s = time.monotonic()

    def end(self) -> None:
        """See `TimeLimit`."""
        self._began_s = None
        self._give_up = _nothing  # it may be a method of the limit's owner, which must not be kept alive

    def interrupt_late_call(self) -> None:
        """Interrupt the present call if it has taken too long."""
        began_s = self._began_s
        if began_s is None:
            return
        if began_s != self._looked_at_s:
            self._looked_at_s, self._interrupts = began_s, 0
        if time.monotonic() - began_s <= self.limit_s + self._interrupts * self.again_s:
            return
        self._interrupts += 1
        if self._interrupts <= INTERRUPTS:
            interrupt(self._caller, self.raises)
        elif self._interrupts == INTERRUPTS + 1:
            self._give_up()


def _watch(reference: weakref.ref[ThreadLimit], every_s: float) -> None:
    while (limit := reference()) is not None:
        limit.interrupt_late_call()
        del limit
        time.sleep(every_s)


def interrupt(thread_id: int, raises: type[BaseException]) -> None:
    """Raise an exception in another thread as soon as that thread executes Python code."""
    import ctypes  # only calls that take too long need it

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), ctypes.py_object(raises))


class _Call:
    """A call in progress under a `StepLimit`."""

    __slots__ = ("due_s", "interrupts", "limit", "tracer_before")

    def __init__(self, limit: TimeLimit) -> None:
        self.limit, self.interrupts, self.tracer_before = limit, 0, sys.gettrace()
        self.due_s = time.monotonic() + limit.limit_s


_calls: list[_Call] = []
"""The outermost call first."""
_due_s = math.inf
"""When the first of these calls exceeds its limit. A step of the code compares only this with the clock."""


def _begin(limit: TimeLimit) -> None:
    global _due_s
    call = _Call(limit)
    _calls.append(call)
    if call.due_s < _due_s:
        _due_s = call.due_s


def _end() -> _Call:
    global _due_s
    ended = _calls.pop()
    _due_s = min(call.due_s for call in _calls) if _calls else math.inf
    return ended


def _interrupt_overdue() -> None:
    """Raise the exception of the outermost call that is overdue."""
    global _due_s
    now_s = time.monotonic()
    for call in _calls:
        if now_s > call.due_s:
            call.interrupts += 1
            call.due_s = now_s + call.limit.again_s if call.interrupts < INTERRUPTS else -math.inf
            _due_s = min(each.due_s for each in _calls)
            raise call.limit.raises


_is_ours = lru_cache(maxsize=None)(is_ours)
"""Called for each function that user code calls."""


if sys.version_info >= (3, 12):

    class StepLimit(TimeLimit):
        """A limit without threads, by `sys.monitoring`. Monitoring stays on after the first call, so later calls need
        no setup.

        PaceLab's own code is not monitored and keeps its speed.
        """

        def begin(self, give_up: Callable[[], None]) -> None:
            """See `TimeLimit`. `give_up` is not needed, since no call can ignore every interrupt."""
            if not _watching:
                _start_monitoring()
            _begin(self)

        def end(self) -> None:
            """See `TimeLimit`."""
            _end()

    _TOOL = 4
    """Debuggers, coverage, profilers and optimizers have other numbers by convention."""
    _watching = False

    def _start_monitoring() -> None:
        global _watching
        monitoring, events = sys.monitoring, sys.monitoring.events
        monitoring.use_tool_id(_TOOL, "pacelab time limit")
        # Every loop jumps back, and every recursion begins a function.
        watched = events.JUMP | events.PY_START | events.PY_RESUME
        for event in (events.JUMP, events.PY_START, events.PY_RESUME):
            monitoring.register_callback(_TOOL, event, _on_step)
        monitoring.set_events(_TOOL, watched)
        atexit.register(monitoring.set_events, _TOOL, 0)  # later steps would find no module
        _watching = True

    def _on_step(code: CodeType, *_where: int) -> Any:
        if _is_ours(code.co_filename):
            return sys.monitoring.DISABLE
        if time.monotonic() > _due_s:
            _interrupt_overdue()
        return None

else:

    class StepLimit(TimeLimit):
        """A limit without threads, by a trace function."""

        def begin(self, give_up: Callable[[], None]) -> None:
            """See `TimeLimit`."""
            _begin(self)
            sys.settrace(_on_step)

        def end(self) -> None:
            """See `TimeLimit`."""
            sys.settrace(_end().tracer_before)

    def _on_step(frame: FrameType, _event: str, _argument: Any) -> Any:
        if _is_ours(frame.f_code.co_filename):
            return None  # its lines are not traced
        if time.monotonic() > _due_s:
            _interrupt_overdue()
        return _on_step
