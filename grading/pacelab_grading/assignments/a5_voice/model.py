"""Assignment 5: voice quality, and a rate that protects it. The model solution."""

from collections import deque
from math import log

PACELAB_ASSIGNMENT = "5/1"

CODEC_MS, PLAYOUT_MS = 25.0, 60.0
WINDOW_NS = 500_000_000
LATE_NS = 160_000_000
GOOD, FAIR, POOR = 3.9, 3.7, 3.6
MIN_RATE_BPS, MAX_RATE_BPS = 12_000, 10_000_000
START_RATE_BPS = 100_000
HOLD_ROUNDS = 5


def mos(network_delay_ms, loss):
    """The E-model for G.729a."""
    d = CODEC_MS + network_delay_ms + PLAYOUT_MS
    r = 94.2 - 0.024 * d - 0.11 * max(0.0, d - 177.3) - 11 - 40 * log(1 + 10 * loss)
    if r <= 0:
        return 1.0
    if r >= 100:
        return 4.5
    return max(1.0, 1 + 0.035 * r + 7e-6 * r * (r - 60) * (100 - r))


class QualityEvaluator:
    """Measures all calls together."""

    def __init__(self):
        self._packets = deque()

    def packet(self, now_ns, call, sequence, sent_ns):
        """Keep each packet once."""
        if all((call, sequence) != kept[1:3] for kept in self._packets):
            self._packets.append((now_ns, call, sequence, now_ns - sent_ns))

    def evaluate(self, now_ns):
        """The MOS of the window."""
        while self._packets and self._packets[0][0] < now_ns - WINDOW_NS:
            self._packets.popleft()
        if not self._packets:
            return None
        calls = {}
        delays = []
        for _, call, sequence, delay_ns in self._packets:
            calls.setdefault(call, []).append(sequence)
            if delay_ns <= LATE_NS:
                delays.append(delay_ns)
        expected = sum(max(numbers) - min(numbers) + 1 for numbers in calls.values())
        delay_ns = sum(delays) / len(delays) if delays else LATE_NS
        return mos(delay_ns / 1e6, 1 - len(delays) / expected)


class BandwidthController:
    """Algorithm 1."""

    def __init__(self):
        self.rate_bps = START_RATE_BPS
        self._best = 0
        self._good_rounds = 0
        self._was_poor = False

    def adjust(self, quality):
        """One round."""
        quality = 5.0 if quality is None else quality
        good = quality > GOOD
        if good:
            factor = 1.05
        elif quality >= FAIR:
            factor = 1.03
        elif quality > POOR:
            factor = 0.9
        else:
            factor = 0.5
            self._was_poor = True
        self.rate_bps = min(max(self.rate_bps * factor, MIN_RATE_BPS), MAX_RATE_BPS)
        self._good_rounds = self._good_rounds + 1 if good else 0
        if good:
            self._best = max(self._best, self.rate_bps)
        if self._was_poor and self._good_rounds >= HOLD_ROUNDS:
            self.rate_bps = max(self.rate_bps, self._best / 2)
            self._best = self.rate_bps
            self._was_poor = False
        return self.rate_bps
