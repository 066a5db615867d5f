"""What happened, numbered, for people and for streams. Bounded: the oldest goes first, and readers see the gap."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

KEPT = 4096


class Entry(NamedTuple):
    """One event of the journal."""

    number: int
    at_ns: int
    kind: str
    data: dict[str, Any]


class Journal:
    """The last events."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=KEPT)
        self.next = 1

    def note(self, now_ns: int, kind: str, **data: Any) -> None:
        """Write an event down; the values are JSON's."""
        self._entries.append(Entry(self.next, now_ns, kind, data))
        self.next += 1

    def since(self, number: int) -> list[Entry]:
        """Events with this number or a later one, the oldest first."""
        first = self._entries[0].number if self._entries else self.next
        skip = max(0, number - first)
        return list(self._entries)[skip:]
