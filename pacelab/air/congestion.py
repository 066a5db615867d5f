"""A congestion control of your own: subclass `CongestionControl` in a file, run it with `--cc FILE.py:CLASS`.

The sender does what every TCP does (sequence numbers, duplicate ACKs, the retransmission timer, fast recovery). The
congestion control decides how large the window is. Your code runs inside the simulation: if it raises, sets a window
that is not a number, or does not return, the run stops and reports the simulated time.
"""

from __future__ import annotations

import faulthandler
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, Literal, NoReturn

from pacelab.errors import ConfigError
from pacelab.schemes import Scheme
from pacelab.units import s_from_ns
from pacelab.user_code.loading import load_own, meant_instead
from pacelab.user_code.messages import UserCodeError, finished, own_traceback, place_of
from pacelab.user_code.time_limit import NeverEnds, TimeLimit, run_limited, time_limit

PATIENCE_S = 5.0
"""A call that takes longer than this is considered endless."""


class CongestionControl(ABC):
    """Decides on the congestion window. Windows are in segments, fractions included; times are integer ns.

    `window` is read after each call. It must be a finite number above 0. If it is below 1, the sender spaces single
    segments.
    """

    NO_SCHEME: ClassVar[str] = "a congestion control: --cc"
    """The message of `--scheme FILE.py:CLASS` if the class is a congestion control."""
    recovery: ClassVar[Literal["newreno", "reno", "go-back-n"]] = "newreno"
    """What the sender does when three duplicate ACKs report a loss (RFC 6582, RFC 2581, Tahoe)."""

    def __init__(self, initial_window: int, window_limit: int) -> None:
        """`window_limit` is the receiver's window."""
        self.window: float = float(initial_window)
        self.window_limit = window_limit

    @abstractmethod
    def acknowledged(self, now_ns: int, acked_pkts: float, rtt_ns: int | None) -> None:
        """New data was acknowledged outside loss recovery. `rtt_ns` is given about once per round trip."""

    @abstractmethod
    def lost(self, now_ns: int, in_use_pkts: float) -> None:
        """Three duplicate ACKs arrived while this much of the window was in use."""

    def recovered(self) -> None:  # noqa: B027 - a default that does nothing
        """Loss recovery is over. By default, nothing happens."""

    def timed_out(self, now_ns: int, in_use_pkts: float) -> None:
        """The retransmission timer expired. By default, the window becomes one segment."""
        self.window = 1.0


def load_control(name: str) -> type[CongestionControl]:
    """The class that FILE.py:CLASS names.

    Raises ConfigError if there is no such file or class, UserCodeError if the file fails to load.
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
    """The function that the engine calls for each TCP flow."""
    limit = time_limit(PATIENCE_S)

    def make(_name: str, initial_window: int, window_limit: int) -> Guard:
        return Guard(name, made, initial_window, window_limit, limit)

    return make


class Guard:
    """Wraps your control for the engine: reports when and where it failed, and calls that do not end."""

    def __init__(
        self, name: str, made: type[CongestionControl], initial_window: int, window_limit: int, limit: TimeLimit
    ) -> None:
        self._name = name
        self._limit = limit
        self._now_ns = 0
        self._control = self._call(made, initial_window, window_limit)
        self.recovery = made.recovery
        self._note_window()

    def acknowledged(self, now_ns: int, acked_pkts: float, rtt_ns: int | None) -> None:
        """Forward the call."""
        self._now_ns = now_ns
        self._call(self._control.acknowledged, now_ns, acked_pkts, rtt_ns)
        self._note_window()

    def lost(self, now_ns: int, in_use_pkts: float) -> None:
        """Forward the call."""
        self._now_ns = now_ns
        self._call(self._control.lost, now_ns, in_use_pkts)
        self._note_window()

    def recovered(self) -> None:
        """Forward the call."""
        self._call(self._control.recovered)
        self._note_window()

    def timed_out(self, now_ns: int, in_use_pkts: float) -> None:
        """Forward the call."""
        self._now_ns = now_ns
        self._call(self._control.timed_out, now_ns, in_use_pkts)
        self._note_window()

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return finished(run_limited(self._limit, function, *arguments, give_up=self._give_up))
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

    def _give_up(self) -> None:
        end_process(self._where())

    def _where(self) -> str:
        return f"congestion control {self._name} at {s_from_ns(self._now_ns):.6f} s of simulated time"


def end_process(where: str) -> NoReturn:
    """End this process, with its traceback on stderr: the endless call ignores every interrupt, and the run must not
    hang.
    """
    print(f"pacelab: {where} does not return, and takes no interrupt:", file=sys.stderr, flush=True)
    faulthandler.dump_traceback(sys.stderr)
    os._exit(UserCodeError.exit_code)
