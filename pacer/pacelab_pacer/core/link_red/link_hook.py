"""The base of the hooks at the link: their actions wait in a list, and they need no wake-ups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import final

from pacelab_pacer.core.contract import Action, Event, EventMask, Forward, Reaction
from pacelab_pacer.core.segment import Segment


class LinkHook(ABC):
    """A hook that answers every event at once."""

    event_mask = EventMask.SEGMENT | EventMask.TRANSMIT

    def __init__(self) -> None:
        self._actions: list[Action | int] = []
        """A number stands for the plain `Forward` of that handle, as in a `Reaction`."""

    @abstractmethod
    def handle(self, now_ns: int, event: Event) -> None:
        """Take note of an event."""

    @final
    def poll_action(self) -> Action | None:
        """Next action, or None."""
        if not self._actions:
            return None
        action = self._actions.pop(0)
        return Forward(action) if isinstance(action, int) else action

    @final
    def deadline(self) -> tuple[int, str] | None:
        """Needs no wake-up."""
        return None

    @final  # noqa: B027  # empty, and not abstract
    def handle_timeout(self, now_ns: int) -> None:
        """Nothing to do, however often it is called."""

    @final
    def react(self, now_ns: int, event: Event | None) -> Reaction:
        """All of the contract in one call."""
        if event is not None:
            self.handle(now_ns, event)
        if not self._actions:
            return ()
        actions, self._actions = self._actions, []
        return actions, None

    def _forward(self, segment: Segment) -> None:
        self._actions.append(segment.handle)
