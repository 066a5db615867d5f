"""Tells round trips over the path from waits for a route: what TCP would have timed out on is no sample.

While routing looks for a route it holds packets back, and their round trips last seconds. Eq. (3) would take that for
queueing at every node. A TCP that paces its own output never sees such a sample: its timer expires first, and Karn's
rule discards what was sent again. A pacer outside TCP applies the same timer to its own round trips.

Invariants
1. A round trip within RTO = SRTT + 4 RTTVAR (at least `min_timeout_ns`) is never late.
2. All that was released before the first late ACK came is one flight. Each late flight doubles the bound for those
   released later, so that a path that has become slow is believed after a few round trips.

Source: RFC 6298 Sec. 2, 3 (Karn) and 5.5 (doubling); the ns-2 code of TCP-AP by TCP-GAP's authors leaves out samples
whose n-hop delay is beyond 0.5 s (`delaybound_`).
"""

from __future__ import annotations


class RoundTripTimeout:
    """SRTT, RTTVAR and the bound that follows from them, for one flow."""

    __slots__ = ("_bound_factor", "_flight_until_ns", "_min_timeout_ns", "_srtt_ns", "_variance_ns")

    def __init__(self, min_timeout_ns: int) -> None:
        self._min_timeout_ns = min_timeout_ns
        self._srtt_ns: float | None = None
        self._variance_ns = 0.0
        self._bound_factor = 1
        self._flight_until_ns: int | None = None

    def is_late(self, now_ns: int, rtt_ns: int) -> bool:
        """Whether a round trip that ended now is beyond the bound; one that is not moves the bound."""
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
