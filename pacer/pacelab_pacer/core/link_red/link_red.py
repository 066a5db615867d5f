"""Link RED: drop or mark packets early, by the number of attempts that frames need; with adaptive pacing if wanted.

The link layer drops too few packets to keep TCP's window near its best. LRED raises that share as contention grows,
measured by a moving average of the retransmissions that each packet needed (`equations`).

Thresholds. The paper gives none. Ours meet what the text says of Fig. 7, that a flow "spends most of the time with
window size W* ~ 3": of all settings with which the windows 2, 3 and 4 fill at least half of the time, ours has the
largest goodput. Scenario: 7-hop chain, 2 Mbit/s, radio ns2, static routes, min RTO 1 s, MaxWin 32, 100 s, seeds
1001-1005 (the claims run from seed 1); min_th 0.3-0.8, max_th 1.5-20, max_P 0.03-1, 180 settings for drops and as many
for marks:

              min_th  max_th  max_P    goodput   time at 2-4   mean window   timeouts in 100 s
    NewReno      -       -      -      224 kbit/s     15 %          7.4            2
    drop        0.4     20    0.05     212            52            5.1            9
    mark        0.4      2    0.1      229            80            4.2            0

These hold for one length of the chain. For adaptive pacing on longer chains see `PACED_MARKING`.

Settings that bring the mean window to 3 by drops lose 40 % and more of the goodput: a window of 3 has too few duplicate
ACKs to repair most losses, and each timeout costs 1 s.

Invariants of LRED
1. Every segment is decided within the call that reports it.
2. A random number is drawn only where mark_prob > 0, one for each packet.
3. 0 <= mark_prob <= max_P.

Source: [fu] Sec. 6.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pacelab_pacer.core.checks import NOT_NEGATIVE, SHARE_ABOVE_0, check_fields, require
from pacelab_pacer.core.contract import Drop, Event, Rewrite, SegmentSeen
from pacelab_pacer.core.link_red.equations import average_retries, drop_probability
from pacelab_pacer.core.link_red.link_hook import LinkHook
from pacelab_pacer.core.link_red.link_pacing import ExtraBackoff
from pacelab_pacer.core.segment import Segment

DROP_REASON = "lred"

SEEN: Final = SegmentSeen
"""An alias: the look-up of an imported name for each packet shows in the profile."""


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
    """Mark ECN-capable packets instead of dropping them; see `LinkRed`."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            min_retries=NOT_NEGATIVE,
        )
        require(self.max_retries > self.min_retries, "max_retries", self.max_retries, "more than min_retries")
        check_fields(
            self,
            max_probability=SHARE_ABOVE_0,
        )


MARKING = LinkRedConfig(min_retries=0.4, max_retries=2.0, max_probability=0.1, mark=True)
"""For TCP with ECN. A mark costs the sender half of its window, where a drop at a window of 3 costs a timeout; so more
marks pay off than drops."""
PACED_MARKING = LinkRedConfig(min_retries=0.8, max_retries=10.8, max_probability=0.03, mark=True)
"""For marks beside adaptive pacing, which min_th switches as well: of 18 settings the one with the largest mean gain
over chains of 7, 16, 32 and 48 hops, 1.0 % (studies/link_red_thresholds.py). There `MARKING` costs 36 % of NewReno's
goodput at 48 hops."""


class LinkRed(LinkHook):
    """LRED at one wireless node, with adaptive pacing where an `ExtraBackoff` is given.

    `uniform` draws from [0, 1). With pacing, an extra backoff follows each frame while avg_retry >= min_th.

    Source: [fu] Sec. 6.1, Algorithm 1.
    Deviates: min_th, max_th and max_P are not given; see the head of this module for ours. A packet is judged when it
    enters the interface queue, not at the head of the queue: queues hold fewer than two packets on average (Fig. 10b).
    A retransmission is a channel access that failed, by its RTS or by its data; a packet that was given up counts all
    of its failures. Packets that LRED drops do not change the average. All packets are judged, as printed, TCP's ACKs
    among them. With `mark`, ECN-capable packets are marked, pure ACKs pass ("without losing any packets") because a
    mark on them reaches nobody, and all other packets are dropped (RFC 3168 Sec. 5).
    """

    def __init__(
        self, config: LinkRedConfig, uniform: Callable[[], float], backoff: ExtraBackoff | None = None
    ) -> None:
        super().__init__()
        # Copies of settings that are read for every packet.
        self._min_retries, self._max_retries = config.min_retries, config.max_retries
        self._max_probability, self._mark = config.max_probability, config.mark
        self._uniform = uniform
        self._backoff = backoff
        self.average_retries = 0.0
        """The paper's avg_retry."""
        self._dropped = 0
        self._marked = 0

    def handle(self, now_ns: int, event: Event) -> None:
        """Judge each segment, and learn from what the link layer has sent."""
        if isinstance(event, SEEN):
            if self._passes(event.segment) and self._backoff is not None:
                self._backoff.queued(event)
        else:
            if event.next_hop is not None:  # a broadcast is never repeated
                self.average_retries = average_retries(self.average_retries, max(event.attempts - 1, 0))
            if self._backoff is not None:
                self._backoff.done(event)
        if self._backoff is not None:
            change = self._backoff.change(on=self.average_retries >= self._min_retries)
            if change is not None:
                self._actions.append(change)

    def counters(self) -> dict[str, int]:
        """Packets dropped and marked early; with pacing, frames after which the node waited longer."""
        counted = {"dropped": self._dropped, "marked": self._marked}
        return counted if self._backoff is None else counted | {"paced": self._backoff.paced}

    def _passes(self, segment: Segment) -> bool:
        chosen = self._is_chosen()
        if chosen and not self._mark:
            return self._drop(segment)
        if chosen and segment.ecn_capable:
            self._marked += 1
            self._actions.append(Rewrite(segment.handle, congestion_experienced=True))
        elif chosen and not segment.is_pure_ack:
            return self._drop(segment)
        self._forward(segment)
        return True

    def _is_chosen(self) -> bool:
        probability = drop_probability(
            self.average_retries,
            min_retries=self._min_retries,
            max_retries=self._max_retries,
            max_probability=self._max_probability,
        )
        return probability > 0 and self._uniform() < probability

    def _drop(self, segment: Segment) -> bool:
        self._dropped += 1
        self._actions.append(Drop(segment.handle, DROP_REASON))
        return False
