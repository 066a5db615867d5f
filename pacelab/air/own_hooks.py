"""A user's code in a simulation: calls with a time limit; the first failure is stored and reported with its place.

The engine carries on without a hook that fails, as a network must. The author of the hook needs to see the failure
instead: the first failure of a hook of a user's scheme stops the run.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from pacelab.air import congestion
from pacelab.air.congestion import end_process
from pacelab.schemes import Attachment, Scheme
from pacelab.schemes.failures import is_user_scheme
from pacelab.schemes.scheme import HOOK_NEEDS
from pacelab.units import NS_PER_S, s_from_ns
from pacelab.user_code.messages import UserCodeError, checked_result, misnamed_methods, place_of, user_traceback
from pacelab.user_code.time_limit import NeverEnds, run_limited, time_limit
from pacelab_pacer.core.contract import (
    Action,
    Drop,
    Event,
    Forward,
    Hook,
    Inject,
    Reaction,
    Rewrite,
    SegmentSeen,
    SetExtraBackoff,
)
from pacelab_pacer.core.segment import Segment


class OwnCalls:
    """Calls a user's classes and their methods. `now_ns` is for the message; the caller sets it.

    `what` names the code in errors, for example "pacer Mine". If `watched` is off, a call has no time limit.
    """

    def __init__(self, what: str, *, watched: bool = True) -> None:
        self._what = what
        self._limit = time_limit(congestion.TIME_LIMIT_S) if watched else None
        self._failure: str | None = None
        self.now_ns = 0

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call the code. A failure is stored and raised as UserCodeError. Later calls raise it without a call: each
        might hang.
        """
        self.raise_failure()
        try:
            if self._limit is None:
                return checked_result(function(*arguments))
            return checked_result(run_limited(self._limit, function, *arguments, give_up=self._give_up))
        except (Exception, SystemExit, NeverEnds) as error:
            late = (
                f"\n(it had not returned after {congestion.TIME_LIMIT_S:g} s)" if isinstance(error, NeverEnds) else ""
            )
            raise self.fail(f"failed:\n{user_traceback(error, function)}{late}") from error

    def fail(self, how: str) -> UserCodeError:
        """Store a failure; return the error to raise."""
        failure = f"{self._where()} {how}"
        self._failure = self._failure or failure
        return UserCodeError(failure)

    def raise_failure(self) -> None:
        """Raise the first failure, if there was one."""
        if self._failure is not None:
            raise UserCodeError(self._failure)

    def _give_up(self) -> None:
        end_process(self._where())

    def _where(self) -> str:
        return f"{self._what} at {s_from_ns(self.now_ns):.6f} s of simulated time"


ACTIONS = frozenset(get_args(Action))
VALID_ACTIONS = f"None, or one of {', '.join(kind.__name__ for kind in get_args(Action))}"

VALID_HANDLE = "an action with a packet's number, for example Forward(packet.handle)"
_MOST_32, _MOST_64 = 2**32 - 1, 2**64 - 1
VALID_REACTION = "([actions, handles to forward], None or a whole number of ns, 0 or more)"
LATEST = f"None for never, or at most {_MOST_64} ns"
FORGOTTEN_NS = NS_PER_S
"""Longer than a hook would hold a packet without asking for a wake-up."""


def guard(scheme: Scheme, attachments: Sequence[Attachment]) -> tuple[Sequence[Attachment], Callable[[], None]]:
    """The hooks to run, and a function that raises their first failure (UserCodeError).

    Registered schemes fail like parts of a network, without an end of the run. A scheme that reports its own failures
    keeps doing so.
    """
    if scheme.raise_failure is not None:
        return attachments, scheme.raise_failure
    if not is_user_scheme(scheme):
        return attachments, _never
    code = OwnCalls(f"scheme {scheme.name}")
    return [replace(item, hook=_OwnHook(code, item.hook)) for item in attachments], code.raise_failure


