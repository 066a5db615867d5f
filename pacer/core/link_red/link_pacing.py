"""Adaptive pacing in the link layer: after a frame, wait as long as the next node needs to pass it on.

A node that has sent a frame normally competes again after a random backoff, while its neighbour tries to forward what
it has just got. One packet time more lets the frame get two hops away, out of the exposed terminal's reach.

Invariants
1. Segments are never held: each is forwarded within the call that shows it.
2. Only the backoff after a delivered frame is lengthened, as the paper has it ("if receiving an ACK"): the link layer
   below sees to that. The extra backoff is that of the frame under way, and 0 while none is.
3. `SetExtraBackoff` is sent only when the value changes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import final

from pacelab.pacer.core.checks import require
from pacelab.pacer.core.contract import (
    Action,
    Event,
    EventMask,
    Forward,
    Reaction,
    SegmentSeen,
    SetExtraBackoff,
    TransmitResult,
)
from pacelab.pacer.core.link_red.equations import extra_backoff_slots
from pacelab.pacer.core.segment import Segment
from pacelab.units import BITS_PER_BYTE, NS_PER_S, transmission_ns
from pacelab.units import NS_PER_US as US


class LinkHook(ABC):
    """What the hooks at the link do alike: their actions wait in a list, and they never want the clock."""

    event_mask = EventMask.SEGMENT | EventMask.TRANSMIT

    def __init__(self) -> None:
        self._actions: list[Action | int] = []
        """A number stands for the plain `Forward` of that handle, as in a `Reaction`."""

    @abstractmethod
    def handle(self, now_ns: int, event: Event) -> None:
        """Take note of an event."""

    @final
    def poll_action(self) -> Action | None:
        """Next action, or None."""
        if not self._actions:
            return None
        action = self._actions.pop(0)
        return Forward(action) if isinstance(action, int) else action

    @final
    def deadline(self) -> tuple[int, str] | None:
        """Never wants the clock."""
        return None

    @final  # noqa: B027  # empty, and not abstract
    def handle_timeout(self, now_ns: int) -> None:
        """Nothing to do, however often it is called."""

    @final
    def react(self, now_ns: int, event: Event | None) -> Reaction:
        """All of the contract in one call."""
        if event is not None:
            self.handle(now_ns, event)
        actions, self._actions = self._actions, []
        return actions, None

    def _forward(self, segment: Segment) -> None:
        self._actions.append(segment.handle)


RTS_BYTES, CTS_BYTES, ACK_BYTES = 20, 14, 14
MAC_BYTES = 34
"""MAC header and FCS of data as ns-2 counts them; the standard's 28 with an LLC header of 8 is 2 more."""
OFDM_SERVICE_AND_TAIL_BITS = 22


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkTiming:
    """Constants of one PHY. Raises ValueError on a value out of range.

    How long one frame's exchange keeps the air busy, as far as a node's own link layer knows it.

        RTS  SIFS  CTS  SIFS  DATA  SIFS  ACK          (RTS, CTS and their SIFSs only with RTS/CTS)

    Control frames are taken at the basic rate. Propagation (below 1 us a hop) is left out.
    """

    slot_ns: int
    sifs_ns: int
    preamble_ns: int
    """Preamble and PLCP header; for OFDM with the signal extension."""
    basic_rate_bps: int
    symbol_ns: int = 0
    """Duration of an OFDM symbol; 0 where bits are not grouped into symbols."""
    rts: bool = True
    """RTS/CTS precede the data."""

    def __post_init__(self) -> None:
        for name in ("slot_ns", "sifs_ns", "basic_rate_bps"):
            require(getattr(self, name) > 0, name, getattr(self, name), "a positive number")
        for name in ("preamble_ns", "symbol_ns"):
            require(getattr(self, name) >= 0, name, getattr(self, name), "0 or more ns")

    def frame_ns(self, size_bytes: int, rate_bps: int) -> int:
        """Airtime of a frame of `size_bytes`, MAC header and FCS included."""
        if not self.symbol_ns:
            return self.preamble_ns + transmission_ns(size_bytes, rate_bps)
        bits = BITS_PER_BYTE * size_bytes + OFDM_SERVICE_AND_TAIL_BITS
        bits_per_symbol = rate_bps * self.symbol_ns // NS_PER_S
        return self.preamble_ns + self.symbol_ns * -(-bits // bits_per_symbol)

    def exchange_ns(self, packet_bytes: int, rate_bps: int) -> int:
        """Airtime of the whole exchange for an IP packet at this data rate, gaps included."""
        data_ns = self.frame_ns(packet_bytes + MAC_BYTES, rate_bps)
        exchange_ns = data_ns + self.sifs_ns + self.frame_ns(ACK_BYTES, self.basic_rate_bps)
        if self.rts:
            exchange_ns += self.frame_ns(RTS_BYTES, self.basic_rate_bps) + self.frame_ns(CTS_BYTES, self.basic_rate_bps)
            exchange_ns += 2 * self.sifs_ns
        return exchange_ns

    def exchange_slots(self, packet_bytes: int, rate_bps: int) -> int:
        """The exchange in backoff slots, rounded up: extra_Backoff."""
        return extra_backoff_slots(self.exchange_ns(packet_bytes, rate_bps), self.slot_ns)


TIMINGS: Mapping[str, LinkTiming] = MappingProxyType(
    {
        "802.11b": LinkTiming(slot_ns=20 * US, sifs_ns=10 * US, preamble_ns=192 * US, basic_rate_bps=1_000_000),
        "802.11a": LinkTiming(
            slot_ns=9 * US, sifs_ns=16 * US, preamble_ns=20 * US, symbol_ns=4 * US, basic_rate_bps=6_000_000
        ),
        "802.11g": LinkTiming(
            slot_ns=9 * US, sifs_ns=10 * US, preamble_ns=26 * US, symbol_ns=4 * US, basic_rate_bps=6_000_000
        ),
    }
)
"""PHY -> its timing. Source: IEEE Std 802.11-2020, Clauses 16 (b, long preamble), 17 (a), 18 (g)."""


class ExtraBackoff:
    """The extra backoff of one node: the exchange time of the frame that is being served.

    Source: [fu] Sec. 6.2, Algorithm 2.
    Deviates: the paper does not say which DATA frame: it is the frame just sent, data or TCP ACK, since that is what
    the next node forwards. Overhead is RTS, CTS, ACK and the SIFSs between. Nor does it say whether the extra backoff
    stands still while the medium is busy, as 802.11's does (the default here), or is "an additional packet transmission
    time" by the clock (`wall_clock`).
    """

    def __init__(self, timing: LinkTiming, *, wall_clock: bool = False) -> None:
        self._timing = timing
        self._wall_clock = wall_clock
        self._waiting: dict[int, int] = {}  # handle -> slots, in the order of the interface queue
        self._slots = 0
        self.paced = 0
        """Frames delivered while an extra backoff was set."""

    def queued(self, seen: SegmentSeen) -> None:
        """A frame goes to the interface queue."""
        handle = seen.segment.handle
        rates = seen.path_rates_bps
        self._waiting.pop(handle, None)
        self._waiting[handle] = self._timing.exchange_slots(seen.segment.packet_bytes, rates[0]) if rates else 0

    def done(self, result: TransmitResult) -> None:
        """The link layer is done with a frame; frames queued before it were lost in a full queue."""
        self.paced += result.delivered and self._slots > 0
        handle = result.segment.handle
        if handle in self._waiting:
            while next(iter(self._waiting)) != handle:
                del self._waiting[next(iter(self._waiting))]
            del self._waiting[handle]

    def change(self, *, on: bool) -> SetExtraBackoff | None:
        """What to tell the link layer now, if anything; `on` says whether pacing is wanted."""
        slots = next(iter(self._waiting.values()), 0) if on else 0
        if slots == self._slots:
            return None
        self._slots = slots
        return SetExtraBackoff(slots, self._wall_clock)


class LinkPacing(LinkHook):
    """Adaptive pacing alone, at one wireless node.

    Source: [fu] Sec. 6.2 and 6.3.2.
    Deviates: always on. The paper has LRED switch it when both work together, and does not say when it is on alone.
    """

    def __init__(self, backoff: ExtraBackoff) -> None:
        super().__init__()
        self._backoff = backoff

    def handle(self, now_ns: int, event: Event) -> None:
        """Forward what is seen; follow what is sent."""
        if isinstance(event, SegmentSeen):
            self._forward(event.segment)
            self._backoff.queued(event)
        else:
            self._backoff.done(event)
        if (change := self._backoff.change(on=True)) is not None:
            self._actions.append(change)

    def counters(self) -> dict[str, int]:
        """Frames after which the node kept silent longer."""
        return {"paced": self._backoff.paced}
