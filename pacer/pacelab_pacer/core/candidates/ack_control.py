"""What a gateway may do to ACKs so that less data arrives: pace them (`AckPacing`) or narrow their windows."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from pacelab_pacer.core.candidates.data_pacing import RATE_BPS
from pacelab_pacer.core.checks import ABOVE_0, AT_LEAST_1, check_fields
from pacelab_pacer.core.contract import Action, Drop, Event, EventMask, Forward, Point, Rewrite, SegmentSeen
from pacelab_pacer.core.pacing.outstanding import Outstanding
from pacelab_pacer.core.pacing.paced_flow import FlowTable, FlowTableConfig, PacedFlow, ReleaseSchedule
from pacelab_pacer.core.pacing.rate_shaper import RateShaper
from pacelab_pacer.core.pacing.teardown import Teardown
from pacelab_pacer.core.pacing.window_edge import WindowEdge
from pacelab_pacer.core.segment import ACK, RST, SYN, TCP, FlowKey, Segment


@dataclass(frozen=True, slots=True, kw_only=True)
class AckPacingConfig:
    """Settings of the ACK pacer. Raises ValueError on a value out of range."""

    rate_bps: float = RATE_BPS
    """R: rate of the data of all flows together, counted over whole IP packets."""
    table: FlowTableConfig = field(default_factory=FlowTableConfig)
    queue_limit_pkts: int = 1024
    """ACKs held per flow. All flows together hold at most half as many as the table holds flows."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            rate_bps=ABOVE_0,
            queue_limit_pkts=AT_LEAST_1,
        )


