"""The activity of the air, read from the engine's records: frames, receptions, waits and mishaps.

A record is `[at_ns, node, what, peer, value]` (medium/engine/src/trace.rs). All times here are integer nanoseconds.

Invariants
1. Frames, hearings, holds and backoffs are spans, `start_ns < end_ns`; a node's holds of one kind do not overlap.
2. A hearing starts when the receiver locks on to a frame and ends with the outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

FRAMES = {
    "send-rts": "RTS",
    "send-cts": "CTS",
    "send-data": "DATA",
    "send-ack": "ACK",
    "send-aggregate": "A-MPDU",
    "send-block-ack-request": "BAR",
    "send-block-ack": "BA",
}
STARTING = frozenset({"send-rts", "send-data", "send-aggregate", "send-block-ack-request"})
"""Frames that a node sends when its backoff is over."""
HOLDS = {"nav": "NAV", "eifs": "EIFS"}
LONG_CONTROL_NS = 300_000
"""About the duration of RTS, CTS and ACK in 802.11b."""
SLOT_NS, DIFS_NS = 20_000, 50_000
"""Values of 802.11b, the longest of all PHYs: a countdown ends no later than they say."""
MISHAPS = {
    "retry": "retry",
    "drop-rts": "drop",
    "drop-data": "drop",
    "drop-queue": "queue drop",
    "capture": "capture",
    "refuse-cts": "no CTS",
    "hold-data": "no DATA",
    "lost-mpdus": "MPDUs lost",
}
"""Kind of record -> name of its mark."""

Record = Sequence[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A frame sent by `node` to `peer` (None: all); `kind` is a value of `FRAMES`."""

    node: int
    peer: int | None
    kind: str
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearing:
    """A frame that a receiver was locked on to. `collided_ns`: when another frame destroyed it, or None."""

    node: int
    peers: tuple[int, ...]
    start_ns: int
    end_ns: int
    decoded: bool
    collided_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A time in which `node` must not send. `kind` is NAV or EIFS."""

    node: int
    kind: str
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """From the draw of `slots` until the node sends, draws again, or has counted down with nothing to send."""

    node: int
    slots: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """An event: `kind` is a value of `MISHAPS`; `count` is the number of a retry, or of lost MPDUs."""

    node: int
    kind: str
    at_ns: int
    peer: int | None
    count: int


@dataclass(slots=True)
class AirLog:
    """All records, each list ordered by time."""

    frames: list[Frame] = field(default_factory=list)
    hearings: list[Hearing] = field(default_factory=list)
    holds: list[Hold] = field(default_factory=list)
    backoffs: list[Backoff] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    end_ns: int = 0

    @property
    def nodes(self) -> list[int]:
        """The nodes that sent or heard anything, by number."""
        parts: Iterable[Any] = (*self.frames, *self.hearings, *self.holds, *self.backoffs, *self.marks)
        return sorted({part.node for part in parts})


def read_records(records: Sequence[Record]) -> AirLog:
    """Parse the engine's records."""
    log = AirLog(end_ns=records[-1][0] if records else 0)
    locks: dict[int, _Lock] = {}
    draws: dict[int, tuple[int, int]] = {}
    holds: dict[tuple[int, str], Hold] = {}
    for record in records:
        at_ns, node, what, peer, value = record[:5]
        if what in FRAMES:
            log.frames.append(Frame(node=node, peer=peer, kind=FRAMES[what], start_ns=at_ns, end_ns=at_ns + value))
            log.end_ns = max(log.end_ns, at_ns + value)
        if what in MISHAPS:
            log.marks.append(Mark(node=node, kind=MISHAPS[what], at_ns=at_ns, peer=peer, count=value))
        if what in HOLDS:
            _hold(holds, log.holds, Hold(node=node, kind=HOLDS[what], start_ns=at_ns, end_ns=value))
        if (what == "backoff" or what in STARTING) and node in draws:
            _end_backoff(log.backoffs, node, draws.pop(node), at_ns)
        if what == "backoff":
            draws[node] = (at_ns, value)
        _hear(locks, log.hearings, record)
    for node, draw in draws.items():
        _end_backoff(log.backoffs, node, draw, log.end_ns)
    for node, lock in locks.items():
        log.hearings.append(lock.hearing(node, lock.end_ns, decoded=False))
    log.holds += holds.values()
    for part in (log.hearings, log.holds, log.backoffs):
        part.sort(key=lambda span: (span.start_ns, span.node))
    log.backoffs = _without_idle_ends(log)
    return log


