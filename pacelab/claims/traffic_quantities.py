"""Numbers of transfers, of voice calls and of the data beside them, for the claims of [lee] and [vagp].

A transfer's rate is its size divided by its duration. A transfer that has not ended when the run ends, or has no size,
has the goodput of the run. Source: [lee] Sec. 4.2 and 5.2.

MOS of a run is the mean over its calls of the mean of both directions, which the paper's tables average. Over an
interval of the time series it is the mean of the MOS per second. Data flows are all flows except calls. "Sent" counts
every segment that a sender passed to the network, retransmissions included: the paper's throughput by its footnote 3.
Under VAGP the gateway retransmits, and the paper's Fig. 8 fits what the gateway sent into the air: "throughput".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from pacelab.options.voice import ACCEPTABLE_MOS
from pacelab.results.air_types import FlowSeries
from pacelab.results.metrics import jain, jain_per_hop, log_utility
from pacelab.results.results import RunResult
from pacelab.results.types import FlowResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Aspect:
    """The part of a run that a quantity measures. None means the whole run."""

    flow: int | None = None
    node: str | None = None
    link: tuple[str, str] | None = None
    between_s: tuple[float, float] | None = None


Quantity = Callable[[RunResult, Aspect], float | None]


def flows_of(result: RunResult, aspect: Aspect) -> list[FlowResult]:
    """The flows of run.json that the aspect selects."""
    return [flow for flow in result.run["flows"] if aspect.flow in (None, flow["id"])]


KBPS = 1e-3
PACKET_BITS = 12_000
"""Bits of a packet of 1500 bytes, with which Table 5.1 converts a delay to a rate. Source: [lee] Table 5.1."""


def transfer_kbps(result: RunResult, aspect: Aspect) -> float:
    """Rate of a flow, or the mean of the flows' rates."""
    return KBPS * _mean_of(_rates_bps(result, aspect))


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
    """Sum of the natural logarithms of the flows' rates in bit/s; 0 if a flow got nothing."""
    return log_utility(_rates_bps(result, aspect))


def pace_delay_s(result: RunResult, _aspect: Aspect) -> float | None:
    """Mean n-hop delay of the paced senders, without the COV_RTT term; None if no sender paces by round-trip times."""
    points = [point["counters"] for point in result.run["hooks"]["points"]]
    samples = sum(counters.get("rtt_samples", 0) for counters in points)
    return sum(counters.get("n_hop_delay_us", 0) for counters in points) / samples * 1e-6 if samples else None


def rate_estimate_kbps(result: RunResult, aspect: Aspect) -> float:
    """The value that Table 5.1 compares: one packet per n-hop delay if the run is paced, else the flows' mean rate."""
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


def _mean_of(values: list[float]) -> float:
    return math.fsum(values) / len(values)


MS = 1e3
BITS = 8


def mos_mean(result: RunResult, aspect: Aspect) -> float | None:
    """Mean MOS of the calls."""
    if aspect.between_s is None:
        found: float | None = result.run["totals"]["mos_mean"]
        return found
    return _mean([score for flow in _voice_series(result) for score in _inside(result, aspect, flow["mos"])])


def mos_least_second(result: RunResult, aspect: Aspect) -> float | None:
    """Mean MOS over all directions of all calls in the worst second, within the interval if one is given."""
    columns = [_inside(result, aspect, flow["mos"], gaps=True) for flow in _voice_series(result)]
    seconds = [_mean([score for score in scores if score is not None]) for scores in zip(*columns, strict=True)]
    return min((score for score in seconds if score is not None), default=None)


def calls_below(result: RunResult, _aspect: Aspect) -> float:
    """Calls whose worse direction has a MOS below 3.6."""
    totals = result.run["totals"]
    return float(totals["calls"] - totals["calls_acceptable"])


def voice_delay_ms(result: RunResult, aspect: Aspect) -> float | None:
    """Mean network delay of voice packets."""
    if aspect.between_s is None:
        delays = [call["delay_mean_s"] for call in result.run["calls"]]
    else:
        delays = [delay for flow in _voice_series(result) for delay in _inside(result, aspect, flow["delay_s"])]
    mean_s = _mean([delay for delay in delays if delay is not None])
    return None if mean_s is None else MS * mean_s


def voice_loss(result: RunResult, _aspect: Aspect) -> float | None:
    """Share of voice packets that were lost or late and so not played."""
    calls = result.run["calls"]
    return _mean([call["loss"] + (call["late"] or 0.0) for call in calls if call["loss"] is not None])


def data_kbps(result: RunResult, aspect: Aspect) -> float:
    """Goodput of the data flows, or of one; over an interval of the time series if one is given."""
    flows = _data(result, aspect)
    if aspect.between_s is None:
        return KBPS * math.fsum(flow["goodput_bps"] for flow in flows)
    numbers = {flow["id"] for flow in flows}
    series = [_inside(result, aspect, s["goodput_bps"]) for s in result.series["flows"] if s["id"] in numbers]
    return KBPS * math.fsum(_mean(rates) or 0.0 for rates in series)


