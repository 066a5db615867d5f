"""TCP-GAP at a wireless TCP source: adaptive pacing of what the host sends into the mesh.

    LOCAL_OUT   data of each flow waits in a pacing queue of its own; pure ACKs, SYN and UDP pass at once; a FIN without
                data passes behind its flow's queue; a RST empties the queue
    LOCAL_IN    an ACK gives RTT - RTT_wired = RTT_wireless, which gives the pace (`pace_estimator`)

RTT starts when the pacer releases a segment: the source causes the wait in the pacing queue, not the path.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Final

from pacelab.units import NS_PER_US
from pacelab_pacer.core.checks import AT_LEAST_1, check_fields
from pacelab_pacer.core.contract import Event, Point, SegmentSeen
from pacelab_pacer.core.pacing.outstanding import Outstanding
from pacelab_pacer.core.pacing.paced_flow import FlowTableConfig, PacedFlow, ReleaseSchedule
from pacelab_pacer.core.pacing.pacing_hook import PacingHook
from pacelab_pacer.core.pacing.teardown import Teardown
from pacelab_pacer.core.segment import ACK, FIN, RST, SYN, TCP, FlowKey, Segment, seq_diff
from pacelab_pacer.core.tcp_gap.pace_estimator import Pace, PaceConfig

LOCAL_OUT: Final = Point.LOCAL_OUT
LOCAL_IN: Final = Point.LOCAL_IN
"""Aliases: an Enum attribute look-up for each packet shows in the profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpGapSenderConfig:
    """Settings of the sender side. Raises ValueError on a value out of range."""

    pace: Pace = field(default_factory=PaceConfig)
    table: FlowTableConfig = field(default_factory=FlowTableConfig)
    subtract_rtt_wired: bool = True
    """Read the RTT_wired option. Without it the whole RTT counts as wireless: TCP-AP."""
    queue_limit_bytes: int = 1 << 20
    """Payload queued per flow; only a transport that ignores its window has more waiting than a window."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            queue_limit_bytes=AT_LEAST_1,
        )


class SenderFlow(PacedFlow):
    """Soft state of one outgoing flow."""

    __slots__ = ("estimator", "path_rates_bps", "rtt_wired_ns", "sent", "teardown")

    def __init__(
        self, key: FlowKey, now_ns: int, config: TcpGapSenderConfig, schedule: ReleaseSchedule | None = None
    ) -> None:
        super().__init__(key, now_ns, config.queue_limit_bytes, schedule)
        self.estimator = config.pace.estimator()
        self.sent = Outstanding()
        self.teardown = Teardown()
        self.path_rates_bps: tuple[int, ...] = ()
        self.rtt_wired_ns = 0
        """The option's last value; 0 until an ACK has it (no wired part, or a gateway without GAP)."""