def find_window(log: AirLog) -> tuple[int, int]:
    """Start and end, ns, of a window in which something happens.

    The window is around the first collision that destroyed a received frame, else the first captured frame, else the
    first exchange. It contains about two exchanges before and three after that.
    """
    airtimes_ns = [frame.end_ns - frame.start_ns for frame in log.frames] or [1_000_000]
    length_ns = 4 * max(airtimes_ns) + 10 * min(*airtimes_ns, LONG_CONTROL_NS)
    start_ns = _first_event(log) - length_ns * 3 // 10
    start_ns = max(0, start_ns) // 100_000 * 100_000
    return start_ns, start_ns + length_ns


@dataclass(slots=True)
class _Lock:
    peers: list[int]
    start_ns: int
    end_ns: int
    collided_ns: int | None = None

    def hearing(self, node: int, end_ns: int, *, decoded: bool) -> Hearing:
        return Hearing(
            node=node,
            peers=tuple(dict.fromkeys(self.peers)),
            start_ns=self.start_ns,
            end_ns=max(end_ns, self.start_ns + 1),
            decoded=decoded,
            collided_ns=self.collided_ns,
        )


def _hear(locks: dict[int, _Lock], hearings: list[Hearing], record: Record) -> None:
    at_ns, node, what, peer, value = record[:5]
    lock = locks.get(node)
    if what == "lock":
        if lock is not None:  # otherwise the node was sending when the frame ended, and did not hear it
            hearings.append(lock.hearing(node, min(lock.end_ns, at_ns), decoded=False))
        locks[node] = _Lock([peer], at_ns, value)
    elif what == "collide" and lock is not None:
        lock.peers.append(peer)
        lock.collided_ns = at_ns if lock.collided_ns is None else lock.collided_ns
    elif what in ("decode", "garbled") and lock is not None:
        hearings.append(locks.pop(node).hearing(node, at_ns, decoded=what == "decode"))


def _hold(open_: dict[tuple[int, str], Hold], closed: list[Hold], new: Hold) -> None:
    key = (new.node, new.kind)
    old = open_.get(key)
    if new.end_ns <= new.start_ns:
        return
    if old is None or new.start_ns > old.end_ns:
        if old is not None:
            closed.append(old)
        open_[key] = new
    elif new.end_ns > old.end_ns:
        open_[key] = Hold(node=new.node, kind=new.kind, start_ns=old.start_ns, end_ns=new.end_ns)


def _end_backoff(backoffs: list[Backoff], node: int, draw: tuple[int, int], at_ns: int) -> None:
    start_ns, slots = draw
    if at_ns > start_ns:
        backoffs.append(Backoff(node=node, slots=slots, start_ns=start_ns, end_ns=at_ns))


def _without_idle_ends(log: AirLog) -> list[Backoff]:
    """End each backoff at the latest when it has counted down: a node with nothing to send stays idle afterwards."""
    spans: dict[int, list[tuple[int, int]]] = {}
    parts: Iterable[Any] = (*log.frames, *log.hearings, *log.holds)
    for part in sorted(parts, key=lambda part: int(part.start_ns)):
        spans.setdefault(part.node, []).append((part.start_ns, part.end_ns))
    return [
        Backoff(
            node=backoff.node,
            slots=backoff.slots,
            start_ns=backoff.start_ns,
            end_ns=min(backoff.end_ns, _counted_down(backoff, spans.get(backoff.node, []))),
        )
        for backoff in log.backoffs
    ]


def _counted_down(backoff: Backoff, busy: list[tuple[int, int]]) -> int:
    """When the slots of a backoff have passed. The node's busy spans and a DIFS after each do not count."""
    idle_from_ns, left_ns = backoff.start_ns, backoff.slots * SLOT_NS
    for start_ns, end_ns in busy:
        if end_ns <= idle_from_ns:
            continue
        counted_ns = max(0, start_ns - idle_from_ns - DIFS_NS)
        if start_ns - idle_from_ns >= DIFS_NS + left_ns:
            break
        left_ns -= counted_ns // SLOT_NS * SLOT_NS
        idle_from_ns = end_ns
    return idle_from_ns + DIFS_NS + left_ns


def _first_event(log: AirLog) -> int:
    for hearing in log.hearings:
        if hearing.collided_ns is not None and any(_was_for(log, peer, hearing) for peer in hearing.peers):
            return hearing.start_ns
    captures = [mark.at_ns for mark in log.marks if mark.kind == "capture"]
    return captures[0] if captures else log.frames[0].start_ns if log.frames else 0


def _was_for(log: AirLog, peer: int, hearing: Hearing) -> bool:
    """Whether `peer` was then sending to the hearing node."""
    return any(
        frame.node == peer
        and frame.peer == hearing.node
        and frame.start_ns < hearing.end_ns
        and hearing.start_ns < frame.end_ns
        for frame in log.frames
    )