def misnamed_hooks(scheme: Scheme, attachments: Sequence[Attachment]) -> list[str]:
    """Sentences about methods of a user's hooks whose names nearly match the contract's, each once."""
    kinds = dict.fromkeys(type(item.hook) for item in attachments) if is_user_scheme(scheme) else {}
    return [told for kind in kinds for told in misnamed_methods(kind, (*HOOK_NEEDS, "react"))]


def forgetful_hooks(scheme: Scheme, guarded: Sequence[Attachment], end_ns: int) -> list[str]:
    """Sentences about a user's hooks, wrapped by `guard`, that still hold packets at a run's end without a wake-up."""
    return [
        f"scheme {scheme.name}: the {item.point} hook at node {item.node} kept packets that it neither forwarded nor "
        "dropped, and it wants no time to do so"
        for item in guarded
        if isinstance(item.hook, _OwnHook) and item.hook.has_forgotten(end_ns)
    ]


class _OwnHook:
    """Wraps a user's hook for the engine (see `pacelab_pacer.core.contract.Hook`)."""

    def __init__(self, code: OwnCalls, hook: Hook) -> None:
        self._code = code
        self._hook = hook
        self._held: dict[int, int] = {}  # arrival time by handle
        self._acted = 0
        self.event_mask = hook.event_mask
        if hasattr(hook, "react"):
            self.react = self._react

    def handle(self, now_ns: int, event: Event) -> None:
        self._code.now_ns = now_ns
        self._take(now_ns, event)
        self._code.call(self._hook.handle, now_ns, event)

    def poll_action(self) -> Action | None:
        action: Action | None = self._code.call(self._hook.poll_action)
        if action is not None and type(action) not in ACTIONS:
            raise self._refuse(self._hook.poll_action, action, VALID_ACTIONS)
        self._check_fields(self._hook.poll_action, action)
        self._let_go(action)
        return action

    def deadline(self) -> tuple[int, str] | None:
        wanted: tuple[int, str] | None = self._code.call(self._hook.deadline)
        try:
            if wanted is not None and operator.index(wanted[0]) < 0:
                raise ValueError
        except (TypeError, LookupError, ValueError):
            raise self._refuse(
                self._hook.deadline, wanted, "None, or a whole number of ns, 0 or more, and the reason"
            ) from None
        if wanted is not None and wanted[0] > _MOST_64:
            raise self._refuse(self._hook.deadline, wanted, LATEST)
        return wanted

    def handle_timeout(self, now_ns: int) -> None:
        self._code.now_ns = now_ns
        self._code.call(self._hook.handle_timeout, now_ns)

    def counters(self) -> dict[str, int]:
        counters: dict[str, int] = self._code.call(self._hook.counters)
        pairs = counters.items() if isinstance(counters, dict) else [("", None)]
        if any(type(name) is not str or type(count) is not int for name, count in pairs):
            raise self._refuse(self._hook.counters, counters, "a mapping of names to whole numbers")
        return counters or ({"acted": self._acted} if self._acted else {})

    def _react(self, now_ns: int, event: Event | None) -> Reaction:
        self._code.now_ns = now_ns
        self._take(now_ns, event)
        reaction: Reaction = self._code.call(self._hook.react, now_ns, event)  # type: ignore[attr-defined]
        if not _is_reaction(reaction):
            raise self._refuse(self._hook.react, reaction, VALID_REACTION)  # type: ignore[attr-defined]
        if not reaction:
            return reaction
        if (reaction[1] or 0) > _MOST_64:
            raise self._refuse(self._hook.react, reaction, LATEST)  # type: ignore[attr-defined]
        for action in reaction[0]:
            self._check_fields(self._hook.react, action)  # type: ignore[attr-defined]
            self._let_go(action)
        return reaction

    def has_forgotten(self, end_ns: int) -> bool:
        """Whether a packet has waited for long while the hook asks for no wake-up at which it could release
        the packet.
        """
        return end_ns - min(self._held.values(), default=end_ns) > FORGOTTEN_NS and self.deadline() is None

    def _take(self, now_ns: int, event: Event | None) -> None:
        if isinstance(event, SegmentSeen):
            self._held[event.segment.handle] = now_ns

    def _let_go(self, action: Action | int | None) -> None:
        """Count the actions other than forwarding, for a hook that keeps no counters itself."""
        if isinstance(action, Forward | int):
            came_ns = self._held.pop(action if isinstance(action, int) else action.handle, self._code.now_ns)
            self._acted += came_ns < self._code.now_ns
        elif action is not None:
            self._acted += 1
            if isinstance(action, Drop):
                self._held.pop(action.handle, None)

    def _check_fields(self, method: Callable[..., Any], action: Action | int | None) -> None:
        """Refuse an action that has, for example, the packet in place of its handle, or a negative number of slots."""
        handle = action if isinstance(action, int) else getattr(action, "handle", 0)
        if not _is_whole(handle, _MOST_32):
            raise self._refuse(method, action, VALID_HANDLE)
        for name, is_valid, valid in _VALUES.get(type(action), ()):
            if not is_valid(getattr(action, name)):
                raise self._refuse(method, action, f"an action whose {name} is {valid}")

    def _refuse(self, method: Callable[..., Any], gave: object, valid: str) -> UserCodeError:
        """An error about a return value that violates the contract."""
        shown = repr(gave)
        shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
        told = f"returned {shown} from {method.__name__}(); it must return {valid}"
        return self._code.fail(f"{told}\n{place_of(method)}".rstrip())


