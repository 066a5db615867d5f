"""Numbers of transfers of a given size, as Lee's testbed measures them.

A flow's rate is its size over the time that the transfer took; what is not over when the run ends, or has no size, has
the goodput of the run. Source: [lee] Sec. 4.2 and 5.2.
"""

from __future__ import annotations

import math
from statistics import median

from pacelab.claims.aspect import Aspect, Quantity, flows_of
from pacelab.results.metrics import jain, jain_per_hop, log_utility
from pacelab.results.results import RunResult
from pacelab.results.types import FlowResult

KBPS = 1e-3
PACKET_BITS = 12_000
"""Of 1500 bytes: with it Table 5.1 makes a rate of a delay. Source: [lee] Table 5.1."""


def transfer_kbps(result: RunResult, aspect: Aspect) -> float:
    """Rate of a flow, or the mean of the flows' rates."""
    return KBPS * _mean(_rates_bps(result, aspect))


def transfer_median_kbps(result: RunResult, aspect: Aspect) -> float:
    """Median of the flows' rates."""
    return KBPS * median(_rates_bps(result, aspect))


def transfer_least_kbps(result: RunResult, aspect: Aspect) -> float:
    """Rate of the slowest flow."""
    return KBPS * min(_rates_bps(result, aspect))


def transfer_fairness(result: RunResult, aspect: Aspect) -> float | None:
    """Jain's index of the flows' rates."""
    return jain(_rates_bps(result, aspect))


def transfer_fairness_per_hop(result: RunResult, aspect: Aspect) -> float | None:
    """Jain's index of rate over hops: Lee's index for paths of unequal length."""
    return jain_per_hop(_rates_bps(result, aspect), [flow["hops"] for flow in flows_of(result, aspect)])


def transfer_log_utility(result: RunResult, aspect: Aspect) -> float:
    """Sum of the natural logarithms of the flows' rates in bit/s; 0 when one of them got nothing."""
    return log_utility(_rates_bps(result, aspect))


def pace_delay_s(result: RunResult, _aspect: Aspect) -> float | None:
    """Mean n-hop delay of the paced senders, COV_RTT not counted; None where nothing was paced by round trips."""
    points = [point["counters"] for point in result.run["hooks"]["points"]]
    samples = sum(counters.get("rtt_samples", 0) for counters in points)
    return sum(counters.get("n_hop_delay_us", 0) for counters in points) / samples * 1e-6 if samples else None


def rate_estimate_kbps(result: RunResult, aspect: Aspect) -> float:
    """What Table 5.1 compares: a packet per n-hop delay where a run is paced, else the flows' mean rate."""
    delay_s = pace_delay_s(result, aspect)
    return transfer_kbps(result, aspect) if delay_s is None else KBPS * PACKET_BITS / delay_s


TRANSFER_QUANTITIES: tuple[Quantity, ...] = (
    *(transfer_kbps, transfer_median_kbps, transfer_least_kbps, transfer_log_utility),
    *(transfer_fairness, transfer_fairness_per_hop, pace_delay_s, rate_estimate_kbps),
)


def _rates_bps(result: RunResult, aspect: Aspect) -> list[float]:
    return [_rate_bps(flow) for flow in flows_of(result, aspect)]


def _rate_bps(flow: FlowResult) -> float:
    return float(flow["goodput_bps"] if flow["transfer_bps"] is None else flow["transfer_bps"])


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)
