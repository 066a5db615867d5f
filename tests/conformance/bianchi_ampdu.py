"""Saturated stations with aggregates in one cell, by Bianchi's fixed point; preset standard, datagrams of 1460 bytes.

As `bianchi`, with W = 15, 31, 63, 127, 255, 511, 1023 and aggregates for packets. A collision destroys whole
aggregates. The model leaves out Block Ack Requests: after a collision it sends the aggregate again.

Source: G. Bianchi, "Performance analysis of the IEEE 802.11 distributed coordination function", IEEE JSAC 18(3),
2000, Eq. (7), (9), (13); finite retry limit after H. Wu et al., INFOCOM 2002.
"""

from __future__ import annotations

from dataclasses import dataclass

SLOT_US = 9
WINDOWS = (15, 31, 63, 127, 255, 511, 1023)


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
    eifs: float = 16 + 44 + 43
    """After a collision: SIFS, an ACK at 6 Mbit/s, AIFS."""

    @property
    def alone_mbps(self) -> float:
        """The goodput of one station: its cycle with the mean backoff of 7.5 slots."""
        cycle_us = self.aifs + WINDOWS[0] / 2 * SLOT_US + self.data + self.sifs + self.response
        return self.packets * 1460 * 8 / cycle_us


def goodput_mbps(frames: Frames, stations: int) -> float:
    """Payload of all stations together."""
    from scipy.optimize import brentq  # imported here: it takes a second in each process that collects tests

    if stations == 1:
        return frames.alone_mbps

    def send_probability(p: float) -> float:
        attempts = sum(p**k for k in range(len(WINDOWS)))
        return attempts / sum(p**k * (1 + window / 2) for k, window in enumerate(WINDOWS))

    p = brentq(lambda p: p - 1 + (1 - send_probability(p)) ** (stations - 1), 0.0, 0.999)
    tau = send_probability(p)
    idle = (1 - tau) ** stations
    success = stations * tau * (1 - tau) ** (stations - 1)
    success_us = frames.data + frames.sifs + frames.response + frames.aifs
    mean_us = idle * SLOT_US + success * success_us + (1 - idle - success) * (frames.data + frames.eifs)
    return success * frames.packets * 1460 * 8 / mean_us
