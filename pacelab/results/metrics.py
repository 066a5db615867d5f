"""Figures of merit: fairness, utility, utilization, loss, distributions, and 95 % intervals.

All of them read only results (run.json), from any back end. Rates are in bit/s, probabilities and shares from 0 to 1. A
figure that is not defined is None.

They use `math.fsum`, because Python's own `sum` of floats differs between versions and results must not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pacelab.domains import plain
from pacelab.options.arguments import checked
from pacelab.results.student_t import t_quantile

LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean with the half width of its confidence interval (level `LEVEL`); None with fewer than two samples."""

    mean: float
    half_width: float | None
    samples: tuple[float, ...]


def _rates(value: Any) -> list[float]:
    """Check that these are finite numbers of at least 0."""
    found: list[Any] = [plain(rate) for rate in value] if isinstance(value, Iterable) else [None]
    if not all(isinstance(rate, int | float) and 0 <= rate < math.inf for rate in found):
        raise ValueError("a list of finite numbers, 0 or more")
    return found


@checked(rates=_rates)
def jain(rates: Sequence[float]) -> float | None:
    """Jain's fairness index of the flows' rates: 1/n (one flow has all) .. 1 (equal); None if all are zero.

    ConfigError for a value that is not a rate.

    Source: Jain, Chiu, Hawe, DEC-TR-301 (1984), eq. (1).
    """
    total = math.fsum(rates)
    squares = math.fsum(rate * rate for rate in rates)
    return total * total / (len(rates) * squares) if squares > 0 else None


def jain_times_hops(rates: Sequence[float], hops: Sequence[int]) -> float | None:
    """Jain's index of x_i = goodput_i * h_i, in bit/s times hops: 1 when flows take equal shares of the air.

    A packet of a flow of h_i wireless hops is sent h_i times, so x_i is what the flow costs the air.
    """
    return jain([rate * count for rate, count in zip(rates, hops, strict=True)])


def jain_per_hop(rates: Sequence[float], hops: Sequence[int]) -> float | None:
    """Jain's index of x_i = goodput_i / h_i, in bit/s per hop; None if a flow has no wireless hop.

    It is 1 if the longer flow has proportionally more goodput, which asks more for the longer flow than equal goodput
    does.

    Source: [lee] Sec. 5.3: "we divide the average goodput of a flow by the number of hops in that flow's path".
    """
    if not all(hops):
        return None
    return jain([rate / count for rate, count in zip(rates, hops, strict=True)])


def log_utility(rates: Sequence[float]) -> float:
    """Sum over the flows of ln(g_i / 1 bit/s), natural logarithm; 0 if any flow has no goodput.

    In another unit every flow adds a constant (kbit/s: 6.908 less each), so compare only equal numbers of flows.

    Source: [lee] Sec. 4.2, which states neither unit nor base.
    """
    return math.fsum(math.log(rate) for rate in rates) if all(rate > 0 for rate in rates) else 0.0


def group_goodputs(run: Mapping[str, Any]) -> list[float]:
    """Goodput in bit/s of each flow of the topology except calls. All HTTP-like transfers of one user count as one
    flow.
    """
    groups: dict[int, list[float]] = {}
    for flow in run["flows"]:
        if flow.get("kind") == "voice":
            continue
        groups.setdefault(flow.get("group", flow["id"]), []).append(flow["goodput_bps"])
    return [math.fsum(groups[group]) for group in sorted(groups)]


def airtime_shares(run: Mapping[str, Any]) -> dict[str, float]:
    """Name of a wireless node -> share of the measured time in which it transmits anything (RTS, CTS, data, ACK)."""
    measured_s = measured(run)
    return {node["name"]: node["airtime_s"] / measured_s for node in run["nodes"]}


def measured(run: Mapping[str, Any]) -> float:
    """Length of the measured interval in seconds: from the end of the warm-up to the end."""
    return float(run["totals"]["end_s"] - run["config"]["warmup_s"])


def ratio(part: float, whole: float) -> float | None:
    """Part divided by whole; None if the whole is 0."""
    return part / whole if whole > 0 else None


def link_loss(run: Mapping[str, Any], *, kind: str | None = None) -> dict[tuple[str, str], dict[str, Any]] | None:
    """(from, to) -> what the link layer was offered and dropped on each wireless hop; None where not recorded.

    `kind` is a class of packets ("tcp-data", "tcp-ack", "udp", "routing"; None: all of them). Per hop: `offered_pkts`
    (delivered and dropped), `drops_rts` and `drops_data` (retry limit reached by RTS, by data), `drop_probability`,
    `attempts_mean` (of a packet). Source: [tcp-gap] Table 2; [fu] Fig. 4.
    """
    if run.get("links") is None:
        return None
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for link in run["links"]:
        if kind in (None, link["class"]):
            names = ("delivered", "drops_rts", "drops_data", "attempts")
            sums = found.setdefault((link["from"], link["to"]), dict.fromkeys(names, 0))
            for name in names:
                sums[name] += link[name]
    return {hop: _loss(sums) for hop, sums in found.items()}


def _loss(sums: Mapping[str, int]) -> dict[str, Any]:
    dropped = sums["drops_rts"] + sums["drops_data"]
    offered = sums["delivered"] + dropped
    return {
        "offered_pkts": offered,
        "dropped_pkts": dropped,
        "drops_rts": sums["drops_rts"],
        "drops_data": sums["drops_data"],
        "drop_probability": ratio(dropped, offered),
        "attempts_mean": ratio(sums["attempts"], offered),
    }


def loss_curve(runs: Sequence[Mapping[str, Any]]) -> list[tuple[float, float]]:
    """Offered load and drop probability, one point per run, in the order of load.

    Load is the payload that the sources sent, in bit/s, over all flows. The probability is that the link layer of one
    hop drops a packet, over all wireless hops. Runs without traffic on the air give no point. Source: [fu] Fig. 4.
    """
    points = [(run["totals"]["offered_bps"], run["totals"]["link_drop_probability"]) for run in runs]
    return sorted(point for point in points if point[1] is not None)


def window_quantile(shares: Mapping[str, float], quantile: float) -> int:
    """The smallest whole window (packets) that the flow did not exceed for at least this share of the time, 0..1.

    `shares` maps a window to its share of time (`cwnd_share` of a flow in run.json).
    """
    so_far: list[float] = []
    windows = sorted(shares, key=int)
    for window in windows:
        so_far.append(shares[window])
        if math.fsum(so_far) >= quantile - 1e-9:
            return int(window)
    return int(windows[-1])


def estimate(samples: Sequence[float]) -> Estimate:
    """Mean and t interval of independent samples (at least one)."""
    count = len(samples)
    mean = math.fsum(samples) / count
    if count < 2:
        return Estimate(mean=mean, half_width=None, samples=tuple(samples))
    variance = math.fsum((sample - mean) ** 2 for sample in samples) / (count - 1)
    return Estimate(
        mean=mean, half_width=t_quantile(count - 1, LEVEL) * math.sqrt(variance / count), samples=tuple(samples)
    )


def batch_rates_bps(batch_end_s: Sequence[float], *, batch_pkts: int, payload_bytes: int) -> list[float]:
    """Goodput in bit/s of each batch of `batch_pkts` packets. The first batch is discarded as the initial transient.

    `batch_end_s` holds the time in seconds at which each batch was complete. Source: [tcp-gap] Sec. 5.1 (batch means).
    """
    bits = 8 * batch_pkts * payload_bytes
    return [bits / (end - start) for start, end in pairwise(batch_end_s)]
