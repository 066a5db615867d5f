"""The contract between an algorithm and the driver that runs it.

An algorithm is a state machine without I/O, clock or global randomness. A driver (the simulator, a TAP host, an
NFQUEUE agent) reports what happened and when, drains the algorithm's actions, and calls it back at its deadline:

    handle(now_ns, event)      something happened
    poll_action()              drain until None, after every handle and handle_timeout
    deadline()                 (at_ns, reason) of the algorithm's next wake-up, or None
    handle_timeout(now_ns)     the clock has reached the deadline

A hook may offer all of this in one call, which a driver that serves many packets then uses instead of the others:

    react(now_ns, event)       handle, or for None handle_timeout; then all actions, and the time of the next wake-up

Invariants
1. The driver holds every segment of a `SegmentSeen` event until the algorithm names its handle in `Forward` or `Drop`.
   An algorithm that does neither has queued the segment.
2. Time never runs backwards between calls. Early, late and repeated timeouts are harmless.
3. Unknown handles in actions are errors of the algorithm; a driver counts them and continues.
4. When an algorithm raises, the driver forwards all that it holds and bypasses the algorithm from then on (fail open).
5. State is soft: an algorithm that starts in the middle of a flow rebuilds what it needs.

What happens to a packet that a full queue refuses
6. The packet is lost, as at the tail of a router's queue. An algorithm whose own queue is full answers with `Drop`, and
   never sends a packet ahead of its pace to make room: the pace is what the algorithm promises to everybody else. The
   driver counts the drop by its reason.
7. After `Forward` the interface queue of the link layer may refuse the packet, or its queue discipline (`--qdisc`) may
   drop it later. Nobody reports that to the algorithm: `TransmitResult` tells only the fate of frames that the link
   layer has sent. The result of a run counts the drops by reason (`queue`, `qdisc:codel`). An algorithm that waits for
   the result of a packet needs a timeout of its own, or its queue would stop for ever.
"""

# No `from __future__ import annotations`: a NamedTuple compiles strings at each import, and each sandbox imports this.
from enum import IntEnum, IntFlag
from typing import NamedTuple, Protocol

from pacelab_pacer.core.segment import Segment


class Point(IntEnum):
    """Where the hook's node saw a segment."""

    WIRED_TO_AIR = 0
    """At a gateway: from the wired side, bound for the air."""
    AIR_TO_WIRED = 1
    """At a gateway: from the air, bound for the wired side."""
    LOCAL_OUT = 2
    """At a wireless host: from its own transport."""
    LOCAL_IN = 3
    """At a wireless host: for its own transport."""
    LINK = 4
    """At any wireless node: bound for the interface queue, the node's own packets and those that it forwards."""


class EventMask(IntFlag):
    """Which events a hook wants; the driver does not report others."""

    SEGMENT = 1
    TRANSMIT = 2


class SegmentSeen(NamedTuple):
    """A packet reached the hook and waits for the algorithm's verdict (invariant 1)."""

    point: Point
    segment: Segment
    path_rates_bps: tuple[int, ...]
    """Link rates of the wireless hops between this node and the other end of the packet's wireless path, nearest first,
    whichever way the packet goes. For a gateway the other end is the wireless host; for a wireless host it is the
    gateway or the wireless peer. The number of rates is the paper's h. Empty while routing knows no path."""


class TransmitResult(NamedTuple):
    """The link layer has delivered one frame or given up (needs `EventMask.TRANSMIT`); see invariant 7."""

    segment: Segment
    attempts: int
    """Transmission attempts, RTS and data together, the first one included."""
    delivered: bool
    next_hop: int | None = None
    """The neighbour that the frame was for; None for a broadcast."""


Event = SegmentSeen | TransmitResult


class Forward(NamedTuple):
    """Send the held segment on its way. With `keep` the driver keeps a copy for `Resend` until `Release`."""

    handle: int
    keep: bool = False


class Drop(NamedTuple):
    """Discard the held segment. The driver counts `reason`."""

    handle: int
    reason: str


class Resend(NamedTuple):
    """Send another copy of a kept segment. The copy passes no hook of this node again."""

    handle: int


class Release(NamedTuple):
    """Forget a kept segment."""

    handle: int


class Rewrite(NamedTuple):
    """Change a held segment before its `Forward`; None leaves a field as it is. Drivers correct sizes and checksums."""

    handle: int
    window_bytes: int | None = None
    rtt_wired_ns: int | None = None
    congestion_experienced: bool | None = None


class Inject(NamedTuple):
    """Send a new segment made by the algorithm (its `handle` is ignored): a generated ACK, a voice report.

    A segment addressed to this node goes to the node's own transport. It passes no hook of this node but the link's.
    """

    segment: Segment


class SetExtraBackoff(NamedTuple):
    """Add this many slots to the backoff after each frame that the node's link layer delivers, until set again.

    Backoffs before a retry, after a frame given up and before a frame that finds the node idle are not lengthened.
    With `wall_clock` the slots pass before the backoff, busy or not; else they count only while the medium is idle.
    """

    slots: int
    wall_clock: bool = False


Action = Forward | Drop | Resend | Release | Rewrite | Inject | SetExtraBackoff


Reaction = tuple[list[Action | int], int | None] | tuple[()]
"""What `react` returns: all actions in their order, and the deadline's time or None. The most frequent action has the
shortest form: a number stands for the plain `Forward` of that handle. An empty tuple stands for `([], None)`."""


class Hook(Protocol):
    """An algorithm at one hook point of one node.

    A hook may also have `source_limit_pkts`, an integer: a source at the same node pauses while the hook holds so many
    segments of its flow, 2 without the attribute. On Linux, TCP Small Queues sets this limit.
    """

    event_mask: EventMask

    def handle(self, now_ns: int, event: Event) -> None:
        """Take note of an event."""

    def poll_action(self) -> Action | None:
        """Next action to carry out, or None."""

    def deadline(self) -> tuple[int, str] | None:
        """When `handle_timeout` is wanted, with the reason, or None."""

    def handle_timeout(self, now_ns: int) -> None:
        """The clock has reached (or passed) the deadline."""

    def counters(self) -> dict[str, int]:
        """How often the hook acted, by action; written to run.json as `hooks`."""
