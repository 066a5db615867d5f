"""ACK suppression at a station.

    LOCAL_IN    data passes to the station's TCP; ACKs for its own data are the gateway's signals to continue or to stop
    LOCAL_OUT   ACKs of data from the air end here, unless they say more than that the data has arrived; data goes to
                the link layer, and each delivery makes an ACK for the station's own TCP

A TCP that receives an ACK for everything that has left the link opens its window until the interface queue overflows.
There are five ways to throttle it (`Throttle`); the paper uses the zero window.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from pacelab.domains import Whole
from pacelab_pacer.core.ack_suppression.hook import AckSuppressionHook, Connection, LinkConfig, is_tracked
from pacelab_pacer.core.ack_suppression.link_half import LinkHalf
from pacelab_pacer.core.checks import SHARE_ABOVE_0, check_fields
from pacelab_pacer.core.contract import Drop, Point, SegmentSeen
from pacelab_pacer.core.segment import ACK, ECE, FIN, SYN, FlowKey, Segment, seq_diff

ETHERNET_MSS_BYTES = 1460


class Throttle(StrEnum):
    """How a station keeps its own TCP from filling the interface queue, numbered as in the paper."""

    NONE = "none"
    DROP = "drop"
    """(1) As a RED router: drops outgoing data."""
    DUPLICATE_ACKS = "duplicate-acks"
    """(2) Three duplicate ACKs; the segment that TCP then repeats is absorbed."""
    ECN_ECHO = "ecn-echo"
    """(3) ECE in the local ACKs of flows that negotiated ECN."""
    ZERO_WINDOW = "zero-window"
    """(4) A window of 0 in the local ACKs until the queue has shrunk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AckSuppressionStationConfig:
    """Settings of a station. Raises ValueError on a value out of range."""

    link: LinkConfig = field(default_factory=LinkConfig)
    throttle: Throttle = Throttle.ZERO_WINDOW
    threshold_pkts: int = 20
    """A flow with more outstanding segments is throttled; at half of this it is not."""
    drop_max_p: float = 0.1
    """Probability of a drop at twice the threshold (RED's max_p); 0 at the threshold; beyond twice, all is dropped."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            threshold_pkts=Whole(2),
            drop_max_p=SHARE_ABOVE_0,
        )


class StationConnection(Connection):
    """A connection, keyed by the direction that leaves the station."""

    __slots__ = (
        *("answers_data", "drop_debt", "ecn", "fin_seen", "open_window_bytes", "segment_bytes"),
        *("stopped", "throttled", "told_local", "told_window_bytes"),
    )

    def __init__(self, key: FlowKey, now_ns: int) -> None:
        super().__init__(key, now_ns)
        self.answers_data = False
        """The last segment that arrived was data: an ACK that leaves now acknowledges it."""
        self.fin_seen: int | None = None
        """Number after the peer's FIN, once it has arrived."""
        self.told_window_bytes: int | None = None
        """The window in the last segment that left: what the gateway knows."""
        self.open_window_bytes = 0
        """The peer's last window that was not 0."""
        self.segment_bytes = ETHERNET_MSS_BYTES
        """Largest payload that the station has sent, or more, so that a chat that becomes a transfer has room."""
        self.stopped = False
        """The gateway's last signal."""
        self.throttled = False
        self.told_local: int | None = None
        """The window in the last local ACK."""
        self.drop_debt = 0.0
        """Sum of the probabilities of a drop."""
        self.ecn = False
        """The connection's data is ECN-capable."""


