"""`--datapath tc`: the algorithm watches and computes, the kernel paces. No packet waits for Python.

The hook runs unchanged on the packets that an `AirTap` has seen, in their time: each event has the time that the kernel
noted, and every earlier deadline is served first. The hook holds nothing back (`leave_pacing_to_driver`). Its paces
become the rates of HTB classes, which release the packets in that rhythm. This works with any `PacingHook` of the core.

A watcher cannot resend, absorb or rewrite. TCP-GAP's local retransmission and RTT_wired are off, and are counted.

Invariants
1. Fail open: if a hook raises, its classes are removed, and packets pass unpaced.
2. Python's share of a core is bounded: beyond `BUSY_PPS` the tap gives a sample (see `AirTap`).
3. All flows are paced: those for which no class is left share one (see `kernel_pacing`).
"""

from __future__ import annotations

import os
import select
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Literal

from pacelab.units import BITS_PER_BYTE, NS_PER_MS, NS_PER_S
from pacelab_pacer.core.contract import Drop, Forward, Hook, Point, SegmentSeen
from pacelab_pacer.core.pacing.pacing_hook import PacingHook
from pacelab_pacer.core.segment import SYN, TCP, FlowKey, Segment
from pacelab_pacer.linux.agent import LEFT_BEHIND, TICK_NS, AgentConfig
from pacelab_pacer.linux.air_tap import AirTap, Tapped
from pacelab_pacer.linux.diagnostics import TrafficWatch
from pacelab_pacer.linux.host import AgentError, check_permitted, check_wired, mtu_of
from pacelab_pacer.linux.kernel_pacing import KernelPacing
from pacelab_pacer.linux.packet import PacketReader, Reason
from pacelab_pacer.linux.real_time import be_punctual
from pacelab_pacer.linux.rules import remove_stale
from pacelab_pacer.linux.status import STATUS_VERSION, FlowMonitor, Line, Ready, Status
from pacelab_pacer.linux.stop_signal import StopSignal

BATCH_NS = 5 * NS_PER_MS
"""How often the socket is read. Pacing does not wait for this, and the kernel measures the times of packets."""
BUSY_PPS, IDLE_PPS = 600, 120
"""Packets seen per second beyond which the sample is halved, and below which it is doubled."""
LOAD_NS = 100 * NS_PER_MS
"""How often the load is checked."""
YOUNG_NS = 20 * NS_PER_MS
"""For this long after a SYN, and after data of a flow without a pace, packets are processed at once, since the flow is
unpaced.
"""
SETTLED = 0.02
"""A rate is set again if it has changed by at least this share,"""
SETTLED_NS = 20 * NS_PER_MS
"""and at the earliest this long after the last change."""
IDLE_NS = 120 * NS_PER_S
MAX_FLOWS = 16_384
"""Number of flows that are paced, as many as the hooks' tables hold; for a further one, the most silent is
forgotten.
"""
_LARGEST_SUPER_PACKET = 0xFFFF


class _Paced:
    __slots__ = (
        "full",
        "interval_bytes",
        "interval_ns",
        "largest_bytes",
        "last_ns",
        "set_ns",
        "told_bps",
        "told_bytes",
    )

    def __init__(self) -> None:
        self.full = False
        """The last packet had the largest size: the current pace is that of such packets."""
        self.interval_ns = 0
        self.interval_bytes = 0
        """The last pace, and the packet size that it belongs to: a small packet may have measured it."""
        self.largest_bytes = 0
        self.set_ns = 0
        self.told_bps = 0
        self.told_bytes = 0
        self.last_ns = 0