class AckedFlow(PacedFlow):
    """A wired-to-wireless flow and its waiting ACKs, each with its worth in octets of IP packets."""

    __slots__ = ("acks", "largest", "sent", "teardown")

    def __init__(self, segment: Segment, now_ns: int, schedule: ReleaseSchedule) -> None:
        super().__init__(segment.flow, now_ns, 0, schedule)
        self.acks: deque[tuple[Segment, int]] = deque()
        self.sent = Outstanding()
        self.sent.begin(segment.seq)
        self.largest = segment
        """The data segment with the largest payload: it shows how many headers so many octets need."""
        self.teardown = Teardown()

    @property
    def holds_packets(self) -> bool:
        """Whether an ACK waits here."""
        return bool(self.acks)

    def thin(self) -> Segment:
        """Take out the oldest ACK: the next one says all that it said, and takes over its worth."""
        oldest, worth_bytes = self.acks.popleft()
        if self.acks:
            newer, its_worth_bytes = self.acks[0]
            self.acks[0] = newer, its_worth_bytes + worth_bytes
        return oldest

    def worth_bytes(self, now_ns: int, ack: Segment) -> int:
        """The octets that this ACK fetches, at least one packet of the largest size."""
        largest = self.largest
        acked_bytes = max(self.sent.advance(ack), largest.payload_bytes)
        self.sent.acknowledged(now_ns, ack.ack)
        packets = -(-acked_bytes // largest.payload_bytes)
        return acked_bytes + packets * (largest.packet_bytes - largest.payload_bytes)


class AckPacing:
    """The `gateway` hook of ACK pacing.

    An ACK of n octets lets its sender send n octets more, so the next ACK, of any flow, leaves (n + headers) / R after
    it. A duplicate ACK is worth one segment: the third one, or one during recovery, fetches one.

    Invariants
    1. ACKs of one flow leave in the order of their arrival; flows take fair turns.
    2. A full queue drops its oldest ACK, and the next one takes over its worth: no ACK leaves ahead of the pace.
    3. An ACK that acknowledges data that was never sent costs as much as a duplicate, so that a bad ACK cannot stop the
       clock for other flows.

    Source: [vagp] Sec. IV-B.3, which names ACK pacing beside data pacing and gives no algorithm; the worth of an ACK is
    that of Wei, Tsao and Lin, GLOBECOM 2004 (its reference 5).
    Deviates: R is given, as for data pacing.

    Data that no ACK fetches is beyond its reach: the first window of a connection, and what a source sends again after
    a timeout. With many connections that is most of their data (docs/vagp.md).
    """

    event_mask = EventMask.SEGMENT

    def __init__(self, config: AckPacingConfig) -> None:
        self._config = config
        self._actions: deque[Action] = deque()
        self._flows: FlowTable[AckedFlow] = FlowTable(config.table)
        self._shaper: RateShaper[AckedFlow] = RateShaper(config.rate_bps)
        names = ("paced", "delayed", "overflows", "unpaced_segments", "flows_ended", "flows_expired")
        self._count = dict.fromkeys(names, 0)
        self._held = self._replaced = 0
        self._held_limit = max(1, config.table.max_flows // 2)

    def handle(self, now_ns: int, event: Event) -> None:
        """Process a segment; all but TCP ACKs from the air pass unchanged."""
        if not isinstance(event, SegmentSeen):
            return
        segment = event.segment
        if segment.protocol != TCP or event.point not in (Point.WIRED_TO_AIR, Point.AIR_TO_WIRED):
            self._actions.append(Forward(segment.handle))
        elif event.point == Point.WIRED_TO_AIR:
            self._outward(now_ns, segment)
        else:
            self._inward(now_ns, segment)

    def poll_action(self) -> Action | None:
        """Next action, or None."""
        return self._actions.popleft() if self._actions else None

    def deadline(self) -> tuple[int, str] | None:
        """The time of the next wake-up, and the reason: "pace" or "idle"."""
        pace_ns, idle_ns = self._shaper.next_ns(), self._flows.idle_at_ns()
        if pace_ns is not None and (idle_ns is None or pace_ns <= idle_ns):
            return pace_ns, "pace"
        return None if idle_ns is None else (idle_ns, "idle")

    def handle_timeout(self, now_ns: int) -> None:
        """Release the ACKs that are due, and forget idle flows."""
        while (flow := self._shaper.pop_due(now_ns)) is not None:
            self._release_head(now_ns, flow)
        while (idle := self._flows.oldest_idle(now_ns)) is not None:
            if idle.holds_packets:
                self._flows.touch(idle, now_ns)
                continue
            self._count["flows_expired"] += 1
            self._forget(idle)

    def counters(self) -> dict[str, int]:
        """How often the hook acted: ACKs that took a turn (paced), that had to wait (delayed), and so on."""
        return dict(self._count) if not self._replaced else {**self._count, "flows_replaced": self._replaced}

    def _outward(self, now_ns: int, segment: Segment) -> None:
        self._actions.append(Forward(segment.handle))
        flow = self._flows.by_key.get(segment.flow)
        if flow is None:
            if not segment.is_data:
                return
            if not self._has_place(now_ns):
                self._count["unpaced_segments"] += 1
                return
            flow = AckedFlow(segment, now_ns, self._shaper.schedule)
            self._flows.add(flow)
        self._flows.touch(flow, now_ns)
        if segment.is_data:
            flow.sent.released(now_ns, segment)
            if segment.payload_bytes > flow.largest.payload_bytes:
                flow.largest = segment
        self._watch_end(flow, segment, outward=True)

    def _inward(self, now_ns: int, segment: Segment) -> None:
        flow = self._flows.by_reply.get(segment.flow)
        if flow is None or not segment.is_pure_ack:
            self._actions.append(Forward(segment.handle))
        else:
            self._pace(now_ns, flow, segment)
        if flow is not None:
            self._flows.touch(flow, now_ns)
            self._watch_end(flow, segment, outward=False)

    def _pace(self, now_ns: int, flow: AckedFlow, segment: Segment) -> None:
        self._count["paced"] += 1
        worth_bytes = flow.worth_bytes(now_ns, segment)
        if not len(self._shaper) and self._shaper.schedule.admits(now_ns):
            self._actions.append(Forward(segment.handle))
            self._shaper.charge(now_ns, flow, worth_bytes)
            return
        self._count["delayed"] += 1
        flow.acks.append((segment, worth_bytes))
        self._held += 1
        if len(flow.acks) > self._config.queue_limit_pkts or self._held > self._held_limit:
            self._count["overflows"] += 1
            self._held -= 1
            self._actions.append(Drop(flow.thin().handle, "ACK queue full"))
        if flow.acks:
            self._shaper.set(flow, now_ns)

    def _release_head(self, now_ns: int, flow: AckedFlow) -> None:
        segment, worth_bytes = flow.acks.popleft()
        self._held -= 1
        self._shaper.schedule.released(now_ns)
        self._actions.append(Forward(segment.handle))
        self._shaper.charge(now_ns, flow, worth_bytes)
        self._flows.touch(flow, now_ns)
        if flow.acks:
            self._shaper.set(flow, now_ns)
        else:
            self._shaper.cancel(flow)

    def _watch_end(self, flow: AckedFlow, segment: Segment, *, outward: bool) -> None:
        reset = bool(segment.flags & (RST | SYN))
        if reset or flow.teardown.observe(segment, outward=outward):
            self._count["flows_ended"] += 1
            for held, _ in flow.acks:
                self._actions.append(Drop(held.handle, "connection over") if reset else Forward(held.handle))
            self._forget(flow)

    def _has_place(self, now_ns: int) -> bool:
        """Whether the table has room for one more flow. In a full table, the most silent flow without ACKs
        is removed.
        """
        if not self._flows.is_full():
            return True
        silent = self._flows.replaceable(now_ns)
        if silent is None:
            return False
        self._replaced += 1
        self._forget(silent)
        return True

    def _forget(self, flow: AckedFlow) -> None:
        self._held -= len(flow.acks)
        self._shaper.cancel(flow)
        self._flows.remove(flow)


WINDOW_PKTS = 2
"""The least window in which a lost ACK costs no timeout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowControlConfig:
    """Settings of window control. Raises ValueError on a value out of range."""

    window_pkts: int = WINDOW_PKTS
    """Window of each flow, in segments of the largest size seen."""
    table: FlowTableConfig = field(default_factory=FlowTableConfig)
    assumed_segment_bytes: int = 1460
    """Used before the first data: without a limit in SYN and SYN-ACK the edge would start too far out."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            window_pkts=AT_LEAST_1,
            assumed_segment_bytes=AT_LEAST_1,
        )


class WindowedFlow(PacedFlow):
    """A wired-to-wireless flow, as the ACKs from the air show it."""

    __slots__ = ("edge", "segment_bytes")

    def __init__(self, key: FlowKey, now_ns: int, segment_bytes: int, *, fresh: bool) -> None:
        super().__init__(key, now_ns, 0)
        self.edge = WindowEdge(fresh=fresh)
        self.segment_bytes = segment_bytes


class WindowControl:
    """The `gateway` hook of window control: min(own window, receiver's window) into each ACK from the air.

    Source: [vagp] Sec. IV-B.2: "we modify the advertisement window in each ACK packet at the gateway".
    Deviates: the right edge never moves back (see `WindowEdge`).
    """

    event_mask = EventMask.SEGMENT

    def __init__(self, config: WindowControlConfig) -> None:
        self._config = config
        self._actions: deque[Action] = deque()
        self._flows: FlowTable[WindowedFlow] = FlowTable(config.table)
        # Segments no longer pass without a limit. The counter remains so that stored results keep their bytes.
        names = ("windows_narrowed", "unlimited_segments", "flows_ended", "flows_expired")
        self._count = dict.fromkeys(names, 0)
        self._replaced = 0

    def handle(self, now_ns: int, event: Event) -> None:
        """Process a segment; all but TCP ACKs from the air pass unchanged."""
        if not isinstance(event, SegmentSeen):
            return
        segment = event.segment
        if segment.protocol == TCP and event.point == Point.WIRED_TO_AIR:
            self._outward(now_ns, segment)
        elif segment.protocol == TCP and event.point == Point.AIR_TO_WIRED:
            self._inward(now_ns, segment)
        self._actions.append(Forward(segment.handle))

    def poll_action(self) -> Action | None:
        """Next action, or None."""
        return self._actions.popleft() if self._actions else None

    def deadline(self) -> tuple[int, str] | None:
        """The time at which a flow will have been idle for too long."""
        idle_ns = self._flows.idle_at_ns()
        return None if idle_ns is None else (idle_ns, "idle")

    def handle_timeout(self, now_ns: int) -> None:
        """Forget idle flows."""
        while (idle := self._flows.oldest_idle(now_ns)) is not None:
            self._count["flows_expired"] += 1
            self._flows.remove(idle)

    def counters(self) -> dict[str, int]:
        """How often the hook acted: ACKs whose window it narrowed, and flows that it forgot."""
        return dict(self._count) if not self._replaced else {**self._count, "flows_replaced": self._replaced}

    def _outward(self, now_ns: int, segment: Segment) -> None:
        flow = self._flows.by_key.get(segment.flow)
        if flow is None:
            return
        self._flows.touch(flow, now_ns)
        if segment.is_data and segment.payload_bytes > flow.segment_bytes:
            flow.segment_bytes = segment.payload_bytes
        if segment.flags & (SYN | RST):
            self._end(flow)

    def _inward(self, now_ns: int, segment: Segment) -> None:
        key = segment.flow.reversed()
        flow = self._flows.by_key.get(key)
        if flow is not None and (segment.flags & RST or segment.flags & (SYN | ACK) == SYN):
            self._end(flow)
            flow = None
        if segment.flags & RST or not segment.flags & (SYN | ACK):
            return
        if flow is None:
            if self._flows.is_full():
                self._forget_most_silent(now_ns)
            flow = WindowedFlow(key, now_ns, self._config.assumed_segment_bytes, fresh=bool(segment.flags & SYN))
            self._flows.add(flow)
        self._flows.touch(flow, now_ns)
        wanted_bytes = self._config.window_pkts * flow.segment_bytes
        window_bytes = flow.edge.grant(segment, wanted_bytes)
        if window_bytes < segment.window_bytes:
            self._count["windows_narrowed"] += 1
            self._actions.append(Rewrite(segment.handle, window_bytes=window_bytes))

    def _forget_most_silent(self, now_ns: int) -> None:
        silent = self._flows.replaceable(now_ns)
        assert silent is not None  # these flows hold no packets
        self._replaced += 1
        self._flows.remove(silent)

    def _end(self, flow: WindowedFlow) -> None:
        self._count["flows_ended"] += 1
        self._flows.remove(flow)