class AckSuppressionStation(AckSuppressionHook[StationConnection]):
    """The `station` hook of ACK suppression.

    Source: [le] Sec. 3.3, 3.4.
    Deviates: an ACK passes nevertheless if it acknowledges a FIN, echoes a congestion mark, answers something else than
    data (a handshake, a keep-alive), or advertises less than the gateway knows or at least twice as much: the gateway
    must not promise room that the station does not have. In method 3 the paper says CWR; a receiver sets ECE. Method 4
    opens the window to twice the threshold at most, since a larger window would fill the queue at once. Method 1 adds
    up its probabilities and drops when the sum reaches 1: the same rate without random numbers.
    """

    _COUNTERS: ClassVar[tuple[str, ...]] = (
        "throttles",
        "random_drops",
        "echoes",
        "not_ecn_capable",
        "acks_let_through",
        "signals_taken",
    )

    def __init__(self, config: AckSuppressionStationConfig | None = None) -> None:
        self._config = config or AckSuppressionStationConfig()
        super().__init__(self._config.link)

    def _new_connection(self, key: FlowKey, now_ns: int) -> StationConnection:
        return StationConnection(key, now_ns)

    def _handle_tcp(self, now_ns: int, event: SegmentSeen) -> None:
        segment, outward = event.segment, event.point == Point.LOCAL_OUT
        connection = self._connection_of(now_ns, segment, outward=outward)
        if connection is not None and not outward and segment.flags & (ACK | SYN) and segment.window_bytes:
            connection.open_window_bytes = segment.window_bytes
        if self._refuses(connection, segment):
            self._refuse(segment)
        elif connection is None or not connection.is_open or segment.flags & SYN:
            self._forward(segment)
            if connection is not None and outward:
                connection.told_window_bytes = segment.window_bytes
        elif outward:
            self._from_transport(now_ns, connection, segment)
        else:
            self._to_transport(now_ns, connection, segment)
        if connection is not None:
            self._watch_end(now_ns, connection, segment, outward=outward)

    # Downstream: ACKs end here.

    def _to_transport(self, now_ns: int, connection: StationConnection, segment: Segment) -> None:
        connection.answers_data = segment.is_data
        if segment.flags & FIN:
            connection.fin_seen = segment.end_seq
        link = connection.link
        assert link is not None  # the connection is open
        if self._is_signal(connection, link, segment):
            self._count["signals_taken"] += 1
            self._actions.append(Drop(segment.handle, "signal to the station"))
            connection.stopped = segment.window_bytes == 0
            self._reopen(connection, link)
        else:
            self._forward(segment)

    def _is_signal(self, connection: StationConnection, link: LinkHalf, segment: Segment) -> bool:
        """Whether an ACK is a signal of the gateway, for a flow whose ACKs are made here, with no news for its TCP."""
        if not segment.is_pure_ack or segment.flags & ECE or connection.is_probe(segment, outward=False):
            return False
        return connection.told_local is not None and seq_diff(segment.ack, link.acknowledged) <= 0

    def _from_transport(self, now_ns: int, connection: StationConnection, segment: Segment) -> None:
        link = connection.link
        assert link is not None  # the connection is open
        if is_tracked(segment):
            connection.told_window_bytes = segment.window_bytes
            self._data_from_transport(now_ns, connection, link, segment)
        elif self._says_no_more(connection, segment):
            self._suppress(segment)
        else:
            self._count["acks_let_through"] += segment.is_pure_ack
            connection.told_window_bytes = segment.window_bytes
            self._forward(segment)

    def _says_no_more(self, connection: StationConnection, segment: Segment) -> bool:
        """Whether an ACK says no more than the link layer's ACK has said."""
        if not (segment.is_pure_ack and connection.answers_data) or segment.flags & ECE:
            return False
        if connection.fin_seen is not None and seq_diff(segment.ack, connection.fin_seen) >= 0:
            return False
        told = connection.told_window_bytes
        return told is not None and told <= segment.window_bytes < max(1, 2 * told)

    # Upstream: ACKs begin here.

    def _data_from_transport(
        self, now_ns: int, connection: StationConnection, link: LinkHalf, segment: Segment
    ) -> None:
        connection.ecn = connection.ecn or segment.ecn_capable
        connection.segment_bytes = max(connection.segment_bytes, segment.payload_bytes)
        known = link.has_delivered(segment) or link.holds(segment)
        if not known and self._drops_early(connection, link):
            self._count["random_drops"] += 1
            self._actions.append(Drop(segment.handle, "early drop"))
            return
        entry = self._take(now_ns, connection, link, segment)
        if entry is not None:
            self._pass(now_ns, entry)
            self._update_throttle(connection, link)

    def _acknowledge(self, connection: StationConnection, link: LinkHalf) -> None:
        self._count["acks_generated"] += 1
        self._update_throttle(connection, link)
        method = self._config.throttle
        closed = connection.stopped or (connection.throttled and method == Throttle.ZERO_WINDOW)
        window = 0 if closed else self._open_window_bytes(connection)
        flags = 0
        if connection.throttled and method == Throttle.ECN_ECHO and connection.ecn:
            self._count["echoes"] += 1
            flags = ECE
        connection.told_local = window
        flow = connection.key.reversed()
        self._inject_ack(flow, seq=connection.reverse_seq, ack=link.acknowledged, window_bytes=window, flags=flags)

    def _open_window_bytes(self, connection: StationConnection) -> int:
        window = connection.open_window_bytes
        if self._config.throttle != Throttle.ZERO_WINDOW:
            return window
        return min(window, 2 * self._config.threshold_pkts * connection.segment_bytes)

    def _after_report(self, now_ns: int, connection: StationConnection) -> None:
        assert connection.link is not None
        self._update_throttle(connection, connection.link)
        self._reopen(connection, connection.link)

    def _reopen(self, connection: StationConnection, link: LinkHalf) -> None:
        """Open the window again for a TCP that waits at a closed one and that no delivery will reach."""
        closed = connection.stopped or (connection.throttled and self._config.throttle == Throttle.ZERO_WINDOW)
        if connection.told_local == 0 and not closed:
            self._acknowledge(connection, link)

    def _update_throttle(self, connection: StationConnection, link: LinkHalf) -> None:
        threshold = self._config.threshold_pkts
        outstanding = len(link.entries)
        if connection.throttled:
            connection.throttled = outstanding > threshold // 2
        elif outstanding > threshold and self._config.throttle != Throttle.NONE:
            connection.throttled = True
            self._count["throttles"] += 1
            if self._config.throttle == Throttle.DUPLICATE_ACKS:
                for _ in range(3):
                    self._acknowledge(connection, link)
            elif self._config.throttle == Throttle.ECN_ECHO and not connection.ecn:
                self._count["not_ecn_capable"] += 1

    def _drops_early(self, connection: StationConnection, link: LinkHalf) -> bool:
        if self._config.throttle != Throttle.DROP:
            return False
        excess = (len(link.entries) - self._config.threshold_pkts) / self._config.threshold_pkts
        if excess >= 1:
            return True
        connection.drop_debt += max(0.0, excess) * self._config.drop_max_p
        if connection.drop_debt < 1:
            return False
        connection.drop_debt -= 1
        return True
