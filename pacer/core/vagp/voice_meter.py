"""One direction of a voice call, measured where its packets pass or end: loss, lateness, delay over a sliding window.

    lost    a number was left out: known when a later packet comes (a path keeps the order), or, in silence, when the
            moment of playout has come
    late    arrived after its moment of playout: sent + aligned delay + playout buffer
    window  each packet counts from when its fate was known, for `window_ns`; one that counted as lost and comes after
            all counts as what it is from then on

The playout rule is the receiver's (medium/network/src/voice.rs): aligned to the delay of the first packet, then, with
the first arrival a talk spurt after the last alignment, to the mean delay of the packets that arrived since.

Invariants
1. A number counts once in a window.
2. Silence is loss only while the call lives: its peer still sends. With the hang-up both directions fall silent.
3. Memory is bounded by `MAX_PACKETS`.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from pacelab.pacer.core.segment import Rtp
from pacelab.units import NS_PER_MS, NS_PER_S

SPURT_NS = NS_PER_S
"""Mean talk spurt (ITU-T P.59 Table 1: 1.004 s), after which a receiver aligns itself anew."""
MAX_PACKETS = 1024
"""Packets remembered: 20 s of a codec with a packet each 20 ms. A larger gap is another source, not a loss."""
LEAST_INTERVAL_NS = NS_PER_MS
"""No codec sends more often."""

_NUMBERS = 1 << 16


class VoiceCounts(NamedTuple):
    """What a window holds."""

    expected: int
    lost: int
    late: int
    delay_ns: int
    """Mean network delay of what arrived; 0 when nothing did."""

    @property
    def loss(self) -> float:
        """Share that was not played, 0..1; 0 of nothing."""
        return (self.lost + self.late) / self.expected if self.expected else 0.0

    @property
    def arrived(self) -> int:
        """Packets that came, late ones included."""
        return self.expected - self.lost


class _Fate(NamedTuple):
    known_ns: int
    number: int
    delay_ns: int | None
    """None: lost."""
    late: bool


class VoiceMeter:
    """Measures one direction of one call."""

    __slots__ = (
        "_aligned_at_ns",
        "_aligned_ns",
        "_alive_ns",
        "_fates",
        "_interval_ns",
        "_newest",
        "_playout_ns",
        "_since",
    )

    def __init__(self, playout_ns: int) -> None:
        self._playout_ns = playout_ns
        self._alive_ns = 0
        self._start()

    def _start(self) -> None:
        self._fates: deque[_Fate] = deque(maxlen=MAX_PACKETS)
        self._newest: tuple[int, int] | None = None  # (number, sent_ns)
        self._interval_ns: int | None = None
        self._aligned_at_ns: int | None = None
        self._aligned_ns = 0
        self._since = (0, 0)  # arrivals since the last alignment, the sum of their delays

    def alive(self, now_ns: int) -> None:
        """The other direction was heard."""
        self._alive_ns = now_ns

    def arrived(self, now_ns: int, rtp: Rtp) -> None:
        """A packet has come."""
        self._alive_ns = now_ns
        if self._newest is None:
            self._take(now_ns, rtp.sequence, rtp.sent_ns)
            self._newest = (rtp.sequence, rtp.sent_ns)
            return
        number, sent_ns = self._newest
        ahead = (rtp.sequence - number + _NUMBERS // 2) % _NUMBERS - _NUMBERS // 2
        if abs(ahead) >= MAX_PACKETS:
            self._start()
            self.arrived(now_ns, rtp)
        elif ahead > 0:
            for missing in range(number + 1, number + ahead):
                self._fates.append(_Fate(now_ns, missing, None, late=False))
            self._interval_ns = max(LEAST_INTERVAL_NS, (rtp.sent_ns - sent_ns) // ahead)
            self._take(now_ns, number + ahead, rtp.sent_ns)
            self._newest = (number + ahead, rtp.sent_ns)
        elif self._forgive(number + ahead):
            self._take(now_ns, number + ahead, rtp.sent_ns)

    def counts(self, now_ns: int, *, window_ns: int, silence_ns: int) -> VoiceCounts:
        """The window that ends now. The call lives until it has been silent both ways for `silence_ns`."""
        self._note_silence(min(now_ns, self._alive_ns + silence_ns))
        while self._fates and self._fates[0].known_ns <= now_ns - window_ns:
            self._fates.popleft()
        lost = late = arrived = delays_ns = 0
        for fate in self._fates:
            if fate.delay_ns is None:
                lost += 1
            else:
                arrived += 1
                late += fate.late
                delays_ns += fate.delay_ns
        return VoiceCounts(lost + arrived, lost, late, delays_ns // arrived if arrived else 0)

    def is_over(self, now_ns: int, silence_ns: int) -> bool:
        """Whether the call has been silent both ways for so long."""
        return now_ns - self._alive_ns >= silence_ns

    def _take(self, now_ns: int, number: int, sent_ns: int) -> None:
        delay_ns = max(0, now_ns - sent_ns)
        count, total_ns = self._since
        if self._aligned_at_ns is None or now_ns >= self._aligned_at_ns + SPURT_NS:
            self._aligned_ns = delay_ns if self._aligned_at_ns is None else total_ns // count
            self._aligned_at_ns = now_ns
            count = total_ns = 0
        self._since = (count + 1, total_ns + delay_ns)
        late = delay_ns > self._aligned_ns + self._playout_ns
        self._fates.append(_Fate(now_ns, number, delay_ns, late))

    def _forgive(self, number: int) -> bool:
        """Whether this number counts as lost; then it does no more."""
        for fate in self._fates:
            if fate.number == number and fate.delay_ns is None:
                self._fates.remove(fate)
                return True
        return False

    def _note_silence(self, until_ns: int) -> None:
        """Count as lost what should have been played by now."""
        if self._newest is None or self._interval_ns is None:
            return
        number, sent_ns = self._newest
        interval_ns, wait_ns = self._interval_ns, self._aligned_ns + self._playout_ns
        due = (until_ns - wait_ns - sent_ns) // interval_ns
        for ahead in range(max(0, due - MAX_PACKETS) + 1, due + 1):
            self._fates.append(_Fate(sent_ns + ahead * interval_ns + wait_ns, number + ahead, None, late=False))
        if due > 0:
            self._newest = (number + due, sent_ns + due * interval_ns)
