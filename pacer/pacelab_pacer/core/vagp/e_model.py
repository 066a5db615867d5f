"""Voice quality from delay and loss: the E-model for G.729a.

    d    mouth-to-ear delay in ms: codec + network + playout buffer
    e    share of the packets that were not played: lost in the network, or late for their playout
    R    = 94.2 - 0.024 d - 0.11 (d - 177.3) [d > 177.3] - 11 - 40 ln(1 + 10 e)
    MOS  = 1 for R <= 0; 4.5 for R >= 100; else max(1, 1 + 0.035 R + 7e-6 R (R - 60) (100 - R))

Invariants
1. 1 <= MOS <= 4.5, whatever delay and loss: never an infinity, never NaN. Without the clamp to 1 the polynomial gives
   14 for a call that has collapsed.
2. The same delay and loss give the same MOS, bit for bit, on every machine: a rate decision may depend on it. All is
   IEEE's + - * /, and the one logarithm is `decimal`'s, which is correctly rounded, unlike the C library's.
3. A call of which nothing arrived has loss 1 and MOS 1.
"""

from __future__ import annotations

from decimal import Context, Decimal
from functools import cache

from pacelab.domains import Real
from pacelab.units import NS_PER_MS
from pacelab_pacer.core.checks import AT_LEAST_0, SHARE, check

CODEC_NS = 25 * NS_PER_MS
"""G.729a: 10 ms frames, two per packet, and 5 ms of look-ahead."""
PLAYOUT_NS = 60 * NS_PER_MS
"""Playout buffer of the paper."""
MOS_MIN = 1.0
MOS_MAX = 4.5
TARGET_MOS = Real(MOS_MIN, MOS_MAX, above=True, below=True)
"""A quality that some loss gives, and some does not."""

_DOUBLE = Context(prec=17)
"""So many decimal digits distinguish any two doubles."""


def mouth_to_ear_ns(network_delay_ns: int, *, playout_ns: int = PLAYOUT_NS) -> int:
    """d: codec, network and playout buffer together."""
    return CODEC_NS + network_delay_ns + playout_ns


def r_factor(mouth_to_ear_ns: int, loss: float) -> float:
    """R, at most about 83, without a lower bound.

    `mouth_to_ear_ns` is at least 0, `loss` from 0 to 1. Raises ValueError.

    Source: Cole & Rosenbluth, Voice over IP performance monitoring, CCR 31 (2001), for G.729a; [vagp] Sec. III-A.
    """
    check("mouth_to_ear_ns", mouth_to_ear_ns, AT_LEAST_0)
    check("loss", loss, SHARE)
    delay_ms = mouth_to_ear_ns / NS_PER_MS
    delay_impairment = 0.024 * delay_ms + 0.11 * max(0.0, delay_ms - 177.3)
    loss_impairment = 11 + 40 * float(_DOUBLE.ln(Decimal(1 + 10 * loss)))
    return 94.2 - delay_impairment - loss_impairment


def loss_for(target_mos: float, *, network_delay_ns: int, playout_ns: int = PLAYOUT_NS) -> float:
    """Share of the packets that may be missing at this delay for a MOS of `target_mos`; 0 if the delay is too long.

    The inverse of `mos` in its loss, to a billionth. `target_mos` is above 1 and below 4.5. Raises ValueError.
    """
    check("target_mos", target_mos, TARGET_MOS)
    room = r_factor(mouth_to_ear_ns(network_delay_ns, playout_ns=playout_ns), 0.0) - _r_from_mos(target_mos)
    if room <= 0:
        return 0.0
    return min(1.0, (float(_DOUBLE.exp(Decimal(room / 40))) - 1) / 10)


@cache
def _r_from_mos(target_mos: float) -> float:
    """The R with this MOS, by bisection: `mos_from_r` rises from R = 6.5 on, and is 1 below."""
    low, high = 6.5, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if mos_from_r(middle) >= target_mos else (middle, high)
    return high


def mos_from_r(r: float) -> float:
    """MOS of an R factor, 1..4.5."""
    if r <= 0:
        return MOS_MIN
    if r >= 100:
        return MOS_MAX
    return max(MOS_MIN, 1 + 0.035 * r + 7e-6 * r * (r - 60) * (100 - r))


def mos(*, network_delay_ns: int, loss: float, playout_ns: int = PLAYOUT_NS) -> float:
    """MOS of a call whose packets took `network_delay_ns` through the network and of which `loss` was not played."""
    return mos_from_r(r_factor(mouth_to_ear_ns(network_delay_ns, playout_ns=playout_ns), loss))
