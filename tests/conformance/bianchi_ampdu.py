"""Saturated stations with aggregates in one cell, by Bianchi's fixed point; preset standard, datagrams of 1460 bytes.

A station sends in a slot with probability tau, and its frame collides with p = 1 - (1 - tau)^(n-1), whatever its stage.
A collision destroys whole aggregates. There are two forms, which differ in what follows it:

* Plain, for packets alone: the same frame again, 7 attempts with W = 15, 31, 63, 127, 255, 511, 1023. A frame takes
  sum p^k attempts and sum p^k (1 + W_k / 2) slots, and tau is their ratio.
* With requests, as an 802.11n station does: Block Ack Requests until one is answered, and then the aggregate again with
  the smallest window. A data frame takes 1 / (1 - p) attempts, of which the share p are requests, in
  sum p^k (1 + W_k / 2) slots. A collision lasts as long as its longest frame: an aggregate, unless both frames are
  requests. One of more than two frames counts as one of two.

Source: G. Bianchi, "Performance analysis of the IEEE 802.11 distributed coordination function", IEEE JSAC 18(3),
2000, Eq. (7), (9), (13); finite retry limit after H. Wu et al., INFOCOM 2002.
"""

from __future__ import annotations

from dataclasses import dataclass

SLOT_US = 9
WINDOWS = (15, 31, 63, 127, 255, 511, 1023)
REQUESTS = 60
"""Attempts that the sums over requests have; p^60 does not show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frames:
    """Durations of one mode, in us."""

    packets: int
    """Packets of an aggregate."""
    data: float
    response: float
    """Block Ack, or ACK of a packet alone."""
    sifs: int = 16
    aifs: int = 43
    request: float = 32.0
    """Block Ack Request: 24 bytes at 24 Mbit/s, 214 bits, 3 symbols."""
    eifs: float = 16 + 44 + 43
    """After a collision: SIFS, an ACK at 6 Mbit/s, AIFS."""

    @property
    def alone_mbps(self) -> float:
        """The goodput of one station: its cycle with the mean backoff of 7.5 slots."""
        cycle_us = self.aifs + WINDOWS[0] / 2 * SLOT_US + self.data + self.sifs + self.response
        return self.packets * 1460 * 8 / cycle_us


def goodput_mbps(frames: Frames, stations: int, *, requests: bool) -> float:
    """Payload of all stations together."""
    from scipy.optimize import brentq  # imported here: it takes a second in each process that collects tests

    if stations == 1:
        return frames.alone_mbps
    windows = WINDOWS + WINDOWS[-1:] * REQUESTS if requests else WINDOWS

    def send_probability(p: float) -> float:
        attempts = sum(p**k for k in range(len(windows)))
        return attempts / sum(p**k * (1 + window / 2) for k, window in enumerate(windows))

    p = brentq(lambda p: p - 1 + (1 - send_probability(p)) ** (stations - 1), 0.0, 0.999)
    tau = send_probability(p)
    share = p if requests else 0.0
    idle = (1 - tau) ** stations
    success = stations * tau * (1 - tau) ** (stations - 1)
    success_us = (1 - share) * frames.data + share * frames.request + frames.sifs + frames.response + frames.aifs
    collision_us = (1 - share**2) * frames.data + share**2 * frames.request + frames.eifs
    mean_us = idle * SLOT_US + success * success_us + (1 - idle - success) * collision_us
    return success * (1 - share) * frames.packets * 1460 * 8 / mean_us
