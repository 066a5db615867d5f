"""A congestion control of your own: subclass `CongestionControl` in a file, run it with `--cc FILE.py:CLASS`.

The sender does what every TCP does (sequence numbers, duplicate ACKs, the retransmission timer, fast recovery). The
congestion control decides how large the window is. Your code runs inside the simulation: if it raises, sets a window
that is not a number, or does not return, the run stops and reports the simulated time.
"""

from __future__ import annotations

import faulthandler
import math
import os
import sys
from collections.abc import Callable
from itertools import chain
from numbers import Integral, Real
from typing import Any, NoReturn, TypeGuard, get_args

from pacelab.errors import ConfigError
from pacelab.schemes import Scheme
from pacelab.units import s_from_ns
from pacelab.user_code.bases import CongestionControl, RateSample, Recovery
from pacelab.user_code.loading import check_complete, did_you_mean, load_user_code
from pacelab.user_code.messages import UserCodeError, checked_result, misnamed_methods, place_of, shown, user_traceback
from pacelab.user_code.time_limit import NeverEnds, TimeLimit, run_limited, time_limit

TIME_LIMIT_S = 5.0
"""A call that takes longer than this is considered endless."""


_OPTIONAL = {"delivered": 1, "sent": 2, "timer_expired": 4}
"""Method -> bit of the engine's event mask (medium/network/src/tcp/congestion/control.rs)."""


def _event_mask(made: type[CongestionControl]) -> int:
    """The optional methods that the class defines."""
    return sum(bit for name, bit in _OPTIONAL.items() if getattr(made, name) is not getattr(CongestionControl, name))


def _is_control(found: object) -> TypeGuard[type[CongestionControl]]:
    return isinstance(found, type) and issubclass(found, CongestionControl)


def load_control(name: str) -> type[CongestionControl]:
    """The class that FILE.py:CLASS names.

    Raises ConfigError if there is no such file or class, UserCodeError if the file fails to load.
    """
    module, class_name = load_user_code("--cc", name)
    found = getattr(module, class_name, None)
    if hasattr(found, "AMONG_SCHEMES") or isinstance(found, Scheme):
        raise ConfigError(f"--cc {name!r} is not a congestion control; use --scheme {name}")
    if not _is_control(found):
        instead = did_you_mean(module, name, _is_control)
        told = f"the file has no subclass of pacelab.CongestionControl called {class_name!r}"
        raise ConfigError(f"--cc {name!r}: {told}{instead or '; `pacelab new cc NAME` writes an example'}")
    check_complete(f"--cc {name!r}: {class_name}", found, "cc")
    return found


class ControlMaker:
    """What the engine calls for each TCP flow."""

    def __init__(self, name: str, made: type[CongestionControl]) -> None:
        self._name, self._made = name, made
        self._limit = time_limit(TIME_LIMIT_S)
        self._guards: list[Guard] = []

    def __call__(self, _name: str, initial_window: int, window_limit: int) -> Guard:
        """Wrap a new control."""
        self._guards.append(Guard(self._name, self._made, initial_window, window_limit, self._limit))
        return self._guards[-1]

    def notes(self) -> tuple[str, ...]:
        """What the author of the class must know after a run."""
        told = misnamed_methods(self._made)
        asked = [guard for guard in self._guards if guard.was_called]
        if not asked or any(guard.has_acted for guard in asked):
            return told
        return (*told, f"{self._made.__name__}: no call changed self.window; it stayed at {asked[0].window:g} segments")


Extras = tuple[float | None, int | None] | None
"""Pacing rate and timer of a control; None: neither is in use."""


