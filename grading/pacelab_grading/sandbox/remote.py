"""A student's objects, as the trusted process uses them.

`RemoteObject` is for unit checks: it calls methods and reads attributes, with plain values both ways. `RemoteHook` is
an algorithm after the contract: the simulator calls it like any hook, and it asks the student's process, one question
per event. The answer holds all actions and the next deadline.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from pacelab import (
    Drop,
    EventMask,
    FlowKey,
    Forward,
    Inject,
    Release,
    Resend,
    Rewrite,
    Segment,
    SegmentSeen,
    SetExtraBackoff,
    TransmitResult,
)
from pacelab_grading.sandbox.failures import Malformed, OutputLimit, StudentFailure
from pacelab_grading.sandbox.session import AnySession

Action = Drop | Forward | Inject | Release | Resend | Rewrite | SetExtraBackoff
Event = SegmentSeen | TransmitResult
Note = Callable[[str, Sequence[Any], Mapping[str, Any]], None]

NS_PER_S = 1_000_000_000
LARGEST = 1 << 62
"""Numbers from the pipe stay within the engine's 64 bits."""
MAX_REASON = 80
MAX_COUNTERS = 32
MAX_TIMEOUTS_PER_S = 2000
"""Callbacks per simulated second; the air carries some hundred packets in one. A deadline in the past that never moves,
or moves by a nanosecond, would keep a simulation from ending."""
MAX_ACTIONS_PER_EVENT, SPARE_ACTIONS = 8, 2000
"""Each segment leaves once or is dropped once. A thousand invented actions per event would cost the grader minutes."""


class RemoteObject:
    """An object of a student's class. `note` receives each call with its arguments."""

    def __init__(
        self,
        session: AnySession,
        name: str,
        keywords: dict[str, Any],
        arguments: Sequence[Any] = (),
        note: Note = lambda _method, _arguments, _keywords: None,
    ) -> None:
        self.session = session
        self.name = name
        self._note = note
        self.number = session.request("new", name, keywords, arguments, doing=f"{name}(...)")

    def call(self, method: str, *arguments: Any, **keywords: Any) -> Any:
        """What the method returns, as JSON values (tuples become lists). Raises a StudentFailure."""
        self._note(method, arguments, keywords)
        return self.session.request("call", self.number, method, arguments, keywords, doing=f"{self.name}.{method}()")

    def call_then_get(self, method: str, *arguments: Any, then: str) -> Any:
        """Call a method, then return the value of the attribute `then`."""
        self._note(method, arguments, {})
        return self.session.request("tell", self.number, method, arguments, then, doing=f"{self.name}.{method}()")

    def get(self, name: str) -> Any:
        """The value of an attribute."""
        return self.session.request("get", self.number, name, doing=f"{self.name}.{name}")


