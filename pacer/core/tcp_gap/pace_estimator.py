"""The adaptive pace of one flow: from wireless round trips to the time between two packets.

    R = 1 / (FHD_hat (1 + 2 COV_RTT))                       (1)   packets/s; T = 1/R is what the pacer needs
    FHD_hat = alpha FHD_hat_old + (1 - alpha) FHD           (2)   alpha = 0.7

Before the first sample T is the same expression for an idle path: t_q = 0, COV = 0. It is the lower bound of every
later T, needs no parameter of its own, costs a fresh flow a few milliseconds and cannot stall it; an observer that
starts in mid-flow is kept from passing a whole window as one burst. While routing knows no path T is 0: unpaced.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pacelab.pacer.core.checks import require
from pacelab.pacer.core.tcp_gap.round_trip_timeout import RoundTripTimeout
from pacelab.pacer.core.tcp_gap.variation import DEFAULT_SAMPLES, CoefficientOfVariation, MeanDeviation
from pacelab.pacer.core.tcp_gap.wireless_path import WirelessPath, usable_path
from pacelab.units import NS_PER_S

COV_WEIGHT = 2.0
"""The factor of COV_RTT in eq. (1), as printed."""


class Spread(Enum):
    """What stands in for COV_RTT in eq. (1)."""

    RTT = "coefficient of variation of RTT_wireless"
    DELAY = "mean absolute deviation of the n-hop delay over its mean"


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceConfig:
    """How the pace follows from round trips. Raises ValueError on a value out of range."""

    hops: int = 4
    """n of the n-hop delay; 4 is where a node no longer disturbs its successor's transmission. Lee's out-of-
    interference delay of carrier-sense range H_cs hops is hops = H_cs + 1."""
    limit_to_path: bool = True
    """On a path of h < n hops use the h-hop delay (TCP-GAP); otherwise extrapolate to n (TCP-AP as Lee ran it)."""
    one_hop_below: int = 0
    """On a path of fewer hops than this T follows from the one-hop delay. As printed there is no such path."""
    smoothing: float = 0.7
    """alpha of eq. (2), 0 <= alpha < 1."""
    spread: Spread = Spread.RTT
    """As printed, eq. (5)."""
    cov_samples: int = DEFAULT_SAMPLES
    """N of eq. (5), at least 2."""
    cov_weight: float = COV_WEIGHT
    """What COV_RTT counts for, at least 0."""
    min_timeout_ns: int = NS_PER_S // 5
    """A shorter round trip is never taken for a wait for a route; the least RTO of ns-2 and of Linux."""
    max_interval_ns: int = NS_PER_S
    """Longest time between two packets. One route change can give an RTT of seconds; without a bound the pace would
    then admit too few packets to learn that the path is well again."""

    def __post_init__(self) -> None:
        require(self.hops >= 1, "hops", self.hops, "an integer of at least 1")
        require(self.one_hop_below >= 0, "one_hop_below", self.one_hop_below, "an integer of at least 0")
        require(0 <= self.smoothing < 1, "smoothing", self.smoothing, "0 <= smoothing < 1")
        require(self.cov_samples >= 2, "cov_samples", self.cov_samples, "an integer of at least 2")
        require(self.cov_weight >= 0, "cov_weight", self.cov_weight, "a number of at least 0")
        require(self.min_timeout_ns > 0, "min_timeout_ns", self.min_timeout_ns, "a positive number of ns")
        require(self.max_interval_ns > 0, "max_interval_ns", self.max_interval_ns, "a positive number of ns")

    def estimator(self) -> PaceEstimator:
        """The estimator of a new flow."""
        return PaceEstimator(self)


NS2_CODE = PaceConfig(one_hop_below=4, spread=Spread.DELAY)
"""The pace of the ns-2 code of TCP-AP (`tcp-ap.cc`, University of Dortmund, 2005) by TCP-GAP's authors, where that
differs from what they printed; see docs/tcp-gap.md."""


class PaceEstimator:
    """Turns the wireless round trips of one flow into its pace.

    Source: [tcp-gap] Sec. 4.1 Eq. (1), (2), Sec. 4.2 Eq. (3)-(5).
    Deviates: the first sample starts the average of eq. (2); T is bounded by `max_interval_ns`; packet sizes are those
    of IP packets, of the very data segment and ACK that were measured.
    Deviates: round trips that waited for a route are left out (`round_trip_timeout`). One of two seconds would mean a T
    of a second that lasts for N samples, that is for half a minute.
    """

    __slots__ = ("_config", "_path", "_timeout", "_variation", "interval_ns", "n_hop_delay_ns", "rtt_wireless_ns")

    def __init__(self, config: PaceConfig) -> None:
        self._config = config
        self._timeout = RoundTripTimeout(config.min_timeout_ns)
        self._path: WirelessPath | None = None
        kind = CoefficientOfVariation if config.spread is Spread.RTT else MeanDeviation
        self._variation: CoefficientOfVariation | MeanDeviation = kind(config.cov_samples)
        self.interval_ns = 0
        """T, the time from one release to the next."""
        self.n_hop_delay_ns: float | None = None
        """FHD_hat; None before the first sample."""
        self.rtt_wireless_ns: int | None = None
        """The newest sample."""

    def expect(self, *, data_bytes: int, path_rates_bps: tuple[int, ...]) -> None:
        """A packet is about to go: as long as there is no sample, set the pace of an idle path."""
        if self.n_hop_delay_ns is None:
            path = self._route(path_rates_bps)
            self._set_interval(0.0 if path is None else path.delay_ns(0.0, data_bytes=data_bytes))

    def sample(
        self, now_ns: int, rtt_wireless_ns: int, *, data_bytes: int, ack_bytes: int, path_rates_bps: tuple[int, ...]
    ) -> bool:
        """Take in one round trip that ended now; False if unusable (not positive, no path known yet, or late)."""
        path = self._route(path_rates_bps)
        if rtt_wireless_ns <= 0 or path is None or self._timeout.is_late(now_ns, rtt_wireless_ns):
            return False
        self.rtt_wireless_ns = rtt_wireless_ns
        queueing_ns = path.queueing_ns(rtt_wireless_ns, data_bytes=data_bytes, ack_bytes=ack_bytes)
        delay_ns = path.delay_ns(queueing_ns, data_bytes=data_bytes)
        old = self.n_hop_delay_ns
        alpha = self._config.smoothing
        self.n_hop_delay_ns = delay_ns if old is None else alpha * old + (1 - alpha) * delay_ns
        self._variation.add(rtt_wireless_ns if self._config.spread is Spread.RTT else round(delay_ns))
        self._set_interval(self.n_hop_delay_ns * (1 + self._config.cov_weight * self._variation.value()))
        return True

    @property
    def cov(self) -> float:
        """COV_RTT of the samples so far, or what stands in for it."""
        return self._variation.value()

    def _set_interval(self, interval_ns: float) -> None:
        self.interval_ns = min(round(interval_ns), self._config.max_interval_ns)

    def _route(self, rates_bps: tuple[int, ...]) -> WirelessPath | None:
        """The path of these rates; the last known one while routing knows none."""
        known = self._path
        if (known is None or known.rates_bps != rates_bps) and usable_path(rates_bps):
            config = self._config
            hops = 1 if len(rates_bps) < config.one_hop_below else config.hops
            self._path = WirelessPath(rates_bps, hops=hops, limit_to_path=config.limit_to_path)
        return self._path