class Guard:
    """Wraps your control for the engine: reports when and where it failed, and calls that do not end."""

    def __init__(
        self, name: str, made: type[CongestionControl], initial_window: int, window_limit: int, limit: TimeLimit
    ) -> None:
        self._name = name
        self._limit = limit
        self._now_ns = 0
        self.was_called = self.has_acted = False
        """Whether the engine called a method, and whether a call changed the window or set a rate or timer."""
        self._control = self._call(made, initial_window, window_limit)
        self.recovery = made.recovery
        if self.recovery not in get_args(Recovery):
            place = place_of(made).rstrip()
            allowed = ", ".join(map(repr, get_args(Recovery)))
            raise UserCodeError(
                f"{self._where()} has recovery = {shown(made.recovery)}: one of {allowed} is needed\n{place}"
            )
        self.event_mask = _event_mask(made)
        self.extras = self._note_window()
        """Pacing rate and timer, for the engine; None: neither is in use."""

    def acknowledged(self, now_ns: int, acked_pkts: float, rtt_ns: int | None) -> Extras:
        """Forward the call."""
        self._now_ns = now_ns
        self._call(self._control.acknowledged, now_ns, acked_pkts, rtt_ns)
        return self._note_window()

    def lost(self, now_ns: int, in_use_pkts: float) -> Extras:
        """Forward the call."""
        self._now_ns = now_ns
        self._call(self._control.lost, now_ns, in_use_pkts)
        return self._note_window()

    def recovered(self) -> Extras:
        """Forward the call."""
        self._call(self._control.recovered)
        return self._note_window()

    def timed_out(self, now_ns: int, in_use_pkts: float) -> Extras:
        """Forward the call."""
        self._now_ns = now_ns
        self._call(self._control.timed_out, now_ns, in_use_pkts)
        return self._note_window()

    def delivered(self, *groups: tuple[Any, ...]) -> Extras:
        """Pass on as a `RateSample`, whose fields arrive in groups."""
        sample = RateSample._make(chain.from_iterable(groups))
        self._now_ns = sample.now_ns
        self._call(self._control.delivered, sample)
        return self._note_window()

    def sent(self, now_ns: int, in_flight_pkts: int) -> Extras:
        """Pass on."""
        self._now_ns = now_ns
        self._call(self._control.sent, now_ns, in_flight_pkts)
        return self._note_window()

    def timer_expired(self, now_ns: int) -> Extras:
        """Pass on."""
        self._now_ns = now_ns
        self._control.timer_ns = None
        self._call(self._control.timer_expired, now_ns)
        return self._note_window()

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return checked_result(run_limited(self._limit, function, *arguments, give_up=self._give_up))
        except (Exception, SystemExit, NeverEnds) as error:
            late = f"\n(it had not returned after {TIME_LIMIT_S:g} s)" if isinstance(error, NeverEnds) else ""
            raise UserCodeError(f"{self._where()} failed:\n{user_traceback(error, function)}{late}") from error

    def _note_window(self) -> Extras:
        if not hasattr(self._control, "window"):
            asks = "does its __init__ call super().__init__(initial_window, window_limit)?"
            place = place_of(type(self._control)).rstrip()
            raise UserCodeError(f"{self._where()} has no self.window: {asks}\n{place}")
        window = self._control.window
        if not _is_finite(window):
            raise UserCodeError(
                f"{self._where()} set its window to {shown(window)}: a number of segments above 0 is needed"
            )
        before, self.window = getattr(self, "window", None), float(window)
        self.was_called = before is not None
        if self.window != before and self.was_called:
            self.has_acted = True
        return self._note_extras() if self._control._is_extended else None

    def _note_extras(self) -> Extras:
        rate, at_ns = self._control.pacing_pps, self._control.timer_ns
        self.has_acted = True
        if rate is not None and not _is_finite(rate):
            raise UserCodeError(
                f"{self._where()} set its pacing_pps to {shown(rate)}: None or a number of segments per second above 0"
                " is needed"
            )
        if at_ns is not None:
            if not isinstance(at_ns, Integral) or at_ns <= self._now_ns:
                raise UserCodeError(
                    f"{self._where()} set its timer_ns to {at_ns!r}: None or a whole number of ns above"
                    f" {self._now_ns}, the present time, is needed"
                )
            if not self.event_mask & _OPTIONAL["timer_expired"]:
                raise UserCodeError(f"{self._where()} set its timer_ns: the class needs a method timer_expired(now_ns)")
        return None if rate is None else float(rate), None if at_ns is None else int(at_ns)

    def _give_up(self) -> None:
        end_process(self._where())

    def _where(self) -> str:
        return f"congestion control {self._name} at {s_from_ns(self._now_ns):.6f} s of simulated time"


def _is_finite(value: object) -> bool:
    """Whether this is a finite number above 0. A whole number or a fraction may be too large for the engine."""
    try:
        return isinstance(value, Real) and 0 < float(value) < math.inf
    except OverflowError:
        return False


def end_process(where: str) -> NoReturn:
    """End this process, with its traceback on stderr: the endless call ignores every interrupt, and the run must not
    hang.
    """
    print(f"pacelab: {where} does not return and ignores the interrupt:", file=sys.stderr, flush=True)
    faulthandler.dump_traceback(sys.stderr)
    os._exit(UserCodeError.exit_code)
