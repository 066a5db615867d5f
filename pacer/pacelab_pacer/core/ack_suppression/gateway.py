"""ACK suppression at the gateway.

    WIRED_TO_AIR   data waits in the packet buffer, and a few packets at a time go to the link layer; each delivery
                   makes an ACK for the wired host. ACKs of upstream data end here: they move the congestion window.
    AIR_TO_WIRED   data enters the buffer of the flow's sender, which sends it to the wired host; ACKs that a station
                   lets through pass, since they contain news.

Invariants, beside those of `hook`
1. At most `in_link_layer_pkts` data segments are in the link layer, and few of each flow: the interface queue does not
   overflow, and a station out of reach does not block the others.
2. Data from a station is dropped only if a copy of it is here or acknowledged by the wired host.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import ClassVar

from pacelab.domains import Whole
from pacelab_pacer.core.ack_suppression.hook import AckSuppressionHook, Connection, LinkConfig, is_tracked
from pacelab_pacer.core.ack_suppression.link_half import Entry, LinkHalf
from pacelab_pacer.core.ack_suppression.wired_sender import WiredSender, WiredSenderConfig
from pacelab_pacer.core.checks import AT_LEAST_1, check_fields
from pacelab_pacer.core.contract import Drop, Point, SegmentSeen, TransmitResult
from pacelab_pacer.core.pacing.wake_heap import WakeHeap
from pacelab_pacer.core.segment import ACK, ECE, FIN, SYN, FlowKey, Segment, seq_diff


@dataclass(frozen=True, slots=True, kw_only=True)
class AckSuppressionGatewayConfig:
    """Settings of the gateway. Raises ValueError on a value out of range."""

    link: LinkConfig = field(default_factory=LinkConfig)
    wired: WiredSenderConfig = field(default_factory=WiredSenderConfig)
    buffer_pkts: int = 50
    """Downstream data at the gateway, held and in the link layer, over all flows. Further data is dropped, before
    anybody has acknowledged it. As long as the interface queue that it replaces, so that its length adds no goodput."""
    in_link_layer_pkts: int = 32
    """Downstream data in the link layer over all flows; this leaves room in its queue of 50."""
    per_flow_pkts: int = 4
    """The same for one flow: enough that the link layer never waits; few, since a failed packet goes behind them."""
    upstream_stop_pkts: int = 64
    """With so much data of one upstream flow waiting for the wired host, its station has to stop; at half of it the
    station may continue."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            buffer_pkts=AT_LEAST_1,
            in_link_layer_pkts=AT_LEAST_1,
            per_flow_pkts=AT_LEAST_1,
            upstream_stop_pkts=Whole(2),
        )


class GatewayConnection(Connection):
    """A connection, keyed by its wired-to-wireless direction."""

    __slots__ = ("sender", "stop_signal_ns", "stopped", "upstream_fin", "wired_window_bytes")

    def __init__(self, key: FlowKey, now_ns: int) -> None:
        super().__init__(key, now_ns)
        self.sender: WiredSender | None = None
        self.upstream_fin: int | None = None
        """Number after the station's FIN, once seen."""
        self.wired_window_bytes = 0
        """The largest window seen from the wired host."""
        self.stopped = False
        """Whether the last signal to the station was to stop."""
        self.stop_signal_ns: int | None = None
        """When the last signal was sent; None once the link layer has delivered it."""


