"""The null scheme: forwards everything at once. It is the baseline with the same contract as every scheme."""

from __future__ import annotations

from collections import deque

from pacelab_pacer.core.contract import Action, Event, EventMask, Forward, SegmentSeen


class NullHook:
    """Pass every segment through unchanged; counts nothing, since it never acts."""

    event_mask = EventMask.SEGMENT

    def __init__(self) -> None:
        self._actions: deque[Action] = deque()

    def handle(self, now_ns: int, event: Event) -> None:
        """Forward the segment."""
        if isinstance(event, SegmentSeen):
            self._actions.append(Forward(event.segment.handle))

    def poll_action(self) -> Action | None:
        """Next action, or None."""
        return self._actions.popleft() if self._actions else None

    def deadline(self) -> tuple[int, str] | None:
        """Needs no wake-up."""
        return None

    def handle_timeout(self, now_ns: int) -> None:
        """Nothing to do, however often it is called."""

    def counters(self) -> dict[str, int]:
        """Always empty."""
        return {}
