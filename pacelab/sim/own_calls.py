"""A user's code inside a simulation: called with a time limit, its first failure kept and told with its place.

The engine carries on without a hook that fails, as a network must. The author of that hook wants to hear of it instead.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from pacelab.options.own_code import UserCodeError, finished, own_traceback
from pacelab.sim import congestion
from pacelab.sim.congestion import NeverEnds, Watchdog
from pacelab.units import s_from_ns


class OwnCalls:
    """Calls a user's classes and their methods. `now_ns` is for the message; whoever calls sets it.

    `what` is said to have failed, as "pacer Mine". With `watched` off a call may take as long as it likes.
    """

    def __init__(self, what: str, *, watched: bool = True) -> None:
        self._what = what
        self._watch = Watchdog() if watched else None
        self._failure: str | None = None
        self.now_ns = 0

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call; a failure is noted and raised as UserCodeError, from then on without a call: each may never return."""
        self.raise_failure()
        try:
            with nullcontext() if self._watch is None else self._watch.call(self._where):
                return finished(function(*arguments))
        except (Exception, SystemExit, NeverEnds) as error:
            late = f"\n(it had not returned after {congestion.PATIENCE_S:g} s)" if isinstance(error, NeverEnds) else ""
            raise self.fail(f"failed:\n{own_traceback(error, function)}{late}") from error

    def fail(self, how: str) -> UserCodeError:
        """Note a failure; returns the error to raise."""
        failure = f"{self._where()} {how}"
        self._failure = self._failure or failure
        return UserCodeError(failure)

    def raise_failure(self) -> None:
        """Raise the first failure, if there was one."""
        if self._failure is not None:
            raise UserCodeError(self._failure)

    def _where(self) -> str:
        return f"{self._what} at {s_from_ns(self.now_ns):.6f} s of simulated time"
