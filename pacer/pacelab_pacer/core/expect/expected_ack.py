"""PaceLab's own scheme: TCP-GAP's pacing behind ACKs that wait only for a segment that is due.

    A receiver acknowledges each segment. Its ACKs form groups, in which the newest ACK replaces all before it.
    The n-th ACK of a group enters the air.
    So does the newest one if the next has not arrived within k g           k = `patience`, g: the flow's mean gap (ns)
    n: the number that arrived in time if a group was cut short; one more after `settle` full groups, up to `most`

A fixed timer (100 ms) is far longer than a round trip in a mesh. A flow whose window is smaller than the group would
wait for the timer once per window, and a pacer that goes by round trips would take that wait for contention and slow
down further. Paced data arrives at a regular gap, so that a receiver need not wait longer. If a segment is missing when
it is due, it has been lost, or the window is used up. In both cases the source needs the ACK now.

Invariants
1. At most one ACK per flow is held, the newest, for at most `longest_ns`. The ACKs that it replaces said less.
2. ACKs that report a hole leave at once: duplicate ACKs, window updates, and the first new ACK after them.
3. Every segment but a pure ACK into the air passes unchanged to the hook behind, and so does every ACK that leaves.

Source: pacelab's own answer to [lee] Sec. 6, which leaves open how pacing (here [tcp-gap]'s) and delayed ACKs go
together. Its deadlines are `pacing`'s.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass

from pacelab.domains import Real
from pacelab.units import NS_PER_S
from pacelab_pacer.core.checks import ABOVE_0, AT_LEAST_1, check_fields
from pacelab_pacer.core.contract import Action, Drop, Event, EventMask, Hook, Point, SegmentSeen
from pacelab_pacer.core.pacing.wake_heap import WakeHeap
from pacelab_pacer.core.segment import RST, SYN, TCP, FlowKey, Segment, seq_diff
from pacelab_pacer.core.tcp_gap.pace_estimator import PaceConfig

PACE = PaceConfig(cov_weight=1.5)
"""The pace beside these ACKs: TCP-GAP's with three quarters of its weight of COV_RTT. ACKs that leave when a segment is
overdue have longer round trips, so that COV_RTT is larger than without them (docs/own-scheme.md)."""
GAP_SHARE = 8
"""A new gap counts for one part in so many of the mean."""
REASON = "a newer ACK stands for it"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedAckConfig:
    """Settings. Raises ValueError on a value out of range."""

    most: int = 4
    """ACKs that one ACK may replace; delayed ACKs have the same bound ([lee] Sec. 3.6)."""
    settle: int = 4
    """Full groups after which n grows by one."""
    patience: float = 2.0
    """k: gaps that an ACK waits for the next segment."""
    outlier: float = 1.5
    """A gap counts as at most so many mean gaps: most long gaps are windows that were used up."""
    longest_ns: int = NS_PER_S // 10
    """No ACK waits longer; the timer of delayed ACKs."""
    max_flows: int = 16_384
    """The ACKs of further flows all pass."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            most=AT_LEAST_1,
            settle=AT_LEAST_1,
            patience=ABOVE_0,
            outlier=Real(1, above=True),
            longest_ns=AT_LEAST_1,
            max_flows=AT_LEAST_1,
        )


class _Flow:
    """One direction of ACKs."""

    __slots__ = ("came_ns", "count", "full", "gap_ns", "held", "hole", "newest", "size")

    def __init__(self, ack: int, now_ns: int) -> None:
        self.newest = ack
        self.came_ns = now_ns
        """When the newest ACK arrived."""
        self.gap_ns = 0.0
        """g; 0 before the second ACK."""
        self.count = 0
        """ACKs since one was sent."""
        self.size = 1
        """n."""
        self.full = 0
        """Full groups since n changed."""
        self.held: SegmentSeen | None = None
        self.hole = False
        """The last ACK said nothing new."""