class AckSuppressionGateway(AckSuppressionHook[GatewayConnection]):
    """The `gateway` hook of ACK suppression.

    Source: [le] Sec. 3.3, 3.4.
    Deviates: the buffer is bounded (`buffer_pkts`). A retransmission by the wired host of data that is here is
    absorbed. The gateway reports a hole from the wired network by duplicate ACKs when the link layer has delivered what
    follows the hole, as the station would; it does not report a hole that the link made. If the wired network is slower
    than the wireless link, the paper's gateway would have to buffer without end. Here it signals the station to stop
    and to continue, by ACKs with a zero and a non-zero window, which never reach the station's TCP.
    """

    _COUNTERS: ClassVar[tuple[str, ...]] = ("buffer_drops", "wired_retransmissions", "wired_timeouts", "stop_signals")

    def __init__(self, config: AckSuppressionGatewayConfig | None = None) -> None:
        self._config = config or AckSuppressionGatewayConfig()
        super().__init__(self._config.link)
        self._held: deque[Entry] = deque()
        self._wakes: WakeHeap[GatewayConnection] = WakeHeap()
        self._ended = {"wired_retransmissions": 0, "wired_timeouts": 0}

    def counters(self) -> dict[str, int]:
        """How often the hook acted."""
        count = dict(self._count)
        senders = [one.sender for one in self._connections.values() if one.sender is not None]
        resent = sum(sender.retransmissions for sender in senders)
        count["wired_retransmissions"] = self._ended["wired_retransmissions"] + resent
        count["wired_timeouts"] = self._ended["wired_timeouts"] + sum(sender.timeouts for sender in senders)
        return count

    def _new_connection(self, key: FlowKey, now_ns: int) -> GatewayConnection:
        return GatewayConnection(key, now_ns)

    def _handle_tcp(self, now_ns: int, event: SegmentSeen) -> None:
        segment, outward = event.segment, event.point == Point.WIRED_TO_AIR
        connection = self._connection_of(now_ns, segment, outward=outward)
        if self._refuses(connection, segment):
            self._refuse(segment)
        elif connection is None or not connection.is_open or segment.flags & SYN:
            self._forward(segment)
        elif outward:
            self._from_wired(now_ns, connection, segment)
        else:
            self._from_air(now_ns, connection, segment)
        if connection is not None:
            if outward and segment.flags & (ACK | SYN):
                connection.wired_window_bytes = max(connection.wired_window_bytes, segment.window_bytes)
            self._set_wake(connection)
            self._watch_end(now_ns, connection, segment, outward=outward)

    # Downstream.

    def _from_wired(self, now_ns: int, connection: GatewayConnection, segment: Segment) -> None:
        link = connection.link
        assert link is not None  # the connection is open
        answers_upstream = connection.sender is not None and bool(segment.flags & ACK)
        if answers_upstream:
            self._ack_from_wired(now_ns, connection, segment)
        if is_tracked(segment):
            self._data_from_wired(now_ns, connection, link, segment)
        elif answers_upstream and self._is_for_the_gateway(connection, segment):
            self._suppress(segment)
        else:
            self._forward(segment)

    def _data_from_wired(self, now_ns: int, connection: GatewayConnection, link: LinkHalf, segment: Segment) -> None:
        full = len(self._held) + len(self._passed) >= self._config.buffer_pkts
        if full and not (link.has_delivered(segment) or link.holds(segment)):
            self._count["buffer_drops"] += 1
            self._actions.append(Drop(segment.handle, "packet buffer full"))
            return
        entry = self._take(now_ns, connection, link, segment)
        if entry is not None:
            self._held.append(entry)
            self._fill_link_layer(now_ns)

    def _fill_link_layer(self, now_ns: int) -> None:
        """Give held data to the link layer, oldest first, as far as its flow and the link layer have room."""
        for entry in list(self._held):
            if len(self._passed) >= self._config.in_link_layer_pkts:
                break
            if entry.half.passed_pkts < self._config.per_flow_pkts:
                self._held.remove(entry)
                self._pass(now_ns, entry)

    def _acknowledge(self, connection: GatewayConnection, link: LinkHalf) -> None:
        self._count["acks_generated"] += 1
        window = connection.window_bytes
        flow = connection.key.reversed()
        self._inject_ack(flow, seq=connection.reverse_seq, ack=link.acknowledged, window_bytes=window)

    def _after_report(self, now_ns: int, connection: GatewayConnection) -> None:
        self._fill_link_layer(now_ns)

    # Upstream.

    def _from_air(self, now_ns: int, connection: GatewayConnection, segment: Segment) -> None:
        if not is_tracked(segment):
            self._forward(segment)
            return
        sender = connection.sender
        if sender is None:
            sender = connection.sender = self._new_sender(connection)
        if segment.flags & FIN:
            connection.upstream_fin = segment.end_seq
        if not sender.has(segment):
            sender.offer(now_ns, segment)
        elif segment.flags & FIN and seq_diff(segment.end_seq, sender.una) <= 0:
            self._forward(segment)  # the station missed the acknowledgement: only the peer can repeat it
        else:
            self._absorb_copy(segment)
        self._steer_station(now_ns, connection, sender)

    def _new_sender(self, connection: GatewayConnection) -> WiredSender:
        first_seq = connection.reverse_first_seq
        assert first_seq is not None  # the connection is open
        return WiredSender(first_seq, connection.wired_window_bytes, self._config.wired, self._actions)

    def _ack_from_wired(self, now_ns: int, connection: GatewayConnection, segment: Segment) -> None:
        sender = connection.sender
        assert sender is not None
        sender.acknowledge(now_ns, segment)
        if segment.flags & ECE:
            sender.congestion_echoed()
        self._steer_station(now_ns, connection, sender)

    def _is_for_the_gateway(self, connection: GatewayConnection, segment: Segment) -> bool:
        """Whether an ACK of upstream data ends here: not the ACK of a FIN, of an echoed mark or of a keep-alive."""
        if not segment.is_pure_ack or segment.flags & ECE or connection.is_probe(segment, outward=True):
            return False
        fin = connection.upstream_fin
        return fin is None or seq_diff(segment.ack, fin) < 0

    def _steer_station(self, now_ns: int, connection: GatewayConnection, sender: WiredSender) -> None:
        stop_pkts = self._config.upstream_stop_pkts
        stop = sender.backlog_pkts > (stop_pkts // 2 if connection.stopped else stop_pkts)
        if stop != connection.stopped:
            connection.stopped = stop
            self._signal(now_ns, connection, sender)

    def _signal(self, now_ns: int, connection: GatewayConnection, sender: WiredSender) -> None:
        """Signal the station to stop or to continue. The number acknowledges no more than the wired host has."""
        self._count["stop_signals"] += 1
        connection.stop_signal_ns = now_ns
        window = 0 if connection.stopped else max(1, connection.wired_window_bytes)
        self._inject_ack(connection.key, seq=connection.outward_seq, ack=sender.una, window_bytes=window)

    def _other_report(self, now_ns: int, result: TransmitResult) -> None:
        connection = self._connections.get(result.segment.flow)
        if connection is None or connection.stop_signal_ns is None or not result.segment.is_pure_ack:
            return
        if (result.segment.window_bytes == 0) != connection.stopped:
            return  # the report belongs to an older signal
        if result.delivered:
            connection.stop_signal_ns = None
        else:
            assert connection.sender is not None  # the sender's backlog caused the signal
            self._signal(now_ns, connection, connection.sender)
        self._set_wake(connection)

    # The clock.

    def _set_wake(self, connection: GatewayConnection) -> None:
        """Wake at the earlier of the sender's timer and the repetition of a signal."""
        wanted = [] if connection.sender is None else [connection.sender.deadline_ns()]
        if connection.stop_signal_ns is not None:
            wanted.append(connection.stop_signal_ns + self._link.report_timeout_ns)
        times = [at_ns for at_ns in wanted if at_ns is not None]
        if times:
            self._wakes.set(connection, min(times))
        else:
            self._wakes.cancel(connection)

    def _own_deadline(self) -> tuple[int, str] | None:
        at_ns = self._wakes.next_ns()
        return None if at_ns is None else (at_ns, "retransmission")

    def _own_timeout(self, now_ns: int) -> None:
        while (connection := self._wakes.pop_due(now_ns)) is not None:
            sender = connection.sender
            assert sender is not None  # only connections with a sender have wake-ups
            sender.handle_timeout(now_ns)
            told_ns = connection.stop_signal_ns
            if told_ns is not None and told_ns + self._link.report_timeout_ns <= now_ns:
                self._signal(now_ns, connection, sender)
            self._set_wake(connection)

    def _end(self, now_ns: int, connection: GatewayConnection, reason: str) -> None:
        super()._end(now_ns, connection, reason)
        self._wakes.cancel(connection)
        self._held = deque(entry for entry in self._held if entry.half is not connection.link)
        sender = connection.sender
        if sender is not None:
            sender.drain(reason)
            self._ended["wired_retransmissions"] += sender.retransmissions
            self._ended["wired_timeouts"] += sender.timeouts
        self._fill_link_layer(now_ns)
