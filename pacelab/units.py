"""Conversion factors between seconds and nanoseconds, and between bytes and bits.

Inside the engine and the algorithms, time is an integer number of nanoseconds (`_ns`); elsewhere it is seconds (`_s`).
Rates are bit/s (`_bps`), sizes are bytes (`_bytes`); only the command line uses Mbit/s.
"""

from __future__ import annotations

from typing import Final

NS_PER_S: Final = 1_000_000_000
NS_PER_MS: Final = 1_000_000
NS_PER_US: Final = 1_000
BITS_PER_BYTE: Final = 8
BPS_PER_MBPS: Final = 1_000_000


def ns_from_s(seconds: float) -> int:
    """Seconds to the nearest integer nanosecond."""
    return round(seconds * NS_PER_S)


def s_from_ns(time_ns: int) -> float:
    """Nanoseconds to seconds."""
    return time_ns / NS_PER_S


def transmission_ns(size_bytes: int, rate_bps: float) -> int:
    """The time in ns to send `size_bytes` over a link of `rate_bps`: the payload only, without preamble and
    propagation.
    """
    return round(size_bytes * BITS_PER_BYTE * NS_PER_S / rate_bps)
