"""Flows by key, bounded in number, forgotten when idle.

Kept in the order in which flows were last heard of, so that touching, finding the next to expire and expiring are O(1).
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

from pacelab.pacer.core.checks import require
from pacelab.pacer.core.pacing.paced_flow import PacedFlow
from pacelab.pacer.core.segment import FlowKey
from pacelab.units import NS_PER_S

F = TypeVar("F", bound=PacedFlow)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowTableConfig:
    """How many flows are remembered, and for how long. Raises ValueError on a value out of range."""

    idle_timeout_ns: int = 120 * NS_PER_S
    """A flow without a packet for this long is forgotten ("a few minutes", [tcp-gap] Sec. 4.3)."""
    max_flows: int = 16_384
    """Further flows pass unpaced."""

    def __post_init__(self) -> None:
        require(self.idle_timeout_ns > 0, "idle_timeout_ns", self.idle_timeout_ns, "a positive number of ns")
        require(self.max_flows >= 1, "max_flows", self.max_flows, "an integer of at least 1")


class FlowTable(Generic[F]):
    """The flows of one hook."""

    def __init__(self, config: FlowTableConfig) -> None:
        self._idle_timeout_ns, self._max_flows = config.idle_timeout_ns, config.max_flows
        self.by_key: OrderedDict[FlowKey, F] = OrderedDict()
        """The most silent first."""
        self.by_reply: dict[FlowKey, F] = {}
        """The same by the keys of what comes back: none has to be made for a packet."""
        self.newest: F | None = None
        """The one heard of last: touching it again moves nothing. None after one was removed."""
        self._oldest: F | None = None
        """The first of `by_key`, asked for per packet; None while it is to be looked up."""

    def is_full(self) -> bool:
        """Whether no further flow may be added."""
        return len(self.by_key) >= self._max_flows

    def add(self, flow: F) -> None:
        """Remember a new flow."""
        self.by_key[flow.key] = flow
        self.by_reply[flow.key.reversed()] = flow
        self.newest = flow

    def touch(self, flow: F, now_ns: int) -> None:
        """Note that the flow was heard of."""
        flow.last_seen_ns = now_ns
        if flow is not self.newest:
            self.by_key.move_to_end(flow.key)
            self.newest = flow
            if flow is self._oldest:
                self._oldest = None

    def remove(self, flow: F) -> None:
        """Forget a flow."""
        del self.by_key[flow.key], self.by_reply[flow.key.reversed()]
        self.newest = self._oldest = None

    def idle_at_ns(self) -> int | None:
        """When the flow that has been silent longest expires."""
        oldest = self._most_silent()
        return None if oldest is None else oldest.last_seen_ns + self._idle_timeout_ns

    def oldest_idle(self, now_ns: int) -> F | None:
        """A flow whose idle timeout is over by now, the most silent first."""
        oldest = self._most_silent()
        if oldest is None or oldest.last_seen_ns + self._idle_timeout_ns > now_ns:
            return None
        return oldest

    def _most_silent(self) -> F | None:
        if self._oldest is None:
            for flow in self.by_key.values():
                self._oldest = flow
                break
        return self._oldest
