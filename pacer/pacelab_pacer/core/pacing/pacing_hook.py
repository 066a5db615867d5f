"""The part that all pacing hooks share: flows, their queues, one clock for all of them, actions and counters.

A subclass says in `handle` which segments are paced (`_offer`), and in `_send` what else happens at a release.

Invariants
1. Every segment handed over leaves by exactly one Forward or Drop, or is in exactly one flow's queue.
2. `deadline` is the earliest of: a queue's head is due, a flow has been idle too long, the subclass's own clock.
3. The pace holds under any load. A segment for which there is no room (`packet_store`, or the flow's own limit) is
   dropped as at the tail of a router's queue; nothing is released ahead of its time, and no payload passes unpaced,
   whatever the flags of its segment. A segment without payload is not paced.
4. A new connection always gets a queue: if the table of flows is full, the most silent flow with nothing waiting is
   forgotten.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Generic, TypeVar, final

from pacelab_pacer.core.contract import Action, Drop, Event, EventMask, Forward, Reaction
from pacelab_pacer.core.pacing.paced_flow import FlowTable, FlowTableConfig, PacedFlow
from pacelab_pacer.core.pacing.packet_store import DEFAULT_BYTES, PacketStore
from pacelab_pacer.core.pacing.wake_heap import WakeHeap, Wakes
from pacelab_pacer.core.segment import FlowKey, Segment

F = TypeVar("F", bound=PacedFlow)


class PacingHook(ABC, Generic[F]):
    """Base class of the pacing hooks; see the module's invariants."""

    event_mask = EventMask.SEGMENT
    _COUNTERS: ClassVar[tuple[str, ...]] = ()
    """A subclass's own counters, beside the common ones."""

    def __init__(
        self, table: FlowTableConfig, wakes: Wakes[F] | None = None, *, store_bytes: int = DEFAULT_BYTES
    ) -> None:
        """`wakes`: None gives each flow a schedule of its own. `store_bytes`: payload held for all flows together."""
        self._actions: list[Action | int] = []
        """A number stands for the plain `Forward` of that handle, as in a `Reaction`."""
        self._flows: FlowTable[F] = FlowTable(table)
        self._wakes: Wakes[F] = WakeHeap() if wakes is None else wakes
        self._store = PacketStore(store_bytes, table.max_flows)
        queue = ("paced", "delayed", "copies_absorbed", "acknowledged_in_queue", "overflows")
        names = (*queue, "unpaced_flows", "unpaced_segments", "flows_ended", "flows_expired", *self._COUNTERS)
        self._count = dict.fromkeys(names, 0)
        self._replaced = 0
        self._paces = True

    @abstractmethod
    def handle(self, now_ns: int, event: Event) -> None:
        """Process a segment: forward, pace or drop it; other events and protocols pass unchanged."""

    @final
    def poll_action(self) -> Action | None:
        """Next action, or None."""
        if not self._actions:
            return None
        action = self._actions.pop(0)
        return Forward(action) if isinstance(action, int) else action

    def deadline(self) -> tuple[int, str] | None:
        """The time of the next wake-up, and the reason: "pace", "idle", or the subclass's own."""
        own, idle_ns, pace_ns = self._own_deadline(), self._flows.idle_at_ns(), self._wakes.next_ns()
        if pace_ns is not None and (own is None or pace_ns <= own[0]) and (idle_ns is None or pace_ns <= idle_ns):
            return pace_ns, "pace"
        if idle_ns is not None and (own is None or idle_ns < own[0]):
            return idle_ns, "idle"
        return own

    def handle_timeout(self, now_ns: int) -> None:
        """Release the packets that are due, and forget idle flows."""
        while (flow := self._wakes.pop_due(now_ns)) is not None:
            self._release_head(now_ns, flow)
        while (idle := self._flows.oldest_idle(now_ns)) is not None:
            if idle.holds_packets:  # a pace slower than the idle timeout is still a flow
                self._flows.touch(idle, now_ns)
                continue
            self._count["flows_expired"] += 1
            self._forget(now_ns, idle, "flow idle")
        self._own_timeout(now_ns)

    @final
    def react(self, now_ns: int, event: Event | None) -> Reaction:
        """The whole contract in one call, through the other methods, which subclasses may override."""
        if event is None:
            self.handle_timeout(now_ns)
        else:
            self.handle(now_ns, event)
        actions, self._actions = self._actions, []
        wanted = self.deadline()
        return actions, None if wanted is None else wanted[0]

    def counters(self) -> dict[str, int]:
        """How often the hook acted: data segments that took a pacer (paced), that had to wait (delayed), and so on.

        `overflows` counts segments that a full queue refused. `flows_replaced` is there only if the table was full.
        """
        return dict(self._count) if not self._replaced else {**self._count, "flows_replaced": self._replaced}

    @property
    def shares_pace(self) -> bool:
        """Whether all flows together have one pace."""
        return not isinstance(self._wakes, WakeHeap)

    def leave_pacing_to_driver(self) -> None:
        """Forward data at once from now on: something behind this hook enforces the pace that `pace_ns` returns."""
        self._paces = False

    def pace_ns(self, key: FlowKey) -> int | None:
        """T of a flow; None: unknown or not paced."""
        flow = self._flows.by_key.get(key)
        return None if flow is None else flow.pacer.schedule.interval_ns or None

    # What subclasses define.

    @abstractmethod
    def _send(self, now_ns: int, flow: F, segment: Segment) -> None:
        """Carry out the release of a data segment."""

    def _admits(self, now_ns: int, flow: F) -> bool:
        """Whether a data segment that arrives now may leave at once; if so, it is released."""
        return not flow.pacer.waiting and flow.pacer.schedule.admits(now_ns)

    def _own_deadline(self) -> tuple[int, str] | None:
        return None

    def _own_timeout(self, now_ns: int) -> None:
        pass

    def _make_room(self, flow: F, payload_bytes: int) -> None:
        """A segment of this payload is about to leave or to wait: free what it needs, if the subclass can."""

    def _has_room(self, flow: F, payload_bytes: int) -> bool:
        """Whether a segment of this payload may wait in the flow's queue."""
        pacer = flow.pacer
        waiting = pacer.waiting
        if waiting and pacer.queued_bytes + payload_bytes > flow.queue_limit_bytes:
            return False
        return self._store.admits(payload_bytes, flow_bytes=pacer.queued_bytes, flow_pkts=len(waiting))

    # What subclasses use.

    def _forward(self, segment: Segment) -> None:
        self._actions.append(segment.handle)

    def _pass_unpaced(self, segment: Segment) -> None:
        self._count["unpaced_segments"] += 1
        self._forward(segment)

    def _offer(self, now_ns: int, flow: F, segment: Segment) -> None:
        """Pace a data segment: send it now or queue it."""
        pacer = flow.pacer
        if pacer.waiting and pacer.holds_copy(segment):
            # The source timed out on a segment that never left: a second copy in the air would only contend.
            self._count["copies_absorbed"] += 1
            self._actions.append(Drop(segment.handle, "copy already queued"))
            return
        self._make_room(flow, segment.payload_bytes)
        if not self._paces or self._admits(now_ns, flow):
            self._count["paced"] += 1
            self._send(now_ns, flow, segment)
            return
        if not self._has_room(flow, segment.payload_bytes):
            self._refuse(segment)
            return
        self._count["paced"] += 1
        self._count["delayed"] += 1
        pacer.push(segment)
        self._store.queue(segment.payload_bytes)
        self._wakes.set(flow, pacer.schedule.due_ns())

    def _refuse(self, segment: Segment) -> None:
        """Drop a data segment for which there is no room, as a router's full queue does: its source takes it for a
        loss and slows down.
        """
        self._count["overflows"] += 1
        self._actions.append(Drop(segment.handle, "pacing queue full"))

    def _has_place(self, now_ns: int) -> bool:
        """Whether the table has room for one more flow. In a full table, the most silent flow that holds nothing is
        removed.
        """
        if not self._flows.is_full():
            return True
        silent = self._flows.replaceable(now_ns)
        if silent is None:
            return False
        self._replaced += 1
        self._forget(now_ns, silent, "flow table full")
        return True

    def _follow(self, flow: F, segment: Segment) -> None:
        """Forward a control segment, behind its flow's queued data if there is any, and room behind the data."""
        pacer = flow.pacer
        if pacer.waiting and self._store.admits(0, flow_bytes=0, flow_pkts=len(pacer.waiting)):
            pacer.push(segment)
            self._store.queue(0)
        else:
            self._forward(segment)

    def _discard_acknowledged(self, flow: F, ack: int) -> None:
        """Drop queued data that has arrived meanwhile: after a timeout a source repeats much that is not needed."""
        pacer = flow.pacer
        segment = pacer.pop_acknowledged(ack)
        if segment is None:
            return
        while segment is not None:
            self._store.unqueue(segment.payload_bytes)
            self._count["acknowledged_in_queue"] += 1
            self._actions.append(Drop(segment.handle, "acknowledged in queue"))
            segment = pacer.pop_acknowledged(ack)
        self._forward_control(flow)
        self._schedule(flow)

    def _forward_control(self, flow: F) -> None:
        while (control := flow.pacer.pop_control()) is not None:
            self._store.unqueue(0)
            self._forward(control)

    def _forget(self, now_ns: int, flow: F, reason: str) -> None:
        """Drop a flow's queue and all that is known of it."""
        self._drop_queue(flow, reason)
        self._wakes.cancel(flow)
        self._flows.remove(flow)

    def _drop_queue(self, flow: F, reason: str) -> None:
        for segment in flow.pacer.drain():
            self._store.unqueue(segment.payload_bytes)
            self._actions.append(Drop(segment.handle, reason))

    def _end(self, now_ns: int, flow: F, reason: str) -> None:
        """The flow's own segments have ended its connection."""
        self._count["flows_ended"] += 1
        self._forget(now_ns, flow, reason)

    def _schedule(self, flow: F) -> None:
        if flow.pacer.waiting:
            self._wakes.set(flow, flow.pacer.schedule.due_ns())
        else:
            self._wakes.cancel(flow)

    def _release_head(self, now_ns: int, flow: F) -> None:
        pacer = flow.pacer
        segment = pacer.pop(now_ns)
        self._store.unqueue(segment.payload_bytes)
        self._send(now_ns, flow, segment)
        if pacer.waiting:
            self._forward_control(flow)
        self._flows.touch(flow, now_ns)
        self._schedule(flow)
