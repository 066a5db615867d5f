"""The hooks of TCP-AP: pacing at the source, and dynamic delayed ACKs at a station."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass

from pacelab.units import NS_PER_S
from pacelab_pacer.core.checks import AT_LEAST_1, check_fields, require
from pacelab_pacer.core.contract import Action, Drop, Event, EventMask, Forward, Point, SegmentSeen
from pacelab_pacer.core.segment import SEQUENCE_SPACE, SYN, FlowKey, Segment, seq_diff
from pacelab_pacer.core.tcp_gap.pace_estimator import PaceConfig
from pacelab_pacer.core.tcp_gap.sender import TcpGapSender, TcpGapSenderConfig


class TcpApSender(TcpGapSender):
    """TCP-AP: adaptive pacing at the source alone, with the n-hop delay of any n.

    TCP-GAP's sender without its gateway: the whole RTT counts as wireless.

    Source: [lee] Sec. 3.3, 5.3, after ElRakabawy, Klemm & Lindemann; the out-of-interference delay of range H_cs is
    `hops = H_cs + 1`, so that H_cs = 3 is the four-hop delay.
    """

    def __init__(self, *, hops: int = 4, limit_to_path: bool = False) -> None:
        """`hops` is n; unless `limit_to_path`, n may exceed the path's length. Raises ValueError."""
        pace = PaceConfig(hops=hops, limit_to_path=limit_to_path)
        super().__init__(TcpGapSenderConfig(pace=pace, subtract_rtt_wired=False))


