"""How much recent samples vary: TCP-GAP's measure of contention, as printed and as in its authors' code."""

from __future__ import annotations

from collections import deque
from math import sqrt

from pacelab.pacer.core.checks import require

DEFAULT_SAMPLES = 50
"""N of eq. (5), which the paper does not give; 50 is that of the authors' ns-2 code of TCP-AP (`history_`). With an ACK
per segment at 20-50 packets/s that is a memory of one to three seconds: long against a round trip (or the variation due
to contention would not show), short against a route's life; and the relative error of a standard deviation from N
samples, 1/sqrt(2N), is 10 %."""


class CoefficientOfVariation:
    """Sample standard deviation (N-1) over mean, of the last N integer samples.

    The sums of samples and of their squares are exact integers, so that taking a sample out undoes exactly what
    putting it in did: no drift, no cancellation, however long the flow. Python integers do not overflow.

    Source: [tcp-gap] Sec. 4.2 Eq. (5).
    Deviates: while fewer than N samples are there, those there are make N; 0 below two samples.
    """

    __slots__ = ("_samples", "_sum", "_sum_squares")

    def __init__(self, samples: int = DEFAULT_SAMPLES) -> None:
        """`samples` is N, at least 2. Raises ValueError."""
        require(samples >= 2, "samples", samples, "an integer of at least 2")
        self._samples: deque[int] = deque(maxlen=samples)
        self._sum = 0
        self._sum_squares = 0

    def add(self, sample: int) -> None:
        """Take in a sample; the oldest leaves when N are there."""
        samples = self._samples
        if len(samples) == samples.maxlen:
            oldest = samples[0]
            self._sum -= oldest
            self._sum_squares -= oldest * oldest
        samples.append(sample)
        self._sum += sample
        self._sum_squares += sample * sample

    def value(self) -> float:
        """The coefficient, at least 0; no unit."""
        count = len(self._samples)
        if count < 2 or self._sum <= 0:
            return 0.0
        # sum of squared deviations = (n S2 - S1^2) / n; standard deviation / mean = sqrt(that / (n-1)) / (S1 / n)
        scatter = count * self._sum_squares - self._sum * self._sum
        return sqrt(scatter * count / (count - 1)) / self._sum


class MeanDeviation:
    """Mean absolute deviation over mean, of the last N samples: about 0.8 of the coefficient for normal samples.

    Source: the ns-2 code of TCP-AP by TCP-GAP's authors (`adev_`), there of the n-hop delay: "to avoid computing the
    sqrt".
    """

    __slots__ = ("_samples",)

    def __init__(self, samples: int = DEFAULT_SAMPLES) -> None:
        """`samples` is N, at least 2. Raises ValueError."""
        require(samples >= 2, "samples", samples, "an integer of at least 2")
        self._samples: deque[int] = deque(maxlen=samples)

    def add(self, sample: int) -> None:
        """Take in a sample; the oldest leaves when N are there."""
        self._samples.append(sample)

    def value(self) -> float:
        """The relative deviation, at least 0; no unit."""
        samples = self._samples
        count, total = len(samples), sum(samples)
        if count < 2 or total <= 0:
            return 0.0
        # integers: sum |n x - total| / n is the sum of absolute deviations
        return sum(abs(count * sample - total) for sample in samples) / (count * total)
