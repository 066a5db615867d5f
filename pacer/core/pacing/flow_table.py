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
        self._config = config
        self.by_key: OrderedDict[FlowKey, F] = OrderedDict()
        """The most silent first."""

    def is_full(self) -> bool:
        """Whether no further flow may be added."""
        return len(self.by_key) >= self._config.max_flows

    def add(self, flow: F) -> None:
        """Remember a new flow."""
        self.by_key[flow.key] = flow

    def touch(self, flow: F, now_ns: int) -> None:
        """Note that the flow was heard of."""
        flow.last_seen_ns = now_ns
        self.by_key.move_to_end(flow.key)

    def remove(self, flow: F) -> None:
        """Forget a flow."""
        del self.by_key[flow.key]

    def idle_at_ns(self) -> int | None:
        """When the flow that has been silent longest expires."""
        for flow in self.by_key.values():
            return flow.last_seen_ns + self._config.idle_timeout_ns
        return None

    def oldest_idle(self, now_ns: int) -> F | None:
        """A flow whose idle timeout is over by now, the most silent first."""
        for flow in self.by_key.values():
            return flow if flow.last_seen_ns + self._config.idle_timeout_ns <= now_ns else None
        return None
