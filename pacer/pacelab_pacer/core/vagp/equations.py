"""Eq. (1) and the formulas of Algorithms 1 and 3 of [vagp]; the E-model's are in `e_model`.

R = pkt_size / SRTT_hat of each flow                             (1)   to start with

Algorithm 1, by the MOS    as printed        the other reading (CHOKE)
> good (3.9)               R (1 + 5 %)       R (1 + 5 %)
fair .. good               R (1 + 3 %)       R (1 + 3 %)
poor .. fair (3.7)         R (1 - 10 %)      R stays
choke .. poor (3.6)        R (1 - 50 %)      R (1 - 10 %)
below choke (3.3)          R (1 - 50 %)      R (1 - 50 %)

Algorithm 3: q packets of a flow wait at the gateway, M are between it and the receiver
q < q_min                  awnd = q_max + M
q > q_max, R > 0           awnd = q_min + M
q > q_max, R = 0           awnd = 0
else                       awnd = (q_max + q_min) / 2 + M
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from pacelab.units import BITS_PER_BYTE, NS_PER_S


class Reading(Enum):
    """How Algorithm 1's last two branches are read."""

    PRINTED = "printed"
    CHOKE = "choke"


class Marks(NamedTuple):
    """Q of Algorithm 1: thresholds of the MOS."""

    good: float
    fair: float
    poor: float
    choke: float


class Steps(NamedTuple):
    """R of Algorithm 1: shares of the rate to add (good, fair) and to remove (poor, choke)."""

    good: float
    fair: float
    poor: float
    choke: float


def start_rate_bps(packet_bytes: int, srtt_ns: int) -> float:
    """One flow's share of R: eq. (1). Deviates: the paper adds packets/s to a rate; we read it as a packet per SRTT."""
    return packet_bytes * BITS_PER_BYTE * NS_PER_S / srtt_ns


def rate_factor(mos: float, marks: Marks, steps: Steps, reading: Reading) -> float:
    """The factor by which a round of Algorithm 1 multiplies R."""
    if mos > marks.good:
        return 1 + steps.good
    if mos >= marks.fair:
        return 1 + steps.fair
    if reading is Reading.PRINTED:
        return 1 - (steps.poor if mos > marks.poor else steps.choke)
    if mos >= marks.poor:
        return 1.0
    return 1 - (steps.poor if mos >= marks.choke else steps.choke)


def window_pkts(
    bounds_pkts: tuple[int, int], *, queued_pkts: int, in_air_pkts: int, in_wire_pkts: int, is_frozen: bool
) -> int:
    """Awnd of Algorithm 3, packets; `bounds_pkts` is (q_min, q_max), `is_frozen` says that R = 0.

    Deviates: in the paper the wired part's delay is negligible. What R carries in a wired round trip is under way
    before the gateway sees it, so it is added to every window that is not 0. Otherwise one hop behind a slow Internet
    starves.
    """
    least, most = bounds_pkts
    if queued_pkts < least:
        target = most
    elif queued_pkts <= most:
        target = (most + least) // 2
    elif is_frozen:
        return 0
    else:
        target = least
    return target + in_air_pkts + in_wire_pkts