class RemoteHook:
    """A student's hook, with the interface of hooks that the simulator and the unit checks use.

    `allowed` names the actions that the assignment permits. Any other action is a violation: a hook that could inject
    segments could also invent the data that it is graded by.

    The first failure ends the hook. It is kept in `failure`, and every further call raises it again.
    """

    def __init__(self, session: AnySession, name: str, keywords: dict[str, Any], *, allowed: Collection[str]) -> None:
        self.session = session
        self._name = name
        self._allowed = frozenset(allowed)
        self._actions: deque[Action] = deque()
        self._deadline: tuple[int, str] | None = None
        self.failure: StudentFailure | None = None
        self._timeouts = 0
        self._actions_taken = 0
        self.events = 0
        """Questions asked."""
        self._number = self._ask("new", name, keywords, doing=f"{name}(...)")
        mask = self._ask("mask", self._number, doing=f"{name}.event_mask")
        self.event_mask = EventMask(mask & 3) if _is_int(mask, 0, 1 << 16) else EventMask.SEGMENT

    def handle(self, now_ns: int, event: Event) -> None:
        """Pass an event to the student's hook and take its actions and deadline."""
        doing = f"{self._name}.handle()"
        if isinstance(event, SegmentSeen):
            answer = self._ask(
                "seen", self._number, now_ns, event.point, event.segment, event.path_rates_bps, doing=doing
            )
        else:
            segment, attempts, delivered, to = event
            answer = self._ask("sent", self._number, now_ns, segment, attempts, delivered, to, doing=doing)
        self._take(answer, doing)

    def poll_action(self) -> Action | None:
        """Next action, or None."""
        return self._actions.popleft() if self._actions else None

    def deadline(self) -> tuple[int, str] | None:
        """As in the last answer."""
        return self._deadline

    def handle_timeout(self, now_ns: int) -> None:
        """Tell the student's hook that its deadline is reached."""
        doing = f"{self._name}.handle_timeout()"
        self._timeouts += 1
        if self._timeouts > MAX_TIMEOUTS_PER_S * (1 + now_ns // NS_PER_S):
            self.failure = OutputLimit(
                f"{doing} was asked for {self._timeouts:,} times within {now_ns / NS_PER_S:.3f} s: "
                "deadline() must move to a later time after handle_timeout()"
            )
            raise self.failure
        self._take(self._ask("timeout", self._number, now_ns, doing=doing), doing)

    def counters(self) -> dict[str, int]:
        """The valid ones of the student's counters. Never fails, because nothing is graded by them."""
        try:
            pairs = self.session.request("counters", self._number, doing=f"{self._name}.counters()")
        except StudentFailure:
            return {}
        if not isinstance(pairs, list):
            return {}
        return {
            str(pair[0])[:MAX_REASON]: pair[1]
            for pair in pairs[:MAX_COUNTERS]
            if isinstance(pair, list) and len(pair) == 2 and _is_int(pair[1], 0, LARGEST)
        }

    def _ask(self, *request: Any, doing: str) -> Any:
        if self.failure is not None:
            raise self.failure
        self.events += 1
        try:
            return self.session.request(*request, doing=doing)
        except StudentFailure as failure:
            self.failure = failure
            raise

    def _take(self, answer: Any, doing: str) -> None:
        try:
            actions, deadline = answer
            self._actions_taken += len(actions)
            self._actions.extend([_action(fields, self._allowed) for fields in actions])
            self._deadline = None if deadline is None else _deadline(deadline)
        except (TypeError, ValueError, IndexError) as error:
            self.failure = Malformed(f"{doing}: {error}")
            raise self.failure from None
        if self._actions_taken > SPARE_ACTIONS + MAX_ACTIONS_PER_EVENT * self.events:
            self.failure = OutputLimit(f"{doing}: {self._actions_taken:,} actions after {self.events:,} events")
            raise self.failure


def _action(fields: Any, allowed: Collection[str]) -> Action:
    """The action of these fields, each of them checked. Raises ValueError with a text for the student."""
    name, *values = fields
    if not isinstance(name, str) or name not in allowed:
        raise ValueError(
            f"{str(name)[:MAX_REASON]} is not an action of this assignment; valid actions: {', '.join(sorted(allowed))}"
        )
    match name, values:
        case "Forward", [handle, bool(keep)] if _is_int(handle):
            return Forward(handle, keep)
        case "Drop", [handle, str(reason)] if _is_int(handle):
            return Drop(handle, reason[:MAX_REASON])
        case "Resend", [handle] if _is_int(handle):
            return Resend(handle)
        case "Release", [handle] if _is_int(handle):
            return Release(handle)
        case "Rewrite", [handle, window, rtt, marked] if (
            _is_int(handle)
            and (window is None or _is_int(window, 0, 1 << 30))
            and (rtt is None or _is_int(rtt, 0, LARGEST))
            and (marked is None or isinstance(marked, bool))
        ):
            return Rewrite(handle, window, rtt, marked)
        case "SetExtraBackoff", [slots] if _is_int(slots, 0, 1 << 20):
            return SetExtraBackoff(slots)
        case "Inject", [[_, flow, *_] as segment] if len(segment) == len(Segment._fields) and len(flow) == 4:
            made = Segment(0, FlowKey(*flow), *segment[2:11])
            numbers = (*made.flow, *made[2:9])
            if all(_is_int(number, 0, 1 << 40) for number in numbers):
                return Inject(made)
    raise ValueError(
        f"{name}({', '.join(repr(value)[:40] for value in values)[:MAX_REASON]}) has a field of a wrong type"
    )


def _deadline(pair: Any) -> tuple[int, str]:
    at_ns, reason = pair
    if isinstance(at_ns, float) and at_ns.is_integer():
        at_ns = int(at_ns)
    if not (_is_int(at_ns, -LARGEST, LARGEST) and isinstance(reason, str)):
        raise ValueError(f"deadline() returned {str(pair)[:MAX_REASON]}, not a whole number of ns and a text")
    return at_ns, reason[:MAX_REASON]


def _is_int(value: Any, low: int = -1, high: int = LARGEST) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
