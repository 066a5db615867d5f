"""Drives one hook of the core in real time: packets in, verdicts out. It has no socket or clock of its own.

Invariants, those of `pacelab_pacer.core.contract`, as in the simulator's driver (medium/network/src/network/hooks.rs)
1. Every packet that the hook has seen is held until the hook names its handle in Forward or Drop.
2. An action on a handle that is not held or kept is an error of the algorithm: the driver counts it and continues.
3. A hook that raises is bypassed from then on, and all packets that it held leave (fail open).
4. A packet that the reader cannot turn into a segment passes at once and is counted by its reason. If the hook promises
   a rate for all flows together, TCP payload bound for the air does not pass at once: the hook paces it as a flow of
   its own (`packet.unread_payload`). So no way of writing a packet escapes the rate, and none is cut off.
"""

from __future__ import annotations

import operator
from collections import Counter, OrderedDict, deque
from pathlib import PurePath
from traceback import extract_tb
from typing import NamedTuple, Protocol

from pacelab_pacer.core.contract import (
    Action,
    Drop,
    EventMask,
    Forward,
    Hook,
    Inject,
    Point,
    Release,
    Resend,
    Rewrite,
    SegmentSeen,
    SetExtraBackoff,
    TransmitResult,
)
from pacelab_pacer.core.segment import SYN, TCP, FlowKey, Segment
from pacelab_pacer.linux.diagnostics import TrafficWatch
from pacelab_pacer.linux.nfqueue import Queued
from pacelab_pacer.linux.packet import IP_HEADER_BYTES, TCP_HEADER_BYTES, PacketReader, Reason, unread_payload
from pacelab_pacer.linux.paths import PathTable
from pacelab_pacer.linux.status import FlowMonitor
from pacelab_pacer.linux.write import (
    OPTION_BYTES,
    build,
    clamp_mss,
    mark_congestion,
    raw_window,
    set_rtt_wired,
    set_window,
)

OUTWARD = frozenset({Point.WIRED_TO_AIR, Point.LOCAL_OUT, Point.LINK})
"""Points whose packets enter the air: their destination is at the other end of the path."""
MAX_REPORTABLE = 4096
"""Packets whose transmission may be reported; the oldest is forgotten first."""


class Port(Protocol):
    """What a driver needs from the kernel."""

    def accept(self, packet: Queued, changed: bytes | bytearray | None = None) -> None:
        """Let a packet pass, with other bytes if given."""

    def drop(self, packet: Queued) -> None:
        """Discard a packet."""

    def send(self, data: bytes | bytearray) -> bool:
        """Send a new packet; return whether that was possible."""

    def set_extra_backoff(self, slots: int, wall_clock: bool) -> bool:
        """Set the link layer's extra backoff; return whether there is a link layer that can do so."""


class FrameName(NamedTuple):
    """The fields of a link layer's report that identify a packet."""

    flow: FlowKey
    protocol: int
    seq: int
    payload_bytes: int
    ip_id: int


class _Held:
    __slots__ = ("changed", "packet", "segment")

    def __init__(self, packet: Queued, segment: Segment, changed: bytearray | None) -> None:
        self.packet = packet
        self.segment = segment
        self.changed = changed