class TcpGapSender(PacingHook[SenderFlow]):
    """The `sender` hook of TCP-GAP.

    Source: [tcp-gap] Sec. 4.2, Fig. 5.
    Deviates: for an ACK without the option the flow's last RTT_wired holds, not 0. The gateway omits the option if it
    has no sample, and the wired part still exists then.
    """

    _COUNTERS: ClassVar[tuple[str, ...]] = ("rtt_samples", "rtt_unusable", "n_hop_delay_us")
    """The last counter is a sum over the samples; divided by their number it is the mean n-hop delay."""

    def __init__(self, config: TcpGapSenderConfig | None = None) -> None:
        self._config = config or TcpGapSenderConfig()
        super().__init__(self._config.table)

    def handle(self, now_ns: int, event: Event) -> None:
        """Process a segment; what is not TCP of this host passes unchanged."""
        if not isinstance(event, SegmentSeen):
            return
        point, segment, path_rates_bps = event
        if segment.protocol == TCP and point is LOCAL_OUT:
            self._outgoing(now_ns, segment, path_rates_bps)
        elif segment.protocol == TCP and point is LOCAL_IN:
            self._incoming(now_ns, segment, path_rates_bps)
        else:
            self._forward(segment)

    def _outgoing(self, now_ns: int, segment: Segment, path_rates_bps: tuple[int, ...]) -> None:
        flow = self._flows.by_key.get(segment.flow)
        if flow is not None and segment.flags & SYN:
            self._end(now_ns, flow, "new connection")
            flow = None
        if not segment.is_data:
            self._outgoing_control(now_ns, flow, segment)
            return
        if flow is None:
            flow = self._add(now_ns, segment.flow)
            if flow is None:
                self._refuse(segment)
                return
        self._flows.touch(flow, now_ns)
        flow.teardown.observe(segment, outward=True)
        if path_rates_bps:
            flow.path_rates_bps = path_rates_bps
        estimator = flow.estimator
        if estimator.rtt_wireless_ns is None:
            estimator.expect(data_bytes=segment.packet_bytes, path_rates_bps=path_rates_bps)
            self._apply_pace(now_ns, flow)
        self._offer(now_ns, flow, segment)

    def _outgoing_control(self, now_ns: int, flow: SenderFlow | None, segment: Segment) -> None:
        if flow is None or not segment.flags & FIN:
            self._forward(segment)
        else:
            self._follow(flow, segment)
        if flow is None:
            return
        if segment.flags & RST:
            self._end(now_ns, flow, "connection reset")
        elif flow.teardown.observe(segment, outward=True):
            self._end(now_ns, flow, "connection closed")

    def _incoming(self, now_ns: int, segment: Segment, path_rates_bps: tuple[int, ...]) -> None:
        self._forward(segment)
        flow = self._flows.by_reply.get(segment.flow)
        if flow is None:
            return
        self._flows.touch(flow, now_ns)
        flags = segment.flags
        if flags & ACK:
            self._acknowledged(now_ns, flow, segment, path_rates_bps or flow.path_rates_bps)
        if flags & RST:
            self._end(now_ns, flow, "connection reset")
        elif (flow.teardown.has_begun or flags & FIN) and flow.teardown.observe(segment, outward=False):
            self._end(now_ns, flow, "connection closed")

    def _acknowledged(self, now_ns: int, flow: SenderFlow, segment: Segment, path_rates_bps: tuple[int, ...]) -> None:
        if segment.rtt_wired_ns is not None and self._config.subtract_rtt_wired:
            flow.rtt_wired_ns = segment.rtt_wired_ns
        highest = flow.sent.highest_end
        if highest is not None and seq_diff(segment.ack, highest) <= 1:
            self._discard_acknowledged(flow, segment.ack)
        rtt_ns, data_bytes, _ = flow.sent.acknowledged(now_ns, segment.ack)
        if rtt_ns is None:
            return
        usable = flow.estimator.sample(
            now_ns,
            rtt_ns - flow.rtt_wired_ns,
            data_bytes=data_bytes,
            ack_bytes=segment.packet_bytes - segment.payload_bytes,
            path_rates_bps=path_rates_bps,
        )
        self._count["rtt_samples" if usable else "rtt_unusable"] += 1
        if usable:
            self._count["n_hop_delay_us"] += int(flow.estimator.n_hop_delay_ns or 0) // NS_PER_US
            self._apply_pace(now_ns, flow)

    def _send(self, now_ns: int, flow: SenderFlow, segment: Segment) -> None:
        self._forward(segment)
        flow.sent.released(now_ns, segment)

    def _apply_pace(self, now_ns: int, flow: SenderFlow) -> None:
        flow.pacer.schedule.set_interval(now_ns, flow.estimator.interval_ns)
        if flow.pacer.waiting:
            self._schedule(flow)

    def _add(self, now_ns: int, key: FlowKey) -> SenderFlow | None:
        """Add a new flow, if there is room for it."""
        if not self._has_place(now_ns):
            return None
        flow = self._new_flow(now_ns, key)
        self._flows.add(flow)
        return flow

    def _new_flow(self, now_ns: int, key: FlowKey) -> SenderFlow:
        return SenderFlow(key, now_ns, self._config)