def data_sent_kbps(result: RunResult, aspect: Aspect) -> float:
    """What the senders of the data flows sent, retransmissions included."""
    config = result.run["config"]
    measured_s = float(result.run["totals"]["end_s"] - config["warmup_s"])
    sent_pkts = sum(int(flow["sent_pkts"]) for flow in _data(result, aspect))
    return KBPS * BITS * int(config["payload_bytes"]) * sent_pkts / measured_s


def data_throughput_kbps(result: RunResult, _aspect: Aspect) -> float:
    """What gateways passed to the air for all data flows, including their own retransmissions but not those
    of the MAC.
    """
    names = {result.run["topology"]["nodes"][index]["name"] for index in result.run["topology"]["gateways"]}
    links = [link for link in result.run["links"] or () if link["class"] == "tcp-data" and link["from"] in names]
    sent_pkts = sum(link["delivered"] + link["drops_data"] + link["drops_rts"] for link in links)
    config = result.run["config"]
    measured_s = float(result.run["totals"]["end_s"] - config["warmup_s"])
    return KBPS * BITS * int(config["payload_bytes"]) * sent_pkts / measured_s


def data_air_utilization(result: RunResult, aspect: Aspect) -> float | None:
    """Goodput over what the gateways passed to the air."""
    handed = data_throughput_kbps(result, aspect)
    return data_kbps(result, aspect) / handed if handed else None


def data_utilization(result: RunResult, aspect: Aspect) -> float | None:
    """Goodput over what was sent: the paper's utilization, 1 without retransmissions."""
    sent = data_sent_kbps(result, aspect)
    return data_kbps(result, aspect) / sent if sent else None


def data_share(result: RunResult, aspect: Aspect) -> float | None:
    """Share of one flow in the goodput of all data flows."""
    total = data_kbps(result, Aspect())
    return data_kbps(result, aspect) / total if total else None


def data_fairness(result: RunResult, aspect: Aspect) -> float | None:
    """Jain's index of the data flows' goodputs."""
    return jain([flow["goodput_bps"] for flow in _data(result, aspect)])


def data_rtt_ms(result: RunResult, aspect: Aspect) -> float | None:
    """Mean round-trip time that the senders measured; mean over the data flows."""
    mean_s = _mean([flow["rtt_mean_s"] for flow in _data(result, aspect) if flow["rtt_mean_s"] is not None])
    return None if mean_s is None else MS * mean_s


def data_rtt_sd_ms(result: RunResult, aspect: Aspect) -> float | None:
    """Standard deviation of the round-trip times of a flow; mean over the data flows."""
    mean_s = _mean([flow["rtt_sd_s"] for flow in _data(result, aspect) if flow["rtt_sd_s"] is not None])
    return None if mean_s is None else MS * mean_s


def protected_data_kbps(result: RunResult, aspect: Aspect) -> float:
    """Goodput of the data flows if the calls' mean MOS is 3.6 or better, else 0."""
    quality = result.run["totals"]["mos_mean"]
    return data_kbps(result, aspect) if quality is None or quality >= ACCEPTABLE_MOS else 0.0


def e_model_delay_ms(_result: RunResult, _aspect: Aspect) -> float:
    """Largest total network delay in ms at which the E-model gives 3.6 without loss."""
    return _longest_delay_ms(0.0)


def e_model_delay_at_2_percent_ms(_result: RunResult, _aspect: Aspect) -> float:
    """The same delay with 2 % of the packets not played."""
    return _longest_delay_ms(0.02)


def e_model_best(_result: RunResult, _aspect: Aspect) -> float:
    """The E-model's MOS without network delay and without loss."""
    from pacelab_pacer.core.vagp.e_model import mos

    return mos(network_delay_ns=0, loss=0.0)


VOICE_QUANTITIES: tuple[Quantity, ...] = (
    *(mos_mean, mos_least_second, calls_below, voice_delay_ms, voice_loss),
    *(data_kbps, data_sent_kbps, data_throughput_kbps, data_utilization, data_air_utilization),
    *(data_share, data_fairness, data_rtt_ms, data_rtt_sd_ms),
    *(protected_data_kbps, e_model_delay_ms, e_model_delay_at_2_percent_ms, e_model_best),
)

_ROUNDED = 0.01
"""The paper reads MOS from a figure: 3.59 is its 3.6."""


def _longest_delay_ms(loss: float) -> float:
    from pacelab.units import NS_PER_MS
    from pacelab_pacer.core.vagp.e_model import mos

    delays = range(1000)
    return float(
        max(ms for ms in delays if mos(network_delay_ns=ms * NS_PER_MS, loss=loss) >= ACCEPTABLE_MOS - _ROUNDED)
    )


def _data(result: RunResult, aspect: Aspect) -> list[FlowResult]:
    return [flow for flow in flows_of(result, aspect) if flow["voice"] is None]


def _voice_series(result: RunResult) -> list[FlowSeries]:
    return [flow for flow in result.series["flows"] if "mos" in flow]


def _inside(result: RunResult, aspect: Aspect, values: list[Any], *, gaps: bool = False) -> list[Any]:
    low_s, high_s = aspect.between_s or (-math.inf, math.inf)
    kept = [value for end_s, value in zip(result.series["t_s"], values, strict=True) if low_s < end_s <= high_s]
    return kept if gaps else [value for value in kept if value is not None]


def _mean(values: list[Any]) -> float | None:
    return math.fsum(values) / len(values) if values else None