class HookDriver:
    """Passes packets to a hook and carries out its actions."""

    def __init__(
        self,
        hook: Hook,
        port: Port,
        *,
        paths: PathTable,
        mtu_bytes: int,
        clamp: bool = False,
        monitor: FlowMonitor | None = None,
        traffic: TrafficWatch | None = None,
    ) -> None:
        """`clamp`: lower the MSS in SYNs so that every segment has room for the RTT_wired option."""
        self.hook = hook
        self.reader = PacketReader(largest_bytes=mtu_bytes)
        self.monitor = monitor
        self._traffic = traffic
        self._port = port
        self._paths = paths
        self._clamp = clamp
        self.fit(mtu_bytes)
        self._handle = 0
        self._held: dict[int, _Held] = {}
        self._kept: dict[int, bytes | bytearray] = {}
        self._reports = bool(hook.event_mask & EventMask.TRANSMIT)
        self._recent: OrderedDict[FrameName, deque[Segment]] = OrderedDict()
        self._unread_bytes = 0
        self.failure: str | None = None
        """Why the hook is bypassed; None if it is not."""
        self.errors = 0
        """Actions that the contract does not permit."""
        self.unseen: Counter[str] = Counter()
        """Packets that bypassed the hook, by reason."""
        self.dropped: Counter[str] = Counter()
        """Packets that the hook dropped, by its reason."""
        self.done: Counter[str] = Counter()
        """Other events, by kind."""

    @property
    def held(self) -> int:
        """Packets that wait for the hook's decision."""
        return len(self._held)

    @property
    def kept(self) -> int:
        """Copies kept for local retransmission."""
        return len(self._kept)

    def see(self, now_ns: int, point: Point, packet: Queued) -> None:
        """A packet has arrived."""
        self.done["seen"] += 1
        if self.failure is not None:
            self.done["bypassed"] += 1
            self._port.accept(packet)
            return
        self._handle = handle = self._handle + 1
        segment = self.reader.read(handle, packet.data)
        if isinstance(segment, Reason):
            self._unread(now_ns, point, packet, segment)
            return
        self._held[handle] = _Held(packet, segment, self._clamped(segment, packet))
        if self._reports:
            self._remember(segment, packet.data)
        if not self.hook.event_mask & EventMask.SEGMENT:
            self._forward(now_ns, handle, keep=False)
            return
        flow = segment.flow
        far = flow.dst if point in OUTWARD else flow.src
        rates = self._paths.rates_bps(far)
        if self._traffic is not None and segment.protocol == TCP:
            self._traffic.met(point, far, path_known=bool(rates))
        self._run(now_ns, SegmentSeen(point, segment, rates))

    def _unread(self, now_ns: int, point: Point, packet: Queued, reason: Reason) -> None:
        """Let a packet pass that is no segment, or have the hook pace it (invariant 4)."""
        payload = None
        if point is Point.WIRED_TO_AIR and getattr(self.hook, "shares_pace", False):
            payload = unread_payload(self._handle, packet.data, self._unread_bytes)
        if payload is None:
            self.unseen[reason] += 1
            self._port.accept(packet)
            return
        self.done["paced_unread"] += 1
        self._unread_bytes += payload.payload_bytes
        self._held[payload.handle] = _Held(packet, payload, None)
        self._run(now_ns, SegmentSeen(point, payload, ()))

    def transmitted(self, now_ns: int, name: FrameName, result: TransmitResult) -> None:
        """The link layer has finished a frame; `result.segment` is what its report says of the packet."""
        if not self._reports or self.failure is not None:
            return
        known = self._recent.get(name)
        if known:
            result = result._replace(segment=known.popleft())
            if not known:
                del self._recent[name]
        self._run(now_ns, result)

    def deadline_ns(self) -> int | None:
        """The time at which `timeout` must be called."""
        if self.failure is not None:
            return None
        try:
            wanted = self.hook.deadline()
            return None if wanted is None else _whole_ns(wanted)
        except (Exception, SystemExit) as error:
            self._bypass(error)
            return None

    def fit(self, mtu_bytes: int) -> None:
        """Set the air's MTU, which may change."""
        self._mtu = self.reader.largest_bytes = mtu_bytes
        room = mtu_bytes - IP_HEADER_BYTES - TCP_HEADER_BYTES - OPTION_BYTES
        self._clamp_bytes = room if self._clamp else None

    def timeout(self, now_ns: int) -> None:
        """The clock has reached the deadline."""
        if self.failure is None:
            self._run(now_ns, None)

    def counters(self) -> dict[str, int]:
        """The hook's own counters; empty if it fails."""
        try:
            return _whole_counts(self.hook.counters())
        except (Exception, SystemExit) as error:
            if self.failure is None:
                self._bypass(error)
            return {}

    def change_hook(self, hook: Hook) -> None:
        """Use another algorithm from now on. Packets held by the old one leave; the new one starts in mid-flow."""
        self.let_go()
        self.hook, self.failure = hook, None
        self._reports = bool(hook.event_mask & EventMask.TRANSMIT)

    def let_go(self) -> None:
        """Let all held packets pass, in the order of their arrival."""
        for held in self._held.values():
            self._port.accept(held.packet, held.changed)
        self._held.clear()
        self._kept.clear()
        self._recent.clear()

    # Running the hook.

    def _run(self, now_ns: int, event: SegmentSeen | TransmitResult | None) -> None:
        hook = self.hook
        try:
            if event is None:
                hook.handle_timeout(now_ns)
            else:
                hook.handle(now_ns, event)
            while (action := hook.poll_action()) is not None:
                if not self._carry_out(now_ns, action):
                    self.errors += 1
        except (Exception, SystemExit) as error:
            self._bypass(error)

    def _bypass(self, error: BaseException) -> None:
        self.failure = f"{type(error).__name__}: {error} ({_place_of(error)})"
        self.let_go()

    def _carry_out(self, now_ns: int, action: Action) -> bool:
        """False if the action names an unknown handle, or cannot be carried out."""
        match action:
            case Forward(handle, keep):
                return self._forward(now_ns, handle, keep=keep)
            case Drop(handle, reason):
                held = self._held.pop(handle, None)
                if held is None:
                    return False
                self.dropped[reason] += 1
                self._port.drop(held.packet)
                return True
            case Resend(handle):
                data = self._kept.get(handle)
                return data is not None and self._send("resent", data)
            case Release(handle):
                return self._kept.pop(handle, None) is not None
            case Rewrite(handle):
                held = self._held.get(handle)
                return held is not None and self._rewrite(held, action)
            case Inject(segment):
                unit = self.reader.scales.unit(segment.flow)
                made = build(segment, shift=unit)
                return made is not None and self._send("injected", made)
            case SetExtraBackoff(slots, wall_clock):
                self.done["backoff_set"] += 1
                return self._port.set_extra_backoff(slots, wall_clock)
            case _:
                raise TypeError(f"poll_action() must return an action or None, not {action!r:.80}")

    def _forward(self, now_ns: int, handle: int, *, keep: bool) -> bool:
        held = self._held.pop(handle, None)
        if held is None:
            return False
        self._port.accept(held.packet, held.changed)
        if keep:
            self._kept[handle] = held.packet.data if held.changed is None else held.changed
        if self.monitor is not None and held.segment.flow.sport:  # what was not read belongs to no connection
            self.monitor.passed(now_ns, held.segment)
        return True

    def _send(self, what: str, data: bytes | bytearray) -> bool:
        """A packet that the kernel refuses is lost as on a wire, which is no error of the algorithm."""
        self.done[what if self._port.send(data) else f"{what}_lost"] += 1
        return True

    # Bytes.

    def _clamped(self, segment: Segment, packet: Queued) -> bytearray | None:
        if self._clamp_bytes is None or not segment.flags & SYN:
            return None
        changed = bytearray(packet.data)
        if not clamp_mss(changed, self._clamp_bytes):
            return None
        self.done["mss_clamped"] += 1
        return changed

    def _rewrite(self, held: _Held, action: Rewrite) -> bool:
        data = bytearray(held.packet.data) if held.changed is None else held.changed
        before = self.done["rewritten"]
        if held.segment.protocol == TCP:
            if action.window_bytes is not None:
                self._set_window(held.segment, data, action.window_bytes)
            if action.rtt_wired_ns is not None:
                done = set_rtt_wired(data, action.rtt_wired_ns, largest_bytes=self._mtu)
                self.done["rewritten" if done else "no_room_for_option"] += 1
        if action.congestion_experienced and held.segment.ecn_capable:
            mark_congestion(data)
            self.done["rewritten"] += 1
        if self.done["rewritten"] > before:
            held.changed = data
        return True

    def _set_window(self, segment: Segment, data: bytearray, window_bytes: int) -> None:
        shift = 0 if segment.flags & SYN else self.reader.scales.shift(segment.flow)
        if shift is None:
            self.done["window_scale_unknown"] += 1
            return
        set_window(data, raw_window(window_bytes, shift))
        self.done["rewritten"] += 1

    def _remember(self, segment: Segment, data: bytes) -> None:
        name = FrameName(
            segment.flow, segment.protocol, segment.seq, segment.payload_bytes, int.from_bytes(data[4:6], "big")
        )
        self._recent.setdefault(name, deque()).append(segment)
        if len(self._recent) > MAX_REPORTABLE:
            self._recent.popitem(last=False)


def _whole_ns(wanted: tuple[int, str]) -> int:
    try:
        return operator.index(wanted[0])
    except (TypeError, LookupError):
        raise TypeError(f"deadline() must return None or (whole number of ns, reason), not {wanted!r:.80}") from None


def _whole_counts(counters: dict[str, int]) -> dict[str, int]:
    try:
        return {name: operator.index(count) for name, count in counters.items()}
    except (TypeError, AttributeError):
        raise TypeError(f"counters() must return whole numbers by name, not {counters!r:.80}") from None


def _place_of(error: BaseException) -> str:
    """File, line and function where the error was raised."""
    frame = extract_tb(error.__traceback__)[-1]
    return f"{PurePath(frame.filename).name}, line {frame.lineno}, in {frame.name}"