class ExpectedAck:
    """A hook in front of another one: at a gateway or at a wireless receiver of TCP data.

    Source: pacelab's own; the group and its number are those of delayed ACKs ([lee] Sec. 3.6).
    """

    def __init__(self, behind: Hook, config: ExpectedAckConfig | None = None) -> None:
        self._behind = behind
        self._config = config or ExpectedAckConfig()
        self._drops: deque[Action] = deque()
        self._flows: OrderedDict[FlowKey, _Flow] = OrderedDict()
        self._wakes: WakeHeap[_Flow] = WakeHeap()
        self._thinned = self._overdue = 0
        self.event_mask = behind.event_mask | EventMask.SEGMENT

    def handle(self, now_ns: int, event: Event) -> None:
        """Process an event; ACKs into the air may wait, everything else goes to the hook behind."""
        if isinstance(event, SegmentSeen) and event.segment.protocol == TCP and event.point in _INTO_AIR:
            if event.segment.is_pure_ack:
                self._acknowledgement(now_ns, event)
                return
            self._other(now_ns, event.segment)
        self._behind.handle(now_ns, event)

    def poll_action(self) -> Action | None:
        """Next action, or None."""
        return self._drops.popleft() if self._drops else self._behind.poll_action()

    def deadline(self) -> tuple[int, str] | None:
        """The earlier of two times: a held ACK's next segment is overdue, or the hook behind needs a wake-up."""
        behind = self._behind.deadline()
        at_ns = self._wakes.next_ns()
        if at_ns is None or (behind is not None and behind[0] < at_ns):
            return behind
        return at_ns, "ACK"

    def handle_timeout(self, now_ns: int) -> None:
        """Send the ACKs that have waited long enough."""
        while (flow := self._wakes.pop_due(now_ns)) is not None:
            self._overdue += 1
            flow.size, flow.full = flow.count, 0
            self._let_go(now_ns, flow)
        self._behind.handle_timeout(now_ns)

    def counters(self) -> dict[str, int]:
        """ACKs that another one replaced, ACKs sent because no segment arrived, and the counters of the hook behind."""
        return {**self._behind.counters(), "acks_suppressed": self._thinned, "acks_overdue": self._overdue}

    def _acknowledgement(self, now_ns: int, event: SegmentSeen) -> None:
        segment = event.segment
        flow = self._flows.get(segment.flow)
        if flow is None:
            self._make(now_ns, segment)
            self._behind.handle(now_ns, event)
            return
        self._flows.move_to_end(segment.flow)
        if seq_diff(segment.ack, flow.newest) <= 0:
            self._let_go(now_ns, flow)
            flow.hole = True
            self._behind.handle(now_ns, event)
            return
        self._measure(now_ns, flow)
        flow.newest = segment.ack
        self._replace(flow, event)
        if flow.hole:
            self._let_go(now_ns, flow)
        elif flow.count >= flow.size:
            self._grow(flow)
            self._let_go(now_ns, flow)
        else:
            wait_ns = min(round(self._config.patience * flow.gap_ns), self._config.longest_ns)
            self._wakes.set(flow, now_ns + wait_ns)
        flow.hole = False

    def _measure(self, now_ns: int, flow: _Flow) -> None:
        gap_ns, mean_ns = now_ns - flow.came_ns, flow.gap_ns
        flow.came_ns = now_ns
        if mean_ns <= 0:
            flow.gap_ns = float(gap_ns)
        else:
            flow.gap_ns = mean_ns + (min(gap_ns, self._config.outlier * mean_ns) - mean_ns) / GAP_SHARE

    def _grow(self, flow: _Flow) -> None:
        flow.full += 1
        if flow.full >= self._config.settle and flow.size < self._config.most:
            flow.size, flow.full = flow.size + 1, 0

    def _replace(self, flow: _Flow, event: SegmentSeen) -> None:
        if flow.held is not None:
            self._thinned += 1
            self._drops.append(Drop(flow.held.segment.handle, REASON))
        flow.held = event
        flow.count += 1

    def _let_go(self, now_ns: int, flow: _Flow) -> None:
        self._wakes.cancel(flow)
        flow.count = 0
        if flow.held is not None:
            self._behind.handle(now_ns, flow.held)
            flow.held = None

    def _other(self, now_ns: int, segment: Segment) -> None:
        """Data, SYN, FIN and RST contain a number themselves: a held ACK leaves before them."""
        flow = self._flows.get(segment.flow)
        if flow is not None:
            self._let_go(now_ns, flow)
            if segment.flags & (SYN | RST):
                del self._flows[segment.flow]

    def _make(self, now_ns: int, segment: Segment) -> None:
        """A new flow, if there is room: the most silent flow that holds nothing gives way."""
        if len(self._flows) >= self._config.max_flows:
            silent, flow = next(iter(self._flows.items()))
            if flow.held is not None:
                return
            del self._flows[silent]
        self._flows[segment.flow] = _Flow(segment.ack, now_ns)


_INTO_AIR = (Point.LOCAL_OUT, Point.WIRED_TO_AIR)
