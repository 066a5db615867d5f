"""Link RED: drop or mark packets early by how hard it is to get frames through. And adaptive pacing beside it.

The link layer drops too few packets to keep TCP's window near its best. LRED raises that share as contention grows,
measured by a moving average of the retransmissions that each packet needed (`equations`).

Thresholds. The paper gives none. Ours meet what Fig. 7 is said to show, that a flow "spends most of the time with
window size W* ~ 3": of all settings with which the windows 2, 3 and 4 fill at least half of the time, the one with the
largest goodput. Scenario: 7-hop chain, 2 Mbit/s, radio ns2, static routes, min RTO 1 s, MaxWin 32, 100 s, seeds
1001-1005 (the claims run from seed 1); min_th 0.3-0.8, max_th 1.5-20, max_P 0.03-1, 180 settings for drops and as many
for marks:

              min_th  max_th  max_P    goodput   time at 2-4   mean window   timeouts in 100 s
    NewReno      -       -      -      224 kbit/s     15 %          7.4            2
    drop        0.4     20    0.05     212            52            5.1            9
    mark        0.4      2    0.1      229            80            4.2            0

These are of one length; beside adaptive pacing on longer chains see `PACED_MARKING`.

Settings that bring the mean window to 3 by drops lose 40 % and more of the goodput: a window of 3 has too few duplicate
ACKs to repair most losses, and each timeout costs 1 s.

Invariants of LRED
1. Every segment is decided within the call that shows it.
2. A random number is drawn only where mark_prob > 0, one for each packet.
3. 0 <= mark_prob <= max_P.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import final

from pacelab.units import BITS_PER_BYTE, NS_PER_S, transmission_ns
from pacelab.units import NS_PER_US as US
from pacelab_pacer.core.checks import require
from pacelab_pacer.core.contract import (
    Action,
    Drop,
    Event,
    EventMask,
    Forward,
    Reaction,
    Rewrite,
    SegmentSeen,
    SetExtraBackoff,
    TransmitResult,
)
from pacelab_pacer.core.link_red.equations import average_retries, drop_probability, extra_backoff_slots
from pacelab_pacer.core.segment import Segment


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

    Adaptive pacing in the link layer: after a frame, wait as long as the next node needs to pass it on. A node that has
    sent a frame normally competes again after a random backoff, while its neighbour tries to forward what it has just
    got. One packet time more lets the frame get two hops away, out of the exposed terminal's reach.

    Invariants
    1. Segments are never held: each is forwarded within the call that shows it.
    2. Only the backoff after a delivered frame is lengthened, as the paper has it ("if receiving an ACK"): the link
       layer below sees to that. The extra backoff is that of the frame under way, and 0 while none is.
    3. `SetExtraBackoff` is sent only when the value changes.

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


DROP_REASON = "lred"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRedConfig:
    """Settings of LRED. Raises ValueError on a value out of range."""

    min_retries: float = 0.4
    """The paper's min_th."""
    max_retries: float = 20.0
    """The paper's max_th."""
    max_probability: float = 0.05
    """The paper's max_P."""
    mark: bool = False
    """Mark instead of drop what is ECN-capable; see `LinkRed`."""

    def __post_init__(self) -> None:
        require(self.min_retries >= 0, "min_retries", self.min_retries, "0 or more retransmissions per packet")
        require(self.max_retries > self.min_retries, "max_retries", self.max_retries, "more than min_retries")
        require(0 < self.max_probability <= 1, "max_probability", self.max_probability, "a share above 0, up to 1")


MARKING = LinkRedConfig(min_retries=0.4, max_retries=2.0, max_probability=0.1, mark=True)
"""For TCP with ECN. A mark costs the sender half of its window where a drop at a window of 3 costs a timeout, so that
more of them pay."""
PACED_MARKING = LinkRedConfig(min_retries=0.8, max_retries=10.8, max_probability=0.03, mark=True)
"""For marks beside adaptive pacing, which min_th switches too: of 18 settings the one with the largest mean gain over
chains of 7, 16, 32 and 48 hops, 1.0 % (studies/link_red_thresholds.py). `MARKING` costs 36 % of NewReno's goodput at 48
hops there."""


class LinkRed(LinkHook):
    """LRED at one wireless node, with adaptive pacing where an `ExtraBackoff` is given.

    `uniform` draws from [0, 1). With pacing, frames are followed by an extra backoff while avg_retry >= min_th.

    Source: [fu] Sec. 6.1, Algorithm 1.
    Deviates: min_th, max_th and max_P are not given; see the head of this module for ours. A packet is judged as
    it enters the interface queue, not at its head: queues hold fewer than two packets on average (Fig. 10b).
    A retransmission is a channel access that failed, by its RTS or by its data; a packet given up counts those that it
    took. Packets that LRED drops leave the average as it is. All packets are judged, TCP's ACKs too, as printed. With
    `mark`, ECN-capable packets are marked, pure ACKs pass ("without losing any packets") since a mark on them reaches
    nobody, and all else is dropped, as RFC 3168 Sec. 5 has it.
    """

    def __init__(
        self, config: LinkRedConfig, uniform: Callable[[], float], backoff: ExtraBackoff | None = None
    ) -> None:
        super().__init__()
        self._config = config
        self._uniform = uniform
        self._backoff = backoff
        self.average_retries = 0.0
        """The paper's avg_retry."""
        self._dropped = 0
        self._marked = 0

    def handle(self, now_ns: int, event: Event) -> None:
        """Judge what is seen; learn from what was sent."""
        if isinstance(event, SegmentSeen):
            if self._passes(event.segment) and self._backoff is not None:
                self._backoff.queued(event)
        else:
            if event.next_hop is not None:  # a broadcast is never repeated
                self.average_retries = average_retries(self.average_retries, max(event.attempts - 1, 0))
            if self._backoff is not None:
                self._backoff.done(event)
        if self._backoff is not None:
            change = self._backoff.change(on=self.average_retries >= self._config.min_retries)
            if change is not None:
                self._actions.append(change)

    def counters(self) -> dict[str, int]:
        """Packets dropped and marked early; with pacing, frames after which the node kept silent longer."""
        counted = {"dropped": self._dropped, "marked": self._marked}
        return counted if self._backoff is None else counted | {"paced": self._backoff.paced}

    def _passes(self, segment: Segment) -> bool:
        chosen = self._is_chosen()
        if chosen and not self._config.mark:
            return self._drop(segment)
        if chosen and segment.ecn_capable:
            self._marked += 1
            self._actions.append(Rewrite(segment.handle, congestion_experienced=True))
        elif chosen and not segment.is_pure_ack:
            return self._drop(segment)
        self._forward(segment)
        return True

    def _is_chosen(self) -> bool:
        config = self._config
        probability = drop_probability(
            self.average_retries,
            min_retries=config.min_retries,
            max_retries=config.max_retries,
            max_probability=config.max_probability,
        )
        return probability > 0 and self._uniform() < probability

    def _drop(self, segment: Segment) -> bool:
        self._dropped += 1
        self._actions.append(Drop(segment.handle, DROP_REASON))
        return False
