"""The adaptive pace of one flow: from wireless round trips to the time between two packets, by `equations`.

Before the first sample T is the same expression for an idle path: t_q = 0, COV = 0. That T is the lower bound of every
later one and needs no parameter. It delays a fresh flow by a few milliseconds and cannot stall it. A pacer that starts
in mid-flow does not pass a whole window as one burst. While routing knows no path, T is 0: unpaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Protocol

from pacelab.domains import Whole
from pacelab.units import NS_PER_S
from pacelab_pacer.core.checks import AT_LEAST_0, AT_LEAST_1, NOT_NEGATIVE, SHARE_BELOW_1, check_fields
from pacelab_pacer.core.tcp_gap import equations
from pacelab_pacer.core.tcp_gap.equations import COV_WEIGHT, Path


class Estimator(Protocol):
    """Turns the wireless round trips of one flow into its pace.

    This is all that the hooks know of an estimator. `PaceEstimator` is the papers'; a student's class can replace it.
    """

    interval_ns: int
    """T, the time from one release to the next; 0: unpaced."""
    rtt_wireless_ns: int | None
    """The newest sample; None before the first one."""
    n_hop_delay_ns: float | None
    """Its delay over n hops, where it estimates one; counted for the result alone."""

    def expect(self, *, data_bytes: int, path_rates_bps: tuple[int, ...]) -> None:
        """A packet is about to leave, and there is no sample yet."""

    def sample(
        self, now_ns: int, rtt_wireless_ns: int, *, data_bytes: int, ack_bytes: int, path_rates_bps: tuple[int, ...]
    ) -> bool:
        """Use one round trip that ended now; False if it is unusable."""


class Pace(Protocol):
    """Makes the estimator of a new flow."""

    def estimator(self) -> Estimator:
        """A new estimator."""


DEFAULT_SAMPLES = 50
"""N of eq. (5), which the paper does not give; 50 is that of the authors' ns-2 code of TCP-AP (`history_`). With an ACK
per segment at 20-50 packets/s that is a memory of one to three seconds: long against a round trip (or the variation due
to contention would not show), short against a route's life; and the relative error of a standard deviation from N
samples, 1/sqrt(2N), is 10 %."""


class Spread(Enum):
    """What is used for COV_RTT in eq. (1)."""

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
    """The weight of COV_RTT, at least 0."""
    min_timeout_ns: int = NS_PER_S // 5
    """A shorter round trip never counts as a wait for a route; the least RTO of ns-2 and of Linux."""
    max_interval_ns: int = NS_PER_S
    """Longest time between two packets. One route change can give an RTT of seconds; without a bound the pace would
    then admit too few packets to learn that the path has recovered."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            hops=AT_LEAST_1,
            one_hop_below=AT_LEAST_0,
            smoothing=SHARE_BELOW_1,
            cov_samples=Whole(2),
            cov_weight=NOT_NEGATIVE,
            min_timeout_ns=AT_LEAST_1,
            max_interval_ns=AT_LEAST_1,
        )

    def estimator(self) -> PaceEstimator:
        """The estimator of a new flow."""
        return PaceEstimator(self)


NS2_CODE = PaceConfig(one_hop_below=4, spread=Spread.DELAY)
"""The pace of the ns-2 code of TCP-AP (`tcp-ap.cc`, University of Dortmund, 2005) by TCP-GAP's authors, where that
differs from what they printed; see docs/tcp-gap.md."""


AS_EVALUATED = PaceConfig(spread=Spread.DELAY)
"""The printed h-hop delay (Sec. 5.2) with the spread of that code: the reading that meets Fig. 8 (docs/tcp-gap.md)."""

READINGS: Mapping[str, PaceConfig] = MappingProxyType(
    {"printed": PaceConfig(), "code": NS2_CODE, "evaluated": AS_EVALUATED}
)
"""Name -> the pace by the paper, by the code, or by what the paper's evaluation shows."""


class RoundTripTimeout:
    """Finds round trips that are no samples of the path: those on which TCP would have timed out.

    While routing searches for a route, packets wait, and their round trips last seconds. Eq. (3) would take that wait
    for queueing at every node. A TCP that paces its own output never sees such a sample: its timer expires first, and
    Karn's rule discards what was sent again. A pacer outside TCP applies the same timer to its own round trips.

    Invariants
    1. A round trip within RTO = SRTT + 4 RTTVAR (at least `min_timeout_ns`) is never late.
    2. All segments released before the first late ACK arrived are one flight. Each late flight doubles the bound for
       segments released later, so that a path that has become slow is accepted after a few round trips.

    Source: RFC 6298 Sec. 2, 3 (Karn) and 5.5 (doubling); the ns-2 code of TCP-AP by TCP-GAP's authors leaves out
    samples whose n-hop delay is beyond 0.5 s (`delaybound_`).
    """

    __slots__ = ("_bound_factor", "_flight_until_ns", "_min_timeout_ns", "_srtt_ns", "_variance_ns")

    def __init__(self, min_timeout_ns: int) -> None:
        self._min_timeout_ns = min_timeout_ns
        self._srtt_ns: float | None = None
        self._variance_ns = 0.0
        self._bound_factor = 1
        self._flight_until_ns: int | None = None

    def is_late(self, now_ns: int, rtt_ns: int) -> bool:
        """Whether a round trip that ended now exceeds the bound. One that does not changes the bound."""
        srtt = self._srtt_ns
        if srtt is None:
            self._srtt_ns, self._variance_ns = float(rtt_ns), rtt_ns / 2
            return False
        timeout_ns = max(srtt + 4 * self._variance_ns, float(self._min_timeout_ns))
        if rtt_ns > timeout_ns:
            if self._flight_until_ns is not None and now_ns - rtt_ns <= self._flight_until_ns:
                return True
            if rtt_ns > timeout_ns * self._bound_factor:
                self._bound_factor *= 2
                self._flight_until_ns = now_ns
                return True
        self._bound_factor = 1
        self._flight_until_ns = None
        self._variance_ns += (abs(srtt - rtt_ns) - self._variance_ns) / 4
        self._srtt_ns = srtt + (rtt_ns - srtt) / 8
        return False


