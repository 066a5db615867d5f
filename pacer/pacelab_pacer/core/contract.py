"""The contract between an algorithm and the shell that runs it.

An algorithm is a state machine without I/O, clock or global randomness. A shell (the simulator, a TAP host, an
NFQUEUE agent) tells it what happened and when, drains its actions, and calls it back at its deadline:

    handle(now_ns, event)      something happened
    poll_action()              drain until None, after every handle and handle_timeout
    deadline()                 (at_ns, reason) when the algorithm next wants the clock, or None
    handle_timeout(now_ns)     the clock has reached the deadline

A hook may offer all of it in one call, which shells that serve many packets then make in place of the others:

    react(now_ns, event)       handle, or for None handle_timeout; then all actions, and when the clock is wanted

Invariants
1. Every segment that a `SegmentSeen` event hands over is held by the shell until the algorithm names its handle in
   `Forward` or `Drop`. An algorithm that does neither has queued it.
2. Time never runs backwards between calls. Early, late and repeated timeouts are harmless.
3. Unknown handles in actions are errors of the algorithm; a shell counts them and carries on.
4. When an algorithm raises, the shell forwards all that it holds and bypasses it from then on (fail open).
5. State is soft: an algorithm that is started in the middle of a flow rebuilds what it needs.
"""

# No `from __future__ import annotations`: a NamedTuple compiles strings at each import, and each sandbox imports this.
from enum import IntEnum, IntFlag
from typing import NamedTuple, Protocol

from pacelab_pacer.core.segment import Segment


class Point(IntEnum):
    """Where a segment was seen, as the hook's node sees it."""

    WIRED_TO_AIR = 0
    """At a gateway, arrived from the wired side, bound for the air."""
    AIR_TO_WIRED = 1
    """At a gateway, arrived from the air, bound for the wired side."""
    LOCAL_OUT = 2
    """At a wireless host, leaving its own transport."""
    LOCAL_IN = 3
    """At a wireless host, addressed to its own transport."""
    LINK = 4
    """At any wireless node, bound for the interface queue: its own packets and those it forwards."""


class EventMask(IntFlag):
    """Which events a hook wants; the shell spares it the rest."""

    SEGMENT = 1
    TRANSMIT = 2


class SegmentSeen(NamedTuple):
    """A packet reached the hook and waits for the algorithm's verdict (invariant 1)."""

    point: Point
    segment: Segment
    path_rates_bps: tuple[int, ...]
    """Link rates of the wireless hops between this node and the other end of the packet's wireless path (seen from a
    gateway the wireless host, from a wireless host the gateway or its wireless peer), nearest first, whichever way the
    packet goes. Their number is the paper's h. Empty while routing knows no path."""


class TransmitResult(NamedTuple):
    """The link layer is done with one frame (needs `EventMask.TRANSMIT`)."""

    segment: Segment
    attempts: int
    """Transmission attempts made, RTS and data together, first included."""
    delivered: bool
    next_hop: int | None = None
    """The neighbour it was for; None for a broadcast."""


Event = SegmentSeen | TransmitResult


class Forward(NamedTuple):
    """Send the held segment on its way. With `keep` the shell retains a copy for `Resend` until `Release`."""

    handle: int
    keep: bool = False


class Drop(NamedTuple):
    """Discard the held segment; `reason` is counted."""

    handle: int
    reason: str


class Resend(NamedTuple):
    """Send another copy of a kept segment. The copy passes no hook of this node again."""

    handle: int


class Release(NamedTuple):
    """Forget a kept segment."""

    handle: int


class Rewrite(NamedTuple):
    """Change a held segment before its `Forward`; None leaves a field as it is. Shells mend sizes and checksums."""

    handle: int
    window_bytes: int | None = None
    rtt_wired_ns: int | None = None
    congestion_experienced: bool | None = None


class Inject(NamedTuple):
    """Send a new segment made by the algorithm (its `handle` is ignored): a generated ACK, a voice report.

    It goes to the node's own transport if it is addressed to this node. It passes no hook of this node but the link's.
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


Reaction = tuple[list[Action | int], int | None]
"""What `react` returns: all actions in their order, and the deadline's time or None. What most packets get is there in
its shortest form: a number stands for the plain `Forward` of that handle."""


class Hook(Protocol):
    """An algorithm at one hook point of one node."""

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
        """How often the hook acted, by action; goes into run.json as `hooks`."""
