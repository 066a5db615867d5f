"""TCP-GAP's gateway with CoDel on the pacing queue of each flow: `tcp-gap+codel`.

A pacer that prevents losses in the air takes away the signal by which a loss-based TCP stops growing. The whole of the
receiver's window then waits at the gateway (docs/tcp-gap.md). Here CoDel gives the signal back: it drops data that
waits for its pace, or marks it if the flow negotiated ECN.

Invariants, beside those of `gateway`
1. The pace does not change: a dropped packet uses no turn, and the packet behind it leaves at the same time.
2. The gateway keeps no copies, sends nothing again and forwards every duplicate ACK. Most of them report what CoDel
   dropped, or follow the repair of it. TCP-GAP takes each for a loss in the air: it would send data twice, and would
   hide the duplicates by which the source repairs the loss.
"""

from __future__ import annotations

from itertools import islice

from pacelab_pacer.core.contract import Drop, Rewrite
from pacelab_pacer.core.pacing.codel import CodelConfig, CodelLaw
from pacelab_pacer.core.pacing.packet_store import PacketStore
from pacelab_pacer.core.segment import FlowKey, Segment
from pacelab_pacer.core.tcp_gap.gateway import TcpGapFlow, TcpGapGateway, TcpGapGatewayConfig


class CodelFlow(TcpGapFlow):
    """A flow, the law of its queue, and since when each of its packets waits."""

    __slots__ = ("law", "queued_at_ns")

    def __init__(self, key: FlowKey, now_ns: int, store: PacketStore, codel: CodelConfig) -> None:
        super().__init__(key, now_ns, store)
        self.law = CodelLaw(codel)
        self.queued_at_ns: dict[int, int] = {}
        """Handle of a waiting segment -> when it was queued."""


class TcpGapCodelGateway(TcpGapGateway):
    """The `gateway` hook of `tcp-gap+codel`."""

    _COUNTERS = (*TcpGapGateway._COUNTERS, "codel_drops", "codel_marks")

    def __init__(self, config: TcpGapGatewayConfig | None = None, codel: CodelConfig | None = None) -> None:
        super().__init__(config)
        self._codel = codel or CodelConfig()

    def _new_flow(self, now_ns: int, key: FlowKey, segment: Segment) -> CodelFlow:
        return CodelFlow(key, now_ns, self._store, self._codel)

    def _offer(self, now_ns: int, flow: TcpGapFlow, segment: Segment) -> None:
        waiting = len(flow.pacer.waiting)
        super()._offer(now_ns, flow, segment)
        assert isinstance(flow, CodelFlow)
        if len(flow.pacer.waiting) > waiting:
            flow.queued_at_ns[segment.handle] = now_ns

    def _send(self, now_ns: int, flow: TcpGapFlow, segment: Segment) -> None:
        flow.sent.released(now_ns, segment)
        self._forward(segment)

    def _discard_acknowledged(self, flow: TcpGapFlow, ack: int) -> None:
        super()._discard_acknowledged(flow, ack)
        assert isinstance(flow, CodelFlow)
        waiting = {segment.handle for segment in flow.pacer.waiting}
        flow.queued_at_ns = {handle: at for handle, at in flow.queued_at_ns.items() if handle in waiting}

    def _release_head(self, now_ns: int, flow: TcpGapFlow) -> None:
        assert isinstance(flow, CodelFlow)
        self._apply_law(now_ns, flow)
        super()._release_head(now_ns, flow)

    def _apply_law(self, now_ns: int, flow: CodelFlow) -> None:
        """Drop heads as long as the law says so; a queue of two packets loses none."""
        pacer = flow.pacer
        flow.law.set_pace(pacer.schedule.interval_ns)
        while True:
            head = pacer.waiting[0]
            waited_ns = now_ns - flow.queued_at_ns.pop(head.handle, now_ns)
            data_behind = sum(1 for segment in islice(pacer.waiting, 1, 3) if segment.payload_bytes)
            if not flow.law.drops(now_ns, waited_ns, pkts_behind=data_behind):
                return
            if head.ecn_capable:
                self._count["codel_marks"] += 1
                self._actions.append(Rewrite(head.handle, congestion_experienced=True))
                return
            self._count["codel_drops"] += 1
            pacer.discard_head()
            self._store.unqueue(head.payload_bytes)
            self._actions.append(Drop(head.handle, "codel"))