REASON = "delayed ACK"
MAX_NOTED = 4096
"""Segments of a flow that wait for their host's ACK; more than any window in use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayedAckConfig:
    """Settings. Raises ValueError on a value out of range."""

    schedule: tuple[tuple[int, int], ...] = ((0, 1), (1_000, 2), (10_000, 3), (100_000, 4))
    """(octets, d), ascending: after so many octets of data, an ACK for every d segments. [lee] Sec. 3.6."""
    timeout_ns: int = NS_PER_S // 10
    max_flows: int = 16_384
    """The ACKs of further flows all pass."""

    def __post_init__(self) -> None:
        starts = [octets for octets, _every in self.schedule]
        good = starts[:1] == [0] and starts == sorted(starts) and all(every >= 1 for _octets, every in self.schedule)
        require(good, "schedule", self.schedule, "pairs in ascending order from 0 octets, each with d of at least 1")
        check_fields(
            self,
            timeout_ns=AT_LEAST_1,
            max_flows=AT_LEAST_1,
        )


class _Flow:
    """One direction of ACKs."""

    __slots__ = ("covered", "due_ns", "ends", "first", "held", "hole", "told")

    def __init__(self) -> None:
        self.first: int | None = None
        """Number of the first octet of the data; None when its SYN was not seen."""
        self.told: int | None = None
        """The last ACK number that went out."""
        self.held: Segment | None = None
        self.due_ns = 0
        """When the held ACK is sent."""
        self.ends: deque[int] = deque(maxlen=MAX_NOTED)
        """Ends of the data that has arrived and that no ACK has covered."""
        self.covered = 0
        """Segments that ACKs have covered since one went out."""
        self.hole = False
        """The last ACK that went out was a duplicate."""


class DelayedAckStation:
    """Dynamic delayed ACKs at a station whose TCP acknowledges every segment: all but every d-th ACK end here.

        LOCAL_IN    the ends of data segments are noted
        LOCAL_OUT   an ACK that only acknowledges data in order waits, and the next one replaces it. The d-th segment's
                    ACK is sent, and so is one that has waited for `timeout_ns`

    d grows as data arrives (Altman & Jimenez). The simulator's TCP receiver does the same by itself. This hook is for
    hosts whose TCP cannot be changed: let their TCP send an ACK for every segment (Linux: `quickack 1` on the route).

    Invariants
    1. At most one ACK per flow is held, and the newest number always leaves within `timeout_ns`.
    2. Duplicate ACKs, and the first ACK after them, leave at once: the source learns of a hole, and of its end, segment
       by segment.

    Source: [lee] Sec. 3.6, after E. Altman and T. Jimenez, PWC 2003.
    Deviates: a flow whose SYN was not seen has the last d of the schedule.
    """

    event_mask = EventMask.SEGMENT

    def __init__(self, config: DelayedAckConfig | None = None) -> None:
        self._config = config or DelayedAckConfig()
        self._actions: deque[Action] = deque()
        self._flows: OrderedDict[FlowKey, _Flow] = OrderedDict()
        self._holding: OrderedDict[FlowKey, _Flow] = OrderedDict()
        """Flows with an ACK that waits, the one due first at the front: all wait equally long."""
        self._suppressed = self._timed_out = 0

    def handle(self, now_ns: int, event: Event) -> None:
        """Process a segment."""
        if not isinstance(event, SegmentSeen):
            return
        segment = event.segment
        if event.point == Point.LOCAL_OUT and segment.is_pure_ack:
            self._acknowledgement(now_ns, segment)
            return
        if event.point == Point.LOCAL_IN:
            self._arrival(segment)
        else:
            self._other_output(segment)
        self._actions.append(Forward(segment.handle))

    def poll_action(self) -> Action | None:
        """Next action, or None."""
        return self._actions.popleft() if self._actions else None

    def deadline(self) -> tuple[int, str] | None:
        """When the ACK that has waited longest is sent."""
        for flow in self._holding.values():
            return flow.due_ns, "delayed ACK"
        return None

    def handle_timeout(self, now_ns: int) -> None:
        """Send the ACKs that have waited long enough."""
        while self._holding:
            key, flow = next(iter(self._holding.items()))
            if flow.due_ns > now_ns:
                break
            self._timed_out += 1
            assert flow.held is not None
            self._let_go(key, flow, flow.held)

    def counters(self) -> dict[str, int]:
        """ACKs that were not sent, and ACKs that were sent because nothing else arrived."""
        return {"acks_suppressed": self._suppressed, "acks_timed_out": self._timed_out}

    # Segments.

    def _arrival(self, segment: Segment) -> None:
        key = segment.flow.reversed()
        if segment.flags & SYN:
            self._replace(key, None)
            self._flows.pop(key, None)
            flow = self._flow(key)
            if flow is not None:
                flow.first = (segment.seq + 1) % SEQUENCE_SPACE
        elif segment.payload_bytes and (flow := self._flow(key)) is not None:
            flow.ends.append(segment.end_seq)

    def _acknowledgement(self, now_ns: int, segment: Segment) -> None:
        key = segment.flow
        flow = self._flow(key)
        if flow is None:
            self._actions.append(Forward(segment.handle))
            return
        newest = flow.held.ack if flow.held is not None else flow.told
        says_more = newest is not None and seq_diff(segment.ack, newest) > 0
        while flow.ends and seq_diff(flow.ends[0], segment.ack) <= 0:
            flow.ends.popleft()
            flow.covered += 1
        if flow.hole or not says_more or flow.covered >= self._every(flow, segment.ack):
            if says_more:
                self._replace(key, None)
            flow.hole = newest is not None and not says_more
            self._let_go(key, flow, segment)
        else:
            self._replace(key, segment)
            if key not in self._holding:
                flow.due_ns = now_ns + self._config.timeout_ns
                self._holding[key] = flow

    def _other_output(self, segment: Segment) -> None:
        """Data, FIN and RST contain the newest number themselves."""
        flow = self._flows.get(segment.flow)
        if flow is not None:
            self._replace(segment.flow, None)
            flow.told, flow.covered = segment.ack, 0

    # What is held.

    def _let_go(self, key: FlowKey, flow: _Flow, segment: Segment) -> None:
        if flow.held is not None and flow.held is not segment:
            # A duplicate: the ACK that it repeats has to leave first.
            self._actions.append(Forward(flow.held.handle))
        flow.held = None
        self._holding.pop(key, None)
        flow.told, flow.covered = segment.ack, 0
        self._actions.append(Forward(segment.handle))

    def _replace(self, key: FlowKey, segment: Segment | None) -> None:
        """Drop the held ACK, for a newer one or because another segment says the same."""
        flow = self._flows.get(key)
        if flow is None:
            return
        if flow.held is not None:
            self._suppressed += 1
            self._actions.append(Drop(flow.held.handle, REASON))
        flow.held = segment
        if segment is None:
            self._holding.pop(key, None)

    def _every(self, flow: _Flow, ack: int) -> int:
        """The value of d at this point of the transfer."""
        schedule = self._config.schedule
        if flow.first is None:
            return schedule[-1][1]
        octets = (ack - flow.first) % SEQUENCE_SPACE
        return [every for start, every in schedule if start <= octets][-1]

    def _flow(self, key: FlowKey) -> _Flow | None:
        """The flow, created if there is room: the most silent flow that holds nothing gives way."""
        flow = self._flows.get(key)
        if flow is not None:
            self._flows.move_to_end(key)
            return flow
        if len(self._flows) >= self._config.max_flows:
            silent, oldest = next(iter(self._flows.items()))
            if oldest.held is not None:
                return None
            del self._flows[silent]
        flow = self._flows[key] = _Flow()
        return flow
