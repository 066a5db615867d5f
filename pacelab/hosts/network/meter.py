"""What a flow of datagrams delivered: counts over the measured window, and a series over the whole run. Pure.

`quantiles` are those of any sample, by the nearest rank.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pacelab.units import BITS_PER_BYTE, NS_PER_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Moments of a run: its start, the start of the measured part, its end, and the width of the series."""

    start_ns: int
    measured_ns: int
    end_ns: int
    interval_ns: int

    @property
    def intervals(self) -> int:
        """How many the series has; the last one may be cut short."""
        return -(-(self.end_ns - self.start_ns) // self.interval_ns)

    @property
    def measured_s(self) -> float:
        """Length of the measured part."""
        return (self.end_ns - self.measured_ns) / NS_PER_S


class Meter:
    """Of one flow. A datagram counts when it arrives within the window, once."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._series_bytes = [0] * window.intervals
        self._sent = self._delivered = self._delivered_bytes = self._repeats = 0
        self._delay_sum = self._delay_squares = 0.0
        self._seen: set[int] = set()

    def sent(self, now_ns: int, count: int) -> None:
        """So many datagrams were handed to the host."""
        if self._measured(now_ns):
            self._sent += count

    def arrived(self, now_ns: int, *, sequence: int, sent_ns: int, payload_bytes: int) -> None:
        """A datagram reached its receiver."""
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

    def report(self) -> dict[str, Any]:
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


SHARES = {"p50": 0.5, "p99": 0.99}


def quantiles(sample: Sequence[int]) -> dict[str, int]:
    """p50, p99 and max; empty for an empty sample."""
    if not sample:
        return {}
    ranked = sorted(sample)
    found = {name: ranked[min(len(ranked) - 1, int(share * len(ranked)))] for name, share in SHARES.items()}
    return found | {"max": ranked[-1]}