class PaceEstimator:
    """Turns the wireless round trips of one flow into its pace.

    Source: [tcp-gap] Sec. 4.1 Eq. (1), (2), Sec. 4.2 Eq. (3)-(5).
    Deviates: T is bounded by `max_interval_ns`; packet sizes are those of IP packets, of the very data segment and ACK
    that were measured. As long as there are fewer than N samples, eq. (5) uses their number. Round trips that waited
    for a route are left out (`RoundTripTimeout`): one of two seconds would mean a T of a second for the next N samples,
    that is for half a minute.
    """

    __slots__ = (
        "_by_rtt",
        "_config",
        "_cov_weight",
        "_max_interval_ns",
        "_next",
        "_path",
        "_rates_bps",
        "_samples",
        "_smoothing",
        "_sum",
        "_sum_squares",
        "_timeout",
        "cov",
        "interval_ns",
        "n_hop_delay_ns",
        "rtt_wireless_ns",
    )

    def __init__(self, config: PaceConfig) -> None:
        self._config = config
        self._timeout = RoundTripTimeout(config.min_timeout_ns)
        self._rates_bps: tuple[int, ...] = ()
        self._path: Path | None = None
        """The path of these rates."""
        # Copies of settings that are read at every ACK.
        self._by_rtt = config.spread is Spread.RTT
        self._smoothing, self._cov_weight = config.smoothing, config.cov_weight
        self._max_interval_ns = config.max_interval_ns
        self._samples: list[int] = []
        self._next = 0
        """Where the next sample goes once N are there: in the place of the oldest."""
        # Exact integers, so that taking a sample out undoes exactly what putting it in did: no drift, however long.
        self._sum = self._sum_squares = 0
        self.cov = 0.0
        """COV_RTT of the samples so far, or what is used in its place."""
        self.interval_ns = 0
        """T, the time from one release to the next."""
        self.n_hop_delay_ns: float | None = None
        """FHD_hat; None before the first sample."""
        self.rtt_wireless_ns: int | None = None
        """The newest sample."""

    def expect(self, *, data_bytes: int, path_rates_bps: tuple[int, ...]) -> None:
        """A packet is about to leave: as long as there is no sample, set the pace of an idle path."""
        if self.n_hop_delay_ns is None:
            if path_rates_bps != self._rates_bps:
                self._follow(path_rates_bps)
            idle_ns = 0.0 if self._path is None else equations.n_hop_delay_ns(self._path, 0.0, data_bytes)
            self.interval_ns = min(round(idle_ns), self._max_interval_ns)

    def sample(
        self, now_ns: int, rtt_wireless_ns: int, *, data_bytes: int, ack_bytes: int, path_rates_bps: tuple[int, ...]
    ) -> bool:
        """Use one round trip that ended now; False if unusable (not positive, no path known yet, or late)."""
        if path_rates_bps != self._rates_bps:
            self._follow(path_rates_bps)
        path = self._path
        if rtt_wireless_ns <= 0 or path is None or self._timeout.is_late(now_ns, rtt_wireless_ns):
            return False
        self.rtt_wireless_ns = rtt_wireless_ns
        waiting_ns = equations.queueing_ns(path, rtt_wireless_ns, data_bytes, ack_bytes)
        delay_ns = equations.n_hop_delay_ns(path, waiting_ns, data_bytes)
        self.n_hop_delay_ns = smoothed_ns = equations.smoothed_ns(self.n_hop_delay_ns, delay_ns, self._smoothing)
        samples = self._samples
        sample = rtt_wireless_ns if self._by_rtt else round(delay_ns)
        if len(samples) < self._config.cov_samples:
            samples.append(sample)
        else:
            oldest, samples[self._next] = samples[self._next], sample
            self._next = (self._next + 1) % len(samples)
            self._sum -= oldest
            self._sum_squares -= oldest * oldest
        self._sum += sample
        self._sum_squares += sample * sample
        if self._by_rtt:
            self.cov = equations.variation(len(samples), self._sum, self._sum_squares)
        else:
            self.cov = equations.mean_deviation(samples)
        interval_ns = equations.interval_ns(smoothed_ns, self.cov, self._cov_weight)
        self.interval_ns = min(round(interval_ns), self._max_interval_ns)
        return True

    def _follow(self, rates_bps: tuple[int, ...]) -> None:
        """Switch to the path of these rates; keep the last path while routing knows none, or a rate is not positive."""
        if rates_bps and min(rates_bps) > 0:
            config = self._config
            hops = 1 if len(rates_bps) < config.one_hop_below else config.hops
            self._rates_bps = rates_bps
            self._path = equations.path_of(rates_bps, ahead_hops=hops, limit_to_path=config.limit_to_path)