class TcAgent:
    """Runs a pacing hook beside the packets of the air interface until SIGTERM or SIGINT."""

    def __init__(
        self,
        config: AgentConfig,
        hook: Hook,
        *,
        say: Callable[[str], None],
        on_status: Callable[[Line], None],
    ) -> None:
        """As `Agent`. Raises AgentError for a hook without `pace_ns`."""
        if not isinstance(hook, PacingHook) or hook.shares_pace:
            raise AgentError(f"scheme {config.scheme!r} does more than pace single flows: use --datapath nfqueue")
        self._config = config
        hook.leave_pacing_to_driver()
        self._hook: PacingHook[Any] = hook
        self._say = say
        self._on_status = on_status
        points = (Point.LOCAL_OUT, Point.LOCAL_IN), (Point.WIRED_TO_AIR, Point.AIR_TO_WIRED)
        self._out, self._in = points[config.role.name == "gateway"]
        self._reader = PacketReader(largest_bytes=_LARGEST_SUPER_PACKET, whole=False)
        self._monitor = FlowMonitor()
        self._traffic = TrafficWatch(
            config.air, config.wired, paths_known=bool(config.paths), say=say, sees="IPv4 TCP packet"
        )
        self._flows: OrderedDict[FlowKey, _Paced] = OrderedDict()
        self._young_until_ns = 0
        self._count: Counter[str] = Counter()
        self._unseen: Counter[str] = Counter()
        self._watched_only: Counter[str] = Counter()
        self._failure: str | None = None
        self._full = False
        self._handle = 0
        self._now_ns = 0
        self._started_ns = time.monotonic_ns()

    def run(self) -> None:
        """Start, serve, end. Raises AgentError when it cannot start."""
        with ExitStack() as undo:
            stop = StopSignal()
            undo.callback(stop.close)
            check_permitted()
            self._mtu_bytes = mtu_of(self._config.air)
            check_wired(self._config.wired)
            self._tap = AirTap(self._config.air)
            undo.callback(self._tap.close)
            self._kernel = KernelPacing(self._config.air)
            undo.callback(self._kernel.close)
            if removed := [*self._kernel.removed, *remove_stale()]:
                self._say(LEFT_BEHIND.format(", ".join(removed)))
            self._traffic.look_at_interfaces()
            punctual = self._config.realtime and be_punctual()
            self._on_status(self._ready(punctual))
            self._serve(stop)
        self._on_status(self._status(time.monotonic_ns(), "end"))

    def _serve(self, stop: StopSignal) -> None:
        clock = time.monotonic_ns
        seconds = self._config.seconds
        end_ns = None if seconds is None else clock() + round(seconds * NS_PER_S)
        tick_ns, load_ns = clock() + TICK_NS, clock() + LOAD_NS
        seen = seen_lately = 0
        batch: list[Tapped] = []
        while not stop.given:
            watched: list[Any] = [stop] if self._may_wait(batch, clock()) else [stop, self._tap]
            select.select(watched, [], [], BATCH_NS / NS_PER_S)
            batch = self._tap.receive()
            for packet in batch:
                self._see(packet)
            seen += len(batch)
            seen_lately += len(batch)
            now_ns = clock()
            self._advance(now_ns)
            self._set_rates(now_ns)
            if now_ns >= load_ns:
                if seen_lately * TICK_NS > BUSY_PPS * (now_ns - load_ns + LOAD_NS):
                    self._tap.sample_more()
                load_ns, seen_lately = now_ns + LOAD_NS, 0
            if now_ns >= tick_ns:
                if seen < IDLE_PPS:
                    self._tap.sample_less()
                tick_ns, seen = max(tick_ns + TICK_NS, now_ns), 0
                self._kernel.check()
                self._mtu_bytes = mtu_of(self._config.air)
                self._forget_idle(now_ns)
                self._traffic.check(now_ns, seen=self._count["seen"], unseen=self._unseen, two_way=True)
                self._traffic.look_at_interfaces()
                self._on_status(self._status(now_ns, "status"))
                if end_ns is not None and now_ns >= end_ns:
                    return

    def _may_wait(self, batch: list[Tapped], now_ns: int) -> bool:
        """Whether packets may collect: those of a flow without a pace are processed at once, others in batches."""
        return bool(batch) and now_ns > self._young_until_ns

    # The hook, in the time of the packets.

    def _see(self, packet: Tapped) -> None:
        self._handle += 1
        segment = self._reader.read(self._handle, packet.headers)
        self._count["seen"] += 1
        if isinstance(segment, Reason):
            self._unseen[segment] += 1
            return
        self._monitor.passed(packet.at_ns, segment)
        segment = self._first_of(segment)
        if self._failure is not None:
            return
        self._advance(packet.at_ns)
        far = segment.flow.dst if packet.outgoing else segment.flow.src
        point = self._out if packet.outgoing else self._in
        rates = self._config.paths.rates_bps(far)
        if segment.protocol == TCP:
            self._traffic.met(point, far, path_known=bool(rates))
        event = SegmentSeen(point, segment, rates)
        self._guard(lambda: self._hook.handle(self._now_ns, event))
        if packet.outgoing and segment.protocol == TCP:
            if segment.is_data:
                self._note(segment)
            elif segment.flags & SYN:
                self._young_until_ns = self._now_ns + YOUNG_NS

    def _first_of(self, segment: Segment) -> Segment:
        """The first packet of a super-packet of segmentation offload: a pace is the time between such packets."""
        over = segment.packet_bytes - self._mtu_bytes
        if over <= 0:
            return segment
        return segment._replace(packet_bytes=self._mtu_bytes, payload_bytes=segment.payload_bytes - over)

    def _note(self, segment: Segment) -> None:
        """Remember a flow and its packet size. A connection without data needs no class: a flood of SYNs costs none."""
        flow = self._flows.get(segment.flow)
        if flow is None:
            if len(self._flows) >= MAX_FLOWS:
                self._forget(next(iter(self._flows)))
            flow = self._flows[segment.flow] = _Paced()
        if not flow.told_bps:
            self._young_until_ns = self._now_ns + YOUNG_NS
        flow.last_ns = self._now_ns
        self._flows.move_to_end(segment.flow)
        flow.full = segment.packet_bytes >= flow.largest_bytes
        flow.largest_bytes = max(flow.largest_bytes, segment.packet_bytes)

    def _advance(self, now_ns: int) -> None:
        """Serve every deadline up to now; the kernel's times may be slightly ahead of our clock."""
        while self._failure is None:
            wanted = self._guard(self._hook.deadline)
            if wanted is None or wanted[0] > now_ns:
                break
            before = self._now_ns
            self._now_ns = max(before, wanted[0])
            self._guard(lambda: self._hook.handle_timeout(self._now_ns))
            again = None if self._failure else self._guard(self._hook.deadline)
            if again == wanted and self._now_ns == before:
                break  # no progress: try again when time has passed
        self._now_ns = max(self._now_ns, now_ns)

    def _guard(self, call: Callable[[], Any]) -> Any:
        """Call the hook and drain its actions; a hook that raises is not called again."""
        try:
            result = call()
            while (action := self._hook.poll_action()) is not None:
                if not isinstance(action, Forward):
                    kind = type(action).__name__ if not isinstance(action, Drop) else f"Drop: {action.reason}"
                    self._watched_only[kind] += 1
        except Exception as error:
            self._fail(error)
            return None
        return result

    def _fail(self, error: Exception) -> None:
        self._failure = f"{type(error).__name__}: {error}"
        self._say(f"the algorithm failed ({self._failure}): its flows pass unpaced")
        for flow in self._flows:
            self._kernel.forget(flow)
        self._flows.clear()

    # Rates.

    def _set_rates(self, now_ns: int) -> None:
        changed: dict[FlowKey, tuple[int, int]] = {}
        for key, flow in self._flows.items():
            if not flow.full:
                continue
            interval_ns = self._guard(lambda key=key: self._hook.pace_ns(key))  # type: ignore[misc]
            if self._failure is not None:
                return
            if interval_ns is None:
                continue
            if interval_ns != flow.interval_ns:
                flow.interval_ns, flow.interval_bytes = interval_ns, flow.largest_bytes
            if now_ns - flow.set_ns < SETTLED_NS:
                continue
            rate_bps = flow.interval_bytes * BITS_PER_BYTE * NS_PER_S // interval_ns
            known = flow.told_bytes == flow.largest_bytes and abs(rate_bps - flow.told_bps) <= SETTLED * flow.told_bps
            if not known:
                flow.told_bps, flow.told_bytes, flow.set_ns = rate_bps, flow.largest_bytes, now_ns
                changed[key] = rate_bps, flow.largest_bytes
        if changed:
            self._kernel.set_rates(changed)

    def _forget_idle(self, now_ns: int) -> None:
        for key, flow in list(self._flows.items()):
            if now_ns - flow.last_ns > IDLE_NS:
                self._forget(key)
        if self._kernel.sharing_flows and not self._full:
            self._full = True
            self._say("no class is left for more flows: further ones share a class, at the pace of the slowest of them")

    def _forget(self, key: FlowKey) -> None:
        del self._flows[key]
        self._kernel.forget(key)

    # Status.

    def _ready(self, punctual: bool) -> Ready:
        return {
            "event": "ready",
            "version": STATUS_VERSION,
            "agent": self._config.role.name,
            "scheme": self._config.scheme,
            "pid": os.getpid(),
            "datapath": "tc",
            "sched_fifo": punctual,
        }

    def _status(self, now_ns: int, event: Literal["status", "end"]) -> Status:
        counters = {} if self._failure else self._guard(self._hook.counters)
        return {
            "event": event,
            "version": STATUS_VERSION,
            "agent": self._config.role.name,
            "scheme": self._config.scheme,
            "datapath": "tc",
            "uptime_s": round((now_ns - self._started_ns) / NS_PER_S, 3),
            "packets": dict(self._count) | {"rates_set": self._kernel.updates},
            "sampled_octets": 0 if self._tap.sampling == 0 else 1 << self._tap.sampling,
            "held_pkts": 0,
            "kept_pkts": 0,
            "passed_unseen": dict(self._unseen),
            "drops": {},
            "not_carried_out": dict(self._watched_only),
            "hook": counters or {},
            "failed": self._failure,
            "released": {"times": 0, "seconds": 0.0},  # packets do not wait for this agent
            "errors": 0,
            "release_lateness_us": {"p50": None, "p99": None, "max": None},
            "flows": self._monitor.report(now_ns),
        }
