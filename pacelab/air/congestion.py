"""A congestion control of your own: subclass `CongestionControl` in a file, run it with `--cc FILE.py:CLASS`.

The sender does what every TCP does (sequence numbers, duplicate ACKs, the retransmission timer, fast recovery); the
congestion control says how large the window is. Your code runs inside the simulation: when it raises, sets a window
that is no number, or does not return, the run stops and says at which simulated time.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, Literal

from pacelab.errors import ConfigError
from pacelab.options.own_code import UserCodeError, finished, load_own, meant_instead, own_traceback, place_of
from pacelab.schemes import Scheme
from pacelab.units import s_from_ns

PATIENCE_S = 5.0
"""A call that takes longer than this never ends."""
UNHEEDED = 3
"""After so many ignored interrupts (caught by the code's own `except`, or lost in a sleep) the process ends."""


class NeverEnds(BaseException):
    """Interrupts a call that does not return; no Exception, which an `except Exception` would catch."""


class CongestionControl(ABC):
    """Decides on the congestion window. Everything is counted in segments, fractions included; time is integer ns.

    `window` is read after each call: a finite number above 0; below 1 the sender spaces single segments.
    """

    NO_SCHEME: ClassVar[str] = "a congestion control: --cc"
    """What `--scheme FILE.py:CLASS` says that the class is."""
    recovery: ClassVar[Literal["newreno", "reno", "go-back-n"]] = "newreno"
    """What the sender does when three duplicate ACKs report a loss (RFC 6582, RFC 2581, Tahoe)."""

    def __init__(self, initial_window: int, window_limit: int) -> None:
        """`window_limit` is the receiver's window."""
        self.window: float = float(initial_window)
        self.window_limit = window_limit

    @abstractmethod
    def acknowledged(self, now_ns: int, acked_pkts: float, rtt_ns: int | None) -> None:
        """New data was acknowledged outside loss recovery; `rtt_ns` about once a round trip."""

    @abstractmethod
    def lost(self, now_ns: int, in_use_pkts: float) -> None:
        """Three duplicate ACKs, with so much of the window in use."""

    def recovered(self) -> None:  # noqa: B027  # a default that does nothing
        """Loss recovery is over. Nothing to do unless you want to."""

    def timed_out(self, now_ns: int, in_use_pkts: float) -> None:
        """The retransmission timer expired. One segment, unless you say otherwise."""
        self.window = 1.0


def load_control(name: str) -> type[CongestionControl]:
    """The class that FILE.py:CLASS names.

    Raises ConfigError when there is no such file or class, UserCodeError when the file fails to load.
    """
    module, class_name = load_own("--cc", name)
    found = getattr(module, class_name, None)
    if hasattr(found, "AMONG_SCHEMES") or isinstance(found, Scheme):
        raise ConfigError(f"--cc {name!r} is not a congestion control; use --scheme {name}")
    if not (isinstance(found, type) and issubclass(found, CongestionControl)):
        instead = "" if hasattr(module, class_name) else meant_instead(module, class_name)
        told = f"the file has no subclass of pacelab.CongestionControl called {class_name!r}{instead}"
        raise ConfigError(f"--cc {name!r}: {told}")
    return found


def control_maker(name: str, made: type[CongestionControl]) -> Callable[[str, int, int], Guard]:
    """What the engine calls for each TCP flow."""
    watch = Watchdog()

    def make(_name: str, initial_window: int, window_limit: int) -> Guard:
        return Guard(name, made, initial_window, window_limit, watch)

    return make


class Guard:
    """Stands between the engine and your control: says when and where it failed, and that it does not end."""

    def __init__(
        self, name: str, made: type[CongestionControl], initial_window: int, window_limit: int, watch: Watchdog
    ) -> None:
        self._name = name
        self._watch = watch
        self._now_ns = 0
        self._control = self._call(made, initial_window, window_limit)
        self.recovery = made.recovery
        self._note_window()

    def acknowledged(self, now_ns: int, acked_pkts: float, rtt_ns: int | None) -> None:
        """Pass on."""
        self._now_ns = now_ns
        self._call(self._control.acknowledged, now_ns, acked_pkts, rtt_ns)
        self._note_window()

    def lost(self, now_ns: int, in_use_pkts: float) -> None:
        """Pass on."""
        self._now_ns = now_ns
        self._call(self._control.lost, now_ns, in_use_pkts)
        self._note_window()

    def recovered(self) -> None:
        """Pass on."""
        self._call(self._control.recovered)
        self._note_window()

    def timed_out(self, now_ns: int, in_use_pkts: float) -> None:
        """Pass on."""
        self._now_ns = now_ns
        self._call(self._control.timed_out, now_ns, in_use_pkts)
        self._note_window()

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            with self._watch.call(self._where):
                return finished(function(*arguments))
        except (Exception, SystemExit, NeverEnds) as error:
            late = f"\n(it had not returned after {PATIENCE_S:g} s)" if isinstance(error, NeverEnds) else ""
            raise UserCodeError(f"{self._where()} failed:\n{own_traceback(error, function)}{late}") from error

    def _note_window(self) -> None:
        if not hasattr(self._control, "window"):
            asks = "does its __init__ call super().__init__(initial_window, window_limit)?"
            place = place_of(type(self._control)).rstrip()
            raise UserCodeError(f"{self._where()} has no self.window: {asks}\n{place}")
        window = self._control.window
        if not isinstance(window, Real) or not 0 < float(window) < float("inf"):
            raise UserCodeError(f"{self._where()} set its window to {window!r}: a number of segments above 0 is needed")
        self.window = float(window)

    def _where(self) -> str:
        return f"congestion control {self._name} at {s_from_ns(self._now_ns):.6f} s of simulated time"


class Watchdog:
    """Interrupts a call of Python code that lasts longer than `PATIENCE_S`. One thread, started when first needed; it
    ends when nobody has the watchdog any more.

    A call that takes no notice of `UNHEEDED` interrupts ends the process, with its traceback on stderr: no hang.
    """

    def __init__(self) -> None:
        self._entered_s: float | None = None
        self._caller = 0
        self._where: Callable[[], str] = str
        self._thread: threading.Thread | None = None
        self._told_s, self._times = 0.0, 0

    def call(self, where: Callable[[], str]) -> Watchdog:
        """The watch over a call, for `with`; `where` returns what is called and when."""
        self._where = where
        return self

    def __enter__(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(
                target=_watch, args=(weakref.ref(self),), daemon=True, name="pacelab-watchdog"
            )
            self._thread.start()
        self._caller = threading.get_ident()
        self._entered_s = time.monotonic()

    def __exit__(self, *_error: object) -> None:
        self._entered_s, self._where = None, str  # `where` is a method of who has us: no circle of references stays

    def look(self) -> None:
        """Interrupt a call that has taken too long by now."""
        entered_s = self._entered_s
        if entered_s is None:
            return
        if entered_s != self._told_s:
            self._told_s, self._times = entered_s, 0
        if time.monotonic() - entered_s <= PATIENCE_S * (self._times + 1):
            return
        self._times += 1
        if self._times > UNHEEDED:
            self._give_up()
        import ctypes  # for this alone

        raised = ctypes.py_object(NeverEnds)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._caller), raised)

    def _give_up(self) -> None:
        print(f"pacelab: {self._where()} does not return, and takes no interrupt:", file=sys.stderr, flush=True)
        faulthandler.dump_traceback(sys.stderr)
        os._exit(UserCodeError.exit_code)


def _watch(watchdog: weakref.ref[Watchdog]) -> None:
    """Look every tenth of the patience, until it is gone."""
    while (there := watchdog()) is not None:
        there.look()
        del there
        time.sleep(PATIENCE_S / 10)