def _is_reaction(gave: object) -> bool:
    """Whether this is a `Reaction`."""
    if type(gave) is tuple and not gave:
        return True
    if not isinstance(gave, tuple) or len(gave) != 2 or not isinstance(gave[0], list):
        return False
    right = all(type(action) in ACTIONS or hasattr(action, "__index__") for action in gave[0])
    return right and (gave[1] is None or (hasattr(gave[1], "__index__") and operator.index(gave[1]) >= 0))


def _is_whole(value: object, most: int) -> bool:
    """Whether the engine can take this number: a whole one from 0 to `most`."""
    return (type(value) is int or hasattr(value, "__index__")) and 0 <= operator.index(value) <= most


def _is_bool(value: object) -> bool:
    """Whether the engine can take this truth value: also one of NumPy."""
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")


_VALID_VALUES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "keep": (_is_bool, "True or False"),
    "reason": (lambda value: isinstance(value, str), "a text"),
    "window_bytes": (
        lambda value: value is None or _is_whole(value, _MOST_32),
        f"None, or a whole number from 0 to {_MOST_32}",
    ),
    "rtt_wired_ns": (
        lambda value: value is None or _is_whole(value, _MOST_64),
        f"None, or a whole number from 0 to {_MOST_64}",
    ),
    "congestion_experienced": (lambda value: value is None or _is_bool(value), "None, True, or False"),
    "segment": (lambda value: isinstance(value, Segment), "a pacelab.Segment"),
    "slots": (lambda value: _is_whole(value, _MOST_32), f"a whole number from 0 to {_MOST_32}"),
    "wall_clock": (_is_bool, "True or False"),
}
"""Field of an action -> which values the engine can take, and the words for them."""
_VALUES: Mapping[type, list[tuple[str, Callable[[Any], bool], str]]] = {
    kind: [(name, *_VALID_VALUES[name]) for name in kind._fields if name in _VALID_VALUES]
    for kind in (Drop, Forward, Inject, Rewrite, SetExtraBackoff)
}
"""Kind of action with more than a handle -> its fields, as in `_VALID_VALUES`. Looked up for each action of a run."""


def _never() -> None:
    """Raise nothing: there is no user's hook."""
