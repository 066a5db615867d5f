"""Evaluation of arriving packets at receivers. Pure.

`Meter` counts a flow of datagrams over the measured window and keeps its series over the whole run. `Playout` decides
which voice packets are played.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pacelab.emulation.messages import DatagramCounts, VoiceReport
from pacelab.units import BITS_PER_BYTE, NS_PER_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Times of a run: its start, the start of the measured part, its end, and the interval of the series."""

    start_ns: int
    measured_ns: int
    end_ns: int
    interval_ns: int

    @property
    def intervals(self) -> int:
        """Number of intervals in the series. The last one may be shorter."""
        return -(-(self.end_ns - self.start_ns) // self.interval_ns)

    @property
    def measured_s(self) -> float:
        """Length of the measured part."""
        return (self.end_ns - self.measured_ns) / NS_PER_S


class Meter:
    """Counts one flow. A datagram counts once, if it arrives within the window."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._series_bytes = [0] * window.intervals
        self._sent = self._delivered = self._delivered_bytes = self._repeats = 0
        self._delay_sum = self._delay_squares = 0.0
        self._seen: set[int] = set()

    def sent(self, now_ns: int, count: int) -> None:
        """Count datagrams that were handed to the host."""
        if self._measured(now_ns):
            self._sent += count

    def arrived(self, now_ns: int, *, sequence: int, sent_ns: int, payload_bytes: int) -> None:
        """Count a datagram that reached its receiver."""
        if not self._window.start_ns <= now_ns < self._window.end_ns:
            return
        if sequence in self._seen:
            self._repeats += 1
            return
        self._seen.add(sequence)
        self._series_bytes[(now_ns - self._window.start_ns) // self._window.interval_ns] += payload_bytes
        if self._measured(now_ns):
            delay_s = (now_ns - sent_ns) / NS_PER_S
            self._delivered += 1
            self._delivered_bytes += payload_bytes
            self._delay_sum += delay_s
            self._delay_squares += delay_s * delay_s

    def report(self) -> DatagramCounts:
        """Counts and rates over the measured part, and the series."""
        seconds = self._window.measured_s
        return {
            "sent_pkts": self._sent,
            "delivered_pkts": self._delivered,
            "repeats": self._repeats,
            "goodput_bps": self._delivered_bytes * BITS_PER_BYTE / seconds,
            "delay_mean_s": self._delay_sum / self._delivered if self._delivered else None,
            "delay_sd_s": self._delay_sd_s(),
            "series_bps": [self._rate_bps(place) for place in range(self._window.intervals)],
        }

    def _delay_sd_s(self) -> float | None:
        if self._delivered < 2:
            return None
        mean = self._delay_sum / self._delivered
        return math.sqrt(max(0.0, self._delay_squares / self._delivered - mean * mean))

    def _rate_bps(self, place: int) -> float:
        starts_ns = self._window.start_ns + place * self._window.interval_ns
        width_ns = min(self._window.end_ns, starts_ns + self._window.interval_ns) - starts_ns
        return self._series_bytes[place] * BITS_PER_BYTE * NS_PER_S / width_ns

    def _measured(self, now_ns: int) -> bool:
        return self._window.measured_ns <= now_ns < self._window.end_ns


# Voice.

SPURT_NS = NS_PER_S
"""Mean talk spurt. Source: ITU-T P.59 Table 1 (1.004 s)."""
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(slots=True)
class Sent:
    """One packet: when it was sent and, after its arrival, its network delay and whether it was in time."""

    sent_ns: int
    delay_ns: int | None = None
    in_time: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Counts of the packets that were sent in an interval of time, by their fate."""

    due: int
    lost: int
    late: int
    delays_ns: list[int] = field(default_factory=list)
    """Delays of the packets that arrived, in the order of sending."""

    @property
    def delay_mean_s(self) -> float | None:
        """None if no packet arrived."""
        return sum(self.delays_ns) / len(self.delays_ns) / NS_PER_S if self.delays_ns else None

    def delay_quantiles_s(self, shares: Sequence[float] = SHARES) -> list[float] | None:
        """By the nearest rank; None if no packet arrived."""
        if not self.delays_ns:
            return None
        ranked = sorted(self.delays_ns)
        return [ranked[int(share * (len(ranked) - 1) + 0.5)] / NS_PER_S for share in shares]


class Playout:
    """The receiver of one direction of a voice call, and the log of its packets: which are played, late or lost.

    The rule is the simulator's (medium/network/src/voice.rs): a packet is played at `sent + aligned delay + playout
    buffer`. A packet that arrives later is late. The receiver first aligns itself to the delay of its first packet. It
    aligns again at the first arrival at least one talk spurt after the last alignment, then to the mean delay of the
    packets that arrived since.

    Invariants
    1. A packet that was sent is played, late, lost, or not yet due. It is due once its playout time by the last
       alignment has passed, or once it has arrived.
    2. A packet counts in the interval in which it was sent; what arrives twice counts once.
    """

    def __init__(self, playout_ns: int) -> None:
        self._playout_ns = playout_ns
        self._packets: list[Sent] = []
        self._by_moment: dict[int, Sent] = {}
        self._aligned: tuple[int, int] | None = None
        self._since = (0, 0)

    def expect(self, sent_ns: int) -> None:
        """A packet leaves the codec. No two packets leave at the same time."""
        packet = Sent(sent_ns)
        self._packets.append(packet)
        self._by_moment[sent_ns] = packet

    def arrive(self, now_ns: int, sent_ns: int) -> bool:
        """The packet that was sent at this time arrives. Return whether it is in time and arrives for the
        first time.
        """
        packet = self._by_moment.pop(sent_ns, None)
        if packet is None:
            return False
        delay_ns = now_ns - sent_ns
        count, total_ns = self._since
        aligned = self._aligned
        if aligned is None:
            aligned = (now_ns, delay_ns)
        elif now_ns >= aligned[0] + SPURT_NS and count > 0:
            aligned = (now_ns, total_ns // count)
        if aligned != self._aligned:
            self._aligned, self._since = aligned, (0, 0)
        self._since = (self._since[0] + 1, self._since[1] + delay_ns)
        packet.delay_ns = delay_ns
        packet.in_time = delay_ns <= aligned[1] + self._playout_ns
        return packet.in_time

    def counts(self, start_ns: int, end_ns: int, now_ns: int) -> Counts:
        """Counts of the packets sent in [start_ns, end_ns), as known at `now_ns`."""
        wait_ns = self._playout_ns + (self._aligned[1] if self._aligned else 0)
        lost = late = 0
        delays_ns = []
        for packet in self._packets:
            if not start_ns <= packet.sent_ns < end_ns:
                continue
            if packet.delay_ns is not None:
                delays_ns.append(packet.delay_ns)
                late += not packet.in_time
            elif packet.sent_ns + wait_ns <= now_ns:
                lost += 1
        return Counts(due=lost + len(delays_ns), lost=lost, late=late, delays_ns=delays_ns)


def report(
    playout: Playout, *, edges_ns: Sequence[int], measured_ns: int, payload_bytes: int, playout_s: float
) -> VoiceReport:
    """A flow's `voice` in the engine's result, and its series between `edges_ns`. The last edge is the end."""
    end_ns = edges_ns[-1]
    whole = playout.counts(measured_ns, end_ns, end_ns)
    parts = [playout.counts(*edges, end_ns) for edges in pairwise(edges_ns)]
    played = [payload_bytes * BITS_PER_BYTE * (part.due - part.lost - part.late) for part in parts]
    widths_s = [(later - sooner) / NS_PER_S for sooner, later in pairwise(edges_ns)]
    return {
        "voice": {
            "playout_s": playout_s,
            "due_pkts": whole.due,
            "lost_pkts": whole.lost,
            "late_pkts": whole.late,
            "delay_mean_s": whole.delay_mean_s,
            "delay_quantiles_s": whole.delay_quantiles_s(),
        },
        "delivered_pkts": len(whole.delays_ns),
        "played_pkts": whole.due - whole.lost - whole.late,
        "series_bps": [bits / width_s for bits, width_s in zip(played, widths_s, strict=True)],
        "series_voice": {
            "due_pkts": [part.due for part in parts],
            "lost_pkts": [part.lost for part in parts],
            "late_pkts": [part.late for part in parts],
            "delay_s": [part.delay_mean_s for part in parts],
        },
    }
